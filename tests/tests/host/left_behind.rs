//! A call leaves nothing behind: no file in the temporary directory, however it ended.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::json;
use subako_tests::fixture::Fixture;
use subako_tests::run::Run;

use super::{Volume, guest, text};

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory)
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect()
}

/// Assets, skills and a fresh volume are all directories that were made for the call.
#[test]
fn no_file_however_a_call_ends() {
    let guest = guest!();
    let bundle = guest.package().with("a.txt", "a").build();
    let volume = Volume::new();
    let _ = Run::of(Command::new("mkfifo").arg(volume.tmp().join("fifo"))).exits(0);
    let temporary = volume.root.path().join("temporary");
    fs::create_dir(&temporary).expect("the folder is ours");
    let skill = format!("s={}", text(&volume.outside()));
    let data = text(&volume.tmp());
    let call = |script: &str, more: &[&str]| {
        let mut command = bundle.loader("call");
        command.env("TMPDIR", &temporary).args(["--skill", &skill, "--volume-data", &data]);
        command.args(more).args(["--format", "json", "run"]).arg(json!({ "script": script }).to_string());
        Run::of(&mut command)
    };
    for (script, more, code) in [
        ("put /volume/tmp f x cw\nmkdir /volume/tmp dir", &[][..], 0),
        ("exit 7", &[], 4),
        ("no-such-call", &[], 4),
        ("loop", &["--timeout", "1s"], 4),
        // The module's thread never comes back.
        ("open f /volume/data fifo r", &["--timeout", "1s"], 4),
        ("preopens", &["--memory", "64KiB"], 3),
        ("preopens", &["--skill", "absent=/no/such/directory"], 2),
    ] {
        let ended = call(script, more).exits(code);
        assert_eq!(names(&temporary), [] as [String; 0], "{ended}");
    }
    // A hundred in a row.
    for _ in 0..100 {
        let _ = call("put /volume/tmp f x cw", &[]).exits(0);
    }
    assert_eq!(names(&temporary), [] as [String; 0]);
}

/// A signal ends also a call whose module hangs in the system, where nothing else ends it.
#[test]
fn a_signal_ends_a_call_that_hangs() {
    let guest = guest!();
    let volume = Volume::new();
    let fifo = volume.tmp().join("fifo");
    let _ = Run::of(Command::new("mkfifo").arg(&fifo)).exits(0);
    let temporary = volume.root.path().join("temporary");
    fs::create_dir(&temporary).expect("the folder is ours");
    let mut command = guest.bundle.loader("call");
    command.env("TMPDIR", &temporary).args(["--timeout", "1h", "--volume-data", &text(&volume.tmp()), "run"]);
    command.arg(json!({ "script": "put /volume/tmp f x cw\nopen f /volume/data fifo w" }).to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut loader = command.spawn().expect("the loader runs");
    let written = || names(&temporary).iter().any(|volume| temporary.join(volume).join("f").exists());
    while !written() {
        assert!(loader.try_wait().expect("it is ours").is_none(), "the loader ended by itself");
        thread::yield_now();
    }
    let _ = Run::of(Command::new("kill").arg(loader.id().to_string())).exits(0);
    let ended = loader.wait().expect("it is ours");
    assert_eq!(ended.signal(), Some(15), "{ended}");
    assert_eq!(names(&temporary), [] as [String; 0]);
}

/// Nobody reads: a call that is stuck ends in its time all the same, and its signals end one whose
/// answer nobody takes.
#[test]
fn a_reader_who_does_not_read_holds_nothing_up() {
    let flood = Fixture::read("crash", "stderr-endless").package().build();
    let mut command = flood.loader("call");
    command.args(["--stderr", "--timeout", "1s", "break", "{}"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut loader = command.spawn().expect("the loader runs");
    let unread = loader.stderr.take();
    assert_eq!(loader.wait().expect("it is ours").code(), Some(4));
    drop(unread);

    let guest = guest!();
    let volume = Volume::new();
    let temporary = tempfile::tempdir().expect("there is room for a folder");
    let mut command = guest.bundle.loader("call");
    let arguments = volume.tmp().join("arguments.json");
    let long = json!({ "script": "yield\n".repeat(40_000) }).to_string();
    fs::write(&arguments, long).expect("the folder is ours");
    command.env("TMPDIR", temporary.path()).args(["run", &format!("@{}", text(&arguments))]);
    let mut loader = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the loader runs");
    // A byte of more than a pipe takes: the rest waits to be read.
    let mut stdout = loader.stdout.take().expect("it is piped");
    stdout.read_exact(&mut [0]).expect("there is an answer");
    assert_eq!(names(temporary.path()), [] as [String; 0]);
    let _ = Run::of(Command::new("kill").arg(loader.id().to_string())).exits(0);
    assert_eq!(loader.wait().expect("it is ours").signal(), Some(15));
    drop(stdout);
}

/// What a call was started to ignore, as `nohup` does, does not end it.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let guest = guest!();
    let volume = Volume::new();
    let loader = guest.bundle.loader("call");
    let script = json!({ "script": "put /volume/tmp f x cw\nloop" }).to_string();
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP && exec \"$@\"", "sh"])
        .arg(loader.get_program())
        .args(loader.get_args());
    command.args(["--timeout", "2s", "--volume-tmp", &text(&volume.tmp()), "run", &script]);
    command.envs(loader.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut loader = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the loader runs");
    while !volume.tmp().join("f").exists() {
        assert!(loader.try_wait().expect("it is ours").is_none(), "the loader ended by itself");
        thread::yield_now();
    }
    let _ = Run::of(Command::new("kill").args(["-HUP", &loader.id().to_string()])).exits(0);
    assert_eq!(loader.wait().expect("it is ours").code(), Some(4));
}

/// A standard stream that is closed is not the place of the next file that is opened.
#[test]
fn closed_streams_are_nobodys() {
    let guest = guest!();
    let volume = Volume::new();
    let loader = guest.bundle.loader("call");
    let script = json!({ "script": "put /volume/tmp f x cw" }).to_string();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" <&- 2>&-", "sh"]).arg(loader.get_program()).args(loader.get_args());
    command.args(["-v", "--volume-tmp", &text(&volume.tmp()), "run", &script]);
    command.envs(loader.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let _ = Run::of(&mut command).exits(0);
    assert_eq!(fs::read(volume.tmp().join("f")).expect("it was written"), b"x");
}

/// `--keep-volume` keeps the volume, and only that, and says where it is.
#[test]
fn a_volume_that_is_kept() {
    let guest = guest!();
    let bundle = guest.package().with("a.txt", "a").build();
    let temporary = tempfile::tempdir().expect("there is room for a folder");
    let mut command = bundle.loader("call");
    command.env("TMPDIR", temporary.path()).args(["--keep-volume", "run"]);
    let ended =
        Run::of(command.arg(json!({ "script": "put /volume/tmp kept.txt x cw" }).to_string())).exits(0);
    let kept = names(temporary.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    let kept = temporary.path().join(&kept[0]);
    assert!(ended.stderr.contains(&text(&kept)), "{ended}");
    assert_eq!(names(&kept), ["kept.txt"]);
    assert_eq!(fs::read(kept.join("kept.txt")).expect("it was written"), b"x");
}
