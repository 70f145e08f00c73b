//! The client of `exec`: lines from one side, lines to the other, as they are.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::exchange::{Client, Line};
use crate::host::locked;
use crate::message::Message;
use crate::outcome::Cause;

/// Passes lines through. The module gets the next one when the request before it is answered;
/// JSON-RPC errors and notifications are passed on like answers.
pub struct Relay<R, W> {
    from: R,
    to: W,
    unpassed: Arc<Mutex<Option<io::Error>>>,
}

impl<R: BufRead + Send, W: Write + Send> Relay<R, W> {
    /// A relay of lines `from` somebody, and of the module's lines `to` somebody. The first line
    /// that could not be passed on ends the conversation, and leaves its error in `unpassed`.
    pub fn new(from: R, to: W, unpassed: Arc<Mutex<Option<io::Error>>>) -> Self {
        Self { from, to, unpassed }
    }

    fn pass(&mut self, line: &[u8]) {
        let mut unpassed = locked(&self.unpassed);
        if unpassed.is_none() {
            let mut write = || {
                self.to.write_all(line)?;
                self.to.write_all(b"\n")?;
                self.to.flush()
            };
            *unpassed = write().err();
        }
    }
}

impl<R: BufRead + Send, W: Write + Send> Client for Relay<R, W> {
    fn next(&mut self) -> Option<Line> {
        if locked(&self.unpassed).is_some() {
            return None;
        }
        let mut bytes = Vec::new();
        // What cannot be read any more has ended.
        if self.from.read_until(b'\n', &mut bytes).unwrap_or(0) == 0 {
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
        let unpassed = Arc::default();
        let mut full = [0; 4];
        let mut relay = Relay::new(&b"one\ntwo\n"[..], &mut full[..], Arc::clone(&unpassed));
        assert!(relay.next().is_some());
        relay.notified(b"longer than that");
        assert!(relay.next().is_none());
        assert!(locked(&unpassed).is_some());
    }
}
