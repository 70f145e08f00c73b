//! A file for each command: what was typed becomes what is meant, the library does the work, and
//! the result is printed. Here is what they share.

mod call;
mod exec;
mod tools;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use subako_loader::call::{CallSetup, Preopens};
use subako_loader::http::Policy;
use subako_loader::map::{MappedModule, map};
use subako_loader::package_files;
use subako_loader::pick::{HostCpu, pick};
use subako_loader::verify::{Trust, VerifiedBundle, verify};
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::{Blame, Code, Diagnostic, Explain, Place, blame};
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use tempfile::TempDir;

use crate::args::{Args, Bounds, Command, Format, Source};

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
    fs::read(path).map_err(|error| {
        let name = path.display().to_string();
        let code = if error.kind() == io::ErrorKind::NotFound { absent } else { Code::Io };
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("`{}` is not there", shown(&name)),
            _ => format!("`{}` cannot be read: {error}", shown(&name)),
        };
        Stop::one(Diagnostic::error(code, name, message))
    })
}

/// Opens the bundle and finds out who vouches for it.
fn open(source: &Source) -> Result<VerifiedBundle<Vec<u8>>, Stop> {
    let bytes = read_file(&source.bundle, Code::BundleAbsent)?;
    let bundle = OpenBundle::open(bytes).map_err(|error| in_file(&error, &source.bundle))?;
    let trust = if source.allow_unsigned { Trust::AllowUnsigned } else { Trust::Signed };
    let bundle = verify(bundle, trust).map_err(|error| in_file(&error, &source.bundle))?;
    if source.allow_unsigned {
        say(&format!("warning: `{}` runs unsigned, as --allow-unsigned asks", source.bundle.display()));
    }
    Ok(bundle)
}

/// The diagnostics of an error, with the file that they are about.
fn in_file(error: &impl Explain, file: &Path) -> Stop {
    let mut diagnostics = error.diagnostics();
    for diagnostic in &mut diagnostics {
        let place = diagnostic.place.get_or_insert_with(Place::default);
        place.file = Some(match place.file.take() {
            Some(entry) => format!("{}: {entry}", file.display()),
            None => file.display().to_string(),
        });
    }
    Stop::Refused(diagnostics)
}

/// Picks the artifact for this host and loads it.
fn load(
    bundle: &VerifiedBundle<Vec<u8>>,
    source: &Source,
    target: Option<&Target>,
    verbose: bool,
) -> Result<MappedModule, Stop> {
    let host = HostCpu::detect();
    let pick = pick(bundle.index(), &host, target).map_err(|error| in_file(&error, &source.bundle))?;
    if verbose {
        say(&format!("this host is {host}"));
        for (target, reason) in pick.passed_over() {
            say(&format!("passed over: {target}: {reason}"));
        }
        say(&format!("runs: {} of bundle {}", pick.target(), bundle.digest()));
    }
    let artifact = bundle.artifact(&pick).map_err(|error| in_file(&error, &source.bundle))?;
    map(artifact).map_err(|error| in_file(&error, &source.bundle))
}

/// The network policy in a file; without one, no host is allowed.
fn network(file: Option<&Path>) -> Result<Policy, Stop> {
    let Some(file) = file else { return Ok(Policy::default()) };
    let bytes = read_file(file, Code::PolicyAbsent)?;
    let directory = file.parent().unwrap_or(Path::new(""));
    Policy::parse(&bytes, directory).map_err(|error| in_file(&error, file))
}

/// What a call is given, and the directories that were made for it.
struct Prepared {
    setup: CallSetup,
    _package: Option<TempDir>,
    _volume: Option<TempDir>,
}

fn prepare(bundle: &VerifiedBundle<Vec<u8>>, source: &Source, bounds: &Bounds) -> Result<Prepared, Stop> {
    let package = package_files::unpack(bundle).map_err(|error| in_file(&error, &source.bundle))?;
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
        package: bundle.index().package.clone(),
        time: bounds.timeout.0,
        memory_bytes: bounds.memory.bytes(),
        write_budget_bytes: bounds.write_budget.bytes(),
        preopens: Preopens {
            volume_tmp: Some(volume_tmp),
            volume_data: bounds.volume_data.clone(),
            package: package.as_ref().map(|dir| dir.path().to_owned()),
            skills: bounds.skills.clone(),
        },
        network: Some(Arc::new(network(bounds.network.as_deref())?)),
        show_stderr: bounds.stderr,
    };
    Ok(Prepared { setup, _package: package, _volume: volume })
}
