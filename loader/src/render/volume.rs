//! Reads an image out of the volume.

use std::io::{self, Read as _};

use super::bytes_told;
use super::image::ImageType;
use crate::volume::{Unusable, Volume, VolumePath};

/// Why the image that a link names is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is no such file, or none that may be read.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// It is larger than it may be.
    #[error("it has {}, at most {} are shown", bytes_told(*.found), bytes_told(*.max))]
    TooLarge {
        /// Its bytes.
        found: u64,
        /// How many may be read.
        max: u64,
    },
    /// With the files before it, it is larger than all together may be.
    #[error("the files that this answer links to are too large together")]
    TooLargeTogether,
    /// It begins like no image that is shown.
    #[error("it is no PNG, JPEG, GIF or WebP image")]
    NotImage,
    /// The system refused.
    #[error("it cannot be read: {0}")]
    Refused(io::ErrorKind),
}

/// Reads the image at `path`, of up to `max_bytes`.
pub(super) fn read(
    path: &VolumePath,
    volume: &Volume<'_>,
    max_bytes: u64,
) -> Result<(ImageType, Vec<u8>), Unreadable> {
    let (mut file, size) = volume.open(path)?;
    let too_large = |found| Unreadable::TooLarge { found, max: max_bytes };
    let refused = |error: io::Error| Unreadable::Refused(error.kind());
    let mut bytes = Vec::new();
    // The first bytes alone tell what it is, so that nothing else is read whole.
    (&mut file).take(ImageType::TELLING_BYTES as u64).read_to_end(&mut bytes).map_err(refused)?;
    let image = ImageType::of(&bytes).ok_or(Unreadable::NotImage)?;
    if size > max_bytes {
        return Err(too_large(size));
    }
    // One byte more than allowed, for a file that has grown since it was measured.
    let rest = (max_bytes + 1).saturating_sub(bytes.len() as u64);
    file.take(rest).read_to_end(&mut bytes).map_err(refused)?;
    let found = bytes.len() as u64;
    if found > max_bytes { Err(too_large(found)) } else { Ok((image, bytes)) }
}
