//! What `subakoc build` made.

use std::path::Path;

use serde::Serialize;
use subako_compiler::pipeline::Built;
use subako_compiler::precompile::Origin;
use subako_compiler::record::Timings;
use subako_compiler::rewrite::{Kept, PassReport, RewriteReport};
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::index::Engine;
use subako_manifest::text::{grouped, shown};

use super::paint::Paint;
use super::run::whole_ms;
use super::sheet::{Cell, Sheet};
use super::{Artifact, Bundle, Detail, Package, Report, Tool, artifact_entry, draw_imports, draw_origins};

/// A bundle and how it came to be. All of it but `bundle.path`, `compiled` and `timings` follows
/// from the package and the command line.
#[derive(Debug, Serialize)]
pub(crate) struct BuildReport {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    bundle: Bundle,
    /// The key that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    package: Package,
    engine: Engine,
    imports: Vec<String>,
    tools: Vec<Tool>,
    rewrite: RewriteReport,
    artifacts: Vec<Artifact>,
    compiled: Vec<Origin>,
    timings: Milliseconds,
}

/// Whole milliseconds of each step.
#[derive(Debug, Serialize)]
struct Milliseconds {
    read_ms: u64,
    check_ms: u64,
    rewrite_ms: u64,
    precompile_ms: u64,
    discover_ms: u64,
    pack_ms: u64,
    sign_ms: u64,
}

impl BuildReport {
    pub(crate) fn new(built: Built, output: &Path, warnings: Vec<Diagnostic>) -> Self {
        let Built { upload, rewrite, artifacts, origins, tools, bundle, signed_by, timings } = built;
        let artifacts = artifacts
            .into_iter()
            .filter_map(|artifact| {
                let entry = artifact_entry(&bundle.index, &artifact.target)?;
                Artifact::new(entry, artifact.sections)
            })
            .collect();
        Self {
            ok: true,
            diagnostics: warnings,
            bundle: Bundle::new(output, bundle.bytes.len(), bundle.digest),
            signed_by: signed_by.map(|key_id| key_id.to_string()),
            package: Package::new(&upload.manifest, upload.digest),
            engine: bundle.index.engine,
            imports: bundle.index.imports,
            tools: Tool::all(&tools),
            rewrite,
            artifacts,
            compiled: origins,
            timings: Milliseconds::of(&timings),
        }
    }
}

impl BuildReport {
    /// What people are told beside it.
    pub(crate) fn warnings(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl Milliseconds {
    /// A step that nobody asked for took none.
    fn of(timings: &Timings) -> Self {
        let whole = |time: Option<_>| time.map_or(0, whole_ms);
        Self {
            read_ms: whole(timings.read),
            check_ms: whole(timings.check),
            rewrite_ms: whole(timings.rewrite),
            precompile_ms: whole(timings.precompile),
            discover_ms: whole(timings.discover),
            pack_ms: whole(timings.pack),
            sign_ms: whole(timings.sign),
        }
    }
}

impl Report for BuildReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        self.package.draw(&mut sheet);
        Tool::draw(&self.tools, &mut sheet);
        if detail == Detail::Full {
            draw_imports(&self.imports, &mut sheet);
        }
        draw_rewrite(&self.rewrite, &mut sheet);
        Artifact::draw(&self.artifacts, &mut sheet, detail);
        draw_origins(&self.compiled, &mut sheet, detail);
        sheet.field("signed by", self.signed_by.clone());
        self.bundle.draw(&mut sheet, self.package.upload);
        sheet.into_text()
    }
}

fn draw_rewrite(rewrite: &RewriteReport, sheet: &mut Sheet) {
    let row = |name: String, before: u64, after: u64, note: String| {
        let arrow = Cell::Text("→".to_owned());
        vec![Cell::Text(name), Cell::Number(before), arrow, Cell::Number(after), Cell::Text(note)]
    };
    let note = if rewrite.kept_original { "as it came" } else { "" };
    let mut rows = vec![row("module".to_owned(), rewrite.before, rewrite.after, note.to_owned())];
    for pass in &rewrite.passes {
        rows.push(row(format!("  {}", pass.name), pass.before_bytes, pass.after_bytes, note_of(pass)));
    }
    sheet.table("rewrite", rows);
}

