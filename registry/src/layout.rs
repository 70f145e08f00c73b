//! An OCI image layout: a registry of files, for moves without a network and for static hosting.
//!
//! | file | what it is |
//! | --- | --- |
//! | `oci-layout` | the version of the layout; also the lock for changes of `index.json` |
//! | `index.json` | the manifests: bundles by their tags, and signatures |
//! | `blobs/sha256/<hex>` | blobs and manifests |
//!
//! Every file is written beside its place and renamed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use subako_manifest::digest::Digest;

use super::manifest::{Descriptor, List, MAX_MANIFEST_BYTES, Manifest, REF_NAME};
use super::reference::Version;
use super::{Error, Store};
use crate::unfinished::PartFile;

const VERSION_FILE: &str = "oci-layout";
const INDEX_FILE: &str = "index.json";
const VERSION: &str = "1.0.0";
/// Bytes of `index.json`: far more manifests than anybody moves at once.
const MAX_INDEX_BYTES: u64 = 4 * MAX_MANIFEST_BYTES;

/// An image layout.
#[derive(Debug)]
pub struct Layout {
    root: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionJson {
    image_layout_version: String,
}

impl Layout {
    /// The layout that is there.
    ///
    /// # Errors
    ///
    /// There is none, or it is of a version that is not known.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let layout = Self { root: root.to_owned() };
        let path = root.join(VERSION_FILE);
        let bytes = match read(&path, MAX_MANIFEST_BYTES) {
            Ok(bytes) => bytes,
            Err(Error::Absent(_)) if !root.exists() => {
                return Err(Error::Absent(root.to_string_lossy().into_owned()));
            }
            Err(Error::Absent(_)) => return Err(layout.wrong(format!("it has no `{VERSION_FILE}`"))),
            Err(other) => return Err(other),
        };
        let json: VersionJson = serde_json::from_slice(&bytes)
            .map_err(|error| layout.wrong(format!("`{VERSION_FILE}` is wrong: {error}")))?;
        if !json.image_layout_version.starts_with("1.") {
            return Err(layout.wrong(format!("it has version {}", json.image_layout_version)));
        }
        Ok(layout)
    }

    /// The layout that is there, or a new one.
    ///
    /// # Errors
    ///
    /// It cannot be made, or something else is there.
    pub fn create(root: &Path) -> Result<Self, Error> {
        let layout = Self { root: root.to_owned() };
        if !root.join(VERSION_FILE).exists() {
            // A directory of other things would become a heap of both.
            let other = fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
            if other && !layout.blobs().exists() {
                return Err(layout.wrong("it is a directory of other things".to_owned()));
            }
            make_directory(&layout.blobs())?;
            if !layout.root.join(INDEX_FILE).exists() {
                write(&root.join(INDEX_FILE), &List::empty().to_json())?;
            }
            let json = format!("{{\"imageLayoutVersion\":\"{VERSION}\"}}");
            write(&root.join(VERSION_FILE), json.as_bytes())?;
        }
        make_directory(&layout.blobs())?;
        Self::open(root)
    }

    fn blobs(&self) -> PathBuf {
        self.root.join("blobs").join("sha256")
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.blobs().join(digest.hex())
    }

    fn wrong(&self, why: String) -> Error {
        Error::Layout { path: self.root.clone(), why }
    }

    fn list(&self) -> Result<List, Error> {
        match read(&self.root.join(INDEX_FILE), MAX_INDEX_BYTES) {
            Ok(json) => serde_json::from_slice(&json)
                .map_err(|error| self.wrong(format!("`{INDEX_FILE}` is wrong: {error}"))),
            Err(Error::Absent(_)) => Ok(List::empty()),
            Err(other) => Err(other),
        }
    }

