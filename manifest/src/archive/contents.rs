//! The contents of one entry, inflated and compared with what its headers say.

use std::borrow::Cow;

use flate2::{Decompress, FlushDecompress, Status};

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

fn inflate(data: &[u8], entry: &ArchiveEntry<'_>) -> Result<Vec<u8>, Error> {
    let offset = entry.header_offset;
    let broken = || Error::DataBroken { entry: entry.lossy_name(), offset };
    let mut stream = Decompress::new(false);
    let mut chunk = vec![0; 64 * 1024];
    let mut contents: Vec<u8> = Vec::new();
    loop {
        let rest = data.get(stream.total_in() as usize..).ok_or_else(broken)?;
        let before = (stream.total_in(), stream.total_out());
        let status = stream.decompress(rest, &mut chunk, FlushDecompress::None).map_err(|_| broken())?;
        let inflated = (stream.total_out() - before.1) as usize;
        contents.extend_from_slice(&chunk[..inflated]);
        if contents.len() as u64 > entry.size {
            return Err(Error::SizeWrong {
                entry: entry.lossy_name(),
                offset,
                found: entry.size + 1,
                expected: entry.size,
            });
        }
        match status {
            Status::StreamEnd => break,
            // No step forward with room in the chunk: the stream wants data that is not there.
            Status::Ok | Status::BufError if before == (stream.total_in(), stream.total_out()) => {
                return Err(broken());
            }
            Status::Ok | Status::BufError => {}
        }
    }
    if stream.total_in() != data.len() as u64 {
        return Err(Error::DataLong {
            entry: entry.lossy_name(),
            offset,
            found: data.len() as u64,
            expected: stream.total_in(),
        });
    }
    Ok(contents)
}
