//! What `subakoc build` made.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use subako_compiler::pipeline::{Built, Timings};
use subako_compiler::rewrite::RewriteReport;
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::index::Engine;
use subako_manifest::text::grouped;

use super::paint::Paint;
use super::sheet::{Cell, Sheet};
use super::{Artifact, Bundle, Detail, Package, Report, Tool, artifact_entry, draw_imports};

/// A bundle and how it came to be. All of it but `bundle.path` and `timings` follows from the
/// package and the command line.
#[derive(Debug, Serialize)]
pub(crate) struct BuildReport {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    bundle: Bundle,
    package: Package,
    engine: Engine,
    imports: Vec<String>,
    tools: Vec<Tool>,
    rewrite: RewriteReport,
    artifacts: Vec<Artifact>,
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
}

impl BuildReport {
    pub(crate) fn new(built: Built, output: &Path, warnings: Vec<Diagnostic>) -> Self {
        let Built { upload, rewrite, artifacts, tools, bundle, timings } = built;
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
            package: Package::new(&upload.manifest, upload.digest),
            engine: bundle.index.engine,
            imports: bundle.index.imports,
            tools: Tool::all(&tools),
            rewrite,
            artifacts,
            timings: timings.into(),
        }
    }
}

impl From<Timings> for Milliseconds {
    fn from(timings: Timings) -> Self {
        let whole = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            read_ms: whole(timings.read),
            check_ms: whole(timings.check),
            rewrite_ms: whole(timings.rewrite),
            precompile_ms: whole(timings.precompile),
            discover_ms: whole(timings.discover),
            pack_ms: whole(timings.pack),
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
        self.bundle.draw(&mut sheet, self.package.upload);
        sheet.into_text()
    }
}

fn draw_rewrite(rewrite: &RewriteReport, sheet: &mut Sheet) {
    let kept = if rewrite.kept_original { "kept as it came: rewritten it is larger" } else { "" };
    let text = |text: &str| Cell::Text(text.to_owned());
    let mut rows = vec![vec![
        text("module"),
        Cell::Number(rewrite.before),
        text("→"),
        Cell::Number(rewrite.after),
        text(kept),
    ]];
    for pass in &rewrite.passes {
        let mut removed = Vec::new();
        for (what, number) in &pass.removed {
            match *number {
                0 => {}
                1 => removed.push(format!("1 {}", what.strip_suffix('s').unwrap_or(what))),
                number => removed.push(format!("{} {what}", grouped(number))),
            }
        }
        let note = match (pass.ran, removed.is_empty()) {
            (false, _) => "off".to_owned(),
            (true, true) => "nothing to remove".to_owned(),
            (true, false) => format!("removed {}", removed.join(", ")),
        };
        rows.push(vec![
            text(&format!("  {}", pass.name)),
            Cell::Number(pass.before_bytes),
            text("→"),
            Cell::Number(pass.after_bytes),
            Cell::Text(note),
        ]);
    }
    sheet.table("rewrite", rows);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use subako_compiler::rewrite::PassReport;

    use super::*;
    use crate::report::{samples, schema};

    fn pass(name: &'static str, ran: bool, bytes: [u64; 2], removed: &[(&'static str, u64)]) -> PassReport {
        let removed: BTreeMap<_, _> = removed.iter().copied().collect();
        PassReport { name, ran, before_bytes: bytes[0], after_bytes: bytes[1], removed }
    }

    fn report() -> BuildReport {
        let rewrite = RewriteReport {
            before: 53_938,
            after: 50_471,
            kept_original: false,
            passes: vec![
                pass("exports", true, [53_938, 53_900], &[("exports", 1)]),
                pass("unreachable", true, [53_900, 50_471], &[("data", 0), ("functions", 1_234)]),
                pass("sections", false, [50_471, 50_471], &[]),
            ],
        };
        BuildReport {
            ok: true,
            diagnostics: Vec::new(),
            bundle: samples::bundle(),
            package: samples::package(),
            engine: samples::engine(),
            imports: samples::imports(),
            tools: samples::tools(),
            rewrite,
            artifacts: samples::artifacts(),
            timings: Timings { precompile: Duration::from_micros(1_999), ..Timings::default() }.into(),
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
             unreachable  53,900  →  50,471  removed 1,234 functions
             sections     50,471  →  50,471  off
artifacts  target                               bytes    code  data  info  other
           pulley64                             1,000     850    50    40     60
           x86_64-unknown-linux-gnu/x86-64-v3  12,150  12,000    50    40     60
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
    fn a_rewrite_that_only_grows_says_so() {
        let mut report = report();
        report.rewrite.kept_original = true;
        report.rewrite.after = 53_938;
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        assert!(drawn.contains("53,938  →  53,938  kept as it came: rewritten it is larger\n"), "{drawn}");
    }
}
