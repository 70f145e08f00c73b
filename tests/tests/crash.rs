//! Every row of ABI 1's "What breaks a call", and what does not break one: a guest each, in
//! `tests/fixtures/crash`. The head of a fixture says how its call must end:
//!
//! - `answered` – exit code 0;
//! - anything else – exit code 4, and the cause begins with these words.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::fixture::Fixture;
use subako_tests::fixture_path;
use subako_tests::run::Run;
use subako_tests::workspace;

fn call(bundle: &Bundle, fixture: &Fixture, format: &str) -> Run {
    let mut command: Command = bundle.loader("call");
    Run::of(command.args(["--format", format]).args(&fixture.args).args(["break", "{}"]))
}

#[track_caller]
fn check(name: &str) {
    let fixture = Fixture::read("crash", name);
    let bundle = fixture.package().build();
    let run = call(&bundle, &fixture, "json");
    let answer = run.json();
    if fixture.expect == "answered" {
        let run = run.exits(0);
        assert_eq!(answer["outcome"], "answered", "{run}");
        assert_eq!(answer["result"]["content"][0]["text"], "fine", "{run}");
    } else {
        let run = run.exits(4);
        assert_eq!(answer["outcome"], "crashed", "{run}");
        assert!(
            answer["message"].as_str().is_some_and(|message| message.starts_with(&fixture.expect)),
            "{}: the cause is not `{}`: {run}",
            fixture.name,
            fixture.expect
        );
    }
    for words in &fixture.contains {
        assert!(text(&answer).contains(words), "{}: `{words}` is not in {}", fixture.name, text(&answer));
    }
}

/// Every string in a JSON value, a line each: where the words stand is not asked here.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(text).collect(),
        Value::Object(members) => members.values().map(text).collect(),
        other => format!("{other}\n"),
    }
}

/// A module's stack is its own, however little the program's first thread was given.
#[test]
fn a_small_stack_is_not_the_modules() {
    let fixture = Fixture::read("crash", "endless-recursion");
    let bundle = fixture.package().build();
    for kib in [512, 2_048, 8_192] {
        let loader = bundle.loader("call");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -s {kib} && exec \"$@\""), "sh"]).arg(loader.get_program());
        command.args(loader.get_args()).args(["--format", "json", "break", "{}"]);
        command.envs(loader.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = Run::of(&mut command);
        let answer = run.json();
        let message = answer["message"].as_str();
        assert!(message.is_some_and(|message| message.starts_with(&fixture.expect)), "{kib} KiB: {run}");
    }
}

