//! Sizes and times as they are typed: `512MiB`, `300`, `5m`.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use crate::limits::{GIB, KIB, MIB};

/// What is wrong with a typed quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotQuantity {
    /// Not a whole number with one of the units behind it.
    #[error("give a whole number, alone or with a unit: {0}")]
    Form(&'static str),
    /// A unit that is spelt in another way, with what was probably meant.
    #[error("give a whole number, alone or with a unit: {allowed}; did you mean `{number}{unit}`?")]
    Unit {
        /// The units that there are.
        allowed: &'static str,
        /// The number as it was given.
        number: u64,
        /// The unit that was probably meant.
        unit: &'static str,
    },
    /// Nothing at all fits into it.
    #[error("give at least 1")]
    Zero,
    /// More than 64 bits.
    #[error("the number is too large")]
    TooLarge,
}

/// A size in bytes: `1048576`, `1024KiB`, `1MiB`, `8GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    bytes: NonZeroU64,
}

impl Size {
    /// A limit as a default; there is no limit of 0.
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        Self { bytes: NonZeroU64::new(bytes).unwrap_or(NonZeroU64::MIN) }
    }

    /// The size in bytes; never 0.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.bytes.get()
    }
}

impl FromStr for Size {
    type Err = NotQuantity;

    fn from_str(text: &str) -> Result<Self, NotQuantity> {
        const UNITS: &[(&str, u64)] = &[("", 1), ("B", 1), ("KiB", KIB), ("MiB", MIB), ("GiB", GIB)];
        // Disks are sold in units of 1,000; limits are not, and `1GB` is left for its user to mend.
        const MEANT: &[(&str, &str)] = &[
            ("k", "KiB"),
            ("kb", "KiB"),
            ("kib", "KiB"),
            ("m", "MiB"),
            ("mb", "MiB"),
            ("mib", "MiB"),
            ("g", "GiB"),
            ("gb", "GiB"),
            ("gib", "GiB"),
        ];
        quantity(text, UNITS, MEANT, "`KiB`, `MiB` or `GiB`").map(|bytes| Self { bytes })
    }
}

/// As people would type it: in the largest unit that divides it.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        let units = [("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
        match units.iter().find(|(_, factor)| bytes.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", bytes / factor),
            None => write!(f, "{bytes}"),
        }
    }
}

/// A time: `300`, `300s`, `5m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = NotQuantity;

    fn from_str(text: &str) -> Result<Self, NotQuantity> {
        const UNITS: &[(&str, u64)] = &[("", 1), ("s", 1), ("m", 60), ("h", 3600)];
        const MEANT: &[(&str, &str)] =
            &[("sec", "s"), ("secs", "s"), ("min", "m"), ("mins", "m"), ("hour", "h"), ("hours", "h")];
        let seconds = quantity(text, UNITS, MEANT, "`s`, `m` or `h`")?;
        Ok(Self(Duration::from_secs(seconds.get())))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs())
    }
}

/// `meant` has other spellings of the units, in lower case.
fn quantity(
    text: &str,
    units: &[(&str, u64)],
    meant: &[(&str, &'static str)],
    allowed: &'static str,
) -> Result<NonZeroU64, NotQuantity> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let factor = factor.filter(|_| digits > 0).ok_or_else(|| {
        let spelt = unit.trim_start().to_lowercase();
        match (number.parse(), meant.iter().find(|(other, _)| *other == spelt)) {
            (Ok(number), Some((_, unit))) => NotQuantity::Unit { allowed, number, unit },
            _ => NotQuantity::Form(allowed),
        }
    })?;
    let number: u64 = number.parse().map_err(|_| NotQuantity::TooLarge)?;
    let whole = number.checked_mul(factor).ok_or(NotQuantity::TooLarge)?;
    NonZeroU64::new(whole).ok_or(NotQuantity::Zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<Size, NotQuantity> {
        text.parse()
    }

    fn time(text: &str) -> Result<Time, NotQuantity> {
        text.parse()
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1", 1),
            ("65536", 65_536),
            ("7B", 7),
            ("2KiB", 2_048),
            ("512MiB", 536_870_912),
            ("8GiB", 8_589_934_592),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text).map(Size::bytes), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "+1", "1.5GiB", "0x10", "1TiB", "1s", "１"] {
            assert!(matches!(size(text), Err(NotQuantity::Form(_))), "{text}");
        }
        for (text, meant) in
            [("1GB", "1GiB"), ("1 MiB", "1MiB"), ("16mib", "16MiB"), ("2MB", "2MiB"), ("1K", "1KiB")]
        {
            let told = size(text).expect_err("the unit is another").to_string();
            assert!(told.ends_with(&format!("did you mean `{meant}`?")), "{told}");
        }
        for text in ["0", "0GiB"] {
            assert_eq!(size(text), Err(NotQuantity::Zero), "{text}");
        }
        for text in ["18446744073709551616", "17179869184GiB"] {
            assert_eq!(size(text), Err(NotQuantity::TooLarge), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, seconds) in [("1", 1), ("300s", 300), ("5m", 300), ("2h", 7_200)] {
            assert_eq!(time(text), Ok(Time(Duration::from_secs(seconds))), "{text}");
        }
        for text in ["", "s", "1.5", "1ms", "1MiB"] {
            assert!(matches!(time(text), Err(NotQuantity::Form(_))), "{text}");
        }
        assert_eq!(time("0s"), Err(NotQuantity::Zero));
        let told = time("5min").expect_err("the unit is another").to_string();
        assert_eq!(told, "give a whole number, alone or with a unit: `s`, `m` or `h`; did you mean `5m`?");
    }

    #[test]
    fn defaults_are_typed_as_people_would() {
        for (bytes, text) in [(8 * GIB, "8GiB"), (128 * MIB, "128MiB"), (3 * KIB, "3KiB"), (1_000, "1000")] {
            assert_eq!(Size::of(bytes).to_string(), text);
            assert_eq!(size(text).map(Size::bytes), Ok(bytes));
        }
    }
}
