//! How much a package may hold; every number has a flag.

use subako_manifest::limits;

/// Bytes of a file that a zip's entry may inflate to before its ratio is looked at: small files
/// of one repeated byte are nothing to fear.
pub(super) const MIN_RATIO_BYTES: u64 = limits::MIB;

/// Bytes of one part of a path, between slashes: what file systems take.
pub(super) const MAX_NAME_PART_BYTES: usize = 255;

/// What a package may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, directories not counted (`--max-files`).
    pub files: u64,
    /// Bytes of one file (`--max-file-size`).
    pub file_bytes: u64,
    /// Bytes of all files together, and of the zip they come in (`--max-total-size`).
    pub total_bytes: u64,
    /// How many times larger an entry of more than 1 MiB may be than its compressed bytes
    /// (`--max-ratio`).
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: limits::MAX_PACKAGE_FILES,
            file_bytes: limits::MAX_PACKAGE_FILE_BYTES,
            total_bytes: limits::MAX_PACKAGE_TOTAL_BYTES,
            ratio: limits::MAX_PACKAGE_RATIO,
        }
    }
}
