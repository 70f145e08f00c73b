//! Packages to build: folders that live as long as their test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;
use tempfile::TempDir;

use crate::bundle::Bundle;
use crate::run::Run;
use crate::{in_ci, programs, workspace};

/// A folder with a package in it, removed with the value.
#[derive(Debug)]
pub struct Package {
    directory: TempDir,
    name: String,
}

impl Package {
    /// An empty folder: no package yet.
    #[must_use]
    pub fn empty() -> Self {
        Self { directory: tempfile::tempdir().expect("there is room for a folder"), name: "package".into() }
    }

    /// A package of this name with this module as text.
    #[must_use]
    pub fn of_text(name: &str, module: &str) -> Self {
        Self::empty().with("subako-package.json", manifest(name)).with("module.wat", module)
    }

    /// A package of this name with this module.
    #[must_use]
    pub fn of_module(name: &str, module: &[u8]) -> Self {
        Self::empty().with("subako-package.json", manifest(name)).with("module.wasm", module)
    }

    /// The package with one more file, or with another one in its place.
    #[must_use]
    pub fn with(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder is ours");
        fs::write(&file, contents).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let path = self.directory.path().join(&self.name);
        fs::create_dir_all(&path).expect("the folder is ours");
        path
    }

    /// A place beside the package, for outputs.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `subakoc build` on it with these arguments beside the package and `-o`.
    #[must_use]
    pub fn try_build(&self, arguments: &[&str]) -> (Run, PathBuf) {
        let output = self.beside("out.subako");
        let run = Run::of(
            Command::new(&programs::programs().subakoc)
                .arg("build")
                .arg(self.path())
                .arg("-o")
                .arg(&output)
                .args(arguments),
        );
        (run, output)
    }

    /// Builds it for this host alone.
    ///
    /// # Panics
    ///
    /// When it does not build.
    #[track_caller]
    #[must_use]
    pub fn build(self) -> Bundle {
        self.build_with(&["--target", host_target()])
    }

    /// Builds it with these arguments.
    ///
    /// # Panics
    ///
    /// When it does not build.
    #[track_caller]
    #[must_use]
    pub fn build_with(self, arguments: &[&str]) -> Bundle {
        let (run, output) = self.try_build(arguments);
        let run = run.exits(0);
        assert!(output.is_file(), "{run} left no bundle");
        Bundle::new(output, self.directory)
    }
}

/// A manifest of this name.
#[must_use]
pub fn manifest(name: &str) -> String {
    json!({ "abi": 1, "name": name, "description": "A package of the tests." }).to_string()
}

/// The target that is this host's baseline.
///
/// # Panics
///
/// On a host that the tests do not know.
#[must_use]
pub fn host_target() -> &'static str {
    match (std::env::consts::ARCH, std::env::consts::OS) {
        ("x86_64", "linux") => "x86_64-unknown-linux-gnu",
        ("aarch64", "linux") => "aarch64-unknown-linux-gnu",
        ("riscv64", "linux") => "riscv64gc-unknown-linux-gnu",
        ("s390x", "linux") => "s390x-unknown-linux-gnu",
        ("aarch64", "macos") => "aarch64-apple-darwin",
        ("x86_64", "macos") => "x86_64-apple-darwin",
        (arch, os) => panic!("the tests do not know this host: {arch}, {os}"),
    }
}

/// The path of an example: `hello`.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    workspace().join("examples").join(name)
}

/// `examples/hello` as a folder that a test may change.
#[must_use]
pub fn hello() -> Package {
    let file = |name: &str| fs::read(example("hello").join(name)).expect("the example is there");
    Package::empty()
        .with("subako-package.json", file("subako-package.json"))
        .with("module.wat", file("module.wat"))
}

/// The bundle of `examples/hello` for the default targets, built once.
pub fn hello_bundle() -> &'static Bundle {
    static BUNDLE: OnceLock<Bundle> = OnceLock::new();
    BUNDLE.get_or_init(|| hello().build_with(&[]))
}

/// `examples/greet-c`, built by its own script; none where its toolchain is absent.
#[must_use]
pub fn greet_c() -> Option<Package> {
    c_example("greet-c")
}

/// An example in C, built by its own script; none where its toolchain is absent.
///
/// # Panics
///
/// When the script fails, and in CI when the toolchain is absent: there nothing is skipped.
#[must_use]
pub fn c_example(name: &str) -> Option<Package> {
    let package = Package::empty();
    let run = Run::of(Command::new("bash").arg(example(name).join("build.sh")).arg(package.path()));
    if run.code == Some(0) {
        return Some(package);
    }
    assert!(run.stderr.contains("no C compiler for WASI") && !in_ci(), "{run}");
    eprintln_skipped(&format!("examples/{name}"), &run.stderr);
    None
}

#[expect(clippy::print_stderr, reason = "a test that skips something says so")]
fn eprintln_skipped(what: &str, why: &str) {
    eprintln!("{what} is skipped: {why}");
}

/// Copies the files of a folder, and of the folders in it.
///
/// # Panics
///
/// When one cannot be read or written.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is ours");
    for entry in fs::read_dir(from).expect("the folder can be listed") {
        let entry = entry.expect("the folder can be listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("the entry has a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the file can be copied");
        }
    }
}
