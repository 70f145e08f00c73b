//! The conversation over a module's stdin and stdout: one request at a time, each line judged as
//! it comes (ABI 1, "A call, from start to end", "The protocol", "What breaks a call").

use std::sync::Arc;

use serde_json::value::RawValue;
use subako_manifest::limits::MAX_STDOUT_BYTES;

use super::deadline::Deadline;
use crate::message::{Message, same_id};
use crate::outcome::Cause;

/// A line for the module's stdin.
pub struct Line {
    /// The bytes, the newline included.
    pub bytes: Vec<u8>,
    /// The id whose answer has to come before the next line; none for a notification.
    pub id: Option<Box<RawValue>>,
}

/// Who asks: it gives the lines and takes the answers.
pub trait Client: Send {
    /// The next line, once the one before is answered; none closes stdin.
    fn next(&mut self) -> Option<Line>;

    /// Takes the answer to the open request; `line` is the whole of it, without its newline.
    ///
    /// # Errors
    ///
    /// The answer breaks the call.
    fn answered(&mut self, message: Message, line: &[u8]) -> Result<(), Cause>;

    /// Takes a notification.
    fn notified(&mut self, _line: &[u8]) {}

    /// Whether [`Client::next`] may have to wait for somebody else than the module.
    fn waits(&self) -> bool {
        false
    }
}

/// The state of one conversation.
pub struct Exchange {
    client: Box<dyn Client>,
    deadline: Arc<Deadline>,
    /// What stdin has for the module, and how much of it has been read.
    input: Vec<u8>,
    read: usize,
    open: Option<Box<RawValue>>,
    closed: bool,
    /// What the module has printed of a line that has no newline yet.
    line: Vec<u8>,
    printed_bytes: u64,
}

/// What a read of stdin gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// Bytes of a line.
    Bytes(Vec<u8>),
    /// End of file.
    End,
}

impl Exchange {
    /// A conversation whose first request waits on stdin already – unless the client has to wait
    /// for it, which it does when the module first reads.
    #[must_use]
    pub fn begin(client: Box<dyn Client>, deadline: Arc<Deadline>) -> Self {
        let mut exchange = Self {
            client,
            deadline,
            input: Vec::new(),
            read: 0,
            open: None,
            closed: false,
            line: Vec::new(),
            printed_bytes: 0,
        };
        if !exchange.client.waits() {
            exchange.advance();
        }
        exchange
    }

    /// Puts the client's next line on stdin, or closes it.
    fn advance(&mut self) {
        let next = match self.client.waits() {
            true => self.deadline.stopped_during(|| self.client.next()),
            false => self.client.next(),
        };
        match next {
            Some(line) => {
                self.input = line.bytes;
                self.read = 0;
                self.open = line.id;
            }
            None => {
                self.closed = true;
                self.deadline.stdin_closed();
            }
        }
    }

    /// Whether a read of stdin would give something.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.read < self.input.len() || self.closed || (self.open.is_none() && self.client.waits())
    }

    /// Reads at most `size` bytes of stdin.
    ///
    /// # Errors
    ///
    /// [`Cause::WaitsForInput`]: the open request is not answered, so nothing more will come, and
    /// the module, which has one thread, would wait for ever.
    pub fn read(&mut self, size: usize) -> Result<Input, Cause> {
        while self.read == self.input.len() {
            if self.closed {
                return Ok(Input::End);
            }
            if self.open.is_some() {
                return Err(Cause::WaitsForInput);
            }
            self.advance();
        }
        let end = self.input.len().min(self.read + size);
        let bytes = self.input[self.read..end].to_vec();
        self.read = end;
        Ok(Input::Bytes(bytes))
    }

    /// Takes what the module printed.
    ///
    /// # Errors
    ///
    /// What it printed breaks the call.
    pub fn print(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.printed_bytes += bytes.len() as u64;
        if self.printed_bytes > MAX_STDOUT_BYTES {
            return Err(Cause::StdoutLimit);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") {
                self.line.pop();
                let line = std::mem::take(&mut self.line);
                self.judge(&line)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, line: &[u8]) -> Result<(), Cause> {
        let message = Message::read(line).map_err(|reason| not_message(line, reason))?;
        let id = match &message {
            Message::Notification => {
                self.client.notified(line);
                return Ok(());
            }
            Message::Request { method } => return Err(Cause::RequestSent(method.clone())),
            Message::Answer { id, .. } | Message::Refusal { id, .. } => id,
        };
        match &self.open {
            Some(open) if same_id(open, id) => self.open = None,
            _ => return Err(Cause::UnknownId(id.get().to_owned())),
        }
        self.client.answered(message, line)?;
        if !self.client.waits() {
            self.advance();
        }
        Ok(())
    }

    /// Judges the module's exit.
    ///
    /// # Errors
    ///
    /// It broke the call: it left a line without its end, did not answer, or had another status
    /// than 0.
    pub fn exited(&self, status: i32) -> Result<(), Cause> {
        if !self.line.is_empty() {
            return Err(not_message(&self.line, "no newline at its end".to_owned()));
        }
        if self.open.is_some() || !self.closed && !self.client.waits() {
            return Err(Cause::ExitedBeforeAnswering { status });
        }
        match status {
            0 => Ok(()),
            status => Err(Cause::ExitStatus(status)),
        }
    }
}

fn not_message(line: &[u8], reason: String) -> Cause {
    // A message of a megabyte is no message to show.
    let shown = &line[..line.len().min(1024)];
    Cause::NotMessage { line: String::from_utf8_lossy(shown).into_owned(), reason }
}
