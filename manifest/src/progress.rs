//! How a step says how far it is, without printing anything itself.

/// Told of progress; the program draws it, the library never does. Every method may be called
/// from several threads at once.
pub trait Progress: Sync {
    /// A piece of work has begun: `step` is the step's word (`precompile`), `what` the piece (a
    /// target's name).
    fn began(&self, step: &'static str, what: &str);
    /// That piece of work has ended, well or not.
    fn ended(&self, step: &'static str, what: &str);
}

/// Says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn began(&self, _step: &'static str, _what: &str) {}
    fn ended(&self, _step: &'static str, _what: &str) {}
}
