//! Compiling in a process of its own, so that a module which takes all the time or memory there
//! is takes only that process with it.
//!
//! The parent starts `PROGRAM __compile TARGET MEMORY [FUNCTIONS]`; `MEMORY` is the limit of the
//! child's address space in bytes, `FUNCTIONS` the folder of functions that were compiled before
//! (`precompile/functions.rs`).
//!
//! 1. stdin: the module, up to the end of file.
//! 2. stdout: the artifact, and nothing else.
//! 3. exit status 0, with `FUNCTIONS` after one line of JSON on stderr, the members of
//!    [`Functions`]; or 1 after another: `{"kind":"module","message":"…"}` where the engine refuses
//!    the module, `"kind":"engine"` where something else went wrong. A child that could not even
//!    write that was killed.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use serde::{Deserialize, Serialize};
use subako_manifest::target::Target;
use wait_timeout::ChildExt as _;

use super::functions::{FunctionStore, Functions};
use super::{Error, Settings, compile_with, targets};
use crate::unfinished::RunProcess;

/// The hidden subcommand that [`compile_child`] answers.
pub const COMPILE_COMMAND: &str = "__compile";

/// Bytes of the child's stderr that are kept: one line, or what its last words were.
const MAX_STDERR_BYTES: usize = 64 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// The engine refuses the module.
    Module,
    /// Anything else.
    Engine,
}

/// The whole of the child's work: reads a module from `stdin`, writes its artifact for the
/// target of that name to `stdout`, or one line of JSON to `stderr`. Functions that are in the
/// folder `functions` are not compiled again, and new ones go there. Gives the exit status.
///
/// Sets the limit of this process's address space first, so it is for a process that does
/// nothing else.
pub fn compile_child(
    target: &str,
    memory_bytes: u64,
    functions: Option<&Path>,
    mut stdin: impl Read,
    mut stdout: impl Write,
    mut stderr: impl Write,
) -> u8 {
    // A folder that cannot be read costs time, nothing else.
    let store = functions.map(|folder| FunctionStore::open(folder).map(Arc::new));
    let usable = store.as_ref().and_then(|store| store.as_ref().ok()).cloned();
    let compiled = compile_from(target, memory_bytes, usable.clone(), &mut stdin);
    if compiled.is_ok() && store.is_some() {
        let functions = match usable {
            Some(store) => store.finish(),
            None => Functions { unwritten: true, ..Functions::default() },
        };
        let _ = serde_json::to_writer(&mut stderr, &functions);
        let _ = stderr.write_all(b"\n");
    }
    let report = match compiled {
        Ok(artifact) => match stdout.write_all(&artifact).and_then(|()| stdout.flush()) {
            Ok(()) => return 0,
            Err(error) => Report { kind: Kind::Engine, message: format!("stdout: {error}") },
        },
        Err(report) => report,
    };
    // A parent that went away reads neither.
    let _ = serde_json::to_writer(&mut stderr, &report);
    let _ = stderr.write_all(b"\n");
    1
}

fn compile_from(
    target: &str,
    memory_bytes: u64,
    functions: Option<Arc<FunctionStore>>,
    stdin: &mut impl Read,
) -> Result<Vec<u8>, Report> {
    let engine = |message: String| Report { kind: Kind::Engine, message };
    end_with_parent().map_err(|error| engine(format!("the parent's end: {error}")))?;
    limit_memory(memory_bytes).map_err(|error| engine(format!("memory limit: {error}")))?;
    let target = targets::target(target).map_err(|error| engine(error.to_string()))?;
    let mut module = Vec::new();
    stdin.read_to_end(&mut module).map_err(|error| engine(format!("stdin: {error}")))?;
    compile_with(&module, &target, functions).map_err(|error| match error {
        Error::Refused { message, .. } => Report { kind: Kind::Module, message },
        other => engine(other.to_string()),
    })
}

/// Bounds the address space, and leaves no core file behind when that bound is hit.
#[cfg(target_os = "linux")]
fn limit_memory(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let bounded = |resource, wanted: u64| {
        // A limit that is already there may be lower; raising it is not ours to do.
        let present = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Some(wanted.min(present));
        setrlimit(resource, Rlimit { current: limit, maximum: limit })
    };
    bounded(Resource::As, bytes)?;
    bounded(Resource::Core, 0)?;
    Ok(())
}

