//! Check: a module is what ABI 1 says a module is (ABI 1, "The module"): its kind, exports,
//! imports and features, a file for each. The module is read once, every fault is reported,
//! and the module fails once.

mod exports;
mod features;
mod imports;
mod kind;
#[cfg(test)]
pub(crate) mod tests;
mod toolchain;
mod walk;

use std::collections::BTreeSet;

use subako_manifest::diagnostic::{Code, Diagnostic, Place, Refused};
use subako_manifest::text::shown;
use wasmparser::{Validator, WasmFeatures};

pub(crate) use kind::{component_text, is_text};
use walk::Facts;

/// A module in which there is only what ABI 1 has; [`check`] alone makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedModule {
    bytes: Vec<u8>,
    imports: Vec<String>,
    /// What the module may have, and had better not.
    pub warnings: Vec<Diagnostic>,
}

impl CheckedModule {
    /// The module, binary.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The host's functions that it imports, as `module.field`, sorted, each once.
    #[must_use]
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// The module, binary.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Checks a binary module; diagnostics call it `file`.
///
/// # Errors
///
/// Every fault that was found, sorted by place. A file that is no core module, or that ends
/// too early, has that fault alone.
pub fn check(module: Vec<u8>, file: &str) -> Result<CheckedModule, Refused> {
    if let Some(diagnostic) = kind::check(&module, file) {
        return Err(diagnostic.into());
    }
    let mut facts = Facts::read(&module);
    facts.from_text = file.ends_with(".wat");
    let mut diagnostics = exports::check(&facts, file);
    diagnostics.extend(imports::check(&facts, file));

    // Refused proposals are told of by name. What else is wrong with such a module is found
    // with all of them allowed, so that nothing is told twice.
    let uses = std::mem::take(&mut facts.uses);
    let features = if uses.is_empty() { WasmFeatures::WASM2 } else { WasmFeatures::all() };
    let invalid = Validator::new_with_features(features).validate_all(&module).err();
    if invalid.is_some() || !uses.is_empty() {
        let names = facts.names();
        let name_of = |function: u32| match names.get(&function) {
            Some(name) if !name.is_empty() => (*name).to_owned(),
            _ => format!("function {function}"),
        };
        diagnostics.extend(uses.diagnostics(file, name_of));
        diagnostics.extend(invalid.map(|error| {
            let function = facts.function_at(error.offset()).map(|function| shown(&name_of(function)));
            let place = Place { function, ..Place::file(file).at(error.offset() as u64) };
            let name = shown(file);
            let message = format!("`{name}` is not valid WebAssembly: {}", shown(error.message()));
            Diagnostic::error(Code::ModuleInvalid, name, message)
                .at(place)
                .rule("a module is valid WebAssembly 2.0 (ABI 1, \"The module\")")
        }));
    }
    if !diagnostics.is_empty() {
        diagnostics.sort_by(|one, other| (&one.place, one.code).cmp(&(&other.place, other.code)));
        return Err(Refused(diagnostics));
    }

    let imports: BTreeSet<String> =
        facts.imports.iter().map(|import| format!("{}.{}", import.module, import.field)).collect();
    Ok(CheckedModule { bytes: module, imports: imports.into_iter().collect(), warnings: Vec::new() })
}
