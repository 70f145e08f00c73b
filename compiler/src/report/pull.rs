//! What `subakoc pull` did.

use std::path::Path;

use serde::Serialize;
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::digest::Digest;
use subako_manifest::target::Target;
use subako_manifest::text::{grouped, shown};
use subako_registry::Pulled;
use subako_registry::reference::Reference;

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Bundle, Detail, Report};

/// A bundle, pulled.
#[derive(Debug, Serialize)]
pub(crate) struct PullReport {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    package: String,
    bundle: Bundle,
    reference: String,
    /// The same, by the manifest's digest: what a deployment names.
    pinned: String,
    manifest: Digest,
    /// Whose artifacts are in the bundle.
    targets: Vec<Target>,
    /// Whose artifacts the index names, and the bundle does not have.
    absent: Vec<Target>,
    /// The keys of the signatures, none of which is verified.
    signatures: Vec<String>,
    fetched_bytes: u64,
}

impl PullReport {
    pub(crate) fn new(reference: &Reference, path: &Path, pulled: Pulled) -> Self {
        Self {
            ok: true,
            diagnostics: pulled.warnings,
            package: pulled.package,
            bundle: Bundle::new(path, pulled.bytes.len(), pulled.digest),
            reference: reference.to_string(),
            pinned: reference.at(pulled.manifest).to_string(),
            manifest: pulled.manifest,
            targets: pulled.targets,
            absent: pulled.absent,
            signatures: pulled.signatures,
            fetched_bytes: pulled.fetched_bytes,
        }
    }
}

impl Report for PullReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let names = |targets: &[Target]| targets.iter().map(|it| shown(&it.to_string())).collect::<Vec<_>>();
        let mut sheet = Sheet::new(paint);
        sheet.field("package", [shown(&self.package)]);
        sheet.field("pulled", [shown(&self.pinned)]);
        sheet.field("targets", names(&self.targets));
        if detail == Detail::Full {
            sheet.field("absent", names(&self.absent));
        }
        let signatures = self.signatures.iter().map(|key_id| format!("{}, not verified", shown(key_id)));
        sheet.field("signatures", signatures.collect::<Vec<_>>());
        sheet.field("fetched", [format!("{} bytes", grouped(self.fetched_bytes))]);
        sheet.field("digest", [self.bundle.digest.to_string()]);
        let kind = if self.absent.is_empty() { "bundle" } else { "thin bundle" };
        sheet.field(kind, [format!("{}, {} bytes", shown(&self.bundle.path), grouped(self.bundle.size))]);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    #[test]
    fn json_is_as_the_schema_says() {
        let report = PullReport {
            ok: true,
            diagnostics: Vec::new(),
            package: "greet".to_owned(),
            bundle: samples::bundle(),
            reference: "oci://h/greet:1".to_owned(),
            pinned: format!("oci://h/greet@{}", samples::digest()),
            manifest: samples::digest(),
            targets: vec![Target::pulley64()],
            absent: vec!["x86_64-linux".parse().unwrap()],
            signatures: vec!["00".repeat(32)],
            fetched_bytes: 1_234,
        };
        schema::assert_valid("pull", &report);
        let drawn = report.draw(Paint::new(false), Detail::Full);
        for words in
            ["pulley64\n", "x86_64-unknown-linux-gnu\n", "1,234 bytes\n", "thin bundle", "not verified\n"]
        {
            assert!(drawn.contains(words), "{drawn}");
        }
    }
}
