//! Headers that the operator adds to requests of one origin, with a secret that the module never
//! sees.

use std::fmt;
use std::io::Read as _;
use std::path::PathBuf;

use hyper::header::{HeaderName, HeaderValue};
use subako_manifest::limits::KIB;

use super::origin::Origin;

/// Bytes of a file with a secret.
const MAX_SECRET_BYTES: u64 = 64 * KIB;

/// A header for requests to one origin.
#[derive(Debug, Clone)]
pub struct Credential {
    /// The only origin that gets it.
    pub origin: Origin,
    /// The header.
    pub header: HeaderName,
    /// What comes before the secret: `Bearer `.
    pub prefix: String,
    /// Where the secret is.
    pub source: SecretSource,
}

/// Where a secret is, read anew for each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In an environment variable of the loader.
    Variable(String),
    /// In a file; a line end at its end is no part of it.
    File(PathBuf),
}

/// A header's value with a secret in it. Nothing prints it.
#[derive(Clone)]
pub(super) struct Secret {
    value: HeaderValue,
    secret: String,
}

impl Secret {
    /// The value to send, marked so that no table of HTTP/2 and no log keeps it.
    pub(super) fn into_value(self) -> HeaderValue {
        let mut value = self.value;
        value.set_sensitive(true);
        value
    }

    /// The secret itself, without what stands before it.
    pub(super) fn bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A secret that is not there; says no word of what was found instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unavailable {
    #[error("is not set")]
    Absent,
    #[error("cannot be read")]
    Unread,
    #[error("is empty")]
    Empty,
    #[error("holds what no header can carry")]
    NotHeader,
}

impl Credential {
    /// Reads the secret and makes the header's value.
    pub(super) fn value(&self) -> Result<Secret, Unavailable> {
        let secret = match &self.source {
            SecretSource::Variable(name) => {
                // An empty name or one with `=` is no variable's.
                let value = std::env::var_os(name).ok_or(Unavailable::Absent)?;
                value.into_string().map_err(|_| Unavailable::NotHeader)?
            }
            SecretSource::File(path) => {
                let file = std::fs::File::open(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => Unavailable::Absent,
                    _ => Unavailable::Unread,
                })?;
                let mut text = String::new();
                file.take(MAX_SECRET_BYTES).read_to_string(&mut text).map_err(|_| Unavailable::Unread)?;
                text
            }
        };
        let secret = secret.strip_suffix('\n').unwrap_or(&secret);
        let secret = secret.strip_suffix('\r').unwrap_or(secret);
        if secret.trim().is_empty() {
            return Err(Unavailable::Empty);
        }
        let value = format!("{}{secret}", self.prefix);
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| Unavailable::NotHeader)?;
        Ok(Secret { value, secret: secret.to_owned() })
    }
}

impl SecretSource {
    /// What it is, without its name: which variables and files the loader has is not the module's.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Variable(_) => "environment variable",
            Self::File(_) => "file",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::allow::origin_of_authority;

    fn from_file(contents: Option<&str>) -> Result<Vec<u8>, Unavailable> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        if let Some(contents) = contents {
            std::fs::write(&path, contents).unwrap();
        }
        let credential = Credential {
            origin: origin_of_authority("api.example.com").unwrap(),
            header: HeaderName::from_static("authorization"),
            prefix: "Bearer ".to_owned(),
            source: SecretSource::File(path),
        };
        let secret = credential.value()?;
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let value = secret.into_value();
        assert_eq!(format!("{value:?}"), "Sensitive");
        Ok(value.as_bytes().to_vec())
    }

    #[test]
    fn secrets_from_files() {
        assert_eq!(from_file(Some("s3cret\n")), Ok(b"Bearer s3cret".to_vec()));
        assert_eq!(from_file(Some("s3cret\r\n")), Ok(b"Bearer s3cret".to_vec()));
        assert_eq!(from_file(Some("s3cret")), Ok(b"Bearer s3cret".to_vec()));
        assert_eq!(from_file(None), Err(Unavailable::Absent));
        assert_eq!(from_file(Some("\n")), Err(Unavailable::Empty));
        assert_eq!(from_file(Some("two\nlines\n")), Err(Unavailable::NotHeader));
    }
}
