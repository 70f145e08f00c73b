//! A file for each command: what was typed becomes what is meant, the library does the work, and
//! the result is printed. Here is what they share.

mod cache;
mod call;
mod exec;
mod install;
mod program;
#[cfg(feature = "registry")]
mod registry;
mod tools;
mod trust;

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::emulate_default_handler;
use subako_loader::call::{CallSetup, Error as CallError, GUEST_STACK_BYTES, Preopens, WhenStuck};
use subako_loader::http::Policy;
use subako_loader::message::MAX_INPUT_BYTES;
use subako_loader::outcome::Crash;
use subako_loader::scratch::{Scratch, fresh};
use subako_loader::signals::Interrupt;
use subako_manifest::diagnostic::{Blame, Code, Diagnostic, Explain, blame};
use subako_manifest::text::{grouped, shown};

use crate::args::{Args, Bounds, Command, Format};
use crate::end;
use program::{Program, in_file};

/// The exit statuses that are not a matter of blame (design, "Command lines").
const ANSWERED: u8 = 0;
const ANSWERED_IS_ERROR: u8 = 1;
const CRASHED: u8 = 4;

/// Runs a command to its end and gives the program's exit status.
pub(crate) fn run(args: &Args) -> u8 {
    panic::set_hook(Box::new(tell_panic));
    // Where RUST_BACKTRACE is set, each of the engine's errors, a module's exit among them, would look
    // for its place in this program, through the tables of all the module's functions: milliseconds.
    wasmtime::error::disable_backtrace();
    let (ended, format) = match &args.command {
        Command::Tools(tools) => (tools::run(tools), tools.format),
        Command::Call(call) => (call::timed(call), call.shared.format),
        Command::Exec(exec) => (exec::run(exec), Format::Text),
        Command::Install(install) => (install::run(install), install.shared.format),
        Command::Cache(cache) => (cache::run(cache), cache.format),
    };
    status_of(ended, format)
}

/// Ends the program: the deployed one cannot unwind.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    say(&panic.to_string());
    ask_for_report();
    end(Blame::Internal.exit_code())
}

/// The program's exit status; tells why there is no result, where there is none.
fn status_of(ended: Result<u8, Stop>, format: Format) -> u8 {
    match ended {
        Ok(status) => status,
        Err(Stop::Refused(diagnostics)) => refuse(&diagnostics, format),
        Err(Stop::Stdout(error)) => unprinted(&error),
        Err(Stop::Signal(signal)) => {
            // By the signal, as if it had not been caught; the status is for a system without.
            let _ = emulate_default_handler(signal);
            u8::try_from(128 + signal).unwrap_or(u8::MAX)
        }
    }
}

/// Why a command has no result.
enum Stop {
    /// Its work could not be done.
    Refused(Vec<Diagnostic>),
    /// Its result could not be printed.
    Stdout(io::Error),
    /// A signal ended it.
    Signal(c_int),
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

    /// Why a call could not be made.
    fn of_call(error: &CallError, interrupt: &AtomicUsize) -> Self {
        match error {
            CallError::Interrupted => {
                Self::Signal(c_int::try_from(interrupt.load(Ordering::Relaxed)).unwrap_or(SIGTERM))
            }
            error => Self::Refused(error.diagnostics()),
        }
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
        ask_for_report();
    }
    blame.exit_code()
}

fn ask_for_report() {
    say(
        "This is a fault of subako-loader itself. Please report it, with the command line and what it printed.",
    );
}

fn unprinted(error: &io::Error) -> u8 {
    say(&Diagnostic::error(Code::Io, "stdout", format!("`stdout` cannot be written: {error}")).to_string());
    Blame::Environment.exit_code()
}

/// A line on stderr. If nobody reads it, nobody misses it.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn print(text: &str) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader who has seen enough is no fault, and the status is what it would have been.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.map_err(Stop::Stdout),
    }
}

fn print_json(value: &impl Serialize) -> Result<(), Stop> {
    let mut line = serde_json::to_string(value).map_err(|error| Stop::Stdout(error.into()))?;
    line.push('\n');
    print(&line)
}

/// Reads a file that the user named.
fn read_file(path: &Path, absent: Code) -> Result<Vec<u8>, Stop> {
    File::open(path).and_then(read_bounded).map_err(unreadable(path, absent))
}

/// Reads to the end, unless that is too far.
fn read_bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_INPUT_BYTES {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// What is said of a file that cannot be read.
fn unreadable(path: &Path, absent: Code) -> impl Fn(io::Error) -> Stop {
    move |error| {
        let name = path.display().to_string();
        let code = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::FileTooLarge => absent,
            _ => Code::Io,
        };
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("`{}` is not there", shown(&name)),
            io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
                format!("`{}` is not a regular file", shown(&name))
            }
            io::ErrorKind::FileTooLarge => {
                format!("`{}` has more than {} bytes", shown(&name), grouped(MAX_INPUT_BYTES))
            }
            _ => format!("`{}` cannot be read: {error}", shown(&name)),
        };
        Stop::one(Diagnostic::error(code, name, message))
    }
}

