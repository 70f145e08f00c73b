//! The host's promises to a module (ABI 1, "A call, from start to end" and "Files"), each tried by
//! a guest. The guest of most is `tests/fixtures/host/wasi-calls`: a test is a script of WASI
//! calls, and what each has to give, by the spec.

mod bounds;
mod escape;
mod given;
mod left_behind;
mod preview1;
mod read_only;
mod second_runtime;
mod write_budget;

use std::path::Path;

use subako_tests::bundle::Bundle;
use subako_tests::wasi_calls::{lines, run};

/// A directory for one test, with a name that a module sees and its host path.
struct Volume {
    root: tempfile::TempDir,
}

impl Volume {
    /// An empty volume, and an empty place beside it that no module may see.
    fn new() -> Self {
        let root = tempfile::tempdir().expect("there is room for a folder");
        for folder in ["tmp", "outside"] {
            std::fs::create_dir(root.path().join(folder)).expect("the folder is ours");
        }
        Self { root }
    }

    fn tmp(&self) -> std::path::PathBuf {
        self.root.path().join("tmp")
    }

    fn outside(&self) -> std::path::PathBuf {
        self.root.path().join("outside")
    }

    fn flags(&self) -> Vec<String> {
        vec!["--volume-tmp".to_owned(), text(&self.tmp())]
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// Runs a script whose lines are `CALL => ANSWER`, and compares. `…` at an answer's end stands for
/// anything.
#[track_caller]
fn check<S: AsRef<str>>(bundle: &Bundle, flags: &[S], script: &str) {
    let rows: Vec<(&str, &str)> = script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| line.split_once(" => ").unwrap_or_else(|| panic!("no answer is expected: {line}")))
        .map(|(call, answer)| (call.trim(), answer.trim()))
        .collect();
    let calls: Vec<&str> = rows.iter().map(|(call, _)| *call).collect();
    let flags: Vec<&str> = flags.iter().map(AsRef::as_ref).collect();
    let ended = run(bundle, &calls.join("\n"), &flags);
    assert_eq!(ended.code, Some(0), "{ended}");
    let answers = lines(&ended.json()["result"]);
    assert_eq!(answers.len(), rows.len(), "{ended}");
    let wrong: Vec<String> = rows
        .iter()
        .zip(&answers)
        .filter(|((_, expected), found)| match expected.strip_suffix('…') {
            Some(start) => !found.starts_with(start),
            None => *expected != found.trim_end(),
        })
        .map(|((call, expected), found)| format!("{call} => {found}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The guest, or an end of the test where there is no compiler for it.
macro_rules! guest {
    () => {
        match subako_tests::wasi_calls::wasi_calls() {
            Some(guest) => guest,
            None => return,
        }
    };
}
use guest;
