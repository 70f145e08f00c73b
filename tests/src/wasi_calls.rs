//! The guest of `tests/fixtures/host/wasi-calls`, which makes the WASI calls that it is told to:
//! in our host, and in another runtime for WASI preview 1, Node's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::bundle::Bundle;
use crate::package::Package;
use crate::run::Run;
use crate::{fixture_path, in_ci};

/// The guest, built once.
#[derive(Debug)]
pub struct WasiCalls {
    /// The bundle without assets.
    pub bundle: Bundle,
    module: Vec<u8>,
}

/// The guest; none where there is no C compiler for it.
///
/// # Panics
///
/// When it does not build, and in CI when there is no compiler: there nothing is skipped.
pub fn wasi_calls() -> Option<&'static WasiCalls> {
    static GUEST: OnceLock<Option<WasiCalls>> = OnceLock::new();
    GUEST
        .get_or_init(|| {
            let package = Package::empty();
            let script = fixture_path("host/wasi-calls/build.sh");
            let run = Run::of(Command::new("bash").arg(script).arg(package.path()));
            if run.code != Some(0) {
                assert!(run.stderr.contains("no C compiler for WASI") && !in_ci(), "{run}");
                return None;
            }
            let module = std::fs::read(package.path().join("module.wasm")).expect("the module was built");
            Some(WasiCalls { bundle: package.build(), module })
        })
        .as_ref()
}

impl WasiCalls {
    /// A package with the same module, for assets to be added to.
    #[must_use]
    pub fn package(&self) -> Package {
        Package::of_module("wasi-calls", &self.module)
    }

    /// Runs a script in Node, with these directories mounted; none where Node is absent.
    ///
    /// # Panics
    ///
    /// When Node fails, and in CI when it is absent: there nothing is skipped.
    #[must_use]
    pub fn run_in_node(&self, script: &str, mounts: &[(&str, &Path)]) -> Option<Vec<String>> {
        static NODE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let node = NODE.get_or_init(|| {
            let found = Command::new("node").arg("--version").output().is_ok();
            assert!(found || !in_ci(), "Node is not installed");
            found.then(|| PathBuf::from("node"))
        });
        let directory = tempfile::tempdir().expect("there is room for a folder");
        let module = directory.path().join("module.wasm");
        std::fs::write(&module, &self.module).expect("the folder is ours");
        let mut command = Command::new(node.as_ref()?);
        command.arg("--no-warnings").arg(fixture_path("host/node-wasi.mjs")).arg(&module).arg("wasi-calls");
        for (guest, host) in mounts {
            command.arg(format!("{guest}={}", host.display()));
        }
        let params = json!({ "name": "run", "arguments": { "script": script } });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let run = Run::with_stdin(&mut command, format!("{request}\n").as_bytes()).exits(0);
        Some(lines(&run.json()["result"]))
    }
}

/// Runs a script in our host, with these flags.
#[must_use]
pub fn run(bundle: &Bundle, script: &str, flags: &[&str]) -> Run {
    let arguments = json!({ "script": script }).to_string();
    let mut command = bundle.loader("call");
    command.args(["--format", "json"]).args(flags).args(["run", "-"]);
    Run::with_stdin(&mut command, arguments.as_bytes())
}

/// What each line of a script gave, by a result of the guest's.
///
/// # Panics
///
/// When it is no such result.
#[track_caller]
#[must_use]
pub fn lines(result: &Value) -> Vec<String> {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no answer in {result}"));
    text.split('\n').map(str::to_owned).collect()
}
