use super::*;

const GREET: &str = r#"{"abi":1,"name":"greet","description":"Greets people."}"#;

fn faults(manifest: impl AsRef<[u8]>) -> Vec<Diagnostic> {
    parse(manifest.as_ref(), "greet/subako-package.json").unwrap_err().0
}

fn codes(manifest: impl AsRef<[u8]>) -> Vec<&'static str> {
    faults(manifest).iter().map(|fault| fault.code.as_str()).collect()
}

/// The one fault: code, message, line and column.
fn fault(manifest: impl AsRef<[u8]>) -> (&'static str, String, Option<(u64, u64)>) {
    let [fault] = &faults(manifest)[..] else { panic!("not one fault") };
    let place = fault.place.clone().unwrap();
    assert_eq!(place.file.as_deref(), Some("greet/subako-package.json"));
    (fault.code.as_str(), fault.message.clone(), place.line.zip(place.column))
}

/// The manifest with `from` replaced.
fn greet(from: &str, to: &str) -> String {
    assert!(GREET.contains(from));
    GREET.replace(from, to)
}

#[test]
fn a_manifest_is_read() {
    let (manifest, warnings) = parse(GREET.as_bytes(), "m").unwrap();
    assert_eq!(
        manifest,
        Manifest {
            abi: 1,
            name: "greet".into(),
            description: "Greets people.".into(),
            unknown_fields: vec![]
        }
    );
    assert_eq!(warnings, []);
}

