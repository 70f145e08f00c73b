//! Pack: everything that was made becomes one bundle. The reader is `manifest/src/bundle.rs`,
//! which accepts nothing else than what is written here; `docs/bundle.md` describes the bytes.
//!
//! The same upload and the same version of this program give the same bytes, on every machine:
//! entries are sorted, times and modes are fixed, nothing of the machine goes in.

use std::collections::BTreeMap;

use subako_manifest::bundle::write::{File, Storage, WriteError, write};
use subako_manifest::bundle::{
    self, INDEX, MANIFEST, MAX_SBOM_BYTES, MODULE, OpenBundle, PACKAGE_DIR, SBOM, TOOLS,
};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::index::{
    ARTIFACT_FORMAT, BUNDLE_FORMAT, ENGINE_NAME, ENGINE_VERSION, Engine, Entry, Index, Role,
};
use subako_manifest::target::Target;
use subako_manifest::text::grouped;
use subako_manifest::tool::ToolSet;
use subako_manifest::trust::Moment;

use crate::precompile::Artifact;
use crate::read::Upload;
use crate::rewrite::RewrittenModule;
use crate::sbom::{self, Lineage};

/// A bundle, written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The digest of `bundle.json`.
    pub digest: Digest,
    /// What is in it.
    pub index: Index,
}

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two artifacts of one target.
    #[error("`{0}` is given twice")]
    TargetTwice(Target),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// An SBOM of more bytes than a reader takes.
    #[error("`{SBOM}` would have {} bytes, at most {} are allowed", grouped(*.found), grouped(*.allowed))]
    SbomTooLarge {
        /// Its bytes.
        found: u64,
        /// The limit.
        allowed: u64,
    },
    /// What was written is not what the reader takes.
    #[error("the bundle that was written cannot be read: {0}")]
    Unreadable(#[from] bundle::Error),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let (code, subject) = match self {
            Self::TargetTwice(target) => (Code::BundleTargetTwice, target.to_string()),
            Self::Write(error) => return error.diagnostics(),
            Self::SbomTooLarge { .. } => (Code::BundleTooLarge, SBOM.to_owned()),
            Self::Unreadable(_) => (Code::PackFailed, "bundle".to_owned()),
        };
        vec![Diagnostic::error(code, subject, self.to_string())]
    }
}

/// Writes the bundle, and reads it again as a loader would.
///
/// `compatibility` is the digest over the engine's settings, from the loader's `engine`.
///
/// # Errors
///
/// [`Error::TargetTwice`], the limits of a zip, and faults of this program.
pub fn pack(
    upload: &Upload,
    module: &RewrittenModule,
    artifacts: &[Artifact],
    tools: &ToolSet,
    compatibility: Digest,
    sbom: Option<&Sbom>,
) -> Result<Bundle, Error> {
    let sources = Sources {
        package: &upload.manifest.name,
        description: &upload.manifest.description,
        manifest: &upload.manifest_bytes,
        assets: &upload.assets,
        upload: upload.digest,
        module: module.bytes(),
        imports: module.imports(),
        artifacts,
        tools: &tools.to_json(),
        tool_names: tools.tools().iter().map(|tool| tool.name.as_str()).collect(),
        compatibility,
        sbom,
    };
    sources.pack()
}

/// What an SBOM says that the rest of the bundle does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sbom {
    /// Where the module comes from.
    pub lineage: Lineage,
    /// When the bundle was built, where somebody wants it told.
    pub built: Option<Moment>,
}

/// All that goes into a bundle, as bytes.
pub(crate) struct Sources<'a> {
    pub(crate) package: &'a str,
    /// For the SBOM.
    pub(crate) description: &'a str,
    pub(crate) manifest: &'a [u8],
    pub(crate) assets: &'a BTreeMap<String, Vec<u8>>,
    pub(crate) upload: Digest,
    pub(crate) module: &'a [u8],
    pub(crate) imports: &'a [String],
    pub(crate) artifacts: &'a [Artifact],
    pub(crate) tools: &'a [u8],
    pub(crate) tool_names: Vec<&'a str>,
    pub(crate) compatibility: Digest,
    /// With it, the bundle has an SBOM.
    pub(crate) sbom: Option<&'a Sbom>,
}

