//! What is signed: an in-toto Statement v1 that says of a bundle, by its digest, how it was built. (Or
//! of an artifact, what it was compiled from: [`Statement::of_artifact`], which vouches for no bundle.)
//!
//! The JSON is compact and has one spelling; a field twice is another spelling, wherever it is. The
//! subjects are the bundle (`bundle.json`, whose digest is the bundle's) and the upload, in this
//! order. The predicate is SLSA provenance v1; a signed statement of another type may say anything
//! about a bundle, also that it is bad, so no other type vouches.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bundle::INDEX;
use crate::digest::Digest;
use crate::text::{grouped, shown};

/// in-toto's name of its statements.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// SLSA's name of its provenance.
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";
/// What an artifact was compiled from: for build servers that share what they compile.
pub const COMPILED_TYPE: &str = "urn:subako:compiled:1";
/// How the second subject is called.
pub const UPLOAD: &str = "upload";

/// A statement about a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: DigestSet,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigestSet {
    sha256: String,
}

/// What is wrong with a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not JSON, or not of a statement's shape.
    #[error("is not a statement: {}", shown(.0))]
    Json(String),
    /// Another spelling of some statement: white space, escapes, a field twice.
    #[error("is not spelled as a statement is spelled here")]
    Spelling,
    /// A type that is not the one expected.
    #[error("has the {field} `{}`, expected `{expected}`", shown(.found))]
    Type {
        /// `_type` or `predicateType`.
        field: &'static str,
        /// What it is.
        found: String,
        /// What it is in a statement that vouches.
        expected: &'static str,
    },
    /// Not the two subjects.
    #[error("has {} subjects, expected `{INDEX}` and `{UPLOAD}`", grouped(*.0 as u64))]
    Subjects(usize),
    /// A subject is another one than the bundle's.
    #[error("is about `{}` of sha256:{}, the bundle's `{name}` is {expected}", shown(.found_name), shown(.found))]
    Subject {
        /// Which of the two.
        name: &'static str,
        /// How the statement calls it.
        found_name: String,
        /// The digits in the statement.
        found: String,
        /// The bundle's.
        expected: Digest,
    },
}

impl Statement {
    /// A statement about the bundle with these digests.
    #[must_use]
    pub fn new(bundle: Digest, upload: Digest, predicate: Value) -> Self {
        let subject = |name: &str, digest: Digest| Subject {
            name: name.to_owned(),
            digest: DigestSet { sha256: digest.hex() },
        };
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject: vec![subject(INDEX, bundle), subject(UPLOAD, upload)],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        }
    }

    /// A statement that the artifact with this digest and of so many bytes was compiled from `inputs`:
    /// module, target, engine. It has one spelling: whoever knows what it should say compares the
    /// payloads.
    #[must_use]
    pub fn of_artifact(path: &str, artifact: Digest, bytes: u64, inputs: &Value) -> Self {
        Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject { name: path.to_owned(), digest: DigestSet { sha256: artifact.hex() } }],
            predicate_type: COMPILED_TYPE.to_owned(),
            predicate: json!({ "inputs": inputs, "bytes": bytes }),
        }
    }

    /// Reads the payload of an envelope, and checks that it is about the bundle with these digests.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub fn about(bundle: Digest, upload: Digest, payload: &[u8]) -> Result<Self, Error> {
        let statement: Self =
            serde_json::from_slice(payload).map_err(|error| Error::Json(error.to_string()))?;
        if statement.to_payload() != payload {
            return Err(Error::Spelling);
        }
        for (field, found, expected) in [
            ("_type", &statement.kind, STATEMENT_TYPE),
            ("predicateType", &statement.predicate_type, PREDICATE_TYPE),
        ] {
            if found != expected {
                return Err(Error::Type { field, found: found.clone(), expected });
            }
        }
        let expected = [(INDEX, bundle), (UPLOAD, upload)];
        if statement.subject.len() != expected.len() {
            return Err(Error::Subjects(statement.subject.len()));
        }
        for ((name, expected), subject) in expected.into_iter().zip(&statement.subject) {
            if subject.name != name || subject.digest.sha256 != expected.hex() {
                let (found_name, found) = (subject.name.clone(), subject.digest.sha256.clone());
                return Err(Error::Subject { name, found_name, found, expected });
            }
        }
        Ok(statement)
    }

    /// The statement in its one spelling.
    #[must_use]
    pub fn to_payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a statement holds text and JSON only")
    }

    /// How the bundle was built: a SLSA provenance. Whoever signed says so.
    #[must_use]
    pub fn predicate(&self) -> &Value {
        &self.predicate
    }
}

#[cfg(test)]
mod tests;
