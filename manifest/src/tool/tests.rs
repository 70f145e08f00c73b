//! The rules of the spec's tools table: for each what passes, and what is refused with the code
//! and the name told.

use super::*;
use crate::diagnostic::Severity;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn check(tools: &[&str]) -> Result<(ToolSet, Vec<Diagnostic>), Refused> {
    ToolSet::check(tools.iter().map(|tool| raw(tool)).collect())
}

/// Code and subject of each fault.
fn faults(tools: &[&str]) -> Vec<(Code, String)> {
    let Refused(diagnostics) = check(tools).unwrap_err();
    diagnostics.into_iter().map(|diagnostic| (diagnostic.code, diagnostic.subject)).collect()
}

fn passes(tool: &str) {
    let (tools, warnings) = check(&[tool]).unwrap();
    assert_eq!((tools.tools().len(), warnings), (1, vec![]), "{tool}");
    assert_eq!(tools.tools()[0].raw.get(), tool);
}

fn refused(tool: &str, code: Code, subject: &str) {
    assert_eq!(faults(&[tool]), [(code, subject.to_owned())], "{tool}");
}

fn named(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)
}

/// A tool `t` with this field beside a name and a good schema.
fn with(field: &str) -> String {
    format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},{field}}}"#)
}

fn with_input(schema: &str) -> String {
    format!(r#"{{"name":"t","inputSchema":{schema}}}"#)
}

/// An object of exactly that many bytes with `"type": "object"`.
fn schema_of(bytes: usize) -> String {
    let frame = r#"{"type":"object","x":""}"#;
    format!(r#"{{"type":"object","x":"{}"}}"#, "y".repeat(bytes - frame.len()))
}

#[test]
fn the_tool_of_the_spec_passes() {
    let tool = r#"{"name":"greet","description":"Greet someone by name.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Who to greet."}},"required":["name"]}}"#;
    let (tools, warnings) = check(&[tool]).unwrap();
    assert_eq!(warnings, []);
    let greet = tools.tool("greet").unwrap();
    assert_eq!(greet.description.as_deref(), Some("Greet someone by name."));
    assert_eq!(greet.title, None);
    assert!(greet.input_schema.get().starts_with(r#"{"type":"object","properties""#));
    assert!(greet.output_schema.is_none());
    assert!(tools.tool("other").is_none());
}

#[test]
fn one_to_64_tools() {
    let many: Vec<String> = (0..65).map(|n| named(&format!("t{n}"))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(check(&many[..1]).unwrap().0.tools().len(), 1);
    assert_eq!(check(&many[..64]).unwrap().0.tools().len(), 64);
    assert_eq!(faults(&many), [(Code::ToolCount, "tools/list".to_owned())]);
    assert_eq!(faults(&[]), [(Code::ToolCount, "tools/list".to_owned())]);
    let Refused(told) = check(&many).unwrap_err();
    assert_eq!(told[0].message, "`tools/list` lists 65 tools, at most 64 are allowed");
}

#[test]
fn names_are_1_to_64_of_few_characters() {
    for name in ["a", "greet", "0", "_", "-", "az09_-", &"x".repeat(64)] {
        passes(&named(name));
    }
    for name in ["", "Greet", "a b", "a.b", "a/b", "é", "a\\n", &"x".repeat(65)] {
        let subject = name.replace("\\n", "\n");
        refused(&named(name), Code::ToolName, &subject);
    }
    // Without a name the place in the list tells which.
    refused(r#"{"inputSchema":{"type":"object"}}"#, Code::ToolName, "tool 1");
    refused(r#"{"name":7,"inputSchema":{"type":"object"}}"#, Code::ToolName, "tool 1");
    refused(r#"{"name":"\ud800","inputSchema":{"type":"object"}}"#, Code::ToolName, "tool 1");
}

#[test]
fn names_are_unique() {
    let (one, two) = (named("one"), named("two"));
    assert_eq!(check(&[&one, &two]).unwrap().0.tools().len(), 2);
    assert_eq!(faults(&[&one, &two, &one]), [(Code::ToolNameTwice, "one".to_owned())]);
    let Refused(told) = check(&[&one, &two, &one]).unwrap_err();
    assert_eq!(told[0].message, "tool `one` is listed twice, as tool 1 and as tool 3");
    // The same name in other letters of JSON.
    assert_eq!(faults(&[&one, &named("\\u006fne")]), [(Code::ToolNameTwice, "one".to_owned())]);
}

#[test]
fn descriptions_are_up_to_1024_characters() {
    passes(&with(r#""description":"""#));
    // Characters, not bytes: two bytes each, and one character in twelve bytes of JSON.
    passes(&with(&format!(r#""description":"{}""#, "é".repeat(1_024))));
    passes(&with(&format!(r#""description":"{}""#, r"\ud83d\ude00".repeat(1_024))));
    refused(&with(&format!(r#""description":"{}""#, "é".repeat(1_025))), Code::ToolDescription, "t");
    for other in ["null", "1", "[]", r#""\udc00""#] {
        refused(&with(&format!(r#""description":{other}"#)), Code::ToolDescription, "t");
    }
    let Refused(told) = check(&[&with(&format!(r#""description":"{}""#, "x".repeat(1_025)))]).unwrap_err();
    assert_eq!(told[0].message, "tool `t` has a description of 1,025 characters, at most 1,024 are allowed");
}

#[test]
fn input_schemas_are_of_objects() {
    for schema in [
        r#"{"type":"object"}"#,
        r#"{ "type" : "object" }"#,
        r#"{"type":"object","properties":{},"required":[]}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":true},"required":["a","z"]}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","x":null}"#,
        r##"{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}"##,
        r#"{"type":"object","properties":{"type":{"type":"string"}}}"#,
    ] {
        passes(&with_input(schema));
    }
    for schema in [
        "null",
        "true",
        r#""object""#,
        "[]",
        "{}",
        r#"{"type":"string"}"#,
        r#"{"type":["object"]}"#,
        r#"{"type":"Object"}"#,
        r#"{"properties":{"type":"object"}}"#,
        r#"{"type":"object","type":"string"}"#,
        r#"{"type":"object","properties":[]}"#,
        r#"{"type":"object","properties":{"a":"string"}}"#,
        r#"{"type":"object","properties":{"a":{},"a":{}}}"#,
        r#"{"type":"object","required":"a"}"#,
        r#"{"type":"object","required":true}"#,
        r#"{"type":"object","required":[1]}"#,
    ] {
        refused(&with_input(schema), Code::InputSchema, "t");
    }
    refused(r#"{"name":"t"}"#, Code::InputSchemaAbsent, "t");
}

#[test]
fn schemas_are_up_to_64_kib_as_sent() {
    passes(&with_input(&schema_of(65_536)));
    refused(&with_input(&schema_of(65_537)), Code::InputSchemaSize, "t");
    // Blanks that the module sent count.
    refused(
        &with_input(&format!(r#"{{"type":{}"object"}}"#, " ".repeat(65_536))),
        Code::InputSchemaSize,
        "t",
    );
    let Refused(told) = check(&[&with_input(&schema_of(70_112))]).unwrap_err();
    assert_eq!(told[0].message, "tool `t` has an inputSchema of 70,112 bytes, at most 65,536 are allowed");

    passes(&with(&format!(r#""outputSchema":{}"#, schema_of(65_536))));
    refused(&with(&format!(r#""outputSchema":{}"#, schema_of(65_537))), Code::OutputSchemaSize, "t");
}

#[test]
fn output_schemas_are_objects_of_any_type() {
    for schema in ["{}", r#"{"type":"array"}"#, r#"{"type":"object"}"#] {
        passes(&with(&format!(r#""outputSchema":{schema}"#)));
    }
    for schema in ["null", "true", "[]", r#""x""#, r#"{"a":1,"a":2}"#] {
        refused(&with(&format!(r#""outputSchema":{schema}"#)), Code::OutputSchema, "t");
    }
}

#[test]
fn all_tools_together_are_up_to_256_kib() {
    // Four tools of exactly 64 KiB each, most of it schema.
    let frame = r#"{"name":"t0","inputSchema":}"#.len();
    let mut tools: Vec<String> =
        (0..4).map(|n| format!(r#"{{"name":"t{n}","inputSchema":{}}}"#, schema_of(65_536 - frame))).collect();
    let list = |tools: &[String]| tools.iter().map(|tool| raw(tool)).collect();
    assert_eq!(ToolSet::check(list(&tools)).unwrap().0.tools().len(), 4);
    // One byte more, outside any schema.
    tools[3].insert(1, ' ');
    let Refused(told) = ToolSet::check(list(&tools)).unwrap_err();
    assert_eq!((told.len(), told[0].code), (1, Code::ToolsSize));
    assert_eq!(
        told[0].message,
        "`tools/list` lists tools of 262,145 bytes together, at most 262,144 are allowed"
    );
}

#[test]
fn a_tool_is_an_object_with_each_field_once() {
    for tool in ["null", "[]", r#""greet""#, "1", r#"{"\ud800":1}"#] {
        refused(tool, Code::ToolNotObject, "tool 1");
    }
    refused(&with(r#""title":"a","title":"b""#), Code::ToolFieldTwice, "t");
    refused(&with(r#""name":"u""#), Code::ToolFieldTwice, "t");
}

#[test]
fn all_faults_come_in_one_run() {
    let found = faults(&[
        &named("good"),
        r#"{"name":"Bad","description":1,"inputSchema":{},"outputSchema":[]}"#,
        "7",
        r#"{"name":"good"}"#,
    ]);
    let told = |code, subject: &str| (code, subject.to_owned());
    assert_eq!(
        found,
        [
            told(Code::ToolName, "Bad"),
            told(Code::ToolDescription, "Bad"),
            told(Code::InputSchema, "Bad"),
            told(Code::OutputSchema, "Bad"),
            told(Code::ToolNotObject, "tool 3"),
            told(Code::InputSchemaAbsent, "good"),
            told(Code::ToolNameTwice, "good"),
        ]
    );
}

#[test]
fn other_fields_are_kept_as_sent() {
    let tool = r#"{ "_meta":{"b":1,"a":2.0}, "name":"t","inputSchema":{"type":"object"},"title":"T", "annotations":{"readOnlyHint":true},"icons":[],"x":null}"#;
    passes(tool);
    assert_eq!(check(&[tool]).unwrap().0.tools()[0].title.as_deref(), Some("T"));
}

#[test]
fn strict_clients_are_warned_of() {
    for (tool, code) in [
        (with(r#""title":1"#), Code::ToolFieldKind),
        (with(r#""annotations":[]"#), Code::ToolFieldKind),
        (with(r#""icons":{}"#), Code::ToolFieldKind),
        (with(r#""_meta":null"#), Code::ToolFieldKind),
        (with_input(r#"{"type":"object","$schema":1}"#), Code::ToolFieldKind),
        (with(r#""x":"\ud800""#), Code::ToolHardToRead),
        (with(r#""x":1e999"#), Code::ToolHardToRead),
        (with(&format!(r#""x":{}{}"#, "[".repeat(200), "]".repeat(200))), Code::ToolHardToRead),
    ] {
        let (_, warnings) = check(&[&tool]).unwrap();
        assert_eq!(warnings.len(), 1, "{tool}");
        assert_eq!((warnings[0].code, warnings[0].severity), (code, Severity::Warning), "{tool}");
        assert_eq!(warnings[0].subject, "t");
    }
}

#[test]
fn foreign_text_is_escaped_in_messages() {
    let Refused(told) = check(&[&named("a\\u001b[2J")]).unwrap_err();
    assert!(
        told[0].message.starts_with("tool `a\\u{1b}[2J` has `\\u{1b}` in its name"),
        "{}",
        told[0].message
    );
}

#[test]
fn tools_json_holds_each_tool_as_sent() {
    let (one, two) = (r#"{"inputSchema": {"type":"object"}, "name":"one"}"#, named("two"));
    let tools = check(&[one, &two]).unwrap().0;
    let json = tools.to_json();
    assert_eq!(String::from_utf8_lossy(&json), format!("{{\"tools\":[{one},{two}]}}\n"));
    assert_eq!(ToolSet::from_json(&json).unwrap().to_json(), json);
}

#[test]
fn what_is_no_tools_json() {
    for json in
        ["", "{", "[]", "{}", r#"{"tools":{}}"#, r#"{"tools":[],"tools":[]}"#, r#"{"tools":[],"x":1}"#]
    {
        let Refused(told) = ToolSet::from_json(json.as_bytes()).unwrap_err();
        assert_eq!((told.len(), told[0].code), (1, Code::ToolsJson), "{json}");
    }
    assert_eq!(ToolSet::from_json(b"\xff").unwrap_err().0[0].code, Code::ToolsJson);
    assert_eq!(ToolSet::from_json(br#"{"tools":[]}"#).unwrap_err().0[0].code, Code::ToolCount);
}

proptest::proptest! {
    /// Whatever a bundle or a module holds, it is read or refused, and what is read stays the same.
    #[test]
    fn any_tools_json_ends(json in "[\\[\\]{}:,\" a-z0-9\\\\]{0,40}", wrap in proptest::bool::ANY) {
        let json = if wrap { format!(r#"{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}},"x":{json}}}]}}"#) } else { json };
        match ToolSet::from_json(json.as_bytes()) {
            Ok(tools) => assert_eq!(ToolSet::from_json(&tools.to_json()).unwrap().to_json(), tools.to_json()),
            Err(Refused(told)) => assert!(!told.is_empty()),
        }
    }
}
