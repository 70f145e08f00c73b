//! What `subakoc sign` did.

use std::path::Path;

use serde::Serialize;
use subako_manifest::digest::Digest;
use subako_manifest::key::KeyId;
use subako_manifest::text::{grouped, shown};

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Detail, Report};
use crate::args::Sign;

/// A signature that was added, removed, or written beside the bundle.
#[derive(Debug, Serialize)]
pub(crate) struct SignReport {
    ok: bool,
    action: Action,
    key_id: String,
    /// The bundle's, whatever was written.
    digest: Digest,
    path: String,
    size: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Signed,
    Detached,
    Attached,
    Removed,
}

impl SignReport {
    pub(crate) fn new(args: &Sign, output: &Path, size: usize, digest: Digest, key_id: KeyId) -> Self {
        let action = match args {
            Sign { remove: Some(_), .. } => Action::Removed,
            Sign { attach: Some(_), .. } => Action::Attached,
            Sign { detached: Some(_), .. } => Action::Detached,
            _ => Action::Signed,
        };
        let (key_id, path) = (key_id.to_string(), output.to_string_lossy().into_owned());
        Self { ok: true, action, key_id, digest, path, size: size as u64 }
    }
}

impl Report for SignReport {
    fn draw(&self, paint: Paint, _detail: Detail) -> String {
        let (label, written) = match self.action {
            Action::Signed => ("signed by", "bundle"),
            Action::Detached => ("signed by", "signature"),
            Action::Attached => ("attached", "bundle"),
            Action::Removed => ("removed", "bundle"),
        };
        let mut sheet = Sheet::new(paint);
        sheet.field(label, [self.key_id.clone()]);
        sheet.field("digest", [self.digest.to_string()]);
        sheet.field(written, [format!("{}, {} bytes", shown(&self.path), grouped(self.size))]);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    #[test]
    fn json_is_as_the_schema_says() {
        for action in [Action::Signed, Action::Detached, Action::Attached, Action::Removed] {
            let report = SignReport {
                ok: true,
                action,
                key_id: "00".repeat(32),
                digest: samples::digest(),
                path: "out.subako".to_owned(),
                size: 1_234,
            };
            schema::assert_valid("sign", &report);
            let drawn = report.draw(Paint::new(false), Detail::Usual);
            assert!(drawn.ends_with(" out.subako, 1,234 bytes\n"), "{drawn}");
        }
    }
}
