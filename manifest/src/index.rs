//! `bundle.json`, the index: it names every other entry of a bundle but the signatures, and its
//! digest is the bundle's digest (design, "Bundle").
//!
//! An index has one spelling: the JSON of [`Index::to_json`], with two spaces a level, the
//! fields in the order of the structs below, and a newline at the end.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bundle::{MANIFEST, MODULE, NATIVE_DIR, PACKAGE_DIR, SBOM, TOOLS};
use crate::diagnostic::{Code, Diagnostic, Explain, Place};
use crate::digest::Digest;
use crate::limits::{MAX_ENTRY_NAME_BYTES, MAX_PACKAGE_NAME_CHARS};
use crate::target::Target;
use crate::text::shown;

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
    /// The names of the tools, in the order of `tools.json`: a call is refused by them without
    /// reading the tools themselves.
    pub tools: Vec<String>,
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
    /// `sbom.cdx.json`, where it was asked for.
    Sbom,
}

/// What is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Not JSON, or not of the index's shape: a field too many, too few, twice, of a wrong type.
    #[error("`bundle.json` is not an index: {}", shown(.message))]
    Json {
        /// What the parser says.
        message: String,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
    },
    /// A format that this version does not read.
    #[error("`bundle.json` has format {found}, this version reads format {BUNDLE_FORMAT}")]
    Format {
        /// The number in the index.
        found: u64,
    },
    /// The same index in another spelling.
    #[error("`bundle.json` is not spelled as this format spells it")]
    Spelling,
    /// Artifacts of an engine that is not ours.
    #[error("`bundle.json` names the engine `{}`, artifacts are of `{ENGINE_NAME}`", shown(.0))]
    Engine(String),
    /// A package name that no manifest can have.
    #[error("`{}` is not a package name", shown(.0))]
    PackageName(String),
    /// Imports that are not sorted, or one twice.
    #[error("`{}` is not in its place among the imports", shown(.0))]
    ImportOrder(String),
    /// Entries that are not sorted by path, or one twice.
    #[error("`{}` is not in its place in the index", shown(.0))]
    EntryOrder(String),
    /// A role at a path that is not its own.
    #[error("`{}` is not where {} is", shown(.path), .role.place())]
    RolePath {
        /// The entry's path.
        path: String,
        /// Its role.
        role: Role,
    },
    /// A role that a bundle has exactly once, and this one has not.
    #[error("`{0}` is not in the index")]
    RoleAbsent(&'static str),
    /// An artifact without target or CPU features, or another entry with them.
    #[error("`{}` has a target and CPU features exactly when it is an artifact", shown(.0))]
    ArtifactFields(String),
    /// CPU features that are not sorted, one twice, or not a word.
    #[error("`{}` has a list of CPU features that is not sorted", shown(.0))]
    CpuFeatures(String),
    /// A path that could lead out of a directory, or that is not one on every system.
    #[error("`{}` is not a path that an asset may have", shown(.0))]
    Path(String),
    /// A path that goes through another entry, which is a file.
    #[error("`{}` lies below `{}`, which is a file", shown(.path), shown(.file))]
    PathBelowFile {
        /// The deeper path.
        path: String,
        /// The path that is a file.
        file: String,
    },
}

const BUILD_AGAIN: &str =
    "get the bundle again from where it was built, or build it again with `subakoc build`";

impl Explain for IndexError {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let whole = "bundle.json".to_owned();
        let (code, subject) = match self {
            Self::Json { .. } => (Code::BundleIndexInvalid, whole.clone()),
            Self::Format { .. } => (Code::BundleFormat, whole.clone()),
            Self::Spelling => (Code::BundleIndexSpelling, whole.clone()),
            Self::Engine(engine) => (Code::BundleEngine, engine.clone()),
            Self::PackageName(name) => (Code::BundlePackageName, name.clone()),
            Self::ImportOrder(name) => (Code::BundleImportOrder, name.clone()),
            Self::EntryOrder(path) => (Code::BundleEntryOrder, path.clone()),
            Self::RolePath { path, .. } => (Code::BundleRolePath, path.clone()),
            Self::RoleAbsent(path) => (Code::BundleRoleAbsent, (*path).to_owned()),
            Self::ArtifactFields(path) => (Code::BundleArtifactFields, path.clone()),
            Self::CpuFeatures(path) => (Code::BundleCpuFeatures, path.clone()),
            Self::Path(path) => (Code::BundlePath, path.clone()),
            Self::PathBelowFile { path, .. } => (Code::BundlePathBelowFile, path.clone()),
        };
        let diagnostic = Diagnostic::error(code, subject, self.to_string());
        vec![match self {
            Self::Json { line, column, .. } => {
                let place = Place { line: Some(*line), column: Some(*column), ..Place::file(whole) };
                diagnostic.at(place).hint(BUILD_AGAIN)
            }
            Self::Format { found } if *found > u64::from(BUNDLE_FORMAT) => diagnostic
                .at(Place::file(whole))
                .hint(format!("use a version of this program that reads format {found}")),
            _ => diagnostic.at(Place::file(whole)).hint(BUILD_AGAIN),
        }]
    }
}

