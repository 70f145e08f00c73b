//! Ctrl-C and its like: what is not finished is removed, and then the program ends by the
//! signal, as its parent expects.

use std::ffi::c_int;
use std::sync::mpsc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use subako_compiler::unfinished;

/// The signals that end a run.
const ENDING: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Waits for them from now on, beside the work. Where that cannot be done, they end the program as
/// they always do.
pub(crate) fn await_end() {
    let ignored = ignored();
    let ending: Vec<c_int> =
        ENDING.into_iter().filter(|signal| ignored & 1_u64.wrapping_shl(*signal as u32 - 1) == 0).collect();
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

/// The signals that this program was started to ignore, as `nohup` has it and a shell for what
/// runs in its background: a bit for each, the first signal in the lowest.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    mask(&status).unwrap_or(0)
}

fn mask(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_in_the_status() {
        assert_eq!(mask("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(mask("Name:\tsubakoc\n"), None);
        // SIGHUP is the first, SIGINT the second.
        assert_eq!((SIGHUP, SIGINT), (1, 2));
    }
}
