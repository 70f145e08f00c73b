//! The rules of the spec's tools table, each with a code of its own, over all tools in one run.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Tool;
use super::object::{Kind, NotObject, Object, text};
use super::schema::{check_input, check_output};
use crate::diagnostic::{Code, Diagnostic, Refused};
use crate::limits::{
    MAX_TOOL_DESCRIPTION_CHARS, MAX_TOOL_NAME_CHARS, MAX_TOOL_SCHEMA_BYTES, MAX_TOOLS, MAX_TOOLS_BYTES,
    MIN_TOOLS,
};
use crate::text::{grouped, shown};

const SECTION: &str = "(ABI 1, \"When a package is uploaded\")";

/// See [`super::ToolSet::check`].
pub(super) fn check(raws: Vec<Box<RawValue>>) -> Result<(Vec<Tool>, Vec<Diagnostic>), Refused> {
    let mut faults = Vec::new();
    let mut warnings = Vec::new();
    let count = raws.len();
    if !(MIN_TOOLS..=MAX_TOOLS).contains(&count) {
        faults.push(count_fault(count));
    }
    // As a sum of what was sent it counts every tool, also those past the 64th.
    let total: u64 = raws.iter().map(|raw| bytes(raw)).sum();
    let mut first_at: BTreeMap<String, usize> = BTreeMap::new();
    let mut tools = Vec::new();
    for (at, raw) in raws.into_iter().enumerate().take(MAX_TOOLS) {
        let mut one = OneTool { at: at + 1, name: None, faults: &mut faults, warnings: &mut warnings };
        let tool = one.check(raw);
        if let Some(name) = one.name {
            match first_at.get(&name) {
                Some(first) => faults.push(twice_fault(&name, *first, at + 1)),
                None => _ = first_at.insert(name, at + 1),
            }
        }
        tools.extend(tool);
    }
    if total > MAX_TOOLS_BYTES {
        faults.push(total_fault(total));
    }
    if faults.is_empty() { Ok((tools, warnings)) } else { Err(Refused(faults)) }
}

fn count_fault(count: usize) -> Diagnostic {
    let message = if count == 0 {
        format!("`tools/list` lists no tool, at least {MIN_TOOLS} is needed")
    } else {
        format!("`tools/list` lists {} tools, at most {MAX_TOOLS} are allowed", grouped(count as u64))
    };
    Diagnostic::error(Code::ToolCount, "tools/list", message)
        .rule(format!("a package has {MIN_TOOLS} to {MAX_TOOLS} tools {SECTION}"))
}

fn twice_fault(name: &str, first: usize, second: usize) -> Diagnostic {
    let message = format!("tool `{}` is listed twice, as tool {first} and as tool {second}", shown(name));
    Diagnostic::error(Code::ToolNameTwice, name, message).rule(format!("tools have unique names {SECTION}"))
}

fn total_fault(total: u64) -> Diagnostic {
    let message = format!(
        "`tools/list` lists tools of {} bytes together, at most {} are allowed",
        grouped(total),
        grouped(MAX_TOOLS_BYTES)
    );
    Diagnostic::error(Code::ToolsSize, "tools/list", message)
        .rule(format!("all tools together are up to 256 KiB, each counted as the module sent it {SECTION}"))
}

fn bytes(raw: &RawValue) -> u64 {
    raw.get().len() as u64
}

/// What is known of one tool, and how it is told of: by its name, or by its place in the list
/// (from 1) as long as no name is known.
struct OneTool<'a> {
    at: usize,
    name: Option<String>,
    faults: &'a mut Vec<Diagnostic>,
    warnings: &'a mut Vec<Diagnostic>,
}

