//! Directories that are made for a call and go with it, whoever ends it: the thread that made them,
//! or the one that finds the module stuck.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::host::locked;

/// The directories of one call. They go when the last clone does, or by [`Scratch::clear`].
#[derive(Debug, Clone, Default)]
pub struct Scratch(Arc<Mutex<Vec<TempDir>>>);

impl Scratch {
    /// Makes a directory that only this user can enter: what a module writes is its caller's.
    ///
    /// # Errors
    ///
    /// The directory of temporary files has no room, or may not be written.
    pub fn directory(&self, prefix: &str) -> io::Result<PathBuf> {
        let directory = fresh(prefix)?;
        let path = directory.path().to_owned();
        locked(&self.0).push(directory);
        Ok(path)
    }

    /// Removes the directories. Gives those that could not be, each with the reason: what a module
    /// left in one can be such, nested deeper than this process may open, for one.
    pub fn clear(&self) -> Vec<(PathBuf, io::Error)> {
        let directories = std::mem::take(&mut *locked(&self.0));
        directories
            .into_iter()
            .filter_map(|directory| {
                // Most are empty: then one call removes them.
                let path = directory.path().to_owned();
                match fs::remove_dir(&path) {
                    Ok(()) => {
                        let _ = directory.keep();
                        None
                    }
                    Err(_) => directory.close().err().map(|error| (path, error)),
                }
            })
            .collect()
    }
}

/// A fresh directory that only this user can enter.
///
/// # Errors
///
/// The directory of temporary files has no room, or may not be written.
pub fn fresh(prefix: &str) -> io::Result<TempDir> {
    let only_ours = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(prefix).permissions(only_ours).tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_go_with_the_last_who_knows_them_or_when_cleared() {
        let scratch = Scratch::default();
        let (first, second) = (scratch.directory("a-").unwrap(), scratch.directory("b-").unwrap());
        assert!(first.is_dir() && second.is_dir());
        assert!(scratch.clear().is_empty());
        assert!(!first.exists() && !second.exists());

        let third = scratch.directory("c-").unwrap();
        let other = scratch.clone();
        drop(scratch);
        assert!(third.is_dir());
        drop(other);
        assert!(!third.exists());
    }

    #[test]
    fn a_directory_is_the_users_alone() {
        let scratch = Scratch::default();
        let path = scratch.directory("a-").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
