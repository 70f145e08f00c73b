//! Attempts: what passes is tried again after a while, longer each time, or after the time that the
//! registry asks for.

use std::thread;
use std::time::Duration;

use super::Error;

/// The wait after the first attempt; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// How long somebody waits for what a registry does not give at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// What is asked for is what the command is there for: six attempts, and up to two minutes
    /// before each where the registry asks for that.
    #[default]
    Long,
    /// It can be done without: two attempts, up to two seconds between them, and minutes for each.
    Short,
}

impl Patience {
    /// Attempts at one thing.
    fn attempts(self) -> u32 {
        match self {
            Self::Long => 6,
            Self::Short => 2,
        }
    }

    /// The longest wait that a registry can ask for.
    fn longest_wait(self) -> Duration {
        match self {
            Self::Long => Duration::from_secs(120),
            Self::Short => Duration::from_secs(2),
        }
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Another attempt may do better.
    Passing {
        /// What to say if none does.
        error: Box<Error>,
        /// How long the registry asks to wait.
        asked: Option<Duration>,
    },
    /// No other attempt will.
    Lasting(Box<Error>),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Lasting(Box::new(error))
    }
}

/// How many attempts were made.
#[derive(Debug)]
pub(super) struct Attempts {
    patience: Patience,
    made: u32,
}

impl Attempts {
    /// None yet.
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, made: 0 }
    }

    /// Waits for the time to try again, or says that it was the last attempt.
    pub(super) fn bear(&mut self, trouble: Trouble) -> Result<(), Error> {
        let wait = self.wait(trouble)?;
        thread::sleep(wait);
        Ok(())
    }

    fn wait(&mut self, trouble: Trouble) -> Result<Duration, Error> {
        self.made += 1;
        let (error, asked) = match trouble {
            Trouble::Lasting(error) => return Err(*error),
            Trouble::Passing { error, asked } => (*error, asked),
        };
        let last = self.made >= self.patience.attempts();
        match (error, asked) {
            (Error::Busy { url, status, .. }, _) if last => {
                Err(Error::Busy { url, status, attempts: self.made })
            }
            (error, _) if last => Err(error),
            (Error::Busy { url, status, .. }, Some(asked)) if asked > self.patience.longest_wait() => {
                Err(Error::Wait { url, status, asked, allowed: self.patience.longest_wait() })
            }
            (_, Some(asked)) => Ok(asked),
            (_, None) => {
                let wait = FIRST_WAIT * 2_u32.pow(self.made - 1);
                Ok(wait + part_of(wait / 2))
            }
        }
    }
}

/// Waits a moment that others who do the same do not wait as well.
pub(super) fn jitter() {
    thread::sleep(part_of(FIRST_WAIT));
}

/// A random part, so that many who failed at once do not come back at once. Without randomness,
/// all of it.
fn part_of(time: Duration) -> Duration {
    let part = getrandom::u32().unwrap_or(u32::MAX);
    time.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(asked: Option<u64>) -> Trouble {
        let error = Error::Busy { url: "u".to_owned(), status: 429, attempts: 1 };
        Trouble::Passing { error: Box::new(error), asked: asked.map(Duration::from_secs) }
    }

    #[test]
    fn waits_double_and_end() {
        let mut attempts = Attempts::new(Patience::Long);
        for quarters in [1, 2, 4, 8, 16] {
            let wait = attempts.wait(busy(None)).unwrap();
            let least = FIRST_WAIT * quarters;
            assert!(wait >= least && wait <= least + least / 2, "{wait:?}");
        }
        assert!(matches!(attempts.wait(busy(None)), Err(Error::Busy { attempts: 6, status: 429, .. })));
    }

    #[test]
    fn the_registry_says_how_long() {
        let mut attempts = Attempts::new(Patience::Long);
        assert_eq!(attempts.wait(busy(Some(0))).unwrap(), Duration::ZERO);
        assert_eq!(attempts.wait(busy(Some(7))).unwrap(), Duration::from_secs(7));
        assert!(matches!(attempts.wait(busy(Some(121))), Err(Error::Wait { .. })));
    }

    #[test]
    fn what_can_be_done_without_is_not_waited_for() {
        let mut attempts = Attempts::new(Patience::Short);
        assert!(attempts.wait(busy(Some(2))).is_ok());
        assert!(matches!(attempts.wait(busy(None)), Err(Error::Busy { attempts: 2, .. })));
        assert!(matches!(Attempts::new(Patience::Short).wait(busy(Some(3))), Err(Error::Wait { .. })));
    }

    #[test]
    fn what_lasts_is_told_at_once() {
        let error = Error::Absent("a".to_owned());
        assert!(matches!(Attempts::new(Patience::Long).wait(error.into()), Err(Error::Absent(_))));
    }
}
