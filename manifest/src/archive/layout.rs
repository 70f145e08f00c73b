//! Whether the entries fill the file from its start to the central directory, without gaps and
//! without sharing bytes.

use super::record::u32_at;
use super::{ArchiveEntry, Error, FLAG_DESCRIPTOR};

const DESCRIPTOR_SIGNATURE: u32 = 0x0807_4b50;

/// Adds a fault for each gap and each overlap.
pub(super) fn check(
    bytes: &[u8],
    entries: &[ArchiveEntry<'_>],
    directory_offset: u64,
    faults: &mut Vec<Error>,
) {
    let mut in_place: Vec<_> = entries.iter().collect();
    in_place.sort_by_key(|entry| entry.header_offset);

    let first = in_place.first().map_or(directory_offset, |entry| entry.header_offset);
    if first > 0 {
        faults.push(Error::Gap { entry: None, offset: 0, found: first });
    }
    // The entry that reaches furthest so far: with nested entries not always the one before.
    let mut furthest: Option<&ArchiveEntry<'_>> = None;
    for (at, entry) in in_place.iter().enumerate() {
        if let Some(other) = furthest.filter(|other| entry.header_offset < other.data_end()) {
            faults.push(Error::Overlap {
                entry: entry.lossy_name(),
                offset: entry.header_offset,
                other: other.lossy_name(),
            });
        }
        if furthest.is_none_or(|other| entry.data_end() > other.data_end()) {
            furthest = Some(entry);
        }
        let next = in_place.get(at + 1).map_or(directory_offset, |next| next.header_offset);
        // What overlaps has been told above.
        if let Some(rest) = next.checked_sub(entry.data_end()) {
            check_rest(bytes, entry, rest, faults);
        }
    }
}

/// What lies between an entry's data and the next entry: a data descriptor or nothing.
fn check_rest(bytes: &[u8], entry: &ArchiveEntry<'_>, rest: u64, faults: &mut Vec<Error>) {
    let offset = entry.data_end();
    if entry.flags & FLAG_DESCRIPTOR == 0 {
        if rest > 0 {
            faults.push(Error::Gap { entry: Some(entry.lossy_name()), offset, found: rest });
        }
    } else if !is_descriptor(bytes, entry, rest) {
        faults.push(Error::DescriptorWrong { entry: entry.lossy_name(), offset });
    }
}

/// A data descriptor: perhaps a signature, CRC-32, compressed size, size; the sizes of 4 bytes,
/// or of 8 where a tool wrote them before it knew that 4 would do.
fn is_descriptor(bytes: &[u8], entry: &ArchiveEntry<'_>, rest: u64) -> bool {
    let (signed, wide) = match rest {
        12 => (false, false),
        16 => (true, false),
        20 => (false, true),
        24 => (true, true),
        _ => return false,
    };
    let Ok(mut at) = usize::try_from(entry.data_end()) else { return false };
    if signed {
        if u32_at(bytes, at) != Some(DESCRIPTOR_SIGNATURE) {
            return false;
        }
        at += 4;
    }
    let number = |at: usize| {
        let low = u64::from(u32_at(bytes, at)?);
        let high = if wide { u64::from(u32_at(bytes, at + 4)?) } else { 0 };
        Some(high << 32 | low)
    };
    let size_at = at + 4 + if wide { 8 } else { 4 };
    u32_at(bytes, at) == Some(entry.crc32)
        && number(at + 4) == Some(entry.compressed_size)
        && number(size_at) == Some(entry.size)
}
