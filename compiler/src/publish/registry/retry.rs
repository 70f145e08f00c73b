//! Attempts: what passes is tried again after a while, longer each time, or after the time that the
//! registry asks for.

use std::thread;
use std::time::Duration;

use super::Error;

/// Attempts at one thing.
const MAX_ATTEMPTS: u32 = 6;
/// The wait after the first attempt; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait that a registry can ask for.
const MAX_WAIT: Duration = Duration::from_secs(120);

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
#[derive(Debug, Default)]
pub(super) struct Patience {
    attempts: u32,
}

impl Patience {
    /// Waits for the time to try again, or says that it was the last attempt.
    pub(super) fn bear(&mut self, trouble: Trouble) -> Result<(), Error> {
        let wait = self.wait(trouble)?;
        thread::sleep(wait);
        Ok(())
    }

    /// Waits a moment that others who do the same do not wait as well.
    pub(super) fn jitter(&self) {
        thread::sleep(part_of(FIRST_WAIT));
    }

    fn wait(&mut self, trouble: Trouble) -> Result<Duration, Error> {
        self.attempts += 1;
        let (error, asked) = match trouble {
            Trouble::Lasting(error) => return Err(*error),
            Trouble::Passing { error, asked } => (*error, asked),
        };
        let last = self.attempts >= MAX_ATTEMPTS;
        match (error, asked) {
            (Error::Busy { url, status, .. }, _) if last => {
                Err(Error::Busy { url, status, attempts: self.attempts })
            }
            (error, _) if last => Err(error),
            (Error::Busy { url, status, .. }, Some(asked)) if asked > MAX_WAIT => {
                Err(Error::Wait { url, status, asked, allowed: MAX_WAIT })
            }
            (_, Some(asked)) => Ok(asked),
            (_, None) => {
                let wait = FIRST_WAIT * 2_u32.pow(self.attempts - 1);
                Ok(wait + part_of(wait / 2))
            }
        }
    }
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
        let mut patience = Patience::default();
        for quarters in [1, 2, 4, 8, 16] {
            let wait = patience.wait(busy(None)).unwrap();
            let least = FIRST_WAIT * quarters;
            assert!(wait >= least && wait <= least + least / 2, "{wait:?}");
        }
        assert!(matches!(patience.wait(busy(None)), Err(Error::Busy { attempts: 6, status: 429, .. })));
    }

    #[test]
    fn the_registry_says_how_long() {
        let mut patience = Patience::default();
        assert_eq!(patience.wait(busy(Some(0))).unwrap(), Duration::ZERO);
        assert_eq!(patience.wait(busy(Some(7))).unwrap(), Duration::from_secs(7));
        assert!(matches!(patience.wait(busy(Some(121))), Err(Error::Wait { .. })));
    }

    #[test]
    fn what_lasts_is_told_at_once() {
        let error = Error::Absent("a".to_owned());
        assert!(matches!(Patience::default().wait(error.into()), Err(Error::Absent(_))));
    }
}
