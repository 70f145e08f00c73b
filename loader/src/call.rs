//! A call from start to end: a module is started, asked, and exits (ABI 1, "A call, from start to
//! end").

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::value::RawValue;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::limits;
use subako_manifest::tool::object::{Object, text};
use wasmtime::Engine;
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

use crate::answer::CallToolResult;
use crate::engine;
use crate::host::deadline::{Deadline, Waited};
use crate::host::exchange::{Client, Exchange, Line};
use crate::host::memory::MemoryLimit;
use crate::host::stderr::{Stderr, StderrTail};
use crate::host::stdin::Stdin;
use crate::host::stdout::Stdout;
use crate::host::write_budget::WriteBudget;
use crate::host::{CallHost, locked, preopens};
use crate::http::{Http, Policy};
use crate::instantiate::{self, instantiate};
use crate::map::MappedModule;
use crate::message::{Message, fresh_id};
use crate::outcome::{Cause, Crash, Outcome};
use crate::scratch::Scratch;
use crate::timings;

pub use crate::host::preopens::Preopens;
pub use crate::message::{Params, Request};

/// What a call is given and how far it may go.
#[derive(Debug, Clone)]
pub struct CallSetup {
    /// The package's name: the one entry of `argv`.
    pub package: String,
    /// The time of the whole call.
    pub time: Duration,
    /// Bytes of the module's memory.
    pub memory_bytes: u64,
    /// Bytes that the module may write to files.
    pub write_budget_bytes: u64,
    /// The directories that the module sees.
    pub preopens: Preopens,
    /// What the module may reach by HTTP; none where it makes no requests at all, as in discovery.
    pub network: Option<Arc<Policy>>,
    /// Whether stderr is shown as it comes.
    pub show_stderr: bool,
    /// Ends the call when it is no longer 0: the number of a signal, for the caller.
    pub interrupt: Arc<AtomicUsize>,
    /// The directories that are made for the call.
    pub scratch: Scratch,
    /// What becomes of the call when the module does not come back.
    pub when_stuck: WhenStuck,
}

/// What becomes of a call whose module hangs in a host call that nothing interrupts, such as the
/// read of a FIFO that somebody has put into the volume. Its thread cannot be had back.
#[derive(Clone, Default)]
pub enum WhenStuck {
    /// The module has a thread of its own, which is left behind: for a program that goes on.
    #[default]
    LeaveBehind,
    /// The module runs on the calling thread, which saves its start and its end and takes
    /// [`GUEST_STACK_BYTES`] of its stack; another thread keeps watch, and calls this with how the
    /// call ends, unless the caller has interrupted it. It has to end the program.
    End(Arc<dyn Fn(Crash) + Send + Sync>),
}

impl fmt::Debug for WhenStuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaveBehind => "LeaveBehind",
            Self::End(_) => "End",
        })
    }
}

impl CallSetup {
    /// A call of `package` with every limit at its default, no directory and no network.
    #[must_use]
    pub fn new(package: impl Into<String>) -> Self {
        Self {
            package: package.into(),
            time: limits::CALL_TIME,
            memory_bytes: limits::MEMORY_BYTES,
            write_budget_bytes: limits::WRITE_BUDGET_BYTES,
            preopens: Preopens::default(),
            network: None,
            show_stderr: false,
            interrupt: Arc::default(),
            scratch: Scratch::default(),
            when_stuck: WhenStuck::default(),
        }
    }
}

/// What to ask next, given the results so far; none closes stdin.
pub type NextRequest = Box<dyn FnMut(&[Box<RawValue>]) -> Option<Request> + Send>;

/// How a conversation went.
#[derive(Debug)]
pub struct Conversation {
    /// The `result` of each answer, as the module sent it.
    pub results: Vec<Box<RawValue>>,
    /// Why it broke, if it did.
    pub crash: Option<Crash>,
    /// The last 4 KiB that the module wrote on stderr.
    pub stderr_tail: String,
}

