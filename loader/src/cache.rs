//! Installed bundles: verified once, kept by digest, run without hashing anything again (design,
//! "The loader").
//!
//! ```text
//! <cache>/                         0700, owned by the user
//!   bundles/<digest>/              complete, or not there
//!     install.json                 the record: what runs, on what, and who vouched for it
//!     bundle.json tools.json       as in the bundle
//!     artifact.cwasm               the artifact that was picked, 0400
//!     package/…                    the assets
//!   names/<package>                the digest that was installed last under this name
//!   making/<random>/               installs that are under way, or that a crash cut off
//! ```
//!
//! An install is made in `making` and renamed into place when every file of it is on disk, so a
//! crash at any point leaves a bundle there or not. Two installs of one bundle make the same: the
//! second to be done finds the first and drops its own. An install holds a shared lock on `making`
//! and a prune the exclusive one, so that a prune sees no install under way; the lock of a process
//! that was killed goes with it.
//!
//! Nobody but the user and root may write any of this; that is checked when the cache is opened,
//! and it is the reason why the artifact may run without being hashed again.

mod error;
mod record;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use subako_manifest::bundle::{INDEX, PACKAGE_DIR, TOOLS};
use subako_manifest::digest::Digest;
use subako_manifest::index::{Index, Role};
use subako_manifest::limits;

use crate::bundle_file::BundleFile;
use crate::ownership::{is_ours_alone, make_directory, only_we_may_write};
use crate::package_files;
use crate::pick::{HostCpu, Pick, check_engine};
use crate::verify::{VerifiedArtifact, VerifiedBundle};

pub use error::Error;
pub use record::Record;

const BUNDLES: &str = "bundles";
const NAMES: &str = "names";
const MAKING: &str = "making";
const RECORD: &str = "install.json";
const ARTIFACT: &str = "artifact.cwasm";
const PACKAGE: &str = "package";

/// A cache of installed bundles.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
}

/// How an installed bundle is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// This very bundle.
    Digest(Digest),
    /// The bundle that was installed last under a package's name.
    Name(String),
}

impl Reference {
    /// Whether a package can have this name; only such a name is looked up.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        let letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        (1..=limits::MAX_PACKAGE_NAME_CHARS).contains(&text.len()) && text.bytes().all(letter)
    }
}

/// A bundle that is installed.
#[derive(Debug)]
pub struct Installed {
    dir: PathBuf,
    record: Record,
}

/// What `verify` found of one installed bundle.
#[derive(Debug)]
pub struct Checked {
    /// The bundle.
    pub digest: Digest,
    /// What is wrong with it, if anything.
    pub fault: Option<Error>,
}

