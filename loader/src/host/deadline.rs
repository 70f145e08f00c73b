//! When a call has to be over: one wall-clock deadline for the module's own code, for its host
//! calls, its sleeps and its reads (design, "The ABI 1 host").

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use subako_manifest::limits::EXIT_TIME;

use super::locked;
use crate::outcome::Cause;

/// The deadline of one call. The module's thread moves it; who keeps watch waits for it, and sees
/// that it was moved when next looking. Nobody is woken for that: it costs a start.
pub struct Deadline {
    limit: Duration,
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    at: Instant,
    exiting: bool,
    paused_since: Option<Instant>,
    /// It has passed and somebody was told: whatever moves it, it stays so.
    passed: bool,
    over: bool,
    /// Nobody waits for the end any more.
    given_up: bool,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The call is over.
    Over,
    /// The deadline has passed and the call goes on.
    Passed,
    /// Somebody asked for the end of the call.
    Interrupted,
}

/// How often a waiting thread looks whether somebody asked for the end, or moved the deadline.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Deadline {
    /// A deadline `limit` from now.
    #[must_use]
    pub fn starting_now(limit: Duration) -> Self {
        let state = State {
            at: far(limit),
            exiting: false,
            paused_since: None,
            passed: false,
            over: false,
            given_up: false,
        };
        Self { limit, state: Mutex::new(state), ended: Condvar::new() }
    }

    /// Stdin has closed: the module has a second to exit, and never more than it had.
    pub fn stdin_closed(&self) {
        let mut state = locked(&self.state);
        let exit_by = far(EXIT_TIME);
        if exit_by < state.at {
            state.at = exit_by;
            state.exiting = true;
        }
    }

    /// Runs `wait` – for something that is not the module's doing – with the clock stopped.
    pub fn stopped_during<T>(&self, wait: impl FnOnce() -> T) -> T {
        locked(&self.state).paused_since = Some(Instant::now());
        let result = wait();
        let mut state = locked(&self.state);
        if let Some(since) = state.paused_since.take() {
            // A time past what the clock can say stays what it is.
            state.at = state.at.checked_add(since.elapsed()).unwrap_or(state.at);
        }
        result
    }

    /// The call is over.
    pub fn over(&self) {
        locked(&self.state).over = true;
        self.ended.notify_all();
    }

    /// Whether who kept watch has given the call up, and tells of it.
    #[must_use]
    pub fn given_up(&self) -> bool {
        locked(&self.state).given_up
    }

    /// The time left; zero when the deadline has passed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let state = locked(&self.state);
        match state.passed {
            true => Duration::ZERO,
            false => state.at.saturating_duration_since(Instant::now()),
        }
    }

    /// What a call that has passed the deadline ended of.
    #[must_use]
    pub fn cause(&self) -> Cause {
        if locked(&self.state).exiting { Cause::DidNotExit } else { Cause::OutOfTime { limit: self.limit } }
    }

    /// Whether the deadline has passed, and what that means.
    #[must_use]
    pub fn passed(&self) -> Option<Cause> {
        (self.remaining() == Duration::ZERO).then(|| self.cause())
    }

    /// Waits until the call is over, the deadline has passed, or `interrupt` is no longer 0.
    pub fn wait(&self, interrupt: &AtomicUsize) -> Waited {
        let mut state = locked(&self.state);
        loop {
            if state.over {
                return Waited::Over;
            }
            if interrupt.load(Ordering::Relaxed) != 0 {
                state.at = Instant::now();
                state.passed = true;
                return Waited::Interrupted;
            }
            let left = match state.paused_since {
                Some(_) => Duration::MAX,
                None => state.at.saturating_duration_since(Instant::now()),
            };
            if left == Duration::ZERO {
                state.passed = true;
                return Waited::Passed;
            }
            state = self.wait_ended(state, left.min(LOOK_EVERY));
        }
    }

    /// Waits until the call is over, at most `grace`; whether it is. If not, it is given up.
    pub fn wait_over(&self, grace: Duration) -> bool {
        let until = Instant::now() + grace;
        let mut state = locked(&self.state);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.over || left == Duration::ZERO {
                state.given_up = !state.over;
                return state.over;
            }
            state = self.wait_ended(state, left);
        }
    }

    fn wait_ended<'a>(
        &self,
        state: std::sync::MutexGuard<'a, State>,
        left: Duration,
    ) -> std::sync::MutexGuard<'a, State> {
        match self.ended.wait_timeout(state, left) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

/// `limit` from now; a limit past what the clock can say is a year.
fn far(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_stdin_leaves_a_second_at_most() {
        let long = Deadline::starting_now(Duration::from_secs(60));
        assert!(long.remaining() > EXIT_TIME);
        long.stdin_closed();
        assert!(long.remaining() <= EXIT_TIME);
        assert_eq!(long.cause(), Cause::DidNotExit);

        let short = Deadline::starting_now(Duration::from_millis(1));
        short.stdin_closed();
        assert_eq!(short.cause(), Cause::OutOfTime { limit: Duration::from_millis(1) });
    }

    #[test]
    fn waiting_ends_when_the_call_is_over_or_late() {
        let deadline = Deadline::starting_now(Duration::ZERO);
        let (nobody, somebody) = (AtomicUsize::new(0), AtomicUsize::new(2));
        assert_eq!(deadline.wait(&nobody), Waited::Passed);
        assert_eq!(deadline.wait(&somebody), Waited::Interrupted);
        assert!(deadline.passed().is_some());
        // Nothing takes back what somebody was told.
        deadline.stopped_during(|| ());
        assert!(deadline.passed().is_some());
        assert!(!deadline.given_up());
        assert!(!deadline.wait_over(Duration::ZERO));
        assert!(deadline.given_up());
        deadline.over();
        assert_eq!(deadline.wait(&somebody), Waited::Over);
        assert!(deadline.wait_over(Duration::ZERO));
    }

    #[test]
    fn time_that_is_not_the_modules_is_not_counted() {
        let deadline = Deadline::starting_now(Duration::from_secs(60));
        let before = locked(&deadline.state).at;
        deadline.stopped_during(|| assert!(locked(&deadline.state).paused_since.is_some()));
        assert!(locked(&deadline.state).at >= before);
    }
}
