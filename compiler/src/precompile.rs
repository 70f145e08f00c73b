//! Precompile: native code for each target, each compiled in a child process of its own with
//! limits of time and memory, several at once; every artifact is inspected after it is made, and
//! kept in a cache for the next time.

mod artifact;
mod cache;
mod child;
mod cpu;
mod farm;
mod functions;
mod shares;
mod targets;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use subako_loader::engine;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Severity};
use subako_manifest::digest::Digest;
use subako_manifest::limits;
use subako_manifest::target::Target;
use subako_manifest::text::{grouped, shown};
use subako_registry as registry;
use wasmtime::{Config, Engine};

use crate::progress::Progress;
use crate::rewrite::RewrittenModule;

use cache::{Found, Keys};
use functions::FunctionStore;

pub use artifact::{ArtifactError, Sections, inspect};
pub use cache::{Cache, Error as CacheError};
pub use child::{COMPILE_COMMAND, compile_child};
pub use cpu::{CpuLevel, cpu_features, cpu_levels};
pub use farm::{Farm, Place, Use, unusable};
pub use functions::Functions;
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

/// Where an artifact came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// It was there already, made from the same module by the same engine.
    Cache,
    /// Somebody trusted had compiled it from the same module by the same engine, and shared it.
    Registry,
    /// It was compiled.
    Compiler,
}

/// How an artifact came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The artifact's target.
    pub target: Target,
    /// Where it came from.
    pub source: Source,
    /// Functions and trampolines that were taken from the cache of functions.
    pub functions_reused: u64,
    /// Those that were compiled for that cache; 0 without one.
    pub functions_compiled: u64,
    /// How long it took to get it.
    #[serde(rename = "ms", serialize_with = "milliseconds")]
    pub time: Duration,
}

/// Artifacts, and how they came to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precompiled {
    /// In the order of the targets.
    pub artifacts: Vec<Artifact>,
    /// In the same order.
    pub origins: Vec<Origin>,
    /// What is wrong with the cache. Nothing of it changes an artifact.
    pub warnings: Vec<Diagnostic>,
}

/// How to compile.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program whose `__compile` command is run: `subakoc` itself.
    pub program: PathBuf,
    /// How many targets are compiled at once, at least one; fewer where memory is short.
    pub jobs: usize,
    /// The time that one target may take.
    pub time: Duration,
    /// Bytes of address space of one compiling process.
    pub memory_bytes: u64,
    /// Where artifacts and functions are kept, if anywhere.
    pub cache: Option<Cache>,
    /// Where artifacts are shared with other builders, if anywhere.
    pub farm: Option<Arc<Farm>>,
}

