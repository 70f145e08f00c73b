//! What to ask next, as a function of the answers so far: `server/discover`, then `tools/list`
//! until a page names no next one (ABI 1, "When a package is uploaded").

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use subako_loader::call::{Params, Request};
use subako_manifest::abi;
use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::limits::MAX_TOOL_PAGES;
use subako_manifest::text::shown;
use subako_manifest::tool::object::{Kind, Object, elements, text};

const DISCOVER: &str = "server/discover";
const LIST: &str = "tools/list";
const SECTION: &str = "(ABI 1, \"When a package is uploaded\")";

/// Where a conversation stands.
#[derive(Debug)]
pub(super) enum Step {
    /// This is to be asked.
    Ask(Request),
    /// Every page is in: the tools of all pages, not yet held to any rule.
    Listed(Vec<Box<RawValue>>),
    /// An answer is wrong; there is no use in asking on.
    Refused(Vec<Diagnostic>),
}

/// Where the conversation stands after these results.
pub(super) fn next(results: &[Box<RawValue>]) -> Step {
    let Some((discovered, pages)) = results.split_first() else {
        return Step::Ask(Request { method: DISCOVER, params: Params::default() });
    };
    let faults = check_discovered(discovered);
    if !faults.is_empty() {
        return Step::Refused(faults);
    }
    match listed(pages) {
        Ok(step) => step,
        Err(fault) => Step::Refused(vec![*fault]),
    }
}

fn check_discovered(result: &RawValue) -> Vec<Diagnostic> {
    let answer = match Object::read(result) {
        Ok(answer) => answer,
        Err(wrong) => return vec![fault(Code::DiscoverAnswer, DISCOVER, &wrong.to_string())],
    };
    let mut faults = Vec::new();
    if let Err(wrong) = check_versions(&answer) {
        faults.push(
            fault(Code::DiscoverVersion, DISCOVER, &wrong)
                .rule(format!("`supportedVersions` names `{}` {SECTION}", abi::PROTOCOL_VERSION)),
        );
    }
    if let Err(wrong) = check_capabilities(&answer) {
        faults.push(
            fault(Code::DiscoverNoTools, DISCOVER, &wrong)
                .rule(format!("`capabilities` has `tools`, an object {SECTION}"))
                .hint("answer `\"capabilities\":{\"tools\":{}}`"),
        );
    }
    faults
}

fn check_versions(answer: &Object<'_>) -> Result<(), String> {
    let versions = answer.field("supportedVersions").ok_or("has no `supportedVersions`")?;
    let versions = elements(versions)
        .map_err(|found| format!("has `supportedVersions` as {found}, not an array"))?
        .into_iter()
        .map(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|wrong| format!("has an element of `supportedVersions` that {wrong}"))?;
    if versions.iter().any(|version| version == abi::PROTOCOL_VERSION) {
        return Ok(());
    }
    let wanted = abi::PROTOCOL_VERSION;
    if versions.is_empty() {
        return Err(format!("supports no version of the protocol; `{wanted}` is needed"));
    }
    let found: Vec<String> = versions.iter().map(|version| format!("`{}`", shown(version))).collect();
    Err(format!("supports the versions {}, but not `{wanted}`", found.join(", ")))
}

fn check_capabilities(answer: &Object<'_>) -> Result<(), String> {
    let capabilities = answer.field("capabilities").ok_or("has no `capabilities`")?;
    let capabilities =
        Object::read(capabilities).map_err(|wrong| format!("has `capabilities` that {wrong}"))?;
    match capabilities.field("tools").map(Kind::of) {
        Some(Kind::Object) => Ok(()),
        Some(found) => Err(format!("has `capabilities.tools` as {found}, not an object")),
        None => Err("has no `capabilities.tools`".to_owned()),
    }
}

