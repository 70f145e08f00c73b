//! Bundles, read: a zip whose every byte is accounted for by its index. What they
//! hold is put together by `compiler/src/pack.rs`, and written by `bundle/write.rs`; `docs/bundle.md` describes the bytes.
//!
//! 1. The entries are `bundle.json`, exactly those that it names, and `signatures/<key id>.json`.
//!    Artifacts may be absent: then the bundle is thin.
//! 2. They stand in the file, and in the zip's directory, sorted by the bytes of their paths, with
//!    nothing before, between or after them.
//! 3. Artifacts are stored, and their data begins at a multiple of [`ARTIFACT_ALIGNMENT`]; all
//!    other entries are deflated.
//! 4. No header holds anything that could be otherwise: see `bundle/layout.rs`.
//!
//! [`OpenBundle::open`] compares the structure and the sizes with the index, and the sizes with what
//! an entry of that role and of so many compressed bytes can have. It computes no digest
//! of contents and inflates nothing but the index: [`OpenBundle::contents`] does, an entry at a
//! time.

mod error;
mod layout;
#[cfg(feature = "write")]
pub mod records;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "write")]
pub mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::archive::{self, Archive, ArchiveEntry, Method, Strictness};
use crate::digest::Digest;
use crate::index::{Entry, Index, Role};
use crate::limits::{MAX_TOOLS_BYTES, MIB};
use crate::package::MAX_MANIFEST_BYTES;
use crate::target::Target;

pub use error::{Error, HeaderField};
pub use layout::padding as artifact_padding;

/// The index.
pub const INDEX: &str = "bundle.json";
/// The manifest, as its author wrote it.
pub const MANIFEST: &str = "subako-package.json";
/// The tools that the module answered when it was discovered.
pub const TOOLS: &str = "tools.json";
/// The rewritten module.
pub const MODULE: &str = "module.wasm";
/// Where artifacts are: `native/<triple>/<cpu>.cwasm`.
pub const NATIVE_DIR: &str = "native/";
/// Where assets are, each at its path in the package.
pub const PACKAGE_DIR: &str = "package/";
/// What is in the bundle and where it comes from, as CycloneDX JSON; not in every bundle.
pub const SBOM: &str = "sbom.cdx.json";
/// Where signatures are: `signatures/<key id>.json`.
pub const SIGNATURES_DIR: &str = "signatures/";

/// Artifacts begin at a multiple of this many bytes from the start of the file: the largest page
/// of the hosts that are common, so that each can map an artifact from the bundle itself.
pub const ARTIFACT_ALIGNMENT: u64 = 16_384;

/// Bytes of `bundle.json`: some 200 for each of the 10,000 files that a package may have, with
/// much room.
pub const MAX_INDEX_BYTES: u64 = 16 * MIB;
/// Bytes of one signature: an envelope is a few KiB.
pub const MAX_SIGNATURE_BYTES: u64 = MIB;
/// Bytes of `tools.json`: the tools, and room for what is around them.
pub const MAX_TOOLS_FILE_BYTES: u64 = MAX_TOOLS_BYTES + MIB;
/// Bytes of the SBOM: it names each entry of the index four times.
pub const MAX_SBOM_BYTES: u64 = 4 * MAX_INDEX_BYTES;
/// Up to this size, a module's or asset's ratio is not looked at.
pub const UNMEASURED_BYTES: u64 = 64 * MIB;
/// How many times larger than its compressed bytes a module or an asset may be: a little more than
/// the 1,032 that deflate reaches at most. Their sizes have no bound of their own, because
/// `--max-file-size` can raise that of a package.
pub const MAX_RATIO: u64 = 1_100;

/// A bundle whose structure holds together and agrees with its index. Nobody has vouched for it,
/// and no digest has been compared.
#[derive(Debug)]
pub struct OpenBundle<B> {
    bytes: B,
    index: Index,
    digest: Digest,
    /// By path, signatures and the index too.
    places: BTreeMap<String, EntryPlace>,
}

/// What an entry's headers say.
#[derive(Debug, Clone, Copy)]
struct EntryPlace {
    method: Method,
    flags: u16,
    crc32: u32,
    compressed_size: u64,
    size: u64,
    unix_mode: Option<u32>,
    data_offset: u64,
    header_offset: u64,
}

