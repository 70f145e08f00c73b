//! Spellings of URLs against what they mean: where they would go, and whether they may.

use std::path::Path;

use super::*;
use crate::http::request::Request;

const OK: Option<Kind> = None;
const NOT_ALLOWED: Option<Kind> = Some(Kind::HostNotAllowed);
const FORBIDDEN: Option<Kind> = Some(Kind::ForbiddenDestination);
const INVALID: Option<Kind> = Some(Kind::InvalidRequest);

const POLICY: &str = r#"{
    "allow": ["api.example.com", "*.example.org", "bücher.example", "ports.example.com:8443",
        "203.0.114.7", "[2606:4700::1]", "127.0.0.1", "localhost", "[::1]", "10.0.0.1"]
}"#;

const SPELLINGS: &[(&str, Option<Kind>)] = &[
    // The host that is allowed, as it may be written.
    ("https://api.example.com", OK),
    ("https://api.example.com/orders?a=b#c", OK),
    ("HTTPS://API.EXAMPLE.COM/", OK),
    ("https://api.example.com./", OK),
    ("https://api.example.com:443/", OK),
    ("https://api.example.com:/", OK),
    ("https://api.example.com:0443/", OK),
    ("https://user:password@api.example.com/", OK),
    ("https://@api.example.com/", OK),
    ("https://%61pi.example.com/", OK),
    ("https://ａｐｉ.example.com/", OK),
    ("https://api。example。com/", OK),
    ("https:api.example.com/", OK),
    ("https:///api.example.com/", OK),
    ("https:\\\\api.example.com\\orders", OK),
    ("https://api.exam\u{ad}ple.com/", OK),
    // Others that look like it.
    ("https://example.com/", NOT_ALLOWED),
    ("https://api.example.com:8443/", NOT_ALLOWED),
    ("https://api.example.com.evil.test/", NOT_ALLOWED),
    ("https://api.example.com@evil.test/", NOT_ALLOWED),
    ("https://api.example.com%2F@evil.test/", NOT_ALLOWED),
    ("https://api.example.com\\@evil.test/", OK),
    ("https://evil.test\\@api.example.com/", NOT_ALLOWED),
    ("https://evil.test/@api.example.com/", NOT_ALLOWED),
    ("https://evil.test?@api.example.com/", NOT_ALLOWED),
    ("https://evil.test#@api.example.com/", NOT_ALLOWED),
    ("https://api-example.com/", NOT_ALLOWED),
    ("https://аpi.example.com/", NOT_ALLOWED),
    ("https://x.api.example.com/", NOT_ALLOWED),
    // Subdomains alone.
    ("https://www.example.org/", OK),
    ("https://a.b.example.org/", OK),
    ("https://WWW.EXAMPLE.ORG./", OK),
    ("https://example.org/", NOT_ALLOWED),
    ("https://notexample.org/", NOT_ALLOWED),
    ("https://example.org.evil.test/", NOT_ALLOWED),
    ("https://www.example.org:8443/", NOT_ALLOWED),
    ("https://ports.example.com:8443/", OK),
    ("https://ports.example.com/", NOT_ALLOWED),
    // International names.
    ("https://bücher.example/", OK),
    ("https://BÜCHER.example/", OK),
    ("https://xn--bcher-kva.example/", OK),
    ("https://b%C3%BCcher.example/", OK),
    ("https://bu\u{308}cher.example/", OK),
    ("https://bucher.example/", NOT_ALLOWED),
    // An address that is allowed, as it may be written.
    ("https://203.0.114.7/", OK),
    ("https://0xcb.0.114.7/", OK),
    ("https://0313.0.0162.07/", OK),
    ("https://3405804039/", OK),
    ("https://203.29191/", OK),
    ("https://203.0.114.7./", OK),
    ("https://203.0.114.8/", NOT_ALLOWED),
    ("https://[2606:4700::1]/", OK),
    ("https://[2606:4700:0:0:0:0:0:1]/", OK),
    ("https://[2606:4700::0.0.0.1]/", OK),
    ("https://[2606:4700::2]/", NOT_ALLOWED),
    // Addresses that nobody may reach, allowed or not.
    ("https://127.0.0.1/", FORBIDDEN),
    ("https://127.1/", FORBIDDEN),
    ("https://127.0.1/", FORBIDDEN),
    ("https://2130706433/", FORBIDDEN),
    ("https://0x7f000001/", FORBIDDEN),
    ("https://0x7f.0.0.1/", FORBIDDEN),
    ("https://0177.0.0.1/", FORBIDDEN),
    ("https://017700000001/", FORBIDDEN),
    ("https://%31%32%37.0.0.1/", FORBIDDEN),
    ("https://１２７.０.０.１/", FORBIDDEN),
    ("https://①②⑦.0.0.1/", FORBIDDEN),
    ("https://127。0。0。1/", FORBIDDEN),
    ("https://127.0.0.1.:443/", FORBIDDEN),
    ("https://api.example.com@127.0.0.1/", FORBIDDEN),
    ("https://0/", FORBIDDEN),
    ("https://0.0.0.0/", FORBIDDEN),
    ("https://10.0.0.1/", FORBIDDEN),
    ("https://10.1/", FORBIDDEN),
    ("https://172.16.0.1/", FORBIDDEN),
    ("https://192.168.0.1/", FORBIDDEN),
    ("https://0xc0a80001/", FORBIDDEN),
    ("https://100.64.0.1/", FORBIDDEN),
    ("https://169.254.169.254/latest/meta-data/", FORBIDDEN),
    ("https://0xa9fea9fe/", FORBIDDEN),
    ("https://2852039166/", FORBIDDEN),
    ("https://168.63.129.16/", FORBIDDEN),
    ("https://255.255.255.255/", FORBIDDEN),
    ("https://224.0.0.1/", FORBIDDEN),
    ("https://192.0.2.1/", FORBIDDEN),
    ("https://[::1]/", FORBIDDEN),
    ("https://[0:0:0:0:0:0:0:1]/", FORBIDDEN),
    ("https://[::]/", FORBIDDEN),
    ("https://[::127.0.0.1]/", FORBIDDEN),
    ("https://[::ffff:127.0.0.1]/", FORBIDDEN),
    ("https://[::ffff:7f00:1]/", FORBIDDEN),
    ("https://[::FFFF:8.8.8.8]/", FORBIDDEN),
    ("https://[64:ff9b::7f00:1]/", FORBIDDEN),
    ("https://[2002:7f00:1::]/", FORBIDDEN),
    ("https://[2001:0:1::1]/", FORBIDDEN),
    ("https://[fe80::1]/", FORBIDDEN),
    ("https://[fd00:ec2::254]/", FORBIDDEN),
    ("https://[ff02::1]/", FORBIDDEN),
    ("https://[2001:db8::1]/", FORBIDDEN),
    // Other schemes.
    ("http://api.example.com/", FORBIDDEN),
    ("Http://api.example.com:443/", FORBIDDEN),
    ("ws://api.example.com/", FORBIDDEN),
    ("file:///etc/passwd", FORBIDDEN),
    ("gopher://api.example.com/", FORBIDDEN),
    // What is no URL, or none with a host.
    ("api.example.com", INVALID),
    ("//api.example.com/", INVALID),
    ("https://", INVALID),
    ("https://.", INVALID),
    ("https://api..example.com/", INVALID),
    ("https://api.example.com../", INVALID),
    ("https://*.example.org/", INVALID),
    ("https://api example.com/", INVALID),
    ("https://api.example.com:65536/", INVALID),
    ("https://api.example.com:x/", INVALID),
    ("https://1.2.3.4.5/", INVALID),
    ("https://256.0.0.1/", INVALID),
    ("https://0x100000000/", INVALID),
    ("https://09.0.0.1/", INVALID),
    ("https://[fe80::1%25eth0]/", INVALID),
    ("https://[::1/", INVALID),
    ("https://api.example.com\u{0}/", INVALID),
    ("https://api.exa\nmple.com/", INVALID),
    ("https://api.exa\tmple.com/", INVALID),
    (" https://api.example.com/", INVALID),
    ("https://api%00.example.com/", INVALID),
    ("https://api%2Fexample.com/", INVALID),
    ("https://xn--zz/", INVALID),
];

