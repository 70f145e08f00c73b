use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;

use super::*;
use crate::bundle::tests::signed;
use crate::diagnostic::Explain as _;
use crate::envelope::{self, pae};
use crate::statement;

/// A key of these bytes.
fn signer(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn key(number: u8) -> PublicKey {
    PublicKey::ed25519(signer(number).verifying_key().as_bytes()).unwrap()
}

fn id(number: u8) -> String {
    key(number).id().to_string()
}

/// What key `number` says of a bundle with these digests.
fn envelope(number: u8, bundle: Digest, upload: Digest) -> Envelope {
    let payload = Statement::new(bundle, upload, json!({ "by": number })).to_payload();
    let signature = signer(number).sign(&pae(&payload)).to_bytes().to_vec();
    Envelope::new(payload, key(number).id(), signature)
}

/// The right signature of the bundle of these tests by key `number`.
fn right(number: u8) -> (String, Vec<u8>) {
    let bundle = signed(&[]);
    (id(number), envelope(number, bundle.digest(), bundle.index().upload).to_json())
}

fn now() -> Moment {
    "2027-06-01".parse().unwrap()
}

fn trust_file(text: &str) -> Result<Trust, TrustFileError> {
    Trust::from_files(&[("trust.json".to_owned(), text.as_bytes().to_vec())])
}

/// A trust file of keys 1 to `keys`, named `k1`, …; each may have more fields.
fn file(keys: u8, more_of_key: &str, more: &str) -> String {
    let keys: Vec<_> = (1..=keys)
        .map(|number| format!(r#"{{"name":"k{number}","key":"{}"{more_of_key}}}"#, key(number).to_base64()))
        .collect();
    format!(r#"{{"format":1,"keys":[{}]{more}}}"#, keys.join(","))
}

fn trust(keys: u8) -> Trust {
    trust_file(&file(keys, "", "")).unwrap()
}

fn verify(trust: &Trust, signatures: &[(String, Vec<u8>)]) -> Result<Vec<String>, Error> {
    let vouches = trust.verify(&signed(signatures), &[], now())?;
    Ok(vouches.into_iter().map(|vouch| vouch.name).collect())
}

fn codes(error: &Error) -> Vec<&'static str> {
    error.diagnostics().iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

#[test]
fn a_trusted_key_vouches() {
    assert_eq!(verify(&trust(1), &[right(1)]), Ok(vec!["k1".to_owned()]));
    assert_eq!(verify(&trust(2), &[right(2)]), Ok(vec!["k2".to_owned()]));
    assert_eq!(verify(&trust(2), &[right(1), right(2)]), Ok(vec!["k1".to_owned(), "k2".to_owned()]));
    // A stranger's signature is not read.
    assert_eq!(verify(&trust(1), &[right(1), (id(9), b"junk".to_vec())]), Ok(vec!["k1".to_owned()]));
    let vouches = trust(1).verify(&signed(&[right(1)]), &[], now()).unwrap();
    assert_eq!((vouches[0].key_id, &vouches[0].statement.predicate()["by"]), (key(1).id(), &json!(1)));
}

#[test]
fn pem_keys_are_each_enough() {
    let pem = |number: u8| (format!("k{number}.pub"), key(number).to_pem().into_bytes());
    let trust = Trust::from_files(&[pem(1), pem(2), pem(1)]).unwrap();
    assert_eq!(verify(&trust, &[right(2)]), Ok(vec!["k2.pub".to_owned()]));
    assert_eq!(codes(&verify(&trust, &[right(3)]).unwrap_err()), ["E0803"]);
}

#[test]
fn nobody_vouches() {
    let error = verify(&trust(1), &[]).unwrap_err();
    assert_eq!((codes(&error), error), (vec!["E0801"], Error::Unsigned { digest: signed(&[]).digest() }));
    let error = verify(&trust(1), &[right(2), right(3)]).unwrap_err();
    assert_eq!(codes(&error), ["E0803", "E0803"]);
    let mut strangers = [id(2), id(3)];
    strangers.sort();
    assert_eq!(error.diagnostics()[0].message, format!("key `{}` is not trusted", strangers[0]));
}

#[test]
fn every_signature_of_a_trusted_key_is_right() {
    let (bundle, upload) = (signed(&[]).digest(), signed(&[]).index().upload);
    let other = Digest::of(b"other");
    let (_, good) = right(1);
    let mut spoiled = Envelope::from_json(&good).unwrap().to_json();
    let at = spoiled.len() - 20;
    spoiled[at] = if spoiled[at] == b'A' { b'B' } else { b'A' };
    for (wrong, code) in [
        (b"junk".to_vec(), "E0804"),
        ([good.as_slice(), b"\n"].concat(), "E0804"),
        (String::from_utf8(good).unwrap().replace("vnd.in-toto+json", "json").into_bytes(), "E0805"),
        (right(2).1, "E0806"),
        (spoiled, "E0807"),
        (envelope(1, other, upload).to_json(), "E0810"),
        (envelope(1, bundle, other).to_json(), "E0810"),
    ] {
        let alone = verify(&trust(1), &[(id(1), wrong.clone())]).unwrap_err();
        assert_eq!(codes(&alone), [code], "{alone}");
        // Another right one does not make it good.
        let with_right = verify(&trust(2), &[(id(1), wrong), right(2)]).unwrap_err();
        assert_eq!(with_right, alone);
    }
    let payload = b"no statement".to_vec();
    let signature = signer(1).sign(&pae(&payload)).to_bytes().to_vec();
    let error = verify(&trust(1), &[(id(1), Envelope::new(payload, key(1).id(), signature).to_json())]);
    assert!(matches!(&error, Err(Error::Signature { error, .. })
        if matches!(**error, SignatureError::Statement(statement::Error::Json(_)))));
    assert_eq!(codes(&error.unwrap_err()), ["E0809"]);
}

#[test]
fn detached_signatures_count_once() {
    let bundle = signed(&[right(1)]);
    let detached = |number| Envelope::from_json(&right(number).1).unwrap();
    let two = trust_file(&file(2, "", r#","threshold":2"#)).unwrap();
    assert!(two.verify(&bundle, &[detached(1), detached(1)], now()).is_err());
    assert_eq!(two.verify(&bundle, &[detached(2)], now()).unwrap().len(), 2);
    let wrong = Envelope::new(b"{}".to_vec(), key(2).id(), vec![0; 64]);
    let error = two.verify(&bundle, &[detached(2), wrong], now()).unwrap_err();
    assert!(matches!(error, Error::Signature { error, .. }
        if matches!(*error, SignatureError::Envelope(envelope::Error::Signature(_)))));
}

#[test]
fn a_threshold_counts_keys() {
    let two = trust_file(&file(3, "", r#","threshold":2"#)).unwrap();
    assert_eq!(verify(&two, &[right(1), right(3)]), Ok(vec!["k1".to_owned(), "k3".to_owned()]));
    let error = verify(&two, &[right(1), right(9)]).unwrap_err();
    assert_eq!(codes(&error), ["E0813", "E0803"]);
    assert!(error.to_string().ends_with("is signed by 1 trusted key, 2 must agree"), "{error}");
    assert_eq!(codes(&verify(&two, &[right(1)]).unwrap_err()), ["E0813"]);
}

#[test]
fn a_key_expires() {
    let until = |text: &str| trust_file(&file(1, &format!(r#","expires":"{text}""#), "")).unwrap();
    assert!(verify(&until("2027-06-01T00:00:01Z"), &[right(1)]).is_ok());
    let error = verify(&until("2027-06-01"), &[right(1)]).unwrap_err();
    assert_eq!(codes(&error), ["E0811"]);
    assert_eq!(
        error.diagnostics()[0].message,
        format!("key `k1` ({}) was trusted until 2027-06-01T00:00:00Z", &id(1)[..16])
    );
}

#[test]
fn a_key_is_for_its_packages() {
    let only = |names: &str| trust_file(&file(1, &format!(r#","packages":[{names}]"#), "")).unwrap();
    assert!(verify(&only(r#""other","greet""#), &[right(1)]).is_ok());
    assert_eq!(codes(&verify(&only(r#""greet2""#), &[right(1)]).unwrap_err()), ["E0812"]);
    assert_eq!(codes(&verify(&only(""), &[right(1)]).unwrap_err()), ["E0812"]);
}

#[test]
fn bundles_and_uploads_are_revoked() {
    let bundle = signed(&[]);
    for digest in [bundle.digest(), bundle.index().upload] {
        let trust = trust_file(&file(1, "", &format!(r#","revoked":["{digest}"]"#))).unwrap();
        assert_eq!(verify(&trust, &[right(1)]), Err(Error::Revoked { digest }));
    }
    let trust = trust_file(&file(1, "", &format!(r#","revoked":["{}"]"#, Digest::of(b"x")))).unwrap();
    assert!(verify(&trust, &[right(1)]).is_ok());
}

#[test]
fn an_installed_bundle_is_asked_about_again() {
    let bundle = signed(&[]);
    let (digest, upload) = (bundle.digest(), bundle.index().upload);
    let ask = |trust: &Trust, by: &[String]| trust.ask_again(digest, upload, "greet", by, now());
    assert_eq!(ask(&trust(1), &[id(1)]), Ok(()));
    assert_eq!(codes(&ask(&trust(1), &[]).unwrap_err()), ["E0801"]);
    assert_eq!(codes(&ask(&trust(1), &[id(2)]).unwrap_err()), ["E0803"]);
    let two = trust_file(&file(2, "", r#","threshold":2"#)).unwrap();
    assert_eq!(codes(&ask(&two, &[id(1)]).unwrap_err()), ["E0813"]);
    let expired = trust_file(&file(1, r#","expires":"2027-01-01""#, "")).unwrap();
    assert_eq!(codes(&ask(&expired, &[id(1)]).unwrap_err()), ["E0811"]);
    let revoked = trust_file(&file(1, "", &format!(r#","revoked":["{upload}"]"#))).unwrap();
    assert_eq!(codes(&ask(&revoked, &[id(1)]).unwrap_err()), ["E0814"]);
}

#[test]
fn what_is_no_trust_file() {
    let good = file(2, "", "");
    let threshold = |number: &str| file(2, "", &format!(r#","threshold":{number}"#));
    let one_key_twice = good.replace(&key(2).to_base64(), &key(1).to_base64());
    for (text, expected) in [
        ("{}".to_owned(), "is not a trust file: missing field `format`"),
        (good.replace("\"format\":1", "\"format\":2"), "has format 2, this version reads format 1"),
        (
            good.replace("\"format\":1", "\"format\":1,\"format\":1"),
            "is not a trust file: duplicate field `format`",
        ),
        (format!("{good}{{}}"), "is not a trust file: trailing characters"),
        (file(2, "", r#","more":1"#), "is not a trust file: unknown field `more`, expected one of"),
        (
            file(2, r#","expire":"2027-01-01""#, ""),
            "is not a trust file: unknown field `expire`, expected one of",
        ),
        (
            file(1, r#","expires":"tomorrow""#, ""),
            "is not a trust file: `tomorrow` is not a date or time such as",
        ),
        (file(1, r#","expires":null"#, ""), "is not a trust file: invalid type: null, expected a string"),
        (file(1, r#","packages":null"#, ""), "is not a trust file: invalid type: null, expected a sequence"),
        (file(1, r#","packages":["Greet"]"#, ""), "names `Greet`, which is not a package name"),
        (file(1, "", r#","revoked":["abc"]"#), "is not a trust file: `abc` is not a digest"),
        (threshold("0"), "has a threshold of 0, and 2 keys"),
        (threshold("3"), "has a threshold of 3, and 2 keys"),
        (threshold("-1"), "is not a trust file: invalid value: integer `-1`, expected u64"),
        (file(0, "", ""), "has a threshold of 1, and 0 keys"),
        (good.replace("\"k2\"", "\"k1\""), "has `k1` twice"),
        (one_key_twice, "has `k2` twice"),
        (good.replace("MCow", "MCo"), "has no public key as `k1`: its base64 is not valid"),
    ] {
        let error = trust_file(&text).unwrap_err();
        let message = error.to_string();
        let found = message.strip_prefix("`trust.json` ").unwrap();
        assert!(found.starts_with(expected), "{found}");
        assert_eq!(error.diagnostics()[0].code.as_str(), "E0820", "{found}");
    }
}

#[test]
fn what_can_be_given_together() {
    let pem = ("k1.pub".to_owned(), key(1).to_pem().into_bytes());
    let json = ("trust.json".to_owned(), file(1, "", "").into_bytes());
    for files in [[pem.clone(), json.clone()], [json.clone(), json]] {
        let error = Trust::from_files(&files).unwrap_err();
        assert_eq!(error.fault, Fault::NotAlone);
        assert_eq!(error.diagnostics()[0].code.as_str(), "E0822");
    }
    let private = key(1).to_pem().replace("PUBLIC", "PRIVATE").into_bytes();
    for wrong in [b"junk".to_vec(), b"\xff".to_vec(), Vec::new(), private] {
        let error = Trust::from_files(&[pem.clone(), ("k2.pub".to_owned(), wrong)]).unwrap_err();
        assert_eq!((error.file.as_str(), error.diagnostics()[0].code.as_str()), ("k2.pub", "E0821"));
    }
}
