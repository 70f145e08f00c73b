//! The host's side of ABI 1: one file for each promise it makes to a module.

pub mod deadline;
pub mod exchange;
pub mod memory;
pub mod preopens;
pub mod stderr;
pub mod stdin;
pub mod stdout;
pub mod wasi;
pub mod write_budget;

use std::sync::{Arc, Mutex};

use wasmtime_wasi::p1::WasiP1Ctx;

use deadline::Deadline;
use memory::MemoryLimit;
use stderr::StderrTail;
use write_budget::WriteBudget;

use crate::http::Http;

/// Everything that the host keeps for one call; the data of the call's store.
pub struct CallHost {
    /// The files, clocks and streams that the module sees.
    pub wasi: WasiP1Ctx,
    /// How large its memory may grow.
    pub memory: MemoryLimit,
    /// How much it may still write to files.
    pub write_budget: WriteBudget,
    /// The requests that it makes by `subako_http`.
    pub http: Http,
    /// When the call has to be over.
    pub deadline: Arc<Deadline>,
    /// The end of what it wrote on stderr.
    pub stderr: Arc<Mutex<StderrTail>>,
}

impl CallHost {
    /// The last bytes that the module wrote on stderr, as text.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        locked(&self.stderr).text()
    }
}

/// Locks what the module's streams share. A thread that panicked while it held the lock leaves
/// bytes behind, nothing that a later reader could misread.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