impl Role {
    fn place(self) -> &'static str {
        match self {
            Self::Manifest => "the manifest",
            Self::Tools => "the list of tools",
            Self::Module => "the module",
            Self::Artifact => "the artifact of its target",
            Self::Asset => "an asset",
            Self::Sbom => "the SBOM",
        }
    }
}

impl Index {
    /// Reads `bundle.json`, strictly: its format, its one spelling, and every rule that can be
    /// told from the index alone.
    ///
    /// # Errors
    ///
    /// The first of [`IndexError`], in the order of its variants.
    pub fn from_json(bytes: &[u8]) -> Result<Self, IndexError> {
        // Another format may have any other field, so its number is read alone and first.
        let Format { format } = serde_json::from_slice(bytes).map_err(json)?;
        if format != u64::from(BUNDLE_FORMAT) {
            return Err(IndexError::Format { found: format });
        }
        let index: Self = serde_json::from_slice(bytes).map_err(json)?;
        if index.to_json() != bytes {
            return Err(IndexError::Spelling);
        }
        index.check()?;
        Ok(index)
    }

    /// The index in its one spelling.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("an index holds text, numbers and lists only");
        json.push(b'\n');
        json
    }

    /// The entries that are artifacts, with their targets, in the index's order.
    pub fn artifacts(&self) -> impl Iterator<Item = (&Entry, &Target)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.target.as_ref()?)))
    }

    fn check(&self) -> Result<(), IndexError> {
        if self.engine.name != ENGINE_NAME {
            return Err(IndexError::Engine(self.engine.name.clone()));
        }
        if !is_package_name(&self.package) {
            return Err(IndexError::PackageName(self.package.clone()));
        }
        if let Some(import) = out_of_order(&self.imports) {
            return Err(IndexError::ImportOrder(import.clone()));
        }
        let paths: Vec<&str> = self.entries.iter().map(|entry| entry.path.as_str()).collect();
        if let Some(path) = out_of_order(&paths) {
            return Err(IndexError::EntryOrder((*path).to_owned()));
        }
        self.entries.iter().try_for_each(Entry::check)?;
        for path in [MANIFEST, TOOLS, MODULE] {
            if !paths.contains(&path) {
                return Err(IndexError::RoleAbsent(path));
            }
        }
        let files: BTreeSet<&str> = paths.iter().copied().collect();
        for path in &paths {
            let mut parents = path.match_indices('/').map(|(at, _)| &path[..at]);
            if let Some(file) = parents.find(|parent| files.contains(parent)) {
                return Err(IndexError::PathBelowFile { path: (*path).to_owned(), file: file.to_owned() });
            }
        }
        Ok(())
    }
}

impl Entry {
    fn check(&self) -> Result<(), IndexError> {
        let artifact = self.role == Role::Artifact;
        if self.target.is_some() != artifact || self.cpu_features.is_some() != artifact {
            return Err(IndexError::ArtifactFields(self.path.clone()));
        }
        let in_place = match self.role {
            Role::Manifest => self.path == MANIFEST,
            Role::Tools => self.path == TOOLS,
            Role::Module => self.path == MODULE,
            Role::Artifact => self.target.as_ref().is_some_and(|target| target.entry_path() == self.path),
            Role::Asset => self.path.starts_with(PACKAGE_DIR),
            Role::Sbom => self.path == SBOM,
        };
        if !in_place {
            return Err(IndexError::RolePath { path: self.path.clone(), role: self.role });
        }
        if !is_clean(&self.path) {
            return Err(IndexError::Path(self.path.clone()));
        }
        if let Some(features) = &self.cpu_features {
            let word = |feature: &String| {
                !feature.is_empty()
                    && feature.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '.' | '-' | '_'))
            };
            if out_of_order(features).is_some() || !features.iter().all(word) {
                return Err(IndexError::CpuFeatures(self.path.clone()));
            }
        }
        Ok(())
    }
}

/// The format's number, whatever else there is.
#[derive(Deserialize)]
struct Format {
    format: u64,
}

fn json(error: serde_json::Error) -> IndexError {
    let (line, column) = (error.line() as u64, error.column() as u64);
    // The place is kept apart; the parser's own text repeats it.
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    IndexError::Json { message, line, column }
}

/// The first that is not greater than the one before it.
fn out_of_order<T: Ord>(list: &[T]) -> Option<&T> {
    list.windows(2).find(|pair| pair[0] >= pair[1]).map(|pair| &pair[1])
}

/// Whether a package can be called so (design, "The package that comes in").
pub(crate) fn is_package_name(name: &str) -> bool {
    let letter = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
    (1..=MAX_PACKAGE_NAME_CHARS).contains(&name.chars().count()) && name.chars().all(letter)
}

/// Whether a path stays below where it is unpacked, on every system.
fn is_clean(path: &str) -> bool {
    let segment = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= MAX_ENTRY_NAME_BYTES + PACKAGE_DIR.len().max(NATIVE_DIR.len())
        && path.split('/').all(segment)
        && !path.chars().any(|c| c == '\\' || c.is_control())
}