/// A call that could not be made; one that broke is a [`Crash`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A preopen is not there.
    #[error(transparent)]
    Preopen(#[from] preopens::Error),
    /// The module cannot be instantiated.
    #[error(transparent)]
    Instantiate(#[from] instantiate::Error),
    /// The caller asked for the end of the call.
    #[error("the call is interrupted")]
    Interrupted,
    /// The machine has no randomness for the id of a request.
    #[error("the machine gives no random numbers")]
    NoRandomness,
    /// No thread could be started, or it died.
    #[error("the call's thread cannot run")]
    Thread(#[source] io::Error),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic = match self {
            Self::Preopen(error) => Diagnostic::error(
                Code::PreopenAbsent,
                error.guest.clone(),
                format!("{error}: {}", error.source),
            )
            .hint("make the directory first, or name another"),
            Self::Instantiate(instantiate::Error::MemoryMinimum { .. }) => Diagnostic::error(
                Code::MemoryMinimum,
                "memory",
                self.to_string(),
            )
            .rule("a module's memory is bounded (docs/host.md, \"Limits\")")
            .hint("give the call more with `--memory`, or build the module with a smaller initial memory"),
            Self::Instantiate(error) if error.is_the_machines() => {
                Diagnostic::error(Code::EngineStart, "memory", error.to_string())
            }
            Self::Instantiate(error) => Diagnostic::error(Code::Instantiate, "module", error.to_string()),
            Self::Interrupted => Diagnostic::error(Code::Interrupted, "call", self.to_string()),
            Self::NoRandomness => Diagnostic::error(Code::CallThread, "random", self.to_string()),
            Self::Thread(source) => {
                Diagnostic::error(Code::CallThread, "thread", format!("{self}: {source}"))
            }
        };
        vec![diagnostic]
    }
}

/// Calls a tool. The arguments, an object, reach it as they are.
///
/// # Errors
///
/// The call could not be made. A call that breaks is an [`Outcome`].
pub fn call_tool(
    module: &MappedModule,
    setup: &CallSetup,
    tool: &str,
    arguments: Box<RawValue>,
) -> Result<Outcome, Error> {
    let params = Params::default().with_text("name", tool).with("arguments", arguments);
    let mut request = Some(Request { method: "tools/call", params });
    let next = Box::new(move |_: &[Box<RawValue>]| request.take());
    let Conversation { mut results, crash, stderr_tail } = converse(module, setup, next)?;
    if let Some(crash) = crash {
        return Ok(Outcome::Crashed(crash));
    }
    let result = results.pop().ok_or(Error::NoRandomness)?;
    Ok(match CallToolResult::parse(result) {
        Ok(answer) => Outcome::Answered(answer),
        Err(wrong) => {
            Outcome::Crashed(Crash { cause: Cause::NotCallToolResult(wrong.to_string()), stderr_tail })
        }
    })
}

/// Asks a module what `next` says, one request at a time, and sees it exit.
///
/// # Errors
///
/// The call could not be made. A call that breaks is no error: see [`Conversation::crash`].
pub fn converse(module: &MappedModule, setup: &CallSetup, next: NextRequest) -> Result<Conversation, Error> {
    let results = Arc::new(Mutex::new(Vec::new()));
    let (cause, stderr_tail) = run(module, setup, Box::new(Asker { next, results: Arc::clone(&results) }))?;
    let results = std::mem::take(&mut *locked(&results));
    let crash = cause.map(|cause| Crash { cause, stderr_tail: stderr_tail.clone() });
    Ok(Conversation { results, crash, stderr_tail })
}

