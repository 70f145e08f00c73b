//! What `--report` writes: how a build went, step by step, also one that was refused. All of it
//! but `timings` follows from the package and the command line, so that two reports without that
//! member are the same bytes: no path of an output is in it, and nothing of the machine.

use std::time::Duration;

use serde::Serialize;
use subako_compiler::precompile::Origin;
use subako_compiler::rebuild::Replaced;
use subako_compiler::record::{self, Compiled, Record};
use subako_compiler::rewrite::RewriteReport;
use subako_loader::engine;
use subako_manifest::diagnostic::{Blame, Diagnostic, blame};
use subako_manifest::digest::Digest;
use subako_manifest::index::{ARTIFACT_FORMAT, ENGINE_NAME, ENGINE_VERSION, Engine};

use super::inspect::Line;
use super::{Artifact, Old, Package, Tool};

/// Raised when a member changes its meaning or goes.
const FORMAT: u32 = 1;

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End<'a> {
    /// The bundle is written. These are warnings.
    Built(&'a [Diagnostic]),
    /// It is not, for these faults; the warnings before them are among them.
    Refused(&'a [Diagnostic]),
    /// This program has a fault.
    Panicked,
}

/// A run of `build` or `rebuild`.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    format: u32,
    command: &'static str,
    status: Status,
    exit_status: u8,
    subakoc: &'static str,
    engine: Engine,
    /// The step that refused or failed, if one had begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'static str>,
    diagnostics: Vec<Diagnostic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<Package>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<Old>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<RewriteReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compiled: Option<Vec<Artifact>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discovered: Option<Vec<Tool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packed: Option<Packed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<Vec<String>>,
    timings: Timings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Built,
    /// By a fault of what was given, or of how it was asked for.
    Refused,
    /// By a fault of the machine or of this program.
    Failed,
}

/// The module as it came, in binary.
#[derive(Debug, Serialize)]
struct Checked {
    size: u64,
    digest: Digest,
    imports: Vec<String>,
}

/// The bundle.
#[derive(Debug, Serialize)]
struct Packed {
    digest: Digest,
    /// Without signatures: those of an outside program may differ in length each time.
    size: u64,
    entries: Vec<Line>,
}

/// What differs between two runs of the same: whole milliseconds of each step that ended, and what
/// the compile cache had to give and to complain about.
#[derive(Debug, Serialize)]
struct Timings {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewrite_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    precompile_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discover_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pack_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_ms: Option<u64>,
    targets: Vec<Origin>,
    diagnostics: Vec<Diagnostic>,
}

impl RunReport {
    pub(crate) fn new(
        command: &'static str,
        record: &Record,
        replaced: Option<&Replaced>,
        end: End<'_>,
    ) -> Self {
        let (blame, diagnostics) = match end {
            End::Built(warnings) => (None, warnings),
            End::Refused(faults) => (Some(blame(faults)), faults),
            End::Panicked => (Some(Blame::Internal), &[][..]),
        };
        Self {
            format: FORMAT,
            command,
            status: match blame {
                None => Status::Built,
                Some(Blame::Usage | Blame::Input) => Status::Refused,
                Some(_) => Status::Failed,
            },
            exit_status: blame.map_or(0, Blame::exit_code),
            subakoc: env!("CARGO_PKG_VERSION"),
            engine: Engine {
                name: ENGINE_NAME.to_owned(),
                version: ENGINE_VERSION.to_owned(),
                artifact_format: ARTIFACT_FORMAT,
                compatibility: engine::compatibility(),
            },
            step: blame.and(record.step).map(record::Step::name),
            diagnostics: diagnostics.to_vec(),
            package: record.package.as_ref().map(|package| Package::new(&package.manifest, package.upload)),
            replaced: replaced.map(Old::of),
            checked: record.module.as_ref().map(Checked::of),
            rewritten: record.rewritten.clone(),
            compiled: record.compiled.as_deref().map(|all| all.iter().map(Artifact::of).collect()),
            discovered: record.discovered.as_ref().map(Tool::all),
            packed: record.packed.as_ref().map(Packed::of),
            signed_by: record
                .packed
                .as_ref()
                .map(|_| record.signed.iter().map(ToString::to_string).collect()),
            timings: Timings::of(record),
        }
    }

    /// The file: JSON for machines that people may read.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("a report holds text, numbers and lists only");
        json.push(b'\n');
        json
    }
}

impl Checked {
    fn of(module: &record::Module) -> Self {
        Self { size: module.size, digest: module.digest, imports: module.imports.clone() }
    }
}

impl Packed {
    fn of(packed: &record::Packed) -> Self {
        let entries = packed.index.entries.iter().map(Line::of).collect();
        Self { digest: packed.digest, size: packed.size, entries }
    }
}

