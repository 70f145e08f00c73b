//! Trust as it is written: keys in PEM, or one trust file.
//!
//! ```json
//! {
//!   "format": 1,
//!   "threshold": 1,
//!   "keys": [
//!     { "name": "build server", "key": "MCow…", "expires": "2028-01-01", "packages": ["greet"] }
//!   ],
//!   "revoked": ["sha256:…"]
//! }
//! ```
//!
//! `key` is what stands between the lines of the key's PEM. `threshold` is 1, `revoked` is empty,
//! a key is for ever and for every package, where nothing is said.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Moment, Trust, TrustedKey};
use crate::diagnostic::{Code, Diagnostic, Explain, Place};
use crate::digest::Digest;
use crate::index::is_package_name;
use crate::key::{NotPublicKey, PublicKey};
use crate::text::{grouped, shown};

/// The format of trust files that this version reads.
const TRUST_FORMAT: u64 = 1;

/// What is wrong with a key file or a trust file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {fault}", shown(.file))]
pub struct TrustFileError {
    /// The file, as the user knows it.
    pub file: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is no PEM of a public key, and does not begin as a trust file.
    #[error("is not a public key: {0}")]
    Key(NotPublicKey),
    /// A trust file says all that is trusted: nothing can be beside it.
    #[error("is a trust file, and cannot be given together with other keys")]
    NotAlone,
    /// Not JSON, or not of a trust file's shape.
    #[error("is not a trust file: {}", shown(.message))]
    Json {
        /// What the parser says.
        message: String,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
    },
    /// A format that this version does not read.
    #[error("has format {0}, this version reads format {TRUST_FORMAT}")]
    Format(u64),
    /// A key that is none.
    #[error("has no public key as `{}`: {source}", shown(.name))]
    KeyOf {
        /// The key's name.
        name: String,
        /// Why not.
        source: NotPublicKey,
    },
    /// One name or one key is there twice: it would count as two.
    #[error("has `{}` twice", shown(.0))]
    Twice(String),
    /// A threshold that is no number of the keys.
    #[error("has a threshold of {}, and {} keys", grouped(*.threshold), grouped(*.keys as u64))]
    Threshold {
        /// What it is.
        threshold: u64,
        /// How many keys there are.
        keys: usize,
    },
    /// A name that no package can have.
    #[error("names `{}`, which is not a package name", shown(.0))]
    PackageName(String),
}

impl Explain for TrustFileError {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match &self.fault {
            Fault::Key(_) => Code::PublicKeyInvalid,
            Fault::NotAlone => Code::TrustFileNotAlone,
            _ => Code::TrustFileInvalid,
        };
        let diagnostic = Diagnostic::error(code, &self.file, self.to_string());
        vec![match &self.fault {
            Fault::Key(NotPublicKey::Private) => diagnostic
                .hint(format!("give the public key: `openssl pkey -in {} -pubout`", shown(&self.file))),
            Fault::Json { line, column, .. } => diagnostic.at(Place {
                line: Some(*line),
                column: Some(*column),
                ..Place::file(self.file.clone())
            }),
            _ => diagnostic,
        }]
    }
}

#[derive(Deserialize)]
struct Format {
    format: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(default = "one")]
    threshold: u64,
    keys: Vec<FileKey>,
    #[serde(default)]
    revoked: Vec<Digest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKey {
    name: String,
    key: String,
    #[serde(default, deserialize_with = "moment")]
    expires: Option<Moment>,
    #[serde(default, deserialize_with = "given")]
    packages: Option<Vec<String>>,
}

fn one() -> u64 {
    1
}

/// A field that is there is not `null`: nobody should wonder what that means.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn moment<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Moment>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

impl Trust {
    /// Reads what the user gave: PEM files, of whose keys each is enough, or one trust file. Each
    /// is a name for messages and the file's bytes.
    ///
    /// # Errors
    ///
    /// The first fault of the first file that has one.
    pub fn from_files(files: &[(String, Vec<u8>)]) -> Result<Self, TrustFileError> {
        let mut keys: Vec<TrustedKey> = Vec::new();
        for (file, bytes) in files {
            let wrong = |fault| TrustFileError { file: file.clone(), fault };
            if bytes.trim_ascii_start().starts_with(b"{") {
                if files.len() > 1 {
                    return Err(wrong(Fault::NotAlone));
                }
                return Self::from_json(bytes).map_err(wrong);
            }
            let text = str::from_utf8(bytes).map_err(|_| wrong(Fault::Key(NotPublicKey::Pem)))?;
            let key = PublicKey::from_pem(text).map_err(|error| wrong(Fault::Key(error)))?;
            if keys.iter().all(|known| known.key != key) {
                keys.push(TrustedKey { name: file.clone(), key, expires: None, packages: None });
            }
        }
        Ok(Self { keys, threshold: 1, revoked: BTreeSet::new() })
    }

    fn from_json(bytes: &[u8]) -> Result<Self, Fault> {
        let Format { format } = serde_json::from_slice(bytes).map_err(json)?;
        if format != TRUST_FORMAT {
            return Err(Fault::Format(format));
        }
        let file: File = serde_json::from_slice(bytes).map_err(json)?;
        let mut keys: Vec<TrustedKey> = Vec::new();
        for FileKey { name, key, expires, packages } in file.keys {
            let key =
                PublicKey::from_base64(&key).map_err(|source| Fault::KeyOf { name: name.clone(), source })?;
            if keys.iter().any(|known| known.name == name || known.key == key) {
                return Err(Fault::Twice(name));
            }
            let wrong = packages.iter().flatten().find(|package| !is_package_name(package));
            if let Some(package) = wrong {
                return Err(Fault::PackageName(package.clone()));
            }
            keys.push(TrustedKey { name, key, expires, packages });
        }
        let threshold = usize::try_from(file.threshold).unwrap_or(usize::MAX);
        if !(1..=keys.len()).contains(&threshold) {
            return Err(Fault::Threshold { threshold: file.threshold, keys: keys.len() });
        }
        Ok(Self { keys, threshold, revoked: file.revoked.into_iter().collect() })
    }
}

fn json(error: serde_json::Error) -> Fault {
    let (line, column) = (error.line() as u64, error.column() as u64);
    // The place is kept apart; the parser's own text repeats it.
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    Fault::Json { message, line, column }
}
