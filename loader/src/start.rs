//! What the standard library does before its own `main` and this program has to do for itself, and
//! what makes it start sooner.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::sync::Arc;

use signal_hook::consts::SIGPIPE;
use signal_hook::flag;

/// Makes sure that stdin, stdout and stderr are open, and that a reader who goes away is told as an
/// error rather than by a signal.
pub(crate) fn prepare() {
    // A file gets the lowest number that is free. Where one of the three was closed, nothing else may
    // take its place: `/dev/null` does.
    while let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        if null.as_raw_fd() > 2 {
            break;
        }
        let _ = null.into_raw_fd();
    }
    one_arena();
    // A handler that does nothing of note: the write fails, and that is told where it is written.
    let _ = flag::register(SIGPIPE, Arc::default());
}

/// Has all threads allocate from one arena. One of its own takes the thread that keeps watch longer
/// than all else it does.
fn one_arena() {
    // SAFETY: `mallopt` may be called while there is one thread, and this is the start of `main`.
    #[expect(unsafe_code, reason = "the C library's own setting, which nothing wraps")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
