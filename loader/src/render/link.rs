//! `volume:///…` links: the path beneath `/volume`, each segment percent-encoded.
//!
//! The scheme may be in any case. A segment is decoded on its own, after the path is split, so
//! that no escape can make a separator. `volume://host/…` and `volume:…` are other links, since
//! they are no paths beneath `/volume`. Characters that a URI ought to escape (a space, `é`) are
//! taken as they are; `?` and `#` are refused, since they end a URI's path.

use crate::volume::{Mount, VolumePath};

/// Why a `volume:///…` link names no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPath {
    /// A `%` without two hexadecimal digits after it.
    #[error("its path has a `%` that is no escape")]
    Escape,
    /// `?` or `#`, which end a path.
    #[error("its path has `{0}`, which must be written as an escape")]
    EndsPath(char),
    /// Nothing between two slashes, or after the last one.
    #[error("its path has an empty segment")]
    EmptySegment,
    /// `.` or `..`, also where it is escaped.
    #[error("its path has a segment `.` or `..`")]
    DotSegment,
    /// `%2F`.
    #[error("its path has an escaped slash")]
    Slash,
    /// `%00`.
    #[error("its path has an escaped zero byte")]
    Zero,
    /// Nothing below `tmp` or `data`.
    #[error("it names no file below `/volume/tmp` or `/volume/data`")]
    NoFile,
}

impl VolumePath {
    /// The path that a link names; nothing when it is another kind of link.
    #[must_use]
    pub fn of_uri(uri: &str) -> Option<Result<Self, NotPath>> {
        const SCHEME: &str = "volume:";
        let scheme = uri.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME))?;
        Some(Self::of_path(uri[scheme.len()..].strip_prefix("///")?))
    }

    fn of_path(path: &str) -> Result<Self, NotPath> {
        if let Some(c) = path.chars().find(|c| matches!(c, '?' | '#')) {
            return Err(NotPath::EndsPath(c));
        }
        let mut names = path.split('/').map(decoded).collect::<Result<Vec<_>, _>>()?;
        let mount = match names.remove(0).as_slice() {
            b"tmp" => Mount::Tmp,
            b"data" => Mount::Data,
            _ => return Err(NotPath::NoFile),
        };
        if names.is_empty() {
            return Err(NotPath::NoFile);
        }
        Ok(Self { mount, names })
    }
}

/// One segment, its escapes replaced by their bytes.
fn decoded(segment: &str) -> Result<Vec<u8>, NotPath> {
    let mut name = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            name.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(NotPath::Escape);
        };
        match (high * 16 + low) as u8 {
            b'/' => return Err(NotPath::Slash),
            0 => return Err(NotPath::Zero),
            byte => name.push(byte),
        }
    }
    match name.as_slice() {
        b"" => Err(NotPath::EmptySegment),
        b"." | b".." => Err(NotPath::DotSegment),
        // Only escapes are looked at above, but a segment may hold the byte itself.
        name if name.contains(&0) => Err(NotPath::Zero),
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(uri: &str) -> (Mount, Vec<String>) {
        let path = VolumePath::of_uri(uri).unwrap().unwrap();
        let names = path.names.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
        (path.mount, names)
    }

    #[test]
    fn paths_beneath_the_volume() {
        for (uri, mount, below) in [
            ("volume:///tmp/chart.png", Mount::Tmp, &["chart.png"][..]),
            ("volume:///data/a/b/c.gif", Mount::Data, &["a", "b", "c.gif"]),
            ("VOLUME:///tmp/a", Mount::Tmp, &["a"]),
            ("volume:///%74mp/a%20b%25.png", Mount::Tmp, &["a b%.png"]),
            ("volume:///tmp/%C3%A9", Mount::Tmp, &["é"]),
            ("volume:///tmp/é", Mount::Tmp, &["é"]),
            ("volume:///tmp/a%3fb%23", Mount::Tmp, &["a?b#"]),
            // A dot is only special alone, and `+` is a plus.
            ("volume:///tmp/...", Mount::Tmp, &["..."]),
            ("volume:///tmp/a+b", Mount::Tmp, &["a+b"]),
            // Decoded once only.
            ("volume:///tmp/%252e%252e", Mount::Tmp, &["%2e%2e"]),
            ("volume:///tmp/a\\b", Mount::Tmp, &["a\\b"]),
        ] {
            let below: Vec<String> = below.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(names(uri), (mount, below), "{uri}");
        }
    }

    #[test]
    fn paths_that_name_no_file() {
        for (path, wrong) in [
            ("", NotPath::EmptySegment),
            ("tmp", NotPath::NoFile),
            ("tmp/", NotPath::EmptySegment),
            ("tmp//a", NotPath::EmptySegment),
            ("/tmp/a", NotPath::EmptySegment),
            ("etc/passwd", NotPath::NoFile),
            ("TMP/a", NotPath::NoFile),
            ("../etc/passwd", NotPath::DotSegment),
            ("tmp/../data/a", NotPath::DotSegment),
            ("tmp/%2e%2E/a", NotPath::DotSegment),
            ("tmp/.%2e/a", NotPath::DotSegment),
            ("tmp/./a", NotPath::DotSegment),
            ("tmp/a%2fb", NotPath::Slash),
            ("tmp%2Fa", NotPath::Slash),
            ("tmp/a%00.png", NotPath::Zero),
            ("tmp/a\0.png", NotPath::Zero),
            ("tmp/%", NotPath::Escape),
            ("tmp/%4", NotPath::Escape),
            ("tmp/%zz", NotPath::Escape),
            ("tmp/%+1", NotPath::Escape),
            ("tmp/%é", NotPath::Escape),
            ("tmp/a?b", NotPath::EndsPath('?')),
            ("tmp/a#b", NotPath::EndsPath('#')),
        ] {
            assert_eq!(VolumePath::of_uri(&format!("volume:///{path}")), Some(Err(wrong)), "{path}");
        }
    }

    #[test]
    fn other_links() {
        for uri in [
            "",
            "https://example.com/tmp/a.png",
            "file:///volume/tmp/a.png",
            "volume:/tmp/a.png",
            "volume://tmp/a.png",
            "volume:tmp/a.png",
            "volumes:///tmp/a.png",
            " volume:///tmp/a.png",
            "/volume/tmp/a.png",
            "vol\u{fc}me:///tmp/a",
        ] {
            assert_eq!(VolumePath::of_uri(uri), None, "{uri}");
        }
    }
}