impl Cache {
    /// The cache at `root`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// Somebody else may write it, or it cannot be made.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let cache = Self { root: root.to_owned() };
        for dir in [cache.root.clone(), cache.dir(BUNDLES), cache.dir(NAMES), cache.dir(MAKING)] {
            make_directory(&dir).map_err(|source| Error::Io { path: dir.clone(), source })?;
            only_ours(&dir)?;
        }
        Ok(cache)
    }

    /// The cache at `root`, to read only: nothing is made.
    ///
    /// # Errors
    ///
    /// Somebody else may write it.
    pub fn open_existing(root: &Path) -> Result<Self, Error> {
        // Where there is none, nothing is installed; asking for something says so.
        present(root)?;
        Ok(Self { root: root.to_owned() })
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn bundle_dir(&self, digest: &Digest) -> PathBuf {
        self.dir(BUNDLES).join(digest.hex())
    }

    /// Keeps the picked artifact of a bundle, its tools and its assets.
    ///
    /// # Errors
    ///
    /// An entry is not what the index says, or the disk refuses.
    pub fn install(&self, bundle: &VerifiedBundle<BundleFile>, pick: &Pick) -> Result<Installed, Error> {
        let mut record = Record::new(bundle, pick);
        let target = self.bundle_dir(&record.digest);
        let _lock = self.lock(File::lock_shared)?;
        // What is there may be for another target, or damaged: installing again mends it.
        let there = self.read(&record.digest).ok();
        if let Some(there) = &there {
            record.also_signed_by(&there.record);
        }
        if !there.is_some_and(|there| there.record == record && there.check().is_ok()) {
            let making = self.make("install-")?;
            fill(making.path(), bundle, pick, &record)?;
            self.place(making, &target)?;
        }
        write_beside(
            &self.dir(MAKING),
            &self.dir(NAMES).join(&record.package),
            record.digest.to_string().as_bytes(),
        )?;
        Ok(Installed { dir: target, record })
    }

    /// A fresh directory in `making`, the user's alone whatever the umask is.
    fn make(&self, prefix: &str) -> Result<tempfile::TempDir, Error> {
        tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(self.dir(MAKING))
            .map_err(|source| Error::Io { path: self.dir(MAKING), source })
    }

    /// Locks the directory of what is under way, until the value is dropped.
    fn lock(&self, how: fn(&File) -> io::Result<()>) -> Result<File, Error> {
        let path = self.dir(MAKING);
        let lock = || {
            let making = File::open(&path)?;
            how(&making)?;
            Ok(making)
        };
        lock().map_err(|source| Error::Io { path: path.clone(), source })
    }

    /// Renames a finished install into place. What is there – an install for another target, or
    /// one that has lost a file – is moved away first, whole.
    fn place(&self, making: tempfile::TempDir, target: &Path) -> Result<(), Error> {
        let refused = |source| Error::Io { path: target.to_owned(), source };
        match fs::rename(making.path(), target) {
            Ok(()) => drop(making.keep()),
            Err(_) if target.exists() => {
                let old = self.make("old-")?;
                // Another install may have moved it already; then there is nothing to move.
                let _ = fs::rename(target, old.path().join("bundle"));
                match fs::rename(making.path(), target) {
                    Ok(()) => drop(making.keep()),
                    // Another install was there first, with the same bytes.
                    Err(_) if target.exists() => {}
                    Err(source) => return Err(refused(source)),
                }
            }
            Err(source) => return Err(refused(source)),
        }
        sync_dir(&self.dir(BUNDLES))
    }

    /// Finds an installed bundle. Only its record is read.
    ///
    /// # Errors
    ///
    /// It is not installed, or its record is damaged.
    pub fn find(&self, reference: &Reference) -> Result<Installed, Error> {
        match reference {
            Reference::Digest(digest) => self.read(digest),
            Reference::Name(name) => {
                let absent = || Error::NotInstalled { reference: format!("name:{name}") };
                if !present(&self.dir(NAMES))? {
                    return Err(absent());
                }
                let path = self.dir(NAMES).join(name);
                let text = match fs::read_to_string(&path) {
                    Ok(text) => text,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(absent()),
                    Err(source) => return Err(Error::Io { path, source }),
                };
                let digest = text
                    .parse()
                    .map_err(|_| Error::Damaged { path, why: "it holds no digest".to_owned() })?;
                self.read(&digest)
            }
        }
    }

    fn read(&self, digest: &Digest) -> Result<Installed, Error> {
        let dir = self.bundle_dir(digest);
        if !present(&self.dir(BUNDLES))? || !present(&dir)? {
            return Err(Error::NotInstalled { reference: digest.to_string() });
        }
        let path = dir.join(RECORD);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::NotInstalled { reference: digest.to_string() });
            }
            Err(source) => return Err(Error::Io { path, source }),
        };
        let record: Record = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Damaged { path: path.clone(), why: error.to_string() })?;
        if record.digest != *digest {
            return Err(Error::Damaged { path, why: "it is the record of another bundle".to_owned() });
        }
        Ok(Installed { dir, record })
    }

    /// The installed bundles, by digest.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn list(&self) -> Result<Vec<Result<Installed, Error>>, Error> {
        let mut digests: Vec<Digest> = names_in(&self.dir(BUNDLES))?
            .iter()
            .filter_map(|name| format!("sha256:{name}").parse().ok())
            .collect();
        digests.sort_unstable();
        Ok(digests.iter().map(|digest| self.read(digest)).collect())
    }

    /// The names, each with the digest that it stands for.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn names(&self) -> Result<Vec<(String, Digest)>, Error> {
        let mut names = Vec::new();
        for name in names_in(&self.dir(NAMES))? {
            let path = self.dir(NAMES).join(&name);
            let text =
                fs::read_to_string(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
            let digest =
                text.parse().map_err(|_| Error::Damaged { path, why: "it holds no digest".to_owned() })?;
            names.push((name, digest));
        }
        names.sort();
        Ok(names)
    }

    /// Removes the bundles that no name stands for – or all of them – and what installs that were
    /// cut off have left. Gives the digests that are gone.
    ///
    /// A call that runs from a bundle goes on: its files are mapped.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn prune(&self, all: bool) -> Result<Vec<Digest>, Error> {
        let _lock = self.lock(File::lock)?;
        let kept: Vec<String> = match all {
            true => {
                for name in names_in(&self.dir(NAMES))? {
                    remove(&self.dir(NAMES).join(name))?;
                }
                Vec::new()
            }
            false => self.names()?.into_iter().map(|(_, digest)| digest.hex()).collect(),
        };
        let mut gone = Vec::new();
        for name in names_in(&self.dir(BUNDLES))? {
            if kept.contains(&name) {
                continue;
            }
            // Out of sight first: a bundle is there whole or not at all.
            let place = self.dir(BUNDLES).join(&name);
            let away = self.make("pruned-")?.keep();
            fs::rename(&place, away.join("bundle")).map_err(|source| Error::Io { path: place, source })?;
            gone.extend(format!("sha256:{name}").parse::<Digest>());
        }
        for name in names_in(&self.dir(MAKING))? {
            remove(&self.dir(MAKING).join(name))?;
        }
        gone.sort_unstable();
        Ok(gone)
    }

    /// Hashes everything that is installed and compares it with the bundles' own indexes.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn verify(&self) -> Result<Vec<Checked>, Error> {
        let mut checked = Vec::new();
        for name in names_in(&self.dir(BUNDLES))? {
            let Ok(digest) = format!("sha256:{name}").parse::<Digest>() else { continue };
            let fault = self.read(&digest).and_then(|installed| installed.check()).err();
            checked.push(Checked { digest, fault });
        }
        checked.sort_by_key(|checked| checked.digest);
        Ok(checked)
    }
}