/// Runs a module with `client` at the other end of its stdin and stdout. Gives why the call broke,
/// if it did, and the last 4 KiB that the module wrote on stderr.
///
/// # Errors
///
/// The call could not be made.
pub fn run(
    module: &MappedModule,
    setup: &CallSetup,
    client: Box<dyn Client>,
) -> Result<(Option<Cause>, String), Error> {
    let deadline = Arc::new(Deadline::starting_now(setup.time));
    let exchange = Arc::new(Mutex::new(Exchange::begin(client, Arc::clone(&deadline))));
    let stderr = Arc::new(Mutex::new(StderrTail::default()));

    let mut wasi = WasiCtxBuilder::new();
    // Files are read and written on the module's own thread: no pool of threads is started. A
    // preopen takes this as it is when the preopen is added.
    wasi.allow_blocking_current_thread(true);
    setup.preopens.open(&mut wasi, &setup.scratch)?;
    wasi.arg(&setup.package)
        .stdin(Stdin(Arc::clone(&exchange)))
        .stdout(Stdout(Arc::clone(&exchange)))
        .stderr(Stderr { tail: Arc::clone(&stderr), live: setup.show_stderr });
    let host = CallHost {
        wasi: wasi.build_p1(),
        memory: MemoryLimit::new(setup.memory_bytes),
        write_budget: WriteBudget::new(setup.write_budget_bytes),
        http: Http::new(setup.network.clone(), &setup.preopens),
        deadline: Arc::clone(&deadline),
        stderr: Arc::clone(&stderr),
    };

    timings::mark("host");
    let module = module.clone();
    let guest = Guest { module, host, exchange, deadline: Arc::clone(&deadline) };
    let watch =
        Watch { engine: guest.module.engine().clone(), deadline, interrupt: Arc::clone(&setup.interrupt) };
    let ended = match &setup.when_stuck {
        WhenStuck::LeaveBehind => {
            let guest = spawn("module", GUEST_STACK_BYTES, move || guest.run())?;
            match watch.keep() {
                // Nothing of the call is left when it is told how it ended.
                Watched::Over => {
                    guest.join().map_err(|_panic| Error::Thread(io::Error::other("it panicked")))?
                }
                Watched::Stuck => Err(Broken::Crash(watch.deadline.cause())),
            }
        }
        WhenStuck::End(end) => {
            let (end, stderr) = (Arc::clone(end), Arc::clone(&stderr));
            spawn("watch", WATCH_STACK_BYTES, move || {
                if let Watched::Stuck = watch.keep() {
                    end(Crash { cause: watch.deadline.cause(), stderr_tail: locked(&stderr).text() });
                }
            })?;
            let deadline = Arc::clone(&guest.deadline);
            let ended = guest.run();
            // Too late: the program is ended already, and how it ends is told.
            while deadline.given_up() {
                thread::park();
            }
            ended
        }
    };
    if setup.interrupt.load(Ordering::Relaxed) != 0 {
        return Err(Error::Interrupted);
    }
    let cause = match ended {
        Ok(()) => None,
        Err(Broken::Crash(cause)) => Some(cause),
        Err(Broken::Refused(error)) => return Err(error.into()),
    };
    let stderr_tail = locked(&stderr).text();
    Ok((cause, stderr_tail))
}

/// Bytes of the stack that a module's thread needs: the module's own, and room for the host's frames
/// above it.
pub const GUEST_STACK_BYTES: usize = engine::WASM_STACK_BYTES + 2 * limits::MIB as usize;

/// Bytes of the stack of the thread that keeps watch.
const WATCH_STACK_BYTES: usize = 256 * 1024;

fn spawn<T: Send + 'static>(
    name: &str,
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let thread = thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    thread.spawn(work).map_err(Error::Thread)
}

/// The module with its host, ready to run.
struct Guest {
    module: MappedModule,
    host: CallHost,
    exchange: Arc<Mutex<Exchange>>,
    deadline: Arc<Deadline>,
}

impl Guest {
    fn run(self) -> Result<(), Broken> {
        let _over = Over(self.deadline);
        timings::mark("thread");
        let ended = start_to_exit(&self.module, self.host, &self.exchange);
        timings::mark("run");
        ended
    }
}

/// Who sees that a call ends in time.
struct Watch {
    engine: Engine,
    deadline: Arc<Deadline>,
    interrupt: Arc<AtomicUsize>,
}

/// How a watch ended.
enum Watched {
    /// The module has come back.
    Over,
    /// It has not, and will not be waited for.
    Stuck,
}

impl Watch {
    fn keep(&self) -> Watched {
        if self.deadline.wait(&self.interrupt) == Waited::Over {
            return Watched::Over;
        }
        self.engine.increment_epoch();
        match self.deadline.wait_over(GRACE) {
            true => Watched::Over,
            false => Watched::Stuck,
        }
    }
}

/// How long a module's thread has to come back after its deadline: it stops at its next loop or
/// call, or when its host call ends.
const GRACE: Duration = Duration::from_secs(1);

/// Ends the watch, also when the module's thread panics.
struct Over(Arc<Deadline>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over();
    }
}

enum Broken {
    Crash(Cause),
    Refused(instantiate::Error),
}