impl Sources<'_> {
    pub(crate) fn pack(&self) -> Result<Bundle, Error> {
        let sbom;
        let mut contents = Contents::default();
        contents.add(MANIFEST.to_owned(), Role::Manifest, self.manifest);
        contents.add(TOOLS.to_owned(), Role::Tools, self.tools);
        contents.add(MODULE.to_owned(), Role::Module, self.module);
        for (path, asset) in self.assets {
            contents.add(format!("{PACKAGE_DIR}{path}"), Role::Asset, asset);
        }
        for artifact in self.artifacts {
            contents.add_artifact(artifact)?;
        }
        if let Some(wanted) = self.sbom {
            sbom = self.sbom(wanted, &contents.index())?;
            contents.add(SBOM.to_owned(), Role::Sbom, &sbom);
        }
        let index = Index {
            format: BUNDLE_FORMAT,
            package: self.package.to_owned(),
            engine: Engine {
                name: ENGINE_NAME.to_owned(),
                version: ENGINE_VERSION.to_owned(),
                artifact_format: ARTIFACT_FORMAT,
                compatibility: self.compatibility,
            },
            upload: self.upload,
            imports: self.imports.to_vec(),
            tools: self.tool_names.iter().map(|name| (*name).to_owned()).collect(),
            entries: contents.index(),
        };
        let json = index.to_json();

        let mut files: BTreeMap<&str, File<'_>> =
            contents.0.iter().map(|(path, (entry, bytes))| (path.as_str(), file(entry, bytes))).collect();
        files.insert(INDEX, File { bytes: &json, storage: Storage::Deflated });
        let bytes = write(&files)?;
        reread(&bytes, &index)?;
        Ok(Bundle { bytes, digest: Digest::of(&json), index })
    }

    /// The SBOM of a bundle that has these entries beside it.
    fn sbom(&self, wanted: &Sbom, entries: &[Entry]) -> Result<Vec<u8>, Error> {
        let Sbom { lineage, built } = wanted;
        let (name, description, upload) = (self.package, self.description, self.upload);
        let subject = sbom::Subject { name, description, upload, entries, built: *built };
        let bytes = sbom::write(&subject, lineage);
        match bytes.len() as u64 {
            found if found > MAX_SBOM_BYTES => Err(Error::SbomTooLarge { found, allowed: MAX_SBOM_BYTES }),
            _ => Ok(bytes),
        }
    }
}

/// What goes in, by path: a zip's entries are sorted as `BTreeMap` sorts text, by bytes.
#[derive(Default)]
struct Contents<'a>(BTreeMap<String, (Entry, &'a [u8])>);

impl<'a> Contents<'a> {
    fn add(&mut self, path: String, role: Role, bytes: &'a [u8]) {
        let entry = Entry {
            path: path.clone(),
            role,
            size: bytes.len() as u64,
            digest: Digest::of(bytes),
            target: None,
            cpu_features: None,
        };
        self.0.insert(path, (entry, bytes));
    }

    fn add_artifact(&mut self, artifact: &'a Artifact) -> Result<(), Error> {
        let path = artifact.target.entry_path();
        if self.0.contains_key(&path) {
            return Err(Error::TargetTwice(artifact.target.clone()));
        }
        self.add(path.clone(), Role::Artifact, &artifact.bytes);
        if let Some((entry, _)) = self.0.get_mut(&path) {
            entry.target = Some(artifact.target.clone());
            entry.cpu_features = Some(artifact.cpu_features.clone());
        }
        Ok(())
    }

    fn index(&self) -> Vec<Entry> {
        self.0.values().map(|(entry, _)| entry.clone()).collect()
    }
}

/// Artifacts are mapped from the bundle: stored as they are. All else is compressed.
fn file<'a>(entry: &Entry, bytes: &'a [u8]) -> File<'a> {
    let storage = if entry.role == Role::Artifact { Storage::Aligned } else { Storage::Deflated };
    File { bytes, storage }
}

/// Reads what was written, every entry with its digest: no bundle leaves that a loader refuses.
fn reread(bytes: &[u8], index: &Index) -> Result<(), Error> {
    let bundle = OpenBundle::open(bytes)?;
    for entry in &index.entries {
        bundle.contents(entry)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
