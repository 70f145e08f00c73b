//! A file for each command: what was typed becomes what is meant, the library does the work, and
//! the result is printed. Here is what they share.

mod cache;
mod call;
mod exec;
mod install;
mod program;
mod tools;
mod trust;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;
use subako_loader::call::{CallSetup, Preopens};
use subako_manifest::diagnostic::{Blame, Code, Diagnostic, Explain, blame};
use subako_manifest::text::shown;
use tempfile::TempDir;

use crate::args::{Args, Bounds, Command, Format};
use program::Program;

/// The exit statuses that are not a matter of blame (design, "Command lines").
const ANSWERED: u8 = 0;
const ANSWERED_IS_ERROR: u8 = 1;
const CRASHED: u8 = 4;

/// Runs a command to its end and gives the program's exit status.
pub(crate) fn run(args: &Args) -> ExitCode {
    let (ended, format) = match &args.command {
        Command::Tools(tools) => (tools::run(tools), tools.shared.format),
        Command::Call(call) => (call::run(call), call.shared.format),
        Command::Exec(exec) => (exec::run(exec), Format::Text),
        Command::Install(install) => (install::run(install), install.shared.format),
        Command::Cache(cache) => (cache::run(cache), cache.format),
    };
    let status = match ended {
        Ok(status) => status,
        Err(Stop::Refused(diagnostics)) => refuse(&diagnostics, format),
        Err(Stop::Stdout(error)) => unprinted(&error),
    };
    ExitCode::from(status)
}

/// Why a command has no result.
enum Stop {
    /// Its work could not be done.
    Refused(Vec<Diagnostic>),
    /// Its result could not be printed.
    Stdout(io::Error),
}

impl<E: Explain> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(error.diagnostics())
    }
}

impl Stop {
    fn one(diagnostic: Diagnostic) -> Self {
        Self::Refused(vec![diagnostic])
    }
}

fn refuse(diagnostics: &[Diagnostic], format: Format) -> u8 {
    match format {
        Format::Text => {
            for diagnostic in diagnostics {
                say(&diagnostic.to_string());
            }
        }
        Format::Json => {
            if let Err(Stop::Stdout(error)) = print_json(&json!({ "ok": false, "diagnostics": diagnostics }))
            {
                return unprinted(&error);
            }
        }
    }
    let blame = blame(diagnostics);
    if blame == Blame::Internal {
        say(
            "This is a fault of subako-loader itself. Please report it, with the command line and what it printed.",
        );
    }
    blame.exit_code()
}

/// A reader who has seen enough is no fault.
fn unprinted(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ANSWERED;
    }
    say(&Diagnostic::error(Code::Io, "stdout", format!("`stdout` cannot be written: {error}")).to_string());
    Blame::Environment.exit_code()
}

/// A line on stderr. If nobody reads it, nobody misses it.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn print(text: &str) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Stop::Stdout)
}

fn print_json(value: &impl Serialize) -> Result<(), Stop> {
    let mut line = serde_json::to_string(value).map_err(|error| Stop::Stdout(error.into()))?;
    line.push('\n');
    print(&line)
}

/// Reads a file that the user named.
fn read_file(path: &Path, absent: Code) -> Result<Vec<u8>, Stop> {
    fs::read(path).map_err(unreadable(path, absent))
}

/// What is said of a file that cannot be read.
fn unreadable(path: &Path, absent: Code) -> impl Fn(io::Error) -> Stop {
    move |error| {
        let name = path.display().to_string();
        let code = if error.kind() == io::ErrorKind::NotFound { absent } else { Code::Io };
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("`{}` is not there", shown(&name)),
            _ => format!("`{}` cannot be read: {error}", shown(&name)),
        };
        Stop::one(Diagnostic::error(code, name, message))
    }
}

/// What a call is given, and the directory that was made for it.
struct Prepared {
    setup: CallSetup,
    _volume: Option<TempDir>,
}

fn prepare(program: &Program, bounds: &Bounds) -> Result<Prepared, Stop> {
    let (volume_tmp, volume) = match &bounds.volume_tmp {
        Some(dir) => (dir.clone(), None),
        None => {
            let volume = tempfile::Builder::new().prefix("subako-volume-").tempdir().map_err(|error| {
                let place = std::env::temp_dir().display().to_string();
                let message = format!("`{place}` has no room for a volume: {error}");
                Stop::one(Diagnostic::error(Code::Io, place, message))
            })?;
            let path = volume.path().to_owned();
            if bounds.keep_volume {
                say(&format!("kept: /volume/tmp is {}", volume.keep().display()));
                (path, None)
            } else {
                (path, Some(volume))
            }
        }
    };
    let setup = CallSetup {
        package: program.package.clone(),
        time: bounds.timeout.0,
        memory_bytes: bounds.memory.bytes(),
        write_budget_bytes: bounds.write_budget.bytes(),
        preopens: Preopens {
            volume_tmp: Some(volume_tmp),
            volume_data: bounds.volume_data.clone(),
            package: program.assets.as_ref().map(|assets| assets.path().to_owned()),
            skills: bounds.skills.clone(),
        },
        show_stderr: bounds.stderr,
    };
    Ok(Prepared { setup, _volume: volume })
}
