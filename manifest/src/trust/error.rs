//! Why nobody's word is taken for a bundle, in words of its own for each reason.

use super::Moment;
use crate::bundle::{self, SIGNATURES_DIR};
use crate::diagnostic::{Code, Diagnostic, Explain, Place};
use crate::digest::Digest;
use crate::envelope;
use crate::key::{KeyId, WrongSignature};
use crate::statement;
use crate::text::shown;

/// Why the bundle is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle's digest, or its upload's, is on the list.
    #[error("`{digest}` is revoked")]
    Revoked {
        /// The one on the list.
        digest: Digest,
    },
    /// There is no signature at all.
    #[error("`{digest}` is not signed by anybody")]
    Unsigned {
        /// The bundle's digest.
        digest: Digest,
    },
    /// A signature that a trusted key is said to have made is wrong.
    #[error("signature of `{}` ({}) {error}", shown(.name), short(*.key_id))]
    Signature {
        /// The key.
        key_id: KeyId,
        /// What the user calls it.
        name: String,
        /// What is wrong.
        error: Box<SignatureError>,
    },
    /// Fewer keys than must agree.
    #[error("`{digest}` is signed by {found} trusted {}, {threshold} must agree", if *.found == 1 { "key" } else { "keys" })]
    NotEnough {
        /// The bundle's digest.
        digest: Digest,
        /// How many count.
        found: usize,
        /// How many must.
        threshold: usize,
        /// The other signatures, and why they do not count.
        passed_over: Vec<PassedOver>,
    },
}

/// What is wrong with a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the part of its name")]
#[non_exhaustive]
pub enum SignatureError {
    #[error("cannot be read: {0}")]
    Entry(#[from] bundle::Error),
    #[error(transparent)]
    Envelope(#[from] envelope::Error),
    #[error("signs what {0}")]
    Statement(#[from] statement::Error),
}

/// A signature that does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PassedOver {
    /// It is by a key that is not trusted; it was not read.
    #[error("key `{}` is not trusted", shown(.key_id))]
    Unknown {
        /// The entry's name.
        key_id: String,
    },
    /// The key's time is over.
    #[error("key `{}` ({}) was trusted until {expired}", shown(.name), short(*.key_id))]
    Expired {
        /// The key.
        key_id: KeyId,
        /// What the user calls it.
        name: String,
        /// Since when.
        expired: Moment,
    },
    /// The key is not for this package.
    #[error("key `{}` ({}) may not sign the package `{}`", shown(.name), short(*.key_id), shown(.package))]
    Package {
        /// The key.
        key_id: KeyId,
        /// What the user calls it.
        name: String,
        /// The bundle's package.
        package: String,
    },
}

/// Enough of an id to tell keys apart, in a sentence.
fn short(key_id: KeyId) -> String {
    key_id.to_string().chars().take(16).collect()
}

impl SignatureError {
    /// The code of the fault, wherever the envelope was found.
    #[must_use]
    pub fn code(&self) -> Code {
        use envelope::Error as E;
        match self {
            Self::Entry(_) => Code::BundleContents,
            Self::Envelope(E::PayloadType(_)) => Code::EnvelopePayloadType,
            Self::Envelope(E::KeyId { .. }) => Code::EnvelopeKeyId,
            Self::Envelope(E::Signature(WrongSignature::Other)) => Code::SignatureWrong,
            Self::Envelope(E::Signature(_)) => Code::SignatureSpelling,
            Self::Envelope(_) => Code::EnvelopeInvalid,
            Self::Statement(statement::Error::Subject { .. } | statement::Error::Subjects(_)) => {
                Code::StatementSubject
            }
            Self::Statement(_) => Code::StatementInvalid,
        }
    }
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let error = |code, subject: String| Diagnostic::error(code, subject, self.to_string());
        match self {
            Self::Revoked { digest } => vec![error(Code::Revoked, digest.to_string())],
            Self::Unsigned { digest } => vec![error(Code::Unsigned, digest.to_string())],
            Self::Signature { key_id, error: wrong, .. } => {
                let entry = format!("{SIGNATURES_DIR}{key_id}.json");
                vec![error(wrong.code(), key_id.to_string()).at(Place::file(entry))]
            }
            Self::NotEnough { digest, threshold, passed_over, .. } => {
                let mut told: Vec<Diagnostic> = passed_over.iter().map(PassedOver::diagnostic).collect();
                if *threshold > 1 || told.is_empty() {
                    told.insert(0, error(Code::ThresholdMissed, digest.to_string()));
                }
                told
            }
        }
    }
}

impl PassedOver {
    fn diagnostic(&self) -> Diagnostic {
        let (code, subject) = match self {
            Self::Unknown { key_id } => (Code::SignerUnknown, key_id.clone()),
            Self::Expired { key_id, .. } => (Code::KeyExpired, key_id.to_string()),
            Self::Package { key_id, .. } => (Code::KeyPackage, key_id.to_string()),
        };
        Diagnostic::error(code, subject, self.to_string())
    }
}