#[test]
fn unknown_fields_are_kept_and_warned_of() {
    let text = greet(r#""abi":1"#, "\"version\": \"2\",\n \"x\\u0079\": {\"abi\": 7}, \"abi\" :1");
    let (manifest, warnings) = parse(text.as_bytes(), "m").unwrap();
    assert_eq!(manifest.unknown_fields, ["version", "xy"]);
    let told: Vec<_> = warnings
        .iter()
        .map(|warning| {
            let place = warning.place.as_ref().unwrap();
            (warning.code.as_str(), warning.subject.as_str(), place.line, place.column)
        })
        .collect();
    assert_eq!(told, [("E0208", "version", Some(1), Some(13)), ("E0208", "xy", Some(2), Some(13))]);
    assert_eq!(warnings[0].message, "field `version` is not known: it is kept and not used");
}

#[test]
fn invalid_json_has_line_and_column() {
    let (code, message, place) = fault("{\n  \"abi\": 1,\n  \"name\" \"greet\"\n}");
    assert_eq!(code, "E0201");
    assert_eq!(message, "`subako-package.json` is not valid JSON: expected `:`");
    assert_eq!(place, Some((3, 10)));
    // Columns are characters: the second comma.
    assert_eq!(fault("{\"é\":1,,}").2, Some((1, 8)));
    for text in ["", "{", "{\"abi\":1", "nul", "{\"abi\":01}", "{'abi':1}", "{\"abi\":1,}", "{} {}"] {
        assert_eq!(fault(text).0, "E0201", "{text}");
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for text in ["[]", "null", "1", "\"abi\"", "true"] {
        let (code, message, _) = fault(text);
        assert_eq!((code, &*message), ("E0205", "`subako-package.json` is not a JSON object"), "{text}");
    }
}

#[test]
fn encodings_other_than_utf_8_are_refused() {
    let (code, message, _) = fault(format!("\u{feff}{GREET}"));
    assert_eq!(code, "E0203");
    assert_eq!(message, "`subako-package.json` begins with a byte order mark of UTF-8");
    assert_eq!(codes(b"\xff\xfe{\0}\0"), ["E0203"]);
    let (code, _, place) = fault(b"{\"abi\":1,\n\"name\":\"gr\xfc\xdf\"}");
    assert_eq!((code, place), ("E0202", Some((2, 11))));
}

#[test]
fn a_long_manifest_is_refused() {
    let padded = |length: usize| format!("{GREET}{}", " ".repeat(length - GREET.len()));
    assert!(parse(padded(65_536).as_bytes(), "m").is_ok());
    let (code, message, _) = fault(padded(65_537));
    assert_eq!(code, "E0204");
    assert_eq!(message, "`subako-package.json` has 65,537 bytes, at most 65,536 are allowed");
}

#[test]
fn fields_twice_are_refused() {
    let (code, message, _) = fault(greet(r#""abi":1"#, r#""abi":1,"abi":1,"\u0061bi":1"#));
    assert_eq!((code, &*message), ("E0206", "field `abi` is twice in the manifest"));
    assert_eq!(codes(greet(r#""abi":1"#, r#""abi":1,"x":1,"x":2"#)), ["E0206", "E0208"]);
}

#[test]
fn only_the_integer_1_is_the_abi() {
    for (wrong, said) in [
        ("2", "`2`"),
        ("0", "`0`"),
        ("-1", "`-1`"),
        ("1.0", "`1.0`"),
        ("1e0", "`1e0`"),
        ("\"1\"", "the string `\"1\"`"),
        ("true", "`true`"),
        ("null", "`null`"),
        ("[1]", "an array"),
        ("{}", "an object"),
        ("4294967297", "`4294967297`"),
    ] {
        let (code, message, place) = fault(greet("1", wrong));
        assert_eq!(code, "E0211");
        assert_eq!(message, format!("field `abi` is {said}, and only the integer 1 is known"));
        assert_eq!(place, Some((1, 8)));
    }
}

#[test]
fn names_follow_the_rule() {
    let longest = "a".repeat(64);
    for right in ["a", "0", "_", "-", "greet_2-x", &longest] {
        assert!(parse(greet("greet", right).as_bytes(), "m").is_ok(), "{right}");
    }
    let name = |name: &str| {
        let (code, message, place) = fault(greet("greet", name));
        assert_eq!((code, place), ("E0213", Some((1, 17))));
        message
    };
    assert_eq!(name(""), "field `name` is empty");
    assert_eq!(name(&"a".repeat(65)), "field `name` has 65 characters, at most 64 are allowed");
    assert_eq!(name("Greet"), "field `name` is `Greet`, and holds `G`, which is not allowed");
    for wrong in ["a b", "a.b", "a/b", "é", "a\\n", "\\u0000", "ａ"] {
        name(wrong);
    }
    assert_eq!(codes(greet("greet", &"é".repeat(65))), ["E0213", "E0213"]);
}

#[test]
fn descriptions_are_counted_in_characters() {
    for right in [String::new(), "é".repeat(1_024), "\\u00e9".repeat(1_024)] {
        assert!(parse(greet("Greets people.", &right).as_bytes(), "m").is_ok());
    }
    let (code, message, _) = fault(greet("Greets people.", &"é".repeat(1_025)));
    assert_eq!(code, "E0215");
    assert_eq!(message, "field `description` has 1,025 characters, at most 1,024 are allowed");
}

#[test]
fn all_faults_are_found_in_one_run() {
    assert_eq!(codes("{}"), ["E0210", "E0212", "E0214"]);
    assert_eq!(
        codes(r#"{"name":1,"description":[],"abi":"1","abi":1}"#),
        ["E0206", "E0211", "E0207", "E0207"]
    );
    assert_eq!(faults(r#"{"name":null}"#)[1].message, "field `name` is `null`, and must be a string");
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    assert_eq!(codes(greet("greet", "\\ud800")), ["E0201"]);
}

#[test]
fn the_manifest_of_the_old_protocol_has_its_own_message() {
    let old = r#"{"name":"greet","functions":[{"name":"greet"}]}"#;
    let faults = faults(old);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].code, Code::ManifestOld);
    assert_eq!(faults[0].message, "field `functions` is of a manifest from before ABI 1, which has no `abi`");
    assert!(faults[0].hint.is_some());
    // With an `abi` it is a field like any other.
    let (manifest, _) = parse(greet(r#""abi":1"#, r#""abi":1,"functions":[]"#).as_bytes(), "m").unwrap();
    assert_eq!(manifest.unknown_fields, ["functions"]);
}

#[test]
fn a_deep_manifest_ends() {
    let deep = greet(r#""abi":1"#, &format!(r#""abi":1,"x":{}1{}"#, "[".repeat(20_000), "]".repeat(20_000)));
    let _ = parse(deep.as_bytes(), "m");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_ends(text in "[{}\\[\\],:\"abinme0-9\\\\u\n é]{0,60}") {
            let _ = parse(text.as_bytes(), "m");
        }

        #[test]
        fn any_change_of_a_manifest_ends(at in 0..GREET.len(), to in any::<u8>()) {
            let mut bytes = GREET.as_bytes().to_vec();
            bytes[at] = to;
            let _ = parse(&bytes, "m");
        }
    }
}

#[test]
fn a_misspelt_field_is_told_beside_the_one_that_is_absent() {
    let told = faults(r#"{"abi":1,"name":"greet","descripton":"Greets people.","version":"2"}"#);
    let lines: Vec<_> =
        told.iter().map(|told| (told.code.as_str(), told.subject.as_str(), told.hint.as_deref())).collect();
    assert_eq!(
        lines,
        [
            ("E0214", "description", told[0].hint.as_deref()),
            ("E0208", "descripton", Some("did you mean `description`?")),
            ("E0208", "version", None),
        ]
    );
    // A field that is there is not meant.
    let text = greet(r#""abi":1"#, r#""abi":1,"names":[]"#);
    let (_, warnings) = parse(text.as_bytes(), "m").unwrap();
    assert_eq!(warnings[0].hint, None);
}
