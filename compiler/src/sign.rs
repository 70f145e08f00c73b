//! Sign: a statement of how a bundle was built, and somebody's signature of it, as an envelope that
//! goes into the bundle or stays beside it (design, "Signatures and trust"). What counts as right
//! is said where it is verified: `manifest/src/{key,envelope,statement,trust}.rs`.
//!
//! A signature is the key's own ([`key`]) or an outside program's ([`program`]), for keys that
//! leave no device. Either is verified before it is taken.

pub mod key;
pub mod program;
pub mod provenance;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use p256::ecdsa;
use subako_manifest::bundle::write::{WriteError, signature_entry};
use subako_manifest::bundle::{OpenBundle, SIGNATURES_DIR, records, signature_path};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place};
use subako_manifest::envelope::{Envelope, pae};
use subako_manifest::key::{Algorithm, KeyId, NotPublicKey, PublicKey};
use subako_manifest::statement::Statement;
use subako_manifest::text::{grouped, shown};
use subako_manifest::trust::SignatureError;

use crate::pack;
use key::PrivateKey;
use program::Program;
use provenance::Provenance;

/// Who signs.
#[derive(Debug)]
pub enum Signer {
    /// A key in memory.
    Key(PrivateKey),
    /// An outside program.
    Program(Program),
}

/// A signature of a build: who makes it, and what it says beside the bundle.
#[derive(Debug)]
pub struct Signing {
    /// Who signs.
    pub signer: Arc<Signer>,
    /// What is said of the build.
    pub provenance: Provenance,
}

/// Why there is no signature.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A private key's file cannot be read.
    #[error("`{}` cannot be read: {source}", shown(&.path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file with a secret that others may read.
    #[error("`{}` can be read by others: its mode is {mode:03o}", shown(&.path.to_string_lossy()))]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// An environment variable that should hold a secret is not set, or is not text.
    #[error("`{}` is not set to text", shown(.0))]
    Variable(String),
    /// No private key that can be used.
    #[error("`{}` is not a private key that can be used: {why}", shown(.name))]
    Key {
        /// The file or the variable.
        name: String,
        /// What it is instead.
        why: key::NotPrivateKey,
    },
    /// The key is encrypted, and nobody gave a passphrase.
    #[error("`{}` is encrypted, and there is no passphrase for it", shown(.0))]
    PassphraseAbsent(String),
    /// The passphrase is another key's.
    #[error("`{}` is not opened by the passphrase", shown(.0))]
    PassphraseWrong(String),
    /// The system has no randomness to give.
    #[error("`key` cannot be made: {0}")]
    Random(getrandom::Error),
    /// A key that was made cannot be written as PKCS#8.
    #[error("`key` cannot be encoded: {0}")]
    Encode(pkcs8::Error),
    /// A key that was made, or read, has no public key.
    #[error("`key` has no public key: {0}")]
    Public(NotPublicKey),
    /// The outside program could not be run, or failed.
    #[error("`{}` {fault}", shown(.command))]
    Program {
        /// The command line.
        command: String,
        /// What went wrong.
        fault: program::Fault,
    },
    /// What the outside program printed is no signature by the public key.
    #[error(
        "`{}` printed {} bytes that are no signature by the public key {key_id}", shown(.command), grouped(*.bytes as u64)
    )]
    Output {
        /// The command line.
        command: String,
        /// How much it printed.
        bytes: usize,
        /// The public key.
        key_id: KeyId,
    },
    /// An envelope from outside cannot be put into the bundle.
    #[error("`{}` {error}", shown(.name))]
    Envelope {
        /// The file.
        name: String,
        /// What is wrong with it.
        error: SignatureError,
    },
    /// There is no such signature.
    #[error("`{key_id}` has not signed the bundle")]
    Absent {
        /// The key.
        key_id: KeyId,
        /// The keys that have.
        there: Vec<String>,
    },
    /// The signature does not fit into the bundle.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bundle with it cannot be read.
    #[error(transparent)]
    Pack(#[from] pack::Error),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let error = |code, subject: &str| Diagnostic::error(code, subject, self.to_string());
        let file = |path: &PathBuf| path.to_string_lossy().into_owned();
        vec![match self {
            Self::Read { path, source } => {
                let absent = source.kind() == io::ErrorKind::NotFound;
                error(if absent { Code::TrustFileAbsent } else { Code::Io }, &file(path))
            }
            Self::Exposed { path, .. } => error(Code::PrivateKeyExposed, &file(path))
                .rule("a file with a secret is its owner's alone")
                .hint(format!("chmod 600 {}", shown(&file(path)))),
            Self::Variable(name) => error(Code::PrivateKeyInvalid, name),
            Self::Key { name, why } => error(Code::PrivateKeyInvalid, name).maybe_hint(why.hint(name)),
            Self::PassphraseAbsent(name) => error(Code::PassphraseAbsent, name)
                .hint("give it with `--passphrase-file FILE` or `--passphrase-env NAME`"),
            Self::PassphraseWrong(name) => error(Code::PassphraseWrong, name),
            Self::Random(_) => error(Code::Io, "key"),
            Self::Encode(_) | Self::Public(_) => error(Code::PrivateKeyInvalid, "key"),
            Self::Program { command, .. } => error(Code::SignerFailed, command),
            Self::Output { command, .. } => error(Code::SignerOutput, command)
                .rule("the program reads the bytes to sign from stdin and prints the raw signature, no text"),
            Self::Envelope { name, error: wrong } => error(wrong.code(), name).at(Place::file(name)),
            Self::Absent { key_id, there } => {
                let diagnostic = error(Code::SignatureAbsent, &key_id.to_string());
                match there.is_empty() {
                    true => diagnostic,
                    false => diagnostic.hint(format!("signed by: {}", shown(&there.join(", ")))),
                }
            }
            Self::Write(error) => return error.diagnostics(),
            Self::Pack(error) => return error.diagnostics(),
        }]
    }
}