/// Ends with the process that started this one, which may be ended by a signal.
#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Elsewhere the child ends by its own limits.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Elsewhere only the time is bounded.
#[cfg(not(target_os = "linux"))]
fn limit_memory(_bytes: u64) -> io::Result<()> {
    Ok(())
}

/// What a child that compiled has answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) artifact: Vec<u8>,
    pub(super) functions: Functions,
}

/// Compiles `module` for `target` in a child process, within the time and memory of `settings`.
pub(super) fn compile_apart(
    module: &[u8],
    target: &Target,
    settings: &Settings,
    threads: usize,
    functions: Option<&Path>,
) -> Result<Answer, Error> {
    let start = |source: io::Error| Error::Start { program: settings.program.clone(), source };
    let mut command = Command::new(&settings.program);
    command
        .arg(COMPILE_COMMAND)
        .arg(target.to_string())
        .arg(settings.memory_bytes.to_string())
        .args(functions)
        // Several children share the cores.
        .env("RAYON_NUM_THREADS", threads.to_string())
        // The last line of a panic is its message then.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = RunProcess::new(&mut command).map_err(start)?;
    let End { status, stdout, stderr } = converse(&mut process.child, module, settings).map_err(start)?;

    let Some(status) = status else {
        return Err(Error::OutOfTime { target: target.clone(), limit: settings.time });
    };
    let stderr = String::from_utf8_lossy(&stderr);
    if status.success() {
        let functions = serde_json::from_str(&last_line(&stderr)).unwrap_or_default();
        return Ok(Answer { artifact: stdout, functions });
    }
    if let Ok(report) = serde_json::from_str::<Report>(stderr.trim_end()) {
        return Err(match report.kind {
            _ if speaks_of_memory(&report.message) => out_of_memory(target, settings),
            Kind::Module => Error::Refused { target: target.clone(), message: report.message },
            Kind::Engine => Error::Engine { target: target.clone(), message: report.message },
        });
    }
    if speaks_of_memory(&stderr) {
        return Err(out_of_memory(target, settings));
    }
    Err(Error::Killed {
        target: target.clone(),
        status: status.to_string(),
        memory_bytes: settings.memory_bytes,
        stderr: last_line(&stderr),
    })
}

fn out_of_memory(target: &Target, settings: &Settings) -> Error {
    Error::OutOfMemory { target: target.clone(), limit: settings.memory_bytes }
}

/// What Rust's allocator, `mmap`, and a thread that cannot be made say when there is no more.
fn speaks_of_memory(text: &str) -> bool {
    ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"]
        .iter()
        .any(|words| text.contains(words))
}

fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// How a child ended: without a status, it ran out of time.
struct End {
    status: Option<ExitStatus>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Feeds and drains all three pipes at once, each on a thread of its own: a pipe that nobody
/// reads would stop the child for good.
fn converse(child: &mut Child, module: &[u8], settings: &Settings) -> io::Result<End> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // A child that ends early says why on stderr.
                let _ = stdin.write_all(module);
            }
        });
        let stdout = scope.spawn(move || stdout.map_or(Ok(Vec::new()), drain));
        let stderr =
            scope.spawn(move || stderr.map_or(Ok(Vec::new()), |pipe| drain_end(pipe, MAX_STDERR_BYTES)));
        let status = child.wait_timeout(settings.time);
        if !matches!(status, Ok(Some(_))) {
            // The pipes close with the process, and the threads end.
            let _ = child.kill();
            let _ = child.wait();
        }
        let joined = |handle: thread::ScopedJoinHandle<'_, io::Result<Vec<u8>>>| {
            handle.join().unwrap_or_else(|_| Err(io::Error::other("a thread that read a pipe panicked")))
        };
        let (stdout, stderr) = (joined(stdout), joined(stderr));
        Ok(End { status: status?, stdout: stdout?, stderr: stderr? })
    })
}

fn drain(mut pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end and keeps the last `max` bytes.
fn drain_end(mut pipe: impl Read, max: usize) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut piece = vec![0; max];
    loop {
        match pipe.read(&mut piece) {
            Ok(0) => return Ok(kept),
            Ok(read) => {
                kept.extend_from_slice(&piece[..read]);
                let surplus = kept.len().saturating_sub(max);
                kept.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
