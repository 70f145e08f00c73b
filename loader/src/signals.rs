//! The signals that end a call: it is ended in order, so that nothing it made is left, and then the
//! program ends by the signal, as its parent expects.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use subako_manifest::diagnostic::{Code, Diagnostic, Refused};

/// The signals that end a run, of either program.
pub const ENDING: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Whether one came; by default none is caught, and each ends the program at once.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    /// The number of the one that came, else 0.
    came: Arc<AtomicUsize>,
    /// Whether they end the program at once, although they are caught.
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Catches them from now on. One that this program was started to ignore, as `nohup` has it, stays
    /// ignored.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn caught() -> Result<Self, Refused> {
        let interrupt = Self::default();
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            let number = usize::try_from(signal).unwrap_or(1);
            // In this order: the first of the two looks before the second takes note.
            flag::register_conditional_default(signal, Arc::clone(&interrupt.at_once))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&interrupt.came), number))
                .map_err(|error| {
                    let message = format!("`signal` {signal} cannot be caught: {error}");
                    Refused::from(Diagnostic::error(Code::Io, "signal", message))
                })?;
        }
        Ok(interrupt)
    }

    /// The number of the one that came, for who ends the call.
    #[must_use]
    pub fn number(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.came)
    }

    /// From now on they end the program at once: nothing has to be put in order any more. Gives the
    /// one that came before, if one did.
    #[must_use]
    pub fn let_through(&self) -> Option<c_int> {
        self.at_once.store(true, Ordering::SeqCst);
        c_int::try_from(self.came.load(Ordering::SeqCst)).ok().filter(|came| *came != 0)
    }
}

/// Whether this program was started to ignore the signal, as `nohup` has it and a shell for what runs
/// in its background.
#[must_use]
pub fn is_ignored(signal: c_int) -> bool {
    // SAFETY: the action is only asked for, into a value of ours that any bytes are good for.
    #[expect(unsafe_code, reason = "nothing safe asks for the action of a signal")]
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
