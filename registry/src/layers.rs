//! A bundle in parts, and put together again.
//!
//! | part | what it is | its digest |
//! | --- | --- | --- |
//! | config | `bundle.json` | the bundle's digest |
//! | thin | the bundle without artifacts and signatures, a thin bundle itself | of its own |
//! | one an artifact | the artifact, as it is | its entry's in the index |
//!
//! Compressed data is never made again: the thin bundle has it as the packer wrote it, so that what
//! is put together has the bundle's own bytes, whatever version of this program does it.

use std::borrow::Cow;

use subako_manifest::bundle::write::{WriteError, artifact_entry, signature_entry};
use subako_manifest::bundle::{self, INDEX, NATIVE_DIR, OpenBundle, SIGNATURES_DIR, records};
use subako_manifest::index::{Entry, Index};
use subako_manifest::target::Target;

use super::Error;
use super::manifest::{
    ARTIFACT_TYPE, BUNDLE_INDEX_TYPE, BUNDLE_TYPE, Descriptor, Manifest, THIN_TYPE, TITLE,
};

/// A blob to be stored.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) descriptor: Descriptor,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// For people.
    pub(crate) name: String,
}

/// The parts of a bundle, the config first.
pub(crate) fn split(bundle: &OpenBundle<impl AsRef<[u8]>>) -> Result<Vec<Part<'_>>, Error> {
    let thin = thin(bundle.bytes())?;
    let title = format!("{}.thin.subako", bundle.index().package);
    let mut parts = vec![
        Part {
            descriptor: Descriptor::of(BUNDLE_INDEX_TYPE, &bundle.index().to_json()),
            bytes: Cow::Owned(bundle.index().to_json()),
            name: INDEX.to_owned(),
        },
        Part {
            descriptor: Descriptor::of(THIN_TYPE, &thin).annotated(TITLE, &title),
            bytes: Cow::Owned(thin),
            name: "what all targets share".to_owned(),
        },
    ];
    for (entry, target) in bundle.index().artifacts() {
        let bytes = bundle.contents(entry)?;
        parts.push(Part { descriptor: artifact(entry), bytes, name: target.to_string() });
    }
    Ok(parts)
}

/// The manifest of these parts.
pub(crate) fn manifest(package: &str, parts: &[Part<'_>]) -> Manifest {
    let mut descriptors = parts.iter().map(|part| part.descriptor.clone());
    let config = descriptors.next().expect("the config is the first part");
    let mut manifest = Manifest::new(BUNDLE_TYPE, config, descriptors.collect());
    manifest.annotations.insert(TITLE.to_owned(), package.to_owned());
    manifest
}

/// The layer of an artifact.
pub(crate) fn artifact(entry: &Entry) -> Descriptor {
    Descriptor {
        media_type: ARTIFACT_TYPE.to_owned(),
        digest: entry.digest,
        size: entry.size,
        annotations: [(TITLE.to_owned(), entry.path.clone())].into(),
        artifact_type: None,
    }
}

/// The bundle, given by its whole file, without artifacts and signatures.
pub(crate) fn thin(bundle: &[u8]) -> Result<Vec<u8>, WriteError> {
    let mut records = records::read(bundle);
    let goes =
        |path: &[u8]| path.starts_with(NATIVE_DIR.as_bytes()) || path.starts_with(SIGNATURES_DIR.as_bytes());
    records.retain(|record| !goes(record.path()));
    records::write(&records)
}

/// Puts a bundle together: the thin one, artifacts by their paths, and signatures by theirs.
/// Every entry is then read and compared with the index.
pub(crate) fn join(
    thin: &[u8],
    artifacts: &[(&str, Cow<'_, [u8]>)],
    signatures: &[(String, Vec<u8>)],
) -> Result<Vec<u8>, Error> {
    let mut added = Vec::new();
    for (path, bytes) in artifacts {
        added.push(artifact_entry(path, bytes)?);
    }
    for (path, bytes) in signatures {
        added.push(signature_entry(path, bytes)?);
    }
    let mut records = records::read(thin);
    records.extend(added.iter().flat_map(|entry| records::read(entry)));
    records.sort_by_key(records::Record::path);
    let bytes = records::write(&records)?;
    drop(records);
    let again = OpenBundle::open(bytes.as_slice())?;
    for entry in again.present() {
        again.contents(entry)?;
    }
    drop(again);
    Ok(bytes)
}

/// The artifacts of the index for these targets, or the targets that it has not.
pub(crate) fn of_targets<'a>(
    index: &'a Index,
    targets: &[Target],
) -> Result<Vec<(&'a Entry, &'a Target)>, Target> {
    if let Some(absent) = targets.iter().find(|target| !index.artifacts().any(|(_, has)| has == *target)) {
        return Err(absent.clone());
    }
    Ok(index.artifacts().filter(|(_, target)| targets.contains(target)).collect())
}

/// Opens the thin part of a bundle, strictly.
pub(crate) fn open_thin(bytes: Vec<u8>) -> Result<OpenBundle<Vec<u8>>, bundle::Error> {
    let thin = OpenBundle::open(bytes)?;
    for entry in thin.present() {
        thin.contents(entry)?;
    }
    Ok(thin)
}
