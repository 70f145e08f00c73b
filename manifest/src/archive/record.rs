//! The three kinds of records of a zip, read from bytes: end record, header of the central
//! directory, local header. All numbers are little-endian.

use memchr::memmem;

use super::{Error, FLAG_DESCRIPTOR, Strictness};

const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;
const ZIP64_LOCATOR_SIGNATURE: u32 = 0x0706_4b50;

const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const ZIP64_LOCATOR_BYTES: usize = 20;
/// A comment's length has 16 bits.
const MAX_COMMENT_BYTES: usize = 0xffff;

const EXTRA_ZIP64: u16 = 0x0001;
const EXTRA_UNICODE_NAME: u16 = 0x7075;

/// Fixed-size fields at known places; a place outside the slice reads as absent.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.0.get(at..at + 2)?.try_into().ok()?))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }
}

/// Reads `u32` at `at`, if that is inside.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Fields(bytes).u32(at)
}

/// The end record.
pub(super) struct End {
    /// Where it is.
    pub(super) offset: u64,
    pub(super) entries: u16,
    pub(super) directory_offset: u64,
}

impl End {
    /// Finds the one end record. Comments are a fault for bundles; more than one record, or
    /// bytes after it, for everybody.
    pub(super) fn find(bytes: &[u8], strictness: Strictness, faults: &mut Vec<Error>) -> Result<Self, Error> {
        let first = bytes.len().saturating_sub(END_BYTES + MAX_COMMENT_BYTES);
        let comment_bytes = |at: usize| Fields(bytes).u16(at + END_BYTES - 2).map(usize::from);
        let last = bytes.len().checked_sub(END_BYTES).ok_or(Error::EndAbsent)?;
        // A call starts with this search: it looks at 64 KiB.
        let ends: Vec<usize> = memmem::find_iter(&bytes[first..], &END_SIGNATURE.to_le_bytes())
            .map(|at| first + at)
            .take_while(|at| *at <= last)
            .collect();
        // The first record whose directory ends where the record begins is the end; data that
        // merely looks like one has no such directory.
        let at = *ends
            .iter()
            .find(|at| directory(bytes, **at).is_some_and(|(offset, size)| offset + size == **at as u64))
            .or(ends.last())
            .ok_or(Error::EndAbsent)?;
        let offset = at as u64;

        let comment = comment_bytes(at).ok_or(Error::EndAbsent)?;
        let end_of_file = at + END_BYTES + comment;
        if end_of_file > bytes.len() {
            return Err(Error::EndAbsent);
        }
        if let Some(second) = ends.iter().find(|other| **other > at) {
            return Err(Error::EndTwice { offset: *second as u64 });
        }
        if end_of_file < bytes.len() {
            faults.push(Error::TrailingBytes {
                offset: end_of_file as u64,
                found: (bytes.len() - end_of_file) as u64,
            });
        }
        if comment > 0 && strictness == Strictness::Bundle {
            faults.push(Error::Comment { entry: None, offset, found: comment as u64 });
        }

        let fields = Fields(&bytes[at..]);
        let number = |place| fields.u16(place).ok_or(Error::EndAbsent);
        let (disk, directory_disk, here, entries) = (number(4)?, number(6)?, number(8)?, number(10)?);
        let (directory_offset, size) = directory(bytes, at).ok_or(Error::EndAbsent)?;
        let locator = at.checked_sub(ZIP64_LOCATOR_BYTES).and_then(|at| u32_at(bytes, at));
        if locator == Some(ZIP64_LOCATOR_SIGNATURE)
            || entries == u16::MAX
            || directory_offset == u64::from(u32::MAX)
            || size == u64::from(u32::MAX)
        {
            return Err(Error::Zip64 { entry: None, offset });
        }
        if disk != 0 || directory_disk != 0 || here != entries {
            return Err(Error::MultiDisk { entry: None, offset });
        }
        if directory_offset + size != offset {
            return Err(Error::DirectoryMisplaced {
                offset: directory_offset,
                found: directory_offset + size,
                expected: offset,
            });
        }
        Ok(Self { offset, entries, directory_offset })
    }
}

/// Where an end record says that the central directory begins, and its bytes.
fn directory(bytes: &[u8], end: usize) -> Option<(u64, u64)> {
    let fields = Fields(bytes.get(end..)?);
    Some((fields.u32(16)?.into(), fields.u32(12)?.into()))
}

/// A header of the central directory.
pub(super) struct Central<'a> {
    /// Where it is.
    pub(super) offset: u64,
    pub(super) name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc32: u32,
    pub(super) compressed_size: u32,
    pub(super) size: u32,
    pub(super) disk: u16,
    pub(super) comment_bytes: u16,
    pub(super) header_offset: u64,
    external_attributes: u32,
    extra: &'a [u8],
}

