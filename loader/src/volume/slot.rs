//! A place for a file that is not there yet, or is there and will be replaced whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::{Unusable, Volume, VolumePath, inside, kind_of};

/// A place in the volume that takes a new file. What is written stands beside it under another
/// name until [`commit`](Slot::commit) puts it in its place; a slot that is dropped before leaves
/// nothing behind, neither the file nor directories.
#[derive(Debug)]
pub struct Slot {
    /// The deepest directory of the path that is there.
    directory: OwnedFd,
    /// The directories below it that are not.
    missing: Vec<Vec<u8>>,
    name: Vec<u8>,
    written: Option<Written>,
}

#[derive(Debug)]
struct Written {
    name: String,
    file: File,
}

impl Volume<'_> {
    /// The place at `path`. Nothing is made or changed yet.
    ///
    /// # Errors
    ///
    /// No regular file can be there, or a symbolic link is on the way.
    pub fn slot(&self, path: &VolumePath) -> Result<Slot, Unusable> {
        let mut directory = self.root(path.mount)?;
        let (name, above) = path.names.split_last().ok_or(Unusable::NotFile)?;
        let mut missing = Vec::new();
        for name in above {
            // Below what is not there, nothing is.
            if !missing.is_empty() {
                missing.push(name.clone());
                continue;
            }
            match inside(&directory, name, OFlags::DIRECTORY) {
                Ok(opened) => directory = opened,
                Err(Unusable::Absent) => missing.push(name.clone()),
                Err(unusable) => return Err(unusable),
            }
        }
        if missing.is_empty() {
            check_place(&directory, name)?;
        }
        Ok(Slot { directory, missing, name: name.clone(), written: None })
    }
}

impl Slot {
    /// Appends `bytes` to what will be the file.
    ///
    /// # Errors
    ///
    /// The host's disk refuses them.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written()?.file.write_all(bytes)
    }

    /// Makes the directories above the file, and puts it in its place.
    ///
    /// # Errors
    ///
    /// The place is no longer what it was, or the host's disk refuses.
    pub fn commit(mut self) -> io::Result<()> {
        self.written()?;
        let mut made = None;
        for name in &self.missing {
            let above = made.as_ref().unwrap_or(&self.directory);
            match mkdirat(above, name.as_slice(), Mode::from(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            made = Some(inside(above, name, OFlags::DIRECTORY).map_err(io::Error::other)?);
        }
        let into = made.as_ref().unwrap_or(&self.directory);
        check_place(into, &self.name).map_err(io::Error::other)?;
        if let Some(written) = &self.written {
            renameat(&self.directory, written.name.as_str(), into, self.name.as_slice())?;
            self.written = None;
        }
        Ok(())
    }

    fn written(&mut self) -> io::Result<&mut Written> {
        if self.written.is_none() {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let name = format!(".subako-{:016x}.part", u64::from_ne_bytes(random));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&self.directory, name.as_str(), flags, Mode::from(0o666))?;
            self.written = Some(Written { name, file: File::from(file) });
        }
        self.written.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(written) = &self.written {
            // What cannot be removed is a leftover in the module's own volume.
            let _ = unlinkat(&self.directory, written.name.as_str(), AtFlags::empty());
        }
    }
}

/// A regular file may be replaced, nothing else.
fn check_place(directory: &OwnedFd, name: &[u8]) -> Result<(), Unusable> {
    match kind_of(directory, name) {
        None | Some(FileType::RegularFile) => Ok(()),
        Some(FileType::Symlink) => Err(Unusable::Symlink),
        Some(_) => Err(Unusable::NotFile),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn slot(root: &Path, below: &str) -> Result<Slot, Unusable> {
        let volume = Volume { tmp: Some(root), data: None };
        volume.slot(&VolumePath::of_guest(&format!("/volume/tmp/{below}")).unwrap())
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "old").unwrap();
        let mut a = slot(root.path(), "a").unwrap();
        a.write(b"ne").unwrap();
        assert_eq!(fs::read(root.path().join("a")).unwrap(), b"old");
        a.write(b"w").unwrap();
        a.commit().unwrap();
        assert_eq!(fs::read(root.path().join("a")).unwrap(), b"new");

        let mut deep = slot(root.path(), "b/c/d").unwrap();
        deep.write(b"deep").unwrap();
        deep.commit().unwrap();
        assert_eq!(fs::read(root.path().join("b/c/d")).unwrap(), b"deep");

        slot(root.path(), "empty").unwrap().commit().unwrap();
        assert_eq!(fs::read(root.path().join("empty")).unwrap(), b"");
        assert_eq!(names(root.path()), ["a", "b", "empty"]);
    }

    #[test]
    fn a_dropped_slot_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let mut dropped = slot(root.path(), "b/c").unwrap();
        dropped.write(b"half").unwrap();
        drop(dropped);
        assert_eq!(names(root.path()), Vec::<String>::new());
    }

    #[test]
    fn nothing_leads_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "kept").unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(outside.path(), root.path().join("dir")).unwrap();
        symlink(outside.path().join("kept"), root.path().join("link")).unwrap();
        symlink(outside.path().join("new"), root.path().join("dangling")).unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        for (below, why) in [
            ("dir/new", Unusable::Symlink),
            ("dir/sub/new", Unusable::Symlink),
            ("link", Unusable::Symlink),
            ("dangling", Unusable::Symlink),
            ("folder", Unusable::NotFile),
            ("file/new", Unusable::NotDirectory),
        ] {
            assert_eq!(slot(root.path(), below).unwrap_err(), why, "{below}");
        }

        // A link that appears after the first look is seen at the second.
        let mut late = slot(root.path(), "late/file").unwrap();
        late.write(b"x").unwrap();
        symlink(outside.path(), root.path().join("late")).unwrap();
        late.commit().unwrap_err();
        assert_eq!(names(outside.path()), ["kept"]);
        assert_eq!(fs::read(outside.path().join("kept")).unwrap(), b"kept");
    }
}
