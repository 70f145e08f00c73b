use serde_json::json;
use subako_manifest::digest::Digest;
use subako_manifest::index::{ARTIFACT_FORMAT, BUNDLE_FORMAT, ENGINE_NAME, Engine, Index};

use super::provenance::Source;
use super::*;

fn key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::generate(algorithm).unwrap()
}

fn no_passphrase() -> Result<zeroize::Zeroizing<String>, Error> {
    Err(Error::PassphraseAbsent("k".to_owned()))
}

#[test]
fn a_key_comes_back_from_its_pem() {
    for algorithm in [Algorithm::Ed25519, Algorithm::P256] {
        let made = key(algorithm);
        assert_eq!(made.public_key().algorithm(), algorithm);
        let pem = made.to_pem(None).unwrap();
        let read = PrivateKey::from_pem("k", &pem, no_passphrase).unwrap();
        assert_eq!(read.public_key(), made.public_key());
        let signature = made.sign(b"message");
        assert_eq!(signature, read.sign(b"message"), "the same message has the same signature");
        assert_eq!(made.public_key().verify(b"message", &signature), Ok(()));

        let pem = made.to_pem(Some("secret")).unwrap();
        assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
        let with = |passphrase: &str| {
            let passphrase = zeroize::Zeroizing::new(passphrase.to_owned());
            PrivateKey::from_pem("k", &pem, || Ok(passphrase))
        };
        assert_eq!(with("secret").unwrap().public_key(), made.public_key());
        assert!(matches!(with("Secret"), Err(Error::PassphraseWrong(_))));
        assert!(matches!(PrivateKey::from_pem("k", &pem, no_passphrase), Err(Error::PassphraseAbsent(_))));
    }
}

#[test]
fn a_key_is_not_shown() {
    let key = key(Algorithm::Ed25519);
    assert_eq!(format!("{key:?}"), format!("ed25519 {}", key.public_key().id()));
}

#[test]
fn what_is_no_private_key() {
    let pem = key(Algorithm::Ed25519).to_pem(None).unwrap();
    let told = |pem: &str| match PrivateKey::from_pem("k", pem, no_passphrase) {
        Err(error) => (error.diagnostics()[0].code.as_str(), error.to_string()),
        Ok(key) => panic!("{key:?}"),
    };
    let begins = |text: &str| pem.replace("PRIVATE KEY", text);
    for (pem, why) in [
        (String::new(), "it is not PEM"),
        ("junk".to_owned(), "it is not PEM"),
        (pem.replace("MC4", "MC"), "it is not PEM"),
        (begins("PUBLIC KEY"), "it is a public key"),
        (begins("EC PRIVATE KEY"), "it is a `EC PRIVATE KEY`, not PKCS#8"),
        // X25519: the same, with another last digit.
        (pem.replace("K2Vw", "K2Vu"), "it is neither an Ed25519 nor a P-256 key"),
    ] {
        let expected = format!("`k` is not a private key that can be used: {why}");
        assert_eq!(told(&pem), ("E0830", expected));
    }
    let (code, message) = told(&begins("ENCRYPTED PRIVATE KEY"));
    assert!(code == "E0830" && message.contains("its PKCS#8 is broken"), "{message}");
}

#[test]
fn signatures_from_outside_get_their_one_spelling() {
    let key = key(Algorithm::P256);
    let ours = key.sign(b"message");
    let parsed = ecdsa::Signature::from_der(&ours).unwrap();
    let (r, s) = parsed.split_scalars();
    let upper = ecdsa::Signature::from_scalars(r, -*s.as_ref()).unwrap();
    let settled = |raw: &[u8]| canonical(key.public_key(), b"message", raw);
    for raw in [
        ours.clone(),
        parsed.to_bytes().to_vec(),
        upper.to_der().as_bytes().to_vec(),
        upper.to_bytes().to_vec(),
    ] {
        assert_eq!(settled(&raw).as_ref(), Some(&ours));
    }
    for wrong in [&b""[..], &ours[1..], &[0; 64], b"text\n"] {
        assert_eq!(settled(wrong), None);
    }
    assert_eq!(canonical(key.public_key(), b"other", &ours), None);
}

#[test]
fn a_program_signs() {
    let key = key(Algorithm::Ed25519).public_key().clone();
    let fault = |command: &str| Program::new(command.to_owned(), key.clone()).sign(b"message").unwrap_err();
    let told = |command: &str| fault(command).diagnostics()[0].code.as_str();
    assert_eq!(told("exit 3"), "E0834");
    assert_eq!(told("head -c 5000 /dev/zero"), "E0834");
    assert_eq!(told("no-such-program-here 2> /dev/null"), "E0834");
    assert_eq!(told("cat"), "E0835");
    assert!(fault("cat").to_string().starts_with("`cat` printed 7 bytes that are no signature by"));
}

fn index() -> Index {
    Index {
        format: BUNDLE_FORMAT,
        package: "greet".to_owned(),
        engine: Engine {
            name: ENGINE_NAME.to_owned(),
            version: "1.2.3".to_owned(),
            artifact_format: ARTIFACT_FORMAT,
            compatibility: Digest::of(b"settings"),
        },
        upload: Digest::of(b"abc"),
        imports: Vec::new(),
        tools: Vec::new(),
        entries: Vec::new(),
    }
}

#[test]
fn the_provenance_says_what_was_given() {
    let upload = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let mut provenance =
        Provenance { builder: "https://ci".to_owned(), source: None, finished: None, flags: None };
    assert_eq!(
        provenance.predicate(&index()),
        json!({
            "buildDefinition": {
                "buildType": "urn:subako:build:1",
                "externalParameters": { "package": "greet", "targets": [] },
                "resolvedDependencies": [{ "name": "upload", "digest": { "sha256": upload } }],
            },
            "runDetails": { "builder": { "id": "https://ci", "version": { "wasmtime": "1.2.3" } } },
        })
    );
    let commit = "0123456789012345678901234567890123456789".to_owned();
    provenance.source = Some(Source { uri: "git+https://e".to_owned(), commit: Some(commit.clone()) });
    provenance.finished = "2027-01-31".parse().ok();
    provenance.flags = Some(vec!["--strip=debug".to_owned()]);
    let full = provenance.predicate(&index());
    assert_eq!(full["buildDefinition"]["externalParameters"]["flags"], json!(["--strip=debug"]));
    assert_eq!(
        full["buildDefinition"]["resolvedDependencies"][1],
        json!({ "name": "source", "uri": "git+https://e", "digest": { "gitCommit": commit } })
    );
    assert_eq!(full["runDetails"]["metadata"], json!({ "finishedOn": "2027-01-31T00:00:00Z" }));
    assert_eq!(full["runDetails"]["builder"]["version"]["subakoc"], env!("CARGO_PKG_VERSION"));
}
