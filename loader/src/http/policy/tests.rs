use super::*;

fn parsed(text: &str) -> Policy {
    Policy::parse(text.as_bytes(), Path::new("/nowhere")).unwrap_or_else(|refused| panic!("{refused}"))
}

fn origin(text: &str) -> Origin {
    origin_of_authority(text).unwrap()
}

#[test]
fn nothing_is_allowed_by_default() {
    assert!(!Policy::default().allows(&origin("api.example.com")));
    assert!(!parsed("{}").allows(&origin("api.example.com")));
}

#[test]
fn a_whole_policy() {
    let policy = parsed(
        r#"{"$schema":"network.json",
            "allow":["api.example.com","*.example.org"],
            "credentials":[
                {"origin":"https://api.example.com","header":"Authorization","prefix":"Bearer ","value":{"env":"TOKEN"}},
                {"origin":"https://api.example.com:8443/","header":"x-key","value":{"file":"key"}}],
            "resolve":{"API.example.com":"127.0.0.1:8443","b.example.org":"::1"},
            "private_networks":["127.0.0.0/8","::1"],
            "nameservers":["127.0.0.1:5353","::1"]}"#,
    );
    assert!(policy.allows(&origin("api.example.com")) && policy.allows(&origin("a.example.org")));
    let of = |host: &str| policy.credentials(&origin(host)).map(|c| c.header.to_string()).collect::<Vec<_>>();
    assert_eq!(of("api.example.com"), ["authorization"]);
    assert_eq!(of("api.example.com:8443"), ["x-key"]);
    assert_eq!(of("a.example.org"), Vec::<String>::new());
    assert_eq!(policy.credentials[1].source, SecretSource::File("/nowhere/key".into()));
    let loopback = Resolved { address: [127, 0, 0, 1].into(), port: Some(8443) };
    assert_eq!(policy.resolve["api.example.com"], loopback);
    assert_eq!(policy.nameservers[1], "[::1]:53".parse().unwrap());
}

#[test]
fn every_fault_is_told_with_its_place() {
    for (text, code, subject) in [
        ("", Code::PolicyJson, "policy"),
        ("{", Code::PolicyJson, "policy"),
        ("[]", Code::PolicyField, "policy"),
        (r#"{"allowed":[]}"#, Code::PolicyField, "allowed"),
        (r#"{"allow":[],"allow":[]}"#, Code::PolicyField, "allow"),
        (r#"{"allow":"a.example"}"#, Code::PolicyField, "allow"),
        (r#"{"allow":["a.example",1]}"#, Code::PolicyField, "allow[1]"),
        (r#"{"allow":["*"]}"#, Code::PolicyHost, "allow[0]"),
        (r#"{"allow":["https://a.example"]}"#, Code::PolicyHost, "allow[0]"),
        (r#"{"credentials":{}}"#, Code::PolicyField, "credentials"),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":{"env":"A"},"secret":"x"}]}"#,
            Code::PolicyField,
            "credentials[0].secret",
        ),
        (
            r#"{"credentials":[{"header":"x","value":{"env":"A"}}]}"#,
            Code::PolicyField,
            "credentials[0].origin",
        ),
        (
            r#"{"credentials":[{"origin":"http://a.example","header":"x","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].origin",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example/path","header":"x","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].origin",
        ),
        (
            r#"{"credentials":[{"origin":"https://*.example","header":"x","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].origin",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"host","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].header",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x y","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].header",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","prefix":"\n","value":{"env":"A"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].prefix",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":"s3cret"}]}"#,
            Code::PolicyField,
            "credentials[0].value",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":{}}]}"#,
            Code::PolicyCredential,
            "credentials[0].value",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":{"env":"A","file":"b"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].value",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":{"env":"A=B"}}]}"#,
            Code::PolicyCredential,
            "credentials[0].value",
        ),
        (
            r#"{"credentials":[{"origin":"https://a.example","header":"x","value":{"env":"A"}},
            {"origin":"https://A.example:443","header":"X","value":{"env":"B"}}]}"#,
            Code::PolicyCredential,
            "credentials[1].header",
        ),
        (r#"{"resolve":["a"]}"#, Code::PolicyField, "resolve"),
        (r#"{"resolve":{"a.example":"b.example"}}"#, Code::PolicyAddress, "resolve.a.example"),
        (r#"{"resolve":{"a.example:443":"127.0.0.1"}}"#, Code::PolicyAddress, "resolve.a.example:443"),
        (r#"{"resolve":{"127.0.0.1":"127.0.0.2"}}"#, Code::PolicyAddress, "resolve.127.0.0.1"),
        (
            r#"{"resolve":{"a.example":"127.0.0.1","A.example":"127.0.0.2"}}"#,
            Code::PolicyAddress,
            "resolve.A.example",
        ),
        (r#"{"private_networks":["0.0.0.0/0"]}"#, Code::PolicyAddress, "private_networks[0]"),
        (r#"{"private_networks":["10.0.0.1/8"]}"#, Code::PolicyAddress, "private_networks[0]"),
        (r#"{"nameservers":["dns.example"]}"#, Code::PolicyAddress, "nameservers[0]"),
        (r#"{"ca_certificates":["absent.pem"]}"#, Code::PolicyCertificate, "ca_certificates[0]"),
    ] {
        let refused = Policy::parse(text.as_bytes(), Path::new("/nowhere")).expect_err(text);
        let found: Vec<_> = refused.0.iter().map(|told| (told.code, told.subject.as_str())).collect();
        assert_eq!(found, [(code, subject)], "{text}");
    }
    let two = Policy::parse(br#"{"allow":["*"],"nameservers":["x"],"typo":1}"#, Path::new("/")).unwrap_err();
    assert_eq!(two.0.len(), 3, "{two}");
    assert!(Policy::parse(b"\xff", Path::new("/")).is_err());
}

#[test]
fn certificates_are_read_when_the_policy_is() {
    let directory = tempfile::tempdir().unwrap();
    for (contents, words) in [
        ("", "has no certificate"),
        ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "is not PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be a root"),
    ] {
        std::fs::write(directory.path().join("ca.pem"), contents).unwrap();
        let refused = Policy::parse(br#"{"ca_certificates":["ca.pem"]}"#, directory.path()).unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
    }
}
