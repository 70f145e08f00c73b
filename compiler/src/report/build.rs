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
    let kept = if rewrite.kept_original { "the module is kept as it was: rewritten it is larger" } else { "" };
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
            if *number > 0 {
                removed.push(format!("{} {what}", grouped(*number)));
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
