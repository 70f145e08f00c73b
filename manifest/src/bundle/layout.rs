//! The headers of a bundle's zip: no value in them is free.
//!
//! A local header (30 bytes, then the path, then the extra field):
//!
//! | at | bytes | value |
//! | --- | --- | --- |
//! | 4 | 2 | version needed: 20 for deflated entries, 10 for stored ones |
//! | 6 | 2 | flags: bit 11 (the path is UTF-8) where the path is not ASCII, no other |
//! | 10 | 4 | time and date: 1980-01-01 00:00:00 |
//! | 28 | 2 | bytes of the extra field: 0, but for the padding of an artifact |
//!
//! The padding of an artifact is one record: kind `0xa11e`, its length, the alignment as two
//! bytes, zeros. It is absent where the path ends at a multiple of the alignment, and as short as
//! it can be (at least 6 bytes) elsewhere.
//!
//! A header of the directory (46 bytes, then the path):
//!
//! | at | bytes | value |
//! | --- | --- | --- |
//! | 4 | 2 | made by: Unix (3), and the version needed |
//! | 6, 8, 12 | 2, 2, 4 | version needed, flags, time and date as above |
//! | 30, 32, 34, 36 | 2 each | extra field, comment, disk, internal attributes: 0 |
//! | 38 | 4 | external attributes: a regular file of mode 0644 |

use super::{ARTIFACT_ALIGNMENT, Error, HeaderField};
use crate::archive::{ArchiveEntry, Method};

const LOCAL_BYTES: usize = 30;
const DIRECTORY_BYTES: usize = 46;
const END_BYTES: usize = 22;

/// 1980-01-01 00:00:00, the earliest there is: the time in the lower half, the date in the upper.
const TIME: u32 = 0x0021_0000;
const FLAG_UTF8: u16 = 1 << 11;
const MADE_BY_UNIX: u16 = 3 << 8;
const ATTRIBUTES: u32 = 0o100_644 << 16;
const KIND_PADDING: u16 = 0xa11e;
/// Kind, length and alignment.
const MIN_PADDING: u64 = 6;

/// Checks order and headers of all entries, and gives their paths.
///
/// The entries are those of an archive that was read from `file`, so that all offsets are inside.
pub(super) fn check<'a>(file: &'a [u8], entries: &[ArchiveEntry<'a>]) -> Result<Vec<&'a str>, Error> {
    let mut paths: Vec<&'a str> = Vec::with_capacity(entries.len());
    let mut in_directory = directory_offset(file);
    let mut previous: Option<&ArchiveEntry<'_>> = None;
    for entry in entries {
        let Ok(path) = std::str::from_utf8(entry.name) else {
            return Err(Error::EntryUnknown { path: entry.lossy_name() });
        };
        let after =
            |other: &ArchiveEntry<'_>| other.name < entry.name && other.header_offset < entry.header_offset;
        if !previous.is_none_or(after) {
            return Err(Error::Order { path: path.to_owned() });
        }
        previous = Some(entry);
        check_local(file, path, entry)?;
        check_directory(file, path, entry, in_directory)?;
        in_directory += DIRECTORY_BYTES + entry.name.len();
        paths.push(path);
    }
    Ok(paths)
}

/// Checks that an artifact's data begins where a host can map it, by the one padding that does so.
pub(super) fn check_padding(file: &[u8], path: &str, entry: &ArchiveEntry<'_>) -> Result<(), Error> {
    if !entry.data_offset.is_multiple_of(ARTIFACT_ALIGNMENT) {
        return Err(Error::Alignment { path: path.to_owned(), offset: entry.data_offset });
    }
    let path_end = entry.header_offset + (LOCAL_BYTES + entry.name.len()) as u64;
    if file[path_end as usize..entry.data_offset as usize] != padding(path_end) {
        return Err(Error::Padding { path: path.to_owned(), offset: entry.header_offset });
    }
    Ok(())
}

fn check_local(file: &[u8], path: &str, entry: &ArchiveEntry<'_>) -> Result<(), Error> {
    let header = &file[entry.header_offset as usize..entry.data_offset as usize];
    let field = |field, found: u32, expected: u32| same(path, field, found, expected);
    field(HeaderField::VersionNeeded, u16_at(header, 4).into(), version(entry).into())?;
    field(HeaderField::Flags, u16_at(header, 6).into(), flags(entry).into())?;
    field(HeaderField::Time, u32_at(header, 10), TIME)?;
    if entry.method == Method::Stored {
        // Only artifacts are stored; their padding is looked at when the index has named them.
        return Ok(());
    }
    field(HeaderField::ExtraField, u16_at(header, 28).into(), 0)
}

fn check_directory(file: &[u8], path: &str, entry: &ArchiveEntry<'_>, at: usize) -> Result<(), Error> {
    let header = &file[at..at + DIRECTORY_BYTES];
    let field = |field, found: u32, expected: u32| same(path, field, found, expected);
    field(HeaderField::MadeBy, u16_at(header, 4).into(), (MADE_BY_UNIX | version(entry)).into())?;
    field(HeaderField::VersionNeeded, u16_at(header, 6).into(), version(entry).into())?;
    field(HeaderField::Flags, u16_at(header, 8).into(), flags(entry).into())?;
    field(HeaderField::Time, u32_at(header, 12), TIME)?;
    field(HeaderField::ExtraField, u16_at(header, 30).into(), 0)?;
    field(HeaderField::InternalAttributes, u16_at(header, 36).into(), 0)?;
    field(HeaderField::ExternalAttributes, u32_at(header, 38), ATTRIBUTES)
}

fn same(path: &str, field: HeaderField, found: u32, expected: u32) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Header { path: path.to_owned(), field, found, expected })
}

fn version(entry: &ArchiveEntry<'_>) -> u16 {
    if entry.method == Method::Deflated { 20 } else { 10 }
}

fn flags(entry: &ArchiveEntry<'_>) -> u16 {
    if entry.name.is_ascii() { 0 } else { FLAG_UTF8 }
}

/// The extra field of an artifact whose path ends at `path_end` in the file, in bytes from its
/// start (docs/bundle.md, "Bytes").
#[must_use]
pub fn padding(path_end: u64) -> Vec<u8> {
    let mut length = (ARTIFACT_ALIGNMENT - path_end % ARTIFACT_ALIGNMENT) % ARTIFACT_ALIGNMENT;
    if length == 0 {
        return Vec::new();
    }
    if length < MIN_PADDING {
        length += ARTIFACT_ALIGNMENT;
    }
    let mut record = Vec::with_capacity(length as usize);
    record.extend(KIND_PADDING.to_le_bytes());
    record.extend(((length - 4) as u16).to_le_bytes());
    record.extend((ARTIFACT_ALIGNMENT as u16).to_le_bytes());
    record.resize(length as usize, 0);
    record
}

/// Where the directory begins: a bundle ends with its end record, which has no comment.
fn directory_offset(file: &[u8]) -> usize {
    u32_at(&file[file.len() - END_BYTES..], 16) as usize
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
