//! Precompile: native code for each target, each compiled in a child process of its own with
//! limits of time and memory, several at once; every artifact is inspected after it is made.

mod artifact;
mod child;
mod cpu;
mod targets;

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use subako_loader::engine;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::limits;
use subako_manifest::target::Target;
use subako_manifest::text::{grouped, shown};
use wasmtime::Engine;

use crate::progress::Progress;
use crate::rewrite::RewrittenModule;

pub use artifact::{ArtifactError, Sections, inspect};
pub use child::{COMPILE_COMMAND, compile_child};
pub use cpu::{CpuLevel, cpu_features, cpu_levels};
pub use targets::{default_targets, host_target, known, target};

/// Native code of a module for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// What it runs on.
    pub target: Target,
    /// The ELF file that the engine maps.
    pub bytes: Vec<u8>,
    /// The CPU features that it needs above its triple's baseline, sorted, as `std::arch` spells
    /// them.
    pub cpu_features: Vec<String>,
    /// What it is made of.
    pub sections: Sections,
}

/// How to compile.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program whose `__compile` command is run: `subakoc` itself.
    pub program: PathBuf,
    /// How many targets are compiled at once, at least one.
    pub jobs: usize,
    /// The time that one target may take.
    pub time: Duration,
    /// Bytes of address space of one compiling process.
    pub memory_bytes: u64,
}

impl Settings {
    /// The stated defaults: as many jobs as there are cores, and the limits of
    /// [`subako_manifest::limits`].
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            jobs: cores(),
            time: limits::COMPILE_TIME,
            memory_bytes: limits::COMPILE_MEMORY_BYTES,
        }
    }
}

/// Why there is no artifact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A target whose triple is not known.
    #[error("`{}` is not a known triple", shown(.triple))]
    TripleUnknown {
        /// What was given.
        triple: String,
        /// The nearest that is known.
        near: Option<String>,
    },
    /// A target whose CPU level its triple does not have.
    #[error("`{}` is not a CPU level of {triple}", shown(.cpu))]
    CpuUnknown {
        /// The whole triple.
        triple: String,
        /// What was given.
        cpu: String,
        /// The nearest that the triple has.
        near: Option<String>,
        /// How many levels the triple has.
        levels: usize,
    },
    /// The engine refuses the module: a limit of its own.
    #[error("`{target}` cannot be compiled: {}", shown(.message))]
    Refused {
        /// The target.
        target: Target,
        /// The engine's words.
        message: String,
    },
    /// The time for one target is over.
    #[error("`{target}` takes more than {} seconds to compile", grouped(.limit.as_secs()))]
    OutOfTime {
        /// The target.
        target: Target,
        /// The time that was allowed.
        limit: Duration,
    },
    /// The compiling process asked for more memory than it may have.
    #[error("`{target}` needs more than {} bytes of memory to compile", grouped(*.limit))]
    OutOfMemory {
        /// The target.
        target: Target,
        /// The address space that was allowed, in bytes.
        limit: u64,
    },
    /// The compiling process ended without a word of its own.
    #[error(
        "`{target}` is not compiled: its process was ended ({}), with at most {} bytes of memory allowed{}{}",
        shown(.status), grouped(*.memory_bytes), if .stderr.is_empty() { "" } else { "; it last said: " }, shown(.stderr)
    )]
    Killed {
        /// The target.
        target: Target,
        /// How the process ended.
        status: String,
        /// The address space that was allowed, in bytes.
        memory_bytes: u64,
        /// The last line it wrote.
        stderr: String,
    },
    /// The compiling process could not be started, or its pipes broke.
    #[error("`{}` cannot be run: {source}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The engine could not be made, or the child did not understand its orders.
    #[error("`{target}` is not compiled: {}", shown(.message))]
    Engine {
        /// The target.
        target: Target,
        /// The engine's words.
        message: String,
    },
    /// The bytes that came back are no artifact for the target.
    #[error("`{target}` has a wrong artifact: {source}")]
    Artifact {
        /// The target.
        target: Target,
        /// What is wrong with it.
        source: ArtifactError,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let message = self.to_string();
        let named = |code, target: &Target| Diagnostic::error(code, target.to_string(), message.clone());
        vec![match self {
            Self::TripleUnknown { triple, near } => {
                Diagnostic::error(Code::TargetUnknown, triple, message.clone())
                    .rule("a target is `<triple>` or `<triple>/<cpu level>`; `subakoc targets` lists them")
                    .maybe_hint(near.as_ref().map(|near| format!("did you mean `{near}`?")))
            }
            Self::CpuUnknown { triple, cpu, near, levels } => {
                let rule = match levels {
                    0 => {
                        format!("{triple} has no CPU levels that a loader could check for, only its baseline")
                    }
                    _ => format!("{triple} has {levels} CPU levels; `subakoc targets` lists them"),
                };
                let hint = near.as_ref().map(|near| format!("did you mean `{triple}/{near}`?"));
                Diagnostic::error(Code::CpuLevelUnknown, format!("{triple}/{cpu}"), message.clone())
                    .rule(rule)
                    .maybe_hint(hint)
            }
            Self::Refused { target, .. } => named(Code::CompileRefused, target),
            Self::OutOfTime { target, .. } => {
                named(Code::CompileOutOfTime, target).hint("allow more with `--compile-timeout TIME`")
            }
            Self::OutOfMemory { target, .. } => {
                named(Code::CompileOutOfMemory, target).hint("allow more with `--compile-memory SIZE`")
            }
            Self::Killed { target, .. } => named(Code::CompileKilled, target).hint(
                "if it wanted more memory, allow more with `--compile-memory SIZE`, or use fewer `--jobs`",
            ),
            Self::Start { program, .. } => {
                Diagnostic::error(Code::CompileStart, program.display().to_string(), message.clone())
            }
            Self::Engine { target, .. } => named(Code::CompileEngine, target),
            Self::Artifact { target, .. } => named(Code::ArtifactWrong, target),
        }]
    }
}

