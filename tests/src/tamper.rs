//! A bundle in pieces, to be put together wrongly. The zip is written by a library that is not
//! ours, with the headers that `docs/bundle.md` asks for, or patched byte by byte.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use crate::bundle::Bundle;

/// An entry to be written.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Its name in the zip.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether it is stored as it is.
    pub stored: bool,
    /// Where its data begins: at a multiple of this.
    pub alignment: u16,
}

/// The entries of a bundle, in its order.
#[derive(Debug, Clone)]
pub struct Pieces(pub Vec<Piece>);

impl Pieces {
    /// Takes a bundle apart.
    #[must_use]
    pub fn of(bundle: &Bundle) -> Self {
        let piece = |entry: crate::bundle::BundleEntry| Piece {
            name: entry.name,
            bytes: entry.bytes,
            alignment: if entry.stored { 16_384 } else { 1 },
            stored: entry.stored,
        };
        Self(bundle.entries().into_iter().map(piece).collect())
    }

    /// The entry of this name.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn get(&mut self, name: &str) -> &mut Piece {
        self.0.iter_mut().find(|piece| piece.name == name).unwrap_or_else(|| panic!("no entry `{name}`"))
    }

    /// Adds an entry at its place in the order.
    pub fn add(&mut self, name: &str, bytes: impl AsRef<[u8]>) {
        let piece =
            Piece { name: name.to_owned(), bytes: bytes.as_ref().to_owned(), stored: false, alignment: 1 };
        self.0.push(piece);
        self.0.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    }

    /// Takes an entry out.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|piece| piece.name != name);
    }

    /// Replaces text in an entry.
    ///
    /// # Panics
    ///
    /// When the text is not there.
    pub fn replace(&mut self, name: &str, from: &str, to: &str) {
        let piece = self.get(name);
        let text = String::from_utf8(piece.bytes.clone()).expect("the entry is text");
        assert!(text.contains(from), "`{name}` has no `{from}`: {text}");
        piece.bytes = text.replacen(from, to, 1).into_bytes();
    }

    /// Writes the bundle.
    ///
    /// # Panics
    ///
    /// When the library refuses.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for piece in &self.0 {
            let options = SimpleFileOptions::default()
                .last_modified_time(DateTime::default())
                .unix_permissions(0o644)
                .system(System::Unix)
                .compression_method(match piece.stored {
                    true => CompressionMethod::Stored,
                    false => CompressionMethod::Deflated,
                })
                .with_alignment(piece.alignment);
            zip.start_file(piece.name.as_str(), options).expect("the entry can be begun");
            zip.write_all(&piece.bytes).expect("memory can be written");
        }
        zip.finish().expect("the zip can be ended").into_inner()
    }
}

/// A bundle's bytes, with the places of its headers.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The whole file.
    pub bytes: Vec<u8>,
}

impl Raw {
    /// The bytes of a bundle.
    #[must_use]
    pub fn of(bundle: &Bundle) -> Self {
        Self { bytes: bundle.bytes() }
    }

    fn number(&self, at: usize, length: usize) -> usize {
        self.bytes[at..at + length].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn end(&self) -> usize {
        self.bytes.len() - 22
    }

    /// Where the directory begins.
    #[must_use]
    pub fn directory(&self) -> usize {
        self.number(self.end() + 16, 4)
    }

    /// Where the entry's header in the directory and its local header begin.
    ///
    /// # Panics
    ///
    /// When there is no such entry.
    #[must_use]
    pub fn headers(&self, name: &str) -> (usize, usize) {
        let mut at = self.directory();
        while at < self.end() {
            let length = self.number(at + 28, 2);
            if &self.bytes[at + 46..at + 46 + length] == name.as_bytes() {
                return (at, self.number(at + 42, 4));
            }
            at += 46 + length;
        }
        panic!("no entry `{name}`");
    }

    /// Puts bytes in before `at`, and moves what the directory says of all that comes after.
    pub fn insert(&mut self, at: usize, new: &[u8]) {
        let mut header = self.directory();
        let directory = header;
        while header < self.end() {
            let offset = self.number(header + 42, 4);
            if offset >= at {
                self.put(header + 42, offset + new.len());
            }
            header += 46 + self.number(header + 28, 2);
        }
        if directory >= at {
            let end = self.end();
            self.put(end + 16, directory + new.len());
        }
        self.bytes.splice(at..at, new.iter().copied());
    }

    /// Writes a number of 32 bits.
    ///
    /// # Panics
    ///
    /// When it has more.
    pub fn put(&mut self, at: usize, number: usize) {
        let number = u32::try_from(number).expect("a test's bundle is small");
        self.bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }

    /// Puts an entry in twice: the same name, other contents.
    pub fn repeat(&mut self, name: &str) {
        let (header, local) = self.headers(name);
        let data = local + 30 + self.number(local + 26, 2) + self.number(local + 28, 2);
        let record = self.bytes[local..data + self.number(local + 18, 4)].to_vec();
        let length = 46 + self.number(header + 28, 2);
        let directory = self.directory();
        let mut central = self.bytes[header..header + length].to_vec();
        central[42..46].copy_from_slice(&u32::try_from(directory).expect("it is small").to_le_bytes());
        self.insert(directory, &record);
        let end = self.end();
        self.bytes.splice(end..end, central);
        let end = self.end();
        let (count, size) = (self.number(end + 8, 2) + 1, self.number(end + 12, 4) + length);
        let count = u16::try_from(count).expect("it has few entries").to_le_bytes();
        self.bytes[end + 8..end + 10].copy_from_slice(&count);
        self.bytes[end + 10..end + 12].copy_from_slice(&count);
        self.put(end + 12, size);
    }
}
