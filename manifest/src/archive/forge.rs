//! Zips for tests, made from a description that can lie about anything.

/// The numbers of a header; an entry has two of them.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc32: u32,
    pub(crate) compressed_size: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
}

/// An entry: true unless a test changes it.
#[derive(Debug, Clone)]
pub(crate) struct Forged {
    pub(crate) local: Header,
    pub(crate) central: Header,
    pub(crate) data: Vec<u8>,
    /// Bytes after the data: a data descriptor, or a gap.
    pub(crate) after: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) disk: u16,
    pub(crate) comment: Vec<u8>,
    /// In place of the offset where the local header is.
    pub(crate) header_offset: Option<u32>,
}

impl Forged {
    pub(crate) fn stored(name: impl AsRef<[u8]>, contents: &[u8]) -> Self {
        Self::new(name.as_ref(), contents, 0, contents.to_vec())
    }

    /// An entry of these contents, stored as `data` by a method of that number.
    pub(crate) fn new(name: &[u8], contents: &[u8], method: u16, data: Vec<u8>) -> Self {
        let header = Header {
            name: name.to_vec(),
            flags: 0,
            method,
            crc32: crc32(contents),
            compressed_size: u32::try_from(data.len()).unwrap(),
            size: u32::try_from(contents.len()).unwrap(),
            extra: Vec::new(),
        };
        Self {
            local: header.clone(),
            central: header,
            data,
            after: Vec::new(),
            mode: 0o100_644,
            disk: 0,
            comment: Vec::new(),
            header_offset: None,
        }
    }

    /// Changes both headers alike.
    pub(crate) fn both(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    pub(crate) fn local(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        self
    }

    pub(crate) fn central(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.central);
        self
    }

    pub(crate) fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) fn after(mut self, after: impl AsRef<[u8]>) -> Self {
        self.after = after.as_ref().to_vec();
        self
    }

    /// As a tool writes that cannot go back: sizes only in a data descriptor (and in the
    /// central directory).
    pub(crate) fn streamed(self, signed: bool) -> Self {
        let mut after = Vec::new();
        if signed {
            after.extend(b"PK\x07\x08");
        }
        for number in [self.central.crc32, self.central.compressed_size, self.central.size] {
            after.extend(number.to_le_bytes());
        }
        self.both(|header| header.flags |= 1 << 3)
            .local(|header| {
                header.crc32 = 0;
                header.compressed_size = 0;
                header.size = 0;
            })
            .after(after)
    }
}

/// A whole zip: true unless a test changes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Zip {
    pub(crate) before: Vec<u8>,
    pub(crate) entries: Vec<Forged>,
    pub(crate) before_directory: Vec<u8>,
    pub(crate) after_directory: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) trailing: Vec<u8>,
    pub(crate) disk: u16,
    /// In place of the number of entries.
    pub(crate) count: Option<u16>,
    /// Whether the end record counts `after_directory` to the directory.
    pub(crate) directory_holds_after: bool,
}

impl Zip {
    pub(crate) fn of(entries: impl IntoIterator<Item = Forged>) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = self.before.clone();
        let mut offsets = Vec::new();
        for entry in &self.entries {
            offsets.push(u32::try_from(out.len()).unwrap());
            out.extend(b"PK\x03\x04");
            out.extend(20_u16.to_le_bytes());
            push_header(&mut out, &entry.local);
            out.extend(&entry.local.name);
            out.extend(&entry.local.extra);
            out.extend(&entry.data);
            out.extend(&entry.after);
        }
        out.extend(&self.before_directory);
        let directory = u32::try_from(out.len()).unwrap();
        for (entry, offset) in self.entries.iter().zip(offsets) {
            out.extend(b"PK\x01\x02");
            // Made by Unix, version 2.0; needs 2.0.
            out.extend((3_u16 << 8 | 20).to_le_bytes());
            out.extend(20_u16.to_le_bytes());
            push_header(&mut out, &entry.central);
            out.extend(u16::try_from(entry.comment.len()).unwrap().to_le_bytes());
            out.extend(entry.disk.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend((entry.mode << 16).to_le_bytes());
            out.extend(entry.header_offset.unwrap_or(offset).to_le_bytes());
            out.extend(&entry.central.name);
            out.extend(&entry.central.extra);
            out.extend(&entry.comment);
        }
        let mut size = u32::try_from(out.len()).unwrap() - directory;
        out.extend(&self.after_directory);
        if self.directory_holds_after {
            size += u32::try_from(self.after_directory.len()).unwrap();
        }
        let count = self.count.unwrap_or(u16::try_from(self.entries.len()).unwrap());
        out.extend(b"PK\x05\x06");
        for number in [self.disk, self.disk, count, count] {
            out.extend(number.to_le_bytes());
        }
        out.extend(size.to_le_bytes());
        out.extend(directory.to_le_bytes());
        out.extend(u16::try_from(self.comment.len()).unwrap().to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.trailing);
        out
    }
}

/// The CRC-32 of zip, bit by bit: for tests only, and on purpose not the reader's.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

/// The part that both headers share: from the flags to the length of the extra field.
fn push_header(out: &mut Vec<u8>, header: &Header) {
    out.extend(header.flags.to_le_bytes());
    out.extend(header.method.to_le_bytes());
    // 1980-01-01, 00:00.
    out.extend(0_u16.to_le_bytes());
    out.extend(0x21_u16.to_le_bytes());
    out.extend(header.crc32.to_le_bytes());
    out.extend(header.compressed_size.to_le_bytes());
    out.extend(header.size.to_le_bytes());
    out.extend(u16::try_from(header.name.len()).unwrap().to_le_bytes());
    out.extend(u16::try_from(header.extra.len()).unwrap().to_le_bytes());
}
