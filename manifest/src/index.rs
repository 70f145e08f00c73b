//! `bundle.json`, the index: it names every other entry of a bundle but the signatures, and its
//! digest is the bundle's digest (design, "Bundle").

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::target::Target;

/// The format of bundles that this version writes, and the only one it reads.
pub const BUNDLE_FORMAT: u32 = 1;

/// The number of our own that goes into an artifact's version string beside the engine's: raised
/// when the engine's settings change, so that no artifact made with others is taken.
pub const ARTIFACT_FORMAT: u32 = 1;

/// The engine's name in the index.
pub const ENGINE_NAME: &str = "wasmtime";

/// The exact version of the engine in this build; a test compares it with `Cargo.lock`.
pub const ENGINE_VERSION: &str = "48.0.8";

/// The index of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// [`BUNDLE_FORMAT`] at the time of writing.
    pub format: u32,
    /// The package's name, from its manifest.
    pub package: String,
    /// What compiled the artifacts, and what must run them.
    pub engine: Engine,
    /// The digest of the upload: SHA-256 over one line a file, sorted by path, as `sha256sum`
    /// prints them (64 hexadecimal digits, two spaces, the path, a newline).
    pub upload: Digest,
    /// The host functions that the module imports, as `module.field`, sorted.
    pub imports: Vec<String>,
    /// Every other entry of the bundle but the signatures, sorted by path.
    pub entries: Vec<Entry>,
}

/// The engine of a bundle's artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// [`ENGINE_NAME`].
    pub name: String,
    /// The whole version: an artifact runs in this one only.
    pub version: String,
    /// [`ARTIFACT_FORMAT`] at the time of writing.
    pub artifact_format: u32,
    /// A digest over the settings that the engine was made with, the same in every build that
    /// can load the artifacts.
    pub compatibility: Digest,
}

/// One entry of a bundle, as its index names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The entry's name in the zip.
    pub path: String,
    /// What it is.
    pub role: Role,
    /// Bytes, uncompressed.
    pub size: u64,
    /// SHA-256 of the uncompressed bytes.
    pub digest: Digest,
    /// What the artifact runs on; for artifacts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The CPU features that the artifact needs above its triple's baseline, sorted; for
    /// artifacts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_features: Option<Vec<String>>,
}

/// What an entry of a bundle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// `subako-package.json`.
    Manifest,
    /// `tools.json`.
    Tools,
    /// `module.wasm`.
    Module,
    /// `native/…`.
    Artifact,
    /// `package/…`.
    Asset,
}

impl Index {
    /// The entries that are artifacts, with their targets, in the index's order.
    pub fn artifacts(&self) -> impl Iterator<Item = (&Entry, &Target)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.target.as_ref()?)))
    }
}
