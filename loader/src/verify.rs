//! Who vouches for a bundle, and that the bytes that run are the bytes vouched for (design,
//! "Signatures and trust").

use std::borrow::Cow;

use subako_manifest::bundle::{self, OpenBundle};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::index::{Entry, Index};
use subako_manifest::target::Target;

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

    /// An entry's bytes, compared with the index.
    ///
    /// # Errors
    ///
    /// They are not what the index says.
    pub fn contents(&self, entry: &Entry) -> Result<Cow<'_, [u8]>, bundle::Error> {
        self.bundle.contents(entry)
    }

    /// The picked artifact, compared with the index.
    ///
    /// # Errors
    ///
    /// Its bytes are not what the index says.
    pub fn artifact(&self, pick: &Pick) -> Result<VerifiedArtifact<'_>, bundle::Error> {
        let bytes = self.bundle.contents(pick.entry())?;
        Ok(VerifiedArtifact { bytes, target: pick.target().clone() })
    }
}

/// An artifact's bytes that somebody vouches for: what [`crate::map`] takes, and nothing else.
pub struct VerifiedArtifact<'a> {
    bytes: Cow<'a, [u8]>,
    target: Target,
}

impl VerifiedArtifact<'_> {
    /// An artifact that this process has compiled itself.
    ///
    /// # Safety
    ///
    /// The engine runs the bytes as they are. They must be what the compiler of this process made,
    /// by the settings of [`crate::engine`]; bytes from anywhere else come through [`verify`].
    #[must_use]
    #[expect(unsafe_code, reason = "only the caller can know where the bytes are from")]
    pub unsafe fn built_here(bytes: Vec<u8>, target: Target) -> VerifiedArtifact<'static> {
        VerifiedArtifact { bytes: Cow::Owned(bytes), target }
    }

    /// What it runs on.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
