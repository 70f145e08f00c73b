//! The programs that are measured, found or built.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Fault, say};

/// What is measured, and what it takes to prepare that.
pub(crate) struct Programs {
    /// The loader as it is deployed: linked statically.
    pub(crate) loader: PathBuf,
    /// `subakoc`. An artifact is the same from a debug build.
    pub(crate) subakoc: PathBuf,
    /// The wasmtime command line, if there is one: the program itself, not a script in front of it.
    pub(crate) wasmtime: Option<PathBuf>,
    /// Go, if it is there.
    pub(crate) go: Option<PathBuf>,
    /// `native/measure.c`, built.
    pub(crate) measure: PathBuf,
    /// `native/greet.c`, built.
    pub(crate) greet: PathBuf,
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace")
}

impl Programs {
    /// Finds them. SUBAKO_LOADER, SUBAKOC, WASMTIME and GO name others than those that are built
    /// here or that `scripts/bench.sh` has installed.
    pub(crate) fn find(folder: &Path) -> Result<Self, Fault> {
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
        let loader = match given("SUBAKO_LOADER") {
            Some(loader) => loader,
            None => {
                say("the loader is built …");
                run(Command::new(workspace().join("scripts/build-loader.sh")).stdout(std::io::stderr()))?;
                target.join("x86_64-unknown-linux-gnu/deploy/subako-loader")
            }
        };
        let subakoc = match given("SUBAKOC") {
            Some(subakoc) => subakoc,
            None => {
                say("subakoc is built …");
                let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                run(Command::new(cargo).current_dir(workspace()).args([
                    "build",
                    "--locked",
                    "--package",
                    "subako-compiler",
                    "--bin",
                    "subakoc",
                ]))?;
                target.join("debug/subakoc")
            }
        };
        let wasmtime = found("wasmtime", "WASMTIME", &target, "wasmtime_cli/wasmtime");
        Ok(Self {
            loader: installed("subako-loader", &loader, folder)?,
            subakoc,
            wasmtime: wasmtime.map(|program| installed("wasmtime", &program, folder)).transpose()?,
            go: found("go", "GO", &target, "go/bin/go"),
            measure: native("measure", folder, &[workspace().join("benches/native/measure.c")])?,
            greet: native("greet", folder, &[workspace().join("benches/native/greet.c")])?,
        })
    }
}

fn given(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A program named by a variable, else one of the packages in `target/bench-venv`, else one of the
/// search path.
fn found(name: &str, variable: &str, target: &Path, in_package: &str) -> Option<PathBuf> {
    let mut places: Vec<PathBuf> = given(variable).into_iter().collect();
    let libraries = fs::read_dir(target.join("bench-venv/lib")).into_iter().flatten().flatten();
    places.extend(libraries.map(|python| python.path().join("site-packages").join(in_package)));
    let paths = env::var_os("PATH").unwrap_or_default();
    places.extend(env::split_paths(&paths).map(|directory| directory.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Builds a static C program.
pub(crate) fn native(name: &str, folder: &Path, sources: &[PathBuf]) -> Result<PathBuf, Fault> {
    let program = folder.join(format!("{name}.linked"));
    run(Command::new("gcc").args(["-O2", "-static", "-s", "-o"]).arg(&program).args(sources))?;
    installed(name, &program, folder)
}

/// A copy of a program, written in one go as an installation does. One that a linker has just
/// written is in memory in smaller pieces, and takes more page faults to start.
fn installed(name: &str, program: &Path, folder: &Path) -> Result<PathBuf, Fault> {
    let copy = folder.join(name);
    fs::copy(program, &copy).map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(copy)
}

/// Runs a command that has to end well.
pub(crate) fn run(command: &mut Command) -> Result<(), Fault> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {stderr}", output.status).into())
}

/// The first line that a command prints, if it ends well.
pub(crate) fn first_line(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments.iter().map(OsStr::new)).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
