//! Entries of a bundle, written: what [`super`] reads, and nothing else. Times and modes are fixed,
//! and the compressor is the same on every machine, so that the same entries are the same bytes.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::ARTIFACT_ALIGNMENT;
use crate::diagnostic::{Code, Diagnostic, Explain};
use crate::text::grouped;

/// Bytes of a bundle: a zip's offsets have 32 bits, and zip64 is not used.
pub const MAX_BUNDLE_BYTES: u64 = 0xffff_fffe;
/// Entries of a bundle: a zip counts them in 16 bits.
const MAX_ENTRIES: u64 = 0xfffe;
/// Deflate's usual effort.
const DEFLATE_LEVEL: i64 = 6;
/// What a file has when nobody asked for anything else.
const MODE: u32 = 0o644;

/// Why entries cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// More bytes than a zip without 64-bit fields can hold.
    #[error("the bundle would have more than {} bytes, the most that a zip holds", grouped(MAX_BUNDLE_BYTES))]
    TooLarge,
    /// More entries than a zip without 64-bit fields can count.
    #[error("the bundle has {} entries, at most {} are allowed", grouped(*.found), grouped(MAX_ENTRIES))]
    TooManyEntries {
        /// How many there are.
        found: u64,
    },
    /// The writer of zips failed, in memory.
    #[error("the bundle cannot be written: {0}")]
    Zip(io::Error),
}

impl Explain for WriteError {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self {
            Self::TooLarge | Self::TooManyEntries { .. } => Code::BundleTooLarge,
            Self::Zip(_) => Code::PackFailed,
        };
        vec![Diagnostic::error(code, "bundle", self.to_string())]
    }
}

/// One entry to be written.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its contents.
    pub bytes: &'a [u8],
    /// How they are stored.
    pub storage: Storage,
}

/// How an entry is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Compressed.
    Deflated,
    /// As it is, at a multiple of [`ARTIFACT_ALIGNMENT`].
    Aligned,
}

/// The zip of these entries, by their paths: sorted as `BTreeMap` sorts text, by bytes.
///
/// # Errors
///
/// The limits of a zip, and faults of this program.
pub fn write(files: &BTreeMap<&str, File<'_>>) -> Result<Vec<u8>, WriteError> {
    let found = files.len() as u64;
    if found > MAX_ENTRIES {
        return Err(WriteError::TooManyEntries { found });
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut total = 0;
    for (path, file) in files {
        total += file.bytes.len() as u64;
        if total > MAX_BUNDLE_BYTES {
            return Err(WriteError::TooLarge);
        }
        zip.start_file(*path, options(file.storage)).map_err(zip_failed)?;
        zip.write_all(file.bytes).map_err(WriteError::Zip)?;
    }
    let bytes = zip.finish().map_err(zip_failed)?.into_inner();
    if bytes.len() as u64 > MAX_BUNDLE_BYTES {
        return Err(WriteError::TooLarge);
    }
    Ok(bytes)
}

/// A zip of that one signature, as a bundle has it.
///
/// # Errors
///
/// As [`write()`].
pub fn signature_entry(path: &str, bytes: &[u8]) -> Result<Vec<u8>, WriteError> {
    write(&BTreeMap::from([(path, File { bytes, storage: Storage::Deflated })]))
}

/// A zip of that one artifact, aligned for the beginning of a file.
///
/// # Errors
///
/// As [`write()`].
pub fn artifact_entry(path: &str, bytes: &[u8]) -> Result<Vec<u8>, WriteError> {
    write(&BTreeMap::from([(path, File { bytes, storage: Storage::Aligned })]))
}

fn options(storage: Storage) -> SimpleFileOptions {
    let options = SimpleFileOptions::default()
        .last_modified_time(DateTime::default())
        .unix_permissions(MODE)
        // Otherwise it is the system that this program runs on.
        .system(System::Unix);
    match storage {
        Storage::Deflated => {
            options.compression_method(CompressionMethod::Deflated).compression_level(Some(DEFLATE_LEVEL))
        }
        Storage::Aligned => options
            .compression_method(CompressionMethod::Stored)
            .with_alignment(const { ARTIFACT_ALIGNMENT as u16 }),
    }
}

fn zip_failed(error: zip::result::ZipError) -> WriteError {
    WriteError::Zip(io::Error::other(error))
}
