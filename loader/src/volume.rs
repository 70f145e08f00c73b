//! The volume from the host's side, where everything but the two directories themselves is of a
//! stranger's making.
//!
//! A path is walked a name at a time from the open directory, and no name may be a symbolic link,
//! not even one that stays inside: so no path and no link leads out. Only a regular file is read,
//! and opening anything else does not wait (a FIFO would, for its other end).

mod path;
mod slot;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;

pub use path::{Mount, NotPath, VolumePath};
pub use slot::Slot;

/// The directories of the host that the module sees as its volume.
#[derive(Debug, Clone, Copy, Default)]
pub struct Volume<'a> {
    /// `/volume/tmp`.
    pub tmp: Option<&'a Path>,
    /// `/volume/data`, when the agent has enabled it.
    pub data: Option<&'a Path>,
}

/// Why there is no use of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
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
    /// Something on the way to it is no directory.
    #[error("its path goes through a file")]
    NotDirectory,
    /// The system refused.
    #[error("it cannot be opened: {0}")]
    Refused(io::ErrorKind),
}

impl From<Errno> for Unusable {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Absent,
            Errno::LOOP | Errno::MLINK => Self::Symlink,
            Errno::NXIO => Self::NotFile,
            Errno::NOTDIR => Self::NotDirectory,
            other => Self::Refused(other.kind()),
        }
    }
}

impl Volume<'_> {
    /// Opens the regular file at `path` to read it, and says how many bytes it has.
    ///
    /// # Errors
    ///
    /// There is none, or a symbolic link is on the way.
    pub fn open(&self, path: &VolumePath) -> Result<(File, u64), Unusable> {
        let mut directory = self.root(path.mount)?;
        let (name, above) = path.names.split_last().ok_or(Unusable::NotFile)?;
        for name in above {
            directory = match inside(&directory, name, OFlags::DIRECTORY) {
                // Below a file, nothing is.
                Err(Unusable::NotDirectory) => return Err(Unusable::Absent),
                opened => opened?,
            };
        }
        let file = inside(&directory, name, OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Unusable::NotFile);
        }
        Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0)))
    }

    fn root(&self, mount: Mount) -> Result<OwnedFd, Unusable> {
        let root = match mount {
            Mount::Tmp => self.tmp,
            Mount::Data => self.data,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(open(root.ok_or(Unusable::NoMount)?, flags, Mode::empty())?)
    }
}

/// Opens `name` in `directory`, unless it is a symbolic link.
fn inside(directory: &OwnedFd, name: &[u8], more: OFlags) -> Result<OwnedFd, Unusable> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    match openat(directory, name, flags, Mode::empty()) {
        Ok(opened) => Ok(opened),
        // What Linux says of a symbolic link where a directory is wanted.
        Err(Errno::NOTDIR) if kind_of(directory, name) == Some(FileType::Symlink) => Err(Unusable::Symlink),
        Err(other) => Err(other.into()),
    }
}

/// What `name` is, links not followed; none where nothing is.
fn kind_of(directory: &OwnedFd, name: &[u8]) -> Option<FileType> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}
