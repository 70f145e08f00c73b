//! JSON objects as they were sent: every field in order with its value untouched, and no name
//! twice, because readers disagree on which of two fields counts.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of one JSON object, in the order sent. Only the object's own level is read:
/// what is inside a value may be of any depth.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    fields: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads the outermost level of `raw`.
    ///
    /// # Errors
    /// When it is no object, has a field twice, or has a name that is not Unicode text.
    pub fn read(raw: &'a RawValue) -> Result<Self, NotObject> {
        let (object, twice) = Self::read_with_repeats(raw)?;
        match twice.into_iter().next() {
            Some(name) => Err(NotObject::FieldTwice(name)),
            None => Ok(object),
        }
    }

    /// As [`Self::read`], but gives the names that come more than once, sorted; of their
    /// values the first counts.
    ///
    /// # Errors
    /// When it is no object, or has a name that is not Unicode text.
    pub fn read_with_repeats(raw: &'a RawValue) -> Result<(Self, BTreeSet<String>), NotObject> {
        let kind = Kind::of(raw);
        if kind != Kind::Object {
            return Err(NotObject::Kind(kind));
        }
        let Fields(fields) = serde_json::from_str(raw.get()).map_err(|_| NotObject::NameNotText)?;
        let mut names = BTreeSet::new();
        let twice =
            fields.iter().map(|(name, _)| name).filter(|name| !names.insert(*name)).cloned().collect();
        Ok((Self { fields }, twice))
    }

    /// The value of a field as it was sent.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| *value)
    }

    /// All fields in the order sent.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Why a JSON value could not be read as an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotObject {
    /// It is something else.
    #[error("is {0}, not an object")]
    Kind(Kind),
    /// It has two fields of one name.
    #[error("has the field `{}` twice", crate::text::shown(.0))]
    FieldTwice(String),
    /// The name of a field has an escape that stands for no character, such as half a
    /// surrogate pair.
    #[error("has a field whose name is not Unicode text")]
    NameNotText,
}

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON's own")]
pub enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// What `raw` is: the first byte of a JSON value tells.
    #[must_use]
    pub fn of(raw: &RawValue) -> Self {
        match raw.get().trim_start().bytes().next() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// Why a JSON value could not be read as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotText {
    /// It is no string.
    #[error("is {0}, not a string")]
    Kind(Kind),
    /// It has an escape that stands for no character, such as half a surrogate pair.
    #[error("is not Unicode text")]
    Escape,
}

/// The text of a JSON string.
///
/// # Errors
/// When it is no string, or not one of Unicode text.
pub fn text(raw: &RawValue) -> Result<String, NotText> {
    match Kind::of(raw) {
        Kind::String => serde_json::from_str(raw.get()).map_err(|_| NotText::Escape),
        other => Err(NotText::Kind(other)),
    }
}

/// The elements of a JSON array as they were sent.
///
/// # Errors
/// With what it is, when it is no array.
pub fn elements(raw: &RawValue) -> Result<Vec<&RawValue>, Kind> {
    match Kind::of(raw) {
        // A raw value is valid JSON already, so an array always comes apart.
        Kind::Array => serde_json::from_str(raw.get()).map_err(|_| Kind::Array),
        other => Err(other),
    }
}

/// Fields in order, names as often as they come.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Reader).map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn values_stay_as_sent() {
        let raw = raw(r#"{"b": [1,  2], "a":1.50}"#);
        let object = Object::read(&raw).unwrap();
        let fields: Vec<_> = object.fields().map(|(name, value)| (name, value.get())).collect();
        assert_eq!(fields, [("b", "[1,  2]"), ("a", "1.50")]);
        assert_eq!(object.field("a").unwrap().get(), "1.50");
        assert!(object.field("c").is_none());
    }

    #[test]
    fn what_is_no_object() {
        for (json, wrong) in [
            ("null", NotObject::Kind(Kind::Null)),
            ("true", NotObject::Kind(Kind::Boolean)),
            ("-1", NotObject::Kind(Kind::Number)),
            (r#""{}""#, NotObject::Kind(Kind::String)),
            ("[{}]", NotObject::Kind(Kind::Array)),
            (r#"{"a":1,"a":1}"#, NotObject::FieldTwice("a".into())),
            // The same name in two spellings.
            (r#"{"a":1,"\u0061":1}"#, NotObject::FieldTwice("a".into())),
            (r#"{"\ud800":1}"#, NotObject::NameNotText),
        ] {
            assert_eq!(Object::read(&raw(json)).unwrap_err(), wrong, "{json}");
        }
    }

    #[test]
    fn depth_inside_a_value_does_not_matter() {
        let raw = raw(&format!(r#"{{"a":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000)));
        assert_eq!(Object::read(&raw).unwrap().field("a").unwrap().get().len(), 20_000);
    }

    #[test]
    fn text_and_elements() {
        assert_eq!(text(&raw(r#""\u00e9""#)), Ok("é".to_owned()));
        assert_eq!(text(&raw(r#""\udc00""#)), Err(NotText::Escape));
        assert_eq!(text(&raw("{}")), Err(NotText::Kind(Kind::Object)));
        let array = raw("[1, {}]");
        assert_eq!(elements(&array).unwrap().iter().map(|raw| raw.get()).collect::<Vec<_>>(), ["1", "{}"]);
        assert_eq!(elements(&raw("0")).unwrap_err(), Kind::Number);
    }
}
