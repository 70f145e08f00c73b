use super::*;

/// A key of RFC 8032 (7.1, test 1).
fn signing_key() -> ed25519_dalek::SigningKey {
    let secret = *b"\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\
        \x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60";
    ed25519_dalek::SigningKey::from_bytes(&secret)
}

fn key() -> PublicKey {
    PublicKey::ed25519(signing_key().verifying_key().as_bytes()).unwrap()
}

fn signed(payload: &[u8]) -> Envelope {
    use ed25519_dalek::Signer as _;
    let signature = signing_key().sign(&pae(payload)).to_bytes().to_vec();
    Envelope::new(payload.to_vec(), key().id(), signature)
}

#[test]
fn the_bytes_to_sign_are_those_of_dsse() {
    // DSSE's own example has "http://example.com/HelloWorld" as type; the lengths go before.
    assert_eq!(pae(b"hello world"), b"DSSEv1 28 application/vnd.in-toto+json 11 hello world");
    assert_eq!(pae(b""), b"DSSEv1 28 application/vnd.in-toto+json 0 ");
}

#[test]
fn an_envelope_comes_back_as_it_was() {
    let envelope = signed(b"{}");
    let json = String::from_utf8(envelope.to_json()).unwrap();
    assert!(
        json.starts_with(
            r#"{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":""#
        ) && json.ends_with("\"}]}\n"),
        "{json}"
    );
    assert_eq!(Envelope::from_json(json.as_bytes()), Ok(envelope.clone()));
    assert_eq!(envelope.verify(&key()), Ok(b"{}".as_slice()));
    assert_eq!(envelope.claimed(), b"{}");
}

#[test]
fn an_envelope_has_one_spelling() {
    let good = String::from_utf8(signed(b"{}").to_json()).unwrap();
    let keyid = key().id().to_string();
    for (from, to, expected) in [
        ("\n", "", Error::Spelling),
        ("\n", "\n\n", Error::Spelling),
        ("\n", "{}\n", Error::Json("trailing characters at line 1 column 300".into())),
        (":\"e30", ": \"e30", Error::Spelling),
        ("e30", "\\u00653\\u0030", Error::Spelling),
        ("\"payloadType\"", "\"payload\\u0054ype\"", Error::Spelling),
        ("e30=", "e30", Error::Base64("payload")),
        ("e30=", "e31=", Error::Base64("payload")),
        ("e30=", "e30=\\n", Error::Base64("payload")),
        ("e30=", "e3-=", Error::Base64("payload")),
        ("\"sig\":\"", "\"sig\":\" ", Error::Base64("sig")),
        ("application/vnd.in-toto+json", "text/plain", Error::PayloadType("text/plain".into())),
        (&keyid, &keyid[1..], Error::NotKeyId(keyid[1..].into())),
        (&keyid, &keyid.to_uppercase(), Error::NotKeyId(keyid.to_uppercase())),
        ("[{", "[],\"x\":[{", Error::Json("unknown field `x`".into())),
        ("{\"payloadType\"", "{\"payload\":\"e30=\",\"payloadType\"", Error::Json("duplicate field".into())),
        ("{\"keyid\"", "{\"sig\":\"\",\"keyid\"", Error::Json("duplicate field".into())),
        ("\"payload\":\"e30=\",", "", Error::Json("missing field `payload`".into())),
        ("}]}", "},{\"keyid\":\"\",\"sig\":\"\"}]}", Error::Signatures(2)),
    ] {
        let spoiled = good.replacen(from, to, 1);
        assert_ne!(spoiled, good, "{from} is not there");
        let error = Envelope::from_json(spoiled.as_bytes()).unwrap_err();
        // The parser's words are its own; that it is the parser's fault, and which field, is ours.
        match (&error, &expected) {
            (Error::Json(found), Error::Json(expected)) => {
                let start = expected.split(" at line").next().unwrap();
                assert!(found.starts_with(start), "{found}");
            }
            _ => assert_eq!(error, expected, "{from} for {to}"),
        }
    }
    let none = format!("{}{}", &good[..good.find("[{").unwrap()], "[]}\n");
    assert_eq!(Envelope::from_json(none.as_bytes()), Err(Error::Signatures(0)));
}

#[test]
fn a_signature_is_of_its_key_and_its_payload() {
    let good = signed(b"{}");
    let mut payload = good.clone();
    payload.payload = b"[]".to_vec();
    assert_eq!(payload.verify(&key()), Err(Error::Signature(WrongSignature::Other)));
    // Signed without its type.
    use ed25519_dalek::Signer as _;
    let bare = signing_key().sign(b"{}").to_bytes().to_vec();
    let bare = Envelope::new(b"{}".to_vec(), key().id(), bare);
    assert_eq!(bare.verify(&key()), Err(Error::Signature(WrongSignature::Other)));
    let other =
        PublicKey::ed25519(ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key().as_bytes());
    let other = other.unwrap();
    assert_eq!(good.verify(&other), Err(Error::KeyId { found: key().id(), expected: other.id() }));
}
