//! Every way a zip lies, each its own variant.

use std::fmt;

use crate::text::{grouped, shown};

/// What is wrong with a zip. `offset` is in bytes from the start of the file: of the entry's
/// local header where `entry` says which, unless the field says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No end record: not a zip, or one that was cut off.
    #[error("the zip has no end record: it is cut off, or not a zip")]
    EndAbsent,
    /// A second end record after the first: readers would differ over which one counts.
    #[error("the zip has two end records")]
    EndTwice {
        /// Where the second one is.
        offset: u64,
    },
    /// Bytes after the end record that its comment does not cover.
    #[error("the zip has {} bytes after its end", grouped(*.found))]
    TrailingBytes {
        /// Where they begin.
        offset: u64,
        /// How many there are.
        found: u64,
    },
    /// A comment, where none may be.
    #[error("{} has a comment of {} bytes, and none is allowed", whole_or_entry(.entry), grouped(*.found))]
    Comment {
        /// The entry; none for the comment of the whole zip.
        entry: Option<String>,
        /// Where its record is.
        offset: u64,
        /// Its bytes.
        found: u64,
    },
    /// The zip needs 64-bit fields.
    #[error("{} uses zip64, which is not read", whole_or_entry(.entry))]
    Zip64 {
        /// The entry; none when the end record says so.
        entry: Option<String>,
        /// Where the record is that says so.
        offset: u64,
    },
    /// The zip is one part of several.
    #[error("{} says that it is one of several disks, which are not read", whole_or_entry(.entry))]
    MultiDisk {
        /// The entry; none when the end record says so.
        entry: Option<String>,
        /// Where the record is that says so.
        offset: u64,
    },
    /// The central directory is not right before the end record.
    #[error("the zip's directory ends at {} and its end record begins at {}", grouped(*.found), grouped(*.expected))]
    DirectoryMisplaced {
        /// Where the directory begins, by the end record.
        offset: u64,
        /// Where the directory ends, by the end record.
        found: u64,
        /// Where the end record is.
        expected: u64,
    },
    /// A header of the central directory is cut off or not one.
    #[error("the zip's directory has no header where its entry {index} must be")]
    DirectoryHeader {
        /// Where it must be.
        offset: u64,
        /// Which entry, from 0.
        index: u64,
    },
    /// The central directory goes on after its last entry.
    #[error("the zip's directory has {} bytes after its last entry", grouped(*.found))]
    DirectoryLong {
        /// Where they begin.
        offset: u64,
        /// How many there are.
        found: u64,
    },
    /// Two entries of one name.
    #[error("entry `{}` is twice in the zip", shown(.entry))]
    Duplicate {
        /// The name.
        entry: String,
        /// Where the later header of the central directory is.
        offset: u64,
        /// Where the earlier one is.
        other_offset: u64,
    },
    /// No local header where the central directory says.
    #[error("entry `{}` has no header at offset {offset:#x}", shown(.entry))]
    LocalAbsent {
        /// The entry.
        entry: String,
        /// Where its local header must be.
        offset: u64,
    },
    /// An entry has another name in another place.
    #[error("entry `{}` has a second name, `{}`", shown(.entry), shown(.found))]
    NamesDisagree {
        /// The name in the central directory.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The other name.
        found: String,
    },
    /// An entry's two headers differ in a number.
    #[error("entry `{}` has {field} {found} in its own header and {expected} in the zip's directory", shown(.entry))]
    HeadersDisagree {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// What differs.
        field: Field,
        /// The local header's number.
        found: u64,
        /// The central directory's.
        expected: u64,
    },
    /// An entry's data goes past the entries' part of the file.
    #[error("entry `{}` ends at {}, past the entries' end at {}", shown(.entry), grouped(*.found), grouped(*.allowed))]
    DataOutside {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// Where its data would end.
        found: u64,
        /// Where the central directory begins.
        allowed: u64,
    },
    /// Two entries share bytes.
    #[error("entry `{}` overlaps entry `{}`", shown(.entry), shown(.other))]
    Overlap {
        /// The later one.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The earlier one.
        other: String,
    },
    /// Bytes between entries that belong to none.
    #[error("the zip has {} bytes {} that belong to no entry", grouped(*.found), place(.entry))]
    Gap {
        /// The entry before them; none before the first.
        entry: Option<String>,
        /// Where they begin.
        offset: u64,
        /// How many there are.
        found: u64,
    },
    /// An entry's data descriptor is absent or says something else than the central directory.
    #[error("entry `{}` has no right data descriptor at offset {offset:#x}", shown(.entry))]
    DescriptorWrong {
        /// The entry.
        entry: String,
        /// Where the descriptor must be.
        offset: u64,
    },
    /// A data descriptor, where none may be.
    #[error("entry `{}` has a data descriptor, and none is allowed", shown(.entry))]
    DescriptorUsed {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
    },
    /// The entry is encrypted.
    #[error("entry `{}` is encrypted", shown(.entry))]
    Encrypted {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
    },
    /// The entry is compressed by a method that is not read.
    #[error("entry `{}` is compressed by method {found}, and only 0 (stored) and 8 (deflated) are read", shown(.entry))]
    MethodUnknown {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The method's number.
        found: u16,
    },
    /// The contents are shorter or longer than the headers say.
    #[error("entry `{}` has {} bytes and says {}", shown(.entry), at_least(*.found, *.expected), grouped(*.expected))]
    SizeWrong {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The bytes there are; inflating stops at one more than `expected`.
        found: u64,
        /// The bytes that the headers say.
        expected: u64,
    },
    /// The contents are larger than the caller allows.
    #[error("entry `{}` has {} bytes, at most {} are allowed", shown(.entry), grouped(*.found), grouped(*.allowed))]
    TooLarge {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The bytes that the headers say.
        found: u64,
        /// The caller's limit.
        allowed: u64,
    },
    /// The contents have another CRC-32 than the headers say.
    #[error("entry `{}` has CRC-32 {found:08x} and says {expected:08x}", shown(.entry))]
    CrcWrong {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The CRC-32 of the contents.
        found: u32,
        /// The CRC-32 that the headers say.
        expected: u32,
    },
    /// The data is not a deflate stream, or one that was cut off.
    #[error("entry `{}` does not inflate: its data is broken", shown(.entry))]
    DataBroken {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
    },
    /// The deflate stream ends before the entry's data does.
    #[error("entry `{}` has {} bytes of data, of which only {} belong to its contents", shown(.entry), grouped(*.found), grouped(*.expected))]
    DataLong {
        /// The entry.
        entry: String,
        /// Where its local header is.
        offset: u64,
        /// The entry's compressed size.
        found: u64,
        /// The length of the deflate stream.
        expected: u64,
    },
}