#[test]
fn spellings() {
    assert!(SPELLINGS.len() >= 60);
    let policy = Policy::parse(POLICY.as_bytes(), Path::new("")).unwrap();
    let mut wrong = Vec::new();
    for (url, wanted) in SPELLINGS {
        let request = serde_json::json!({ "url": url }).to_string();
        let found = Request::parse(request.as_bytes())
            .and_then(|request| check(&request.origin, &policy))
            .err()
            .map(|failure| failure.kind);
        if found != *wanted {
            wrong.push(format!("{url:?}: {found:?}, not {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A network that an operator allows opens its addresses, and only to hosts that are allowed too.
#[test]
fn allowed_networks() {
    let policy = r#"{"allow":["127.0.0.1","10.0.0.1"],"private_networks":["127.0.0.0/8"]}"#;
    let policy = Policy::parse(policy.as_bytes(), Path::new("")).unwrap();
    for (host, wanted) in [
        ("127.0.0.1", OK),
        ("127.0.0.2", NOT_ALLOWED),
        ("10.0.0.1", FORBIDDEN),
        ("[::ffff:127.0.0.1]", FORBIDDEN),
    ] {
        let origin = crate::http::allow::origin_of_authority(host).unwrap();
        assert_eq!(check(&origin, &policy).err().map(|failure| failure.kind), wanted, "{host}");
    }
}
