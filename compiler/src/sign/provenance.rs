//! What a signature says of a build: SLSA provenance v1. All of it follows from the bundle and the
//! command line; nothing of the machine or the time goes in that was not given.

use serde_json::{Map, Value, json};
use subako_manifest::index::Index;
use subako_manifest::statement::UPLOAD;
use subako_manifest::trust::Moment;

use crate::rewrite::{Passes, Strip};

/// How this program builds bundles; another number means other parameters below.
pub const BUILD_TYPE: &str = "urn:subako:build:1";
/// The builder, where nobody says who it is.
pub const BUILDER_UNNAMED: &str = "urn:subako:builder:unnamed";

/// What is known of a build beside its bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Who built: a URI.
    pub builder: String,
    /// Where the upload's source is.
    pub source: Option<Source>,
    /// When the build was finished.
    pub finished: Option<Moment>,
    /// What this program was told when it built the bundle; `None` where it only signs it.
    pub flags: Option<Vec<String>>,
}

/// Where source code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The repository, or another URI.
    pub uri: String,
    /// The commit, in hexadecimal digits.
    pub commit: Option<String>,
}

impl Provenance {
    /// The predicate for the bundle of that index.
    #[must_use]
    pub fn predicate(&self, index: &Index) -> Value {
        let targets: Vec<_> = index.artifacts().map(|(_, target)| target).collect();
        let mut parameters = Map::new();
        parameters.insert("package".to_owned(), index.package.as_str().into());
        parameters.insert("targets".to_owned(), json!(targets));
        let mut versions = Map::new();
        versions.insert(index.engine.name.clone(), index.engine.version.as_str().into());
        if let Some(flags) = &self.flags {
            parameters.insert("flags".to_owned(), json!(flags));
            versions.insert("subakoc".to_owned(), env!("CARGO_PKG_VERSION").into());
        }
        let mut dependencies = vec![json!({ "name": UPLOAD, "digest": { "sha256": index.upload.hex() } })];
        if let Some(Source { uri, commit }) = &self.source {
            let mut source = json!({ "name": "source", "uri": uri });
            if let Some(commit) = commit {
                source["digest"] = json!({ "gitCommit": commit });
            }
            dependencies.push(source);
        }
        let mut details = json!({ "builder": { "id": self.builder, "version": versions } });
        if let Some(finished) = self.finished {
            details["metadata"] = json!({ "finishedOn": finished.to_string() });
        }
        json!({
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "resolvedDependencies": dependencies,
            },
            "runDetails": details,
        })
    }
}

/// The flags of a build that its bundle's bytes depend on, beside the targets.
#[must_use]
pub fn flags(passes: &Passes, sbom: bool) -> Vec<String> {
    let strip = match passes.strip {
        Strip::None => "none",
        Strip::Debug => "debug",
        Strip::All => "all",
    };
    let mut flags = vec![format!("--strip={strip}")];
    if !passes.exports {
        flags.push("--keep-exports".to_owned());
    }
    if !passes.unreachable {
        flags.push("--keep-unreachable".to_owned());
    }
    if sbom {
        flags.push("--sbom".to_owned());
    }
    flags
}
