//! From verified bytes to code that can run: the step that is unsafe by nature. All of the
//! loader's `unsafe` is here, but for the promise of [`VerifiedArtifact::built_here`].
//!
//! An artifact runs from the memory in which it was digested. That memory belongs to this process
//! alone: a private mapping of the bundle's file, whose pages are shared with every other process
//! that runs it until somebody writes to one, or a copy. An artifact in a file of its own (the
//! cache's) is mapped by the engine, which then maps the module's data from the file as well.
//!
//! [`VerifiedArtifact::built_here`]: crate::verify::VerifiedArtifact::built_here

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut, MmapOptions};
use rustix::mm::{MprotectFlags, mprotect};
use subako_manifest::abi::HTTP_MODULE;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::target::Target;
use wasmtime::{Config, CustomCodeMemory, Engine, Module};

use crate::engine;
use crate::timings;
use crate::verify::{Image, VerifiedArtifact};

/// A module whose native code is in memory, ready to be instantiated any number of times.
#[derive(Clone)]
pub struct MappedModule {
    module: Module,
}

impl MappedModule {
    /// The engine that the module belongs to.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.module.engine()
    }

    /// Whether the module can reach a file: it imports a function that finds one. For one that does
    /// not, no directory needs to be made.
    #[must_use]
    pub fn reaches_files(&self) -> bool {
        self.module.imports().any(|import| {
            let finds = ["path_", "fd_prestat_", "fd_readdir"];
            import.module() == HTTP_MODULE || finds.iter().any(|prefix| import.name().starts_with(prefix))
        })
    }

    /// The engine's own view of the module.
    #[must_use]
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }
}

/// The engine does not take the artifact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine lacks something that the engine needs.
    #[error("the engine cannot start for `{target}`: {source}")]
    Engine {
        /// What it was started for.
        target: Target,
        /// Why not.
        source: wasmtime::Error,
    },
    /// The artifact was made by another engine, with other settings, or for another CPU.
    #[error("the artifact `{target}` does not load in this engine: {source:#}")]
    Artifact {
        /// What the artifact was made for.
        target: Target,
        /// Why not.
        source: wasmtime::Error,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let (code, target) = match self {
            Self::Engine { target, .. } => (Code::EngineStart, target),
            Self::Artifact { target, .. } => (Code::ArtifactForeign, target),
        };
        vec![Diagnostic::error(code, target.to_string(), self.to_string())]
    }
}

/// Loads the artifact's code.
///
/// # Errors
///
/// The engine cannot start, or does not take the artifact.
pub fn map(artifact: VerifiedArtifact) -> Result<MappedModule, Error> {
    let VerifiedArtifact { image, target } = artifact;
    let mut config = engine::config(&target);
    let start = |config: &Config| {
        let engine = Engine::new(config).map_err(|source| Error::Engine { target: target.clone(), source });
        timings::mark("engine");
        engine
    };
    // SAFETY: in each case the engine trusts the bytes to be what its own compiler made. They are:
    // a `VerifiedArtifact` exists only for bytes that its maker vouches for (`built_here`) or
    // whose digest the index of a `VerifiedBundle` names, and somebody vouches for that index: a
    // trusted key, or the user by `--allow-unsigned`.
    // - `deserialize` copies the bytes that were digested.
    // - `deserialize_raw` uses the memory that was digested. `CodeMemory` owns it, hands it out to
    //   nobody else, and lives as long as the engine, which outlives its modules.
    // - `deserialize_open_file` maps a file of the cache that only this user and root may write,
    //   and that this program never writes again once it is there (see `cache`).
    #[expect(unsafe_code, reason = "loading native code is what a loader does; only verified bytes reach it")]
    let module = unsafe {
        match image {
            Image::Memory(memory) if MAPS_RAW => {
                let place = memory.place();
                config.with_custom_code_memory(Some(Arc::new(CodeMemory { _memory: memory })));
                Module::deserialize_raw(&start(&config)?, place)
            }
            Image::Memory(memory) => Module::deserialize(&start(&config)?, &*memory),
            Image::File(file) => Module::deserialize_open_file(&start(&config)?, file),
        }
    };
    let module = module.map_err(|source| Error::Artifact { target, source })?;
    Ok(MappedModule { module })
}

/// Whether an artifact runs from the memory that it was digested in. Elsewhere than on x86-64,
/// making written memory executable takes more than a system call, and the engine's own copy
/// does it.
const MAPS_RAW: bool = cfg!(all(unix, target_arch = "x86_64"));

/// Maps a whole file, to read.
///
/// # Errors
///
/// The system refuses; it does for an empty file.
pub(crate) fn file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is only read, as bytes, and every check of them is made again on
    // private memory before they run (`VerifiedBundle::artifact`). `BundleFile`, the one caller,
    // asks first that nobody but this user and root may write the file, so nobody else can change
    // or cut it under a reader.
    #[expect(unsafe_code, reason = "a bundle is read without copying it")]
    unsafe {
        Mmap::map(file)
    }
}

/// Memory of this process alone that begins at a page.
#[derive(Debug)]
pub struct Memory(MmapMut);

impl Memory {
    /// Bytes copied into fresh memory.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn copy_of(bytes: &[u8]) -> io::Result<Self> {
        let mut memory = MmapMut::map_anon(bytes.len().max(1))?;
        memory[..bytes.len()].copy_from_slice(bytes);
        Ok(Self(memory))
    }

    /// A part of a file, mapped privately.
    ///
    /// # Errors
    ///
    /// The part does not begin at a page of this machine, or the system refuses.
    pub(crate) fn of_file(file: &File, range: Range<usize>) -> io::Result<Self> {
        if !range.start.is_multiple_of(rustix::param::page_size()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: as for `file`: the one caller, `BundleFile`, asks that nobody but this user and
        // root may write the file. What others do to their own pages of it is not seen here.
        #[expect(unsafe_code, reason = "an artifact runs from the bundle without being copied")]
        let memory =
            unsafe { MmapOptions::new().offset(range.start as u64).len(range.len()).map_copy(file) }?;
        Ok(Self(memory))
    }

    fn place(&self) -> NonNull<[u8]> {
        NonNull::from(&self.0[..])
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The memory of one engine's only module: keeps it, and makes its code executable.
struct CodeMemory {
    _memory: Memory,
}

impl CustomCodeMemory for CodeMemory {
    fn required_alignment(&self) -> usize {
        rustix::param::page_size()
    }

    fn publish_executable(&self, ptr: *const u8, len: usize) -> wasmtime::Result<()> {
        protect(ptr, len, MprotectFlags::READ | MprotectFlags::EXEC)
    }

    fn unpublish_executable(&self, ptr: *const u8, len: usize) -> wasmtime::Result<()> {
        protect(ptr, len, MprotectFlags::READ | MprotectFlags::WRITE)
    }
}

fn protect(ptr: *const u8, len: usize, flags: MprotectFlags) -> wasmtime::Result<()> {
    // SAFETY: the engine calls with whole pages of the memory that it was given as code, which is
    // that of this `CodeMemory`; nobody else holds a reference to it.
    #[expect(unsafe_code, reason = "the engine leaves the protection of memory that is ours to us")]
    unsafe {
        mprotect(ptr.cast_mut().cast(), len, flags)?;
    }
    Ok(())
}
