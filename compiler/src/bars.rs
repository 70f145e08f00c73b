//! Progress on stderr: bars on a terminal, or a line for each piece of work that ended.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use subako_compiler::progress::Progress;
use subako_manifest::text::shown;

use crate::report::paint::Paint;

/// A piece of work: the step's word and what it works on.
type Piece = (&'static str, String);

/// How often a bar moves.
const TICK: Duration = Duration::from_millis(100);

/// A line for each piece of work under way, gone when it ends. Draws nothing where stderr is no
/// terminal.
pub(crate) struct Bars {
    all: MultiProgress,
    style: ProgressStyle,
    under_way: Mutex<BTreeMap<Piece, ProgressBar>>,
}

impl Bars {
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {prefix:<10} {wide_msg} {elapsed:>4}")
            .expect("a test draws the template");
        Self {
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            style,
            under_way: Mutex::default(),
        }
    }
}

impl Progress for Bars {
    fn began(&self, step: &'static str, what: &str) {
        let bar = self.all.add(ProgressBar::new_spinner().with_style(self.style.clone()));
        bar.set_prefix(step);
        bar.set_message(shown(what));
        bar.enable_steady_tick(TICK);
        locked(&self.under_way).insert((step, what.to_owned()), bar);
    }

    fn ended(&self, step: &'static str, what: &str) {
        if let Some(bar) = locked(&self.under_way).remove(&(step, what.to_owned())) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }
}

impl Drop for Bars {
    /// What a panic left under way is not left on the terminal.
    fn drop(&mut self) {
        let _ = self.all.clear();
    }
}

/// A line for each piece of work when it has ended, with the time it took.
pub(crate) struct Lines {
    paint: Paint,
    begun: Mutex<BTreeMap<Piece, Instant>>,
}

impl Lines {
    pub(crate) fn new(paint: Paint) -> Self {
        Self { paint, begun: Mutex::default() }
    }
}

impl Progress for Lines {
    fn began(&self, step: &'static str, what: &str) {
        locked(&self.begun).insert((step, what.to_owned()), Instant::now());
    }

    fn ended(&self, step: &'static str, what: &str) {
        let begun = locked(&self.begun).remove(&(step, what.to_owned()));
        let seconds = begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let step = self.paint.faint(format!("{step:<10}"));
        let _ = writeln!(io::stderr().lock(), "{step} {} {seconds:.2} s", shown(what));
    }
}

/// The map behind the lock is whole even if a thread panicked while it held it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_come_and_go() {
        let bars = Bars::new();
        bars.began("precompile", "pulley64");
        bars.began("precompile", "x86_64-unknown-linux-gnu");
        bars.ended("precompile", "pulley64");
        assert_eq!(locked(&bars.under_way).len(), 1);
        bars.ended("precompile", "x86_64-unknown-linux-gnu");
        bars.ended("precompile", "never begun");
        assert!(locked(&bars.under_way).is_empty());
    }
}
