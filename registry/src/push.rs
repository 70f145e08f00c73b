//! From a bundle to a store. The order is what makes an interrupted push harmless: blobs first,
//! then manifests, the tag last.

use subako_manifest::bundle::{OpenBundle, signature_path};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::Envelope;

use super::layers::{self, Part};
use super::manifest::{
    BUNDLE_TYPE, Descriptor, EMPTY, EMPTY_TYPE, ENVELOPE_TYPE, MANIFEST_TYPE, Manifest, SIGNATURE_TYPE, TITLE,
};
use super::{Error, Store, each};
use subako_manifest::progress::Progress;

/// A bundle, published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The digest of its manifest: the same bundle has the same one everywhere.
    pub manifest: Digest,
    /// Blobs that were sent.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// Blobs that were there already.
    pub there: u64,
    /// Signatures that are attached.
    pub signatures: u64,
}

/// Publishes a bundle under `tag`. Blobs that are there already are not sent again, so that a push
/// which was cut off goes on where it was.
///
/// # Errors
///
/// The bundle is thin or not what its index says, a signature of it is not an envelope, or the
/// store fails.
pub fn push(
    bundle: &OpenBundle<impl AsRef<[u8]>>,
    store: &dyn Store,
    tag: &str,
    progress: &dyn Progress,
) -> Result<Published, Error> {
    if let Some((entry, _)) = bundle.absent().next() {
        return Err(Error::Thin { path: entry.path.clone() });
    }
    for entry in bundle.present() {
        bundle.contents(entry)?;
    }
    let mut parts = layers::split(bundle)?;
    let manifest = layers::manifest(&bundle.index().package, &parts).to_json();
    let mut descriptor = Descriptor::of(MANIFEST_TYPE, &manifest);
    descriptor.artifact_type = Some(BUNDLE_TYPE.to_owned());
    let envelopes = envelopes(bundle)?;
    if !envelopes.is_empty() {
        parts.push(Part {
            descriptor: Descriptor::of(EMPTY_TYPE, EMPTY),
            bytes: EMPTY.into(),
            name: "an empty config".to_owned(),
        });
    }
    let signatures: Vec<(Descriptor, Vec<u8>)> =
        envelopes.iter().map(|envelope| signature(envelope, &descriptor)).collect();
    parts.extend(envelopes);

    let sent = each::<_, _, Error>(&parts, |part| {
        if store.has(&part.descriptor)? {
            return Ok(None);
        }
        progress.began("publish", &part.name);
        let put = store.put(&part.descriptor, &part.bytes);
        progress.ended("publish", &part.name);
        put.map(|()| Some(part.descriptor.size))
    })?;
    store.put_manifest(&descriptor, &manifest)?;
    for (signature, bytes) in &signatures {
        store.put_referrer(&descriptor.digest, signature, bytes)?;
    }
    store.tag(tag, &descriptor, &manifest)?;
    Ok(Published {
        manifest: descriptor.digest,
        sent: sent.iter().flatten().count() as u64,
        sent_bytes: sent.iter().flatten().sum(),
        there: sent.iter().filter(|sent| sent.is_none()).count() as u64,
        signatures: signatures.len() as u64,
    })
}

/// The bundle's signatures, as they are.
fn envelopes(bundle: &OpenBundle<impl AsRef<[u8]>>) -> Result<Vec<Part<'_>>, Error> {
    let mut parts = Vec::new();
    for key_id in bundle.signatures() {
        let Some(bytes) = bundle.signature(key_id)? else { continue };
        let path = signature_path(key_id).unwrap_or_default();
        let wrong = |why: String| Error::Signature { name: path.clone(), why };
        let envelope = Envelope::from_json(&bytes).map_err(|error| wrong(error.to_string()))?;
        if envelope.key_id().to_string() != key_id {
            return Err(wrong(format!("names the key {}", envelope.key_id())));
        }
        let descriptor = Descriptor::of(ENVELOPE_TYPE, &bytes).annotated(TITLE, &path);
        parts.push(Part { descriptor, bytes, name: path });
    }
    Ok(parts)
}

/// The manifest of a signature of the manifest `subject`.
fn signature(envelope: &Part<'_>, subject: &Descriptor) -> (Descriptor, Vec<u8>) {
    let config = Descriptor::of(EMPTY_TYPE, EMPTY);
    let mut manifest = Manifest::new(SIGNATURE_TYPE, config, vec![envelope.descriptor.clone()]);
    manifest.subject = Some(subject.bare());
    let bytes = manifest.to_json();
    let mut descriptor = Descriptor::of(MANIFEST_TYPE, &bytes);
    descriptor.artifact_type = Some(SIGNATURE_TYPE.to_owned());
    (descriptor, bytes)
}
