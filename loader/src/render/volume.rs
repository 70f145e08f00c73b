//! Reads an image out of the volume, where everything but the two directories themselves is of
//! a stranger's making.
//!
//! The path is walked a name at a time from the open directory, and no name may be a symbolic
//! link, not even one that stays inside: so no path and no link leads out. Only a regular file is
//! read, and opening anything else does not wait (a FIFO would, for its other end).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use super::bytes_told;
use super::image::ImageType;
use super::link::{Mount, VolumePath};

/// The directories of the host that the module saw as its volume.
#[derive(Debug, Clone, Copy, Default)]
pub struct Volume<'a> {
    /// `/volume/tmp`.
    pub tmp: Option<&'a Path>,
    /// `/volume/data`, when the agent has enabled it.
    pub data: Option<&'a Path>,
}

/// Why the image that a link names is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The call had no such directory.
    #[error("the call has no such directory")]
    NoMount,
    /// There is no such file.
    #[error("there is no such file")]
    Absent,
    /// A name of the path is a symbolic link.
    #[error("its path goes through a symbolic link")]
    Symlink,
    /// It is a directory or another thing that is no file.
    #[error("it is not a regular file")]
    NotFile,
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

impl From<Errno> for Unreadable {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Absent,
            Errno::LOOP | Errno::MLINK => Self::Symlink,
            Errno::NXIO => Self::NotFile,
            other => Self::Refused(other.kind()),
        }
    }
}

/// Reads the image at `path`, of up to `max_bytes`.
pub(super) fn read(
    path: &VolumePath,
    volume: &Volume<'_>,
    max_bytes: u64,
) -> Result<(ImageType, Vec<u8>), Unreadable> {
    let root = match path.mount {
        Mount::Tmp => volume.tmp,
        Mount::Data => volume.data,
    };
    let mut directory = open(
        root.ok_or(Unreadable::NoMount)?,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let (name, above) = path.names.split_last().ok_or(Unreadable::NotFile)?;
    for name in above {
        directory = inside(&directory, name, OFlags::DIRECTORY)?;
    }
    let file = inside(&directory, name, OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Unreadable::NotFile);
    }
    let too_large = |found| Unreadable::TooLarge { found, max: max_bytes };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let refused = |error: io::Error| Unreadable::Refused(error.kind());
    let mut file = File::from(file);
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

/// Opens `name` in `directory`, unless it is a symbolic link.
fn inside(directory: &OwnedFd, name: &[u8], more: OFlags) -> Result<OwnedFd, Unreadable> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    match openat(directory, name, flags, Mode::empty()) {
        Ok(opened) => Ok(opened),
        // What Linux says of a symbolic link where a directory is wanted.
        Err(Errno::NOTDIR) if is_symlink(directory, name) => Err(Unreadable::Symlink),
        Err(Errno::NOTDIR) => Err(Unreadable::Absent),
        Err(other) => Err(other.into()),
    }
}

/// Only chooses the words of a refusal.
fn is_symlink(directory: &OwnedFd, name: &[u8]) -> bool {
    rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}
