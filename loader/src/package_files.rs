//! A bundle's assets as a directory, which is what a preopen has to be.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use subako_manifest::bundle::{self, PACKAGE_DIR};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::index::Role;

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

/// Unpacks the assets into a fresh directory that is removed with the value; none where the
/// bundle has no asset, and then the module sees no `/package`.
///
/// # Errors
///
/// An asset is not what the index says, or the directory cannot be written.
pub fn unpack<B: AsRef<[u8]>>(bundle: &VerifiedBundle<B>) -> Result<Option<tempfile::TempDir>, Error> {
    let mut assets = bundle.index().entries.iter().filter(|entry| entry.role == Role::Asset).peekable();
    if assets.peek().is_none() {
        return Ok(None);
    }
    let root = tempfile::Builder::new()
        .prefix("subako-package-")
        .tempdir()
        .map_err(|source| Error::Write { path: std::env::temp_dir(), source })?;
    for asset in assets {
        // The bundle's reader has refused every path that is not plain and relative.
        let relative = asset.path.strip_prefix(PACKAGE_DIR).unwrap_or(&asset.path);
        write(&root.path().join(relative), &bundle.contents(asset)?)?;
    }
    Ok(Some(root))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let refused = |source| Error::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(refused)?;
    }
    fs::write(path, bytes).map_err(refused)
}
