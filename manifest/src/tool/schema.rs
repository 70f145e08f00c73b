//! What makes a JSON object a JSON Schema, as far as it is looked at: the keywords that nearly
//! every schema has are of their kind. A schema is not held to the whole of its meta-schema,
//! whose dialect may be any.

use serde_json::value::RawValue;

use super::object::{Kind, NotObject, Object, elements, text};
use crate::text::shown;

/// Why a value is no schema for a tool's arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotSchema {
    #[error("{0}")]
    Object(NotObject),
    #[error("has no `type` at the top")]
    TypeAbsent,
    #[error("has the `type` {0} at the top")]
    TypeOther(String),
    #[error("has `properties` that {0}")]
    Properties(NotObject),
    #[error("has a property `{name}` that is {found}, neither an object nor a boolean", name = shown(.0), found = .1)]
    Property(String, Kind),
    #[error("has `required` as {0}, not an array of strings")]
    Required(Kind),
    #[error("has {0} in `required`, not a string")]
    RequiredName(Kind),
}

/// Looks at the `inputSchema` of a tool.
pub(super) fn check_input(raw: &RawValue) -> Result<(), NotSchema> {
    let schema = Object::read(raw).map_err(NotSchema::Object)?;
    match schema.field("type") {
        None => return Err(NotSchema::TypeAbsent),
        Some(kind) if text(kind).as_deref() == Ok("object") => {}
        Some(kind) => return Err(NotSchema::TypeOther(shown(kind.get()))),
    }
    if let Some(properties) = schema.field("properties") {
        let properties = Object::read(properties).map_err(NotSchema::Properties)?;
        for (name, property) in properties.fields() {
            match Kind::of(property) {
                Kind::Object | Kind::Boolean => {}
                other => return Err(NotSchema::Property(name.to_owned(), other)),
            }
        }
    }
    if let Some(required) = schema.field("required") {
        for name in elements(required).map_err(NotSchema::Required)? {
            match Kind::of(name) {
                Kind::String => {}
                other => return Err(NotSchema::RequiredName(other)),
            }
        }
    }
    Ok(())
}

/// Looks at the `outputSchema` of a tool, which may describe any value.
pub(super) fn check_output(raw: &RawValue) -> Result<(), NotObject> {
    Object::read(raw).map(|_| ())
}
