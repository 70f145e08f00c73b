//! Bundles as `subakoc` would not make them: entries and index are replaced, and everything else –
//! order, alignment, digests – is made right again, so that one thing alone is wrong.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use serde_json::Value;
use subako_manifest::bundle::ARTIFACT_ALIGNMENT;
use subako_manifest::digest::Digest;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use crate::bundle::Bundle;

/// A bundle, taken apart.
#[derive(Debug, Clone)]
pub struct Remade {
    /// `bundle.json`.
    pub index: Value,
    /// The other entries, by name.
    pub entries: BTreeMap<String, Vec<u8>>,
}

impl Remade {
    /// What is in `bundle`.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn of(bundle: &Bundle) -> Self {
        let mut entries: BTreeMap<String, Vec<u8>> =
            bundle.entries().into_iter().map(|entry| (entry.name, entry.bytes)).collect();
        let index = entries.remove("bundle.json").expect("a bundle has an index");
        Self { index: serde_json::from_slice(&index).expect("the index is JSON"), entries }
    }

    /// Puts `bytes` into the entry `name`; the index still names what was there.
    ///
    /// # Panics
    ///
    /// When there is no such entry.
    pub fn replace(&mut self, name: &str, bytes: Vec<u8>) {
        *self.entries.get_mut(name).unwrap_or_else(|| panic!("there is no `{name}`")) = bytes;
    }

    /// Makes the index name what the entries are now.
    ///
    /// # Panics
    ///
    /// When the index is none.
    pub fn index_what_is_there(&mut self) {
        for named in self.index["entries"].as_array_mut().expect("the index has entries") {
            let bytes = &self.entries[named["path"].as_str().expect("an entry has a path")];
            named["size"] = bytes.len().into();
            named["digest"] = Digest::of(bytes).to_string().into();
        }
    }

    /// The bundle's file.
    ///
    /// # Panics
    ///
    /// When a zip cannot be written to memory.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut index = serde_json::to_vec_pretty(&self.index).expect("a value is JSON");
        index.push(b'\n');
        let mut files: BTreeMap<&str, &[u8]> =
            self.entries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        files.insert("bundle.json", &index);

        let usual = SimpleFileOptions::default()
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .system(System::Unix);
        let deflated = usual.compression_method(CompressionMethod::Deflated).compression_level(Some(6));
        let alignment = u16::try_from(ARTIFACT_ALIGNMENT).expect("it is 16 KiB");
        let aligned = usual.compression_method(CompressionMethod::Stored).with_alignment(alignment);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            let options = if name.starts_with("native/") { aligned } else { deflated };
            zip.start_file(name, options).expect("a zip in memory");
            zip.write_all(bytes).expect("a zip in memory");
        }
        zip.finish().expect("a zip in memory").into_inner()
    }
}
