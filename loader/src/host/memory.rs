//! How much memory a module may have: growth past the limit fails in the module, which may go on
//! without.

use subako_manifest::limits::MAX_TABLE_ELEMENTS;
use wasmtime::ResourceLimiter;

/// The limit of one call's memory, in bytes, and whether the module ran into it.
#[derive(Debug, Clone)]
pub struct MemoryLimit {
    bytes: u64,
    refused: bool,
    refused_table: Option<u64>,
}

impl MemoryLimit {
    /// A limit of `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { bytes, refused: false, refused_table: None }
    }

    /// The limit in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the module asked for more than it may have.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// The elements of the last table that was more than the module may have.
    #[must_use]
    pub fn refused_table(&self) -> Option<u64> {
        self.refused_table
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let allowed = desired as u64 <= self.bytes;
        self.refused |= !allowed;
        Ok(allowed)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let allowed = desired as u64 <= MAX_TABLE_ELEMENTS;
        if !allowed {
            self.refused = true;
            self.refused_table = Some(desired as u64);
        }
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        1
    }

    /// More than a compiler ever makes; each is bounded in elements.
    fn tables(&self) -> usize {
        16
    }
}
