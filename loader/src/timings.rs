//! When each step of a call ended, for whoever measures a start. Nothing is kept until
//! [`keep`] is called; a step that nobody asked for costs one look at a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::time::{ClockId, clock_gettime};

/// The end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// What has just been done.
    pub step: &'static str,
    /// Nanoseconds of the system's monotonic clock, which every process reads alike.
    pub at: i128,
}

static MARKS: Mutex<Option<Vec<Mark>>> = Mutex::new(None);

/// Nanoseconds of the system's monotonic clock.
fn now() -> i128 {
    let time = clock_gettime(ClockId::Monotonic);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Keeps the marks from now on; `first` is one already.
pub fn keep(first: &'static str) {
    *marks() = Some(vec![Mark { step: first, at: now() }]);
}

/// Notes that a step has just ended.
pub fn mark(step: &'static str) {
    if let Some(marks) = &mut *marks() {
        marks.push(Mark { step, at: now() });
    }
}

/// What was kept, in order; nothing is kept any more.
#[must_use]
pub fn take() -> Vec<Mark> {
    marks().take().unwrap_or_default()
}

fn marks() -> MutexGuard<'static, Option<Vec<Mark>>> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_kept_when_asked_for() {
        mark("unasked");
        assert_eq!(take(), []);
        keep("start");
        mark("first");
        let marks = take();
        // Other tests of this process may have marked steps of theirs.
        let first = marks.iter().find(|mark| mark.step == "first").unwrap();
        assert_eq!(marks[0].step, "start");
        assert!(marks[0].at <= first.at);
        assert_eq!(take(), []);
    }
}
