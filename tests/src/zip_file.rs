//! Zips as nobody's tool would write them: every field can be a lie.

/// One entry, stored uncompressed.
#[derive(Debug, Clone)]
pub struct RawEntry {
    /// The name, as bytes.
    pub name: Vec<u8>,
    /// The bytes that stand in the file.
    pub data: Vec<u8>,
    /// The general purpose flags: 1 encrypted, 0x800 UTF-8 names.
    pub flags: u16,
    /// The compression method; 0 is stored.
    pub method: u16,
    /// The size that both headers give, if it is not the data's.
    pub size: Option<u32>,
    /// The checksum that both headers give, if it is not the data's.
    pub crc32: Option<u32>,
    /// The name in the local header, if it is another.
    pub local_name: Option<Vec<u8>>,
    /// The Unix mode; 0o120777 is a symlink.
    pub mode: u32,
    /// Where the directory says the entry is, if it is elsewhere.
    pub offset: Option<u32>,
}

impl RawEntry {
    /// An honest entry.
    #[must_use]
    pub fn new(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_owned(),
            data: data.as_ref().to_owned(),
            flags: 0x800,
            method: 0,
            size: None,
            crc32: None,
            local_name: None,
            mode: 0o100_644,
            offset: None,
        }
    }
}

/// A zip of these entries.
///
/// # Panics
///
/// When it has more than 4 GiB.
#[must_use]
pub fn raw_zip(entries: &[RawEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = entry.offset.unwrap_or_else(|| length(&out));
        let stored = length(&entry.data);
        let mut shared = Vec::new();
        for field in [20, entry.flags, entry.method, 0, 0x21] {
            put16(&mut shared, field);
        }
        put32(&mut shared, entry.crc32.unwrap_or_else(|| crc32(&entry.data)));
        put32(&mut shared, stored);
        put32(&mut shared, entry.size.unwrap_or(stored));

        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&shared);
        put16(&mut out, short(local_name));
        put16(&mut out, 0);
        out.extend_from_slice(local_name);
        out.extend_from_slice(&entry.data);

        directory.extend_from_slice(b"PK\x01\x02");
        // Made by version 2.0 on Unix.
        put16(&mut directory, 0x0314);
        directory.extend_from_slice(&shared);
        put16(&mut directory, short(&entry.name));
        for field in [0, 0, 0, 0] {
            put16(&mut directory, field);
        }
        put32(&mut directory, entry.mode << 16);
        put32(&mut directory, offset);
        directory.extend_from_slice(&entry.name);
    }
    let at = length(&out);
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    let count = u16::try_from(entries.len()).expect("a test's zip has few entries");
    put16(&mut out, count);
    put16(&mut out, count);
    put32(&mut out, length(&directory));
    put32(&mut out, at);
    put16(&mut out, 0);
    out
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a test's zip is small")
}

fn short(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).expect("a test's names are short")
}

/// The checksum of zip: polynomial 0xEDB88320, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_the_check_string() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_honest_zip_is_read_by_another_reader() {
        let bytes = raw_zip(&[RawEntry::new("a", "one"), RawEntry::new("b/c", "two")]);
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("it is a zip");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut zip.by_name("b/c").expect("it has the entry"), &mut text)
            .expect("the checksum is right");
        assert_eq!(text, "two");
    }
}
