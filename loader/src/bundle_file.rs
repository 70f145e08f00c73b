//! A bundle's file: mapped where nobody else can change it, else read into memory of our own.
//!
//! What is verified has to be what runs. A mapped file follows its file: whoever can write the
//! file can change pages that were verified a moment ago. So a file is mapped only if the two
//! users that could replace this process anyway, root and the one it runs as, are the only ones
//! who may write it; every other file is copied before anything of it is believed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use memmap2::Mmap;

use crate::map::{self, Memory};
use crate::ownership::only_we_may_write;

/// A bundle's bytes, as they are on disk.
#[derive(Debug)]
pub enum BundleFile {
    /// The file itself.
    Mapped {
        /// All of it, read-only.
        bytes: Mmap,
        /// The file, for private mappings of parts of it.
        file: File,
    },
    /// A copy.
    Copied(Vec<u8>),
}

impl AsRef<[u8]> for BundleFile {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Mapped { bytes, .. } => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

impl BundleFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    ///
    /// It is not there, is no regular file, or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Opening a FIFO would wait for somebody to write to it; a file does not mind.
        let waits_not = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(waits_not).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        if only_we_may_write(&metadata)
            && let Ok(bytes) = map::file(&file)
        {
            return Ok(Self::Mapped { bytes, file });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Copied(bytes))
    }

    /// A part of the file as memory of this process alone: writing to it changes nobody's file.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn private(&self, range: Range<usize>) -> io::Result<Memory> {
        match self {
            Self::Mapped { file, bytes } => {
                Memory::of_file(file, range.clone()).or_else(|_| Memory::copy_of(&bytes[range]))
            }
            Self::Copied(bytes) => Memory::copy_of(&bytes[range]),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_that_others_may_write_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        std::fs::write(&path, vec![7; 20_000]).unwrap();
        for (mode, mapped) in [(0o600, true), (0o644, true), (0o664, false), (0o646, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let file = BundleFile::open(&path).unwrap();
            assert_eq!(matches!(file, BundleFile::Mapped { .. }), mapped, "{mode:o}");
            assert_eq!(file.as_ref(), &[7; 20_000]);
            assert_eq!(&*file.private(16_384..20_000).unwrap(), &[7; 3_616]);
        }
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(BundleFile::open(folder.path()).is_err());
        assert!(BundleFile::open(&folder.path().join("absent")).is_err());
        std::fs::write(folder.path().join("empty"), "").unwrap();
        assert_eq!(BundleFile::open(&folder.path().join("empty")).unwrap().as_ref(), b"");
    }
}