macro_rules! guests {
    ($($test:ident = $fixture:literal;)*) => {
        const GUESTS: &[&str] = &[$($fixture),*];
        $(#[test] fn $test() { check($fixture); })*
    };
}

guests! {
    // Answers with a JSON-RPC `error`, or a `resultType` other than `complete`.
    protocol_error = "protocol-error";
    result_type_absent = "result-type-absent";
    result_type_input_required = "result-type-input-required";
    result_type_unknown = "result-type-unknown";

    // Answers with what is no `CallToolResult`.
    block_without_type = "block-without-type";
    content_absent = "content-absent";
    content_not_array = "content-not-array";
    is_error_not_boolean = "is-error-not-boolean";

    // Prints a line on stdout that is not a JSON-RPC message.
    jsonrpc_version = "jsonrpc-version";
    line_after_answer = "line-after-answer";
    line_array = "line-array";
    line_at_end = "line-at-end";
    line_crlf = "line-crlf";
    line_empty = "line-empty";
    line_in_pieces = "line-in-pieces";
    line_not_json = "line-not-json";
    line_not_message = "line-not-message";
    line_not_utf8 = "line-not-utf8";
    line_without_end = "line-without-end";
    line_without_end_exit = "line-without-end-exit";
    notifications = "notifications";

    // Prints more than 1 MiB.
    stdout_at_limit = "stdout-at-limit";
    stdout_endless_line = "stdout-endless-line";
    stdout_endless_notifications = "stdout-endless-notifications";
    stdout_over_limit = "stdout-over-limit";

    // Answers an id it was not asked.
    answered_after_end = "answered-after-end";
    answered_twice = "answered-twice";
    id_other_type = "id-other-type";
    id_unknown = "id-unknown";

    // Sends a request of its own.
    request_sent = "request-sent";

    // Exits before answering, exits non-zero, or does not exit within a second of stdin closing.
    exit_before_end = "exit-before-end";
    exit_early = "exit-early";
    exit_early_status = "exit-early-status";
    exit_status = "exit-status";
    no_exit = "no-exit";
    no_exit_asleep = "no-exit-asleep";

    // Traps.
    endless_recursion = "endless-recursion";
    stderr_tail = "stderr-tail";
    trap = "trap";
    trap_after_answer = "trap-after-answer";
    trap_at_end = "trap-at-end";

    // Runs out of memory.
    memory_refused_and_lived = "memory-refused-and-lived";
    out_of_memory = "out-of-memory";
    out_of_table = "out-of-table";
    table_refused_and_lived = "table-refused-and-lived";

    // Runs out of time.
    endless_loop = "endless-loop";
    endless_naps = "endless-naps";
    endless_sleep = "endless-sleep";
    endless_wait_for_stdin = "endless-wait-for-stdin";
    reads_to_end = "reads-to-end";
    stderr_endless = "stderr-endless";

    // Stderr is free for logs.
    stderr_flood = "stderr-flood";
}

#[test]
fn every_guest_has_a_test() {
    let files: BTreeSet<String> = fs::read_dir(fixture_path("crash"))
        .expect("the fixtures are there")
        .map(|entry| {
            entry.expect("the folder can be listed").file_name().into_string().expect("names are ASCII")
        })
        .filter_map(|file| file.strip_suffix(".wat").map(str::to_owned))
        .collect();
    let tested: BTreeSet<String> = GUESTS.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(files, tested);
}

/// Each row of docs/host.md, "How a call ends", has a guest whose call ends so.
#[test]
fn every_cause_has_a_guest() {
    let page = fs::read_to_string(workspace().join("docs/host.md")).expect("the page is there");
    let table = page.split("## How a call ends").nth(1).expect("the section is there");
    let table = table.split("## ").next().unwrap_or_default();
    let phrases: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split("` | `").nth(1)?.split('`').next())
        .collect();
    assert_eq!(phrases.len(), 13, "a cause for each of the spec's, and no more: {phrases:?}");
    let expected: Vec<String> = GUESTS.iter().map(|name| Fixture::read("crash", name).expect).collect();
    for phrase in phrases {
        let words = phrase.split([':', ',']).next().unwrap_or(phrase).trim_end_matches(" N");
        assert!(
            expected.iter().any(|expect| expect.starts_with(words) || words.starts_with(expect.as_str())),
            "no guest ends with `{words}`"
        );
    }
}

/// The last 4 KiB of stderr, cut where a character begins: 4,096 bytes before the end is the
/// middle of one.
#[test]
fn stderr_is_cut_between_characters() {
    let fixture = Fixture::read("crash", "stderr-tail");
    let answer = call(&fixture.package().build(), &fixture, "json").exits(4).json();
    let tail = format!("{}end", "é".repeat(2_046));
    assert!(text(&answer).lines().any(|line| line == tail), "the tail is not 4,095 bytes: {answer}");
}

/// In text, the report of a crash says what the model would be told: the cause and the tail.
#[test]
fn a_crash_in_text() {
    let fixture = Fixture::read("crash", "trap");
    let run = call(&fixture.package().build(), &fixture, "text").exits(4);
    let shown = format!("{}{}", run.stdout, run.stderr);
    for words in ["trap: ", "divide_the_cake", "the oven is too hot"] {
        assert!(shown.contains(words), "`{words}` is not in {run}");
    }
}

/// A module that needs more memory at its start than it may have is refused, not run.
#[test]
fn memory_minimum_past_the_limit() {
    let fixture = Fixture::read("crash", "memory-refused-and-lived");
    let bundle = fixture.package().build();
    let run = bundle.call("break", &json!({}), &["--memory", "64KiB"]).exits(3);
    assert_eq!(run.errors().len(), 1, "{run}");
    // Three pages, of the one that is allowed.
    assert!(run.stderr.contains("196,608") && run.stderr.contains("65,536"), "{run}");
    assert_eq!(run.stdout, "", "{run}");
}
