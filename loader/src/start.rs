//! What the standard library does before its own `main` and this program has to do for itself, and
//! what makes it start sooner.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};

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
    // SAFETY: this is the start of `main`: there is one thread, which has no other handler for the
    // signal. Both calls only set what the C library and the system keep for the process.
    #[expect(unsafe_code, reason = "settings of the C library that nothing safe wraps")]
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // One arena to allocate from. One of its own takes the thread that keeps watch longer than all
        // else that it does.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
