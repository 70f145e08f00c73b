//! The compile cache: artifacts that were made before, by what they were made from, and the
//! compiled functions behind them (`precompile/functions.rs`).
//!
//! ```text
//! <cache>/                     0700, owned by the user
//!   artifacts/<key>            an artifact, below
//!   functions/<key>/*.pack     functions compiled for one target by one engine
//! ```
//!
//! A key is the SHA-256 over a line of JSON: the target with its CPU level, the engine (its version, our format
//! number, the digest over its settings, and the engine's own hash over all that changes what it
//! makes) and this program's version; an artifact's also has the module's digest.
//!
//! An artifact's file, numbers in bytes: `SUBAKOC1` (8), the key (32), the SHA-256 of the artifact
//! (32), the artifact. A file that is anything else is damaged: it is told of,
//! removed, and made anew. Files are written beside their place and renamed, but not synced: what
//! a crash cuts off is a damaged file, and the work it saved is done again.
//!
//! The digest finds damage, not malice: whoever can write the cache decides what native code is in
//! the next bundle. So it is for one user alone, and a directory that others may write is refused.

use std::fs::{self, File};
use std::hash::{Hash as _, Hasher};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use subako_loader::engine;
use subako_loader::ownership::{is_ours_alone, make_directory};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::index::{ARTIFACT_FORMAT, ENGINE_NAME, ENGINE_VERSION};
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use wasmtime::Engine;

use crate::unfinished::PartFile;

const ARTIFACTS: &str = "artifacts";
const FUNCTIONS: &str = "functions";
const MAGIC: &[u8; 8] = b"SUBAKOC1";
/// Bytes before the artifact.
const HEADER: usize = 8 + 32 + 32;
/// What files are called until they are whole.
pub(super) const PART: &str = ".part-";

/// A cache that nobody else may write.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    max_bytes: u64,
}

/// Why a directory cannot be the cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else than the user and root may write it.
    #[error("`{}` may be written by others", shown(&.0.to_string_lossy()))]
    OthersMayWrite(PathBuf),
    /// It cannot be made or looked at.
    #[error("`{}` cannot be the compile cache: {source}", shown(&.path.to_string_lossy()))]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let (path, code) = match self {
            Self::OthersMayWrite(path) => (path, Code::CompileCacheShared),
            Self::Io { path, .. } => (path, Code::Io),
        };
        let told = Diagnostic::error(code, path.to_string_lossy(), self.to_string());
        vec![match self {
            Self::OthersMayWrite(_) => told
                .rule("what is in the cache becomes code of the next bundle, so only its user and root may write it")
                .hint("name another with `--cache-dir DIR`, do without by `--no-cache`, or take the others' right away"),
            Self::Io { .. } => told.hint("name another with `--cache-dir DIR`, or do without by `--no-cache`"),
        }]
    }
}

/// What the cache has for a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Absent,
    /// Something that this program did not write, or not so. It is removed.
    Damaged(PathBuf),
    Artifact(Vec<u8>),
}

impl Cache {
    /// The cache at `root`, which is made if it is not there. After each use, the files that were
    /// used longest ago are removed until `max_bytes` are left.
    ///
    /// # Errors
    ///
    /// Somebody else may write it, or it cannot be made.
    pub fn open(root: &Path, max_bytes: u64) -> Result<Self, Error> {
        for path in [root.to_owned(), root.join(ARTIFACTS), root.join(FUNCTIONS)] {
            open_directory(&path)?;
        }
        Ok(Self { root: root.to_owned(), max_bytes })
    }

    fn place(&self, key: &Digest) -> PathBuf {
        self.root.join(ARTIFACTS).join(key.hex())
    }

