//! Private keys: PKCS#8 in PEM, as `openssl genpkey` writes it, plain or encrypted (PBES2).

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use p256::ecdsa;
use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::EncodePrivateKey as _;
use pkcs8::pkcs5::pbes2::Parameters;
use pkcs8::{EncryptedPrivateKeyInfoRef, LineEnding, ObjectIdentifier, PrivateKeyInfoRef, SecretDocument};
use subako_manifest::key::{Algorithm, PublicKey};
use zeroize::Zeroizing;

use super::Error;

const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// PKCS#8 around an Ed25519 key, as openssl writes it: version 0, id-Ed25519, the 32 bytes inside
/// two octet strings.
const ED25519_HEADER: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

const PLAIN: &str = "PRIVATE KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";

/// Rounds of PBKDF2 for keys that are made here (OWASP's number for HMAC-SHA-256).
const ROUNDS: u32 = 600_000;
/// Bytes of a file with a key or a passphrase, at most.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// A private key. Its `Debug` shows the public key only.
pub struct PrivateKey {
    secret: Box<Secret>,
    public: PublicKey,
}

enum Secret {
    Ed25519(ed25519_dalek::SigningKey),
    P256(ecdsa::SigningKey),
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.public, f)
    }
}

/// What is there instead of a private key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPrivateKey {
    /// A public key.
    #[error("it is a public key")]
    Public,
    /// A private key in a form other than PKCS#8, by the words of its PEM.
    #[error("it is a `{0}`, not PKCS#8")]
    Form(String),
    /// Not the PEM of anything.
    #[error("it is not PEM")]
    Pem,
    /// PKCS#8 that is broken.
    #[error("its PKCS#8 is broken: {0}")]
    Broken(pkcs8::Error),
    /// Encrypted in a way that is not read.
    #[error("it is encrypted in a way that is not supported: {0}")]
    Encryption(pkcs8::pkcs5::Error),
    /// A key for something else.
    #[error("it is neither an Ed25519 nor a P-256 key")]
    Kind,
}

impl NotPrivateKey {
    pub(super) fn hint(&self, name: &str) -> Option<String> {
        let name = subako_manifest::text::shown(name);
        match self {
            Self::Form(_) => Some(format!("openssl pkcs8 -topk8 -in {name} -out key.pem")),
            Self::Encryption(_) => {
                Some(format!("openssl pkcs8 -topk8 -v2 aes-256-cbc -in {name} -out key.pem"))
            }
            Self::Public => Some("give the private key that it was made with".to_owned()),
            _ => None,
        }
    }
}

/// The label of a PEM's first part.
fn label(pem: &str) -> Option<&str> {
    Some(pem.trim_start().strip_prefix("-----BEGIN ")?.split_once("-----")?.0)
}

/// Reads a file with a secret: one that others could read is no secret, and refused.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::Exposed`]; [`Error::Key`] where it is a public key, which is for others
/// to read.
pub fn read_secret(path: &Path) -> Result<Zeroizing<String>, Error> {
    let refused = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(refused)?;
    let read = |file: &File| {
        let mut text = Zeroizing::new(String::with_capacity(MAX_SECRET_BYTES as usize));
        file.take(MAX_SECRET_BYTES).read_to_string(&mut text).map(|_| text)
    };
    // Of the file that is open, not of the path, which may be another one by then.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().map_err(refused)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            if read(&file).is_ok_and(|text| label(&text) == Some(PUBLIC)) {
                let name = path.to_string_lossy().into_owned();
                return Err(Error::Key { name, why: NotPrivateKey::Public });
            }
            return Err(Error::Exposed { path: path.to_owned(), mode });
        }
    }
    read(&file).map_err(refused)
}

impl PrivateKey {
    /// Reads a private key. `name` is for messages; `passphrase` is asked for only if the key is
    /// encrypted.
    ///
    /// # Errors
    ///
    /// [`Error::Key`], [`Error::PassphraseWrong`], and those of `passphrase`.
    pub fn from_pem(
        name: &str,
        pem: &str,
        passphrase: impl FnOnce() -> Result<Zeroizing<String>, Error>,
    ) -> Result<Self, Error> {
        let refused = |why| Error::Key { name: name.to_owned(), why };
        match label(pem) {
            Some(PLAIN | ENCRYPTED) => {}
            Some(PUBLIC) => return Err(refused(NotPrivateKey::Public)),
            Some(other) => return Err(refused(NotPrivateKey::Form(other.to_owned()))),
            None => return Err(refused(NotPrivateKey::Pem)),
        }
        let read = SecretDocument::from_pem(pem.trim_ascii());
        let (label, document) = read.map_err(|_| refused(NotPrivateKey::Pem))?;
        let document = if label == ENCRYPTED { decrypt(name, &document, passphrase)? } else { document };
        Self::from_der(document.as_bytes()).map_err(refused)
    }

