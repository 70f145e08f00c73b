//! From verified bytes to code that can run: the one step that is unsafe by nature, and the one
//! place of this crate that says `unsafe`.

use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::target::Target;
use wasmtime::{Engine, Module};

use crate::engine;
use crate::verify::VerifiedArtifact;

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
    let target = artifact.target().clone();
    let engine = Engine::new(&engine::config(&target))
        .map_err(|source| Error::Engine { target: target.clone(), source })?;
    // SAFETY: the engine trusts these bytes to be what its own compiler made. They are: a
    // `VerifiedArtifact` exists only for bytes that this process compiled (`built_here`) or whose
    // digest the index of a `VerifiedBundle` names, and somebody vouches for that index: a
    // trusted key, or the user by `--allow-unsigned`. The bytes are borrowed from the value that
    // was digested, so they cannot change in between, and the engine copies them.
    #[expect(unsafe_code, reason = "loading native code is what a loader does; only verified bytes reach it")]
    let module = unsafe { Module::deserialize(&engine, artifact.bytes()) };
    let module = module.map_err(|source| Error::Artifact { target, source })?;
    Ok(MappedModule { module })
}
