//! A JSON object that has no members but those that are asked for, each once: requests of modules
//! and policies of operators are read so.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use subako_manifest::text::shown;

/// What is wrong with a JSON text, and where: `body.text`, `credentials[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place; empty for the whole text.
    pub path: String,
    wrong: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Json(String),
    Twice,
    Unknown,
    Absent,
    Type(&'static str),
    Value(String),
}

impl Fault {
    /// The value at `path` breaks a rule of its own; `why` goes on from its name.
    pub(super) fn value(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self { path: path.into(), wrong: Wrong::Value(why.into()) }
    }

    fn new(path: impl Into<String>, wrong: Wrong) -> Self {
        Self { path: path.into(), wrong }
    }

    /// The fault in words, where the whole text is called `whole`.
    pub(super) fn told(&self, whole: &str) -> String {
        match self.path.as_str() {
            "" => format!("{whole} {self}"),
            path => format!("`{}` {self}", shown(path)),
        }
    }
}

/// What is wrong, without where.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wrong {
            Wrong::Json(why) => write!(f, "is not JSON: {why}"),
            Wrong::Twice => f.write_str("is there twice"),
            Wrong::Unknown => f.write_str("is not a known field"),
            Wrong::Absent => f.write_str("is required"),
            Wrong::Type(wanted) => write!(f, "is not {wanted}"),
            Wrong::Value(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

/// The members of an object that nobody has asked for yet.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    path: String,
    left: Vec<(String, &'a RawValue)>,
}

impl<'a> Fields<'a> {
    /// The object that the whole of `text` is.
    pub(super) fn of_text(text: &'a str) -> Result<Self, Fault> {
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| Fault::new("", Wrong::Json(error.to_string())))?;
        Self::of(String::new(), raw)
    }

    /// The object at `path`.
    pub(super) fn of(path: String, raw: &'a RawValue) -> Result<Self, Fault> {
        let Ok(Members(left)) = serde_json::from_str(raw.get()) else {
            return Err(Fault::new(path, Wrong::Type("an object")));
        };
        let mut names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::new(below(&path, twice[0]), Wrong::Twice));
        }
        Ok(Self { path, left })
    }

    /// The path of a member.
    pub(super) fn path(&self, name: &str) -> String {
        below(&self.path, name)
    }

    /// Takes a member, if it is there.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.left.iter().position(|(found, _)| found == name)?;
        Some(self.left.swap_remove(at).1)
    }

    /// Takes a member that may also be `null`, which says no more than its absence.
    pub(super) fn take_some(&mut self, name: &str) -> Option<&'a RawValue> {
        self.take(name).filter(|raw| raw.get() != "null")
    }

    /// Takes a member that has to be there.
    pub(super) fn required(&mut self, name: &str) -> Result<&'a RawValue, Fault> {
        self.take(name).ok_or_else(|| Fault::new(self.path(name), Wrong::Absent))
    }

    /// Takes a string that has to be there.
    pub(super) fn string(&mut self, name: &str) -> Result<String, Fault> {
        let raw = self.required(name)?;
        string(self.path(name), raw)
    }

    /// Every member, whatever its name.
    pub(super) fn all(self) -> Vec<(String, &'a RawValue)> {
        self.left
    }

    /// Nothing is left.
    pub(super) fn end(self) -> Result<(), Fault> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Fault::new(below(&self.path, name), Wrong::Unknown)),
        }
    }
}

/// The string at `path`.
pub(super) fn string(path: String, raw: &RawValue) -> Result<String, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::new(path, Wrong::Type("a string")))
}

/// The boolean at `path`.
pub(super) fn boolean(path: String, raw: &RawValue) -> Result<bool, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::new(path, Wrong::Type("`true` or `false`")))
}

/// The whole number at `path`.
pub(super) fn whole_number(path: String, raw: &RawValue) -> Result<u64, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::new(path, Wrong::Type("a whole number")))
}

/// The elements of the list at `path`, each with its own path.
pub(super) fn list(path: &str, raw: &RawValue) -> Result<Vec<(String, Box<RawValue>)>, Fault> {
    let Ok(elements) = serde_json::from_str::<Vec<Box<RawValue>>>(raw.get()) else {
        return Err(Fault::new(path, Wrong::Type("a list")));
    };
    Ok(elements.into_iter().enumerate().map(|(at, element)| (format!("{path}[{at}]"), element)).collect())
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(All)
    }
}
