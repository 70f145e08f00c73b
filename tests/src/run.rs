//! One run of a program: what it printed and how it ended.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wait_timeout::ChildExt as _;

use crate::programs::tests_directory;

/// How long a program may take before the test gives up on it: far more than any needs, so that
/// a hang is a failure and nothing depends on the machine's speed.
const PATIENCE: Duration = Duration::from_secs(300);

/// Where `subakoc` keeps what it compiled.
pub const COMPILE_CACHE: &str = "SUBAKO_COMPILE_CACHE";

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Run {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
    /// The command line, for messages.
    pub command: String,
}

impl Run {
    /// Runs the command with an empty stdin.
    pub fn of(command: &mut Command) -> Self {
        Self::with_stdin(command, b"")
    }

    /// Runs the command with these bytes on stdin, which then ends.
    ///
    /// # Panics
    ///
    /// When it does not start, does not end, or prints what is not UTF-8.
    pub fn with_stdin(command: &mut Command, stdin: &[u8]) -> Self {
        let shown = format!("{command:?}");
        // The user's own cache is no business of the tests; one that a test names stays.
        if !command.get_envs().any(|(name, _)| name == COMPILE_CACHE) {
            command.env(COMPILE_CACHE, tests_directory().join("compile-cache"));
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{shown}: {error}"));
        let mut input = child.stdin.take().expect("stdin is piped");
        let out = read_all(child.stdout.take().expect("stdout is piped"));
        let err = read_all(child.stderr.take().expect("stderr is piped"));
        let stdin = stdin.to_owned();
        // A program that refuses its arguments may be gone before it reads.
        let feeder = thread::spawn(move || drop(input.write_all(&stdin)));

        let status = child.wait_timeout(PATIENCE).expect("the child can be waited for");
        if status.is_none() {
            child.kill().expect("the child can be killed");
            child.wait().expect("the child can be waited for");
        }
        feeder.join().expect("the feeder does not panic");
        let run = Self {
            code: status.and_then(|status| status.code()),
            stdout: String::from_utf8(out.join().expect("the reader does not panic"))
                .expect("stdout is UTF-8"),
            stderr: String::from_utf8(err.join().expect("the reader does not panic"))
                .expect("stderr is UTF-8"),
            command: shown,
        };
        assert!(status.is_some(), "{run} did not end");
        assert!(!run.stderr.contains("panicked at"), "{run} panicked");
        run
    }

    /// The same run, after a look at its exit code.
    ///
    /// # Panics
    ///
    /// When it is another.
    #[track_caller]
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The one JSON value on stdout.
    ///
    /// # Panics
    ///
    /// When there is none, or anything else beside it.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The codes of all errors on stderr, in order: `E0103`.
    #[must_use]
    pub fn errors(&self) -> Vec<&str> {
        self.codes("error[")
    }

    /// The codes of all warnings on stderr, in order.
    #[must_use]
    pub fn warnings(&self) -> Vec<&str> {
        self.codes("warning[")
    }

    fn codes(&self, severity: &str) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix(severity)?.split(']').next()).collect()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}\nexit code {:?}\n--- stdout\n{}\n--- stderr\n{}\n---",
            self.command, self.code, self.stdout, self.stderr
        )
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}
