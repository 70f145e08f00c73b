//! Imports: functions of `wasi_snapshot_preview1` and `subako_http`, each known and of the
//! ABI's type (ABI 1, "The module", row "Imports").

use std::collections::BTreeSet;

use subako_manifest::abi::{self, ValueType};
use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::{grouped, shown};
use wasmparser::{FuncType, TypeRef, ValType};

use super::toolchain;
use super::walk::{Facts, Import};

const RULE: &str = "imports come only from `wasi_snapshot_preview1` and `subako_http`, and are functions of the \
    ABI's types (ABI 1, \"The module\")";

/// Imports that are told of one by one; a module that is meant for another host altogether can
/// have thousands.
const MAX_TOLD: usize = 100;

pub(super) fn check(facts: &Facts<'_>, file: &str) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    let mut seen = BTreeSet::new();
    let mut untold = 0_u64;
    for import in &facts.imports {
        let Some((code, message)) = fault(import, facts) else { continue };
        if !seen.insert((import.module, import.field, code)) {
            continue;
        }
        if told.len() == MAX_TOLD {
            untold += 1;
            continue;
        }
        told.push(
            Diagnostic::error(code, subject(import), message)
                .at(Place::file(file).at(import.offset as u64))
                .rule(RULE)
                .maybe_hint(toolchain::of_import(import, facts)),
        );
    }
    if untold > 0 {
        let message = format!("`imports` has {} more that are refused", grouped(untold));
        told.push(Diagnostic::error(Code::ImportModule, "imports", message).at(Place::file(file)).rule(RULE));
    }
    told
}

fn subject(import: &Import<'_>) -> String {
    format!("{}.{}", shown(import.module), shown(import.field))
}

fn fault(import: &Import<'_>, facts: &Facts<'_>) -> Option<(Code, String)> {
    let subject = subject(import);
    let ty = match import.ty {
        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => ty,
        TypeRef::Table(_) => return Some(kind(&subject, "a table")),
        TypeRef::Memory(_) => return Some(kind(&subject, "a memory")),
        TypeRef::Global(_) => return Some(kind(&subject, "a global")),
        TypeRef::Tag(_) => return Some(kind(&subject, "a tag")),
    };
    if abi::functions(import.module).is_none() {
        let message = format!("`{subject}` is imported, and ABI 1 has no module `{}`", shown(import.module));
        return Some((Code::ImportModule, message));
    }
    let Some(function) = abi::function(import.module, import.field) else {
        let message = format!("`{subject}` is imported, and `{}` has no such function", import.module);
        return Some((Code::ImportField, message));
    };
    // A type that is not there is for validation to tell.
    let found = facts.function_type(ty)?;
    let same = same(found.params(), function.params) && same(found.results(), function.results);
    (!same).then(|| {
        let message = format!("`{subject}` is imported as {}, and is {function}", type_text(found));
        (Code::ImportType, message)
    })
}

fn kind(subject: &str, what: &str) -> (Code, String) {
    (Code::ImportKind, format!("`{subject}` is imported as {what}, only functions can be imported"))
}

fn same(found: &[ValType], expected: &[ValueType]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            matches!((found, expected), (ValType::I32, ValueType::I32) | (ValType::I64, ValueType::I64))
        })
}

/// A function's type as the ABI's are written: `(i32, i32) -> (i32)`.
pub(super) fn type_text(ty: &FuncType) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    shown(&format!("({}) -> ({})", list(ty.params()), list(ty.results())))
}