/// The network policy in a file; without one, no host is allowed.
fn network(file: Option<&Path>) -> Result<Policy, Stop> {
    let Some(file) = file else { return Ok(Policy::default()) };
    let bytes = read_file(file, Code::PolicyAbsent)?;
    let directory = file.parent().unwrap_or(Path::new(""));
    Policy::parse(&bytes, directory).map_err(|error| in_file(&error, file))
}

/// What a call is given. `format` is for what is told when the module is stuck.
fn prepare(program: &Program, bounds: &Bounds, format: Format) -> Result<CallSetup, Stop> {
    for (at, (name, _)) in bounds.skills.iter().enumerate() {
        if bounds.skills[..at].iter().any(|(other, _)| other == name) {
            let message = format!("skill `{name}` is given twice");
            return Err(Stop::one(Diagnostic::error(Code::Usage, name, message)));
        }
    }
    let scratch = program.scratch.clone();
    let volume_tmp = match &bounds.volume_tmp {
        Some(dir) => Some(dir.clone()),
        None if bounds.keep_volume => {
            let kept = fresh(VOLUME).map_err(no_room)?.keep();
            say(&format!("kept: /volume/tmp is {}", kept.display()));
            Some(kept)
        }
        None if program.module.reaches_files() => Some(scratch.directory(VOLUME).map_err(no_room)?),
        None => None,
    };
    let when_stuck = match this_thread_has_room() {
        // Then the module gets a thread that has.
        false => WhenStuck::LeaveBehind,
        true => WhenStuck::End({
            let (scratch, interrupt) = (scratch.clone(), program.interrupt.clone());
            let stderr_is_shown = bounds.stderr;
            Arc::new(move |crash| end_stuck(crash, &scratch, &interrupt, format, stderr_is_shown))
        }),
    };
    Ok(CallSetup {
        package: program.package.clone(),
        time: bounds.timeout.0,
        memory_bytes: bounds.memory.bytes(),
        write_budget_bytes: bounds.write_budget.bytes(),
        preopens: Preopens {
            volume_tmp,
            volume_data: bounds.volume_data.clone(),
            package: program.assets.clone(),
            skills: bounds.skills.clone(),
        },
        network: Some(Arc::new(network(bounds.network.as_deref())?)),
        show_stderr: bounds.stderr,
        interrupt: program.interrupt.number(),
        scratch,
        when_stuck,
    })
}

/// Whether the stack of the program's first thread, which grows up to a limit that was set from
/// outside (`ulimit -s`), has room for a module.
fn this_thread_has_room() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit.is_none_or(|bytes| bytes >= GUEST_STACK_BYTES as u64)
}

/// What the name of a fresh `/volume/tmp` begins with.
const VOLUME: &str = "subako-volume-";

fn no_room(error: io::Error) -> Stop {
    let place = std::env::temp_dir().display().to_string();
    let message = format!("`{place}` has no room for a volume: {error}");
    Stop::one(Diagnostic::error(Code::Io, place, message))
}

/// The module has ended: what was made for the call goes, and signals end the program again.
fn settle(program: &Program) -> Result<(), Stop> {
    let left = program.scratch.clear();
    let came = program.interrupt.let_through();
    tell_left(&left);
    match came {
        Some(signal) => Err(Stop::Signal(signal)),
        None => Ok(()),
    }
}

fn tell_left(left: &[(PathBuf, io::Error)]) {
    for (path, error) in left {
        say(&format!("warning: `{}` is left behind and cannot be removed: {error}", path.display()));
    }
}

/// How long telling may take that a module is stuck: it may hold the lock of what is written to, or
/// nobody may read it.
const TELLING: Duration = Duration::from_secs(1);

/// Ends the program beside the thread that the module is stuck on.
fn end_stuck(crash: Crash, scratch: &Scratch, interrupt: &Interrupt, format: Format, stderr_is_shown: bool) {
    let left = scratch.clear();
    let came = interrupt.let_through();
    let (told, wait) = mpsc::channel();
    let tell = move || {
        tell_left(&left);
        let ended = match came {
            Some(signal) => Err(Stop::Signal(signal)),
            None => call::tell_crash(format, &crash, stderr_is_shown),
        };
        let _ = told.send(status_of(ended, format));
    };
    let telling = thread::Builder::new().name("tell".to_owned()).spawn(tell);
    // Where it takes too long, the status has to say it all.
    let status = telling.ok().and_then(|_| wait.recv_timeout(TELLING).ok());
    end(status.unwrap_or(CRASHED))
}
