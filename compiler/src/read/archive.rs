//! A package from a zip. A hostile one is an ordinary input: `manifest::archive` finds every way
//! in which its structure lies, and here its names, kinds and sizes are held against the rules.

use std::collections::BTreeSet;

use subako_manifest::archive::{self, Archive, ArchiveEntry, Strictness};
use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::package::{MANIFEST_FILE, MODULE_FILE, MODULE_TEXT_FILE};
use subako_manifest::text::{grouped, shown};

use super::limits::MIN_RATIO_BYTES;
use super::listing::Listing;
use super::{Error, Limits, Upload, not_package, upload};

/// The kind of file in a Unix mode.
const KIND_MASK: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_DIRECTORY: u32 = 0o040_000;
const KIND_SYMLINK: u32 = 0o120_000;

/// The folder that Finder adds beside the one it zips; nobody's content.
const FINDER_FOLDER: &str = "__MACOSX/";

pub(super) fn read(bytes: &[u8], package: &str, limits: &Limits) -> Result<Upload, Error> {
    let (archive, faults) = match Archive::survey(bytes, Strictness::Upload) {
        Ok(survey) => survey,
        Err(archive::Error::EndAbsent) if !bytes.starts_with(b"PK") => {
            return Err(not_package(package, Some(bytes)).into());
        }
        Err(fault) => return Err(diagnostic(&fault, package).into()),
    };

    let mut listing = Listing::new(package, limits);
    listing.faults.extend(faults.iter().map(|fault| diagnostic(fault, package)));
    let mut listed: BTreeSet<&[u8]> = BTreeSet::new();
    for entry in archive.entries() {
        // A name that comes again has been told above.
        if listed.insert(entry.name) {
            list(entry, &mut listing);
        }
    }
    for fault in &faults {
        if let Some(name) = fault.entry() {
            listing.files.remove(name);
            listing.refused.insert(name.to_owned());
        }
    }
    listing.check_sums(true);
    listing.folder = folder(&listing);

    upload::assemble(listing, |_, entry: &&ArchiveEntry<'_>| {
        archive::contents(bytes, entry, limits.file_bytes)
            .map(std::borrow::Cow::into_owned)
            .map_err(|fault| diagnostic(&fault, package).into())
    })
}

fn list<'a>(entry: &'a ArchiveEntry<'a>, listing: &mut Listing<'_, &'a ArchiveEntry<'a>>) {
    let offset = Some(entry.header_offset);
    let name = entry.lossy_name();
    let refuse = |listing: &mut Listing<'_, _>, code, what: &str| {
        let message = format!("entry `{}` is {what}", shown(&name));
        let fault = Diagnostic::error(code, &name, message).at(listing.place(offset));
        listing.refuse(name.clone(), fault);
    };
    let only = "and only files and directories are allowed";
    match entry.unix_mode.unwrap_or(0) & KIND_MASK {
        KIND_SYMLINK => return refuse(listing, Code::EntrySymlink, &format!("a symlink, {only}")),
        KIND_DIRECTORY if !entry.is_directory() => {
            return refuse(listing, Code::EntryKind, "a directory by its mode and a file by its name");
        }
        0 | KIND_FILE | KIND_DIRECTORY => {}
        0o010_000 => return refuse(listing, Code::EntryKind, &format!("a FIFO, {only}")),
        0o140_000 => return refuse(listing, Code::EntryKind, &format!("a socket, {only}")),
        _ => return refuse(listing, Code::EntryKind, &format!("a device, {only}")),
    }

    if let Some(directory) = entry.name.strip_suffix(b"/") {
        if entry.size > 0 {
            let what = format!("a directory and has contents of {} bytes", grouped(entry.size));
            refuse(listing, Code::DirectoryContents, &what);
        }
        return listing.add_directory(directory, offset);
    }
    let ratio = entry.size / entry.compressed_size.max(1);
    if entry.size > MIN_RATIO_BYTES && ratio > listing.limits.ratio {
        let message = format!(
            "entry `{}` inflates to {} times its compressed size, at most {} are allowed",
            shown(&name),
            grouped(ratio),
            grouped(listing.limits.ratio)
        );
        let fault = Diagnostic::error(Code::RatioLimit, &name, message)
            .at(listing.place(offset))
            .hint("`--max-ratio` allows more");
        listing.faults.push(fault);
    }
    listing.add_file(entry.name, entry.size, offset, entry);
}

/// The folder that the whole content lies in, manifest or module included.
fn folder<Source>(listing: &Listing<'_, Source>) -> Option<String> {
    let names = || listing.files.keys().filter(|name| !name.starts_with(FINDER_FOLDER));
    let (folder, _) = names().next()?.split_once('/')?;
    fn inside<'n>(name: &'n str, folder: &str) -> Option<&'n str> {
        name.strip_prefix(folder)?.strip_prefix('/')
    }
    let all = names().all(|name| inside(name, folder).is_some());
    let any = names()
        .any(|name| matches!(inside(name, folder), Some(MANIFEST_FILE | MODULE_FILE | MODULE_TEXT_FILE)));
    (all && any).then(|| folder.to_owned())
}

fn diagnostic(fault: &archive::Error, package: &str) -> Diagnostic {
    use archive::Error as E;

    let code = match fault {
        E::EndAbsent | E::EndTwice { .. } => Code::ZipEnd,
        E::DirectoryMisplaced { .. } | E::DirectoryHeader { .. } | E::DirectoryLong { .. } => {
            Code::ZipDirectory
        }
        E::LocalAbsent { .. } | E::DataOutside { .. } => Code::ZipHeader,
        E::NamesDisagree { .. } | E::HeadersDisagree { .. } => Code::ZipDisagree,
        E::Overlap { .. } => Code::ZipOverlap,
        E::DescriptorWrong { .. } | E::DescriptorUsed { .. } => Code::ZipDescriptor,
        E::Zip64 { .. } => Code::Zip64,
        E::MultiDisk { .. } => Code::ZipDisks,
        E::Encrypted { .. } => Code::ZipEncrypted,
        E::MethodUnknown { .. } => Code::ZipMethod,
        E::SizeWrong { .. } => Code::ZipSize,
        E::TooLarge { .. } => Code::FileBytesLimit,
        E::CrcWrong { .. } => Code::ZipCrc,
        E::DataBroken { .. } | E::DataLong { .. } => Code::ZipData,
        E::Duplicate { .. } => Code::EntryTwice,
        // Bytes that belong to nothing, wherever they are; and what a later version adds.
        _ => Code::ZipGap,
    };
    let hint = match fault {
        E::Encrypted { .. } => Some("zip the package without a password"),
        E::MethodUnknown { .. } => Some("zip the package again by deflate, as `zip -r` does"),
        E::Zip64 { .. } => Some("zip the package again from files, as `zip -r` does"),
        E::MultiDisk { .. } => Some("zip the package into one file"),
        _ => None,
    };
    let place = Place { offset: fault.offset(), ..Place::file(package) };
    let subject = fault.entry().unwrap_or(package);
    let mut message = fault.to_string();
    // What is said of the zip as a whole names it.
    if let Some(rest) = message.strip_prefix("the zip") {
        message = format!("`{}`{rest}", shown(package));
    }
    Diagnostic::error(code, subject, message).at(place).maybe_hint(hint.map(str::to_owned))
}
