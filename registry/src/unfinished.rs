//! What must not outlive this program where a signal ends it: files that are not whole yet,
//! directories for the time of a run, and the processes that compile.
//!
//! Each is listed from before it exists until it is gone or finished. [`end_all`] ends what is
//! listed and keeps the list for itself from then on, so that nothing new can come up between
//! that and the end of the program. The program calls it; this library catches no signal.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir};

/// A directory that somebody still writes to is removed so many times at most: each time takes
/// away what the writer has put there meanwhile, and the last one the directory itself.
const MAX_ATTEMPTS: usize = 1_000;

static LIST: Mutex<List> = Mutex::new(List { next: 0, things: BTreeMap::new() });

#[derive(Debug)]
struct List {
    next: u64,
    things: BTreeMap<u64, Thing>,
}

#[derive(Debug)]
enum Thing {
    File(PathBuf),
    Directory(PathBuf),
    /// By its descriptor: its number could be another's by the time it is ended.
    #[cfg(target_os = "linux")]
    Process(OwnedFd),
}

/// A line of the list; dropped, it is gone.
#[derive(Debug)]
struct Listed(u64);

/// A file that is written beside its place.
#[derive(Debug)]
pub struct PartFile {
    file: NamedTempFile,
    // After the file: as long as that is there, it is listed.
    _listed: Listed,
}

/// A directory that is removed with the value.
#[derive(Debug)]
pub struct RunDirectory {
    directory: TempDir,
    _listed: Listed,
}

/// A process that ends with this one.
#[derive(Debug)]
pub struct RunProcess {
    /// The process.
    pub child: Child,
    _listed: Option<Listed>,
}

impl PartFile {
    /// A fresh file in `folder`, named and permitted as `builder` says.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn new(builder: &tempfile::Builder<'_, '_>, folder: &Path) -> io::Result<Self> {
        let mut list = list();
        let file = builder.tempfile_in(folder)?;
        let listed = list.add(Thing::File(file.path().to_owned()));
        Ok(Self { file, _listed: listed })
    }

    /// The file.
    #[must_use]
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Puts the file, which is whole now, into its place.
    ///
    /// # Errors
    ///
    /// The system refuses; then the file is gone.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        self.file.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl RunDirectory {
    /// A fresh directory among the temporary ones.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn new(prefix: &str) -> io::Result<Self> {
        let mut list = list();
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        let listed = list.add(Thing::Directory(directory.path().to_owned()));
        Ok(Self { directory, _listed: listed })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl RunProcess {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn new(command: &mut Command) -> io::Result<Self> {
        let mut list = list();
        let child = command.spawn()?;
        let listed = descriptor(&child).map(|thing| list.add(thing));
        Ok(Self { child, _listed: listed })
    }
}

#[cfg(target_os = "linux")]
fn descriptor(child: &Child) -> Option<Thing> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // Nobody has waited for it yet, so that its number is its own. A kernel that has no such
    // descriptors (before 5.3) ends the child with its parent all the same.
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok().map(Thing::Process)
}

/// Elsewhere it ends by itself, when nobody reads what it has to say.
#[cfg(not(target_os = "linux"))]
fn descriptor(_child: &Child) -> Option<Thing> {
    None
}

/// Ends everything that is listed. Whoever wants to list, or to take something off the list,
/// waits from then on: the program has to end.
pub fn end_all() {
    let mut list = list();
    list.end();
    std::mem::forget(list);
}

impl List {
    fn add(&mut self, thing: Thing) -> Listed {
        let number = self.next;
        self.next += 1;
        self.things.insert(number, thing);
        Listed(number)
    }

    fn end(&mut self) {
        // Processes before what they could still write to.
        #[cfg(target_os = "linux")]
        for thing in self.things.values() {
            if let Thing::Process(descriptor) = thing {
                use rustix::process::{Signal, pidfd_send_signal};
                let _ = pidfd_send_signal(descriptor, Signal::KILL);
            }
        }
        for thing in self.things.values() {
            match thing {
                Thing::File(path) => drop(fs::remove_file(path)),
                Thing::Directory(path) => remove_directory(path),
                #[cfg(target_os = "linux")]
                Thing::Process(_) => {}
            }
        }
    }
}

/// Removes a directory that another thread may still be filling.
fn remove_directory(path: &Path) {
    for _ in 0..MAX_ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            // Something below it was not found; the directory itself may be there.
            Err(_) if path.exists() => {}
            _ => return,
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        list().things.remove(&self.0);
    }
}

/// The list is whole even if a thread panicked while it held it.
fn list() -> MutexGuard<'static, List> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> List {
        List { next: 0, things: BTreeMap::new() }
    }

    /// What is listed is held by a list of the test's own: the real one would not come back.
    #[test]
    fn what_is_listed_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".part");
        let directory = folder.path().join("run");
        fs::write(&file, "half").unwrap();
        fs::create_dir_all(directory.join("deep/er")).unwrap();
        fs::write(directory.join("deep/asset"), "asset").unwrap();
        fs::write(folder.path().join("other"), "stays").unwrap();
        let mut list = empty();
        std::mem::forget(list.add(Thing::File(file)));
        std::mem::forget(list.add(Thing::Directory(directory)));
        std::mem::forget(list.add(Thing::File(folder.path().join("finished already"))));
        list.end();
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_is_listed_ends() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut list = empty();
        std::mem::forget(list.add(descriptor(&child).expect("the kernel is not that old")));
        list.end();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // One that is gone is nobody's any more.
        list.end();
    }

    #[test]
    fn what_is_finished_or_dropped_is_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let listed = |path: &Path| {
            list().things.values().any(|thing| match thing {
                Thing::File(it) | Thing::Directory(it) => it == path,
                #[cfg(target_os = "linux")]
                Thing::Process(_) => false,
            })
        };
        let mut part = PartFile::new(&tempfile::Builder::new(), folder.path()).unwrap();
        let (beside, place) = (part.file.path().to_owned(), folder.path().join("whole"));
        assert!(listed(&beside));
        part.write_all(b"whole").unwrap();
        part.finish(&place).unwrap();
        assert!(!listed(&beside) && !beside.exists());
        assert_eq!(fs::read(&place).unwrap(), b"whole");

        let run = RunDirectory::new("subako-test-").unwrap();
        let path = run.path().to_owned();
        assert!(listed(&path) && path.is_dir());
        drop(run);
        assert!(!listed(&path) && !path.exists());
    }
}
