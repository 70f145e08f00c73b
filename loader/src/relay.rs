//! The client of `exec`: lines from one side, lines to the other, as they are.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::exchange::{Client, Line};
use crate::host::locked;
use crate::message::{MAX_INPUT_BYTES, Message};
use crate::outcome::Cause;

/// Passes lines through. The module gets the next one when the request before it is answered;
/// JSON-RPC errors and notifications are passed on like answers.
pub struct Relay<R, W> {
    from: R,
    to: W,
    broken: Arc<Mutex<Option<Broken>>>,
}

/// Why a line was not passed on.
#[derive(Debug)]
pub enum Broken {
    /// It could not be written.
    Unwritten(io::Error),
    /// It has more than [`MAX_INPUT_BYTES`].
    TooLong,
}

impl<R: BufRead + Send, W: Write + Send> Relay<R, W> {
    /// A relay of lines `from` somebody, and of the module's lines `to` somebody. The first line
    /// that could not be passed on ends the conversation, and leaves the reason in `broken`.
    pub fn new(from: R, to: W, broken: Arc<Mutex<Option<Broken>>>) -> Self {
        Self { from, to, broken }
    }

    fn pass(&mut self, line: &[u8]) {
        let mut broken = locked(&self.broken);
        if broken.is_none() {
            let mut write = || {
                self.to.write_all(line)?;
                self.to.write_all(b"\n")?;
                self.to.flush()
            };
            *broken = write().err().map(Broken::Unwritten);
        }
    }
}

impl<R: BufRead + Send, W: Write + Send> Client for Relay<R, W> {
    fn next(&mut self) -> Option<Line> {
        if locked(&self.broken).is_some() {
            return None;
        }
        let mut bytes = Vec::new();
        // What cannot be read any more has ended.
        let mut bounded = (&mut self.from).take(MAX_INPUT_BYTES + 1);
        if bounded.read_until(b'\n', &mut bytes).unwrap_or(0) == 0 {
            return None;
        }
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            *locked(&self.broken) = Some(Broken::TooLong);
            return None;
        }
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        let id = id_of(&bytes);
        Some(Line { bytes, id })
    }

    fn answered(&mut self, _message: Message, line: &[u8]) -> Result<(), Cause> {
        self.pass(line);
        Ok(())
    }

    fn notified(&mut self, line: &[u8]) {
        self.pass(line);
    }

    fn waits(&self) -> bool {
        true
    }
}

/// The id of a request; a line that is not one is passed on all the same, for the module to
/// refuse, and nothing waits for it.
fn id_of(line: &[u8]) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Request {
        id: Option<Box<RawValue>>,
        #[serde(rename = "method")]
        _method: String,
    }
    serde_json::from_slice::<Request>(line).ok()?.id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_are_waited_for() {
        let id = |line: &str| id_of(line.as_bytes()).map(|id| id.get().to_owned());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#).as_deref(), Some("\"a\""));
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), None);
        assert_eq!(id("nonsense"), None);
    }

    #[test]
    fn lines_pass_as_they_are() {
        let mut relay = Relay::new(&b"one\ntwo"[..], Vec::new(), Arc::default());
        assert_eq!(relay.next().unwrap().bytes, b"one\n");
        assert_eq!(relay.next().unwrap().bytes, b"two\n");
        assert!(relay.next().is_none());
        relay.notified(b"three");
        assert_eq!(relay.to, b"three\n");
    }

    #[test]
    fn a_line_that_is_not_taken_ends_the_conversation() {
        let broken = Arc::default();
        let mut full = [0; 4];
        let mut relay = Relay::new(&b"one\ntwo\n"[..], &mut full[..], Arc::clone(&broken));
        assert!(relay.next().is_some());
        relay.notified(b"longer than that");
        assert!(relay.next().is_none());
        assert!(matches!(*locked(&broken), Some(Broken::Unwritten(_))));
    }

    #[test]
    fn a_line_without_end_is_not_waited_for() {
        let broken = Arc::default();
        let mut relay = Relay::new(io::BufReader::new(io::repeat(b'x')), Vec::new(), Arc::clone(&broken));
        assert!(relay.next().is_none());
        assert!(matches!(*locked(&broken), Some(Broken::TooLong)));
        // A line of just so many bytes, its end among them, is passed on.
        let fits = [vec![b'x'; MAX_INPUT_BYTES as usize - 1], b"\n".to_vec()].concat();
        let mut relay = Relay::new(&fits[..], Vec::new(), Arc::default());
        assert_eq!(relay.next().map(|line| line.bytes.len() as u64), Some(MAX_INPUT_BYTES));
    }
}