impl<B: AsRef<[u8]>> OpenBundle<B> {
    /// Reads the structure of a bundle, whose whole file is `bytes` (a vector, or a mapped file),
    /// and compares it with its index.
    ///
    /// # Errors
    ///
    /// [`Error::IndexAbsent`] for a zip that is no bundle at all, else the first fault: of the zip,
    /// of the index, of an entry in the order of the file.
    pub fn open(bytes: B) -> Result<Self, Error> {
        let file = bytes.as_ref();
        let archive = Archive::read(file).map_err(|error| {
            // Of a zip that is no bundle at all, nothing else is worth saying.
            match Archive::survey(file, Strictness::Upload) {
                Ok((zip, faults)) if faults.is_empty() && !zip.entries().iter().any(is_index) => {
                    Error::IndexAbsent
                }
                _ => error.into(),
            }
        })?;
        if !archive.entries().iter().any(is_index) {
            return Err(Error::IndexAbsent);
        }
        let paths = layout::check(file, archive.entries())?;

        let index_entry = paths
            .iter()
            .zip(archive.entries())
            .find_map(|(path, entry)| (*path == INDEX).then_some(entry))
            .ok_or(Error::IndexAbsent)?;
        let json = archive::contents(file, index_entry, MAX_INDEX_BYTES)?;
        let index = Index::from_json(&json)?;
        let digest = Digest::of(&json);

        let named: BTreeMap<&str, &Entry> =
            index.entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
        for (path, entry) in paths.iter().zip(archive.entries()) {
            match named.get(path) {
                Some(named) => agree(file, path, entry, named)?,
                None if *path == INDEX => deflated(path, entry)?,
                None if key_id(path).is_some() => deflated(path, entry)?,
                None => return Err(Error::EntryUnknown { path: (*path).to_owned() }),
            }
        }
        let places: BTreeMap<String, EntryPlace> = paths
            .iter()
            .zip(archive.entries())
            .map(|(path, entry)| ((*path).to_owned(), EntryPlace::of(entry)))
            .collect();
        let missing = |entry: &&Entry| entry.role != Role::Artifact && !places.contains_key(&entry.path);
        if let Some(absent) = index.entries.iter().find(missing) {
            return Err(Error::EntryAbsent { path: absent.path.clone() });
        }
        Ok(Self { index, digest, places, bytes })
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The bundle's digest: the SHA-256 of `bundle.json`.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The entry at `path`, as the index has it.
    #[must_use]
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        // The index is sorted; `open` refuses others.
        let entries = &self.index.entries;
        entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok().map(|at| &entries[at])
    }

    /// Whether the entry is in the file. Of those that the index names, only artifacts can be absent.
    #[must_use]
    pub fn has(&self, entry: &Entry) -> bool {
        self.places.contains_key(&entry.path)
    }

    /// The entries of the index that are in the file, in its order.
    pub fn present(&self) -> impl Iterator<Item = &Entry> {
        self.index.entries.iter().filter(|entry| self.has(entry))
    }

    /// The artifacts that the index names and the file does not have; there are some in a thin
    /// bundle only.
    pub fn absent(&self) -> impl Iterator<Item = (&Entry, &Target)> {
        self.index.artifacts().filter(|(entry, _)| !self.has(entry))
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Where the bundle's bytes are from.
    #[must_use]
    pub fn source(&self) -> &B {
        &self.bytes
    }

    /// The bundle's bytes, given back.
    #[must_use]
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// The contents of an entry of the index, with size and SHA-256 compared. What is stored is
    /// borrowed, not copied.
    ///
    /// # Errors
    ///
    /// [`Error::Archive`] when the data does not inflate to what its headers say,
    /// [`Error::Digest`], and [`Error::EntryAbsent`] for an entry of another bundle or an artifact
    /// that a thin one does not have.
    pub fn contents(&self, entry: &Entry) -> Result<Cow<'_, [u8]>, Error> {
        let place = self.place(entry)?;
        let contents = self.read(&entry.path, place, entry.size)?;
        let found = Digest::of(&contents);
        if found != entry.digest {
            return Err(Error::Digest { path: entry.path.clone(), found, expected: entry.digest });
        }
        Ok(contents)
    }

    /// Where in the file the contents of a stored entry are: an artifact can be mapped from there.
    /// Its digest is not compared.
    ///
    /// # Errors
    ///
    /// [`Error::Method`] for an entry that is deflated, and [`Error::EntryAbsent`] for one of
    /// another bundle.
    pub fn stored_range(&self, entry: &Entry) -> Result<Range<usize>, Error> {
        let place = self.place(entry)?;
        if place.method != Method::Stored {
            return Err(Error::Method {
                path: entry.path.clone(),
                found: place.method,
                expected: Method::Stored,
            });
        }
        let absent = || Error::EntryAbsent { path: entry.path.clone() };
        let start = usize::try_from(place.data_offset).map_err(|_| absent())?;
        let length = usize::try_from(place.size).map_err(|_| absent())?;
        Ok(start..start + length)
    }

