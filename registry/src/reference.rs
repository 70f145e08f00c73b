//! Where a bundle is published: `oci://HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`, or
//! `dir:PATH[:TAG][@DIGEST]` for an OCI image layout. Without a tag it is `latest`; a digest is
//! that of the manifest, and counts more than a tag.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

use subako_manifest::digest::Digest;

/// The tag where none is given.
const LATEST: &str = "latest";
/// Characters of a tag (OCI distribution, "Pulling manifests").
const MAX_TAG_CHARS: usize = 128;
/// Characters of a repository's name, so that with the host's it fits where others keep both.
const MAX_REPOSITORY_CHARS: usize = 255;

/// Where a bundle is, and which one it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Where.
    pub place: Place,
    /// Which one.
    pub version: Version,
}

/// What holds bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A repository of a registry.
    Registry(Repository),
    /// An OCI image layout.
    Directory(PathBuf),
}

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The host as it was given, with its port if it has one.
    pub host: String,
    /// The name, of one or more segments.
    pub name: String,
}

/// Which one of those that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The one that has this tag at the moment.
    Tag(String),
    /// The one whose manifest has this digest.
    Digest(Digest),
}

/// Why a text is no reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReference {
    /// Neither of the two beginnings.
    #[error("begins with neither `oci://` nor `dir:`")]
    Scheme,
    /// No host, or one with characters that no host has.
    #[error("has no host that a registry could have")]
    Host,
    /// No repository, or not its spelling.
    #[error("has no repository name, which is of `a`-`z`, `0`-`9`, `.`, `_`, `-` and `/`")]
    Repository,
    /// Not a tag's spelling.
    #[error("has a tag that is not 1 to 128 letters, digits, `_`, `.` or `-`")]
    Tag,
    /// Not a digest's spelling.
    #[error("has a digest that is not `sha256:` and 64 lowercase hexadecimal digits")]
    Digest,
    /// No directory.
    #[error("names no directory")]
    Path,
    /// A tag or a digest, where whatever is there is meant.
    #[error("has a tag or a digest, where a whole repository is meant")]
    Version,
}

impl FromStr for Reference {
    type Err = NotReference;

    fn from_str(text: &str) -> Result<Self, NotReference> {
        let (place, tag, digest) = parts(text)?;
        let version = match (digest, tag) {
            (Some(digest), _) => Version::Digest(digest),
            (None, tag) => Version::Tag(tag.unwrap_or(LATEST).to_owned()),
        };
        Ok(Self { place, version })
    }
}

impl FromStr for Place {
    type Err = NotReference;

    fn from_str(text: &str) -> Result<Self, NotReference> {
        match parts(text)? {
            (place, None, None) => Ok(place),
            _ => Err(NotReference::Version),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(repository) => write!(f, "oci://{}/{}", repository.host, repository.name),
            Self::Directory(path) => write!(f, "dir:{}", path.display()),
        }
    }
}

/// The place, the tag and the digest of a reference.
fn parts(text: &str) -> Result<(Place, Option<&str>, Option<Digest>), NotReference> {
    let (rest, registry) = match (text.strip_prefix("oci://"), text.strip_prefix("dir:")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => return Err(NotReference::Scheme),
    };
    let (rest, digest) = match rest.rsplit_once('@') {
        Some((rest, digest)) if registry || digest.starts_with("sha256:") => {
            (rest, Some(digest.parse::<Digest>().map_err(|_| NotReference::Digest)?))
        }
        _ => (rest, None),
    };
    let (place, tag) = if registry { repository(rest)? } else { directory(rest)? };
    Ok((place, tag, digest))
}

fn repository(text: &str) -> Result<(Place, Option<&str>), NotReference> {
    let (host, path) = text.split_once('/').ok_or(NotReference::Repository)?;
    if !is_host(host) {
        return Err(NotReference::Host);
    }
    let (name, tag) = match path.split_once(':') {
        Some((_, tag)) if !is_tag(tag) => return Err(NotReference::Tag),
        Some((name, tag)) => (name, Some(tag)),
        None => (path, None),
    };
    if name.len() > MAX_REPOSITORY_CHARS || !name.split('/').all(is_segment) {
        return Err(NotReference::Repository);
    }
    let repository = Repository { host: host.to_owned(), name: name.to_owned() };
    Ok((Place::Registry(repository), tag))
}

fn directory(text: &str) -> Result<(Place, Option<&str>), NotReference> {
    // What stands behind a colon and has a slash belongs to the path.
    let (path, tag) = match text.rsplit_once(':') {
        Some((path, tag)) if is_tag(tag) => (path, Some(tag)),
        Some((_, "")) => return Err(NotReference::Tag),
        _ => (text, None),
    };
    if path.is_empty() {
        return Err(NotReference::Path);
    }
    Ok((Place::Directory(PathBuf::from(path)), tag))
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MAX_TAG_CHARS).contains(&text.len())
        && word(text.as_bytes()[0])
        && text.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

