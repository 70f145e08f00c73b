//! The tools of a package: what `tools/list` answered, held to the rules of ABI 1, "When a
//! package is uploaded".
//!
//! A tool is kept as the module sent it, every field and every byte of it. What is counted:
//! - characters are Unicode scalar values of the text after its escapes are resolved;
//! - bytes of a schema are those of its JSON as sent, from `{` to `}`;
//! - "all tools together" are the bytes of every tool's JSON as sent, added up; the commas and
//!   the answer around them are not counted.

pub mod object;
mod rules;
mod schema;

use serde_json::value::RawValue;

use crate::diagnostic::{Code, Diagnostic, Refused};
use object::{Object, elements};

/// One tool that holds all rules.
#[derive(Debug, Clone)]
pub struct Tool {
    /// 1 to 64 characters of `a-z`, `0-9`, `_`, `-`; unique in its set.
    pub name: String,
    /// What people are shown in place of the name, if the module sent it as text.
    pub title: Option<String>,
    /// What the model reads, at most 1,024 characters.
    pub description: Option<String>,
    /// A JSON Schema with `"type": "object"` at the top, as sent.
    pub input_schema: Box<RawValue>,
    /// For people, as sent.
    pub output_schema: Option<Box<RawValue>>,
    /// The whole tool as the module sent it, with the fields that are not named here.
    pub raw: Box<RawValue>,
}

/// The tools of a package: 1 to 64, each and all of them within the rules.
#[derive(Debug, Clone)]
pub struct ToolSet(Vec<Tool>);

impl ToolSet {
    /// Holds what a module listed to every rule, and says where a strict MCP client would
    /// stumble although ABI 1 does not mind.
    ///
    /// # Errors
    /// With all faults found in one run, in the order of the tools. Tools past the 64th are
    /// counted but not looked at.
    pub fn check(tools: Vec<Box<RawValue>>) -> Result<(Self, Vec<Diagnostic>), Refused> {
        rules::check(tools).map(|(tools, warnings)| (Self(tools), warnings))
    }

    /// The tools in the order the module listed them.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.0
    }

    /// The tool of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.0.iter().find(|tool| tool.name == name)
    }

    /// `tools.json`: `{"tools":[…]}` and a line end, each tool as the module sent it. The same
    /// tools give the same bytes.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let tools: Vec<&str> = self.0.iter().map(|tool| tool.raw.get()).collect();
        format!("{{\"tools\":[{}]}}\n", tools.join(",")).into_bytes()
    }

    /// Reads a `tools.json`, holding it to the same rules.
    ///
    /// # Errors
    /// When it is not `{"tools":[…]}`, or a tool in it breaks a rule.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Refused> {
        let refused = |what: &str| {
            Refused::from(
                Diagnostic::error(Code::ToolsJson, "tools.json", format!("`tools.json` {what}"))
                    .rule("a bundle's `tools.json` is `{\"tools\":[…]}`"),
            )
        };
        let raw: Box<RawValue> =
            serde_json::from_slice(bytes).map_err(|error| refused(&format!("is not JSON: {error}")))?;
        let file = Object::read(&raw).map_err(|wrong| refused(&wrong.to_string()))?;
        if let Some((name, _)) = file.fields().find(|(name, _)| *name != "tools") {
            return Err(refused(&format!("has an unknown field `{}`", crate::text::shown(name))));
        }
        let tools = file.field("tools").ok_or_else(|| refused("has no field `tools`"))?;
        let tools =
            elements(tools).map_err(|found| refused(&format!("has `tools` as {found}, not an array")))?;
        Self::check(tools.into_iter().map(ToOwned::to_owned).collect()).map(|(tools, _)| tools)
    }
}

#[cfg(test)]
mod tests;
