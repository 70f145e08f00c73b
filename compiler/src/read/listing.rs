//! What a package holds, before any of it is read: names, kinds and sizes, held against the
//! rules that directories and zips share.

use std::collections::{BTreeMap, BTreeSet};

use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::{grouped, shown};

use super::clash::{ClashKind, Names};
use super::{Limits, name};

/// The files of a package; `Source` says where the bytes of one are.
pub(super) struct Listing<'a, Source> {
    /// How diagnostics call the package.
    pub(super) package: &'a str,
    pub(super) limits: &'a Limits,
    /// The files whose names are good.
    pub(super) files: BTreeMap<String, Source>,
    /// The names of what is there and refused: no more is to be said of them.
    pub(super) refused: BTreeSet<String>,
    /// The one folder that all of the package lies in, where it does.
    pub(super) folder: Option<String>,
    pub(super) faults: Vec<Diagnostic>,
    /// Files so far, refused ones too.
    pub(super) count: u64,
    names: Names,
    total_bytes: u64,
}

impl<'a, Source> Listing<'a, Source> {
    pub(super) fn new(package: &'a str, limits: &'a Limits) -> Self {
        Self {
            package,
            limits,
            files: BTreeMap::new(),
            refused: BTreeSet::new(),
            folder: None,
            faults: Vec::new(),
            count: 0,
            names: Names::default(),
            total_bytes: 0,
        }
    }

    /// The place of a fault: the package, and where in it a zip's entry is.
    pub(super) fn place(&self, offset: Option<u64>) -> Place {
        Place { offset, ..Place::file(self.package) }
    }

    /// Adds a file of `size` bytes.
    pub(super) fn add_file(&mut self, name: &[u8], size: u64, offset: Option<u64>, source: Source) {
        self.count += 1;
        self.total_bytes = self.total_bytes.saturating_add(size);
        let Some(name) = self.check_name(name, offset) else { return };
        let clash = self.names.add_file(&name);
        if self.has_clash(clash, offset) {
            return;
        }
        if size > self.limits.file_bytes {
            let message = format!(
                "entry `{}` has {} bytes, at most {} are allowed",
                shown(&name),
                grouped(size),
                grouped(self.limits.file_bytes)
            );
            let fault = Diagnostic::error(Code::FileBytesLimit, &name, message)
                .at(self.place(offset))
                .hint("`--max-file-size` allows more");
            self.refuse(name, fault);
            return;
        }
        self.files.insert(name, source);
    }

    /// Adds a directory, its name without a `/` at the end.
    pub(super) fn add_directory(&mut self, name: &[u8], offset: Option<u64>) {
        if let Some(name) = self.check_name(name, offset) {
            let clash = self.names.add_directory(&name);
            self.has_clash(clash, offset);
        }
    }

    /// Adds what is neither a file nor a directory, and is refused with `fault`.
    pub(super) fn refuse(&mut self, name: String, fault: Diagnostic) {
        self.faults.push(fault);
        self.refused.insert(name);
    }

    fn check_name(&mut self, name: &[u8], offset: Option<u64>) -> Option<String> {
        match name::check(name) {
            Ok(name) => Some(name.to_owned()),
            Err(fault) => {
                let name = String::from_utf8_lossy(name);
                let fault = Diagnostic::error(fault.code(), name.clone(), fault.message(&name))
                    .at(self.place(offset));
                self.faults.push(fault);
                None
            }
        }
    }

    fn has_clash(&mut self, clash: Option<super::clash::Clash>, offset: Option<u64>) -> bool {
        let Some(clash) = clash else { return false };
        let (name, other) = (shown(&clash.name), shown(&clash.other));
        let message = match clash.kind {
            ClashKind::Exact => format!("entry `{name}` is twice in the package"),
            ClashKind::Case => format!("entry `{name}` differs from `{other}` only by case"),
            ClashKind::Normalization => {
                format!("entry `{name}` differs from `{other}` only by Unicode normalization")
            }
            ClashKind::FileAndDirectory => {
                format!("entry `{name}` and entry `{other}` make one name a file and a directory")
            }
        };
        let fault = Diagnostic::error(clash.kind.code(), clash.name, message)
            .at(self.place(offset))
            .rule("a package holds the same files on every system");
        self.faults.push(fault);
        true
    }

    /// Holds the sums against the limits; `counted` says whether all files were.
    pub(super) fn check_sums(&mut self, counted: bool) {
        let package = self.package;
        if self.count > self.limits.files {
            let message = format!(
                "`{}` has {}{} files, at most {} are allowed",
                shown(package),
                if counted { "" } else { "at least " },
                grouped(self.count),
                grouped(self.limits.files)
            );
            self.faults.push(
                Diagnostic::error(Code::FilesLimit, package, message).hint("`--max-files` allows more"),
            );
        }
        if self.total_bytes > self.limits.total_bytes {
            let message = format!(
                "`{}` has files of {} bytes together, at most {} are allowed",
                shown(package),
                grouped(self.total_bytes),
                grouped(self.limits.total_bytes)
            );
            self.faults.push(
                Diagnostic::error(Code::TotalBytesLimit, package, message)
                    .hint("`--max-total-size` allows more"),
            );
        }
    }
}
