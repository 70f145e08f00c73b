//! Signing by an outside program, for keys in an HSM or a KMS: the bytes to sign on its stdin, the
//! raw signature on its stdout. Its stderr and its terminal are the user's.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use subako_manifest::key::PublicKey;
use subako_manifest::text::grouped;

use super::{Error, canonical};

/// Bytes that are read of what the program prints: no signature has as many.
const MAX_OUTPUT_BYTES: u64 = 4_096;

/// A program that signs.
#[derive(Debug)]
pub struct Program {
    command: String,
    key: PublicKey,
}

/// What went wrong with the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It could not be run.
    #[error("cannot be run: {0}")]
    Run(io::Error),
    /// It ended with another status than 0.
    #[error("failed: {0}")]
    Status(ExitStatus),
    /// It printed more than any signature has.
    #[error("printed more than {} bytes, which is no signature", grouped(MAX_OUTPUT_BYTES))]
    Long,
}

impl Program {
    /// The program that the shell runs for `command`, and the key that it signs by.
    #[must_use]
    pub fn new(command: String, key: PublicKey) -> Self {
        Self { command, key }
    }

    /// The key that it signs by.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let raw = self.run(message)?;
        canonical(&self.key, message, &raw).ok_or_else(|| Error::Output {
            command: self.command.clone(),
            bytes: raw.len(),
            key_id: self.key.id(),
        })
    }

    fn run(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |fault| Error::Program { command: self.command.clone(), fault };
        let not_run = |error| failed(Fault::Run(error));
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(not_run)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut raw = Vec::new();
        let read = thread::scope(|scope| {
            // Beside the reading, as it may print before it has read all. One that does not read
            // at all may still know what to print.
            scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(message)));
            // Dropped at the end, so that a program which prints on is ended by it.
            stdout.map_or(Ok(0), |stdout| stdout.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut raw))
        });
        let status = child.wait().map_err(not_run)?;
        read.map_err(not_run)?;
        if raw.len() as u64 > MAX_OUTPUT_BYTES {
            return Err(failed(Fault::Long));
        }
        if !status.success() {
            return Err(failed(Fault::Status(status)));
        }
        Ok(raw)
    }
}
