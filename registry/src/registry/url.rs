//! Addresses: as much of them as the protocol of registries needs.

use ureq::http::Uri;

/// Where a `Location` leads that came from `base`: it is an address, or a path of the same host.
pub(super) fn resolve(base: &str, location: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let whole = if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{location}")
    } else {
        location.to_owned()
    };
    origin(&whole).map(|_| whole)
}

/// Scheme, host and port, by which credentials are kept to those that they are for.
pub(super) fn origin(url: &str) -> Option<(String, String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let default = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = uri.authority()?;
    // A user in an address would be sent along.
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return None;
    }
    let port = match &authority.as_str()[authority.host().len()..] {
        "" => default,
        port => port.strip_prefix(':')?.parse().ok()?,
    };
    Some((scheme, authority.host().to_ascii_lowercase(), port))
}

/// The address as it may be shown: what stands in a query can be a secret.
pub(super) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// A value for a query.
pub(super) fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations() {
        let from = |location| resolve("https://h:5/v2/r/blobs/uploads/", location);
        assert_eq!(from("/v2/r/blobs/uploads/1?s=a").unwrap(), "https://h:5/v2/r/blobs/uploads/1?s=a");
        assert_eq!(from("http://other/x").unwrap(), "http://other/x");
        assert_eq!(from("//other/x").unwrap(), "https://other/x");
        for wrong in ["", "x", "ftp://h/x", "https://", "https://u:p@h/", "/a b", "https://h:99999/"] {
            assert_eq!(from(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn origins_are_told_apart() {
        assert_eq!(origin("https://H/x"), origin("https://h:443/y?z"));
        for other in ["http://h/x", "https://h:444/x", "https://i/x"] {
            assert_ne!(origin("https://h/x"), origin(other));
        }
    }

    #[test]
    fn values_of_a_query() {
        assert_eq!(encode("repository:a/b:pull,push"), "repository%3Aa%2Fb%3Apull%2Cpush");
        assert_eq!(without_query("https://h/x?token=1#2"), "https://h/x");
    }
}
