//! The functions that were compiled before, for the engine's incremental compilation: a module of
//! which one function changed is compiled anew, but the others come from here.
//!
//! A child process opens the folder of its target, reads where the functions are, and writes those
//! that it had to compile into one new pack. Functions are found by the engine's own key: a
//! SHA-256 over the function's code before optimisation, the target's settings and the compiler's
//! version.
//!
//! A pack, numbers little-endian:
//!
//! 1. the functions, one after another, as the engine writes them;
//! 2. the list, sorted by key; for each function: key (32 bytes), offset (8), length (8), SHA-256
//!    of the function's bytes (32);
//! 3. offset of the list (8), number of functions (8), SHA-256 of the list (32), `SUBAKOF1` (8).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use subako_manifest::digest::Digest;
use subako_manifest::limits::MIB;
use tempfile::NamedTempFile;
use wasmtime::CacheStore;

use super::cache;

const MAGIC: &[u8; 8] = b"SUBAKOF1";
const SUFFIX: &str = "pack";
/// Bytes of a function's place in the list.
const PLACE: usize = 32 + 8 + 8 + 32;
const TRAILER: usize = 8 + 8 + 32 + 8;
/// Packs whose lists are read: those used last. What is only in others is compiled again, into
/// a new one.
const MAX_PACKS: usize = 64;

/// Modules up to this size are compiled by one thread when their functions are kept; it takes
/// that thread some seconds.
const MAX_SERIAL_BYTES: u64 = 4 * MIB;

/// Whether the functions of a module are compiled by several threads at once when they are kept.
///
/// The engine's keys take in something of what the same thread has compiled before; the code that
/// is kept under them is the same. Several threads share out the functions in another way every
/// time, and a part of the functions is then not found again: measured were 6 % of CPython, and
/// more than half of a module with one export. One thread finds all of them, or all but the one
/// that it compiles after one that changed. For large modules, several threads save more than the
/// missing functions cost.
pub(super) fn in_parallel(module_bytes: u64) -> bool {
    module_bytes > MAX_SERIAL_BYTES
}

type Key = [u8; 32];

/// The functions of one target.
#[derive(Debug)]
pub(super) struct FunctionStore {
    folder: PathBuf,
    packs: Vec<Pack>,
    places: BTreeMap<Key, Place>,
    new: Mutex<NewPack>,
    reused: AtomicU64,
    compiled: AtomicU64,
    damaged: AtomicU64,
}

#[derive(Debug)]
struct Pack {
    path: PathBuf,
    file: File,
    used: AtomicBool,
    damaged: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    pack: usize,
    offset: u64,
    length: usize,
    digest: [u8; 32],
}

/// A pack in the making.
#[derive(Debug)]
enum NewPack {
    /// No function yet.
    Empty,
    Written {
        file: BufWriter<NamedTempFile>,
        bytes: u64,
        list: BTreeMap<Key, (u64, u64, Digest)>,
    },
    /// The disk refused; nothing more is written.
    Failed,
}

/// How much of a module was there already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// Functions and trampolines that were taken from the cache.
    pub reused: u64,
    /// Those that were compiled.
    pub compiled: u64,
    /// Packs of functions that were not what was written once; they are removed.
    pub damaged: u64,
    /// Whether the new functions could not be written.
    pub unwritten: bool,
}

