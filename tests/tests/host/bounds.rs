//! How far a module may go: memory, tables, time. The causes are in `crash.rs`; here is what needs
//! more than a guest of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use subako_tests::fixture::Fixture;
use subako_tests::run::Run;
use subako_tests::wasi_calls::run;
use wait_timeout::ChildExt as _;

use super::{Volume, check, guest};

/// Growth past the limit fails in the module, which goes on and answers.
#[test]
fn memory_grows_to_its_limit() {
    let guest = guest!();
    // 512 MiB by default, and 4 MiB: in pages of 64 KiB.
    check(&guest.bundle, &[] as &[&str], "exhaust => ok 8192");
    check(&guest.bundle, &["--memory", "4MiB"], "exhaust => ok 64");
    // No more than whole pages fit.
    check(&guest.bundle, &["--memory", "4194303"], "exhaust => ok 63");
}

#[test]
fn memory_minimum_past_the_limit_is_refused() {
    let guest = guest!();
    let ended = run(&guest.bundle, "preopens", &["--memory", "64KiB"]).exits(3);
    let report = ended.json();
    assert_eq!(report["diagnostics"][0]["code"], "E0914", "{ended}");
    let said = report["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(said.contains("65,536"), "{ended}");
}

/// A table that starts with more elements than are allowed, and more tables than are allowed.
#[test]
fn tables_past_the_limit_are_refused() {
    for (name, words) in [("table-large", "1,000,001"), ("tables-many", "17")] {
        let fixture = Fixture::read("host", name);
        let (ended, output) = fixture.package().try_build(&[]);
        let ended = ended.exits(3);
        assert!(ended.stderr.contains(&fixture.expect) && ended.stderr.contains(words), "{ended}");
        assert!(!output.exists());
    }
}

/// A FIFO that another has put into the volume, with nobody at its other end: the module waits in a
/// call of the host, and its time ends.
#[test]
fn a_fifo_does_not_hold_the_call() {
    let guest = guest!();
    let volume = Volume::new();
    let fifo = volume.tmp().join("fifo");
    let made = Run::of(std::process::Command::new("mkfifo").arg(&fifo)).exits(0);
    assert!(fs::metadata(&fifo).is_ok(), "{made}");
    let mut flags = volume.flags();
    flags.extend(["--timeout".to_owned(), "1s".to_owned()]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let times_out = |script: &str| {
        let ended = run(&guest.bundle, script, &flags).exits(4);
        assert_eq!(ended.json()["cause"], "out_of_time", "{ended}");
    };
    times_out("open f /volume/tmp fifo r");
    times_out("open f /volume/tmp fifo w");
    // With somebody at the other end it opens, and is still no file to read or write.
    let other_end = fs::File::options().read(true).write(true).open(&fifo).expect("it is ours");
    check(
        &guest.bundle,
        &flags,
        "open f /volume/tmp fifo r => ok
         read $f 1 => spipe
         open g /volume/tmp fifo w => ok
         write $g x => spipe 0
         list /volume/tmp 4096 => ok 3 .:dir ..:dir fifo:unknown",
    );
    drop(other_end);
}

/// In `exec`, the time that the operator takes for the next request is not the module's: here it
/// is as long as another call, with the same limit, takes to run out of time.
#[test]
fn the_operators_time_is_not_counted() {
    let guest = guest!();
    let mut command = guest.bundle.loader("exec");
    command.args(["--timeout", "1s"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the loader starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut ask = |id: u32| {
        let params = json!({ "name": "run", "arguments": { "script": "yield" } });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(stdin, "{request}").expect("the loader reads");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("the loader writes");
        assert!(answer.contains(&format!("\"id\":{id},\"result\"")), "{answer}");
    };
    ask(1);
    let other = run(&guest.bundle, "loop", &["--timeout", "1s"]).exits(4);
    assert_eq!(other.json()["cause"], "out_of_time", "{other}");
    ask(2);
    drop(stdin);
    assert_eq!(child.wait().expect("the loader ends").code(), Some(0));
}

/// With `--stderr`, a reader that does not read stops what is shown, not the end of the call.
#[test]
fn an_unread_stderr_does_not_hold_the_call() {
    let guest = guest!();
    let mut command = guest.bundle.loader("call");
    command.args(["--format", "json", "--stderr", "--timeout", "1s", "run"]);
    command.arg(json!({ "script": "fill 2 1000000\nloop" }).to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the loader starts");
    let _unread = child.stderr.take().expect("stderr is piped");
    // Its report is shorter than a pipe is.
    let status = child.wait_timeout(Duration::from_secs(300)).expect("the loader can be waited for");
    if status.is_none() {
        child.kill().expect("the loader can be killed");
    }
    let mut report = String::new();
    let mut stdout = child.stdout.take().expect("stdout is piped");
    stdout.read_to_string(&mut report).expect("stdout is UTF-8");
    assert_eq!(status.and_then(|status| status.code()), Some(4), "{report}");
    assert!(report.contains("\"cause\":\"out_of_time\""), "{report}");
}

/// A module is held to its time where its own start section takes it.
#[test]
fn a_start_section_is_part_of_the_call() {
    for (name, cause) in
        [("start-loops", "out_of_time"), ("start-traps", "trap"), ("start-exits", "exited_before_answering")]
    {
        let bundle = Fixture::read("host", name).package().build();
        let ended = bundle.call("break", &json!({}), &["--format", "json", "--timeout", "1s"]).exits(4);
        assert_eq!(ended.json()["cause"], cause, "{ended}");
    }
}
