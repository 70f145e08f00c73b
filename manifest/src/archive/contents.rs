//! The contents of one entry, inflated and compared with what its headers say.

use std::borrow::Cow;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::{ArchiveEntry, Error, Method};

/// The contents of `entry`, which [`super::Archive`] read from the same `bytes`. Stored entries
/// are borrowed. Memory grows with what is really inflated, never with what the headers say.
///
/// # Errors
/// When the headers say more than `max` bytes, and when the contents are not what they say.
pub fn contents<'a>(bytes: &'a [u8], entry: &ArchiveEntry<'_>, max: u64) -> Result<Cow<'a, [u8]>, Error> {
    let offset = entry.header_offset;
    let name = || entry.lossy_name();
    if entry.size > max {
        return Err(Error::TooLarge { entry: name(), offset, found: entry.size, allowed: max });
    }
    let data = usize::try_from(entry.data_offset)
        .ok()
        .zip(usize::try_from(entry.data_end()).ok())
        .and_then(|(from, to)| bytes.get(from..to))
        .ok_or_else(|| Error::DataOutside {
            entry: name(),
            offset,
            found: entry.data_end(),
            allowed: bytes.len() as u64,
        })?;

    let contents = match entry.method {
        Method::Stored => Cow::Borrowed(data),
        Method::Deflated => Cow::Owned(inflate(data, entry)?),
        Method::Other(found) => return Err(Error::MethodUnknown { entry: name(), offset, found }),
    };
    let found = contents.len() as u64;
    if found != entry.size {
        return Err(Error::SizeWrong { entry: name(), offset, found, expected: entry.size });
    }
    let found = crc32fast::hash(&contents);
    if found != entry.crc32 {
        return Err(Error::CrcWrong { entry: name(), offset, found, expected: entry.crc32 });
    }
    Ok(contents)
}

/// Room for the first bytes; it is doubled as long as more come.
const FIRST_BYTES: usize = 16 * 1024;

fn inflate(data: &[u8], entry: &ArchiveEntry<'_>) -> Result<Vec<u8>, Error> {
    let offset = entry.header_offset;
    let broken = || Error::DataBroken { entry: entry.lossy_name(), offset };
    let size = usize::try_from(entry.size).map_err(|_| broken())?;
    let mut inflater = DecompressorOxide::new();
    let mut contents = vec![0; size.min(FIRST_BYTES)];
    let (mut taken, mut inflated) = (0, 0);
    loop {
        let whole = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, more_taken, more) =
            decompress(&mut inflater, &data[taken..], &mut contents, inflated, whole);
        (taken, inflated) = (taken + more_taken, inflated + more);
        match status {
            TINFLStatus::Done => break,
            TINFLStatus::HasMoreOutput if inflated < size => {
                contents.resize(contents.len().saturating_mul(2).min(size), 0);
            }
            TINFLStatus::HasMoreOutput => {
                return Err(Error::SizeWrong {
                    entry: entry.lossy_name(),
                    offset,
                    found: entry.size + 1,
                    expected: entry.size,
                });
            }
            _ => return Err(broken()),
        }
    }
    if taken != data.len() {
        return Err(Error::DataLong {
            entry: entry.lossy_name(),
            offset,
            found: data.len() as u64,
            expected: taken as u64,
        });
    }
    contents.truncate(inflated);
    Ok(contents)
}
