//! What a request sends: nothing, bytes, or a file as it is read.

use std::fs::File;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Bytes of a file that are sent at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The body of a request.
#[derive(Debug)]
pub(super) enum Payload {
    /// None.
    Empty,
    /// These bytes, once.
    Bytes(Option<Bytes>),
    /// As many bytes of a file as it had when the request began.
    File {
        /// The file, read up to where it has been sent.
        file: File,
        /// Bytes that are still to be sent.
        left: u64,
    },
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(match self.get_mut() {
            Self::Empty => None,
            Self::Bytes(bytes) => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
            Self::File { left: 0, .. } => None,
            Self::File { file, left } => {
                // The module's thread waits for the request anyway, as it would in a read.
                let mut chunk = vec![0; usize::try_from(*left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES)];
                Some(file.read(&mut chunk).and_then(|read| match read {
                    0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter")),
                    read => {
                        chunk.truncate(read);
                        *left -= read as u64;
                        Ok(Frame::data(chunk.into()))
                    }
                }))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty | Self::Bytes(None) | Self::File { left: 0, .. } => true,
            Self::Bytes(Some(_)) | Self::File { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Empty | Self::Bytes(None) => 0,
            Self::Bytes(Some(bytes)) => bytes.len() as u64,
            Self::File { left, .. } => *left,
        })
    }
}
