//! A bundle's assets as a directory, which is what a preopen has to be.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use subako_manifest::bundle::{self, PACKAGE_DIR};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::index::Role;

use crate::scratch::Scratch;
use crate::verify::VerifiedBundle;

/// The assets could not be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An asset is not what the index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// The directory cannot be written.
    #[error("`{}` cannot be written", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Bundle(error) => error.diagnostics(),
            Self::Write { path, source } => {
                let path = path.display().to_string();
                vec![Diagnostic::error(Code::Io, path, format!("{self}: {source}"))]
            }
        }
    }
}

/// An asset: its path below `/package`, and its bytes.
pub type Asset<'a> = (&'a str, Cow<'a, [u8]>);

/// The assets of a bundle, each a path below `/package` and its bytes, compared with the index.
///
/// # Errors
///
/// An asset is not what the index says.
pub fn assets<B: AsRef<[u8]>>(bundle: &VerifiedBundle<B>) -> Result<Vec<Asset<'_>>, Error> {
    let assets = bundle.index().entries.iter().filter(|entry| entry.role == Role::Asset);
    assets
        .map(|asset| {
            let path = asset.path.strip_prefix(PACKAGE_DIR).unwrap_or(&asset.path);
            Ok((path, bundle.contents(asset)?))
        })
        .collect()
}

/// Writes files into a fresh directory of `scratch`, and gives its path.
///
/// # Errors
///
/// The directory cannot be written.
pub fn write<B: AsRef<[u8]>>(files: &[(&str, B)], scratch: &Scratch) -> Result<PathBuf, Error> {
    let root = scratch
        .directory("subako-package-")
        .map_err(|source| Error::Write { path: std::env::temp_dir(), source })?;
    fill(&root, files)?;
    Ok(root)
}

/// Writes files into a directory, as [`fill`] does, and makes the directory.
///
/// # Errors
///
/// The directory cannot be written.
pub fn write_into<B: AsRef<[u8]>>(root: &Path, files: &[(&str, B)]) -> Result<(), Error> {
    fs::create_dir_all(root).map_err(|source| Error::Write { path: root.to_owned(), source })?;
    fill(root, files)
}

/// Writes files into a directory that is there, each a path below `/package` and its bytes. The
/// paths are those of a package that has been read: plain, relative, and not leading out. A
/// directory that goes meanwhile is not made again.
///
/// # Errors
///
/// The directory cannot be written.
pub fn fill<B: AsRef<[u8]>>(root: &Path, files: &[(&str, B)]) -> Result<(), Error> {
    for (path, bytes) in files {
        write_file(root, &root.join(path), bytes.as_ref())?;
    }
    Ok(())
}

fn write_file(root: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let refused = |source| Error::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        make_below(root, parent).map_err(refused)?;
    }
    fs::write(path, bytes).map_err(refused)
}

/// Makes a directory and those above it, up to `root`, which is there.
fn make_below(root: &Path, directory: &Path) -> io::Result<()> {
    if directory == root {
        return Ok(());
    }
    match (fs::create_dir(directory), directory.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_below(root, parent)?;
            fs::create_dir(directory)
        }
        (made, _) => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_become_files_and_go_again() {
        let assets = [("a.txt", &b"a"[..]), ("sub/dir/b", b""), ("sub/é", b"e")];
        let scratch = Scratch::default();
        let root = write(&assets, &scratch).unwrap();
        for (name, contents) in assets {
            assert_eq!(fs::read(root.join(name)).unwrap(), contents);
        }
        drop(scratch);
        assert!(!root.exists());
        assert!(fill(&root, &assets).is_err() && !root.exists(), "it is not made again");
        write_into(&root, &assets).unwrap();
        assert_eq!(fs::read(root.join("sub/dir/b")).unwrap(), b"");
        fs::remove_dir_all(root).unwrap();
    }
}