impl Signer {
    /// The key whose signatures it makes.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        match self {
            Self::Key(key) => key.public_key(),
            Self::Program(program) => program.public_key(),
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Key(key) => Ok(key.sign(message)),
            Self::Program(program) => program.sign(message),
        }
    }
}

/// Puts a signature into a bundle that was packed, and gives the key that made it.
///
/// # Errors
///
/// There is none, or it does not fit.
pub fn sign_packed(bundle: &mut pack::Bundle, signing: &Signing) -> Result<KeyId, Error> {
    let open = OpenBundle::open(bundle.bytes.as_slice()).map_err(pack::Error::Unreadable)?;
    let envelope = sign(&open, signing)?;
    bundle.bytes = attach(&open, &envelope)?;
    Ok(envelope.key_id())
}

/// Signs a statement about the bundle.
///
/// # Errors
///
/// The outside program failed, or printed no signature.
pub fn sign<B: AsRef<[u8]>>(bundle: &OpenBundle<B>, signing: &Signing) -> Result<Envelope, Error> {
    let index = bundle.index();
    let predicate = signing.provenance.predicate(index);
    let payload = Statement::new(bundle.digest(), index.upload, predicate).to_payload();
    let signature = signing.signer.sign(&pae(&payload))?;
    Ok(Envelope::new(payload, signing.signer.public_key().id(), signature))
}

/// The bundle with the envelope in it, in place of one by the same key. No byte of another entry
/// changes; only the zip's directory does.
///
/// # Errors
///
/// The bundle would be too large.
pub fn attach<B: AsRef<[u8]>>(bundle: &OpenBundle<B>, envelope: &Envelope) -> Result<Vec<u8>, Error> {
    let path = path(envelope.key_id());
    let entry = signature_entry(&path, &envelope.to_json())?;
    let mut records = records::read(bundle.bytes());
    records.retain(|record| record.path() != path.as_bytes());
    let at = records.partition_point(|record| record.path() < path.as_bytes());
    let [added] = records::read(&entry).try_into().expect("one entry was written");
    records.insert(at, added);
    rewritten(bundle, &records)
}

/// Reads an envelope that was made elsewhere for this bundle. Its signature is verified by whoever
/// trusts the key.
///
/// # Errors
///
/// [`Error::Envelope`], under `name`.
pub fn read_envelope<B: AsRef<[u8]>>(
    name: &str,
    bytes: &[u8],
    bundle: &OpenBundle<B>,
) -> Result<Envelope, Error> {
    let wrong = |error: SignatureError| Error::Envelope { name: name.to_owned(), error };
    let envelope = Envelope::from_json(bytes).map_err(|error| wrong(error.into()))?;
    Statement::about(bundle.digest(), bundle.index().upload, envelope.claimed())
        .map_err(|error| wrong(error.into()))?;
    Ok(envelope)
}

/// The bundle without the signature of that key.
///
/// # Errors
///
/// [`Error::Absent`]
pub fn remove<B: AsRef<[u8]>>(bundle: &OpenBundle<B>, key_id: KeyId) -> Result<Vec<u8>, Error> {
    let path = path(key_id);
    let mut records = records::read(bundle.bytes());
    let before = records.len();
    records.retain(|record| record.path() != path.as_bytes());
    if records.len() == before {
        return Err(Error::Absent { key_id, there: bundle.signatures().map(str::to_owned).collect() });
    }
    rewritten(bundle, &records)
}

fn path(key_id: KeyId) -> String {
    signature_path(&key_id.to_string()).unwrap_or_else(|| format!("{SIGNATURES_DIR}{key_id}.json"))
}

/// Writes the records, and reads the result as a loader would.
fn rewritten<B: AsRef<[u8]>>(
    bundle: &OpenBundle<B>,
    records: &[records::Record<'_>],
) -> Result<Vec<u8>, Error> {
    let bytes = records::write(records)?;
    let again = OpenBundle::open(bytes.as_slice()).map_err(pack::Error::Unreadable)?;
    debug_assert_eq!(again.digest(), bundle.digest(), "signatures are outside the index");
    drop(again);
    Ok(bytes)
}

/// The one spelling of a signature that came from outside, if it is one by that key: Ed25519 as it
/// is; P-256 as DER or as r and s, of 32 bytes each, with s in either half.
fn canonical(key: &PublicKey, message: &[u8], raw: &[u8]) -> Option<Vec<u8>> {
    let candidates: Vec<Vec<u8>> = match key.algorithm() {
        Algorithm::Ed25519 => vec![raw.to_vec()],
        Algorithm::P256 => [ecdsa::Signature::from_der(raw), ecdsa::Signature::from_slice(raw)]
            .into_iter()
            .flatten()
            .map(|signature| signature.normalize_s().to_der().as_bytes().to_vec())
            .collect(),
    };
    candidates.into_iter().find(|signature| key.verify(message, signature).is_ok())
}

#[cfg(test)]
mod tests;
