//! The file `/etc/hosts`: lines of an address and its names (hosts(5)).

use std::net::IpAddr;
use std::path::Path;

/// The addresses of `name` in the file at `path`, those of IPv6 first. A file that cannot be read
/// has none.
pub(super) fn addresses(path: &Path, name: &str) -> Vec<IpAddr> {
    let file = std::fs::read(path).unwrap_or_default();
    let mut found: Vec<IpAddr> = String::from_utf8_lossy(&file)
        .lines()
        .filter_map(|line| {
            let mut words = line.split('#').next()?.split_whitespace();
            let address = words.next()?.parse().ok()?;
            let named = |word: &str| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name);
            words.any(named).then_some(address)
        })
        .collect();
    found.sort_by_key(IpAddr::is_ipv4);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_address_and_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = b"127.0.0.1 localhost\n\
            # 192.0.2.9 api.test\n\
            \t192.0.2.1\tother.test  API.test # api2.test\n\
            2001:db8::1 api.test.\r\n\
            fe80::1%eth0 api.test\n\
            api.test 192.0.2.8\n\
            192.0.2.7\n\
            \xff api.test\n\
            192.0.2.2 api.test";
        std::fs::write(file.path(), text).unwrap();
        let found = |name: &str| -> Vec<String> {
            addresses(file.path(), name).iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("api.test"), ["2001:db8::1", "192.0.2.1", "192.0.2.2"]);
        assert_eq!(found("other.test"), ["192.0.2.1"]);
        assert_eq!(found("localhost"), ["127.0.0.1"]);
        for absent in ["api2.test", "test", "192.0.2.8", "#"] {
            assert_eq!(found(absent), Vec::<String>::new(), "{absent}");
        }
        assert_eq!(addresses(&file.path().join("absent"), "localhost"), Vec::<IpAddr>::new());
    }
}
