//! A response's body, read as far as its place can take it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, Read};
use std::pin::Pin;

use hyper::body::{Body as _, Bytes, Incoming};
use subako_manifest::limits::KIB;
use subako_manifest::text::grouped;

use super::client::{Client, Clock, Ended, broken};
use super::decode::{Coding, decoded};
use super::failure::{Failure, Kind};
use super::mask::{Mask, Secrets};
use crate::host::write_budget::WriteBudget;
use crate::volume::Slot;

/// Bytes of an inline body (ABI 1, "HTTP: `subako_http`").
const MAX_INLINE_BYTES: u64 = 256 * KIB;
const CHUNK_BYTES: usize = 64 * 1024;

/// A body that has begun to arrive.
pub(super) struct Download<'a> {
    pub(super) client: &'a Client,
    pub(super) clock: &'a Clock,
    /// Whom it comes from, for messages.
    pub(super) whom: String,
    pub(super) body: Incoming,
    pub(super) codings: Vec<Coding>,
    /// What is struck out of it.
    pub(super) secrets: &'a Secrets,
}

impl Download<'_> {
    /// The whole body as text.
    pub(super) fn inline(self) -> Result<String, Ended> {
        if let Some(bytes) = self.announced().filter(|bytes| *bytes > MAX_INLINE_BYTES) {
            return Err(too_large(format!("has {} bytes", grouped(bytes))).into());
        }
        let mut text = Vec::new();
        let mut checked = 0;
        self.read(|chunk| {
            text.extend_from_slice(chunk);
            // Told by the first byte that is wrong, not after the last.
            match std::str::from_utf8(&text[checked..]) {
                Ok(_) => checked = text.len(),
                Err(error) if error.error_len().is_none() => checked += error.valid_up_to(),
                Err(error) => return Err(not_text(checked + error.valid_up_to()).into()),
            }
            if text.len() as u64 > MAX_INLINE_BYTES {
                return Err(too_large("is longer".to_owned()).into());
            }
            Ok(())
        })?;
        String::from_utf8(text).map_err(|error| not_text(error.utf8_error().valid_up_to()).into())
    }

    /// The whole body into a file; its bytes.
    pub(super) fn save(self, mut slot: Slot, path: &str, budget: &mut WriteBudget) -> Result<u64, Ended> {
        let over = || {
            let message = format!("the response does not fit `{path}`: the call's write budget is used up");
            Ended::from(Failure::new(Kind::WriteBudget, message))
        };
        let refused = |error: io::Error| {
            let message = format!("the host cannot write `{path}`: {error}");
            Ended::from(Failure::new(Kind::Abi, message))
        };
        if self.announced().is_some_and(|bytes| budget.covers(bytes).is_err()) {
            return Err(over());
        }
        let mut bytes = 0;
        self.read(|chunk| {
            let len = chunk.len() as u64;
            budget.covers(len).map_err(|_| over())?;
            // Written is spent, whether the file comes about or not.
            budget.spend(len);
            bytes += len;
            slot.write(chunk).map_err(refused)
        })?;
        slot.commit().map_err(refused)?;
        Ok(bytes)
    }

    /// Bytes of the content, where the server has said so beforehand.
    fn announced(&self) -> Option<u64> {
        self.body.size_hint().exact().filter(|_| self.codings.is_empty())
    }

    /// Gives every piece of the content to `take`.
    fn read(self, mut take: impl FnMut(&[u8]) -> Result<(), Ended>) -> Result<(), Ended> {
        let Self { client, clock, whom, body, codings, secrets } = self;
        let ended = RefCell::new(None);
        let arriving = Arriving { client, clock, whom: &whom, body, chunk: Bytes::new(), ended: &ended };
        let told = |error: io::Error| match ended.take() {
            Some(ended) => ended,
            // Nothing was wrong with the connection, so it is what came over it.
            None => broken(&whom, "answers with a body that cannot be decoded", &error).into(),
        };
        let mut content = decoded(arriving, &codings).map_err(told)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut mask = Mask::new(secrets);
        loop {
            match content.read(&mut chunk) {
                Ok(0) => return take(&mask.last()),
                Ok(read) if secrets.is_empty() => take(&chunk[..read])?,
                Ok(read) => take(&mask.next(&chunk[..read]))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(told(error)),
            }
        }
    }
}

fn too_large(how: String) -> Failure {
    let message = format!(
        "the response {how}, at most {} are answered inline; save it to a file",
        grouped(MAX_INLINE_BYTES)
    );
    Failure::new(Kind::TooLarge, message)
}

fn not_text(at: usize) -> Failure {
    let message = format!("the response is not UTF-8 from byte {at}; save it to a file");
    Failure::new(Kind::NotText, message)
}

/// The bytes as they come over the connection. Decoders make errors of their own of one of ours,
/// so what ended it is also kept in `ended`.
struct Arriving<'a> {
    client: &'a Client,
    clock: &'a Clock,
    whom: &'a str,
    body: Incoming,
    chunk: Bytes,
    ended: &'a RefCell<Option<Ended>>,
}

impl Read for Arriving<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            let body = &mut self.body;
            let frame = self.client.wait(self.clock, async {
                match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
                    Some(Err(error)) => Err(broken(self.whom, "breaks off", &error)),
                    Some(Ok(frame)) => Ok(Some(frame)),
                    None => Ok(None),
                }
            });
            match frame {
                Ok(Some(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                Ok(None) => return Ok(0),
                Err(ended) => {
                    *self.ended.borrow_mut() = Some(ended);
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
        let read = self.chunk.len().min(into.len());
        into[..read].copy_from_slice(&self.chunk.split_to(read));
        Ok(read)
    }
}
