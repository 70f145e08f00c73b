//! Who vouches for a bundle, and that the bytes that run are the bytes vouched for (design,
//! "Signatures and trust"). [`verify`] is the only way from a bundle to code that runs;
//! `docs/trust.md` says what it guards against.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use subako_manifest::bundle::{self, OpenBundle};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::Envelope;
use subako_manifest::index::{Entry, Index};
use subako_manifest::target::Target;
use subako_manifest::trust::{self, Moment, Vouch};

use crate::bundle_file::BundleFile;
use crate::map::Memory;
use crate::pick::Pick;

/// The environment variable that names a trust file, for deployments.
pub const TRUST_VARIABLE: &str = "SUBAKO_TRUST";

/// The machine's clock is out of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`clock` is before 1970 or after 9999: it cannot tell whether keys have expired")]
pub struct ClockWrong;

impl Explain for ClockWrong {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        vec![Diagnostic::error(Code::Io, "clock", self.to_string())]
    }
}

/// The time by which keys expire.
///
/// # Errors
///
/// [`ClockWrong`]
pub fn clock() -> Result<Moment, ClockWrong> {
    #[expect(clippy::disallowed_methods, reason = "keys expire by the clock; no output holds it")]
    let now = SystemTime::now();
    let seconds = now.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    seconds.and_then(Moment::from_unix).ok_or(ClockWrong)
}

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

/// A bundle that somebody vouches for. What its index says is believed; its entries are compared
/// with the index when they are read, in the memory that they are then used from.
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
                error(Code::TrustNone, digest, "name the key that you trust with `--trust KEY.pub`")
            }
            Self::Trust(refused) => {
                let with_rule = |diagnostic: Diagnostic| diagnostic.rule(RULE);
                refused.diagnostics().into_iter().map(with_rule).collect()
            }
            Self::Bundle(broken) => broken.diagnostics(),
        }
    }
}

/// Decides whether anybody vouches for the bundle: for its index, which names every entry. The
/// entries themselves are compared when they are read, or all at once by
/// [`VerifiedBundle::check_entries`]; a call would otherwise hash what it never uses.
///
/// # Errors
///
/// Nobody does.
pub fn verify<B: AsRef<[u8]>>(bundle: OpenBundle<B>, trust: &Trust) -> Result<VerifiedBundle<B>, Error> {
    let voucher = match trust {
        Trust::Keys { keys, detached, now } => Voucher::Keys(keys.verify(&bundle, detached, *now)?),
        Trust::AllowUnsigned => Voucher::User,
        Trust::Nobody if bundle.signatures().next().is_some() => {
            return Err(Error::TrustNone { digest: bundle.digest() });
        }
        Trust::Nobody => return Err(Error::Unsigned { digest: bundle.digest() }),
    };
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

    /// The ids of the trusted keys that signed it; none where the user vouches for it.
    #[must_use]
    pub fn signed_by(&self) -> Vec<String> {
        match &self.voucher {
            Voucher::Keys(keys) => keys.iter().map(|key| key.key_id.to_string()).collect(),
            Voucher::User => Vec::new(),
        }
    }

    /// Whether the entry is in the file: a thin bundle has not all artifacts.
    #[must_use]
    pub fn has(&self, entry: &Entry) -> bool {
        self.bundle.has(entry)
    }

    /// Compares every entry with the index, also those that this host never reads.
    ///
    /// # Errors
    ///
    /// One differs.
    pub fn check_entries(&self) -> Result<(), bundle::Error> {
        self.bundle.present().try_for_each(|entry| self.bundle.contents(entry).map(drop))
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
    /// by the settings of [`crate::engine`], or what somebody has signed as such whom the user trusts
    /// for it; bytes from anywhere else come through [`verify`].
    #[expect(unsafe_code, reason = "only the caller can know where the bytes are from")]
    pub unsafe fn built_here(bytes: &[u8], target: Target) -> Result<Self, ArtifactError> {
        let memory = Memory::copy_of(bytes).map_err(ArtifactError::Memory)?;
        Ok(Self { image: Image::Memory(memory), target })
    }
}
