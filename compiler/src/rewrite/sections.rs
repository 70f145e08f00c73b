//! The module as a list of sections: taking some out, and the third pass, which takes out those
//! that no engine reads.

use std::collections::BTreeMap;
use std::ops::Range;

use wasmparser::{BinaryReader, Result};

use super::Strip;

/// `\0asm` and the version.
const HEADER_BYTES: usize = 8;

/// Ids of the sections that the passes touch.
pub(super) const CUSTOM: u8 = 0;
pub(super) const EXPORT: u8 = 7;
pub(super) const ELEMENT: u8 = 9;
pub(super) const CODE: u8 = 10;
pub(super) const DATA: u8 = 11;
pub(super) const DATA_COUNT: u8 = 12;

/// One section of a module.
#[derive(Debug, Clone)]
pub(super) struct Section<'m> {
    pub(super) id: u8,
    /// The name of a custom section; empty for others.
    pub(super) name: &'m str,
    /// All of it, with its id and its length.
    pub(super) whole: Range<usize>,
    /// What it holds.
    pub(super) content: Range<usize>,
}

impl Section<'_> {
    fn is_names(&self) -> bool {
        self.id == CUSTOM && self.name == "name"
    }

    /// What a report calls a custom section.
    fn report_name(&self) -> &'static str {
        match self.name {
            "name" => "name sections",
            name if name.starts_with(".debug_") => "debug sections",
            _ => "custom sections",
        }
    }

    /// Whether it speaks of places in the code or of indices, which change when code goes.
    fn is_bound_to_code(&self) -> bool {
        [".debug_", "reloc.", "metadata.code."].iter().any(|beginning| self.name.starts_with(beginning))
            || ["linking", "external_debug_info", "sourceMappingURL", "build_id"].contains(&self.name)
    }
}

/// The sections of a module that has been checked.
pub(super) fn split(module: &[u8]) -> Result<Vec<Section<'_>>> {
    let mut reader = BinaryReader::new(module, 0);
    reader.read_bytes(HEADER_BYTES)?;
    let mut sections = Vec::new();
    while !reader.eof() {
        let start = reader.original_position();
        let id = reader.read_u8()?;
        let length = reader.read_var_u32()? as usize;
        let content = reader.original_position()..reader.original_position() + length;
        let bytes = reader.read_bytes(length)?;
        let name = if id == CUSTOM { BinaryReader::new(bytes, content.start).read_string()? } else { "" };
        sections.push(Section { id, name, whole: start..content.end, content });
    }
    Ok(sections)
}

/// The module with those of its sections that `keep` keeps.
fn retain(module: &[u8], keep: impl Fn(&Section<'_>) -> bool) -> Result<Vec<u8>> {
    let mut out = module[..HEADER_BYTES].to_vec();
    for section in split(module)?.iter().filter(|section| keep(section)) {
        out.extend_from_slice(&module[section.whole.clone()]);
    }
    Ok(out)
}

/// The third pass: custom sections go, as `strip` says.
pub(super) fn strip(module: &[u8], strip: Strip) -> Result<Vec<u8>> {
    retain(module, |section| match strip {
        Strip::None => true,
        Strip::Debug => section.id != CUSTOM || section.is_names(),
        Strip::All => section.id != CUSTOM,
    })
}

/// The module without any custom section but its names.
pub(super) fn without_custom(module: &[u8]) -> Result<Vec<u8>> {
    strip(module, Strip::Debug)
}

/// `code` with the custom sections of `module` at its end, but for the names, which it has, and
/// those that would be wrong about code that has moved.
pub(super) fn with_custom_of(mut code: Vec<u8>, module: &[u8], to_be_stripped: Strip) -> Result<Vec<u8>> {
    for section in split(module)? {
        // What the third pass takes out is left for it to count.
        let stays = to_be_stripped != Strip::None || !section.is_bound_to_code();
        if section.id == CUSTOM && !section.is_names() && stays {
            code.extend_from_slice(&module[section.whole]);
        }
    }
    Ok(code)
}

/// How many of each kind of custom section there are.
pub(super) fn count_custom(module: &[u8], counts: &mut BTreeMap<&'static str, u64>) -> Result<()> {
    for section in split(module)?.iter().filter(|section| section.id == CUSTOM) {
        *counts.entry(section.report_name()).or_insert(0) += 1;
    }
    Ok(())
}

/// A section of `id` that holds `content`.
pub(super) fn make(id: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![id];
    push_u32(&mut out, content.len() as u32);
    out.extend_from_slice(content);
    out
}

/// Writes a number as LEB128, as short as it can be.
pub(super) fn push_u32(out: &mut Vec<u8>, mut number: u32) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        for (number, bytes) in
            [(0, &[0][..]), (127, &[127]), (128, &[0x80, 1]), (u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0x0f])]
        {
            let mut out = Vec::new();
            push_u32(&mut out, number);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn sections_are_found_with_their_names() {
        let module = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\0\x05\x04name";
        let sections = split(module).unwrap();
        assert_eq!(sections.len(), 2);
        assert_eq!(
            (sections[0].id, sections[0].whole.clone(), sections[0].content.clone()),
            (1, 8..14, 10..14)
        );
        assert_eq!((sections[1].id, sections[1].name), (0, "name"));
    }
}
