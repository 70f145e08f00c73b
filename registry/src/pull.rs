//! From a store to a bundle, whole or thin. Nothing that comes is believed: the manifest is
//! compared with its digest where one is known, the index with the manifest, and every entry with
//! the index. Who vouches for the index is the loader's to find out, by the signatures that come
//! along.

use std::borrow::Cow;
use std::collections::BTreeMap;

use subako_manifest::bundle::{MAX_INDEX_BYTES, MAX_SIGNATURE_BYTES, OpenBundle, signature_path};
use subako_manifest::diagnostic::{Code, Diagnostic, Refused};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::Envelope;
use subako_manifest::index::{Entry, Index};
use subako_manifest::statement::Statement;
use subako_manifest::target::Target;
use subako_manifest::text::shown;

use super::layers;
use super::manifest::{
    ARTIFACT_TYPE, BUNDLE_INDEX_TYPE, BUNDLE_TYPE, Descriptor, ENVELOPE_TYPE, Manifest, SIGNATURE_TYPE,
    THIN_TYPE,
};
use super::reference::Version;
use super::{Error, Store, each};
use subako_manifest::progress::Progress;

/// Signatures of one bundle that are looked at: anybody who may push can add some.
const MAX_SIGNATURES: usize = 64;
/// Bytes of a bundle, and so of a layer.
const MAX_LAYER_BYTES: u64 = 0xffff_ffff;

/// Which artifacts are pulled.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// All: the bundle as it was published.
    All,
    /// Those for these targets.
    Targets(Vec<Target>),
    /// The one that is picked of those in the index, as a loader does on its host.
    Picked(fn(&Index) -> Result<Target, Refused>),
}

/// A bundle, pulled.
#[derive(Debug)]
pub struct Pulled {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The bundle's digest.
    pub digest: Digest,
    /// The digest of the manifest that it came by.
    pub manifest: Digest,
    /// The bundle's package.
    pub package: String,
    /// The targets whose artifacts are in it.
    pub targets: Vec<Target>,
    /// The targets whose artifacts are not.
    pub absent: Vec<Target>,
    /// Bytes that came; what was here already did not come again.
    pub fetched_bytes: u64,
    /// The key ids of the signatures, of which nothing is known.
    pub signatures: Vec<String>,
    /// Signatures that were left out, as warnings.
    pub warnings: Vec<Diagnostic>,
}

/// Pulls a bundle. What `here` has of it, a bundle that was pulled before, is not fetched again.
///
/// # Errors
///
/// There is none, it is not what was asked for, or it has no artifact for a target.
pub fn pull(
    store: &dyn Store,
    version: &Version,
    wanted: &Wanted,
    here: Option<&OpenBundle<Vec<u8>>>,
    progress: &dyn Progress,
) -> Result<Pulled, Error> {
    let found = store.manifest(version).and_then(|json| Ok((Digest::of(&json), read_manifest(&json)?)));
    let (manifest_digest, manifest) = found.map_err(|error| match version {
        Version::Digest(_) => error.by_digest(),
        Version::Tag(_) => error,
    })?;
    let index_json = blob(store, &manifest.config, MAX_INDEX_BYTES)?;
    let mut fetched_bytes = index_json.len() as u64;
    let index = Index::from_json(&index_json).map_err(|error| Error::Bundle(error.into()))?;
    let digest = manifest.config.digest;
    let here = here.filter(|here| here.digest() == digest);

    let artifacts = wanted_artifacts(&index, wanted)?;
    for (entry, _) in &artifacts {
        has_layer(&manifest, entry)?;
    }
    let thin = layer(&manifest, THIN_TYPE)?;
    let thin_bytes = match here.map(|here| layers::thin(here.bytes())).transpose()? {
        Some(bytes) if Digest::of(&bytes) == thin.digest => bytes,
        _ => {
            fetched_bytes += thin.size;
            told(progress, "what all targets share", || blob(store, thin, MAX_LAYER_BYTES))?
        }
    };
    let thin = layers::open_thin(thin_bytes)?;
    if thin.digest() != digest {
        return Err(Error::Other("its layers are of another bundle than its config".to_owned()));
    }
    if thin.index().artifacts().any(|(entry, _)| thin.has(entry)) || thin.signatures().next().is_some() {
        return Err(Error::Other("the layer for all targets has more than is for all".to_owned()));
    }
    let contents = each::<_, _, Error>(&artifacts, |(entry, target)| {
        if let Some(here) = here.filter(|here| here.has(entry)) {
            return Ok((here.contents(entry)?, 0));
        }
        let fetch = || blob(store, &layers::artifact(entry), MAX_LAYER_BYTES);
        Ok((Cow::Owned(told(progress, &target.to_string(), fetch)?), entry.size))
    })?;
    fetched_bytes += contents.iter().map(|(_, bytes)| bytes).sum::<u64>();

    let mut warnings = Vec::new();
    let signatures = signatures(store, &manifest_digest, &digest, &index, &mut warnings)?;
    let parts: Vec<(&str, Cow<'_, [u8]>)> =
        artifacts.iter().zip(contents).map(|((entry, _), (bytes, _))| (entry.path.as_str(), bytes)).collect();
    let bytes = layers::join(thin.bytes(), &parts, &signatures)?;
    let pulled: Vec<Target> = artifacts.iter().map(|(_, target)| (*target).clone()).collect();
    let absent = index.artifacts().map(|(_, target)| target.clone());
    Ok(Pulled {
        digest,
        manifest: manifest_digest,
        package: index.package.clone(),
        absent: absent.filter(|target| !pulled.contains(target)).collect(),
        targets: pulled,
        fetched_bytes,
        signatures: signatures.iter().filter_map(|(path, _)| key_id(path)).collect(),
        warnings,
        bytes,
    })
}

fn told<T>(progress: &dyn Progress, what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    progress.began("pull", what);
    let done = work();
    progress.ended("pull", what);
    done
}

fn key_id(path: &str) -> Option<String> {
    Some(path.strip_suffix(".json")?.rsplit('/').next()?.to_owned())
}

/// A manifest of a bundle. Fields and layers that are not known are another tool's, and stay unread.
fn read_manifest(json: &[u8]) -> Result<Manifest, Error> {
    let manifest: Manifest = serde_json::from_slice(json)
        .map_err(|error| Error::Other(format!("its manifest is not that of an image: {error}")))?;
    if manifest.kind() != BUNDLE_TYPE {
        return Err(Error::Other(format!("it is a `{}`", manifest.kind())));
    }
    if manifest.config.media_type != BUNDLE_INDEX_TYPE {
        return Err(Error::Other(format!("its config is a `{}`", manifest.config.media_type)));
    }
    Ok(manifest)
}

fn layer<'a>(manifest: &'a Manifest, media_type: &str) -> Result<&'a Descriptor, Error> {
    let mut of_type = manifest.layers.iter().filter(|layer| layer.media_type == media_type);
    match (of_type.next(), of_type.next()) {
        (Some(layer), None) => Ok(layer),
        (None, _) => Err(Error::Other(format!("it has no layer `{media_type}`"))),
        (Some(_), Some(_)) => Err(Error::Other(format!("it has more than one layer `{media_type}`"))),
    }
}

