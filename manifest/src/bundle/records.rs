//! The entries of a bundle as bytes: so that one can be put in or taken out while all the others
//! stay what they are, but for the padding of artifacts that move.
//!
//! Only bundles that [`super::OpenBundle`] has read come here: their offsets are
//! inside the file, nothing lies between entries, and nothing has a comment.

use super::layout::padding as artifact_padding;
use super::write::WriteError;

const LOCAL_BYTES: usize = 30;
const DIRECTORY_BYTES: usize = 46;
const END_BYTES: usize = 22;

/// An entry: its two headers and its data.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Local header, path, padding and data.
    local: &'a [u8],
    /// The directory's header, and the path.
    central: &'a [u8],
}

impl<'a> Record<'a> {
    /// The entry's path, as the zip's directory has it.
    #[must_use]
    pub fn path(&self) -> &'a [u8] {
        &self.central[DIRECTORY_BYTES..]
    }

    /// Writes what stands before and in the data; what is stored as it is, aligned anew.
    fn write_local(&self, bytes: &mut Vec<u8>) -> Result<(), WriteError> {
        let stored = u16_at(self.local, 8) == 0;
        if !stored {
            bytes.extend(self.local);
            return Ok(());
        }
        let path_end = LOCAL_BYTES + self.path().len();
        let data = path_end + usize::from(u16_at(self.local, 28));
        let padding = artifact_padding(u64::from(u32_of(bytes.len() + path_end)?));
        // At most one alignment and a record's head: far below the field's range.
        let length = u16::try_from(padding.len()).map_err(|_| WriteError::TooLarge)?;
        bytes.extend(&self.local[..28]);
        bytes.extend(length.to_le_bytes());
        bytes.extend(self.path());
        bytes.extend(padding);
        bytes.extend(&self.local[data..]);
        Ok(())
    }
}

/// The entries of a bundle, in their order.
///
/// # Panics
///
/// When it is no bundle.
#[must_use]
pub fn read(bundle: &[u8]) -> Vec<Record<'_>> {
    let end = &bundle[bundle.len() - END_BYTES..];
    let (entries, directory) = (u16_at(end, 10), u32_at(end, 16));
    let mut centrals = Vec::with_capacity(entries.into());
    let mut at = directory;
    for _ in 0..entries {
        let length = DIRECTORY_BYTES + usize::from(u16_at(&bundle[at..], 28));
        centrals.push(&bundle[at..at + length]);
        at += length;
    }
    let starts = centrals.iter().map(|central| u32_at(central, 42));
    let ends = starts.clone().skip(1).chain([directory]);
    let locals = starts.zip(ends).map(|(start, end)| &bundle[start..end]);
    locals.zip(&centrals).map(|(local, central)| Record { local, central }).collect()
}

/// The bundle of these entries.
///
/// # Errors
///
/// The limits of a zip.
pub fn write(records: &[Record<'_>]) -> Result<Vec<u8>, WriteError> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for record in records {
        let mut central = record.central.to_vec();
        central[42..46].copy_from_slice(&u32_of(bytes.len())?.to_le_bytes());
        directory.extend(central);
        record.write_local(&mut bytes)?;
    }
    let too_many = |_| WriteError::TooManyEntries { found: records.len() as u64 };
    let entries = u16::try_from(records.len()).map_err(too_many)?;
    let (size, offset) = (u32_of(directory.len())?, u32_of(bytes.len())?);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([entries.to_le_bytes(), entries.to_le_bytes()].concat());
    bytes.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    bytes.extend(0_u16.to_le_bytes());
    Ok(bytes)
}

fn u32_of(number: usize) -> Result<u32, WriteError> {
    u32::try_from(number).map_err(|_| WriteError::TooLarge)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16_at(bytes, at)) | usize::from(u16_at(bytes, at + 2)) << 16
}