impl Artifact {
    fn of(compiled: &Compiled) -> Self {
        Self {
            path: compiled.target.entry_path(),
            target: compiled.target.clone(),
            size: compiled.size,
            digest: compiled.digest,
            cpu_features: compiled.cpu_features.clone(),
            sections: compiled.sections.clone(),
        }
    }
}

impl Timings {
    fn of(record: &Record) -> Self {
        let record::Timings { read, check, rewrite, precompile, discover, pack, sign } = record.timings;
        Self {
            read_ms: read.map(whole_ms),
            check_ms: check.map(whole_ms),
            rewrite_ms: rewrite.map(whole_ms),
            precompile_ms: precompile.map(whole_ms),
            discover_ms: discover.map(whole_ms),
            pack_ms: pack.map(whole_ms),
            sign_ms: sign.map(whole_ms),
            targets: record.origins.clone(),
            diagnostics: record.of_machine.clone(),
        }
    }
}

pub(super) fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::Code;

    use super::*;
    use crate::report::{samples, schema};

    fn value(record: &Record, end: End<'_>) -> serde_json::Value {
        let report = RunReport::new("build", record, None, end);
        schema::assert_valid("report", &report);
        serde_json::from_slice(&report.to_json()).unwrap()
    }

    #[test]
    fn a_bundle_has_all_of_it() {
        let record = samples::record();
        let value = value(&record, End::Built(&[]));
        assert_eq!((&value["status"], &value["exit_status"]), (&"built".into(), &0.into()));
        assert!(value.get("step").is_none(), "no step refused");
        assert_eq!(value["compiled"][1]["path"], "native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm");
        assert_eq!(value["packed"]["entries"][0]["path"], "module.wasm");
        assert_eq!(value["packed"]["size"], 98_304);
        assert_eq!(value["signed_by"], serde_json::json!([]));
        // 1.9 ms, and 12.999 ms for each target.
        assert_eq!(value["timings"]["read_ms"], 1);
        assert!(value["timings"].get("sign_ms").is_none());
        assert_eq!(value["timings"]["targets"][0]["ms"], 12);
        assert_eq!(value["timings"]["targets"][0]["source"], "cache");
    }

    #[test]
    fn a_rebuilt_bundle_says_what_it_replaces() {
        let record = samples::record();
        let replaced =
            Replaced { digest: samples::digest(), engine: samples::engine(), signatures: vec!["k".into()] };
        let report = RunReport::new("rebuild", &record, Some(&replaced), End::Built(&[]));
        schema::assert_valid("report", &report);
        assert_eq!(serde_json::to_value(&report).unwrap()["replaced"]["signatures"][0], "k");
    }

    #[test]
    fn a_refusal_says_how_far_it_came() {
        let record = Record { step: Some(record::Step::Check), ..Record::default() };
        let fault = Diagnostic::error(Code::NotModule, "a", "`a` is wrong");
        let refused = value(&record, End::Refused(std::slice::from_ref(&fault)));
        assert_eq!((&refused["status"], &refused["exit_status"]), (&"refused".into(), &3.into()));
        assert_eq!(refused["step"], "check");
        assert_eq!(refused["diagnostics"][0]["code"], "E0302");
        assert!(refused.get("packed").is_none() && refused.get("signed_by").is_none());

        let disk = Diagnostic::error(Code::Io, "a", "`a` cannot be read");
        let failed = value(&Record::default(), End::Refused(&[fault, disk]));
        assert_eq!((&failed["status"], &failed["exit_status"]), (&"failed".into(), &5.into()));
        assert!(failed.get("step").is_none(), "none had begun");

        let panicked = value(&record, End::Panicked);
        assert_eq!((&panicked["status"], &panicked["exit_status"]), (&"failed".into(), &5.into()));
    }

    /// A compile cache is this machine's: what it had, and what was wrong with it, is no part of
    /// what two builds have in common.
    #[test]
    fn what_differs_between_two_runs_is_in_timings() {
        let mut other = samples::record();
        other.origins.iter_mut().for_each(|origin| origin.time *= 7);
        other.origins.swap(0, 1);
        other.timings.pack = None;
        other.of_machine.push(Diagnostic::warning(Code::CompileCacheDamaged, "/cache", "`/cache` is bad"));
        let one = value(&samples::record(), End::Built(&[]));
        let other = value(&other, End::Built(&[]));
        assert_ne!(one, other);
        let without = |mut value: serde_json::Value| {
            value.as_object_mut().unwrap().remove("timings");
            serde_json::to_string(&value).unwrap()
        };
        assert_eq!(without(one), without(other));
    }
}
