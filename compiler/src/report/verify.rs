//! Who vouches for a bundle, as `subakoc verify` tells it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use subako_loader::verify::{VerifiedBundle, Voucher};
use subako_manifest::text::{shown, shown_lines};
use subako_manifest::trust::Vouch;

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Bundle, Detail, Report};

/// A bundle that is what somebody vouches for.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyReport {
    ok: bool,
    bundle: Bundle,
    package: String,
    signatures: Vec<Signature>,
}

/// A signature that counts.
#[derive(Debug, Serialize)]
struct Signature {
    key_id: String,
    name: String,
    /// What was signed, as SLSA has it.
    provenance: Value,
}

impl Signature {
    fn new(vouch: &Vouch) -> Self {
        Self {
            key_id: vouch.key_id.to_string(),
            name: vouch.name.clone(),
            provenance: vouch.statement.predicate().clone(),
        }
    }

    /// The text at that place of the provenance.
    fn said(&self, pointer: &str) -> Option<&str> {
        self.provenance.pointer(pointer).and_then(Value::as_str)
    }
}

impl VerifyReport {
    pub(crate) fn new<B: AsRef<[u8]>>(path: &Path, size: usize, bundle: &VerifiedBundle<B>) -> Self {
        let signatures = match bundle.voucher() {
            Voucher::Keys(keys) => keys.iter().map(Signature::new).collect(),
            Voucher::User => Vec::new(),
        };
        Self {
            ok: true,
            bundle: Bundle::new(path, size, bundle.digest()),
            package: bundle.index().package.clone(),
            signatures,
        }
    }
}

impl Report for VerifyReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        sheet.field("package", [shown(&self.package)]);
        for signature in &self.signatures {
            sheet.field("signed by", [format!("{} ({})", shown(&signature.name), signature.key_id)]);
            for (label, pointer) in [
                ("  builder", "/runDetails/builder/id"),
                ("  source", "/buildDefinition/resolvedDependencies/1/uri"),
                ("  commit", "/buildDefinition/resolvedDependencies/1/digest/gitCommit"),
                ("  finished", "/runDetails/metadata/finishedOn"),
            ] {
                sheet.field(label, signature.said(pointer).map(shown));
            }
            if detail == Detail::Full {
                sheet.field("  says", [shown_lines(&signature.provenance.to_string())]);
            }
        }
        sheet.field("digest", [self.bundle.digest.to_string()]);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    #[test]
    fn json_is_as_the_schema_says() {
        let provenance = serde_json::json!({
            "buildDefinition": { "resolvedDependencies": [{}, { "uri": "git+https://a\u{1b}" }] },
            "runDetails": { "builder": { "id": "https://b" }, "more": "long".repeat(99) },
        });
        let signature = Signature { key_id: "00".repeat(32), name: "ci".to_owned(), provenance };
        let (bundle, package) = (samples::bundle(), "greet".to_owned());
        let report = VerifyReport { ok: true, bundle, package, signatures: vec![signature] };
        schema::assert_valid("verify", &report);
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        let expected = format!(
            "package    greet\nsigned by  ci ({})\n  builder  https://b\n  source   git+https://a\\u{{1b}}\ndigest     {}\n",
            "00".repeat(32),
            samples::DIGEST
        );
        assert_eq!(drawn, expected);
        // All of it, on one line, and fit for a terminal.
        let drawn = report.draw(Paint::new(false), Detail::Full);
        let says = drawn.lines().find_map(|line| line.strip_prefix("  says")).unwrap();
        assert!(
            says.ends_with("}}") && says.contains(&"long".repeat(99)) && !drawn.contains('\u{1b}'),
            "{drawn}"
        );
    }
}
