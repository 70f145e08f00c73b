//! `subako-package.json`, a package's manifest: `abi`, `name`, `description` (design, "The
//! package that comes in").

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::abi::ABI;
use crate::diagnostic::{Code, Diagnostic, Place, Refused};
use crate::limits::{MAX_PACKAGE_DESCRIPTION_CHARS, MAX_PACKAGE_NAME_CHARS};
use crate::text::{grouped, nearest, shown};

/// The manifest's name, at the root of a package.
pub const MANIFEST_FILE: &str = "subako-package.json";
/// The module's name, at the root of a package.
pub const MODULE_FILE: &str = "module.wasm";
/// The name of a module as text, in place of [`MODULE_FILE`].
pub const MODULE_TEXT_FILE: &str = "module.wat";

/// Bytes of a manifest: several times what the three fields need. A choice of ours.
pub const MAX_MANIFEST_BYTES: u64 = 64 * crate::limits::KIB;

const RULE: &str = "a manifest is a JSON object with the fields `abi`, `name` and `description`, each once";
const ABI_RULE: &str = "`abi` is the integer 1 (ABI 1, \"Checklist\")";
const NAME_RULE: &str = "a package's name has 1 to 64 characters of `a`-`z`, `0`-`9`, `_`, `-`";

/// A manifest whose rules hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The ABI that the module speaks: 1.
    pub abi: u32,
    /// The package's name: 1 to 64 characters of `a`-`z`, `0`-`9`, `_`, `-`.
    pub name: String,
    /// What the model reads of the package: up to 1,024 characters.
    pub description: String,
    /// The names of the fields that this version does not know, in the manifest's order.
    pub unknown_fields: Vec<String>,
}

/// Reads a manifest; diagnostics call it `file`. Gives the warnings beside it.
///
/// # Errors
/// All faults of the manifest at once, and the warnings after them: an unknown field is often the
/// one that is absent, misspelt.
pub fn parse(bytes: &[u8], file: &str) -> Result<(Manifest, Vec<Diagnostic>), Refused> {
    let text = decode(bytes, file)?;
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| not_json(&error, text, file))?;
    let fields = fields.0;
    let mut parse = Parse { text, file, faults: Vec::new(), warnings: Vec::new() };

    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, value) in &fields {
        let times = times.entry(name).or_default();
        *times += 1;
        // Told once for each name, however often it comes.
        if *times == 2 {
            let message = format!("field `{}` is twice in the manifest", shown(name));
            parse.fault(Code::ManifestFieldTwice, name, message, Some(value), RULE);
        }
    }
    let field = |name: &str| fields.iter().find(|(found, _)| found == name).map(|(_, value)| *value);

    // Version 0.2.0 of the Rust SDK spoke another protocol. All of its manifest is to be made
    // anew, so that nothing else is worth saying.
    if field("abi").is_none()
        && let Some(functions) = field("functions")
    {
        let message = "field `functions` is of a manifest from before ABI 1, which has no `abi`".to_owned();
        parse.fault(Code::ManifestOld, "functions", message, Some(functions), ABI_RULE);
        parse.hint(
            "build the package again with `subako-function-sdk` 0.2.10, whose modules speak ABI 1; \
             tools come from the module, not from the manifest",
        );
        return Err(Refused(parse.faults));
    }

    let abi = parse.abi(field("abi"));
    let name = parse.name(field("name"));
    let description = parse.description(field("description"));
    let mut unknown_fields: Vec<String> = Vec::new();
    for (name, value) in &fields {
        if matches!(name.as_str(), "abi" | "name" | "description") || unknown_fields.contains(name) {
            continue;
        }
        let message = format!("field `{}` is not known: it is kept and not used", shown(name));
        let absent = ["abi", "name", "description"].into_iter().filter(|known| field(known).is_none());
        let meant = nearest(name, absent).map(|known| format!("did you mean `{known}`?"));
        let warning =
            Diagnostic::warning(Code::ManifestFieldUnknown, name, message).rule(RULE).maybe_hint(meant);
        parse.warnings.push(warning.at(parse.place(Some(value))));
        unknown_fields.push(name.clone());
    }

    match (abi, name, description) {
        (Some(abi), Some(name), Some(description)) if parse.faults.is_empty() => {
            Ok((Manifest { abi, name, description, unknown_fields }, parse.warnings))
        }
        _ => {
            parse.faults.append(&mut parse.warnings);
            Err(Refused(parse.faults))
        }
    }
}

fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, Refused> {
    let refuse = |code, message: String| {
        Refused::from(Diagnostic::error(code, MANIFEST_FILE, message).at(Place::file(file)))
    };
    let found = bytes.len() as u64;
    if found > MAX_MANIFEST_BYTES {
        return Err(refuse(
            Code::ManifestLong,
            format!(
                "`{MANIFEST_FILE}` has {} bytes, at most {} are allowed",
                grouped(found),
                grouped(MAX_MANIFEST_BYTES)
            ),
        ));
    }
    let marks: [(&[u8], &str); 3] =
        [(b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")];
    for (mark, encoding) in marks {
        if bytes.starts_with(mark) {
            let message = format!("`{MANIFEST_FILE}` begins with a byte order mark of {encoding}");
            let mut refused = refuse(Code::ManifestMark, message);
            refused.0[0].hint = Some("save it as UTF-8 without a byte order mark".to_owned());
            return Err(refused);
        }
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let message = format!("`{MANIFEST_FILE}` is not UTF-8 text");
        let mut refused = refuse(Code::ManifestEncoding, message);
        refused.0[0].place = Some(place_of(&bytes[..offset], file).at(offset as u64));
        refused
    })
}

/// The place in a text file right after `before`; columns are counted in characters.
#[must_use]
pub fn place_of(before: &[u8], file: &str) -> Place {
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u64 + 1;
    Place { line: Some(line), column: Some(column), ..Place::file(file) }
}

fn not_json(error: &serde_json::Error, text: &str, file: &str) -> Refused {
    // serde_json counts a column's bytes, up to and with the byte at fault; none when a line's
    // end is at fault.
    let line_start =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let offset = (line_start + error.column().saturating_sub(1)).min(text.len());
    let place = place_of(&text.as_bytes()[..offset], file);
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let said = error.to_string();
    let said = said.strip_suffix(&suffix).unwrap_or(&said);
    if error.is_data() {
        // The only thing that the visitor asks for is an object.
        let message = format!("`{MANIFEST_FILE}` is not a JSON object");
        return Diagnostic::error(Code::ManifestKind, MANIFEST_FILE, message).at(place).rule(RULE).into();
    }
    let message = format!("`{MANIFEST_FILE}` is not valid JSON: {said}");
    Diagnostic::error(Code::ManifestJson, MANIFEST_FILE, message).at(place).into()
}

/// What is found in the fields.
struct Parse<'a> {
    text: &'a str,
    file: &'a str,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Parse<'_> {
    fn place(&self, value: Option<&RawValue>) -> Place {
        // The value is a part of the text, so that its address says where.
        match value.map(|value| value.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr())) {
            Some(Some(offset)) if offset <= self.text.len() => {
                place_of(&self.text.as_bytes()[..offset], self.file)
            }
            _ => Place::file(self.file),
        }
    }

    fn fault(&mut self, code: Code, subject: &str, message: String, value: Option<&RawValue>, rule: &str) {
        let fault = Diagnostic::error(code, subject, message).at(self.place(value)).rule(rule);
        self.faults.push(fault);
    }

    /// Adds the mend to the last fault.
    fn hint(&mut self, hint: &str) {
        if let Some(fault) = self.faults.last_mut() {
            fault.hint = Some(hint.to_owned());
        }
    }

    fn absent(&mut self, code: Code, field: &str, mend: &str) {
        self.fault(code, field, format!("field `{field}` is absent"), None, RULE);
        self.hint(mend);
    }

    fn abi(&mut self, value: Option<&RawValue>) -> Option<u32> {
        let Some(value) = value else {
            self.absent(Code::AbiAbsent, "abi", "add `\"abi\": 1`");
            return None;
        };
        if value.get() == ABI.to_string() {
            return Some(ABI);
        }
        let message = format!("field `abi` is {}, and only the integer {ABI} is known", described(value));
        self.fault(Code::AbiUnknown, "abi", message, Some(value), ABI_RULE);
        None
    }

    fn name(&mut self, value: Option<&RawValue>) -> Option<String> {
        let name = self.string(value, "name", Code::NameAbsent, "add a `\"name\"`, such as `\"greet\"`")?;
        let chars = name.chars().count();
        let stranger = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'));
        let mut messages = Vec::new();
        if name.is_empty() {
            messages.push("field `name` is empty".to_owned());
        }
        if chars > MAX_PACKAGE_NAME_CHARS {
            messages.push(format!(
                "field `name` has {} characters, at most {MAX_PACKAGE_NAME_CHARS} are allowed",
                grouped(chars as u64)
            ));
        }
        if let Some(stranger) = stranger {
            messages.push(format!(
                "field `name` is `{}`, and holds `{}`, which is not allowed",
                shown(&name),
                shown(&stranger.to_string())
            ));
        }
        let right = messages.is_empty();
        for message in messages {
            self.fault(Code::NameInvalid, "name", message, value, NAME_RULE);
        }
        right.then_some(name)
    }

    fn description(&mut self, value: Option<&RawValue>) -> Option<String> {
        let mend = "add a `\"description\"`, which tells the model what the package is for";
        let description = self.string(value, "description", Code::DescriptionAbsent, mend)?;
        let chars = description.chars().count();
        if chars > MAX_PACKAGE_DESCRIPTION_CHARS {
            let message = format!(
                "field `description` has {} characters, at most {} are allowed",
                grouped(chars as u64),
                grouped(MAX_PACKAGE_DESCRIPTION_CHARS as u64)
            );
            self.fault(Code::DescriptionLong, "description", message, value, RULE);
            return None;
        }
        Some(description)
    }

    fn string(&mut self, value: Option<&RawValue>, field: &str, absent: Code, mend: &str) -> Option<String> {
        let Some(raw) = value else {
            self.absent(absent, field, mend);
            return None;
        };
        if !raw.get().starts_with('"') {
            let message = format!("field `{field}` is {}, and must be a string", described(raw));
            self.fault(Code::ManifestFieldType, field, message, value, RULE);
            return None;
        }
        // A raw string may still hold half of a surrogate pair.
        serde_json::from_str(raw.get())
            .map_err(|_| {
                let message = format!("field `{field}` holds an escape that is no Unicode character");
                self.fault(Code::ManifestJson, field, message, value, RULE);
            })
            .ok()
    }
}

/// A value for messages: a scalar as it is written, else its kind.
fn described(value: &RawValue) -> String {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        Some(b'"') => format!("the string `{}`", shown(value.get())),
        _ => format!("`{}`", shown(value.get())),
    }
}

/// An object's fields as they are written: in order, repeats kept, values as text.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

#[cfg(test)]
mod tests;
