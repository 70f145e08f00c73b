//! Ctrl-C and its like: what is not finished is removed, and then the program ends by the
//! signal, as its parent expects.

use std::ffi::c_int;
use std::sync::mpsc;
use std::thread;

use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use subako_compiler::unfinished;
use subako_loader::signals::{ENDING, is_ignored};

/// Waits for them from now on, beside the work. Where that cannot be done, they end the program as
/// they always do.
pub(crate) fn await_end() {
    let ending: Vec<c_int> = ENDING.into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let (ready, wait) = mpsc::channel();
    let waiting = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // On this thread: what is caught has somebody to wait for it.
        let Ok(mut signals) = Signals::new(ending) else { return };
        let _ = ready.send(());
        if let Some(signal) = signals.forever().next() {
            unfinished::end_all();
            let _ = emulate_default_handler(signal);
        }
    });
    if waiting.is_ok() {
        // An error says that the thread is gone: then nothing is caught.
        let _ = wait.recv();
    }
}