    /// Changes `index.json`, one process after the other.
    fn change(&self, change: impl FnOnce(&mut List)) -> Result<(), Error> {
        let path = self.root.join(VERSION_FILE);
        let lock = File::open(&path).map_err(io_error(&path))?;
        lock.lock().map_err(io_error(&path))?;
        let mut list = self.list()?;
        change(&mut list);
        write(&self.root.join(INDEX_FILE), &list.to_json())
    }
}

impl Store for Layout {
    fn has(&self, blob: &Descriptor) -> Result<bool, Error> {
        match self.blob(blob) {
            Ok(_) => Ok(true),
            // What is broken is written anew.
            Err(error) if error.is_about_content() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn put(&self, blob: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        write(&self.blob_path(&blob.digest), bytes)
    }

    fn blob(&self, blob: &Descriptor) -> Result<Vec<u8>, Error> {
        let path = self.blob_path(&blob.digest);
        let bytes = read(&path, blob.size)?;
        check(&path, &bytes, &blob.digest, Some(blob.size))?;
        Ok(bytes)
    }

    fn manifest(&self, version: &Version) -> Result<Vec<u8>, Error> {
        let digest = match version {
            Version::Digest(digest) => *digest,
            Version::Tag(tag) => {
                let tagged = |it: &Descriptor| it.annotations.get(REF_NAME) == Some(tag);
                let found = self.list()?.known().find(tagged);
                let absent = || Error::Absent(format!("dir:{}:{tag}", self.root.display()));
                found.ok_or_else(absent)?.digest
            }
        };
        let path = self.blob_path(&digest);
        let bytes = read(&path, MAX_MANIFEST_BYTES)?;
        check(&path, &bytes, &digest, None)?;
        Ok(bytes)
    }

    fn put_manifest(&self, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        self.put(manifest, bytes)
    }

    fn put_referrer(&self, _subject: &Digest, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        self.put(manifest, bytes)?;
        self.change(|list| list.add(manifest))
    }

    fn tag(&self, tag: &str, manifest: &Descriptor, _bytes: &[u8]) -> Result<(), Error> {
        self.change(|list| {
            list.remove(REF_NAME, tag);
            list.add(&manifest.clone().annotated(REF_NAME, tag));
        })
    }

    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, Error> {
        let mut found = self.list()?.known().collect::<Vec<_>>();
        found.retain(|it| it.artifact_type.as_deref() == Some(artifact_type));
        // One that cannot be read is about nothing.
        found.retain(|it| {
            let json = self.manifest(&Version::Digest(it.digest));
            let manifest = json.ok().and_then(|json| serde_json::from_slice::<Manifest>(&json).ok());
            manifest.and_then(|manifest| manifest.subject).is_some_and(|about| about.digest == *subject)
        });
        Ok(found)
    }
}

fn check(path: &Path, bytes: &[u8], expected: &Digest, size: Option<u64>) -> Result<(), Error> {
    let (name, count) = (path.to_string_lossy().into_owned(), bytes.len() as u64);
    if let Some(size) = size.filter(|size| *size != count) {
        return Err(Error::Size { name, found: count, expected: size });
    }
    let found = Digest::of(bytes);
    if found != *expected {
        return Err(Error::Digest { name, found, expected: *expected });
    }
    Ok(())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => Error::Absent(path.to_string_lossy().into_owned()),
        _ => Error::Io { path: path.to_owned(), source },
    }
}

/// The file, and one byte more than allowed where there is more.
fn read(path: &Path, allowed: u64) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(io_error(path))?;
    let mut bytes = Vec::new();
    file.take(allowed.saturating_add(1)).read_to_end(&mut bytes).map_err(io_error(path))?;
    Ok(bytes)
}

fn make_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".subako-").suffix(".part");
    // As for any new file, the umask decides: others may read what is moved or served.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut beside = PartFile::new(&builder, folder).map_err(failed)?;
    beside.write_all(bytes).map_err(failed)?;
    beside.as_file().sync_all().map_err(failed)?;
    beside.finish(path).map_err(failed)?;
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}
