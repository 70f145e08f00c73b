//! How a call ends: an answer, or a crash with one cause for each row of ABI 1's "What breaks a
//! call".

use std::fmt;
use std::time::Duration;

use subako_manifest::limits;
use subako_manifest::text::{grouped, shown};

use crate::answer::CallToolResult;

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// The tool answered, well or with `isError`.
    Answered(CallToolResult),
    /// The call broke.
    Crashed(Crash),
}

/// A call that broke: not an error of the loader, but one of the two ways a call ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// Why.
    pub cause: Cause,
    /// The last 4 KiB that the module wrote on stderr.
    pub stderr_tail: String,
}

/// Why a call broke (ABI 1, "What breaks a call").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The answer is a JSON-RPC `error`.
    ProtocolError {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The answer's `resultType` is another than `complete`.
    ResultType(String),
    /// The answer to `tools/call` is no `CallToolResult`.
    NotCallToolResult(String),
    /// A line on stdout is not a JSON-RPC message.
    NotMessage {
        /// The line.
        line: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A response to an id that no open request has.
    UnknownId(String),
    /// The module sent a request of its own.
    RequestSent(String),
    /// The module exited before it answered.
    ExitedBeforeAnswering {
        /// The exit status.
        status: i32,
    },
    /// The module answered everything, then exited with another status than 0.
    ExitStatus(i32),
    /// The module did not exit within a second after stdin closed.
    DidNotExit,
    /// WebAssembly trapped.
    Trap {
        /// What kind of trap.
        message: String,
        /// The functions that were running, the innermost first.
        backtrace: Vec<String>,
    },
    /// The module asked for more memory than it may have, and ended badly.
    OutOfMemory {
        /// How many bytes a call may have.
        limit: u64,
    },
    /// The call took longer than it may.
    OutOfTime {
        /// How long it may take.
        limit: Duration,
    },
    /// The module waits for input that never comes: it reads on before it has answered.
    WaitsForInput,
    /// The module printed more on stdout than it may.
    StdoutLimit,
}

impl Cause {
    /// The cause in one word, for machines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ProtocolError { .. } => "protocol_error",
            Self::ResultType(_) => "result_type",
            Self::NotCallToolResult(_) => "not_call_tool_result",
            Self::NotMessage { .. } => "not_message",
            Self::UnknownId(_) => "unknown_id",
            Self::RequestSent(_) => "request_sent",
            Self::ExitedBeforeAnswering { .. } => "exited_before_answering",
            Self::ExitStatus(_) => "exit_status",
            Self::DidNotExit => "did_not_exit",
            Self::Trap { .. } => "trap",
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::OutOfTime { .. } | Self::WaitsForInput => "out_of_time",
            Self::StdoutLimit => "stdout_limit",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProtocolError { code, message } => {
                write!(f, "protocol error answered: {code} {}", shown(message))
            }
            Self::ResultType(found) => write!(f, "result type not complete: `{}`", shown(found)),
            Self::NotCallToolResult(reason) => write!(f, "not a CallToolResult: {reason}"),
            Self::NotMessage { line, reason } => {
                write!(f, "not a JSON-RPC message: {reason}: `{}`", shown(line))
            }
            Self::UnknownId(id) => write!(f, "unknown id: {}", shown(id)),
            Self::RequestSent(method) => write!(f, "request sent: `{}`", shown(method)),
            Self::ExitedBeforeAnswering { status } => {
                write!(f, "exited before answering, with status {status}")
            }
            Self::ExitStatus(status) => write!(f, "exit status {status}"),
            Self::DidNotExit => {
                write!(f, "did not exit within {} of stdin closing", seconds(limits::EXIT_TIME))
            }
            Self::Trap { message, .. } => write!(f, "trap: {message}"),
            Self::OutOfMemory { limit } => {
                write!(f, "out of memory: the limit is {} bytes", grouped(*limit))
            }
            Self::OutOfTime { limit } => write!(f, "out of time: the limit is {}", seconds(*limit)),
            Self::WaitsForInput => {
                f.write_str("out of time: waits for more input before it has answered the request it has")
            }
            Self::StdoutLimit => {
                write!(f, "stdout over 1 MiB: the limit is {} bytes", grouped(limits::MAX_STDOUT_BYTES))
            }
        }
    }
}

fn seconds(duration: Duration) -> String {
    match duration.as_secs_f64() {
        1.0 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

impl std::error::Error for Cause {}
