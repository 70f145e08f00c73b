//! The structure of a zip, read strictly: nothing is guessed, and what two readers could take
//! in two ways is refused. Shared by the bundle's reader and by `compiler/read`.
//!
//! A zip, as it is taken here:
//!
//! 1. for each entry: a local header, the name, an extra field, the data, and in streamed zips
//!    a data descriptor (CRC-32 and sizes, told after the data);
//! 2. the central directory: one header for each entry, with its name, an extra field, a comment;
//! 3. the end record: where the directory is and how many entries it has; a comment.
//!
//! Every byte of the file belongs to exactly one of these. Zip64 and zips of several disks are
//! not read: no package is that large.

mod contents;
mod error;
#[cfg(test)]
#[allow(dead_code, reason = "the compiler's tests use it too, and each uses a part")]
mod forge;
mod layout;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use contents::contents;
pub use error::{Error, Field};

use record::{Central, End, Local};

/// Bit 0 of an entry's flags: the data is encrypted.
const FLAG_ENCRYPTED: u16 = 1;
/// Bit 3: CRC-32 and sizes follow the data, in a data descriptor.
const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// Bit 6: strong encryption.
const FLAG_STRONG_ENCRYPTION: u16 = 1 << 6;
/// Bit 13: parts of the headers are encrypted.
const FLAG_MASKED: u16 = 1 << 13;
/// Bits 1 and 2: how hard the compressor tried; they change nothing for a reader.
const FLAGS_EFFORT: u16 = 0b110;

/// How much of what ordinary tools write is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// What `compiler/pack` writes and no more: no data descriptors, no comments.
    Bundle,
    /// What Info-ZIP, Python, Go, 7-Zip and macOS write: also data descriptors and comments.
    Upload,
}

/// How an entry's data is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Stored,
    /// By deflate.
    Deflated,
    /// By a method that is not read here, with its number.
    Other(u16),
}

impl Method {
    fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Stored,
            8 => Self::Deflated,
            other => Self::Other(other),
        }
    }
}

/// One entry, as central directory and local header both say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveEntry<'a> {
    /// The name's bytes; no rule has been applied to them.
    pub name: &'a [u8],
    /// How the data is stored.
    pub method: Method,
    /// The flags, raw.
    pub flags: u16,
    /// The CRC-32 that the contents must have.
    pub crc32: u32,
    /// Bytes of the data as stored.
    pub compressed_size: u64,
    /// Bytes that the contents must have.
    pub size: u64,
    /// The Unix mode, kind of file included, where the zip says one.
    pub unix_mode: Option<u32>,
    /// Where the data begins, in bytes from the start of the file.
    pub data_offset: u64,
    /// Where the local header begins, in bytes from the start of the file.
    pub header_offset: u64,
}

impl ArchiveEntry<'_> {
    /// The name for messages: what is not UTF-8 in it is replaced.
    #[must_use]
    pub fn lossy_name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Whether the name says that the entry is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.name.ends_with(b"/")
    }

    fn data_end(&self) -> u64 {
        self.data_offset.saturating_add(self.compressed_size)
    }
}

/// A zip whose structure holds together; no data has been inflated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive<'a> {
    entries: Vec<ArchiveEntry<'a>>,
}

impl<'a> Archive<'a> {
    /// Reads the structure of a bundle, whose whole file is `bytes`.
    ///
    /// # Errors
    /// The first fault, by [`Strictness::Bundle`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let (archive, faults) = Self::survey(bytes, Strictness::Bundle)?;
        match faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(archive),
        }
    }

    /// Reads the structure as far as it can be read, and gives the faults beside it. The archive
    /// may be believed only when there are none; with some it serves to find more.
    ///
    /// # Errors
    /// A fault that leaves nothing to be read further.
    pub fn survey(bytes: &'a [u8], strictness: Strictness) -> Result<(Self, Vec<Error>), Error> {
        let mut faults = Vec::new();
        let end = End::find(bytes, strictness, &mut faults)?;
        let directory = Central::read_all(bytes, &end)?;

        let mut entries = Vec::with_capacity(directory.len());
        let mut offset_of_name: BTreeMap<&[u8], u64> = BTreeMap::new();
        for central in &directory {
            if let Some(other) = offset_of_name.insert(central.name, central.offset) {
                faults.push(Error::Duplicate {
                    entry: central.lossy_name(),
                    offset: central.offset,
                    other_offset: other,
                });
            }
            if let Some(entry) = join(bytes, central, end.directory_offset, strictness, &mut faults) {
                entries.push(entry);
            }
        }
        // Gaps between entries that were not understood would only repeat what is known.
        if entries.len() == directory.len() {
            layout::check(bytes, &entries, end.directory_offset, &mut faults);
        }
        Ok((Self { entries }, faults))
    }

    /// The entries, in the central directory's order.
    #[must_use]
    pub fn entries(&self) -> &[ArchiveEntry<'a>] {
        &self.entries
    }
}