impl FunctionStore {
    /// Reads which functions are in `folder`, which nobody else may write.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut store = Self {
            folder: folder.to_owned(),
            packs: Vec::new(),
            places: BTreeMap::new(),
            new: Mutex::new(NewPack::Empty),
            reused: AtomicU64::new(0),
            compiled: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
        };
        let mut paths = packs(folder)?;
        let older = paths.len().saturating_sub(MAX_PACKS);
        // From old to new: what was written last counts.
        for path in paths.drain(..).skip(older) {
            match store.add(&path) {
                Ok(()) => {}
                // Another process has removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => {
                    let _ = fs::remove_file(&path);
                    *store.damaged.get_mut() += 1;
                }
            }
        }
        Ok(store)
    }

    /// Reads the list of one pack.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let end = length.checked_sub(TRAILER as u64).ok_or_else(broken)?;
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, end)?;
        let (list_at, count) = (number(&trailer[..8]), number(&trailer[8..16]));
        let bytes = end.checked_sub(list_at).ok_or_else(broken)?;
        if &trailer[48..] != MAGIC || count.checked_mul(PLACE as u64) != Some(bytes) {
            return Err(broken());
        }
        let mut list = vec![0; usize::try_from(bytes).map_err(|_| broken())?];
        file.read_exact_at(&mut list, list_at)?;
        if Digest::of(&list).as_bytes() != &trailer[16..48] {
            return Err(broken());
        }
        let pack = self.packs.len();
        let mut places = Vec::new();
        for line in list.chunks_exact(PLACE) {
            let (offset, length) = (number(&line[32..40]), number(&line[40..48]));
            if offset.checked_add(length).is_none_or(|end| end > list_at) {
                return Err(broken());
            }
            let length = usize::try_from(length).map_err(|_| broken())?;
            places.push((array(&line[..32]), Place { pack, offset, length, digest: array(&line[48..]) }));
        }
        self.places.extend(places);
        let (used, damaged) = (AtomicBool::new(false), AtomicBool::new(false));
        self.packs.push(Pack { path: path.to_owned(), file, used, damaged });
        Ok(())
    }

    fn read(&self, key: &[u8]) -> Option<Vec<u8>> {
        let place = self.places.get(<&Key>::try_from(key).ok()?)?;
        let pack = self.packs.get(place.pack)?;
        let mut bytes = vec![0; place.length];
        let read = pack.file.read_exact_at(&mut bytes, place.offset);
        if read.is_err() || Digest::of(&bytes).as_bytes() != &place.digest {
            pack.damaged.store(true, Ordering::Relaxed);
            return None;
        }
        pack.used.store(true, Ordering::Relaxed);
        Some(bytes)
    }

    /// Puts the new functions where the next compilation finds them, and tells what happened. A
    /// store that is finished gives functions, but takes no more.
    pub(super) fn finish(&self) -> Functions {
        let new = std::mem::replace(&mut *self.locked(), NewPack::Failed);
        let unwritten = match new {
            NewPack::Empty => false,
            NewPack::Failed => true,
            NewPack::Written { file, bytes, list } => self.complete(file, bytes, &list).is_err(),
        };
        let mut damaged = self.damaged.load(Ordering::Relaxed);
        for pack in &self.packs {
            if pack.damaged.load(Ordering::Relaxed) {
                let _ = fs::remove_file(&pack.path);
                damaged += 1;
            } else if pack.used.load(Ordering::Relaxed) {
                cache::used(&pack.file);
            }
        }
        Functions {
            reused: self.reused.load(Ordering::Relaxed),
            compiled: self.compiled.load(Ordering::Relaxed),
            damaged,
            unwritten,
        }
    }

    /// Ends a pack with its list and gives it its name.
    fn complete(
        &self,
        mut file: BufWriter<NamedTempFile>,
        bytes: u64,
        list: &BTreeMap<Key, (u64, u64, Digest)>,
    ) -> io::Result<()> {
        let mut lines = Vec::with_capacity(list.len() * PLACE);
        for (key, (offset, length, digest)) in list {
            lines.extend_from_slice(key);
            lines.extend_from_slice(&offset.to_le_bytes());
            lines.extend_from_slice(&length.to_le_bytes());
            lines.extend_from_slice(digest.as_bytes());
        }
        let digest = Digest::of(&lines);
        file.write_all(&lines)?;
        file.write_all(&bytes.to_le_bytes())?;
        file.write_all(&(list.len() as u64).to_le_bytes())?;
        file.write_all(digest.as_bytes())?;
        file.write_all(MAGIC)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(self.folder.join(format!("{}.{SUFFIX}", digest.hex())))?;
        Ok(())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, NewPack> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheStore for FunctionStore {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let bytes = self.read(key)?;
        self.reused.fetch_add(1, Ordering::Relaxed);
        Some(Cow::Owned(bytes))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let Ok(key) = Key::try_from(key) else { return false };
        let digest = Digest::of(&value);
        let mut new = self.locked();
        let written = new.write(&self.folder, key, &value, digest);
        if written.is_err() {
            *new = NewPack::Failed;
        }
        written.is_ok()
    }
}

impl NewPack {
    fn write(&mut self, folder: &Path, key: Key, value: &[u8], digest: Digest) -> io::Result<()> {
        if matches!(self, Self::Empty) {
            let file = tempfile::Builder::new().prefix(cache::PART).tempfile_in(folder)?;
            *self = Self::Written { file: BufWriter::new(file), bytes: 0, list: BTreeMap::new() };
        }
        let Self::Written { file, bytes, list } = self else {
            return Err(io::ErrorKind::Other.into());
        };
        // Two functions of one module may be the same.
        if list.contains_key(&key) {
            return Ok(());
        }
        let length = value.len() as u64;
        file.write_all(value)?;
        list.insert(key, (*bytes, length, digest));
        *bytes += length;
        Ok(())
    }
}

