//! What `subakoc inspect` shows of a bundle.

use std::path::Path;

use serde::Serialize;
use subako_compiler::precompile::Sections;
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::digest::Digest;
use subako_manifest::index::{Engine, Entry, Index, Role};
use subako_manifest::package::Manifest;
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use subako_manifest::tool::ToolSet;

use super::paint::Paint;
use super::sheet::{Cell, Sheet};
use super::{Artifact, Bundle, Detail, Package, Report, Tool, artifact_entry, draw_imports};

/// A bundle whose entries are what its index says.
#[derive(Debug, Serialize)]
pub(crate) struct InspectReport {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    bundle: Bundle,
    package: Package,
    engine: Engine,
    imports: Vec<String>,
    tools: Vec<Tool>,
    artifacts: Vec<Artifact>,
    entries: Vec<Line>,
}

/// An entry; what is said of artifacts alone is with them.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    path: String,
    role: Role,
    size: u64,
    digest: Digest,
    /// An artifact that a thin bundle does not have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    absent: bool,
}

impl Line {
    pub(super) fn of(entry: &Entry) -> Self {
        let Entry { path, role, size, digest, .. } = entry.clone();
        Self { path, role, size, digest, absent: false }
    }
}

/// What the entries of a bundle hold, read and compared with the index.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) manifest: Manifest,
    pub(crate) tools: ToolSet,
    pub(crate) sections: Vec<(Target, Sections)>,
}

impl InspectReport {
    pub(crate) fn new(
        path: &Path,
        size: usize,
        digest: Digest,
        index: &Index,
        contents: Contents,
        warnings: Vec<Diagnostic>,
    ) -> Self {
        let artifacts = contents
            .sections
            .into_iter()
            .filter_map(|(target, sections)| Artifact::new(artifact_entry(index, &target)?, sections))
            .collect();
        Self {
            ok: true,
            diagnostics: warnings,
            bundle: Bundle::new(path, size, digest),
            package: Package::new(&contents.manifest, index.upload),
            engine: index.engine.clone(),
            imports: index.imports.clone(),
            tools: Tool::all(&contents.tools),
            artifacts,
            entries: index.entries.iter().map(Line::of).collect(),
        }
    }

    /// The same, of a thin bundle that lacks these artifacts.
    pub(crate) fn without<'a>(mut self, absent: impl Iterator<Item = &'a str>) -> Self {
        for path in absent {
            self.entries.iter_mut().filter(|entry| entry.path == path).for_each(|entry| entry.absent = true);
        }
        self
    }
}

impl Report for InspectReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        self.package.draw(&mut sheet);
        Tool::draw(&self.tools, &mut sheet);
        draw_imports(&self.imports, &mut sheet);
        let Engine { name, version, artifact_format, compatibility } = &self.engine;
        let mut engine =
            vec![format!("{} {}, artifact format {artifact_format}", shown(name), shown(version))];
        if detail == Detail::Full {
            engine.push(format!("settings {compatibility}"));
        }
        sheet.field("engine", engine);
        Artifact::draw(&self.artifacts, &mut sheet, detail);
        let mut rows = vec![["path", "bytes", "digest"].map(Cell::Head).to_vec()];
        for entry in &self.entries {
            rows.push(vec![
                Cell::Text(shown(&entry.path)),
                Cell::Number(entry.size),
                Cell::Text(format!("{}{}", entry.digest, if entry.absent { ", absent" } else { "" })),
            ]);
        }
        sheet.table("entries", rows);
        self.bundle.draw(&mut sheet, self.package.upload);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    fn report() -> InspectReport {
        let line = |path: &str, role, size| Line {
            path: path.to_owned(),
            role,
            size,
            digest: samples::digest(),
            absent: false,
        };
        InspectReport {
            ok: true,
            diagnostics: Vec::new(),
            bundle: samples::bundle(),
            package: samples::package(),
            engine: samples::engine(),
            imports: samples::imports(),
            tools: samples::tools(),
            artifacts: samples::artifacts(),
            entries: vec![
                line("module.wasm", Role::Module, 50_471),
                line("package/a\u{202e}.txt", Role::Asset, 0),
            ],
        }
    }

    #[test]
    fn json_is_as_the_schema_says() {
        schema::assert_valid("inspect", &report());
    }

    #[test]
    fn what_a_thin_bundle_lacks_is_told() {
        let thin = report().without(["module.wasm"].into_iter());
        schema::assert_valid("inspect", &thin);
        let drawn = thin.draw(Paint::new(false), Detail::Usual);
        assert!(drawn.contains(&format!("50,471  {}, absent\n", samples::DIGEST)), "{drawn}");
    }

    #[test]
    fn entries_have_their_whole_digests() {
        let drawn = report().draw(Paint::new(false), Detail::Usual);
        let expected = format!(
            "\
engine     wasmtime 1.2.3, artifact format 1
artifacts  target                               bytes    code  data  info  other
           pulley64                             1,000     850    50    40     60
           x86_64-unknown-linux-gnu/x86-64-v3  12,150  12,000    50    40     60
entries    path                    bytes  digest
           module.wasm            50,471  {digest}
           package/a\\u{{202e}}.txt       0  {digest}
",
            digest = samples::DIGEST
        );
        assert!(drawn.contains(&expected), "{drawn}\n{expected}");
    }
}