fn note_of(pass: &PassReport) -> String {
    match &pass.kept {
        _ if !pass.ran => return "off".to_owned(),
        Some(Kept::Larger { bytes }) => return format!("left out: with it {}", grouped(*bytes)),
        Some(Kept::NotReadable { message }) => {
            return format!("left out: the module cannot be read by it: {}", shown(message));
        }
        Some(Kept::TooMuchMemory { estimated_bytes, max_bytes }) => {
            return format!(
                "left out: it is taken to need {} bytes of memory, the most is {}",
                grouped(*estimated_bytes),
                grouped(*max_bytes)
            );
        }
        None => {}
    }
    let removed = pass.removed.iter().map(|(what, number)| match number {
        1 => format!("1 {}", what.strip_suffix('s').unwrap_or(what)),
        number => format!("{} {what}", grouped(*number)),
    });
    let removed: Vec<_> = removed.collect();
    match removed.is_empty() {
        false => format!("removed {}", removed.join(", ")),
        true if pass.before_bytes == pass.after_bytes => "nothing to remove".to_owned(),
        true => "nothing to remove, written anew".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::report::{samples, schema};

    fn pass(name: &'static str, ran: bool, bytes: [u64; 2], removed: &[(&'static str, u64)]) -> PassReport {
        let removed: BTreeMap<_, _> = removed.iter().copied().collect();
        PassReport { name, ran, before_bytes: bytes[0], after_bytes: bytes[1], removed, kept: None }
    }

    fn report() -> BuildReport {
        let rewrite = RewriteReport {
            before: 53_938,
            after: 50_471,
            kept_original: false,
            passes: vec![
                pass("exports", true, [53_938, 53_900], &[("exports", 1)]),
                pass("unreachable", true, [53_900, 50_471], &[("functions", 1_234), ("globals", 2)]),
                pass("strip", false, [50_471, 50_471], &[]),
            ],
        };
        BuildReport {
            ok: true,
            diagnostics: Vec::new(),
            bundle: samples::bundle(),
            signed_by: None,
            package: samples::package(),
            engine: samples::engine(),
            imports: samples::imports(),
            tools: samples::tools(),
            rewrite,
            artifacts: samples::artifacts(),
            compiled: samples::origins(),
            timings: Milliseconds::of(&Timings {
                precompile: Some(Duration::from_micros(1_999)),
                ..Timings::default()
            }),
        }
    }

    #[test]
    fn json_is_as_the_schema_says() {
        schema::assert_valid("build", &report());
        assert_eq!(report().timings.precompile_ms, 1);
    }

    #[test]
    fn for_people() {
        let digest = samples::DIGEST;
        let expected = format!(
            "\
package    greet: Greets.\\u{{1b}}[2J
tools      greet       Greet someone by name.
           draw_chart
rewrite    module         53,938  →  50,471
             exports      53,938  →  53,900  removed 1 export
             unreachable  53,900  →  50,471  removed 1,234 functions, 2 globals
             strip        50,471  →  50,471  off
artifacts  target                               bytes    code  data  info  other
           pulley64                             1,000     850    50    40     60
           x86_64-unknown-linux-gnu/x86-64-v3  12,150  12,000    50    40     60
compiled   1 of 2 artifacts from the cache; 1 of 1,234 functions of the others compiled
upload     {digest}
digest     {digest}
bundle     out.subako, 98,304 bytes
"
        );
        assert_eq!(report().draw(Paint::new(false), Detail::Usual), expected);
        let full = report().draw(Paint::new(false), Detail::Full);
        assert!(full.contains("imports    wasi_snapshot_preview1: fd_read, fd_write\n"), "{full}");
        assert!(full.contains("needs      x86_64-unknown-linux-gnu/x86-64-v3: avx avx2\n"), "{full}");
    }

    #[test]
    fn a_pass_that_is_left_out_says_why() {
        let mut report = report();
        report.rewrite.kept_original = true;
        report.rewrite.after = 53_938;
        report.rewrite.passes[0].kept = Some(Kept::Larger { bytes: 54_000 });
        report.rewrite.passes[1].kept = Some(Kept::NotReadable { message: "a\u{1b}".to_owned() });
        schema::assert_valid("build", &report);
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        for note in [
            "53,938  →  53,938  as it came\n",
            "left out: with it 54,000\n",
            "left out: the module cannot be read by it: a\\u{1b}\n",
        ] {
            assert!(drawn.contains(note), "{note}\n{drawn}");
        }
        report.rewrite.passes[1].kept =
            Some(Kept::TooMuchMemory { estimated_bytes: 5_000_000_000, max_bytes: 4_294_967_296 });
        schema::assert_valid("build", &report);
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        let note = "left out: it is taken to need 5,000,000,000 bytes of memory, the most is 4,294,967,296\n";
        assert!(drawn.contains(note), "{drawn}");
    }
}