/// The packs of a folder, those that were used last at the end.
fn packs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == SUFFIX)
            && let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified())
        {
            found.push((modified, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a number is cut out as eight bytes"))
}

fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("a key or digest is cut out as 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        [byte; 32]
    }

    fn stored(store: &FunctionStore, byte: u8) -> Option<Vec<u8>> {
        store.get(&key(byte)).map(Cow::into_owned)
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    /// A folder with a pack of two functions.
    fn two() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let store = FunctionStore::open(folder.path()).unwrap();
        assert!(store.insert(&key(2), b"two".to_vec()));
        assert!(store.insert(&key(1), b"first".to_vec()));
        assert!(store.insert(&key(2), b"two".to_vec()));
        assert_eq!(stored(&store, 1), None, "what is new is there once it is finished");
        let functions = store.finish();
        assert_eq!(functions, Functions { compiled: 3, ..Functions::default() });
        folder
    }

    #[test]
    fn functions_come_back() {
        let folder = two();
        let store = FunctionStore::open(folder.path()).unwrap();
        assert_eq!(stored(&store, 1).as_deref(), Some(b"first".as_slice()));
        assert_eq!(stored(&store, 2).as_deref(), Some(b"two".as_slice()));
        assert_eq!(stored(&store, 3), None);
        assert_eq!(store.get(b"short"), None);
        assert!(store.insert(&key(3), b"three".to_vec()));
        assert_eq!(store.finish(), Functions { reused: 2, compiled: 1, ..Functions::default() });
        assert_eq!(names(folder.path()).len(), 2, "one pack more, and nothing else");
        let store = FunctionStore::open(folder.path()).unwrap();
        for (byte, bytes) in [(1, "first"), (2, "two"), (3, "three")] {
            assert_eq!(stored(&store, byte).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(store.finish(), Functions { reused: 3, ..Functions::default() });
        assert_eq!(names(folder.path()).len(), 2, "nothing new, no new pack");
    }

    #[test]
    fn damage_anywhere_is_noticed_and_removed() {
        let folder = two();
        let name = names(folder.path()).remove(0);
        let path = folder.path().join(&name);
        let good = fs::read(&path).unwrap();
        assert_eq!(good.len(), 3 + 5 + 2 * 80 + 56);
        let flipped = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            bytes
        };
        let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(flipped).collect();
        damaged.extend((0..good.len()).map(|length| good[..length].to_vec()));
        for bytes in damaged {
            fs::write(&path, &bytes).unwrap();
            let store = FunctionStore::open(folder.path()).unwrap();
            // Never other bytes than those that were written.
            assert!(stored(&store, 1).is_none_or(|bytes| bytes == b"first"), "{bytes:?}");
            assert!(stored(&store, 2).is_none_or(|bytes| bytes == b"two"), "{bytes:?}");
            assert_eq!(store.finish().damaged, 1, "{bytes:?}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_folder_that_is_gone_costs_the_cache_only() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("functions");
        fs::create_dir(&inner).unwrap();
        let store = FunctionStore::open(&inner).unwrap();
        fs::remove_dir(&inner).unwrap();
        assert!(!store.insert(&key(1), b"one".to_vec()));
        assert!(!store.insert(&key(2), b"two".to_vec()));
        assert_eq!(store.finish(), Functions { compiled: 2, unwritten: true, ..Functions::default() });
        assert!(FunctionStore::open(&inner).is_err());
    }

    #[test]
    fn the_packs_used_last_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for byte in 0..=u8::try_from(MAX_PACKS).unwrap() {
            let store = FunctionStore::open(folder.path()).unwrap();
            assert!(store.insert(&key(byte), vec![byte]));
            store.finish();
            let newest = packs(folder.path()).unwrap().pop().unwrap();
            let day = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(byte) * 86_400);
            fs::OpenOptions::new().append(true).open(newest).unwrap().set_modified(day).unwrap();
        }
        let store = FunctionStore::open(folder.path()).unwrap();
        assert_eq!(stored(&store, 0), None);
        assert_eq!(stored(&store, 1), Some(vec![1]));
        assert_eq!(store.packs.len(), MAX_PACKS);
    }
}