impl OneTool<'_> {
    /// Nothing when a rule is broken.
    fn check(&mut self, raw: Box<RawValue>) -> Option<Tool> {
        let before = self.faults.len();
        let (tool, repeats) = match Object::read_with_repeats(&raw) {
            Ok(read) => read,
            Err(wrong) => {
                self.fault(Code::ToolNotObject, wrong.to_string(), "a tool is a JSON object");
                return None;
            }
        };
        let name = self.name(&tool);
        for field in repeats {
            let what = NotObject::FieldTwice(field).to_string();
            self.fault(Code::ToolFieldTwice, what, "an object has each field once");
        }
        let description = self.description(&tool);
        let input_schema = self.input_schema(&tool);
        let output_schema = self.output_schema(&tool);
        let title = tool.field("title").and_then(|title| text(title).ok());
        if self.faults.len() > before {
            return None;
        }
        self.warn_of_strict_clients(&tool, &raw);
        Some(Tool { name: name?, title, description, input_schema: input_schema?, output_schema, raw })
    }

    /// The name, so that the tool can be told of by it, also when it breaks a rule.
    fn name(&mut self, tool: &Object<'_>) -> Option<String> {
        let what = match tool.field("name").map(text) {
            None => "has no name".to_owned(),
            Some(Err(wrong)) => format!("has a name that {wrong}"),
            Some(Ok(name)) => {
                self.name = Some(name.clone());
                match wrong_name(&name) {
                    None => return Some(name),
                    Some(wrong) => wrong,
                }
            }
        };
        let rule =
            format!("a tool's name is 1 to {MAX_TOOL_NAME_CHARS} characters: `a`-`z`, `0`-`9`, `_`, `-`");
        self.fault(Code::ToolName, what, &rule);
        None
    }

    fn description(&mut self, tool: &Object<'_>) -> Option<String> {
        let what = match text(tool.field("description")?) {
            Ok(description) if description.chars().count() <= MAX_TOOL_DESCRIPTION_CHARS => {
                return Some(description);
            }
            Ok(description) => format!(
                "has a description of {} characters, at most {} are allowed",
                grouped(description.chars().count() as u64),
                grouped(MAX_TOOL_DESCRIPTION_CHARS as u64)
            ),
            Err(wrong) => format!("has a description that {wrong}"),
        };
        self.fault(Code::ToolDescription, what, "a tool's description is text of up to 1,024 characters");
        None
    }

    fn input_schema(&mut self, tool: &Object<'_>) -> Option<Box<RawValue>> {
        let rule = "a tool's `inputSchema` is a JSON Schema with `\"type\": \"object\"` at the top";
        let Some(schema) = tool.field("inputSchema") else {
            self.fault(Code::InputSchemaAbsent, "has no inputSchema".to_owned(), rule);
            return None;
        };
        self.schema_size(Code::InputSchemaSize, "inputSchema", schema);
        if let Err(wrong) = check_input(schema) {
            self.fault(Code::InputSchema, format!("has an inputSchema that {wrong}"), rule);
        }
        Some(schema.to_owned())
    }

    fn output_schema(&mut self, tool: &Object<'_>) -> Option<Box<RawValue>> {
        let schema = tool.field("outputSchema")?;
        self.schema_size(Code::OutputSchemaSize, "outputSchema", schema);
        if let Err(wrong) = check_output(schema) {
            let rule = "a tool's `outputSchema` is a JSON Schema object, or is left out";
            self.fault(Code::OutputSchema, format!("has an outputSchema that {wrong}"), rule);
        }
        Some(schema.to_owned())
    }

    fn schema_size(&mut self, code: Code, field: &str, schema: &RawValue) {
        if bytes(schema) > MAX_TOOL_SCHEMA_BYTES {
            let what = format!(
                "has an {field} of {} bytes, at most {} are allowed",
                grouped(bytes(schema)),
                grouped(MAX_TOOL_SCHEMA_BYTES)
            );
            self.fault(code, what, &format!("a tool's `{field}` is up to 64 KiB as the module sent it"));
        }
    }

    /// The fields that ABI 1 leaves alone but MCP gives a type, and JSON that readers differ on.
    fn warn_of_strict_clients(&mut self, tool: &Object<'_>, raw: &RawValue) {
        for (field, kind) in [
            ("title", Kind::String),
            ("annotations", Kind::Object),
            ("icons", Kind::Array),
            ("_meta", Kind::Object),
        ] {
            if let Some(found) = tool.field(field).map(Kind::of).filter(|found| *found != kind) {
                self.warn(
                    Code::ToolFieldKind,
                    format!("has `{field}` as {found}; MCP clients expect {kind}"),
                );
            }
        }
        for field in ["inputSchema", "outputSchema"] {
            let dialect = tool.field(field).and_then(|schema| Object::read(schema).ok()?.field("$schema"));
            if let Some(found) = dialect.map(Kind::of).filter(|found| *found != Kind::String) {
                let what = format!("has `$schema` in its {field} as {found}; MCP clients expect a string");
                self.warn(Code::ToolFieldKind, what);
            }
        }
        if let Err(error) = serde_json::from_str::<serde_json::Value>(raw.get()) {
            self.warn(Code::ToolHardToRead, format!("is JSON that many readers refuse: {error}"));
        }
    }

    fn fault(&mut self, code: Code, what: String, rule: &str) {
        let (subject, message) = self.told(&what);
        self.faults.push(Diagnostic::error(code, subject, message).rule(format!("{rule} {SECTION}")));
    }

    fn warn(&mut self, code: Code, what: String) {
        let (subject, message) = self.told(&what);
        self.warnings.push(Diagnostic::warning(code, subject, message));
    }

    fn told(&self, what: &str) -> (String, String) {
        match &self.name {
            Some(name) => (name.clone(), format!("tool `{}` {what}", shown(name))),
            None => (format!("tool {}", self.at), format!("tool {} of the list {what}", self.at)),
        }
    }
}

/// What is wrong with a name; nothing when it is right.
fn wrong_name(name: &str) -> Option<String> {
    let chars = name.chars().count();
    if chars == 0 {
        return Some("has an empty name".to_owned());
    }
    if let Some(c) = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')) {
        return Some(format!("has `{}` in its name", shown(&c.to_string())));
    }
    (chars > MAX_TOOL_NAME_CHARS).then(|| {
        format!(
            "has a name of {} characters, at most {MAX_TOOL_NAME_CHARS} are allowed",
            grouped(chars as u64)
        )
    })
}