/// Letters and digits, between which `.`, one or two `_`, or any number of `-` may stand.
fn is_segment(text: &str) -> bool {
    let word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    word(first)
        && word(last)
        && bytes
            .split(word)
            .filter(|between| !between.is_empty())
            .all(|between| matches!(between, b"." | b"_" | b"__") || between.iter().all(|byte| *byte == b'-'))
}

fn is_host(text: &str) -> bool {
    let (name, port) = split_port(text);
    let port_is_number = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let label = |label: &str| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            name.split('.').all(label)
        }
    };
    is_name && port_is_number
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        // The colons of an address stand in brackets.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

impl Repository {
    /// Whether the host is this machine, by its name alone: nobody is asked.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let (name, _) = split_port(&self.host);
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            || address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback()))
    }
}

impl Reference {
    /// The same place, and the one whose manifest has this digest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        Self { place: self.place.clone(), version: Version::Digest(digest) }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        match &self.version {
            Version::Tag(tag) => write!(f, ":{tag}"),
            Version::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn references_are_read_and_written() {
        for (text, whole) in [
            ("oci://ghcr.io/team/greet:1.0", "oci://ghcr.io/team/greet:1.0".to_owned()),
            ("oci://localhost:5000/greet", "oci://localhost:5000/greet:latest".to_owned()),
            ("oci://[::1]:5000/a/b__c/d--e", "oci://[::1]:5000/a/b__c/d--e:latest".to_owned()),
            (&format!("oci://h/r@{DIGEST}"), format!("oci://h/r@{DIGEST}")),
            (&format!("oci://h/r:tag@{DIGEST}"), format!("oci://h/r@{DIGEST}")),
            ("dir:out", "dir:out:latest".to_owned()),
            ("dir:/a:b/c", "dir:/a:b/c:latest".to_owned()),
            ("dir:./a@b:v1", "dir:./a@b:v1".to_owned()),
            (&format!("dir:out@{DIGEST}"), format!("dir:out@{DIGEST}")),
        ] {
            let reference: Reference = text.parse().unwrap_or_else(|error| panic!("{text} {error}"));
            assert_eq!(reference.to_string(), whole);
            assert_eq!(whole.parse(), Ok(reference));
        }
    }

    #[test]
    fn what_is_no_reference() {
        let long = format!("oci://h/r:{}", "t".repeat(129));
        for (text, why) in [
            ("ghcr.io/team/greet", NotReference::Scheme),
            ("https://ghcr.io/team/greet", NotReference::Scheme),
            ("oci://greet", NotReference::Repository),
            ("oci:///greet", NotReference::Host),
            ("oci://user:pass@h/greet", NotReference::Digest),
            ("oci://h:0/greet", NotReference::Host),
            ("oci://h:http/greet", NotReference::Host),
            ("oci://h\u{1b}/greet", NotReference::Host),
            ("oci://h/", NotReference::Repository),
            ("oci://h/Greet", NotReference::Repository),
            ("oci://h/a/../b", NotReference::Repository),
            ("oci://h/a___b", NotReference::Repository),
            ("oci://h/a//b", NotReference::Repository),
            ("oci://h/a?b", NotReference::Repository),
            ("oci://h/greet:", NotReference::Tag),
            ("oci://h/greet:-1", NotReference::Tag),
            ("oci://h/greet:a/b", NotReference::Tag),
            (&long, NotReference::Tag),
            ("oci://h/greet@sha256:00", NotReference::Digest),
            ("oci://h/greet@md5:00", NotReference::Digest),
            ("dir:", NotReference::Path),
            ("dir::v1", NotReference::Path),
            ("dir:a:", NotReference::Tag),
        ] {
            assert_eq!(text.parse::<Reference>(), Err(why), "{text}");
        }
    }

    #[test]
    fn a_place_has_neither_tag_nor_digest() {
        for text in ["oci://ghcr.io/team/cache", "oci://[::1]:5000/a", "dir:/a:b/c"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        let pinned = format!("oci://h/r@{DIGEST}");
        for text in ["oci://h/r:latest", &pinned, "dir:out:v1"] {
            assert_eq!(text.parse::<Place>(), Err(NotReference::Version), "{text}");
        }
    }

    #[test]
    fn this_machine_by_name() {
        let loopback = |host: &str| Repository { host: host.into(), name: "r".into() }.is_loopback();
        for host in ["localhost", "LOCALHOST:5000", "127.0.0.1:80", "127.9.9.9", "[::1]:5000", "[::1]"] {
            assert!(loopback(host), "{host}");
        }
        for host in ["localhost.example", "128.0.0.1", "0.0.0.0", "[::2]", "127.0.0.1.example:80"] {
            assert!(!loopback(host), "{host}");
        }
    }
}
