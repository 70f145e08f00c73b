//! The write budget of a call (ABI 1, "Files"): bytes written to files, and bytes that a file
//! grows by without being written, past which every write answers `EDQUOT`.

use std::collections::BTreeSet;

/// What a call may still write.
#[derive(Debug, Clone)]
pub struct WriteBudget {
    left: u64,
    /// Descriptors that are stdin, stdout or stderr, which the budget does not count.
    streams: BTreeSet<i32>,
}

/// The budget does not cover it: `EDQUOT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded;

impl WriteBudget {
    /// A budget of `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes, streams: BTreeSet::from([0, 1, 2]) }
    }

    /// Whether a write to `fd` counts.
    #[must_use]
    pub fn counts(&self, fd: i32) -> bool {
        !self.streams.contains(&fd)
    }

    /// `fd` is closed.
    pub fn closed(&mut self, fd: i32) {
        self.streams.remove(&fd);
    }

    /// `to` is now what `from` was.
    pub fn renumbered(&mut self, from: i32, to: i32) {
        if from == to {
            return;
        }
        self.streams.remove(&to);
        if self.streams.remove(&from) {
            self.streams.insert(to);
        }
    }

    /// What a write of `bytes` at `position` of a file of `size` bytes costs: the bytes, or the
    /// growth where the write leaves a hole before it.
    #[must_use]
    pub fn cost(bytes: u64, position: u64, size: u64) -> u64 {
        bytes.max(position.saturating_add(bytes).saturating_sub(size))
    }

    /// Whether `bytes` more are covered.
    ///
    /// # Errors
    ///
    /// They are not.
    pub fn covers(&self, bytes: u64) -> Result<(), Exceeded> {
        if bytes <= self.left { Ok(()) } else { Err(Exceeded) }
    }

    /// Takes `bytes` off the budget.
    pub fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_do_not_count_wherever_they_are_moved() {
        let mut budget = WriteBudget::new(10);
        assert!(!budget.counts(1) && budget.counts(4));
        budget.renumbered(1, 4);
        assert!(budget.counts(1) && !budget.counts(4));
        budget.closed(4);
        assert!(budget.counts(4));
        budget.renumbered(7, 2);
        assert!(budget.counts(2));
        budget.renumbered(0, 0);
        assert!(!budget.counts(0));
    }

    #[test]
    fn a_hole_costs_what_it_grows() {
        assert_eq!(WriteBudget::cost(10, 0, 100), 10);
        assert_eq!(WriteBudget::cost(10, 100, 100), 10);
        assert_eq!(WriteBudget::cost(1, 1_000, 100), 901);
        assert_eq!(WriteBudget::cost(1, u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn the_last_byte_is_covered() {
        let mut budget = WriteBudget::new(10);
        assert_eq!(budget.covers(10), Ok(()));
        budget.spend(10);
        assert_eq!(budget.covers(1), Err(Exceeded));
        assert_eq!(budget.covers(0), Ok(()));
    }
}
