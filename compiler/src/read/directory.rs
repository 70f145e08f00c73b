//! A package from a directory: walked in the order of names, no symlink followed.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::package::{MANIFEST_FILE, MODULE_FILE, MODULE_TEXT_FILE};
use subako_manifest::text::{grouped, shown};

use super::listing::Listing;
use super::{Error, Limits, Upload, bounded, upload};

pub(super) fn read(root: &Path, limits: &Limits) -> Result<Upload, Error> {
    let package = root.to_string_lossy();
    let mut listing = Listing::new(&package, limits);
    let top = children(root)?;
    let is_top = |name: &str| top.iter().any(|child| child == name);
    if [MANIFEST_FILE, MODULE_FILE, MODULE_TEXT_FILE].into_iter().any(is_top) {
        walk(root, top, &mut listing)?;
    } else {
        // No package at all: perhaps its parent, or a directory given by mistake, which is not
        // worth walking.
        listing.folder = folder(root, &top);
    }
    upload::assemble(listing, |name, path: &PathBuf| {
        let bytes = bounded(path, limits.file_bytes)?;
        if bytes.len() as u64 > limits.file_bytes {
            // It has grown since it was listed.
            let message = format!(
                "entry `{}` has more than the {} bytes that are allowed",
                shown(name),
                grouped(limits.file_bytes)
            );
            return Err(Diagnostic::error(Code::FileBytesLimit, name, message).into());
        }
        Ok(bytes)
    })
}

/// The names in a directory, sorted.
fn children(directory: &Path) -> Result<Vec<OsString>, Error> {
    let mut names = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>())
        .map_err(Error::io(directory))?;
    names.sort();
    Ok(names)
}

fn folder(root: &Path, top: &[OsString]) -> Option<String> {
    let [only] = top else { return None };
    let manifest = root.join(only).join(MANIFEST_FILE);
    manifest.symlink_metadata().ok()?;
    Some(only.to_string_lossy().into_owned())
}

fn walk(root: &Path, top: Vec<OsString>, listing: &mut Listing<'_, PathBuf>) -> Result<(), Error> {
    // Directories still to be walked, the next one last: the path and its name in the package.
    let mut waiting = vec![(root.to_owned(), Vec::new(), top)];
    let mut counted = true;
    while let Some((directory, prefix, names)) = waiting.pop() {
        let mut deeper = Vec::new();
        for child in names {
            let path = directory.join(&child);
            let mut name: Vec<u8> = prefix.clone();
            name.extend(child.as_encoded_bytes());
            let metadata = fs::symlink_metadata(&path).map_err(Error::io(&path))?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                let faults = listing.faults.len();
                listing.add_directory(&name, None);
                // Below a name that is refused every other would be too.
                if listing.faults.len() == faults {
                    name.push(b'/');
                    deeper.push((path, name));
                }
            } else if kind.is_file() {
                listing.add_file(&name, metadata.len(), None, path);
            } else {
                refuse(&name, kind, listing);
            }
        }
        if listing.count > listing.limits.files {
            counted = waiting.is_empty() && deeper.is_empty();
            break;
        }
        for (path, name) in deeper.into_iter().rev() {
            let names = children(&path)?;
            waiting.push((path, name, names));
        }
    }
    listing.check_sums(counted);
    Ok(())
}

fn refuse(name: &[u8], kind: FileType, listing: &mut Listing<'_, PathBuf>) {
    let name = String::from_utf8_lossy(name).into_owned();
    let (code, what) =
        if kind.is_symlink() { (Code::EntrySymlink, "a symlink") } else { (Code::EntryKind, special(kind)) };
    let message = format!("entry `{}` is {what}, and only files and directories are allowed", shown(&name));
    let mut fault = Diagnostic::error(code, &name, message).at(listing.place(None));
    if kind.is_symlink() {
        fault = fault.hint("put a copy of the file in its place");
    }
    listing.refuse(name, fault);
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;

    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_kind: FileType) -> &'static str {
    "something else"
}
