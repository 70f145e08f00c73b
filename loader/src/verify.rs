//! Who vouches for a bundle, and that the bytes that run are the bytes vouched for (design,
//! "Signatures and trust"). [`verify`] is the only way from a bundle to code that runs;
//! `docs/trust.md` says what it guards against.

use std::borrow::Cow;

use subako_manifest::bundle::{self, OpenBundle};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::Envelope;
use subako_manifest::index::{Entry, Index};
use subako_manifest::target::Target;
use subako_manifest::trust::{self, Moment, Vouch};

use crate::pick::Pick;

/// Whom the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Nobody: every bundle is refused.
    Nobody,
    /// These keys.
    Keys {
        /// The keys, and how far each is trusted.
        keys: trust::Trust,
        /// Signatures from outside the bundle.
        detached: Vec<Envelope>,
        /// The time by which keys expire.
        now: Moment,
    },
    /// The bundle itself, by `--allow-unsigned`.
    AllowUnsigned,
}

/// A bundle that somebody vouches for, whose entries are what its index says.
#[derive(Debug)]
pub struct VerifiedBundle<B> {
    bundle: OpenBundle<B>,
    voucher: Voucher,
}

/// Who vouches for a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Voucher {
    /// Trusted keys, at least as many as must agree.
    Keys(Vec<Vouch>),
    /// The user, by `--allow-unsigned`.
    User,
}

/// Nobody vouches for the bundle, or it is not what they vouch for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no signature, no key is trusted, and the user has not allowed that.
    #[error("`{digest}` is not signed by anybody")]
    Unsigned {
        /// The bundle's digest.
        digest: Digest,
    },
    /// It has signatures, and no key is trusted.
    #[error("`{digest}` is signed, and no key is trusted")]
    TrustNone {
        /// The bundle's digest.
        digest: Digest,
    },
    /// The trusted keys do not vouch for it.
    #[error(transparent)]
    Trust(#[from] trust::Error),
    /// An entry is not what the index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
}

const RULE: &str = "native code runs only from a bundle that somebody vouches for (docs/trust.md)";

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let error = |code, digest: &Digest, hint: &str| {
            vec![Diagnostic::error(code, digest.to_string(), self.to_string()).rule(RULE).hint(hint)]
        };
        match self {
            Self::Unsigned { digest } => error(
                Code::Unsigned,
                digest,
                "to run a bundle of your own during development, add `--allow-unsigned`",
            ),
            Self::TrustNone { digest } => {
                error(Code::TrustNone, digest, "name the key that you trust with `--trust KEY.pem`")
            }
            Self::Trust(refused) => {
                let with_rule = |diagnostic: Diagnostic| diagnostic.rule(RULE);
                refused.diagnostics().into_iter().map(with_rule).collect()
            }
            Self::Bundle(broken) => broken.diagnostics(),
        }
    }
}

/// Decides whether anybody vouches for the bundle, and compares every entry with the index that
/// they vouch for.
///
/// # Errors
///
/// Nobody does, or an entry differs.
pub fn verify<B: AsRef<[u8]>>(bundle: OpenBundle<B>, trust: &Trust) -> Result<VerifiedBundle<B>, Error> {
    let voucher = match trust {
        Trust::Keys { keys, detached, now } => Voucher::Keys(keys.verify(&bundle, detached, *now)?),
        Trust::AllowUnsigned => Voucher::User,
        Trust::Nobody if bundle.signatures().next().is_some() => {
            return Err(Error::TrustNone { digest: bundle.digest() });
        }
        Trust::Nobody => return Err(Error::Unsigned { digest: bundle.digest() }),
    };
    for entry in &bundle.index().entries {
        bundle.contents(entry)?;
    }
    Ok(VerifiedBundle { bundle, voucher })
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

    /// Who vouches for it.
    #[must_use]
    pub fn voucher(&self) -> &Voucher {
        &self.voucher
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