    /// The ids of the keys that signatures are there for, sorted. Nothing is known of them.
    pub fn signatures(&self) -> impl Iterator<Item = &str> {
        self.places.keys().filter_map(|path| key_id(path))
    }

    /// The bytes of the signature of that key, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Archive`] when the data does not inflate to what its headers say, or to more than
    /// [`MAX_SIGNATURE_BYTES`].
    pub fn signature(&self, key_id: &str) -> Result<Option<Cow<'_, [u8]>>, Error> {
        let path = format!("{SIGNATURES_DIR}{key_id}.json");
        self.places.get(&path).map(|place| self.read(&path, place, MAX_SIGNATURE_BYTES)).transpose()
    }

    fn place(&self, entry: &Entry) -> Result<&EntryPlace, Error> {
        self.places.get(&entry.path).ok_or_else(|| Error::EntryAbsent { path: entry.path.clone() })
    }

    fn read(&self, path: &str, place: &EntryPlace, max: u64) -> Result<Cow<'_, [u8]>, Error> {
        Ok(archive::contents(self.bytes.as_ref(), &place.entry(path), max)?)
    }
}

impl EntryPlace {
    fn of(entry: &ArchiveEntry<'_>) -> Self {
        Self {
            method: entry.method,
            flags: entry.flags,
            crc32: entry.crc32,
            compressed_size: entry.compressed_size,
            size: entry.size,
            unix_mode: entry.unix_mode,
            data_offset: entry.data_offset,
            header_offset: entry.header_offset,
        }
    }

    fn entry<'a>(&self, path: &'a str) -> ArchiveEntry<'a> {
        ArchiveEntry {
            name: path.as_bytes(),
            method: self.method,
            flags: self.flags,
            crc32: self.crc32,
            compressed_size: self.compressed_size,
            size: self.size,
            unix_mode: self.unix_mode,
            data_offset: self.data_offset,
            header_offset: self.header_offset,
        }
    }
}

/// The path of the signature of the key called `key_id`, if a key may be called so: 1 to 128
/// letters, digits, `-`, `_` and `.`, the first not a `.`.
#[must_use]
pub fn signature_path(key_id: &str) -> Option<String> {
    is_key_id(key_id).then(|| format!("{SIGNATURES_DIR}{key_id}.json"))
}

fn key_id(path: &str) -> Option<&str> {
    path.strip_prefix(SIGNATURES_DIR)?.strip_suffix(".json").filter(|id| is_key_id(id))
}

fn is_key_id(id: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && !id.starts_with('.') && id.bytes().all(letter)
}

fn is_index(entry: &ArchiveEntry<'_>) -> bool {
    entry.name == INDEX.as_bytes()
}

fn agree(file: &[u8], path: &str, entry: &ArchiveEntry<'_>, named: &Entry) -> Result<(), Error> {
    if named.role == Role::Artifact {
        expect_method(path, entry, Method::Stored)?;
        layout::check_padding(file, path, entry)?;
    } else {
        deflated(path, entry)?;
    }
    if entry.size != named.size {
        return Err(Error::Size { path: path.to_owned(), found: entry.size, expected: named.size });
    }
    bounded(path, entry, named.role)
}

/// What an entry says it inflates to is what one of its role can have.
fn bounded(path: &str, entry: &ArchiveEntry<'_>, role: Role) -> Result<(), Error> {
    let allowed = match role {
        Role::Manifest => MAX_MANIFEST_BYTES,
        Role::Tools => MAX_TOOLS_FILE_BYTES,
        Role::Sbom => MAX_SBOM_BYTES,
        Role::Module | Role::Asset => entry.compressed_size.saturating_mul(MAX_RATIO).max(UNMEASURED_BYTES),
        // Stored: its bytes are there.
        Role::Artifact => return Ok(()),
    };
    if entry.size > allowed {
        return Err(Error::TooLarge { path: path.to_owned(), found: entry.size, allowed });
    }
    Ok(())
}

fn deflated(path: &str, entry: &ArchiveEntry<'_>) -> Result<(), Error> {
    expect_method(path, entry, Method::Deflated)
}

fn expect_method(path: &str, entry: &ArchiveEntry<'_>, expected: Method) -> Result<(), Error> {
    if entry.method == expected {
        return Ok(());
    }
    Err(Error::Method { path: path.to_owned(), found: entry.method, expected })
}