    pub(super) fn find(&self, key: &Digest) -> Found {
        let path = self.place(key);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Absent,
            Err(_) => return Found::Damaged(path),
        };
        let mut bytes = Vec::new();
        let whole = file.read_to_end(&mut bytes).is_ok()
            && bytes.len() >= HEADER
            && bytes[..HEADER] == header(key, &bytes[HEADER..]);
        if !whole {
            let _ = fs::remove_file(&path);
            return Found::Damaged(path);
        }
        used(&file);
        bytes.drain(..HEADER);
        Found::Artifact(bytes)
    }

    /// Removes what `find` gave, which was not an artifact after all.
    pub(super) fn discard(&self, key: &Digest) -> PathBuf {
        let path = self.place(key);
        let _ = fs::remove_file(&path);
        path
    }

    pub(super) fn keep(&self, key: &Digest, artifact: &[u8]) -> Result<(), Error> {
        let folder = self.root.join(ARTIFACTS);
        let write = || {
            let mut file = PartFile::new(tempfile::Builder::new().prefix(PART), &folder)?;
            file.write_all(&header(key, artifact))?;
            file.write_all(artifact)?;
            file.finish(&self.place(key))
        };
        write().map_err(|source: io::Error| Error::Io { path: folder.clone(), source })
    }

    /// Where functions are that were compiled under `key`; made if it is not there.
    pub(super) fn functions(&self, key: &Digest) -> Result<PathBuf, Error> {
        let path = self.root.join(FUNCTIONS).join(key.hex());
        open_directory(&path)?;
        Ok(path)
    }

    /// Removes the files that were used longest ago until what is left fits. One that cannot be
    /// removed is somebody else's to remove.
    pub(super) fn prune(&self) {
        let mut files = Vec::new();
        list(&self.root.join(ARTIFACTS), &mut files);
        for entry in fs::read_dir(self.root.join(FUNCTIONS)).into_iter().flatten().flatten() {
            list(&entry.path(), &mut files);
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, bytes) in files {
            if total <= self.max_bytes {
                break;
            }
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }
}

fn open_directory(path: &Path) -> Result<(), Error> {
    let refused = |source| Error::Io { path: path.to_owned(), source };
    make_directory(path).map_err(refused)?;
    match is_ours_alone(path).map_err(refused)? {
        true => Ok(()),
        false => Err(Error::OthersMayWrite(path.to_owned())),
    }
}

fn header(key: &Digest, artifact: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..40].copy_from_slice(key.as_bytes());
    header[40..].copy_from_slice(Digest::of(artifact).as_bytes());
    header
}

/// The files of a folder, with when they were used last and their bytes.
fn list(folder: &Path, files: &mut Vec<(SystemTime, PathBuf, u64)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Ok(metadata) = entry.metadata()
            && metadata.is_file()
            && let Ok(modified) = metadata.modified()
        {
            files.push((modified, entry.path(), metadata.len()));
        }
    }
}

/// Notes that a file was used: it is not the next to be removed.
pub(super) fn used(file: &File) {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
    let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
    let _ = futimens(file, &times);
}

/// What is found in the cache, and under which keys the rest is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    /// Of a module's artifact for a target.
    pub(super) artifact: Digest,
    /// Of the functions that are compiled for that target, whatever their module.
    pub(super) functions: Digest,
    /// What the artifact's stands for: all that the artifact is made from.
    pub(super) inputs: Value,
}

impl Keys {
    /// `compiler` is the engine that compiles for `target`.
    pub(super) fn new(target: &Target, compiler: &Engine, module: &Digest) -> Self {
        let mut state = Recorded(Vec::new());
        compiler.precompile_compatibility_hash().hash(&mut state);
        let mut inputs = json!({
            "subakoc": env!("CARGO_PKG_VERSION"),
            "engine": {
                "name": ENGINE_NAME,
                "version": ENGINE_VERSION,
                "artifact_format": ARTIFACT_FORMAT,
                "compatibility": engine::compatibility(),
                "compiler": Digest::of(&state.0),
            },
            "target": target,
        });
        let functions = Digest::of(inputs.to_string().as_bytes());
        inputs["module"] = json!(module);
        Self { artifact: Digest::of(inputs.to_string().as_bytes()), functions, inputs }
    }
}

/// Keeps what is hashed, so that it can be digested.
struct Recorded(Vec<u8>);

impl Hasher for Recorded {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::precompile::{compiler, target};

