//! A crash during discovery, told as a fault of the module: one code for each row of ABI 1,
//! "What breaks a call".

use subako_loader::outcome::{Cause, Crash};
use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::{shown, shown_lines};

/// JSON-RPC's "method not found".
const METHOD_NOT_FOUND: i64 = -32601;

const RULE: &str = "a crash during discovery refuses the package (ABI 1, \"What breaks a call\")";

/// `open` is the request that was not answered yet, `file` how the module is called.
pub(super) fn told(crash: &Crash, open: Option<&str>, file: &str) -> Diagnostic {
    let (code, hint) = code_and_hint(&crash.cause);
    let when = match open {
        Some(method) => format!("while `{method}` is open"),
        None => "after its last answer".to_owned(),
    };
    let mut message = format!("`{}` crashes {when}: {}", shown(file), crash.cause);
    if let Cause::Trap { backtrace, .. } = &crash.cause {
        for function in backtrace {
            message.push_str(&format!("\n  in {}", shown(function)));
        }
    }
    let stderr = crash.stderr_tail.trim_end();
    if !stderr.is_empty() {
        message.push_str("\n  its stderr ends:");
        for line in shown_lines(stderr).lines() {
            message.push_str(&format!("\n  | {line}"));
        }
    }
    Diagnostic::error(code, open.unwrap_or(file), message)
        .at(Place::file(file))
        .rule(RULE)
        .maybe_hint(hint.map(ToOwned::to_owned))
}

/// A conversation that ended with a question open, though nothing crashed.
pub(super) fn unanswered(open: &str, file: &str) -> Diagnostic {
    let message = format!("`{}` leaves `{open}` unanswered", shown(file));
    Diagnostic::error(Code::DiscoverCrashed, open, message).at(Place::file(file)).rule(RULE)
}

fn code_and_hint(cause: &Cause) -> (Code, Option<&'static str>) {
    match cause {
        Cause::ProtocolError { code, .. } => (
            Code::DiscoverProtocolError,
            (*code == METHOD_NOT_FOUND)
                .then_some("answer `server/discover` and `tools/list`; ABI 1 has no `initialize`"),
        ),
        Cause::ResultType(_) => {
            (Code::DiscoverResultType, Some("leave `resultType` out, or send `complete`"))
        }
        // Comes of `tools/call` only, which discovery does not send.
        Cause::NotCallToolResult(_) => (Code::DiscoverCrashed, None),
        Cause::NotMessage { .. } => {
            (Code::DiscoverNotMessage, Some("write logs to stderr: stdout is the protocol alone"))
        }
        Cause::UnknownId(_) => (Code::DiscoverUnknownId, Some("echo each request's `id` as it came, once")),
        Cause::RequestSent(_) => {
            (Code::DiscoverRequestSent, Some("a stateless server sends no request of its own: drop it"))
        }
        Cause::ExitedBeforeAnswering { .. } => (
            Code::DiscoverExitedEarly,
            Some("answer each line of stdin, flush stdout, and exit only at the end of stdin"),
        ),
        Cause::ExitStatus(_) => (Code::DiscoverExitStatus, Some("exit with status 0 at the end of stdin")),
        Cause::DidNotExit => (Code::DiscoverDidNotExit, Some("return from `_start` as soon as stdin ends")),
        Cause::Trap { .. } => (Code::DiscoverTrap, None),
        Cause::OutOfMemory { .. } => (Code::DiscoverOutOfMemory, None),
        Cause::OutOfTime { .. } => (Code::DiscoverOutOfTime, None),
        Cause::WaitsForInput => (
            Code::DiscoverOutOfTime,
            Some("answer each request as its line arrives, and flush: stdin ends only after the last answer"),
        ),
        Cause::StdoutLimit => {
            (Code::DiscoverStdoutLimit, Some("write logs to stderr: stdout is the protocol alone"))
        }
    }
}