fn start_to_exit(module: &MappedModule, host: CallHost, exchange: &Mutex<Exchange>) -> Result<(), Broken> {
    let (ended, host) = match instantiate(module, host) {
        Ok(mut instance) => (instance.start(), Box::new(instance.store.into_data())),
        Err((instantiate::Error::Engine(error), host)) if instantiate::is_the_modules_doing(&error) => {
            (Err(error), host)
        }
        Err((error, _)) => return Err(Broken::Refused(error)),
    };
    let judged = match ended {
        Ok(()) => locked(exchange).exited(0),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(I32Exit(status)) => locked(exchange).exited(*status),
            None => Err(cause_of(&error)),
        },
    };
    judged.map_err(|cause| {
        // A module that was refused memory and then gave up, gave up for that.
        let gave_up = matches!(
            cause,
            Cause::Trap { .. } | Cause::ExitStatus(_) | Cause::ExitedBeforeAnswering { status: 1.. }
        );
        match gave_up && host.memory.was_refused() {
            true => Broken::Crash(Cause::OutOfMemory { limit: host.memory.bytes() }),
            false => Broken::Crash(cause),
        }
    })
}

/// The cause behind what ended a module's code.
fn cause_of(error: &wasmtime::Error) -> Cause {
    if let Some(cause) = error.downcast_ref::<Cause>() {
        return cause.clone();
    }
    let message = match error.downcast_ref::<wasmtime::Trap>() {
        Some(trap) => trap.to_string().trim_start_matches("wasm trap: ").to_owned(),
        None => error.root_cause().to_string(),
    };
    let frames = error.downcast_ref::<wasmtime::WasmBacktrace>().map_or(&[][..], |trace| trace.frames());
    let backtrace = frames
        .iter()
        .map(|frame| match frame.func_name() {
            Some(name) => name.to_owned(),
            None => format!("function {}", frame.func_index()),
        })
        .collect();
    Cause::Trap { message, backtrace }
}

/// The client of [`converse`]: requests with fresh ids, answers kept.
struct Asker {
    next: NextRequest,
    results: Arc<Mutex<Vec<Box<RawValue>>>>,
}

impl Client for Asker {
    fn next(&mut self) -> Option<Line> {
        let request = (self.next)(&locked(&self.results))?;
        // Without randomness there is no unguessable id, and no call.
        let id = fresh_id(request.method).ok()?;
        let bytes = request.line(&id);
        let id = serde_json::value::to_raw_value(&id).ok()?;
        Some(Line { bytes, id: Some(id) })
    }

    fn answered(&mut self, message: Message, _line: &[u8]) -> Result<(), Cause> {
        match message {
            Message::Answer { result, .. } => {
                check_result_type(&result)?;
                locked(&self.results).push(result);
                Ok(())
            }
            Message::Refusal { code, message, .. } => Err(Cause::ProtocolError { code, message }),
            Message::Notification | Message::Request { .. } => Ok(()),
        }
    }
}

/// A `resultType` other than `complete` breaks the call; an absent one means `complete`. Only that
/// member is read: what else is in the result, however deep or large, is not this rule's.
fn check_result_type(result: &RawValue) -> Result<(), Cause> {
    let Ok((members, _)) = Object::read_with_repeats(result) else { return Ok(()) };
    for (_, found) in members.fields().filter(|(name, _)| *name == "resultType") {
        match text(found) {
            Ok(complete) if complete == "complete" => {}
            Ok(other) => return Err(Cause::ResultType(other)),
            Err(_) => return Err(Cause::ResultType(found.get().to_owned())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_results_are_taken() {
        let check = |json: &str| check_result_type(&RawValue::from_string(json.to_owned()).unwrap());
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for taken in ["{}", "[]", r#"{"resultType":"complete"}"#, &format!(r#"{{"x":{deep}}}"#)] {
            assert_eq!(check(taken), Ok(()), "{taken}");
        }
        for (other, found) in [
            (r#"{"resultType":"input_required","x":1e999}"#.to_owned(), "input_required"),
            (format!(r#"{{"x":{deep},"resultType":"input_required"}}"#), "input_required"),
            (r#"{"resultType":"complete","resultType":"later"}"#.to_owned(), "later"),
            (r#"{"resultType":null}"#.to_owned(), "null"),
        ] {
            assert_eq!(check(&other), Err(Cause::ResultType(found.to_owned())), "{other}");
        }
    }
}