fn has_layer(manifest: &Manifest, entry: &Entry) -> Result<(), Error> {
    let same = |layer: &&Descriptor| {
        layer.media_type == ARTIFACT_TYPE && layer.digest == entry.digest && layer.size == entry.size
    };
    match manifest.layers.iter().find(same) {
        Some(_) => Ok(()),
        None => Err(Error::Other(format!("it has no layer for `{}`", entry.path))),
    }
}

fn blob(store: &dyn Store, descriptor: &Descriptor, allowed: u64) -> Result<Vec<u8>, Error> {
    if descriptor.size > allowed {
        let digest = descriptor.digest;
        return Err(Error::TooLarge { name: digest.to_string(), found: descriptor.size, allowed });
    }
    store.blob(descriptor)
}

fn wanted_artifacts<'a>(index: &'a Index, wanted: &Wanted) -> Result<Vec<(&'a Entry, &'a Target)>, Error> {
    let targets = match wanted {
        Wanted::All => return Ok(index.artifacts().collect()),
        Wanted::Targets(targets) => targets.clone(),
        Wanted::Picked(pick) => vec![pick(index)?],
    };
    layers::of_targets(index, &targets).map_err(|target| Error::Target {
        target,
        there: index.artifacts().map(|(_, target)| target.clone()).collect(),
    })
}

/// The signatures that are attached to the manifest `subject`, by their paths in the bundle. Who
/// may push can attach anything: what is no signature of this bundle is left out with a warning.
fn signatures(
    store: &dyn Store,
    subject: &Digest,
    bundle: &Digest,
    index: &Index,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut found = BTreeMap::new();
    let referrers = store.referrers(subject, SIGNATURE_TYPE)?;
    if referrers.len() > MAX_SIGNATURES {
        let why = format!("it is one of {}, and {MAX_SIGNATURES} are looked at", referrers.len());
        warnings.push(left_out(&referrers[MAX_SIGNATURES].digest, &why));
    }
    for referrer in referrers.iter().take(MAX_SIGNATURES) {
        let (path, bytes) = match signature(store, referrer, subject, bundle, index) {
            Ok(signature) => signature,
            // The store itself fails: what is missing then may be the one that counts.
            Err(error) if !error.is_about_content() => return Err(error),
            Err(error) => {
                warnings.push(left_out(&referrer.digest, &error.to_string()));
                continue;
            }
        };
        if found.contains_key(&path) {
            warnings.push(left_out(&referrer.digest, "there is another by the same key"));
        }
        found.entry(path).or_insert(bytes);
    }
    Ok(found.into_iter().collect())
}

fn left_out(digest: &Digest, why: &str) -> Diagnostic {
    let message = format!("`{digest}` is left out, a signature that is attached there: {}", shown(why));
    Diagnostic::warning(Code::PublishedSignature, digest.to_string(), message)
}

fn signature(
    store: &dyn Store,
    referrer: &Descriptor,
    subject: &Digest,
    bundle: &Digest,
    index: &Index,
) -> Result<(String, Vec<u8>), Error> {
    let wrong = |why: String| Error::Signature { name: referrer.digest.to_string(), why };
    let json = store.manifest(&Version::Digest(referrer.digest))?;
    let manifest: Manifest = serde_json::from_slice(&json).map_err(|error| wrong(error.to_string()))?;
    if manifest.subject.as_ref().map(|subject| subject.digest) != Some(*subject) {
        return Err(wrong("it is attached to something else".to_owned()));
    }
    let bytes = blob(store, layer(&manifest, ENVELOPE_TYPE)?, MAX_SIGNATURE_BYTES)?;
    let envelope = Envelope::from_json(&bytes).map_err(|error| wrong(format!("it {error}")))?;
    Statement::about(*bundle, index.upload, envelope.claimed())
        .map_err(|error| wrong(format!("it {error}")))?;
    let key_id = envelope.key_id().to_string();
    let path = signature_path(&key_id).ok_or_else(|| wrong("its key id is none".to_owned()))?;
    Ok((path, bytes))
}