impl Error {
    /// The entry concerned, as lossy UTF-8; none when it is the zip as a whole.
    #[must_use]
    pub fn entry(&self) -> Option<&str> {
        match self {
            Self::EndAbsent
            | Self::EndTwice { .. }
            | Self::TrailingBytes { .. }
            | Self::DirectoryMisplaced { .. }
            | Self::DirectoryHeader { .. }
            | Self::DirectoryLong { .. } => None,
            Self::Comment { entry, .. }
            | Self::Zip64 { entry, .. }
            | Self::MultiDisk { entry, .. }
            | Self::Gap { entry, .. } => entry.as_deref(),
            Self::Duplicate { entry, .. }
            | Self::LocalAbsent { entry, .. }
            | Self::NamesDisagree { entry, .. }
            | Self::HeadersDisagree { entry, .. }
            | Self::DataOutside { entry, .. }
            | Self::Overlap { entry, .. }
            | Self::DescriptorWrong { entry, .. }
            | Self::DescriptorUsed { entry, .. }
            | Self::Encrypted { entry, .. }
            | Self::MethodUnknown { entry, .. }
            | Self::SizeWrong { entry, .. }
            | Self::TooLarge { entry, .. }
            | Self::CrcWrong { entry, .. }
            | Self::DataBroken { entry, .. }
            | Self::DataLong { entry, .. } => Some(entry),
        }
    }

    /// Where it is, in bytes from the start of the file.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::EndAbsent => None,
            Self::EndTwice { offset }
            | Self::TrailingBytes { offset, .. }
            | Self::Comment { offset, .. }
            | Self::Zip64 { offset, .. }
            | Self::MultiDisk { offset, .. }
            | Self::DirectoryMisplaced { offset, .. }
            | Self::DirectoryHeader { offset, .. }
            | Self::DirectoryLong { offset, .. }
            | Self::Duplicate { offset, .. }
            | Self::LocalAbsent { offset, .. }
            | Self::NamesDisagree { offset, .. }
            | Self::HeadersDisagree { offset, .. }
            | Self::DataOutside { offset, .. }
            | Self::Overlap { offset, .. }
            | Self::Gap { offset, .. }
            | Self::DescriptorWrong { offset, .. }
            | Self::DescriptorUsed { offset, .. }
            | Self::Encrypted { offset, .. }
            | Self::MethodUnknown { offset, .. }
            | Self::SizeWrong { offset, .. }
            | Self::TooLarge { offset, .. }
            | Self::CrcWrong { offset, .. }
            | Self::DataBroken { offset, .. }
            | Self::DataLong { offset, .. } => Some(*offset),
        }
    }
}

/// A number that an entry's two headers both hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The compression method.
    Method,
    /// The flags.
    Flags,
    /// The CRC-32 of the contents.
    Crc32,
    /// Bytes as stored.
    CompressedSize,
    /// Bytes of the contents.
    Size,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "the method",
            Self::Flags => "the flags",
            Self::Crc32 => "the CRC-32",
            Self::CompressedSize => "the compressed size",
            Self::Size => "the size",
        })
    }
}

fn whole_or_entry(entry: &Option<String>) -> String {
    match entry {
        Some(entry) => format!("entry `{}`", shown(entry)),
        None => "the zip".to_owned(),
    }
}

fn place(entry: &Option<String>) -> String {
    match entry {
        Some(entry) => format!("after entry `{}`", shown(entry)),
        None => "before its first entry".to_owned(),
    }
}

fn at_least(found: u64, expected: u64) -> String {
    if found > expected { format!("at least {}", grouped(found)) } else { grouped(found) }
}
