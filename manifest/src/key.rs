//! Public keys, and what counts as a signature of theirs.
//!
//! A key has one spelling, the SPKI DER that openssl writes, so that its id names it and no
//! other; a signature has one spelling, so that nobody can make a second one out of it:
//!
//! | kind | SPKI | signature |
//! | --- | --- | --- |
//! | Ed25519 | 12 bytes of header, the key's 32 | 64 bytes (RFC 8032), checked strictly |
//! | ECDSA P-256 with SHA-256 | 26 bytes of header, the point, uncompressed | DER of r and s, s in the lower half |
//!
//! Making keys and signatures is `compiler/src/sign`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa;
use p256::ecdsa::signature::Verifier as _;

use crate::digest::Digest;
use crate::text::shown;

/// `SEQUENCE { SEQUENCE { id-Ed25519 }, BIT STRING of 32 bytes }`, up to the bytes.
const ED25519_HEADER: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
/// `SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING of 65 bytes }`, up to the bytes.
const P256_HEADER: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\
    \x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
/// What an uncompressed point begins with.
const UNCOMPRESSED: u8 = 4;

const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";

/// The SHA-256 of a key's SPKI, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(Digest);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.hex())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a key id: 64 lowercase hexadecimal digits", shown(.0))]
pub struct NotKeyId(String);

impl FromStr for KeyId {
    type Err = NotKeyId;

    fn from_str(text: &str) -> Result<Self, NotKeyId> {
        format!("sha256:{text}").parse().map(Self).map_err(|_| NotKeyId(text.to_owned()))
    }
}

/// What a key signs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256 with SHA-256.
    P256,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ed25519 => "ed25519",
            Self::P256 => "p256",
        })
    }
}

/// A public key that can verify.
#[derive(Clone)]
pub struct PublicKey {
    spki: Vec<u8>,
    point: Box<Point>,
}

#[derive(Clone)]
enum Point {
    Ed25519(ed25519_dalek::VerifyingKey),
    P256(ecdsa::VerifyingKey),
}

/// Why some bytes are no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPublicKey {
    /// A private key, which nobody should hand out.
    #[error("it is a private key")]
    Private,
    /// Not a PEM of one public key.
    #[error("it is not the PEM of one public key")]
    Pem,
    /// The base64 is not the one spelling of some bytes.
    #[error("its base64 is not valid")]
    Base64,
    /// A key of another kind, or another spelling of one.
    #[error("it is neither an Ed25519 nor an uncompressed P-256 key")]
    Kind,
    /// No point of the curve, or one for which anybody can sign.
    #[error("it is not a point that a key may be")]
    Point,
}

/// Why a signature is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrongSignature {
    /// Not a signature of the key's kind at all, or in another encoding.
    #[error("is not encoded as a signature of this kind is")]
    Encoding,
    /// The other of the two values that P-256 has for one signature.
    #[error("has its s in the upper half")]
    UpperHalf,
    /// Made by another key, or for other bytes.
    #[error("is not made by this key for these bytes")]
    Other,
}