/// Compiles the module for every target, up to `settings.jobs` at once; the artifacts come in
/// the order of `targets`.
///
/// # Errors
///
/// The first target's, in the order of `targets`, that could not be compiled. Targets that had
/// not begun by then are left out.
pub fn precompile(
    module: &RewrittenModule,
    targets: &[Target],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Vec<Artifact>, Error> {
    precompile_bytes(module.bytes(), targets, settings, progress)
}

fn precompile_bytes(
    module: &[u8],
    targets: &[Target],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Vec<Artifact>, Error> {
    for target in targets {
        known(target)?;
    }
    let jobs = settings.jobs.clamp(1, targets.len().max(1));
    let threads = (cores() / jobs).max(1);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results: Mutex<Vec<(usize, Result<Artifact, Error>)>> = Mutex::new(Vec::new());
    let work = || {
        // Targets begin in their order, so whatever comes before the first failure has an end.
        while !failed.load(Ordering::SeqCst) {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let Some(target) = targets.get(at) else { return };
            let name = target.to_string();
            progress.began("precompile", &name);
            let result = artifact_of(module, target, settings, threads);
            progress.ended("precompile", &name);
            if result.is_err() {
                failed.store(true, Ordering::SeqCst);
            }
            results.lock().expect("no thread panics while it holds the results").push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().expect("no thread panics while it holds the results");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn artifact_of(
    module: &[u8],
    target: &Target,
    settings: &Settings,
    threads: usize,
) -> Result<Artifact, Error> {
    let bytes = child::compile_apart(module, target, settings, threads)?;
    let sections =
        inspect(&bytes, target).map_err(|source| Error::Artifact { target: target.clone(), source })?;
    let cpu_features = cpu_features(target).expect("the target was found to be known");
    Ok(Artifact { target: target.clone(), bytes, cpu_features, sections })
}

/// Compiles in this very process, without limits: what a child process does. Nothing of this
/// host's CPU goes into the result.
///
/// # Errors
///
/// [`Error::CpuUnknown`], [`Error::Engine`] when the engine cannot be made for the target, and
/// [`Error::Refused`] when it refuses the module.
pub fn compile_here(module: &[u8], target: &Target) -> Result<Vec<u8>, Error> {
    known(target)?;
    let no_engine =
        |error: wasmtime::Error| Error::Engine { target: target.clone(), message: format!("{error:#}") };
    let mut config = engine::config(target);
    config.target(target.triple()).map_err(no_engine)?;
    for flag in cpu::flags(target).into_iter().flatten() {
        #[expect(
            unsafe_code,
            reason = "the engine has no safe way to turn on a CPU feature of another machine"
        )]
        // SAFETY: a wrong flag could make code that a CPU cannot run or that breaks the engine's
        // own assumptions. These are boolean CPU features that cranelift itself lists for this
        // architecture: those of one of its presets and what they need beside themselves (the
        // table in `precompile/cpu.rs`). The engine checks at load time that the host has every
        // one that the artifact was compiled with.
        unsafe {
            config.cranelift_flag_enable(flag)
        };
    }
    let compiler = Engine::new(&config).map_err(no_engine)?;
    compiler
        .precompile_module(module)
        .map_err(|error| Error::Refused { target: target.clone(), message: format!("{error:#}") })
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests;
