//! What is asked, what is accepted, and the code of everything that is refused; the answers here
//! are written by hand, no engine runs.

use std::time::Duration;

use serde_json::value::RawValue;
use subako_loader::outcome::{Cause, Crash};
use subako_manifest::diagnostic::{Code, Severity};

use super::*;

/// The two answers of the spec.
const DISCOVER: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
const LIST: &str = r#"{"tools":[{"name":"greet","description":"Greet someone by name.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Who to greet."}},"required":["name"]}}]}"#;
const STRICT: &str = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;

fn raws(results: &[&str]) -> Vec<Box<RawValue>> {
    results.iter().map(|result| RawValue::from_string((*result).to_owned()).unwrap()).collect()
}

/// What is asked after these results, as method and params; nothing when stdin is closed.
fn asked(results: &[&str]) -> Option<(&'static str, String)> {
    match questions::next(&raws(results)) {
        Step::Ask(request) => Some((request.method, serde_json::to_string(&request.params).unwrap())),
        Step::Listed(_) | Step::Refused(_) => None,
    }
}

fn judge(results: &[&str], crash: Option<Crash>) -> Result<Discovered, Refused> {
    judged(Conversation { results: raws(results), crash, stderr_tail: String::new() }, "greet/module.wasm")
}

/// Code and subject of each fault: what is refused is not warned of as well.
fn faults(results: &[&str], crash: Option<Crash>) -> Vec<(Code, String)> {
    let Refused(told) = judge(results, crash).unwrap_err();
    assert!(told.iter().all(|told| told.severity == Severity::Error));
    told.into_iter().map(|told| (told.code, told.subject)).collect()
}

fn page(tool: &str, more: &str) -> String {
    format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]{more}}}"#)
}

#[test]
fn the_answers_of_the_spec() {
    let params = |text: &str| text.to_owned();
    assert_eq!(asked(&[]), Some(("server/discover", params("{}"))));
    assert_eq!(asked(&[DISCOVER]), Some(("tools/list", params("{}"))));
    assert_eq!(asked(&[DISCOVER, LIST]), None);
    let found = judge(&[DISCOVER, LIST], None).unwrap();
    assert_eq!(found.tools.tools().len(), 1);
    assert_eq!(found.tools.tools()[0].name, "greet");
}

