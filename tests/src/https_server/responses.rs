//! What the server answers, by the path of the request:
//!
//! | path | answer |
//! | --- | --- |
//! | `/echo` | the request as JSON |
//! | `/bytes/N` | N bytes `x` |
//! | `/announce/N` | says N bytes, and sends none |
//! | `/endless` | `x` without end |
//! | `/silent` | nothing, and the connection stays |
//! | `/stall` | a head and ten bytes of a hundred, and the connection stays |
//! | `/cut` | a head and ten bytes of a hundred, and the connection ends |
//! | `/cut-chunked` | one chunk and no last one, and the connection ends |
//! | `/no-http` | a line of something else |
//! | `/large-head` | headers without end |
//! | `/binary` | bytes that are no text, and then without end `x` |
//! | `/half-character` | `a` and the first byte of `é` |
//! | `/status/N` | the status N, without a body |
//! | `/cookies` | `set-cookie` twice |
//! | `/gzip`, `/br`, `/zstd` | `hello`, compressed |
//! | `/bomb/gzip`, `/bomb/br`, `/bomb/zstd` | 8 MiB of `x`, compressed |
//! | `/cut/gzip` | half a gzip |
//! | `/to/STATUS/URL` | a redirect |
//! | `/hops/N` | N redirects, and then `/echo` |

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::{Received, Stream, hold};

/// Bytes of each bomb, when it has gone off.
pub const BOMB_BYTES: usize = 8 << 20;

pub(super) fn respond(stream: &mut Stream, request: &Received) -> io::Result<()> {
    let (path, rest) = split(request.target.trim_start_matches('/'));
    match (path.split('?').next().unwrap_or(path), rest) {
        ("echo", _) => {
            let body = echo(request).to_string();
            send(stream, 200, &["content-type: application/json"], body.as_bytes())
        }
        ("bytes", count) => send(stream, 200, &[], &vec![b'x'; number(count)]),
        ("announce", count) => {
            head(stream, 200, &[&format!("content-length: {count}")])?;
            hold(stream);
            Ok(())
        }
        ("endless", _) => {
            head(stream, 200, &["transfer-encoding: chunked"])?;
            endless(stream)
        }
        ("silent", _) => {
            hold(stream);
            Ok(())
        }
        ("stall", _) => {
            head(stream, 200, &["content-length: 100"])?;
            stream.write_all(b"ten bytes.")?;
            hold(stream);
            Ok(())
        }
        ("cut", "gzip") => {
            let body = gzip(&[b'x'; 1000]);
            send(stream, 200, &["content-encoding: gzip"], &body[..body.len() / 2])
        }
        ("cut", _) => {
            head(stream, 200, &["content-length: 100"])?;
            stream.write_all(b"ten bytes.")?;
            close(stream)
        }
        ("cut-chunked", _) => {
            head(stream, 200, &["transfer-encoding: chunked"])?;
            stream.write_all(b"a\r\nten bytes.\r\n")?;
            close(stream)
        }
        ("no-http", _) => {
            stream.write_all(b"220 mail.test ESMTP\r\n")?;
            close(stream)
        }
        ("large-head", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(format!("x-pad: {}\r\n", "x".repeat(1000)).as_bytes())?;
            }
        }
        ("binary", _) => {
            head(stream, 200, &["transfer-encoding: chunked"])?;
            stream.write_all(b"4\r\n\x89PNG\r\n")?;
            endless(stream)
        }
        ("half-character", _) => send(stream, 200, &[], b"a\xc3"),
        ("status", status) => send(stream, number(status), &[], b""),
        ("cookies", _) => send(stream, 200, &["set-cookie: a=1", "Set-Cookie: b=2"], b""),
        ("gzip", _) => send(stream, 200, &["content-encoding: gzip"], &gzip(b"hello")),
        ("br", _) => send(stream, 200, &["content-encoding: br"], BROTLI),
        ("zstd", _) => send(stream, 200, &["content-encoding: zstd"], ZSTD),
        ("bomb", "gzip") => send(stream, 200, &["content-encoding: gzip"], &gzip(&vec![b'x'; BOMB_BYTES])),
        ("bomb", "br") => send(stream, 200, &["content-encoding: br"], BROTLI_BOMB),
        ("bomb", "zstd") => send(stream, 200, &["content-encoding: zstd"], &zstd_bomb()),
        ("to", to) => {
            let (status, url) = split(to);
            send(stream, number(status), &[&format!("location: {url}")], b"elsewhere")
        }
        ("hops", "1") => send(stream, 302, &["location: /echo"], b""),
        ("hops", left) => send(stream, 302, &[&format!("location: /hops/{}", number(left) - 1)], b""),
        _ => send(stream, 404, &["content-type: text/plain"], b"no such path"),
    }
}

/// A request as JSON: what a server has seen.
pub(super) fn echo(request: &Received) -> Value {
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    json!({
        "method": request.method,
        "target": request.target,
        "headers": headers,
        "body": String::from_utf8_lossy(&request.body),
    })
}

fn split(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or((text, ""))
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("`{text}` of the path is a number"))
}

fn head(stream: &mut Stream, status: usize, headers: &[&str]) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} As Asked\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

fn send(stream: &mut Stream, status: usize, headers: &[&str], body: &[u8]) -> io::Result<()> {
    let length = format!("content-length: {}", body.len());
    let mut headers = headers.to_vec();
    if !matches!(status, 204 | 304) {
        headers.push(&length);
    }
    head(stream, status, &headers)?;
    stream.write_all(body)?;
    close(stream)
}

fn close(stream: &mut Stream) -> io::Result<()> {
    stream.conn.send_close_notify();
    stream.flush()
}

fn endless(stream: &mut Stream) -> io::Result<()> {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    loop {
        stream.write_all(chunk.as_bytes())?;
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

/// `hello`, by the reference encoder.
const BROTLI: &[u8] = b"\x0b\x02\x80hello\x03";

/// 8 MiB of `x`, by the reference encoder at its best.
const BROTLI_BOMB: &[u8] = b"\x9b\xff\xff\x7f\xf8\x25\xf0\xe2\xb1\x40\x20\xf7\xfe\x0f";

/// A frame with one raw block: magic, the content's size in one byte, the block's header.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";

/// A frame of blocks that each repeat one byte 131,072 times.
fn zstd_bomb() -> Vec<u8> {
    let block: u32 = 131_072;
    // A window of 1 MiB.
    let mut frame = b"\x28\xb5\x2f\xfd\x00\x50".to_vec();
    let blocks = BOMB_BYTES as u32 / block;
    for at in 1..=blocks {
        let header = (block << 3) | (1 << 1) | u32::from(at == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}
