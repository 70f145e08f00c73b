//! The one place that configures the engine, for the compiler and for the loader.
//!
//! An artifact loads only where every one of these settings is what it was when the artifact was
//! made, so a setting that is left to a default is left to the same default in both programs. The
//! compiler adds two things that the artifact itself records: the target and its CPU level.

use std::num::NonZeroUsize;

use subako_manifest::digest::Digest;
use subako_manifest::index::{ARTIFACT_FORMAT, ENGINE_NAME, ENGINE_VERSION};
use subako_manifest::limits::MIB;
use subako_manifest::target::Target;
use wasmtime::{Collector, Config, ModuleVersionStrategy};

/// Bytes of stack that a module's own calls may use.
pub const WASM_STACK_BYTES: usize = MIB as usize;

/// Functions of a trap's backtrace that are told, the innermost ones.
pub const MAX_FRAMES: usize = 20;

/// The engine's settings in words: what [`compatibility`] is the digest of. Changing a setting
/// below means changing this text and raising [`ARTIFACT_FORMAT`].
const SETTINGS: &str = "WebAssembly 2.0 without GC; epochs; no fuel; no address map; one mebibyte of stack";

/// The digest that the index records beside the engine's version.
#[must_use]
pub fn compatibility() -> Digest {
    Digest::of(version().as_bytes())
}

/// What an artifact's own version check compares: the engine's whole version, where the engine
/// by itself would look at the major number only, and our own format number.
fn version() -> String {
    format!("{ENGINE_NAME} {ENGINE_VERSION}, format {ARTIFACT_FORMAT}: {SETTINGS}")
}

/// The engine's configuration for artifacts of `target`.
///
/// # Panics
///
/// Never: the version text is shorter than the 255 bytes that the engine allows, and the portable
/// target is one that the engine knows.
#[must_use]
pub fn config(target: &Target) -> Config {
    let mut config = Config::new();
    config
        .module_version(ModuleVersionStrategy::Custom(version()))
        .expect("the version text is shorter than 255 bytes");
    if target.is_portable() {
        config.target(target.triple()).expect("the engine knows its own bytecode");
    }

    // WebAssembly 2.0 without GC (ABI 1, "The module"). `check` has refused everything else, so
    // these are a second lock on the same door.
    config
        .wasm_bulk_memory(true)
        .wasm_multi_value(true)
        .wasm_reference_types(true)
        .wasm_simd(true)
        .wasm_custom_page_sizes(false)
        .wasm_exceptions(false)
        .wasm_extended_const(false)
        .wasm_function_references(false)
        .wasm_gc(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false)
        .wasm_stack_switching(false)
        .wasm_tail_call(false)
        .wasm_wide_arithmetic(false)
        .wasm_component_model(false);

    // An `externref` is always null here, so nothing is ever collected.
    config.collector(Collector::Null);
    // Deadlines stop a module that loops (design, "The ABI 1 host").
    config.epoch_interruption(true).consume_fuel(false);
    config.max_wasm_stack(WASM_STACK_BYTES);
    // A trap is told by function names; the offsets in between would double an artifact's size.
    config.generate_address_map(false).wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES));
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_fits_the_engine() {
        assert!(version().len() < 256);
        let _ = config(&Target::pulley64());
    }
}