impl<'a> Central<'a> {
    /// Reads the whole directory; it must end with its last entry.
    pub(super) fn read_all(bytes: &'a [u8], end: &End) -> Result<Vec<Self>, Error> {
        // The two offsets were compared with the file's length when the end was found.
        let directory = &bytes[..end.offset as usize];
        let mut at = end.directory_offset as usize;
        let mut headers = Vec::new();
        for index in 0..u64::from(end.entries) {
            let header =
                Self::read(directory, at).ok_or(Error::DirectoryHeader { offset: at as u64, index })?;
            at += CENTRAL_BYTES + header.name.len() + header.extra.len() + usize::from(header.comment_bytes);
            headers.push(header);
        }
        if at < directory.len() {
            return Err(Error::DirectoryLong { offset: at as u64, found: (directory.len() - at) as u64 });
        }
        Ok(headers)
    }

    fn read(directory: &'a [u8], at: usize) -> Option<Self> {
        let bytes = directory.get(at..)?;
        let fields = Fields(bytes);
        if fields.u32(0)? != CENTRAL_SIGNATURE {
            return None;
        }
        let name_bytes = usize::from(fields.u16(28)?);
        let extra_bytes = usize::from(fields.u16(30)?);
        let comment_bytes = fields.u16(32)?;
        let name_end = CENTRAL_BYTES + name_bytes;
        let extra_end = name_end + extra_bytes;
        bytes.get(..extra_end + usize::from(comment_bytes))?;
        Some(Self {
            offset: at as u64,
            name: &bytes[CENTRAL_BYTES..name_end],
            flags: fields.u16(8)?,
            method: fields.u16(10)?,
            crc32: fields.u32(16)?,
            compressed_size: fields.u32(20)?,
            size: fields.u32(24)?,
            disk: fields.u16(34)?,
            comment_bytes,
            header_offset: fields.u32(42)?.into(),
            external_attributes: fields.u32(38)?,
            extra: &bytes[name_end..extra_end],
        })
    }

    pub(super) fn lossy_name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    pub(super) fn is_zip64(&self) -> bool {
        self.compressed_size == u32::MAX
            || self.size == u32::MAX
            || self.header_offset == u64::from(u32::MAX)
            || self.disk == u16::MAX
            || extra_field(self.extra, EXTRA_ZIP64).is_some()
    }

    pub(super) fn unicode_name(&self) -> Option<&'a [u8]> {
        unicode_name(self.extra)
    }

    /// The upper half of the external attributes, whatever system the entry says it comes from:
    /// tools differ over whether they look at that.
    pub(super) fn unix_mode(&self) -> Option<u32> {
        let mode = self.external_attributes >> 16;
        (mode != 0).then_some(mode)
    }
}

/// A local header.
pub(super) struct Local<'a> {
    pub(super) name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc32: u32,
    pub(super) compressed_size: u32,
    pub(super) size: u32,
    pub(super) data_offset: u64,
    extra: &'a [u8],
}

impl<'a> Local<'a> {
    /// Reads the header at `at`, which must lie before `limit` with its name and extra field.
    pub(super) fn read(bytes: &'a [u8], at: u64, limit: u64) -> Option<Self> {
        let start = usize::try_from(at).ok()?;
        let bytes = bytes.get(start..usize::try_from(limit).ok()?)?;
        let fields = Fields(bytes);
        if fields.u32(0)? != LOCAL_SIGNATURE {
            return None;
        }
        let name_end = LOCAL_BYTES + usize::from(fields.u16(26)?);
        let extra_end = name_end + usize::from(fields.u16(28)?);
        bytes.get(..extra_end)?;
        Some(Self {
            name: &bytes[LOCAL_BYTES..name_end],
            flags: fields.u16(6)?,
            method: fields.u16(8)?,
            crc32: fields.u32(14)?,
            compressed_size: fields.u32(18)?,
            size: fields.u32(22)?,
            data_offset: at + extra_end as u64,
            extra: &bytes[name_end..extra_end],
        })
    }

    /// Whether the sizes are in a zip64 field. Before a data descriptor they are nowhere yet.
    pub(super) fn is_zip64(&self) -> bool {
        self.flags & FLAG_DESCRIPTOR == 0 && (self.compressed_size == u32::MAX || self.size == u32::MAX)
    }

    pub(super) fn unicode_name(&self) -> Option<&'a [u8]> {
        unicode_name(self.extra)
    }
}

/// The data of the first extra field of that kind: two bytes of kind, two of length, data.
fn extra_field(mut extra: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let fields = Fields(extra);
        let (found, length) = (fields.u16(0)?, usize::from(fields.u16(2)?));
        let data = extra.get(4..4 + length)?;
        if found == kind {
            return Some(data);
        }
        extra = &extra[4 + length..];
    }
}

/// The name in Info-ZIP's field, after a version byte and a CRC-32 of the other name.
fn unicode_name(extra: &[u8]) -> Option<&[u8]> {
    extra_field(extra, EXTRA_UNICODE_NAME)?.get(5..)
}