    fn cache(max_bytes: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache"), max_bytes).unwrap();
        (folder, cache)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut files = Vec::new();
        list(folder, &mut files);
        let mut names: Vec<_> =
            files.iter().map(|(_, path, _)| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_kept_is_found_and_nothing_else() {
        let (_folder, cache) = cache(1_000);
        let (key, other) = (Digest::of(b"one"), Digest::of(b"other"));
        assert_eq!(cache.find(&key), Found::Absent);
        cache.keep(&key, b"artifact").unwrap();
        assert_eq!(cache.find(&key), Found::Artifact(b"artifact".to_vec()));
        assert_eq!(cache.find(&other), Found::Absent);
        cache.keep(&key, b"").unwrap();
        assert_eq!(cache.find(&key), Found::Artifact(Vec::new()));
        assert_eq!(names(&cache.root.join(ARTIFACTS)), [key.hex()], "nothing is left beside it");
    }

    #[test]
    fn a_damaged_file_is_told_and_gone() {
        let (_folder, cache) = cache(1_000);
        let (key, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let place = cache.place(&key);
        cache.keep(&key, b"artifact").unwrap();
        let good = fs::read(&place).unwrap();
        assert_eq!(good.len(), 8 + 32 + 32 + 8);
        let flipped = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            bytes
        };
        let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(flipped).collect();
        damaged.extend((0..good.len()).map(|length| good[..length].to_vec()));
        damaged.push([good.as_slice(), b"!"].concat());
        for bytes in damaged {
            fs::write(&place, &bytes).unwrap();
            assert_eq!(cache.find(&key), Found::Damaged(place.clone()), "{bytes:?}");
            assert_eq!(cache.find(&key), Found::Absent);
        }
        // A whole file of another key.
        cache.keep(&other, b"artifact").unwrap();
        fs::rename(cache.place(&other), &place).unwrap();
        assert_eq!(cache.find(&key), Found::Damaged(place));
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let (folder, first) = cache(1_000);
        let root = folder.path().join("cache");
        let functions = first.functions(&Digest::of(b"one")).unwrap();
        for path in [root.clone(), root.join(ARTIFACTS), root.join(FUNCTIONS)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o720)).unwrap();
            let error = Cache::open(&root, 1_000).unwrap_err();
            assert_eq!(error.diagnostics()[0].code, Code::CompileCacheShared, "{error}");
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::set_permissions(&functions, fs::Permissions::from_mode(0o707)).unwrap();
        assert!(first.functions(&Digest::of(b"one")).is_err());
        assert!(Cache::open(&root, 1_000).is_ok());
        fs::write(folder.path().join("file"), "").unwrap();
        let error = Cache::open(&folder.path().join("file"), 1_000).unwrap_err();
        assert_eq!(error.diagnostics()[0].code, Code::Io);
    }

    #[test]
    fn the_files_used_longest_ago_go_first() {
        let (_folder, cache) = cache(250);
        let keys: Vec<Digest> = (0..3_u8).map(|number| Digest::of(&[number])).collect();
        let day = |number: u64| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number * 86_400);
        let dated = |path: &Path, number: u64| {
            let file = fs::OpenOptions::new().append(true).open(path).unwrap();
            file.set_modified(day(number)).unwrap();
        };
        // Each is 72 bytes and 28 more: three of them are over the limit.
        for (key, number) in keys.iter().zip(1..) {
            cache.keep(key, &[7; 28]).unwrap();
            dated(&cache.place(key), number);
        }
        let pack = cache.functions(&Digest::of(b"target")).unwrap().join("one.pack");
        fs::write(&pack, [7; 50]).unwrap();
        dated(&pack, 2);
        // Use makes the oldest the newest.
        assert!(matches!(cache.find(&keys[0]), Found::Artifact(_)));
        cache.prune();
        assert_eq!(cache.find(&keys[1]), Found::Absent);
        assert!(matches!(cache.find(&keys[0]), Found::Artifact(_)));
        assert!(matches!(cache.find(&keys[2]), Found::Artifact(_)));
        assert!(pack.exists(), "250 bytes are allowed, and that is what is left");
        Cache { max_bytes: 0, ..cache }.prune();
        assert!(!pack.exists());
    }

    #[test]
    fn keys_differ_by_what_the_code_is_made_from() {
        let keys = |name: &str, module: &[u8]| {
            let target = target(name).unwrap();
            Keys::new(&target, &compiler(&target).unwrap(), &Digest::of(module))
        };
        let one = keys("x86_64-linux", b"module");
        assert_eq!(one, keys("x86_64-linux", b"module"));
        let other = keys("x86_64-linux", b"other");
        assert_ne!(one.artifact, other.artifact);
        assert_eq!(one.functions, other.functions, "functions are shared between modules");
        for name in ["x86_64-linux/x86-64-v3", "x86_64-linux-musl", "aarch64-linux", "pulley64"] {
            let other = keys(name, b"module");
            assert!(one.artifact != other.artifact && one.functions != other.functions, "{name}");
        }
    }
}