    fn from_der(der: &[u8]) -> Result<Self, NotPrivateKey> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(NotPrivateKey::Broken)?;
        let secret = match info.algorithm.oid {
            ED25519 => {
                // An octet string of 32 bytes inside the octet string.
                let bytes = info.private_key.as_bytes().strip_prefix(b"\x04\x20");
                let bytes: Option<&[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
                let bytes = bytes.ok_or(NotPrivateKey::Broken(pkcs8::Error::ParametersMalformed))?;
                Secret::Ed25519(ed25519_dalek::SigningKey::from_bytes(bytes))
            }
            EC_PUBLIC_KEY => {
                Secret::P256(ecdsa::SigningKey::try_from(info).map_err(|_| NotPrivateKey::Kind)?)
            }
            _ => return Err(NotPrivateKey::Kind),
        };
        let public = secret.public_key().map_err(|_| NotPrivateKey::Kind)?;
        Ok(Self { secret: Box::new(secret), public })
    }

    /// Makes a new key.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        let secret = loop {
            let mut bytes = Zeroizing::new([0; 32]);
            getrandom::fill(bytes.as_mut()).map_err(Error::Random)?;
            match algorithm {
                Algorithm::Ed25519 => break Secret::Ed25519(ed25519_dalek::SigningKey::from_bytes(&bytes)),
                Algorithm::P256 => {
                    // One in 2^32 numbers is no key.
                    if let Ok(key) = ecdsa::SigningKey::from_slice(bytes.as_ref()) {
                        break Secret::P256(key);
                    }
                }
            }
        };
        let public = secret.public_key().map_err(Error::Public)?;
        Ok(Self { secret: Box::new(secret), public })
    }

    /// The key as PEM, encrypted where there is a passphrase.
    ///
    /// # Errors
    ///
    /// [`Error::Random`] and [`Error::Encode`].
    pub fn to_pem(&self, passphrase: Option<&str>) -> Result<Zeroizing<String>, Error> {
        let document = match &*self.secret {
            Secret::Ed25519(key) => {
                let der = Zeroizing::new([ED25519_HEADER, key.as_bytes()].concat());
                SecretDocument::try_from(der.as_slice()).map_err(|error| Error::Encode(error.into()))?
            }
            Secret::P256(key) => key.to_pkcs8_der().map_err(Error::Encode)?,
        };
        let (label, document) = match passphrase {
            Some(passphrase) => (ENCRYPTED, encrypt(&document, passphrase)?),
            None => (PLAIN, document),
        };
        document.to_pem(label, LineEnding::LF).map_err(|error| Error::Encode(error.into()))
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of `message`, in its one spelling: the same for the same message.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &*self.secret {
            Secret::Ed25519(key) => ed25519_dalek::Signer::sign(key, message).to_bytes().to_vec(),
            Secret::P256(key) => {
                let signature: ecdsa::Signature = key.sign(message);
                signature.normalize_s().to_der().as_bytes().to_vec()
            }
        }
    }
}

impl Secret {
    fn public_key(&self) -> Result<PublicKey, subako_manifest::key::NotPublicKey> {
        match self {
            Self::Ed25519(key) => PublicKey::ed25519(key.verifying_key().as_bytes()),
            Self::P256(key) => PublicKey::p256(key.verifying_key().to_sec1_point(false).as_bytes()),
        }
    }
}

fn decrypt(
    name: &str,
    document: &SecretDocument,
    passphrase: impl FnOnce() -> Result<Zeroizing<String>, Error>,
) -> Result<SecretDocument, Error> {
    let refused = |why| Error::Key { name: name.to_owned(), why };
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
        .map_err(|error| refused(NotPrivateKey::Broken(error)))?;
    let passphrase = passphrase()?;
    encrypted.decrypt(passphrase.as_bytes()).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(
            error @ (pkcs8::pkcs5::Error::UnsupportedAlgorithm { .. }
            | pkcs8::pkcs5::Error::AlgorithmParametersInvalid { .. }
            | pkcs8::pkcs5::Error::NoPbes1CryptSupport),
        ) => refused(NotPrivateKey::Encryption(error)),
        // A wrong passphrase gives bytes that are no padding, or no PKCS#8.
        _ => Error::PassphraseWrong(name.to_owned()),
    })
}

fn encrypt(document: &SecretDocument, passphrase: &str) -> Result<SecretDocument, Error> {
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    getrandom::fill(&mut salt).and_then(|()| getrandom::fill(&mut iv)).map_err(Error::Random)?;
    let parameters = Parameters::generate_pbkdf2_sha256_aes256cbc(ROUNDS, &salt, iv);
    let parameters = parameters.map_err(|error| Error::Encode(error.into()))?;
    let info = PrivateKeyInfoRef::try_from(document.as_bytes()).map_err(Error::Encode)?;
    info.encrypt_with_params(parameters, passphrase).map_err(Error::Encode)
}
