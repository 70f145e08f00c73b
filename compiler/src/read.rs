//! Read: a package, from a directory or a zip, becomes an [`Upload`], whose files are within the
//! limits and whose paths stay inside it (design, "The package that comes in").
//!
//! Both kinds of package are first listed (names, kinds, sizes), and every name is held against
//! the same rules; only then are bytes read. All faults are found in one run.

mod archive;
mod clash;
mod directory;
#[cfg(test)]
#[path = "../../manifest/src/archive/forge.rs"]
#[allow(dead_code, reason = "shared with the tests of `manifest::archive`, and each uses a part")]
mod forge;
mod limits;
mod listing;
mod module_text;
mod name;
#[cfg(test)]
mod tests;
mod upload;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place, Refused};
use subako_manifest::text::{grouped, shown};

use crate::check::is_text;

pub use limits::Limits;
pub use upload::Upload;

/// Why there is no upload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The package breaks rules; at least one.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file that is there could not be read.
    #[error("`{}` cannot be read: {source}", shown(&path.to_string_lossy()))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Refused(diagnostic.into())
    }
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Refused(refused) => refused.diagnostics(),
            Self::Io { path, .. } => {
                let file = path.to_string_lossy().into_owned();
                vec![Diagnostic::error(Code::Io, file.clone(), self.to_string()).at(Place::file(file))]
            }
        }
    }
}

/// Reads the package at `path`: a directory, or a zip.
///
/// # Errors
/// [`Error::Refused`] with every fault that could be found; [`Error::Io`] when the package is
/// there and a part of it cannot be read.
pub fn read(path: &Path, limits: &Limits) -> Result<Upload, Error> {
    let package = path.to_string_lossy();
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        // A path that leads through a file is as absent as any other.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let message = format!("`{}` is not there", shown(&package));
            return Err(Diagnostic::error(Code::PackageAbsent, package, message).into());
        }
        Err(error) => return Err(Error::io(path)(error)),
    };
    if metadata.is_dir() {
        return directory::read(path, limits);
    }
    if !metadata.is_file() {
        return Err(not_package(&package, None).into());
    }

    let bytes = bounded(path, limits.total_bytes)?;
    let found = metadata.len().max(bytes.len() as u64);
    if found > limits.total_bytes {
        let message = format!(
            "`{}` has {} bytes, at most {} are allowed",
            shown(&package),
            grouped(found),
            grouped(limits.total_bytes)
        );
        return Err(Diagnostic::error(Code::TotalBytesLimit, package, message)
            .hint("`--max-total-size` allows more")
            .into());
    }
    if bytes.is_empty() {
        let message = format!("`{}` is an empty file", shown(&package));
        return Err(Diagnostic::error(Code::PackageEmpty, package, message).rule(PACKAGE_RULE).into());
    }
    archive::read(&bytes, &package, limits)
}

const PACKAGE_RULE: &str = "a package is a directory or a zip with `subako-package.json` and `module.wasm` \
                            (or `module.wat`) at its root";

/// The refusal of something that is neither a directory nor a zip; a mend where its first bytes
/// say what it is.
fn not_package(package: &str, bytes: Option<&[u8]>) -> Diagnostic {
    let message = format!("`{}` is neither a directory nor a zip", shown(package));
    let hint = match bytes {
        Some(bytes) if bytes.starts_with(b"\0asm") => {
            "it is a WebAssembly file: put it as `module.wasm` beside a `subako-package.json` with \
             `abi`, `name` and `description`, and give the directory of both"
        }
        Some(bytes) if is_text(bytes) => {
            "it looks like WebAssembly text: put it as `module.wat` beside a `subako-package.json` with \
             `abi`, `name` and `description`, and give the directory of both"
        }
        Some(bytes) if bytes.trim_ascii_start().starts_with(b"{") => {
            "it looks like a manifest: give the directory that it is in"
        }
        Some(bytes) if bytes.starts_with(b"\x1f\x8b") => {
            "it is compressed by gzip: unpack it, and give the directory"
        }
        _ => "",
    };
    Diagnostic::error(Code::PackageKind, package, message)
        .rule(PACKAGE_RULE)
        .maybe_hint((!hint.is_empty()).then(|| hint.to_owned()))
}

/// The bytes of a file, at most one more than `max`.
fn bounded(path: &Path, max: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io(path))?;
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

/// How diagnostics call a file of a package: `greet/module.wasm`.
fn file_of(package: &str, path: &str) -> String {
    format!("{}/{path}", package.strip_suffix('/').unwrap_or(package))
}
