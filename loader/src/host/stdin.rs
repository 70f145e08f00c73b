//! A module's stdin: the requests of the [`Exchange`], one at a time, end of file after the last
//! answer.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncRead;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdinStream};
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{InputStream, StreamError, StreamResult};

use super::exchange::{Exchange, Input};
use super::locked;

/// The stream that the module reads.
#[derive(Clone)]
pub struct Stdin(pub Arc<Mutex<Exchange>>);

impl IsTerminal for Stdin {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Stdin {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(tokio::io::empty())
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl InputStream for Stdin {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        match locked(&self.0).read(size) {
            Ok(Input::Bytes(bytes)) => Ok(bytes.into()),
            Ok(Input::End) => Err(StreamError::Closed),
            Err(cause) => Err(StreamError::Trap(cause.into())),
        }
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.read(size)
    }
}

#[async_trait]
impl Pollable for Stdin {
    /// Never, when nothing is there: only the module's own answer brings the next request, and
    /// the module waits here. The deadline, or another thing it waits for, ends the wait.
    async fn ready(&mut self) {
        if !locked(&self.0).is_ready() {
            std::future::pending::<()>().await;
        }
    }
}
