//! What a server has compressed, a read at a time: gzip, brotli, zstd, also one over another.

use std::io::{self, BufRead, BufReader, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::MultiGzDecoder;
use hyper::header::{self, HeaderMap};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// What is asked for unless the module says otherwise.
pub(super) const ACCEPTED: &str = "gzip, br, zstd";

/// Encodings over one another that are undone.
const MAX_LAYERS: usize = 3;
/// Bytes of a zstd window (RFC 9659).
const MAX_ZSTD_WINDOW_BYTES: u64 = 8 << 20;
const BUFFER_BYTES: usize = 16 * 1024;

/// A coding of a response's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Brotli,
    Zstd,
}

/// The codings of a response, the outermost last; none where there is one that is not known, and
/// the content then stays as it came.
pub(super) fn codings(headers: &HeaderMap) -> Vec<Coding> {
    let mut codings = Vec::new();
    for value in headers.get_all(header::CONTENT_ENCODING) {
        for name in value.to_str().unwrap_or("?").split(',') {
            codings.push(match name.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Vec::new(),
            });
        }
    }
    if codings.len() > MAX_LAYERS { Vec::new() } else { codings }
}

/// The content behind `codings`. Nothing at all is the encoding of nothing.
pub(super) fn decoded<'a>(body: impl Read + 'a, codings: &[Coding]) -> io::Result<Box<dyn Read + 'a>> {
    let mut body = BufReader::with_capacity(BUFFER_BYTES, body);
    if codings.is_empty() || body.fill_buf()?.is_empty() {
        return Ok(Box::new(body));
    }
    let mut content: Box<dyn BufRead + 'a> = Box::new(body);
    for coding in codings.iter().rev() {
        let decoder: Box<dyn Read + 'a> = match coding {
            Coding::Gzip => Box::new(MultiGzDecoder::new(content)),
            Coding::Brotli => Box::new(Decompressor::new(content, BUFFER_BYTES)),
            Coding::Zstd => Box::new(Zstd { source: Some(content), frame: None }),
        };
        content = Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder));
    }
    Ok(Box::new(content))
}

/// Frames of zstd, one after the other.
struct Zstd<R: BufRead> {
    /// Between two frames.
    source: Option<R>,
    /// Within one.
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut frame) = self.frame.take() {
                let read = frame.read(into)?;
                if read > 0 || into.is_empty() {
                    self.frame = Some(frame);
                    return Ok(read);
                }
                self.source = Some(frame.into_inner());
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(MAX_ZSTD_WINDOW_BYTES);
            let frame = StreamingDecoder::new_with_decoder(source, decoder).map_err(io::Error::other)?;
            self.frame = Some(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A frame of raw blocks: magic, a header that says one byte of content size, a last block.
    fn zstd(bytes: &[u8]) -> Vec<u8> {
        let len = u8::try_from(bytes.len()).unwrap();
        let block = (u32::from(len) << 3) | 1;
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, len];
        frame.extend(&block.to_le_bytes()[..3]);
        frame.extend(bytes);
        frame
    }

    /// `hello\n` as the reference encoder writes it.
    const BROTLI: &[u8] = b"\x8f\x02\x80\x68\x65\x6c\x6c\x6f\x0a\x03";

    fn read(bytes: &[u8], codings: &[Coding]) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        decoded(bytes, codings)?.read_to_end(&mut read)?;
        Ok(read)
    }

    #[test]
    fn contents() {
        assert_eq!(read(b"plain", &[]).unwrap(), b"plain");
        assert_eq!(read(&gzip(b"hello"), &[Coding::Gzip]).unwrap(), b"hello");
        let two = [gzip(b"hello "), gzip(b"again")].concat();
        assert_eq!(read(&two, &[Coding::Gzip]).unwrap(), b"hello again");
        assert_eq!(read(BROTLI, &[Coding::Brotli]).unwrap(), b"hello\n");
        assert_eq!(read(&zstd(b"hello"), &[Coding::Zstd]).unwrap(), b"hello");
        let two = [zstd(b"hello "), zstd(b"again")].concat();
        assert_eq!(read(&two, &[Coding::Zstd]).unwrap(), b"hello again");
        assert_eq!(read(&gzip(&zstd(b"deep")), &[Coding::Zstd, Coding::Gzip]).unwrap(), b"deep");
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            assert_eq!(read(b"", &[coding]).unwrap(), b"");
            assert!(read(b"certainly not", &[coding]).is_err(), "{coding:?}");
        }
    }

    #[test]
    fn cut_contents_are_broken() {
        let whole = gzip(&[b'x'; 1000]);
        assert!(read(&whole[..whole.len() - 4], &[Coding::Gzip]).is_err());
        assert!(read(&BROTLI[..6], &[Coding::Brotli]).is_err());
        assert!(read(&zstd(b"hello")[..10], &[Coding::Zstd]).is_err());
    }

    #[test]
    fn a_window_of_zstd_has_a_limit() {
        // Magic, a header with a window byte: 2^(10 + 14) bytes.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0x00, 0x00];
        assert!(read(&frame, &[Coding::Zstd]).is_err());
    }

    #[test]
    fn codings_of_headers() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
            }
            codings(&headers)
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&["identity"]), []);
        assert_eq!(of(&["GZIP"]), [Coding::Gzip]);
        assert_eq!(of(&["br, gzip"]), [Coding::Brotli, Coding::Gzip]);
        assert_eq!(of(&["zstd", "x-gzip"]), [Coding::Zstd, Coding::Gzip]);
        assert_eq!(of(&["gzip, compress"]), []);
        assert_eq!(of(&["gzip, gzip, gzip, gzip"]), []);
    }
}
