//! Rewrite: a checked module, made smaller (design, "Rewrite"). Three passes in this order,
//! each with a switch and a line in the report: exports other than `_start` and `memory` go;
//! what nothing reaches goes; sections that no engine reads go.
//!
//! The first and the last take bytes out of the module and leave the rest as it was; their
//! promise holds whatever the second does. The second writes the module anew, and is taken only
//! where the result, after the last, is smaller: see [`PassReport::kept`]. The result is checked
//! again, is the same on every machine, and a rewrite of it changes nothing.
//!
//! One thing can behave differently: a table that nothing reaches takes its elements with it,
//! and elements that do not fit their table would have trapped before the module ran at all.
//!
//! With [`Strip::None`], custom sections stay, but where the second pass moves code, those that
//! speak of places in it (`.debug_*`, `reloc.*`, `linking`, source maps) would be wrong, and go.

mod exports;
mod sections;
#[cfg(test)]
mod tests;
mod unreachable;

use std::collections::BTreeMap;

use serde::Serialize;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Refused};
use wasmparser::{Parser, Payload};

use crate::check::{CheckedModule, check};

/// Which custom sections go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strip {
    /// None.
    None,
    /// All but the names, which backtraces show.
    #[default]
    Debug,
    /// All.
    All,
}

/// Which passes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Passes {
    /// Exports other than `_start` and `memory` go.
    pub exports: bool,
    /// What nothing reaches goes.
    pub unreachable: bool,
    /// Custom sections go.
    pub strip: Strip,
}

impl Default for Passes {
    fn default() -> Self {
        Self { exports: true, unreachable: true, strip: Strip::Debug }
    }
}

/// What the rewrite did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RewriteReport {
    /// Bytes of the module before all passes.
    pub before: u64,
    /// Bytes of the module after all passes.
    pub after: u64,
    /// Whether the module is the one that was given, byte for byte.
    pub kept_original: bool,
    /// A line for each pass, in the order in which they run.
    pub passes: Vec<PassReport>,
}

/// What one pass did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassReport {
    /// `exports`, `unreachable` or `strip`.
    pub name: &'static str,
    /// Whether it was switched on.
    pub ran: bool,
    /// Bytes of the module before the pass.
    pub before_bytes: u64,
    /// Bytes of the module after it.
    pub after_bytes: u64,
    /// How many of what are gone: `"functions": 3`; nothing that is 0.
    pub removed: BTreeMap<&'static str, u64>,
    /// Why the pass left the module as it was, where its result was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// Why a pass left the module as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Kept {
    /// Written anew, the module would have been larger.
    Larger {
        /// Bytes that it would have had, without the custom sections that the third pass takes
        /// out.
        bytes: u64,
    },
    /// The pass does not read the module, though it is valid.
    NotReadable {
        /// What it says.
        message: String,
    },
    /// The pass would take too much memory, by an estimate from the module alone
    /// ([`subako_manifest::limits::REWRITE_MEMORY_BYTES`]).
    TooMuchMemory {
        /// Bytes that it is taken to need.
        estimated_bytes: u64,
        /// Bytes that it may need.
        max_bytes: u64,
    },
}

/// A module after the rewrite, checked again; [`rewrite`] alone makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenModule(CheckedModule);

impl RewrittenModule {
    /// The module, binary.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// The host's functions that it imports, as `module.field`, sorted, each once.
    #[must_use]
    pub fn imports(&self) -> &[String] {
        self.0.imports()
    }
}

/// Why there is no rewritten module. Either is a fault of this program, not of the module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A pass could not find its way in a module that was checked.
    #[error("the rewrite cannot read a module that was checked")]
    Read(#[from] wasmparser::Error),
    /// The result does not pass the check that the module passed before.
    #[error("the rewrite made a module that is refused")]
    Refused(#[source] Refused),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let hint = "please report this with the module; with the passes of the rewrite switched off, it can be built";
        let told = match self {
            Self::Read(error) => Diagnostic::error(
                Code::RewriteUnreadable,
                "rewrite",
                format!("`rewrite` cannot read the module: {}", error.message()),
            ),
            Self::Refused(refused) => {
                let first =
                    refused.0.first().map_or_else(String::new, |fault| format!(": {}", fault.message));
                Diagnostic::error(
                    Code::RewriteFailed,
                    "rewrite",
                    format!("`rewrite` makes a module that is refused{first}"),
                )
            }
        };
        vec![told.hint(hint)]
    }
}

/// Makes a module smaller by the passes that are switched on.
///
/// # Errors
///
/// Both of [`Error`] are faults of this program.
pub fn rewrite(module: CheckedModule, passes: &Passes) -> Result<(RewrittenModule, RewriteReport), Error> {
    let original = module.bytes();
    let mut lines = Vec::new();

    let after_exports = if passes.exports { exports::run(original)? } else { original.to_vec() };
    lines.push(line("exports", passes.exports, original, &after_exports, None)?);

    let after_unreachable = if passes.unreachable {
        unreachable::run(after_exports.clone(), passes.strip)?
    } else {
        unreachable::Output { module: after_exports.clone(), kept: None }
    };
    let unreachable::Output { module: after_unreachable, kept } = after_unreachable;
    lines.push(line("unreachable", passes.unreachable, &after_exports, &after_unreachable, kept)?);

    let result = sections::strip(&after_unreachable, passes.strip)?;
    lines.push(line("strip", passes.strip != Strip::None, &after_unreachable, &result, None)?);

    let report = RewriteReport {
        before: original.len() as u64,
        after: result.len() as u64,
        kept_original: result == original,
        passes: lines,
    };
    let checked = if report.kept_original {
        module
    } else {
        check(result, "the rewritten module").map_err(Error::Refused)?
    };
    Ok((RewrittenModule(checked), report))
}

fn line(
    name: &'static str,
    ran: bool,
    before: &[u8],
    after: &[u8],
    kept: Option<Kept>,
) -> Result<PassReport, Error> {
    let removed = if before == after {
        BTreeMap::new()
    } else {
        let left = count(after)?;
        count(before)?
            .into_iter()
            .map(|(what, had)| (what, had.saturating_sub(left.get(what).copied().unwrap_or(0))))
            .filter(|(_, gone)| *gone > 0)
            .collect()
    };
    Ok(PassReport {
        name,
        ran,
        before_bytes: before.len() as u64,
        after_bytes: after.len() as u64,
        removed,
        kept,
    })
}

/// How many of what a module has.
fn count(module: &[u8]) -> wasmparser::Result<BTreeMap<&'static str, u64>> {
    let mut counts = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        let (what, count) = match payload? {
            Payload::TypeSection(section) => ("types", section.count()),
            Payload::ImportSection(section) => ("imports", section.count()),
            Payload::FunctionSection(section) => ("functions", section.count()),
            Payload::TableSection(section) => ("tables", section.count()),
            Payload::MemorySection(section) => ("memories", section.count()),
            Payload::GlobalSection(section) => ("globals", section.count()),
            Payload::ExportSection(section) => ("exports", section.count()),
            Payload::ElementSection(section) => ("elements", section.count()),
            Payload::DataSection(section) => ("data", section.count()),
            _ => continue,
        };
        counts.insert(what, u64::from(count));
    }
    sections::count_custom(module, &mut counts)?;
    Ok(counts)
}
