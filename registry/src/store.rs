//! What can be done where bundles are published, whatever that is.

use subako_manifest::digest::Digest;

use super::Error;
use super::manifest::Descriptor;
use super::reference::Version;

/// A repository of a registry, or an image layout. Whatever it gives has been compared with its
/// digest and size.
pub trait Store: Sync {
    /// Whether a blob is there.
    ///
    /// # Errors
    ///
    /// The store cannot be asked.
    fn has(&self, blob: &Descriptor) -> Result<bool, Error>;

    /// Stores a blob.
    ///
    /// # Errors
    ///
    /// The store does not take it, or answers that it is another.
    fn put(&self, blob: &Descriptor, bytes: &[u8]) -> Result<(), Error>;

    /// A blob.
    ///
    /// # Errors
    ///
    /// It is not there, or is another.
    fn blob(&self, blob: &Descriptor) -> Result<Vec<u8>, Error>;

    /// A manifest.
    ///
    /// # Errors
    ///
    /// [`Error::Absent`] where there is none, or it is another.
    fn manifest(&self, version: &Version) -> Result<Vec<u8>, Error>;

    /// Stores a manifest under its digest.
    ///
    /// # Errors
    ///
    /// As [`Store::put`].
    fn put_manifest(&self, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error>;

    /// Stores a manifest that is about the manifest `subject`, so that [`Store::referrers`] gives it.
    ///
    /// # Errors
    ///
    /// As [`Store::put`].
    fn put_referrer(&self, subject: &Digest, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error>;

    /// Makes a stored manifest the one of this tag: whoever asks for the tag finds the one before
    /// or this one, whole.
    ///
    /// # Errors
    ///
    /// As [`Store::put`].
    fn tag(&self, tag: &str, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error>;

    /// The manifests about the manifest `subject` that are of this artifact type. Nobody says that
    /// they are what they claim.
    ///
    /// # Errors
    ///
    /// The store cannot be asked.
    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, Error>;
}
