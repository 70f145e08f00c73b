//! A bundle that `subakoc` made, as a zip: read with a library that is not ours.

use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use zip::ZipArchive;

use crate::programs::programs;
use crate::run::Run;

/// A bundle in a folder that is removed with the value.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    _directory: TempDir,
}

/// One entry of a bundle.
#[derive(Debug)]
pub struct BundleEntry {
    /// Its name in the zip.
    pub name: String,
    /// Its bytes, inflated.
    pub bytes: Vec<u8>,
    /// Where its stored bytes begin in the file.
    pub offset: u64,
    /// Whether it is stored as it is.
    pub stored: bool,
}

impl Bundle {
    pub(crate) fn new(path: PathBuf, directory: TempDir) -> Self {
        Self { path, _directory: directory }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the bundle can be read")
    }

    /// Every entry, in the file's order.
    ///
    /// # Panics
    ///
    /// When it is no zip.
    #[must_use]
    pub fn entries(&self) -> Vec<BundleEntry> {
        let mut zip = ZipArchive::new(Cursor::new(self.bytes())).expect("the bundle is a zip");
        (0..zip.len())
            .map(|at| {
                let mut entry = zip.by_index(at).expect("the entry is in the zip");
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).expect("the entry can be inflated");
                BundleEntry {
                    name: entry.name().expect("the name is UTF-8").into_owned(),
                    bytes,
                    offset: entry.data_start().expect("the entry has data"),
                    stored: entry.compression() == zip::CompressionMethod::Stored,
                }
            })
            .collect()
    }

    /// The entry of this name.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn entry(&self, name: &str) -> BundleEntry {
        let mut entries = self.entries();
        let at = entries.iter().position(|entry| entry.name == name);
        entries.swap_remove(at.unwrap_or_else(|| panic!("{} has no `{name}`", self.path.display())))
    }

    /// `bundle.json`.
    ///
    /// # Panics
    ///
    /// When it is not JSON.
    #[must_use]
    pub fn index(&self) -> Value {
        serde_json::from_slice(&self.entry("bundle.json").bytes).expect("the index is JSON")
    }

    /// The loader, about to do `command` with this bundle although nobody signed it.
    #[must_use]
    pub fn loader(&self, command: &str) -> Command {
        let mut loader = Command::new(&programs().loader);
        loader.arg(command).arg("--allow-unsigned").arg(&self.path);
        loader
    }

    /// Runs `subako-loader call` with a tool, its arguments as JSON, and flags.
    #[must_use]
    pub fn call(&self, tool: &str, arguments: &Value, flags: &[&str]) -> Run {
        Run::of(self.loader("call").args(flags).arg(tool).arg(arguments.to_string()))
    }
}