impl Installed {
    /// What is known of it.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The directory of its assets, if it has any.
    #[must_use]
    pub fn package(&self) -> Option<PathBuf> {
        self.record.assets.then(|| self.dir.join(PACKAGE))
    }

    /// The bytes of `tools.json`.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn tools(&self) -> Result<Vec<u8>, Error> {
        read_file(&self.dir.join(TOOLS))
    }

    /// The artifact. It was compared with its index when it was installed, and since then nobody
    /// but this user and root could write it.
    ///
    /// # Errors
    ///
    /// Another engine made it, this host cannot run it, or somebody else may write it.
    pub fn artifact(&self) -> Result<VerifiedArtifact, Error> {
        check_engine(&self.record.engine)?;
        if !HostCpu::detect().can_run(&self.record.target, &self.record.cpu_features) {
            return Err(Error::OtherCpu { digest: self.record.digest, target: self.record.target.clone() });
        }
        let path = self.dir.join(ARTIFACT);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|source| unreadable(&path, source))?;
        let metadata = file.metadata().map_err(|source| Error::Io { path: path.clone(), source })?;
        if !metadata.is_file() || !only_we_may_write(&metadata) {
            return Err(Error::OthersMayWrite { path });
        }
        if metadata.size() != self.record.artifact_size {
            return Err(Error::Damaged { path, why: "it has another size than its record says".to_owned() });
        }
        Ok(VerifiedArtifact::installed(file, self.record.target.clone()))
    }

    /// Compares every file with the bundle's index, and the index with the digest.
    fn check(&self) -> Result<(), Error> {
        let damaged = |path: &Path, why: &str| Error::Damaged { path: path.to_owned(), why: why.to_owned() };
        let index_path = self.dir.join(INDEX);
        let bytes = read_file(&index_path)?;
        if Digest::of(&bytes) != self.record.digest {
            return Err(damaged(&index_path, "its digest is another"));
        }
        let index = Index::from_json(&bytes).map_err(|error| damaged(&index_path, &error.to_string()))?;
        for entry in &index.entries {
            let path = match entry.role {
                Role::Tools => self.dir.join(TOOLS),
                Role::Asset => {
                    self.dir.join(PACKAGE).join(entry.path.strip_prefix(PACKAGE_DIR).unwrap_or(&entry.path))
                }
                Role::Artifact if entry.target.as_ref() == Some(&self.record.target) => {
                    self.dir.join(ARTIFACT)
                }
                Role::Artifact | Role::Manifest | Role::Module | Role::Sbom => continue,
            };
            if Digest::of(&read_file(&path)?) != entry.digest {
                return Err(damaged(&path, "its digest is another than the index says"));
            }
        }
        Ok(())
    }
}

/// Writes all files of an install, each of them on disk when this returns.
fn fill(dir: &Path, bundle: &VerifiedBundle<BundleFile>, pick: &Pick, record: &Record) -> Result<(), Error> {
    let artifact = bundle.artifact_bytes(pick)?;
    write_new(&dir.join(ARTIFACT), &artifact)?;
    write_new(&dir.join(INDEX), &bundle.index().to_json())?;
    for entry in &bundle.index().entries {
        if entry.role == Role::Tools {
            write_new(&dir.join(TOOLS), &bundle.contents(entry)?)?;
        }
    }
    if record.assets {
        package_files::write_into(&dir.join(PACKAGE), &package_files::assets(bundle)?)?;
    }
    let mut json = serde_json::to_vec(record)
        .map_err(|error| Error::Io { path: dir.join(RECORD), source: error.into() })?;
    json.push(b'\n');
    // Last: a directory with a record is complete.
    write_new(&dir.join(RECORD), &json)?;
    sync_dir(dir)
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Writes a file whole or not at all: under another name, then renamed.
fn write_beside(making: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = tempfile::Builder::new().prefix("name-").tempfile_in(making)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|source: io::Error| Error::Io { path: path.to_owned(), source })
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| unreadable(path, source))
}

/// A file that a bundle must have and that cannot be read.
fn unreadable(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => Error::Damaged { path, why: "it is not there".to_owned() },
        _ => Error::Io { path, source },
    }
}

fn sync_dir(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| Error::Io { path: path.to_owned(), source })
}

fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|source| Error::Io { path: path.to_owned(), source }),
    }
}

fn names_in(dir: &Path) -> Result<Vec<String>, Error> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    };
    read().map_err(|source| Error::Io { path: dir.to_owned(), source })
}

/// Whether a directory of the cache is there. If it is, nobody else may write it.
fn present(dir: &Path) -> Result<bool, Error> {
    match only_ours(dir) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        checked => checked.map(|()| true),
    }
}

fn only_ours(dir: &Path) -> Result<(), Error> {
    match is_ours_alone(dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::OthersMayWrite { path: dir.to_owned() }),
        Err(source) => Err(Error::Io { path: dir.to_owned(), source }),
    }
}
