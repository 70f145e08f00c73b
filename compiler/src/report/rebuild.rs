//! What `subakoc rebuild` made.

use std::path::Path;

use serde::Serialize;
use subako_compiler::precompile::Origin;
use subako_compiler::rebuild::Rebuilt;
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::index::Engine;
use subako_manifest::text::shown;

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Artifact, Bundle, Detail, Old, Package, Report, Tool, artifact_entry, draw_origins};

/// A bundle with new artifacts, and what it replaces.
#[derive(Debug, Serialize)]
pub(crate) struct RebuildReport {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    bundle: Bundle,
    /// The key that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    replaced: Old,
    package: Package,
    engine: Engine,
    tools: Vec<Tool>,
    artifacts: Vec<Artifact>,
    compiled: Vec<Origin>,
}

impl RebuildReport {
    pub(crate) fn new(rebuilt: Rebuilt, output: &Path, warnings: Vec<Diagnostic>) -> Self {
        let Rebuilt { bundle, precompiled, manifest, tools, replaced, signed_by } = rebuilt;
        let artifact = |artifact: subako_compiler::precompile::Artifact| {
            Artifact::new(artifact_entry(&bundle.index, &artifact.target)?, artifact.sections)
        };
        Self {
            ok: true,
            diagnostics: warnings,
            bundle: Bundle::new(output, bundle.bytes.len(), bundle.digest),
            signed_by: signed_by.map(|key_id| key_id.to_string()),
            replaced: Old::of(&replaced),
            package: Package::new(&manifest, bundle.index.upload),
            engine: bundle.index.engine.clone(),
            tools: Tool::all(&tools),
            artifacts: precompiled.artifacts.into_iter().filter_map(artifact).collect(),
            compiled: precompiled.origins,
        }
    }
}

impl RebuildReport {
    /// What people are told beside it.
    pub(crate) fn warnings(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl Report for RebuildReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        self.package.draw(&mut sheet);
        if detail == Detail::Full {
            Tool::draw(&self.tools, &mut sheet);
        }
        let version = |engine: &Engine| format!("{} {}", shown(&engine.name), shown(&engine.version));
        sheet.field("engine", [format!("{}, was {}", version(&self.engine), version(&self.replaced.engine))]);
        Artifact::draw(&self.artifacts, &mut sheet, detail);
        draw_origins(&self.compiled, &mut sheet, detail);
        if !self.replaced.signatures.is_empty() {
            let lost = self.replaced.signatures.iter().map(|id| format!("lost: {}", shown(id)));
            sheet.field("signatures", lost);
        }
        sheet.field("signed by", self.signed_by.clone());
        sheet.field("replaces", [self.replaced.digest.to_string()]);
        self.bundle.draw(&mut sheet, self.package.upload);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    fn report() -> RebuildReport {
        let engine = Engine { version: "1.2.2".to_owned(), ..samples::engine() };
        RebuildReport {
            ok: true,
            diagnostics: Vec::new(),
            bundle: samples::bundle(),
            signed_by: None,
            replaced: Old { digest: samples::digest(), engine, signatures: vec!["key-1".to_owned()] },
            package: samples::package(),
            engine: samples::engine(),
            tools: samples::tools(),
            artifacts: samples::artifacts(),
            compiled: samples::origins(),
        }
    }

    #[test]
    fn json_is_as_the_schema_says() {
        schema::assert_valid("rebuild", &report());
    }

    #[test]
    fn for_people() {
        let digest = samples::DIGEST;
        let expected = format!(
            "\
package    greet: Greets.\\u{{1b}}[2J
engine     wasmtime 1.2.3, was wasmtime 1.2.2
artifacts  target                               bytes    code  data  info  other
           pulley64                             1,000     850    50    40     60
           x86_64-unknown-linux-gnu/x86-64-v3  12,150  12,000    50    40     60
compiled   1 of 2 artifacts from the cache; 1 of 1,234 functions of the others compiled
signatures lost: key-1
replaces   {digest}
upload     {digest}
digest     {digest}
bundle     out.subako, 98,304 bytes
"
        );
        assert_eq!(report().draw(Paint::new(false), Detail::Usual), expected);
        let full = report().draw(Paint::new(false), Detail::Full);
        for line in [
            "compiled   pulley64: from the cache\n",
            "           x86_64-unknown-linux-gnu/x86-64-v3: 1 of 1,234 functions compiled\n",
            "tools      greet       Greet someone by name.\n",
        ] {
            assert!(full.contains(line), "{line}\n{full}");
        }
    }
}
