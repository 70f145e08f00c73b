//! Files that are made whole or not at all: written beside their place, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place};
use subako_manifest::text::shown;

/// Where an output goes, tried before the work that makes it.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    folder: PathBuf,
}

/// Why an output cannot be there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// The path is a directory, or ends in nothing that could be a file's name.
    #[error("`{}` is not the path of a file", shown(&.0.to_string_lossy()))]
    NotFile(PathBuf),
    /// A device, a pipe or a socket is there: a rename would take its place.
    #[error("`{}` is there already and is not a regular file", shown(&.0.to_string_lossy()))]
    Special(PathBuf),
    /// The output would be a file of the package that it is made from.
    #[error("`{}` is inside the package", shown(&.0.to_string_lossy()))]
    InPackage(PathBuf),
    /// The output would take the place of the package that it is made from.
    #[error("`{}` is the package itself", shown(&.0.to_string_lossy()))]
    Package(PathBuf),
    /// The machine says no.
    #[error("`{}` cannot be written: {source}", shown(&.path.to_string_lossy()))]
    Io { path: PathBuf, source: io::Error },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let usage = |path: &Path| Diagnostic::error(Code::Usage, path.to_string_lossy(), self.to_string());
        vec![match self {
            Self::NotFile(path) => usage(path).hint("name a file, such as `out.subako`"),
            Self::Special(path) | Self::Package(path) => usage(path),
            Self::InPackage(path) => usage(path)
                .rule("every other file of a package is an asset: the next build would pack this one")
                .hint("name a file outside the package"),
            Self::Io { path, .. } => {
                let path = path.to_string_lossy();
                Diagnostic::error(Code::Io, path.clone(), self.to_string()).at(Place::file(path))
            }
        }]
    }
}

impl Destination {
    /// Tries whether a file can be at `path`, without making it.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Err(Error::NotFile(path.to_owned())),
        };
        // `out/` has a file name for `Path`, but not for its user.
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(Error::NotFile(path.to_owned()));
        }
        let refused = |source| Error::Io { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(Error::NotFile(path.to_owned())),
            Ok(there) if !there.is_file() => return Err(Error::Special(path.to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(error)),
        }
        if !fs::metadata(folder).map_err(refused)?.is_dir() {
            return Err(refused(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { path: path.to_owned(), folder: folder.to_owned() })
    }

    /// The same, if it is neither below the directory `package` nor that file. A package that is
    /// not there is read's to judge.
    pub(crate) fn outside(self, package: &Path) -> Result<Self, Error> {
        let Ok(package) = package.canonicalize() else { return Ok(self) };
        if self.path.canonicalize().is_ok_and(|path| path == package) {
            return Err(Error::Package(self.path));
        }
        if self.folder.canonicalize().is_ok_and(|folder| folder.starts_with(&package)) {
            return Err(Error::InPackage(self.path));
        }
        Ok(self)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts `bytes` there: whoever opens the path finds the old file or the new one, whole. A
    /// file that somebody has mapped stays as it is for them.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.replace(bytes).map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".subako-").suffix(".part");
        // As for any new file, the umask decides; a temporary file would be its owner's alone.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut beside = builder.tempfile_in(&self.folder)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.persist(&self.path).map_err(|error| error.error)?;
        // The name itself is safe once the directory is; not every system can sync one.
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::Blame;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.subako");
        let destination = Destination::new(&path).unwrap();
        assert!(names(folder.path()).is_empty(), "trying makes nothing");
        destination.write(b"old").unwrap();
        Destination::new(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out.subako"]);
    }

    #[test]
    fn a_directory_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join(""), folder.path().join("new/")] {
            let error = Destination::new(&path).expect_err("a directory is no destination");
            assert!(matches!(error, Error::NotFile(_)), "{error}");
            assert_eq!(error.blame(), Blame::Usage);
        }
        assert!(matches!(Destination::new(Path::new("")), Err(Error::NotFile(_))));
        assert!(matches!(Destination::new(Path::new("/")), Err(Error::NotFile(_))));
        assert!(matches!(Destination::new(Path::new("a/..")), Err(Error::NotFile(_))));
    }

    #[test]
    fn a_missing_folder_is_told_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let error = Destination::new(&folder.path().join("absent/out.subako")).expect_err("no such folder");
        assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound));
        assert_eq!(error.blame(), Blame::Environment);
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_not_replaced() {
        assert!(matches!(Destination::new(Path::new("/dev/null")), Err(Error::Special(_))));
    }

    #[test]
    fn the_package_itself_is_no_place_for_its_bundle() {
        let package = tempfile::tempdir().unwrap();
        let inner = package.path().join("assets");
        fs::create_dir(&inner).unwrap();
        for path in [package.path().join("out.subako"), inner.join("out.subako")] {
            let destination = Destination::new(&path).unwrap();
            assert!(matches!(destination.outside(package.path()), Err(Error::InPackage(_))));
        }
        let zip = inner.join("package.zip");
        fs::write(&zip, "zip").unwrap();
        assert!(matches!(Destination::new(&zip).unwrap().outside(&zip), Err(Error::Package(_))));
        Destination::new(&inner.join("out.subako")).unwrap().outside(&zip).expect("beside a zip");
        let beside = package.path().join("assets/../../out.subako");
        Destination::new(&beside).unwrap().outside(package.path()).expect("it is outside");
    }
}
