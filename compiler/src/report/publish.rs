//! What `subakoc publish` did.

use serde::Serialize;
use subako_manifest::bundle::OpenBundle;
use subako_manifest::digest::Digest;
use subako_manifest::text::{grouped, shown};
use subako_registry::Published;
use subako_registry::reference::Reference;

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Detail, Report};

/// A bundle, published.
#[derive(Debug, Serialize)]
pub(crate) struct PublishReport {
    ok: bool,
    package: String,
    /// The bundle's.
    digest: Digest,
    reference: String,
    /// The same, by the manifest's digest: what a deployment names.
    pinned: String,
    manifest: Digest,
    sent: u64,
    sent_bytes: u64,
    there: u64,
    signatures: u64,
}

impl PublishReport {
    pub(crate) fn new(
        reference: &Reference,
        bundle: &OpenBundle<impl AsRef<[u8]>>,
        published: &Published,
    ) -> Self {
        Self {
            ok: true,
            package: bundle.index().package.clone(),
            digest: bundle.digest(),
            reference: reference.to_string(),
            pinned: reference.at(published.manifest).to_string(),
            manifest: published.manifest,
            sent: published.sent,
            sent_bytes: published.sent_bytes,
            there: published.there,
            signatures: published.signatures,
        }
    }
}

impl Report for PublishReport {
    fn draw(&self, paint: Paint, _detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        sheet.field("package", [shown(&self.package)]);
        sheet.field("bundle", [self.digest.to_string()]);
        let (sent, bytes, there) = (grouped(self.sent), grouped(self.sent_bytes), grouped(self.there));
        sheet.field("blobs", [format!("{sent} sent ({bytes} bytes), {there} were there")]);
        sheet.field("signatures", [grouped(self.signatures)]);
        sheet.field("published", [shown(&self.reference)]);
        // The other digest is no reference to anything in a registry.
        sheet.field("to pin", [shown(&self.pinned)]);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{samples, schema};

    #[test]
    fn json_is_as_the_schema_says() {
        let report = PublishReport {
            ok: true,
            package: "greet".to_owned(),
            digest: samples::digest(),
            reference: "oci://h/greet:1".to_owned(),
            pinned: format!("oci://h/greet@{}", samples::digest()),
            manifest: samples::digest(),
            sent: 3,
            sent_bytes: 1_234,
            there: 2,
            signatures: 1,
        };
        schema::assert_valid("publish", &report);
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        assert!(drawn.contains("3 sent (1,234 bytes), 2 were there\n"), "{drawn}");
        let last = format!("published  oci://h/greet:1\nto pin     oci://h/greet@{}\n", samples::digest());
        assert!(drawn.ends_with(&last), "{drawn}");
    }
}
