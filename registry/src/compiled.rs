//! An artifact by itself: what a farm of build servers shares, so that each module is compiled once.
//!
//! | part | what it is |
//! | --- | --- |
//! | tag | what the artifact was made from, as a digest |
//! | config | the envelope: who says that it was made from that |
//! | layer | the artifact as it is |
//!
//! Nothing is decided here about whom to believe: that is for whoever compiles.

use subako_manifest::bundle::MAX_SIGNATURE_BYTES;
use subako_manifest::bundle::write::MAX_BUNDLE_BYTES;
use subako_manifest::digest::Digest;

use super::manifest::{
    ARTIFACT_TYPE, COMPILED_TYPE, Descriptor, ENVELOPE_TYPE, MANIFEST_TYPE, Manifest, TITLE,
};
use super::reference::Version;
use super::{Error, Store};

/// An artifact that is stored.
#[derive(Debug)]
pub struct Compiled {
    envelope: Vec<u8>,
    artifact: Descriptor,
}

impl Compiled {
    /// Who says what it is: an envelope, or whatever is there in place of one.
    #[must_use]
    pub fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// The digest of the artifact.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.artifact.digest
    }

    /// Bytes of the artifact.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.artifact.size
    }

    /// Whether the artifact is there too.
    ///
    /// # Errors
    ///
    /// The store cannot be asked.
    pub fn is_whole(&self, store: &dyn Store) -> Result<bool, Error> {
        store.has(&self.artifact)
    }

    /// The artifact: [`Compiled::bytes`] of it and no more, as nothing says yet that it is one.
    ///
    /// # Errors
    ///
    /// It is not there, or another one.
    pub fn fetch(&self, store: &dyn Store) -> Result<Vec<u8>, Error> {
        store.blob(&self.artifact)
    }
}

/// What is stored under the tag, if anything.
///
/// # Errors
///
/// It is something else, or the store cannot be asked.
pub fn find(store: &dyn Store, tag: &str) -> Result<Option<Compiled>, Error> {
    let json = match store.manifest(&Version::Tag(tag.to_owned())) {
        Ok(json) => json,
        Err(Error::Absent(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let other = |why: String| Err(Error::NotCompiled(why));
    let manifest: Manifest = match serde_json::from_slice(&json) {
        Ok(manifest) => manifest,
        Err(error) => return other(format!("its manifest is not that of an image: {error}")),
    };
    if manifest.kind() != COMPILED_TYPE {
        return other(format!("it is a `{}`", manifest.kind()));
    }
    if manifest.config.media_type != ENVELOPE_TYPE {
        return other("it is not signed".to_owned());
    }
    let [artifact] = manifest.layers.as_slice() else {
        return other(format!("it has {} layers, expected 1", manifest.layers.len()));
    };
    if artifact.media_type != ARTIFACT_TYPE {
        return other(format!("its layer is a `{}`", artifact.media_type));
    }
    for (descriptor, allowed) in [(&manifest.config, MAX_SIGNATURE_BYTES), (artifact, MAX_BUNDLE_BYTES)] {
        let (name, found) = (descriptor.digest.to_string(), descriptor.size);
        if found > allowed {
            return Err(Error::TooLarge { name, found, allowed });
        }
    }
    let envelope = store.blob(&manifest.config)?;
    Ok(Some(Compiled { envelope, artifact: artifact.clone() }))
}

/// Stores an artifact, which is called `name` for people. The same parts have the same manifest: who
/// is last of several finds it there.
///
/// # Errors
///
/// The store does not take it.
pub fn keep(store: &dyn Store, tag: &str, name: &str, envelope: &[u8], artifact: &[u8]) -> Result<(), Error> {
    let config = Descriptor::of(ENVELOPE_TYPE, envelope);
    let layer = Descriptor::of(ARTIFACT_TYPE, artifact).annotated(TITLE, name);
    for (descriptor, bytes) in [(&config, envelope), (&layer, artifact)] {
        if !store.has(descriptor)? {
            store.put(descriptor, bytes)?;
        }
    }
    let json = Manifest::new(COMPILED_TYPE, config, vec![layer]).to_json();
    let mut manifest = Descriptor::of(MANIFEST_TYPE, &json);
    manifest.artifact_type = Some(COMPILED_TYPE.to_owned());
    store.put_manifest(&manifest, &json)?;
    store.tag(tag, &manifest, &json)
}
