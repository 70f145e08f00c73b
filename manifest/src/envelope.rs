//! DSSE envelopes: a statement and one signature of it, as `signatures/<key id>.json` holds them.
//!
//! ```text
//! {"payloadType":"application/vnd.in-toto+json","payload":"…","signatures":[{"keyid":"…","sig":"…"}]}
//! ```
//!
//! on one line, with a newline at the end; `payload` and `sig` are base64 of the standard alphabet,
//! padded. This is the only spelling that is read: an envelope has no second form that means the
//! same. What is signed is not the JSON but [`pae`] of the payload.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::key::{KeyId, PublicKey, WrongSignature};
use crate::text::{grouped, shown};

/// The type of what is signed: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A payload that somebody claims to have signed; [`Envelope::verify`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    key_id: KeyId,
    signature: Vec<u8>,
}

/// What is wrong with an envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not JSON, or not of an envelope's shape: a field too many, too few, twice, of a wrong type.
    #[error("is not an envelope: {}", shown(.0))]
    Json(String),
    /// It says that something else than a statement is signed.
    #[error("has the payload type `{}`, expected `{PAYLOAD_TYPE}`", shown(.0))]
    PayloadType(String),
    /// An envelope here has one signature; another key has an envelope of its own.
    #[error("has {} signatures, expected 1", grouped(*.0 as u64))]
    Signatures(usize),
    /// A field that is not base64, or not the one spelling of it.
    #[error("has no canonical base64 in `{0}`")]
    Base64(&'static str),
    /// A key id that no key can have.
    #[error("has the key id `{}`, which is not 64 lowercase hexadecimal digits", shown(.0))]
    NotKeyId(String),
    /// The same envelope in another spelling.
    #[error("is not spelled as an envelope is spelled here")]
    Spelling,
    /// It is there under the name of another key.
    #[error("names the key {found}, and is there as the signature of {expected}")]
    KeyId {
        /// The id in the envelope.
        found: KeyId,
        /// The id of the key that verifies it.
        expected: KeyId,
    },
    /// The signature is not the key's.
    #[error("has a signature that {0}")]
    Signature(WrongSignature),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<JsonSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonSignature {
    keyid: String,
    sig: String,
}

impl Envelope {
    /// An envelope of a signature made elsewhere.
    #[must_use]
    pub fn new(payload: Vec<u8>, key_id: KeyId, signature: Vec<u8>) -> Self {
        Self { payload, key_id, signature }
    }

    /// Reads an envelope. Nothing is verified.
    ///
    /// # Errors
    ///
    /// The first of [`Error`], up to its spelling.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        let json: Json = serde_json::from_slice(bytes).map_err(|error| Error::Json(error.to_string()))?;
        if json.payload_type != PAYLOAD_TYPE {
            return Err(Error::PayloadType(json.payload_type));
        }
        let [JsonSignature { keyid, sig }] = json.signatures.as_slice() else {
            return Err(Error::Signatures(json.signatures.len()));
        };
        // The decoder refuses what is not padded, and bits that mean nothing.
        let decode = |text: &str, field| STANDARD.decode(text).map_err(|_| Error::Base64(field));
        let envelope = Self {
            payload: decode(&json.payload, "payload")?,
            key_id: keyid.parse().map_err(|_| Error::NotKeyId(keyid.clone()))?,
            signature: decode(sig, "sig")?,
        };
        if envelope.to_json() == bytes { Ok(envelope) } else { Err(Error::Spelling) }
    }

    /// The envelope in its one spelling.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let json = Json {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(&self.payload),
            signatures: vec![JsonSignature {
                keyid: self.key_id.to_string(),
                sig: STANDARD.encode(&self.signature),
            }],
        };
        let mut bytes = serde_json::to_vec(&json).expect("an envelope holds text only");
        bytes.push(b'\n');
        bytes
    }

    /// The key that is said to have signed.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The payload, whoever made it.
    #[must_use]
    pub fn claimed(&self) -> &[u8] {
        &self.payload
    }

    /// The payload, if `key` has signed it.
    ///
    /// # Errors
    ///
    /// [`Error::KeyId`] and [`Error::Signature`].
    pub fn verify(&self, key: &PublicKey) -> Result<&[u8], Error> {
        let expected = key.id();
        if self.key_id != expected {
            return Err(Error::KeyId { found: self.key_id, expected });
        }
        key.verify(&pae(&self.payload), &self.signature).map_err(Error::Signature)?;
        Ok(&self.payload)
    }
}

/// The bytes to sign (DSSE, "PAE"): the type and the payload, each after its length, so that no
/// other pair gives the same bytes.
#[must_use]
pub fn pae(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests;