impl Settings {
    /// The stated defaults: as many jobs as there are cores, the limits of
    /// [`subako_manifest::limits`], and neither cache nor farm.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            jobs: cores(),
            time: limits::COMPILE_TIME,
            memory_bytes: limits::COMPILE_MEMORY_BYTES,
            cache: None,
            farm: None,
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

/// Compiles the module for every target, up to `settings.jobs` at once; what is in the cache, or in
/// the one that is shared, is taken from there, and gives the same bytes. What is not from the shared
/// one goes there.
///
/// # Errors
///
/// The first target's, in the order of `targets`, that could not be compiled. Targets that had
/// not begun by then are left out. A cache that fails is no error.
pub fn precompile(
    module: &RewrittenModule,
    targets: &[Target],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Precompiled, Error> {
    precompile_bytes(module.bytes(), targets, settings, progress)
}

fn precompile_bytes(
    module: &[u8],
    targets: &[Target],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Precompiled, Error> {
    for target in targets {
        known(target)?;
    }
    let digest = Digest::of(module);
    let mut orders = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let mut keys = None;
        if settings.cache.is_some() || settings.farm.is_some() {
            keys = Some(Keys::new(target, &compiler(target)?, &digest));
        }
        orders.push(Order { at, target, keys });
    }
    let Ok(found) = registry::each(&orders, |order| Ok::<_, Infallible>(find(order, settings, progress)));
    let (mut done, mut warnings) = (Vec::new(), Vec::new());
    let mut found = found.into_iter();
    orders.retain(|order| {
        let (made, mut told) = found.next().unwrap_or_default();
        warnings.append(&mut told);
        let absent = made.is_none();
        done.extend(made.map(|made| (order.at, Ok(made))));
        absent
    });

    let available = shares::available_memory();
    let at_once = shares::targets_at_once(settings.jobs, orders.len(), module.len() as u64, available);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results = Mutex::new(done);
    let work = |threads: usize| {
        // Targets begin in their order, so whatever comes before the first failure has an end.
        while !failed.load(Ordering::SeqCst) {
            let Some(order) = orders.get(next.fetch_add(1, Ordering::SeqCst)) else { return };
            let name = order.target.to_string();
            progress.began("precompile", &name);
            let result = make(module, order, settings, threads);
            progress.ended("precompile", &name);
            if result.is_err() {
                failed.store(true, Ordering::SeqCst);
            }
            results.lock().expect("no thread panics while it holds the results").push((order.at, result));
        }
    };
    let work = &work;
    thread::scope(|scope| {
        let mut threads = shares::threads(cores(), at_once).into_iter();
        let own = threads.next().unwrap_or(1);
        for threads in threads {
            scope.spawn(move || work(threads));
        }
        work(own);
    });
    if let Some(cache) = &settings.cache {
        cache.prune();
    }

    let mut results = results.into_inner().expect("no thread panics while it holds the results");
    results.sort_by_key(|(at, _)| *at);
    let mut all = Precompiled { warnings, ..Precompiled::default() };
    for (_, result) in results {
        let Made { artifact, origin, mut warnings } = result?;
        all.artifacts.push(artifact);
        all.origins.push(origin);
        all.warnings.append(&mut warnings);
    }
    if let Some(farm) = &settings.farm {
        all.warnings.append(&mut farm.warnings());
    }
    Ok(all)
}

/// A target that is to be compiled.
struct Order<'a> {
    at: usize,
    target: &'a Target,
    /// With a cache, whosesoever.
    keys: Option<Keys>,
}

/// One artifact.
struct Made {
    artifact: Artifact,
    origin: Origin,
    warnings: Vec<Diagnostic>,
}

/// Looks for an artifact that was made before: here, then where others share theirs.
fn find(order: &Order<'_>, settings: &Settings, progress: &dyn Progress) -> (Option<Made>, Vec<Diagnostic>) {
    let (target, begun, mut warnings) = (order.target, Instant::now(), Vec::new());
    let Some(keys) = &order.keys else { return (None, warnings) };
    let name = target.to_string();
    progress.began("precompile", &name);
    let here = settings.cache.as_ref().and_then(|cache| find_here(cache, target, keys, &mut warnings));
    let made = |artifact, source| Made {
        artifact,
        origin: origin(target, source, &Functions::default(), begun),
        warnings: Vec::new(),
    };
    let found = match (here, &settings.farm) {
        (Some(artifact), farm) => {
            if let Some(farm) = farm {
                farm.keep(target, keys, &artifact.bytes);
            }
            Some(made(artifact, Source::Cache))
        }
        (None, Some(farm)) => farm.find(target, keys).map(|artifact| {
            keep(settings, order, &artifact, &mut warnings);
            made(artifact, Source::Registry)
        }),
        (None, None) => None,
    };
    progress.ended("precompile", &name);
    (found, warnings)
}

/// Takes an artifact from the cache. One that is damaged is told of, and compiled anew.
fn find_here(
    cache: &Cache,
    target: &Target,
    keys: &Keys,
    warnings: &mut Vec<Diagnostic>,
) -> Option<Artifact> {
    let damaged = match cache.find(&keys.artifact) {
        Found::Absent => return None,
        Found::Damaged(path) => path,
        Found::Artifact(bytes) => match judged(bytes, target) {
            Ok(artifact) => return Some(artifact),
            Err(_) => cache.discard(&keys.artifact),
        },
    };
    warnings.push(damaged_entry(&damaged, &format!("`{target}` is made anew")));
    None
}

/// Keeps an artifact for the next time.
fn keep(settings: &Settings, order: &Order<'_>, artifact: &Artifact, warnings: &mut Vec<Diagnostic>) {
    if let (Some(cache), Some(keys)) = (&settings.cache, &order.keys)
        && let Err(error) = cache.keep(&keys.artifact, &artifact.bytes)
    {
        warnings.extend(without(&error));
    }
}

fn make(module: &[u8], order: &Order<'_>, settings: &Settings, threads: usize) -> Result<Made, Error> {
    let target = order.target;
    let begun = Instant::now();
    let mut warnings = Vec::new();
    let mut folder = None;
    if let (Some(cache), Some(keys)) = (&settings.cache, &order.keys) {
        match cache.functions(&keys.functions) {
            Ok(path) => folder = Some(path),
            Err(error) => warnings.extend(without(&error)),
        }
    }
    let answer = child::compile_apart(module, target, settings, threads, folder.as_deref())?;
    let artifact = judged(answer.artifact, target)?;
    if let Some(folder) = &folder {
        if answer.functions.damaged > 0 {
            warnings.push(damaged_entry(folder, "its functions are compiled anew"));
        }
        if answer.functions.unwritten {
            let message = format!(
                "`{}` takes no new functions: the next compilation begins without them",
                shown(&folder.to_string_lossy())
            );
            warnings.push(Diagnostic::warning(Code::Io, folder.to_string_lossy(), message));
        }
    }
    keep(settings, order, &artifact, &mut warnings);
    if let (Some(farm), Some(keys)) = (&settings.farm, &order.keys) {
        farm.keep(target, keys, &artifact.bytes);
    }
    Ok(Made { artifact, origin: origin(target, Source::Compiler, &answer.functions, begun), warnings })
}

/// Bytes that are an artifact of `target`, or not.
fn judged(bytes: Vec<u8>, target: &Target) -> Result<Artifact, Error> {
    let sections =
        inspect(&bytes, target).map_err(|source| Error::Artifact { target: target.clone(), source })?;
    let cpu_features = cpu_features(target).expect("the target was found to be known");
    Ok(Artifact { target: target.clone(), bytes, cpu_features, sections })
}

fn origin(target: &Target, source: Source, functions: &Functions, begun: Instant) -> Origin {
    Origin {
        target: target.clone(),
        source,
        functions_reused: functions.reused,
        functions_compiled: functions.compiled,
        time: begun.elapsed(),
    }
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn damaged_entry(path: &Path, instead: &str) -> Diagnostic {
    let name = path.to_string_lossy();
    let message = format!("`{}` is damaged and is removed: {instead}", shown(&name));
    Diagnostic::warning(Code::CompileCacheDamaged, name, message)
}

/// The error of a cache that is not needed.
fn without(error: &CacheError) -> Vec<Diagnostic> {
    let mut told = error.diagnostics();
    for diagnostic in &mut told {
        diagnostic.severity = Severity::Warning;
    }
    told
}

/// Compiles in this very process, without limits and without a cache. Nothing of this host's CPU
/// goes into the result.
///
/// # Errors
///
/// [`Error::CpuUnknown`], [`Error::Engine`] when the engine cannot be made for the target, and
/// [`Error::Refused`] when it refuses the module.
pub fn compile_here(module: &[u8], target: &Target) -> Result<Vec<u8>, Error> {
    compile_with(module, target, None)
}

/// The same, with functions from a store, which gets the new ones: what a child process does.
fn compile_with(
    module: &[u8],
    target: &Target,
    functions: Option<Arc<FunctionStore>>,
) -> Result<Vec<u8>, Error> {
    known(target)?;
    let mut config = config(target)?;
    if let Some(functions) = functions {
        config.parallel_compilation(functions::in_parallel(module.len() as u64));
        config.enable_incremental_compilation(functions).map_err(no_engine(target))?;
    }
    let compiler = Engine::new(&config).map_err(no_engine(target))?;
    compiler
        .precompile_module(module)
        .map_err(|error| Error::Refused { target: target.clone(), message: format!("{error:#}") })
}

/// The engine that compiles for `target`, which is known.
fn compiler(target: &Target) -> Result<Engine, Error> {
    Engine::new(&config(target)?).map_err(no_engine(target))
}

fn config(target: &Target) -> Result<Config, Error> {
    let mut config = engine::config(target);
    config.target(target.triple()).map_err(no_engine(target))?;
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
    Ok(config)
}

fn no_engine(target: &Target) -> impl Fn(wasmtime::Error) -> Error {
    move |error| Error::Engine { target: target.clone(), message: format!("{error:#}") }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests;