/// Where `tools/list` stands after these pages.
fn listed(pages: &[Box<RawValue>]) -> Result<Step, Box<Diagnostic>> {
    let mut tools = Vec::new();
    let mut seen = BTreeSet::new();
    let mut params = Params::default();
    for (at, page) in pages.iter().enumerate() {
        let page =
            Object::read(page).map_err(|wrong| fault(Code::DiscoverAnswer, LIST, &wrong.to_string()))?;
        tools.extend(page_tools(&page)?.into_iter().map(ToOwned::to_owned));
        let Some(cursor) = next_cursor(&page)? else {
            return Ok(Step::Listed(tools));
        };
        if !seen.insert(cursor.clone()) {
            let what = format!("has the `nextCursor` `{}` again, a loop", shown(&cursor));
            return Err(fault(Code::CursorTwice, LIST, &what)
                .rule("each page of `tools/list` has a cursor of its own, and the last has none")
                .into());
        }
        if at + 1 == MAX_TOOL_PAGES {
            let what = format!("asks for page {}, at most {MAX_TOOL_PAGES} are read", MAX_TOOL_PAGES + 1);
            return Err(fault(Code::TooManyPages, LIST, &what)
                .rule(format!("`tools/list` has up to {MAX_TOOL_PAGES} pages {SECTION}"))
                .hint("list more tools on each page")
                .into());
        }
        params = Params::default().with_text("cursor", &cursor);
    }
    Ok(Step::Ask(Request { method: LIST, params }))
}

fn page_tools<'a>(page: &Object<'a>) -> Result<Vec<&'a RawValue>, Box<Diagnostic>> {
    let what = match page.field("tools").map(elements) {
        Some(Ok(tools)) => return Ok(tools),
        Some(Err(found)) => format!("has `tools` as {found}, not an array"),
        None => "has no `tools`".to_owned(),
    };
    Err(fault(Code::ToolsAbsent, LIST, &what).rule(format!("`tools` is an array of tools {SECTION}")).into())
}

/// The cursor of the page after this one. An empty one is a cursor too; only where it is absent
/// or null is this the last page.
fn next_cursor(page: &Object<'_>) -> Result<Option<String>, Box<Diagnostic>> {
    match page.field("nextCursor") {
        None => Ok(None),
        Some(null) if Kind::of(null) == Kind::Null => Ok(None),
        Some(cursor) => text(cursor).map(Some).map_err(|wrong| {
            fault(Code::CursorKind, LIST, &format!("has a `nextCursor` that {wrong}"))
                .rule(format!("a `nextCursor` is a string, or is left out {SECTION}"))
                .into()
        }),
    }
}

fn fault(code: Code, method: &str, what: &str) -> Diagnostic {
    Diagnostic::error(code, method, format!("`{method}` is answered wrongly: the result {what}"))
}

/// What the answers lack that MCP's schema demands and ABI 1 does not: one warning for each kind
/// of answer, however many pages there are.
pub(super) fn strict_warnings(results: &[Box<RawValue>]) -> Vec<Diagnostic> {
    let (discovered, pages) = results.split_at(results.len().min(1));
    [(DISCOVER, discovered), (LIST, pages)]
        .into_iter()
        .filter_map(|(method, results)| {
            let lacking: BTreeSet<&str> = results.iter().flat_map(|result| lacking(result)).collect();
            strict_warning(method, &lacking)
        })
        .collect()
}

/// The fields of the schema's `DiscoverResult` and `ListToolsResult` that strict clients demand
/// and that are absent here, or of another type.
fn lacking(result: &RawValue) -> Vec<&'static str> {
    let Ok(answer) = Object::read(result) else {
        return Vec::new();
    };
    let string = |name| answer.field(name).and_then(|value| text(value).ok());
    let milliseconds = answer.field("ttlMs").and_then(|value| serde_json::from_str::<u64>(value.get()).ok());
    let mut lacking = Vec::new();
    if string("resultType").is_none() {
        lacking.push("resultType");
    }
    if milliseconds.is_none() {
        lacking.push("ttlMs");
    }
    if !matches!(string("cacheScope").as_deref(), Some("private" | "public")) {
        lacking.push("cacheScope");
    }
    lacking
}

fn strict_warning(method: &str, lacking: &BTreeSet<&str>) -> Option<Diagnostic> {
    let fields = [("resultType", "\"complete\""), ("ttlMs", "0"), ("cacheScope", "\"private\"")];
    let wanted: Vec<_> = fields.into_iter().filter(|(name, _)| lacking.contains(name)).collect();
    if wanted.is_empty() {
        return None;
    }
    let names: Vec<String> = wanted.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mend: Vec<String> = wanted.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let message = format!(
        "`{method}` is answered without a valid {}, which strict MCP clients demand",
        names.join(", ")
    );
    Some(
        Diagnostic::warning(Code::StrictAnswer, method, message)
            .rule(format!("the schema of MCP {} requires them; ABI 1 does not", abi::PROTOCOL_VERSION))
            .hint(format!("answer with `{}` in the result", mend.join(","))),
    )
}
