//! The two programs, built through cargo once per test process.
//!
//! Each is built alone (`-p`), as its release is: building the workspace in one go would unify
//! features and link the engine's compiler into the loader. Both are then copied aside, because
//! the next build of the other crate may overwrite them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::run::Run;
use crate::workspace;

/// Where the programs are.
#[derive(Debug)]
pub struct Programs {
    /// `subakoc`.
    pub subakoc: PathBuf,
    /// `subako-loader`, without a compiler in it.
    pub loader: PathBuf,
}

/// Both programs, built on the first use.
pub fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| Programs {
        subakoc: build("subako-compiler", "subakoc", None),
        loader: build("subako-loader", "subako-loader", None),
    })
}

/// `subako-loader` with registries, built on the first use.
pub fn loader_with_registry() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("subako-loader", "subako-loader", Some("registry")))
}

/// Runs `subakoc` with `arguments`.
pub fn subakoc<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    Run::of(Command::new(&programs().subakoc).args(arguments))
}

/// Runs `subako-loader` with `arguments`.
pub fn loader<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    Run::of(Command::new(&programs().loader).args(arguments))
}

/// Cargo, as it was called for this test, in the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    // What cargo tells a test of its package is news to the build scripts that look at it (ring's
    // does), and they would run again in every other build.
    for (name, _) in std::env::vars_os() {
        let told = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "OUT_DIR"
        });
        if told {
            command.env_remove(name);
        }
    }
    command
}

/// The folder that cargo builds the tests' profile in: `target/debug`, say. A test program is in
/// `deps` of it.
fn profile_directory() -> PathBuf {
    let program = std::env::current_exe().expect("a test program has a path");
    let deps = program.parent().expect("a program is in a folder");
    deps.parent().expect("`deps` is in the profile's folder").to_owned()
}

/// The folder for what tests leave behind on purpose: `target/tests-bin`.
pub fn tests_directory() -> PathBuf {
    let target = profile_directory().parent().expect("the profile's folder is in `target`").to_owned();
    let directory = target.join("tests-bin");
    fs::create_dir_all(&directory).expect("the target directory is ours to write");
    directory
}

/// Builds a program, and gives a copy that is called after its feature too.
fn build(package: &str, name: &str, feature: Option<&str>) -> PathBuf {
    let built = profile_directory();
    let profile =
        built.file_name().expect("the profile has a name").to_str().expect("cargo names it in ASCII");
    let copies = tests_directory().join(profile);
    fs::create_dir_all(&copies).expect("the target directory is ours to write");

    // Test programs may run beside each other, under other runners than cargo's.
    let lock = File::create(copies.join("lock")).expect("the target directory is ours to write");
    lock.lock().expect("the lock file can be locked");

    let mut command = cargo();
    command.args(["build", "--locked", "--quiet", "--package", package, "--bin", name]);
    command.arg("--target-dir").arg(built.parent().expect("the profile's folder is in `target`"));
    match profile {
        "debug" => {}
        "release" => _ = command.arg("--release"),
        other => _ = command.args(["--profile", other]),
    }
    command.args(feature.iter().flat_map(|feature| ["--features", feature]));
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "`cargo build --package {package}` ended with {status}");
    let copy_name = feature.map_or(name.to_owned(), |feature| format!("{name}-{feature}"));
    copy(&built.join(name), &copies.join(&copy_name));
    copies.join(copy_name)
}

/// Copies a program, unless the same one is there already: what runs is never written to.
fn copy(from: &Path, to: &Path) {
    let bytes = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return;
    }
    let directory = to.parent().expect("the copy is in a folder");
    let mut beside =
        tempfile::NamedTempFile::new_in(directory).expect("the target directory is ours to write");
    beside.write_all(&bytes).expect("the target directory has room");
    fs::set_permissions(beside.path(), fs::metadata(from).expect("it was just read").permissions())
        .expect("the copy is ours");
    // The path alone is left: a program that is open for writing does not start.
    beside.into_temp_path().persist(to).expect("the copy takes its place");
}
