//! Who vouches for a bundle, and that the bytes that run are the bytes vouched for (design,
//! "Signatures and trust").

use std::borrow::Cow;
use std::fs::File;
use std::io;

use subako_manifest::bundle::{self, OpenBundle};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::index::{Entry, Index};
use subako_manifest::target::Target;

use crate::bundle_file::BundleFile;
use crate::map::Memory;
use crate::pick::Pick;

/// Whom the user trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nobody: an unsigned bundle is refused.
    Signed,
    /// The bundle itself, by `--allow-unsigned`.
    AllowUnsigned,
}

/// A bundle that somebody vouches for. What its index says is believed; its entries are compared
/// with the index when they are read.
#[derive(Debug)]
pub struct VerifiedBundle<B> {
    bundle: OpenBundle<B>,
}

/// Nobody vouches for the bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no signature, and the user has not allowed that.
    #[error("the bundle is not signed")]
    Unsigned {
        /// The bundle's digest.
        digest: Digest,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Unsigned { digest } => vec![
                Diagnostic::error(
                    Code::Unsigned,
                    digest.to_string(),
                    format!("`{digest}` is not signed by anybody you trust"),
                )
                .rule("native code runs only from a bundle that somebody vouches for (docs/bundle.md, \"Trust\")")
                .hint("to run a bundle of your own during development, add `--allow-unsigned`"),
            ],
        }
    }
}

/// Decides whether anybody vouches for the bundle.
///
/// # Errors
///
/// Nobody does.
pub fn verify<B: AsRef<[u8]>>(bundle: OpenBundle<B>, trust: Trust) -> Result<VerifiedBundle<B>, Error> {
    match trust {
        Trust::Signed => Err(Error::Unsigned { digest: bundle.digest() }),
        Trust::AllowUnsigned => Ok(VerifiedBundle { bundle }),
    }
}

impl<B: AsRef<[u8]>> VerifiedBundle<B> {
    /// What is in the bundle.
    #[must_use]
    pub fn index(&self) -> &Index {
        self.bundle.index()
    }

    /// The bundle's digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.bundle.digest()
    }

    /// The ids of the trusted keys that signed it; none where the user vouches for it.
    #[must_use]
    pub fn signed_by(&self) -> &[String] {
        &[]
    }

    /// An entry's bytes, compared with the index.
    ///
    /// # Errors
    ///
    /// They are not what the index says.
    pub fn contents(&self, entry: &Entry) -> Result<Cow<'_, [u8]>, bundle::Error> {
        self.bundle.contents(entry)
    }
}

impl VerifiedBundle<BundleFile> {
    /// The picked artifact, in memory of its own and compared with the index there.
    ///
    /// # Errors
    ///
    /// Its bytes are not what the index says, or there is no memory for them.
    pub fn artifact(&self, pick: &Pick) -> Result<VerifiedArtifact, ArtifactError> {
        let memory = self.artifact_bytes(pick)?;
        Ok(VerifiedArtifact { image: Image::Memory(memory), target: pick.target().clone() })
    }

    /// The bytes of the picked artifact, in memory of their own and compared with the index there.
    ///
    /// # Errors
    ///
    /// As [`VerifiedBundle::artifact`].
    pub(crate) fn artifact_bytes(&self, pick: &Pick) -> Result<Memory, ArtifactError> {
        let entry = pick.entry();
        let range = self.bundle.stored_range(entry)?;
        let memory = self.bundle.source().private(range).map_err(ArtifactError::Memory)?;
        let found = Digest::of(&memory);
        if found != entry.digest {
            let path = entry.path.clone();
            return Err(bundle::Error::Digest { path, found, expected: entry.digest }.into());
        }
        Ok(memory)
    }
}

/// Why an artifact is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// It is not what the index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// There is no memory for it.
    #[error("there is no memory for the artifact: {0}")]
    Memory(#[source] io::Error),
}

impl Explain for ArtifactError {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Bundle(error) => error.diagnostics(),
            Self::Memory(_) => vec![Diagnostic::error(Code::Io, "artifact", self.to_string())],
        }
    }
}

/// An artifact's bytes that somebody vouches for: what [`crate::map`] takes, and nothing else.
pub struct VerifiedArtifact {
    pub(crate) image: Image,
    pub(crate) target: Target,
}

/// Where an artifact's bytes are.
pub(crate) enum Image {
    /// In memory of this process alone.
    Memory(Memory),
    /// In a file that nobody but this user and root may write.
    File(File),
}

impl VerifiedArtifact {
    /// An artifact in the cache, which took it from a [`VerifiedBundle`] and which nobody but this
    /// user and root may write.
    pub(crate) fn installed(file: File, target: Target) -> Self {
        Self { image: Image::File(file), target }
    }

    /// An artifact that this process has compiled itself.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    ///
    /// # Safety
    ///
    /// The engine runs the bytes as they are. They must be what the compiler of this process made,
    /// by the settings of [`crate::engine`]; bytes from anywhere else come through [`verify`].
    #[expect(unsafe_code, reason = "only the caller can know where the bytes are from")]
    pub unsafe fn built_here(bytes: &[u8], target: Target) -> Result<Self, ArtifactError> {
        let memory = Memory::copy_of(bytes).map_err(ArtifactError::Memory)?;
        Ok(Self { image: Image::Memory(memory), target })
    }
}
