//! Exports: `_start`, which takes and returns nothing, and the linear memory as `memory` (ABI
//! 1, "The module", row "Exports").

use subako_manifest::abi::{MEMORY_EXPORT, START_EXPORT};
use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::shown;
use wasmparser::ExternalKind;

use super::imports::type_text;
use super::toolchain;
use super::walk::{Export, Facts};

const START_RULE: &str =
    "a module exports `_start`, a function that takes and returns nothing (ABI 1, \"The module\")";
const MEMORY_RULE: &str = "a module exports its linear memory as `memory` (ABI 1, \"The module\")";

pub(super) fn check(facts: &Facts<'_>, file: &str) -> Vec<Diagnostic> {
    if !facts.exports_known {
        return Vec::new();
    }
    let export = |name: &str| facts.exports.iter().find(|export| export.name == name);
    [start(facts, export(START_EXPORT), file), memory(facts, export(MEMORY_EXPORT), file)]
        .into_iter()
        .flatten()
        .collect()
}

fn start(facts: &Facts<'_>, export: Option<&Export<'_>>, file: &str) -> Option<Diagnostic> {
    let Some(export) = export else {
        return Some(
            Diagnostic::error(Code::StartAbsent, START_EXPORT, "`_start` is not exported")
                .at(Place::file(file))
                .rule(START_RULE)
                .maybe_hint(toolchain::of_start_absent(facts)),
        );
    };
    let place = Place::file(file).at(export.offset as u64);
    if !is_function(export.kind) {
        let message = format!("`_start` is exported as {}, not as a function", kind_text(export.kind));
        return Some(Diagnostic::error(Code::StartKind, START_EXPORT, message).at(place).rule(START_RULE));
    }
    // A function that is not there is for validation to tell.
    let ty = facts.type_of(export.index)?;
    if ty.params().is_empty() && ty.results().is_empty() {
        return None;
    }
    let message = format!("`_start` is {}, and should be () -> ()", type_text(ty));
    Some(Diagnostic::error(Code::StartType, START_EXPORT, message).at(place).rule(START_RULE))
}

fn memory(facts: &Facts<'_>, export: Option<&Export<'_>>, file: &str) -> Option<Diagnostic> {
    if let Some(export) = export {
        if export.kind == ExternalKind::Memory {
            return None;
        }
        let message = format!("`memory` is exported as {}, not as a memory", kind_text(export.kind));
        return Some(
            Diagnostic::error(Code::MemoryKind, MEMORY_EXPORT, message)
                .at(Place::file(file).at(export.offset as u64))
                .rule(MEMORY_RULE),
        );
    }
    let under_another_name = facts.exports.iter().find(|export| export.kind == ExternalKind::Memory);
    let message = match under_another_name {
        Some(export) => {
            format!("`memory` is not exported: the module's memory is exported as `{}`", shown(export.name))
        }
        None if facts.memories > 0 => "`memory` is not exported, though the module has a memory".to_owned(),
        None => "`memory` is not exported: the module has no memory".to_owned(),
    };
    Some(
        Diagnostic::error(Code::MemoryAbsent, MEMORY_EXPORT, message)
            .at(Place::file(file))
            .rule(MEMORY_RULE)
            .maybe_hint(toolchain::of_memory_absent(facts).map(str::to_owned)),
    )
}

fn is_function(kind: ExternalKind) -> bool {
    matches!(kind, ExternalKind::Func | ExternalKind::FuncExact)
}

fn kind_text(kind: ExternalKind) -> &'static str {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => "a function",
        ExternalKind::Table => "a table",
        ExternalKind::Memory => "a memory",
        ExternalKind::Global => "a global",
        ExternalKind::Tag => "a tag",
    }
}
