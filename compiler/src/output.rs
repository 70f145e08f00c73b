//! Files that are made whole or not at all: written beside their place, synced, renamed. Where one may
//! be is said by the command line's other [`Files`].

mod files;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use subako_compiler::unfinished::PartFile;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place};
use subako_manifest::text::shown;

pub(crate) use files::Files;

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
    /// `-`, which other programs take for stdout.
    #[error("`-` is not the path of a file")]
    Stdout,
    /// A symlink such as `/dev/stdout`, which the system keeps: a rename would take its place.
    #[error("`{}` is a symlink of the system's, which leads to what a process has open", shown(&.0.to_string_lossy()))]
    System(PathBuf),
    /// A device, a pipe or a socket is there: a rename would take its place.
    #[error("`{}` is there already and is not a regular file", shown(&.0.to_string_lossy()))]
    Special(PathBuf),
    /// There is no directory to put the file into.
    #[error("`{}` is not {}", shown(&.folder.to_string_lossy()), if *.there { "a directory" } else { "there" })]
    FolderAbsent {
        /// The directory.
        folder: PathBuf,
        /// Whether something else is there.
        there: bool,
    },
    /// The output would be a file of the package that it is made from.
    #[error("`{}` is inside the package", shown(&.0.to_string_lossy()))]
    InPackage(PathBuf),
    /// The output would take the place of the package that it is made from.
    #[error("`{}` is the package itself", shown(&.0.to_string_lossy()))]
    Package(PathBuf),
    /// The output would take the place of the bundle that it is made from, where that stays.
    #[error("`{}` is the bundle itself", shown(&.0.to_string_lossy()))]
    Bundle(PathBuf),
    /// The output would take the place of a file that an option of the same run reads.
    #[error("`{}` is the file of `{option}`", shown(&.path.to_string_lossy()))]
    Read {
        /// The output.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// The output would be one of the files that an image layout of the same run is made of.
    #[error("`{}` is part of the image layout `{}`", shown(&.path.to_string_lossy()), shown(&.layout.to_string_lossy()))]
    InLayout {
        /// The output.
        path: PathBuf,
        /// The layout.
        layout: PathBuf,
    },
    /// The output would take the place of a key.
    #[error("`{}` is there already and holds a key (`{}`)", shown(&.path.to_string_lossy()), shown(.label))]
    Key {
        /// The output.
        path: PathBuf,
        /// What PEM calls the key.
        label: String,
    },
    /// Two outputs of one run at one place.
    #[error("`{}` is given for two files", shown(&.0.to_string_lossy()))]
    Twice(PathBuf),
    /// The machine says no.
    #[error("`{}` cannot be written: {source}", shown(&.path.to_string_lossy()))]
    Io { path: PathBuf, source: io::Error },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let usage = |path: &Path| Diagnostic::error(Code::Usage, path.to_string_lossy(), self.to_string());
        vec![match self {
            Self::NotFile(path) => usage(path).hint("name a file, such as `out.subako`"),
            Self::Stdout => usage(Path::new("-")).hint(NO_PIPE),
            Self::System(path) | Self::Special(path) => usage(path).hint(NO_PIPE),
            Self::FolderAbsent { folder, there: false } => usage(folder).hint("make the directory first"),
            Self::FolderAbsent { folder: path, there: true } | Self::Twice(path) => usage(path),
            Self::Package(path) | Self::Bundle(path) | Self::Read { path, .. } => {
                usage(path).rule("an output replaces what is there, and this is read").hint(ANOTHER_FILE)
            }
            Self::InLayout { path, .. } => usage(path).hint(ANOTHER_FILE),
            Self::Key { path, .. } => usage(path)
                .rule("a key is never written over")
                .hint("name another file; remove that one yourself if nobody needs the key"),
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

const ANOTHER_FILE: &str = "name another file, such as `out.subako`";

const NO_PIPE: &str =
    "what is written whole or not at all cannot be piped: name a file, such as `out.subako`";

/// Symlinks that lead to symlinks are followed so far, as by Linux.
const MAX_LINKS: usize = 40;

impl Destination {
    /// Tries whether a file can be at `path`, without making it. Whether it may, [`Files`] knows.
    fn new(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Err(Error::Stdout);
        }
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
            // What is wrong with the folder is found below.
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(refused(error)),
        }
        let folder_absent = |there| Error::FolderAbsent { folder: folder.to_owned(), there };
        match fs::metadata(folder) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Err(folder_absent(true)),
            Err(error) if is_absent(&error) => return Err(folder_absent(false)),
            Err(error) => return Err(refused(error)),
        }
        // Where stdout is a regular file, so is `/dev/stdout`.
        if leads_through_system(path) {
            return Err(Error::System(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), folder: folder.to_owned() })
    }

    /// Whether it is in that directory, or in one below. One that is not there has nothing in it.
    fn is_below(&self, directory: &Path) -> bool {
        let Ok(directory) = directory.canonicalize() else { return false };
        self.folder.canonicalize().is_ok_and(|folder| folder.starts_with(&directory))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Tries whether a file can be written there, and leaves nothing behind.
    pub(crate) fn try_write(&self) -> Result<(), Error> {
        self.beside().map(drop).map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    /// Puts `bytes` there: whoever opens the path finds the old file or the new one, whole. A
    /// file that somebody has mapped stays as it is for them.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.replace(bytes).map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    /// A fresh file beside the place.
    fn beside(&self) -> io::Result<PartFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".subako-").suffix(".part");
        // As for any new file, the umask decides; a temporary file would be its owner's alone.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        PartFile::new(&builder, &self.folder).map_err(|error| self.without_name(&error))
    }

    /// What is wrong, without the name of the file that is ours alone to know.
    fn without_name(&self, error: &io::Error) -> io::Error {
        if !is_absent(error) {
            return error.kind().into();
        }
        // It is the directory that is not there, or that says so of every file, as `/proc` does.
        let why =
            if self.folder.is_dir() { "its directory takes no files" } else { "its directory is not there" };
        io::Error::new(error.kind(), why)
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut beside = self.beside()?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        beside.finish(&self.path)?;
        // The name itself is safe once the directory is; not every system can sync one.
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Tries whether `path` is, or can become, a directory of outputs.
pub(crate) fn directory(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(there) if !there.is_dir() => Err(Error::FolderAbsent { folder: path.to_owned(), there: true }),
        _ => Ok(()),
    }
}

/// A path that leads through a file is as absent as any other.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether `path` is a symlink that is in, or leads through, a directory where the system keeps
/// names for devices and for what processes have open.
fn leads_through_system(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { return false };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if folder.canonicalize().is_ok_and(|folder| {
            folder == Path::new("/dev") || folder == Path::new("/dev/fd") || folder.starts_with("/proc")
        }) {
            return true;
        }
        path = folder.join(target);
    }
    false
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
        assert!(matches!(&error, Error::FolderAbsent { there: false, .. }), "{error}");
        assert_eq!(error.blame(), Blame::Usage);
        let [told] = &error.diagnostics()[..] else { panic!("{error}") };
        assert_eq!(told.hint.as_deref(), Some("make the directory first"));
        assert!(told.message.ends_with("absent` is not there"), "{}", told.message);

        fs::write(folder.path().join("file"), "").unwrap();
        let error = Destination::new(&folder.path().join("file/out.subako")).expect_err("a file");
        assert!(matches!(&error, Error::FolderAbsent { there: true, .. }), "{error}");
    }

    /// Only tried, never written: a mistake here would cost a system's device.
    #[test]
    #[cfg(target_os = "linux")]
    fn symlinks_to_what_no_bundle_goes_to_are_refused() {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("redirected")).unwrap();
        let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let link = |name: &str, target: &Path| {
            let path = folder.path().join(name);
            symlink(target, &path).unwrap();
            path
        };
        let null = link("null", Path::new("/dev/null"));
        assert!(matches!(Destination::new(&null), Err(Error::Special(_))));
        // As `/dev/stdout` is, where stdout goes to a regular file.
        let stdout = link("stdout", &open);
        for path in [&open, &stdout, &link("twice", &stdout)] {
            let error = Destination::new(path).expect_err("it leads to what is open");
            assert!(matches!(error, Error::System(_)), "{error}");
            let [told] = &error.diagnostics()[..] else { panic!("{error}") };
            assert!(told.hint.as_deref().is_some_and(|hint| hint.contains("cannot be piped")), "{told}");
        }
        assert!(matches!(Destination::new(Path::new("-")), Err(Error::Stdout)));

        // A symlink to a file, or to nothing, is replaced, and its target stays.
        for (name, target) in [("file", "redirected"), ("dangling", "absent")] {
            let path = link(name, Path::new(target));
            Destination::new(&path).unwrap().write(b"new").unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
        }
        assert_eq!(fs::read(folder.path().join("redirected")).unwrap(), b"");
    }

    #[test]
    fn a_refused_file_is_named_as_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let destination = Destination::new(&inner.join("out.subako")).unwrap();
        fs::remove_dir(&inner).unwrap();
        let told = destination.write(b"new").expect_err("the folder is gone").to_string();
        assert!(told.ends_with("out.subako` cannot be written: its directory is not there"), "{told}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_directory_that_takes_no_files_is_told_in_words() {
        let told =
            Destination::new(Path::new("/proc/x.subako")).unwrap().try_write().expect_err("it is no disk");
        assert!(told.to_string().ends_with("cannot be written: its directory takes no files"), "{told}");
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_not_replaced() {
        assert!(matches!(Destination::new(Path::new("/dev/null")), Err(Error::Special(_))));
    }
}
