//! A module's stderr: free for logs, never blocking; the end of it is kept for the report of a
//! crash (ABI 1, "What breaks a call").

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use subako_manifest::limits::STDERR_TAIL_BYTES;
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{OutputStream, StreamResult};

use super::locked;

/// The last 4 KiB of what a module wrote on stderr.
#[derive(Debug, Default)]
pub struct StderrTail {
    bytes: VecDeque<u8>,
}

impl StderrTail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(STDERR_TAIL_BYTES)..];
        let surplus = (self.bytes.len() + bytes.len()).saturating_sub(STDERR_TAIL_BYTES);
        self.bytes.drain(..surplus);
        self.bytes.extend(bytes);
    }

    /// The tail as text of at most 4 KiB: a character that is cut at its beginning is left out,
    /// and bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let cut = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
        String::from_utf8_lossy(&bytes[cut..]).into_owned()
    }
}

/// The stream that the module writes to.
#[derive(Clone)]
pub struct Stderr {
    /// Where its end is kept.
    pub tail: Arc<Mutex<StderrTail>>,
    /// Whether everything is shown on this process's stderr as it comes.
    pub live: bool,
}

impl IsTerminal for Stderr {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stderr {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Stderr {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        // Not while the tail is locked: a reader of ours who does not read holds up the module, and
        // the end of the call has the tail to tell.
        locked(&self.tail).push(&bytes);
        if self.live {
            // Nobody to show it to is no fault of the module's.
            let _ = std::io::stderr().write_all(&bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

#[async_trait]
impl Pollable for Stderr {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_four_kibibytes_stay() {
        let mut tail = StderrTail::default();
        tail.push(&[b'a'; 5000]);
        tail.push(b"end");
        assert_eq!(tail.text().len(), 4096);
        assert!(tail.text().ends_with("aend"));
    }

    #[test]
    fn the_cut_is_at_a_character() {
        let mut tail = StderrTail::default();
        tail.push("é".repeat(3000).as_bytes());
        tail.push(b"x");
        assert_eq!(tail.text(), format!("{}x", "é".repeat(2047)));
    }

    #[test]
    fn other_bytes_are_replaced() {
        let mut tail = StderrTail::default();
        tail.push(b"a\xffb");
        assert_eq!(tail.text(), "a\u{fffd}b");
    }
}
