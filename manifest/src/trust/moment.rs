//! A point in time, in whole seconds: `2027-01-31T12:00:00Z`, or `2027-01-31` for its first
//! second. Always UTC, as RFC 3339 writes it.

use std::fmt;
use std::str::FromStr;

use crate::text::shown;

const DAY: u64 = 86_400;

/// Seconds since the start of 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// Text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a date or time such as `2027-01-31` or `2027-01-31T12:00:00Z`", shown(.0))]
pub struct NotMoment(String);

impl Moment {
    /// The moment that many seconds after the start of 1970; `None` after the year 9999.
    #[must_use]
    pub fn from_unix(seconds: u64) -> Option<Self> {
        (seconds < days_before(10_000) * DAY).then_some(Self(seconds))
    }
}

impl FromStr for Moment {
    type Err = NotMoment;

    fn from_str(text: &str) -> Result<Self, NotMoment> {
        parse(text).ok_or_else(|| NotMoment(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Moment> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z')?),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let months = months(year);
    let days = *months.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if year < 1970 || !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let before: u64 = months.iter().zip(1..month).map(|(days, _)| days).sum();
    let days = days_before(year) + before + day - 1;
    Some(Moment(days * DAY + hour * 3_600 + minute * 60 + second))
}

/// Three numbers of these many digits each.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let parts: Vec<&str> = text.split(between).collect();
    let parts: [&str; 3] = parts.try_into().ok()?;
    let mut numbers = [0; 3];
    for ((number, part), digits) in numbers.iter_mut().zip(parts).zip(digits) {
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    Some(numbers)
}

/// Days from the start of 1970 to that of `year`, which is not before.
const fn days_before(year: u64) -> u64 {
    days_before_since_1(year) - days_before_since_1(1970)
}

/// Days from the start of the year 1, had the calendar always been today's, to that of `year`.
const fn days_before_since_1(year: u64) -> u64 {
    let whole = year - 1;
    whole * 365 + whole / 4 - whole / 100 + whole / 400
}

/// The days of each month.
fn months(year: u64) -> [u64; 12] {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut days, second) = (self.0 / DAY, self.0 % DAY);
        let mut year = 1970;
        while days >= months(year).iter().sum() {
            days -= months(year).iter().sum::<u64>();
            year += 1;
        }
        let mut month = 1;
        for length in months(year) {
            if days < length {
                break;
            }
            days -= length;
            month += 1;
        }
        let (day, hour, minute) = (days + 1, second / 3_600, second / 60 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_since_1970() {
        // Each by `date -u -d @N +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let moment = Moment::from_unix(seconds).unwrap();
            assert_eq!(moment.to_string(), text);
            assert_eq!(text.parse(), Ok(moment));
        }
        assert_eq!(Moment::from_unix(253_402_300_800), None);
        assert_eq!("2000-02-29".parse::<Moment>(), Ok(Moment(951_782_400)));
    }

    #[test]
    fn what_is_no_moment() {
        for wrong in [
            "",
            "2027",
            "2027-02-29",
            "2027-13-01",
            "2027-00-01",
            "2027-01-00",
            "1969-12-31",
            "2027-1-1",
            "+027-01-01",
            "2027-01-01T00:00:00",
            "2027-01-01T24:00:00Z",
            "2027-01-01T00:00:60Z",
            "2027-01-01T00:00:00+00:00",
            "2027-01-01 00:00:00Z",
            "2027-01-01T00:00:00.5Z",
        ] {
            assert!(wrong.parse::<Moment>().is_err(), "{wrong}");
        }
    }
}
