//! As much of JSON Schema as `docs/schema/subakoc.json` uses, for tests: `$ref`, `type`,
//! `const`, `enum`, `pattern` by its name, `items`, `properties`, `required`,
//! `additionalProperties`. A keyword that is not known fails the test.

use serde::Serialize;
use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../../../docs/schema/subakoc.json");

/// Demands that `value` is as the definition `name` of the schema says.
pub(super) fn assert_valid(name: &str, value: &impl Serialize) {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    // A validator begins at the root.
    let root = serde_json::json!({ "$ref": format!("#/$defs/{name}") });
    assert!(
        schema["anyOf"].as_array().is_some_and(|any| any.contains(&root)),
        "add {name} to the root's anyOf"
    );
    let value = serde_json::to_value(value).expect("a report is JSON");
    let faults = faults(name, &schema, &value);
    assert!(faults.is_empty(), "{}\n{value:#}", faults.join("\n"));
}

fn faults(name: &str, schema: &Value, value: &Value) -> Vec<String> {
    let mut check = Check { defs: &schema["$defs"], faults: Vec::new() };
    check.value(name, &check.defs[name], value);
    check.faults
}

struct Check<'a> {
    defs: &'a Value,
    faults: Vec<String>,
}

impl<'a> Check<'a> {
    fn value(&mut self, at: &str, schema: &'a Value, value: &Value) {
        let Some(schema) = schema.as_object() else {
            return self.faults.push(format!("{at}: the schema has nothing for it"));
        };
        for (keyword, rule) in schema {
            let holds = match keyword.as_str() {
                "title" | "description" => true,
                "$ref" => {
                    let name = rule.as_str().and_then(|rule| rule.strip_prefix("#/$defs/"));
                    let name = name.expect("only definitions are referred to");
                    self.value(at, &self.defs[name], value);
                    true
                }
                "type" => match rule.as_str().expect("one type") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    other => panic!("{at}: type {other}"),
                },
                "minimum" => value.as_i64() >= rule.as_i64(),
                "const" => value == rule,
                "enum" => rule.as_array().expect("a list").contains(value),
                "pattern" => matches(rule, value),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(&format!("{at}[{index}]"), rule, item);
                    }
                    true
                }
                "properties" | "required" | "additionalProperties" => {
                    if keyword == "properties" {
                        self.fields(at, schema, value);
                    }
                    true
                }
                other => panic!("{at}: keyword {other}"),
            };
            if !holds {
                self.faults.push(format!("{at}: {keyword} {rule} does not hold for {value}"));
            }
        }
        if !schema.contains_key("properties") {
            self.fields(at, schema, value);
        }
    }

    fn fields(&mut self, at: &str, schema: &'a Map<String, Value>, value: &Value) {
        let Some(fields) = value.as_object() else { return };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (properties.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
                (Some(known), _) => self.value(&at, known, field),
                (None, Some(Value::Bool(false))) => self.faults.push(format!("{at}: not in the schema")),
                (None, Some(other)) => self.value(&at, other, field),
                (None, None) => {}
            }
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let name = name.as_str().expect("a name");
            if !fields.contains_key(name) {
                self.faults.push(format!("{at}.{name}: required and absent"));
            }
        }
    }
}

/// The two patterns that the schema uses.
fn matches(pattern: &Value, value: &Value) -> bool {
    let text = value.as_str().expect("a pattern is for a string");
    match pattern.as_str().expect("a pattern is a string") {
        "^sha256:[0-9a-f]{64}$" => text.parse::<subako_manifest::digest::Digest>().is_ok(),
        "^E[0-9]{4}$" => {
            text.len() == 5 && text.starts_with('E') && text[1..].bytes().all(|byte| byte.is_ascii_digit())
        }
        other => panic!("pattern {other}"),
    }
}

#[test]
fn what_is_not_in_the_schema_is_found() {
    let schema = serde_json::json!({"$defs": {"a": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "d": {"$ref": "#/$defs/b"}},
        "required": ["n"],
        "additionalProperties": false,
    }, "b": {"enum": ["x", "y"]}}});
    let faults = |value| faults("a", &schema, &value);
    assert!(faults(serde_json::json!({"n": 1, "d": "x"})).is_empty());
    for wrong in [
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!({"n": "1"}),
        serde_json::json!({"n": 1, "d": "z"}),
        serde_json::json!({"n": 1, "more": 2}),
    ] {
        assert!(!faults(wrong.clone()).is_empty(), "{wrong}");
    }
}

#[test]
fn a_refusal_is_as_the_schema_says() {
    use subako_manifest::diagnostic::{Code, Diagnostic, Place};
    let place =
        Place { line: Some(3), column: Some(7), function: Some("f".into()), ..Place::file("a").at(1) };
    let full = Diagnostic::error(Code::NotModule, "a", "`a` is wrong").at(place).rule("rule").hint("hint");
    let bare = Diagnostic::warning(Code::NotModule, "a", "`a` is odd");
    assert_valid("refusal", &super::Refusal::new(&[full, bare]));
}
