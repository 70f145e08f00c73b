//! What the model reads of an answer, by the spec's table of content blocks (ABI 1, "When the
//! agent calls a tool").
//!
//! | block | shown as |
//! | --- | --- |
//! | `text` | its text, unchanged |
//! | `image` | the image, if its `data` is base64 of the type that `mimeType` names |
//! | `resource_link` to `volume:///…` | the image file, if it is one |
//! | another `resource_link` | a note naming the link |
//! | any other | a note that it was left out |
//!
//! What cannot be shown becomes a note that says why, never an error: the call was answered.
//! What the spec leaves open is chosen so:
//! - a PNG, JPEG, GIF or WebP image is told by the bytes it begins with; `mimeType` is compared
//!   without regard to case, and `image/jpg` is JPEG too. The `mimeType` of a link is not read;
//! - base64 is the standard alphabet with its padding (RFC 4648, section 4);
//! - links are followed as [`link`] and [`volume`] say, and all files of one answer together
//!   are up to [`MAX_LINKED_IMAGES_BYTES`].

mod image;
pub mod link;
pub mod volume;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use subako_manifest::limits;
use subako_manifest::text::{grouped, shown, shown_lines};
use subako_manifest::tool::object::{NotText, Object, text};

use crate::answer::{Block, CallToolResult};
pub use image::ImageType;
use volume::{Unreadable, read};

pub use crate::volume::Volume;
use crate::volume::VolumePath;

/// Bytes of all the files that the links of one answer name, read for the model: four of the
/// largest. One answer can hold ten thousand links.
pub const MAX_LINKED_IMAGES_BYTES: u64 = 4 * limits::MAX_LINKED_IMAGE_BYTES;

/// One thing that the model is shown.
///
/// As JSON: `{"type":"text","text":…}`, `{"type":"image","mimeType":…,"data":"<base64>"}`,
/// `{"type":"note","text":…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Text of the tool, unchanged: it may hold anything, so a terminal needs it escaped.
    Text(String),
    /// An image.
    Image {
        /// What it is, by its bytes.
        mime_type: &'static str,
        /// The image file.
        bytes: Vec<u8>,
    },
    /// A line of the loader: a link's name, or why a block was left out. It holds no control
    /// characters.
    Note(String),
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Self::Image { mime_type, bytes } => {
                map.serialize_entry("type", "image")?;
                map.serialize_entry("mimeType", mime_type)?;
                map.serialize_entry("data", &STANDARD.encode(bytes))?;
            }
            Self::Note(note) => {
                map.serialize_entry("type", "note")?;
                map.serialize_entry("text", note)?;
            }
        }
        map.end()
    }
}

/// What the model reads of `answer`: one thing for each block, in their order. To be called when
/// the module has exited, as links into the volume are read now.
#[must_use]
pub fn render(answer: &CallToolResult, volume: &Volume<'_>) -> Vec<Shown> {
    let mut left_bytes = MAX_LINKED_IMAGES_BYTES;
    let blocks = answer.content().iter().enumerate();
    blocks.map(|(at, block)| block_shown(at + 1, block, volume, &mut left_bytes)).collect()
}

/// `at` counts blocks from 1; `left_bytes` is what linked files may still have together.
fn block_shown(at: usize, block: &Block, volume: &Volume<'_>, left_bytes: &mut u64) -> Shown {
    let Ok(fields) = Object::read(&block.raw) else {
        // An answer's blocks have been read as objects before.
        return left_out(at, block, "it cannot be read");
    };
    match block.kind.as_str() {
        "text" => match field(&fields, "text") {
            Ok(text) => Shown::Text(text),
            Err(wrong) => left_out(at, block, &wrong),
        },
        "image" => match inline_image(&fields) {
            Ok(image) => image,
            Err(wrong) => left_out(at, block, &wrong),
        },
        "resource_link" => match field(&fields, "uri") {
            Ok(uri) => link_shown(fields.field("name"), &uri, volume, left_bytes),
            Err(wrong) => left_out(at, block, &wrong),
        },
        _ => left_out(at, block, "only text, images and links are shown"),
    }
}

fn left_out(at: usize, block: &Block, why: &str) -> Shown {
    Shown::Note(format!("Block {at}, of type `{}`, was left out: {why}.", shown(&block.kind)))
}

/// The text of a field, or what is wrong with it.
fn field(fields: &Object<'_>, name: &str) -> Result<String, String> {
    let value = fields.field(name).ok_or_else(|| format!("its `{name}` is absent"))?;
    text(value).map_err(|wrong: NotText| format!("its `{name}` {wrong}"))
}

fn inline_image(fields: &Object<'_>) -> Result<Shown, String> {
    let mime_type = field(fields, "mimeType")?;
    let data = field(fields, "data")?;
    let Ok(bytes) = STANDARD.decode(data) else {
        return Err("its `data` is not base64".to_owned());
    };
    let Some(found) = ImageType::of(&bytes) else {
        return Err("its `data` is no PNG, JPEG, GIF or WebP image".to_owned());
    };
    if ImageType::named(&mime_type) != Some(found) {
        let (said, found) = (shown(&mime_type), found.mime_type());
        return Err(format!("its `mimeType` is `{said}`, but its `data` is `{found}`"));
    }
    Ok(Shown::Image { mime_type: found.mime_type(), bytes })
}

fn link_shown(name: Option<&RawValue>, uri: &str, volume: &Volume<'_>, left_bytes: &mut u64) -> Shown {
    let name = name.and_then(|name| text(name).ok()).filter(|name| !name.is_empty());
    let why = match VolumePath::of_uri(uri) {
        None => return link_note(name, uri, None),
        Some(Err(wrong)) => wrong.to_string(),
        Some(Ok(path)) => match linked_image(&path, volume, left_bytes) {
            Ok(image) => return image,
            Err(wrong) => wrong.to_string(),
        },
    };
    link_note(name, uri, Some(&why))
}

fn linked_image(path: &VolumePath, volume: &Volume<'_>, left_bytes: &mut u64) -> Result<Shown, Unreadable> {
    let max = limits::MAX_LINKED_IMAGE_BYTES;
    let (image, bytes) = read(path, volume, max.min(*left_bytes)).map_err(|wrong| match wrong {
        Unreadable::TooLarge { found, .. } if found <= max => Unreadable::TooLargeTogether,
        other => other,
    })?;
    *left_bytes = left_bytes.saturating_sub(bytes.len() as u64);
    Ok(Shown::Image { mime_type: image.mime_type(), bytes })
}

fn link_note(name: Option<String>, uri: &str, why: Option<&str>) -> Shown {
    let mut note = match name {
        Some(name) => format!("Link `{}`: {}", shown(&name), line(uri)),
        None => format!("Link: {}", line(uri)),
    };
    if let Some(why) = why {
        note.push_str(&format!(" (not shown: {why})"));
    }
    Shown::Note(note)
}

/// Text on one line, whole: half a link would be no link.
fn line(text: &str) -> String {
    shown_lines(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

/// For messages: `16,777,216 bytes`.
fn bytes_told(bytes: u64) -> String {
    format!("{} bytes", grouped(bytes))
}

#[cfg(test)]
mod tests;
