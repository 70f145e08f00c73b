//! The directories that a module sees, in ABI 1's order ("Files"): `/volume/tmp`, then
//! `/volume/data` when enabled, then `/package` when the package has assets, then `/skills` and
//! each `/skills/<name>`. The last two kinds are read-only.

use std::io;
use std::path::{Path, PathBuf};

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::scratch::Scratch;

/// The host's directories behind the preopens; none of them by default, as in discovery.
#[derive(Debug, Clone, Default)]
pub struct Preopens {
    /// Behind `/volume/tmp`.
    pub volume_tmp: Option<PathBuf>,
    /// Behind `/volume/data`.
    pub volume_data: Option<PathBuf>,
    /// Behind `/package`.
    pub package: Option<PathBuf>,
    /// Behind each `/skills/<name>`: its name and its directory.
    pub skills: Vec<(String, PathBuf)>,
}

/// A preopen that cannot be opened, or the directory that stands for `/skills` cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be opened as `{guest}`", host.display())]
pub struct Error {
    /// The directory.
    pub host: PathBuf,
    /// What the module would call it.
    pub guest: String,
    /// Why not.
    pub source: io::Error,
}

impl Preopens {
    /// Opens every directory for `wasi`, in the ABI's order. What has to be made is in `scratch`.
    ///
    /// # Errors
    ///
    /// A directory is not there, or may not be read.
    pub fn open(&self, wasi: &mut WasiCtxBuilder, scratch: &Scratch) -> Result<(), Error> {
        if let Some(dir) = &self.volume_tmp {
            open(wasi, dir, "/volume/tmp".to_owned(), FsPerms::ReadWrite)?;
        }
        if let Some(dir) = &self.volume_data {
            open(wasi, dir, "/volume/data".to_owned(), FsPerms::ReadWrite)?;
        }
        if let Some(dir) = &self.package {
            open(wasi, dir, "/package".to_owned(), FsPerms::ReadOnly)?;
        }
        if !self.skills.is_empty() {
            open(wasi, &self.skills_root(scratch)?, "/skills".to_owned(), FsPerms::ReadOnly)?;
        }
        for (name, dir) in &self.skills {
            open(wasi, dir, format!("/skills/{name}"), FsPerms::ReadOnly)?;
        }
        Ok(())
    }

    /// A directory that lists the skills' names; a path below one of them is found by its own
    /// preopen, whose name is longer.
    fn skills_root(&self, scratch: &Scratch) -> Result<PathBuf, Error> {
        let refused = |source| Error { host: std::env::temp_dir(), guest: "/skills".to_owned(), source };
        let root = scratch.directory("subako-skills-").map_err(refused)?;
        for (name, _) in &self.skills {
            std::fs::create_dir(root.join(name)).map_err(refused)?;
        }
        Ok(root)
    }
}

fn open(wasi: &mut WasiCtxBuilder, host: &Path, guest: String, perms: FsPerms) -> Result<(), Error> {
    // Opened once by hand: the engine's own error does not keep the reason as an I/O error.
    let opened = std::fs::read_dir(host).map(drop);
    opened
        .and_then(|()| wasi.preopened_dir(host, &guest, perms).map(drop).map_err(io::Error::other))
        .map_err(|source| Error { host: host.to_owned(), guest, source })
}
