//! CycloneDX 1.6 as JSON, as much of it as a bundle needs. What is read may have more.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use subako_manifest::digest::Digest;

const FORMAT: &str = "CycloneDX";
const VERSION: &str = "1.6";
const SHA_256: &str = "SHA-256";

/// The whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bom {
    pub(super) bom_format: String,
    pub(super) spec_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serial_number: Option<String>,
    version: u32,
    pub(super) metadata: Metadata,
    pub(super) components: Vec<Component>,
    pub(super) dependencies: Vec<Dependency>,
}

/// What it is about, and what made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Metadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    pub(super) tools: Tools,
    pub(super) component: Component,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tools {
    pub(super) components: Vec<Component>,
}

/// A thing; what is empty is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Component {
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    #[serde(rename = "bom-ref", default, skip_serializing_if = "String::is_empty")]
    pub(super) bom_ref: String,
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hashes: Vec<Hash>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) purl: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) properties: Vec<Property>,
}

/// Of CycloneDX's types those that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Application,
    File,
    Framework,
    Library,
    Platform,
}

/// Whether the bundle needs it where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scope {
    Required,
    Excluded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hash {
    pub(super) alg: String,
    pub(super) content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
}

/// What a thing needs, by references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dependency {
    #[serde(rename = "ref")]
    of: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
}

impl Bom {
    /// A document with a serial number that follows from the rest of it: a UUID of version 8
    /// (RFC 9562), by the SHA-256 of the document without.
    pub(super) fn new(metadata: Metadata, components: Vec<Component>, dependencies: Vec<Dependency>) -> Self {
        let mut bom = Self {
            bom_format: FORMAT.to_owned(),
            spec_version: VERSION.to_owned(),
            serial_number: None,
            version: 1,
            metadata,
            components,
            dependencies,
        };
        let digest = Digest::of(&bom.to_json());
        bom.serial_number = Some(serial(digest.as_bytes()));
        bom
    }

    /// The document in one spelling: two spaces a level, a newline at the end, and whatever could
    /// drive a terminal as an escape.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let json = serde_json::to_string_pretty(self).expect("a document holds text, numbers and lists only");
        let mut text = String::with_capacity(json.len() + 1);
        for c in json.chars() {
            // Only strings can have them, and JSON has an escape of this form for each.
            if c != '\n' && c.is_control() {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            } else {
                text.push(c);
            }
        }
        text.push('\n');
        text.into_bytes()
    }

    /// Whether it says that it is of this format and version.
    pub(super) fn is_known(&self) -> bool {
        self.bom_format == FORMAT && self.spec_version == VERSION
    }
}

fn serial(digest: &[u8; 32]) -> String {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&digest[..16]);
    // Version 8, and the variant of RFC 9562.
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let mut text = "urn:uuid:".to_owned();
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl Component {
    pub(super) fn new(kind: Kind, bom_ref: &str, name: &str) -> Self {
        Self {
            kind,
            bom_ref: bom_ref.to_owned(),
            name: name.to_owned(),
            version: String::new(),
            description: String::new(),
            scope: None,
            hashes: Vec::new(),
            purl: String::new(),
            properties: Vec::new(),
        }
    }

    pub(super) fn digested(mut self, digest: Digest) -> Self {
        self.hashes = vec![Hash { alg: SHA_256.to_owned(), content: digest.hex() }];
        self
    }

    /// Its SHA-256, if it has one.
    pub(super) fn digest(&self) -> Option<Digest> {
        let hash = self.hashes.iter().find(|hash| hash.alg == SHA_256)?;
        format!("sha256:{}", hash.content).parse().ok()
    }

    pub(super) fn property(&mut self, name: &str, value: String) {
        self.properties.push(Property { name: name.to_owned(), value });
    }
}

impl Dependency {
    pub(super) fn new(of: &str, depends_on: Vec<String>) -> Self {
        Self { of: of.to_owned(), depends_on }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of "abc" (FIPS 180-4), with the bits of version and variant set by hand.
    #[test]
    fn the_serial_number_is_a_uuid_of_version_8() {
        let digest = Digest::of(b"abc");
        assert_eq!(serial(digest.as_bytes()), "urn:uuid:ba7816bf-8f01-8fea-8141-40de5dae2223");
    }

    #[test]
    fn what_could_drive_a_terminal_is_escaped() {
        let name = "a\u{1b}[2J\u{9b}2J\u{7f}\n\"";
        let component = Component::new(Kind::File, "f", name);
        let metadata = Metadata {
            timestamp: None,
            tools: Tools { components: Vec::new() },
            component: component.clone(),
        };
        let bom = Bom::new(metadata, vec![component], Vec::new());
        let json = String::from_utf8(bom.to_json()).unwrap();
        assert!(json.chars().all(|c| c == '\n' || !c.is_control()), "{json}");
        assert!(json.contains("\\u009b2J\\u007f\\n"), "{json}");
        assert_eq!(serde_json::from_str::<Bom>(&json).unwrap(), bom);
    }
}