impl PublicKey {
    /// Reads a PEM as `openssl pkey -pubout` writes it.
    ///
    /// # Errors
    ///
    /// [`NotPublicKey`]
    pub fn from_pem(text: &str) -> Result<Self, NotPublicKey> {
        if text.contains("PRIVATE KEY-----") {
            return Err(NotPublicKey::Private);
        }
        let inside = text.trim().strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_END));
        let base64: String = inside.ok_or(NotPublicKey::Pem)?.lines().collect();
        Self::from_base64(&base64)
    }

    /// Reads the base64 of the SPKI: what stands between the lines of a PEM, as one line.
    ///
    /// # Errors
    ///
    /// [`NotPublicKey`]
    pub fn from_base64(text: &str) -> Result<Self, NotPublicKey> {
        Self::from_spki(STANDARD.decode(text).map_err(|_| NotPublicKey::Base64)?)
    }

    /// Reads the SPKI's DER.
    ///
    /// # Errors
    ///
    /// [`NotPublicKey::Kind`] and [`NotPublicKey::Point`].
    pub fn from_spki(spki: Vec<u8>) -> Result<Self, NotPublicKey> {
        let point = if let Some(key) = spki.strip_prefix(ED25519_HEADER) {
            let key = key.try_into().map_err(|_| NotPublicKey::Kind)?;
            let key = ed25519_dalek::VerifyingKey::from_bytes(key).map_err(|_| NotPublicKey::Point)?;
            // A weak key verifies signatures that nobody made. A second spelling of a point would
            // be a second id of a key: a number too large, or a sign of zero, which only weak keys have.
            if key.is_weak() || !is_below_p(key.as_bytes()) {
                return Err(NotPublicKey::Point);
            }
            Point::Ed25519(key)
        } else if let Some(point) = spki.strip_prefix(P256_HEADER) {
            if point.len() != 65 || point[0] != UNCOMPRESSED {
                return Err(NotPublicKey::Kind);
            }
            Point::P256(ecdsa::VerifyingKey::from_sec1_bytes(point).map_err(|_| NotPublicKey::Point)?)
        } else {
            return Err(NotPublicKey::Kind);
        };
        Ok(Self { spki, point: Box::new(point) })
    }

    /// The key of the 32 bytes of RFC 8032.
    ///
    /// # Errors
    ///
    /// [`NotPublicKey::Point`]
    pub fn ed25519(key: &[u8; 32]) -> Result<Self, NotPublicKey> {
        Self::from_spki([ED25519_HEADER, key].concat())
    }

    /// The key of an uncompressed point: 65 bytes, the first of them 4.
    ///
    /// # Errors
    ///
    /// [`NotPublicKey::Kind`] and [`NotPublicKey::Point`].
    pub fn p256(point: &[u8]) -> Result<Self, NotPublicKey> {
        Self::from_spki([P256_HEADER, point].concat())
    }

    /// The name by which signatures find the key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId(Digest::of(&self.spki))
    }

    /// What it signs by.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match *self.point {
            Point::Ed25519(_) => Algorithm::Ed25519,
            Point::P256(_) => Algorithm::P256,
        }
    }

    /// The base64 of the SPKI, as one line.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.spki)
    }

    /// The PEM as openssl writes it: lines of at most 64 letters.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let base64 = self.to_base64();
        let mut pem = format!("{PEM_BEGIN}\n");
        for (at, letter) in base64.chars().enumerate() {
            if at > 0 && at % 64 == 0 {
                pem.push('\n');
            }
            pem.push(letter);
        }
        pem + "\n" + PEM_END + "\n"
    }

    /// Whether `signature` is this key's for `message`.
    ///
    /// # Errors
    ///
    /// [`WrongSignature`]
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), WrongSignature> {
        match &*self.point {
            Point::Ed25519(key) => {
                let signature =
                    ed25519_dalek::Signature::from_slice(signature).map_err(|_| WrongSignature::Encoding)?;
                key.verify_strict(message, &signature).map_err(|_| WrongSignature::Other)
            }
            Point::P256(key) => {
                let parsed = ecdsa::Signature::from_der(signature).map_err(|_| WrongSignature::Encoding)?;
                if parsed.to_der().as_bytes() != signature {
                    return Err(WrongSignature::Encoding);
                }
                if parsed.normalize_s() != parsed {
                    return Err(WrongSignature::UpperHalf);
                }
                key.verify(message, &parsed).map_err(|_| WrongSignature::Other)
            }
        }
    }
}

/// Whether the number of 255 bits, the lowest byte first, is below 2^255 - 19 (RFC 8032, section
/// 5.1.3).
fn is_below_p(key: &[u8; 32]) -> bool {
    key[31] & 0x7f < 0x7f || key[1..31].iter().any(|byte| *byte < 0xff) || key[0] < 0xed
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.spki == other.spki
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.algorithm(), self.id())
    }
}

#[cfg(test)]
mod tests;