#[test]
fn pages_follow_until_no_cursor_is_named() {
    let (first, second) = (page("a", r#","nextCursor":"two""#), page("b", r#","nextCursor":"""#));
    let third = page("c", r#","nextCursor":null"#);
    let results = [DISCOVER, first.as_str(), second.as_str(), third.as_str()];
    assert_eq!(asked(&results[..2]), Some(("tools/list", r#"{"cursor":"two"}"#.to_owned())));
    // An empty cursor is one.
    assert_eq!(asked(&results[..3]), Some(("tools/list", r#"{"cursor":""}"#.to_owned())));
    assert_eq!(asked(&results), None);
    let found = judge(&results, None).unwrap();
    let names: Vec<_> = found.tools.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn up_to_16_pages() {
    let pages: Vec<String> =
        (1..=16).map(|n| page(&format!("t{n}"), &format!(r#","nextCursor":"{n}""#))).collect();
    let mut results = vec![DISCOVER];
    results.extend(pages.iter().map(String::as_str));
    assert_eq!(asked(&results[..16]), Some(("tools/list", r#"{"cursor":"15"}"#.to_owned())));
    assert_eq!(asked(&results), None);
    assert_eq!(faults(&results, None), [(Code::TooManyPages, "tools/list".to_owned())]);
    let last = page("t16", "");
    results[16] = &last;
    assert_eq!(judge(&results, None).unwrap().tools.tools().len(), 16);
}

#[test]
fn answers_that_are_refused() {
    let list = |code| (code, "tools/list".to_owned());
    let discover = |code| (code, "server/discover".to_owned());
    let again = page("a", r#","nextCursor":"x""#);
    let number = page("a", r#","nextCursor":2"#);
    for (results, wrong) in [
        (&["[]"][..], vec![discover(Code::DiscoverAnswer)]),
        (&["null"], vec![discover(Code::DiscoverAnswer)]),
        (&[r#"{"capabilities":{"tools":{}},"capabilities":{}}"#], vec![discover(Code::DiscoverAnswer)]),
        (&["{}"], vec![discover(Code::DiscoverVersion), discover(Code::DiscoverNoTools)]),
        (
            &[r#"{"supportedVersions":"2026-07-28","capabilities":{"tools":{}}}"#],
            vec![discover(Code::DiscoverVersion)],
        ),
        (&[r#"{"supportedVersions":[],"capabilities":{"tools":{}}}"#], vec![discover(Code::DiscoverVersion)]),
        (
            &[r#"{"supportedVersions":["2025-06-18"],"capabilities":{"tools":{}}}"#],
            vec![discover(Code::DiscoverVersion)],
        ),
        (
            &[r#"{"supportedVersions":[7],"capabilities":{"tools":{}}}"#],
            vec![discover(Code::DiscoverVersion)],
        ),
        (
            &[r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#],
            vec![discover(Code::DiscoverNoTools)],
        ),
        (
            &[r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":true}}"#],
            vec![discover(Code::DiscoverNoTools)],
        ),
        (
            &[r#"{"supportedVersions":["2026-07-28"],"capabilities":["tools"]}"#],
            vec![discover(Code::DiscoverNoTools)],
        ),
        (&[DISCOVER, "[]"], vec![list(Code::DiscoverAnswer)]),
        (&[DISCOVER, "{}"], vec![list(Code::ToolsAbsent)]),
        (&[DISCOVER, r#"{"tools":{}}"#], vec![list(Code::ToolsAbsent)]),
        (&[DISCOVER, r#"{"tools":[],"nextCursor":"x"}"#, "{}"], vec![list(Code::ToolsAbsent)]),
        (&[DISCOVER, &number], vec![list(Code::CursorKind)]),
        (&[DISCOVER, &again, &again], vec![list(Code::CursorTwice)]),
        (&[DISCOVER, r#"{"tools":[]}"#], vec![list(Code::ToolCount)]),
        (&[DISCOVER, r#"{"tools":[{"name":"t"}]}"#], vec![(Code::InputSchemaAbsent, "t".to_owned())]),
    ] {
        assert_eq!(asked(results), None, "{results:?}");
        assert_eq!(faults(results, None), wrong, "{results:?}");
    }
}

#[test]
fn other_versions_are_named() {
    let answer = r#"{"supportedVersions":["2025-06-18","\u001b[2J"],"capabilities":{"tools":{}}}"#;
    let Refused(told) = judge(&[answer], None).unwrap_err();
    assert_eq!(
        told[0].message,
        "`server/discover` is answered wrongly: the result supports the versions `2025-06-18`, \
         `\\u{1b}[2J`, but not `2026-07-28`"
    );
    // One among others is enough.
    let answer = r#"{"supportedVersions":["2025-06-18","2026-07-28"],"capabilities":{"tools":{},"x":1}}"#;
    assert!(judge(&[answer, LIST], None).is_ok());
}

#[test]
fn strict_clients_are_warned_of_once_for_each_kind_of_answer() {
    let (first, second) = (page("a", r#","nextCursor":"two""#), page("b", ""));
    let found = judge(&[DISCOVER, &first, &second], None).unwrap();
    let told: Vec<_> = found.warnings.iter().map(|told| (told.code, told.subject.as_str())).collect();
    assert_eq!(told, [(Code::StrictAnswer, "server/discover"), (Code::StrictAnswer, "tools/list")]);
    assert_eq!(
        found.warnings[0].message,
        "`server/discover` is answered without a valid `resultType`, `ttlMs`, `cacheScope`, which \
         strict MCP clients demand"
    );

    let discover = DISCOVER.replacen('{', &format!("{{{STRICT},"), 1);
    let list = LIST.replacen('{', &format!("{{{STRICT},"), 1);
    assert_eq!(judge(&[&discover, &list], None).unwrap().warnings, []);
    // What the published Rust SDK answers.
    let list = LIST.replacen('{', r#"{"resultType":"complete","ttlMs":86400000,"cacheScope":"public","#, 1);
    assert_eq!(judge(&[&discover, &list], None).unwrap().warnings, []);

    for wrong in [r#""ttlMs":-1"#, r#""ttlMs":"0""#, r#""ttlMs":1.5"#, r#""x":0"#] {
        let list = list.replace(r#""ttlMs":86400000"#, wrong);
        let warnings = judge(&[&discover, &list], None).unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{wrong}");
        assert_eq!(warnings[0].hint.as_deref(), Some("answer with `\"ttlMs\":0` in the result"), "{wrong}");
    }
}

#[test]
fn each_crash_has_its_code() {
    for (cause, code) in [
        (Cause::ProtocolError { code: -32601, message: "no".into() }, Code::DiscoverProtocolError),
        (Cause::ResultType("input_required".into()), Code::DiscoverResultType),
        (Cause::NotMessage { line: "hi".into(), reason: "not JSON".into() }, Code::DiscoverNotMessage),
        (Cause::UnknownId("7".into()), Code::DiscoverUnknownId),
        (Cause::RequestSent("sampling/createMessage".into()), Code::DiscoverRequestSent),
        (Cause::ExitedBeforeAnswering { status: 0 }, Code::DiscoverExitedEarly),
        (Cause::ExitStatus(1), Code::DiscoverExitStatus),
        (Cause::DidNotExit, Code::DiscoverDidNotExit),
        (Cause::Trap { message: "unreachable".into(), backtrace: vec![] }, Code::DiscoverTrap),
        (Cause::OutOfMemory { limit: 1 }, Code::DiscoverOutOfMemory),
        (Cause::OutOfTime { limit: Duration::from_secs(10) }, Code::DiscoverOutOfTime),
        (Cause::WaitsForInput, Code::DiscoverOutOfTime),
        (Cause::StdoutLimit, Code::DiscoverStdoutLimit),
    ] {
        let crash = Crash { cause, stderr_tail: String::new() };
        assert_eq!(faults(&[], Some(crash.clone())), [(code, "server/discover".to_owned())]);
        assert_eq!(faults(&[DISCOVER], Some(crash.clone())), [(code, "tools/list".to_owned())]);
        // Good answers do not help a module that crashes after them.
        assert_eq!(faults(&[DISCOVER, LIST], Some(crash)), [(code, "greet/module.wasm".to_owned())]);
    }
}

#[test]
fn a_crash_tells_the_request_and_the_end_of_stderr() {
    let cause = Cause::Trap { message: "unreachable".into(), backtrace: vec!["abort".into(), "main".into()] };
    let crash = Crash { cause, stderr_tail: "one\n\u{1b}[2Jtwo\n".into() };
    let Refused(told) = judge(&[DISCOVER], Some(crash)).unwrap_err();
    assert_eq!(
        told[0].message,
        "`greet/module.wasm` crashes while `tools/list` is open: trap: unreachable\n  in abort\n  in main\n  \
         its stderr ends:\n  | one\n  | \\u{1b}[2Jtwo"
    );
    let crash = Crash { cause: Cause::ExitStatus(3), stderr_tail: String::new() };
    let Refused(told) = judge(&[DISCOVER, LIST], Some(crash)).unwrap_err();
    assert_eq!(told[0].message, "`greet/module.wasm` crashes after its last answer: exit status 3");
}

#[test]
fn a_question_left_open_is_a_fault() {
    assert_eq!(faults(&[], None), [(Code::DiscoverCrashed, "server/discover".to_owned())]);
    assert_eq!(faults(&[DISCOVER], None), [(Code::DiscoverCrashed, "tools/list".to_owned())]);
}

#[test]
fn every_fault_names_the_module() {
    for results in [&["{}"][..], &[DISCOVER, "{}"], &[DISCOVER, r#"{"tools":[]}"#], &[]] {
        let Refused(told) = judge(results, None).unwrap_err();
        assert!(told.iter().all(|told| told.place == Some(Place::file("greet/module.wasm"))), "{told:?}");
    }
}

#[test]
fn faults_of_tools_and_a_crash_come_together() {
    let crash = Crash { cause: Cause::DidNotExit, stderr_tail: String::new() };
    let results = [DISCOVER, r#"{"tools":[{"name":"T","inputSchema":{"type":"object"}}]}"#];
    assert_eq!(
        faults(&results, Some(crash)),
        [(Code::ToolName, "T".to_owned()), (Code::DiscoverDidNotExit, "greet/module.wasm".to_owned()),]
    );
}

#[test]
fn a_memory_that_starts_too_large_is_mended_in_the_module() {
    use subako_loader::instantiate;

    let error = Error::Call(call::Error::Instantiate(instantiate::Error::MemoryMinimum {
        minimum: 536_936_448,
        limit: 536_870_912,
    }));
    let [told] = &error.diagnostics()[..] else { panic!("{error}") };
    assert_eq!(told.code, Code::MemoryMinimum);
    let hint = told.hint.as_deref().expect("there is a mend");
    assert!(hint.contains("--initial-memory"), "{hint}");
    // An option of calls, which a build has not.
    assert!(!hint.contains("`--memory`"), "{hint}");
}