/// Compares an entry's two headers and makes one of them.
fn join<'a>(
    bytes: &'a [u8],
    central: &Central<'a>,
    directory_offset: u64,
    strictness: Strictness,
    faults: &mut Vec<Error>,
) -> Option<ArchiveEntry<'a>> {
    let name = || central.lossy_name();
    let at = central.header_offset;
    if central.is_zip64() {
        faults.push(Error::Zip64 { entry: Some(name()), offset: central.offset });
        return None;
    }
    if central.disk != 0 {
        faults.push(Error::MultiDisk { entry: Some(name()), offset: central.offset });
        return None;
    }
    let Some(local) = Local::read(bytes, at, directory_offset) else {
        faults.push(Error::LocalAbsent { entry: name(), offset: at });
        return None;
    };

    if local.is_zip64() {
        faults.push(Error::Zip64 { entry: Some(name()), offset: at });
        return None;
    }

    let before = faults.len();
    compare(central, &local, strictness, faults);
    let flags = central.flags | local.flags;
    if flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED) != 0 {
        faults.push(Error::Encrypted { entry: name(), offset: at });
    }
    let method = Method::from_number(central.method);
    match method {
        Method::Other(found) => faults.push(Error::MethodUnknown { entry: name(), offset: at, found }),
        Method::Stored if central.compressed_size != central.size && faults.len() == before => {
            faults.push(Error::SizeWrong {
                entry: name(),
                offset: at,
                found: u64::from(central.compressed_size),
                expected: u64::from(central.size),
            });
        }
        Method::Stored | Method::Deflated => {}
    }
    if strictness == Strictness::Bundle {
        if flags & FLAG_DESCRIPTOR != 0 {
            faults.push(Error::DescriptorUsed { entry: name(), offset: at });
        }
        if central.comment_bytes != 0 {
            faults.push(Error::Comment {
                entry: Some(name()),
                offset: central.offset,
                found: u64::from(central.comment_bytes),
            });
        }
    }

    let entry = ArchiveEntry {
        name: central.name,
        method,
        flags: central.flags,
        crc32: central.crc32,
        compressed_size: u64::from(central.compressed_size),
        size: u64::from(central.size),
        unix_mode: central.unix_mode(),
        data_offset: local.data_offset,
        header_offset: at,
    };
    if entry.data_end() > directory_offset {
        faults.push(Error::DataOutside {
            entry: name(),
            offset: at,
            found: entry.data_end(),
            allowed: directory_offset,
        });
        return None;
    }
    Some(entry)
}

fn compare(central: &Central<'_>, local: &Local<'_>, strictness: Strictness, faults: &mut Vec<Error>) {
    let offset = central.header_offset;
    if central.name != local.name {
        faults.push(Error::NamesDisagree {
            entry: central.lossy_name(),
            offset,
            found: String::from_utf8_lossy(local.name).into_owned(),
        });
    }
    // Info-ZIP's extra field with the name in Unicode: some readers take it for the name.
    for other in [central.unicode_name(), local.unicode_name()].into_iter().flatten() {
        if other != central.name {
            faults.push(Error::NamesDisagree {
                entry: central.lossy_name(),
                offset,
                found: String::from_utf8_lossy(other).into_owned(),
            });
            break;
        }
    }

    let ignored = match strictness {
        Strictness::Bundle => 0,
        Strictness::Upload => FLAGS_EFFORT,
    };
    // Before a data descriptor the local header does not know the sizes yet: it says zero, or
    // all ones, or writes them in afterwards.
    let streamed = (central.flags & local.flags) & FLAG_DESCRIPTOR != 0;
    let unknown = |found: u32| streamed && (found == 0 || found == u32::MAX);
    let mut differ = |field, found: u32, expected: u32, open: bool| {
        if found != expected && !open {
            faults.push(Error::HeadersDisagree {
                entry: central.lossy_name(),
                offset,
                field,
                found: u64::from(found),
                expected: u64::from(expected),
            });
        }
    };
    differ(Field::Method, local.method.into(), central.method.into(), false);
    let flags = |flags: u16| u32::from(flags & !ignored);
    differ(Field::Flags, flags(local.flags), flags(central.flags), false);
    differ(Field::Crc32, local.crc32, central.crc32, unknown(local.crc32));
    differ(
        Field::CompressedSize,
        local.compressed_size,
        central.compressed_size,
        unknown(local.compressed_size),
    );
    differ(Field::Size, local.size, central.size, unknown(local.size));
}
