use serde_json::json;

use super::*;

fn bundle() -> Digest {
    Digest::of(b"bundle")
}

fn upload() -> Digest {
    Digest::of(b"upload")
}

fn good() -> String {
    let statement = Statement::new(bundle(), upload(), json!({ "b": 1, "a": [1.5, "\u{fc}", null] }));
    String::from_utf8(statement.to_payload()).unwrap()
}

fn about(payload: &str) -> Result<Statement, Error> {
    Statement::about(bundle(), upload(), payload.as_bytes())
}

#[test]
fn the_json_is_in_toto_s() {
    let expected = format!(
        "{{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[\
         {{\"name\":\"bundle.json\",\"digest\":{{\"sha256\":\"{}\"}}}},\
         {{\"name\":\"upload\",\"digest\":{{\"sha256\":\"{}\"}}}}],\
         \"predicateType\":\"https://slsa.dev/provenance/v1\",\
         \"predicate\":{{\"b\":1,\"a\":[1.5,\"\u{fc}\",null]}}}}",
        bundle().hex(),
        upload().hex()
    );
    assert_eq!(good(), expected);
    assert_eq!(about(&expected).unwrap().predicate()["b"], 1);
}

#[test]
fn a_statement_has_one_spelling() {
    for (from, to) in [
        ("{\"b\":1", "{ \"b\":1"),
        ("\"b\":1", "\"b\":1,\"b\":1"),
        ("\"b\":1", "\"b\":{\"c\":1,\"c\":2}"),
        ("\"b\":1", "\"\\u0062\":1"),
        ("\"b\":1", "\"b\":1e0"),
        ("1.5", "1.50"),
    ] {
        assert_eq!(about(&good().replacen(from, to, 1)), Err(Error::Spelling), "{to}");
    }
    for (from, to) in [
        ("{\"_type\"", "{\"more\":1,\"_type\""),
        ("{\"_type\"", "{\"_type\":\"\",\"_type\""),
        ("\"sha256\"", "\"sha512\":\"\",\"sha256\""),
        ("\"predicate\":", "\"predicate\":0,\"predicate\":"),
        ("null]}}", "null]}}{}"),
        ("null]}}", "null]"),
    ] {
        let spoiled = good().replacen(from, to, 1);
        assert_ne!(spoiled, good());
        assert!(matches!(about(&spoiled), Err(Error::Json(_))), "{to}");
    }
    assert!(matches!(about("\u{feff}"), Err(Error::Json(_))));
}

#[test]
fn other_types_vouch_for_nothing() {
    let vsa = good().replace("https://slsa.dev/provenance/v1", "https://slsa.dev/verification_summary/v1");
    assert!(matches!(about(&vsa), Err(Error::Type { field: "predicateType", .. })));
    let old = good().replace("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1");
    assert!(matches!(about(&old), Err(Error::Type { field: "_type", .. })));
}

#[test]
fn what_an_artifact_is_made_from_vouches_for_no_bundle() {
    // Even one whose artifact has the bundle's digest.
    let statement = Statement::of_artifact("bundle.json", bundle(), 7, &json!({ "target": "pulley64" }));
    let payload = String::from_utf8(statement.to_payload()).unwrap();
    let expected = format!(
        "{{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[\
         {{\"name\":\"bundle.json\",\"digest\":{{\"sha256\":\"{}\"}}}}],\
         \"predicateType\":\"urn:subako:compiled:1\",\"predicate\":{{\"inputs\":{{\"target\":\"pulley64\"}},\"bytes\":7}}}}",
        bundle().hex()
    );
    assert_eq!(payload, expected);
    assert!(matches!(about(&payload), Err(Error::Type { field: "predicateType", .. })));
}

#[test]
fn the_subjects_are_the_bundle_and_its_upload() {
    let swapped = Statement::new(upload(), bundle(), json!({}));
    let swapped = String::from_utf8(swapped.to_payload()).unwrap();
    assert!(matches!(about(&swapped), Err(Error::Subject { name: "bundle.json", .. })));
    let other = Statement::new(bundle(), Digest::of(b"other"), json!({}));
    let other = String::from_utf8(other.to_payload()).unwrap();
    assert!(matches!(about(&other), Err(Error::Subject { name: "upload", .. })));
    let renamed = good().replace("\"upload\"", "\"source\"");
    assert!(matches!(about(&renamed), Err(Error::Subject { name: "upload", .. })));
    let upper = good().replace(&bundle().hex(), &bundle().hex().to_uppercase());
    assert!(matches!(about(&upper), Err(Error::Subject { name: "bundle.json", .. })));
    let mut more = Statement::new(bundle(), upload(), json!({}));
    more.subject.push(more.subject[0].clone());
    let more = String::from_utf8(more.to_payload()).unwrap();
    assert_eq!(about(&more), Err(Error::Subjects(3)));
    let none = good().replace(&good()[good().find("[{").unwrap()..good().find("],").unwrap()], "[");
    assert_eq!(about(&none), Err(Error::Subjects(0)));
}
