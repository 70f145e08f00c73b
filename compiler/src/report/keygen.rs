//! The key that `subakoc keygen` made.

use std::path::Path;

use serde::Serialize;
use subako_manifest::key::PublicKey;
use subako_manifest::text::shown;

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Detail, Report};

/// A new key; of its private half, the file's name only.
#[derive(Debug, Serialize)]
pub(crate) struct KeygenReport {
    ok: bool,
    private_key: String,
    public_key: String,
    algorithm: String,
    key_id: String,
    /// What a trust file has as `key`.
    key: String,
}

impl KeygenReport {
    pub(crate) fn new(key: &PublicKey, private: &Path, public: &Path) -> Self {
        Self {
            ok: true,
            private_key: private.to_string_lossy().into_owned(),
            public_key: public.to_string_lossy().into_owned(),
            algorithm: key.algorithm().to_string(),
            key_id: key.id().to_string(),
            key: key.to_base64(),
        }
    }
}

impl Report for KeygenReport {
    fn draw(&self, paint: Paint, _detail: Detail) -> String {
        let mut sheet = Sheet::new(paint);
        sheet.field("private", [shown(&self.private_key)]);
        sheet.field("public", [shown(&self.public_key)]);
        sheet.field("key id", [self.key_id.clone()]);
        sheet.into_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema;

    #[test]
    fn json_is_as_the_schema_says() {
        // RFC 8032, 7.1, test 1.
        let key = PublicKey::from_base64("MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
        let report = KeygenReport::new(&key.unwrap(), Path::new("k"), Path::new("k.pub"));
        schema::assert_valid("keygen", &report);
        let drawn = report.draw(Paint::new(false), Detail::Usual);
        assert!(drawn.starts_with("private    k\npublic     k.pub\nkey id     "), "{drawn}");
    }
}
