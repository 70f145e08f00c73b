//! `install.json`: all that a call from the cache has to know.

use serde::{Deserialize, Serialize};
use subako_manifest::digest::Digest;
use subako_manifest::index::{Engine, Role};
use subako_manifest::target::Target;

use crate::bundle_file::BundleFile;
use crate::pick::Pick;
use crate::verify::VerifiedBundle;

/// What is known of an installed bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The bundle's digest.
    pub digest: Digest,
    /// The digest of the upload that it was built from.
    pub upload: Digest,
    /// The package's name.
    pub package: String,
    /// The engine that made the artifact.
    pub engine: Engine,
    /// What the artifact runs on.
    pub target: Target,
    /// The CPU features that it needs.
    pub cpu_features: Vec<String>,
    /// Bytes of the artifact.
    pub artifact_size: u64,
    /// Whether the package has assets.
    pub assets: bool,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The ids of the keys that signed the bundle and were trusted when it was installed, at any of
    /// its installs; none where the user let it run unsigned.
    pub signed_by: Vec<String>,
}

impl Record {
    pub(super) fn new(bundle: &VerifiedBundle<BundleFile>, pick: &Pick) -> Self {
        let index = bundle.index();
        Self {
            digest: bundle.digest(),
            upload: index.upload,
            package: index.package.clone(),
            engine: index.engine.clone(),
            target: pick.target().clone(),
            cpu_features: pick.entry().cpu_features.clone().unwrap_or_default(),
            artifact_size: pick.entry().size,
            assets: index.entries.iter().any(|entry| entry.role == Role::Asset),
            tools: index.tools.clone(),
            signed_by: bundle.signed_by(),
        }
    }

    /// Adds the keys of an earlier install of the same bundle: what they signed has not changed.
    pub(super) fn also_signed_by(&mut self, earlier: &Self) {
        self.signed_by.extend(earlier.signed_by.iter().cloned());
        self.signed_by.sort_unstable();
        self.signed_by.dedup();
    }
}
