//! Which artifact of a bundle runs on this host: the most specific one whose CPU features the
//! host has, then the baseline, then the portable one (design, "The loader").

use std::fmt;

use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::index::{ARTIFACT_FORMAT, ENGINE_NAME, ENGINE_VERSION, Engine, Entry, Index};
use subako_manifest::target::Target;
use subako_manifest::text::shown;

use crate::engine;

/// The oldest engine whose artifacts are run: an older one miscompiled (CVE-2026-115893 on
/// aarch64), and an artifact that it made stays bad in every loader.
pub const ENGINE_FLOOR: (u64, u64, u64) = (48, 0, 7);

/// Engines above the floor whose artifacts are not run, by their exact versions: for one that
/// turns out to miscompile while older ones do not.
pub const DENIED_ENGINES: &[DeniedEngine] = &[];

/// An engine whose artifacts stay bad whatever loads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeniedEngine {
    /// The exact version.
    pub version: &'static str,
    /// What is wrong with its artifacts, as it is known in public: `CVE-2026-115893 (aarch64)`.
    pub fault: &'static str,
}

/// What this process runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCpu {
    architecture: &'static str,
    os: &'static str,
}

impl HostCpu {
    /// The host of this process.
    #[must_use]
    pub fn detect() -> Self {
        Self { architecture: std::env::consts::ARCH, os: std::env::consts::OS }
    }

    /// Whether an artifact for `target` that needs `cpu_features` runs here.
    #[must_use]
    pub fn can_run(&self, target: &Target, cpu_features: &[String]) -> bool {
        self.runs(target) && cpu_features.iter().all(|feature| Self::has(feature))
    }

    /// Whether code for `target`'s triple runs here, its CPU level aside. The C library does not
    /// matter: an artifact calls none.
    fn runs(&self, target: &Target) -> bool {
        if target.is_portable() {
            return true;
        }
        let (architecture, rest) = target.triple().split_once('-').unwrap_or((target.triple(), ""));
        let architecture = if architecture == "riscv64gc" { "riscv64" } else { architecture };
        let os = match rest {
            rest if rest.contains("linux") => "linux",
            rest if rest.contains("darwin") => "macos",
            rest if rest.contains("windows") => "windows",
            other => other,
        };
        architecture == self.architecture && os == self.os
    }

    /// Whether the CPU has `feature`, by the name that the index uses.
    fn has(feature: &str) -> bool {
        has_cpu_feature(feature)
    }
}

impl fmt::Display for HostCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.architecture, self.os)
    }
}

macro_rules! probe {
    ($name:expr, $detected:ident: $($feature:tt)*) => {
        match $name {
            $($feature => std::arch::$detected!($feature),)*
            _ => false,
        }
    };
}

/// The features that artifacts ask for are those that the compiler can turn on; one that is not
/// in this list is taken as absent, which only costs speed.
#[cfg(target_arch = "x86_64")]
fn has_cpu_feature(name: &str) -> bool {
    probe!(name, is_x86_feature_detected:
        "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "fma" "bmi1" "bmi2" "lzcnt" "cmpxchg16b"
        "avx512bitalg" "avx512dq" "avx512f" "avx512vbmi" "avx512vl")
}

/// As above, for this architecture.
#[cfg(target_arch = "aarch64")]
fn has_cpu_feature(name: &str) -> bool {
    probe!(name, is_aarch64_feature_detected: "lse" "paca" "pacg" "fp16" "dotprod" "i8mm")
}

/// No feature above the baseline is asked for on other architectures.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has_cpu_feature(_name: &str) -> bool {
    false
}

/// The artifact that runs, and why the others do not.
#[derive(Debug, Clone)]
pub struct Pick {
    entry: Entry,
    target: Target,
    passed_over: Vec<(Target, Reason)>,
}

impl Pick {
    /// The artifact's entry.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// What it runs on.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The artifacts that were looked at before it, and why they were passed over.
    #[must_use]
    pub fn passed_over(&self) -> &[(Target, Reason)] {
        &self.passed_over
    }
}

/// Why an artifact does not run, or was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is for another architecture or system.
    OtherHost,
    /// The CPU lacks these features.
    Lacks(Vec<String>),
    /// The user asked for another one.
    NotAskedFor,
    /// It is in the index of a thin bundle, and not in its file.
    Absent,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherHost => f.write_str("is for another host"),
            Self::Lacks(features) => write!(f, "needs {}", shown(&features.join(", "))),
            Self::NotAskedFor => f.write_str("is not the one asked for"),
            Self::Absent => f.write_str("is absent from this thin bundle"),
        }
    }
}

/// No artifact runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The artifacts were made by another engine.
    #[error("the artifacts are for {}, this is {}", other(.found), this(.found))]
    OtherEngine {
        /// The bundle's engine.
        found: Engine,
    },
    /// The engine that made the artifacts is known to miscompile.
    #[error("the artifacts are by {} {}, which is older than the oldest that is run", shown(&.found.name), shown(&.found.version))]
    BelowFloor {
        /// The bundle's engine.
        found: Engine,
    },
    /// That very engine is known to miscompile.
    #[error("the artifacts are by {} {}, whose artifacts are not run: {}", shown(&.found.name), shown(&.found.version), .denied.fault)]
    Denied {
        /// The bundle's engine.
        found: Engine,
        /// Why it is denied.
        denied: DeniedEngine,
    },
    /// None is for this host.
    #[error("no artifact for this host, which is `{host}`")]
    NoneFits {
        /// This host.
        host: String,
        /// What the bundle has, and why it does not fit.
        passed_over: Vec<(Target, Reason)>,
    },
}

/// The mend for artifacts that are not run, whatever made them.
const REBUILD: &str = "`subakoc rebuild BUNDLE -o NEW` makes new artifacts from the bundle's own module";

/// A bundle's engine in words; its settings only where its version does not tell it from ours.
fn other(found: &Engine) -> String {
    let name = format!("{} {}", shown(&found.name), shown(&found.version));
    match is_this_version(found) {
        true => {
            format!(
                "{name} with other settings ({})",
                differing(found, found.artifact_format, found.compatibility)
            )
        }
        false => name,
    }
}

/// This engine in the same words.
fn this(found: &Engine) -> String {
    let name = format!("{ENGINE_NAME} {ENGINE_VERSION}");
    match is_this_version(found) {
        true => format!("{name} ({})", differing(found, ARTIFACT_FORMAT, engine::compatibility())),
        false => name,
    }
}

/// Of an engine of this version, what `found` has otherwise than this one, with the given values.
fn differing(found: &Engine, artifact_format: u32, compatibility: Digest) -> String {
    let format =
        (found.artifact_format != ARTIFACT_FORMAT).then(|| format!("artifact format {artifact_format}"));
    let settings = (found.compatibility != engine::compatibility())
        .then(|| format!("compatibility digest {compatibility}"));
    format.into_iter().chain(settings).collect::<Vec<_>>().join(", ")
}

fn is_this_version(found: &Engine) -> bool {
    found.name == ENGINE_NAME && found.version == ENGINE_VERSION
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic = match self {
            Self::OtherEngine { found } => Diagnostic::error(
                Code::EngineOther,
                format!("{} {}", found.name, found.version),
                self.to_string(),
            )
            .rule("an artifact runs in the very engine that made it, with the same settings (docs/bundle.md, \"The index\")")
            .hint(format!("{REBUILD}, by the `subakoc` of this loader's version")),
            Self::BelowFloor { found } => Diagnostic::error(
                Code::EngineFloor,
                format!("{} {}", found.name, found.version),
                self.to_string(),
            )
            .rule(format!(
                "the oldest engine whose artifacts are run is {}.{}.{}: older ones miscompile",
                ENGINE_FLOOR.0, ENGINE_FLOOR.1, ENGINE_FLOOR.2
            ))
            .hint(REBUILD),
            Self::Denied { found, .. } => Diagnostic::error(
                Code::EngineFloor,
                format!("{} {}", found.name, found.version),
                self.to_string(),
            )
            .rule("an artifact that an engine miscompiled stays bad in every loader")
            .hint(REBUILD),
            Self::NoneFits { host, passed_over } => {
                let list: Vec<String> =
                    passed_over.iter().map(|(target, reason)| format!("`{target}` {reason}")).collect();
                let list = if list.is_empty() { "no artifact at all".to_owned() } else { list.join("; ") };
                let thin = passed_over.iter().any(|(_, reason)| *reason == Reason::Absent);
                let diagnostic = Diagnostic::error(
                    Code::NoArtifact,
                    host.clone(),
                    format!("{self}; the bundle has: {list}"),
                );
                match thin {
                    true => diagnostic.hint("pull the bundle again with `--target host`, or whole"),
                    false => diagnostic
                        .hint("build with `--target pulley64` for an artifact that runs on every host"),
                }
            }
        };
        vec![diagnostic]
    }
}

/// Picks the artifact for `host`, or the one for `asked`, of a bundle that has all of them.
///
/// # Errors
///
/// The artifacts are another engine's, or none runs on this host.
pub fn pick(index: &Index, host: &HostCpu, asked: Option<&Target>) -> Result<Pick, Error> {
    pick_present(index, |_| true, host, asked)
}

/// As [`pick`], among the artifacts that are `present`: a thin bundle has not all of them.
///
/// # Errors
///
/// As [`pick`].
pub fn pick_present(
    index: &Index,
    present: impl Fn(&Entry) -> bool,
    host: &HostCpu,
    asked: Option<&Target>,
) -> Result<Pick, Error> {
    check_engine(&index.engine)?;
    let mut candidates: Vec<(&Entry, &Target)> = index.artifacts().collect();
    // The most specific first: native before portable, then the level that asks for the most.
    candidates.sort_by_key(|(entry, target)| {
        let features = entry.cpu_features.as_ref().map_or(0, Vec::len);
        (target.is_portable(), std::cmp::Reverse(features))
    });
    let mut passed_over = Vec::new();
    for (entry, target) in candidates {
        match why_not(entry, target, host, asked) {
            None if !present(entry) => passed_over.push((target.clone(), Reason::Absent)),
            None => return Ok(Pick { entry: entry.clone(), target: target.clone(), passed_over }),
            Some(reason) => passed_over.push((target.clone(), reason)),
        }
    }
    Err(Error::NoneFits { host: host.to_string(), passed_over })
}

fn why_not(entry: &Entry, target: &Target, host: &HostCpu, asked: Option<&Target>) -> Option<Reason> {
    if asked.is_some_and(|asked| asked != target) {
        return Some(Reason::NotAskedFor);
    }
    if !host.runs(target) {
        return Some(Reason::OtherHost);
    }
    let lacks: Vec<String> =
        entry.cpu_features.iter().flatten().filter(|feature| !HostCpu::has(feature)).cloned().collect();
    (!lacks.is_empty()).then_some(Reason::Lacks(lacks))
}

/// The engine has to be this one exactly; one that miscompiles comes first, for its own words.
pub(crate) fn check_engine(found: &Engine) -> Result<(), Error> {
    check_engine_by(found, DENIED_ENGINES)
}

fn check_engine_by(found: &Engine, denied: &[DeniedEngine]) -> Result<(), Error> {
    if found.name == ENGINE_NAME {
        if version(&found.version).is_some_and(|version| version < ENGINE_FLOOR) {
            return Err(Error::BelowFloor { found: found.clone() });
        }
        if let Some(denied) = denied.iter().find(|denied| denied.version == found.version) {
            return Err(Error::Denied { found: found.clone(), denied: *denied });
        }
    }
    let same = is_this_version(found)
        && found.artifact_format == ARTIFACT_FORMAT
        && found.compatibility == engine::compatibility();
    if same { Ok(()) } else { Err(Error::OtherEngine { found: found.clone() }) }
}

fn version(text: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use subako_manifest::index::{BUNDLE_FORMAT, Role};

    use super::*;

    fn index(artifacts: &[(&str, &[&str])]) -> Index {
        let entry = |(target, features): &(&str, &[&str])| {
            let target: Target = target.parse().unwrap();
            Entry {
                path: target.entry_path(),
                role: Role::Artifact,
                size: 0,
                digest: Digest::of(b""),
                target: Some(target),
                cpu_features: Some(features.iter().map(|name| (*name).to_owned()).collect()),
            }
        };
        Index {
            format: BUNDLE_FORMAT,
            package: "p".to_owned(),
            engine: Engine {
                name: ENGINE_NAME.to_owned(),
                version: ENGINE_VERSION.to_owned(),
                artifact_format: ARTIFACT_FORMAT,
                compatibility: engine::compatibility(),
            },
            upload: Digest::of(b""),
            imports: Vec::new(),
            tools: Vec::new(),
            entries: artifacts.iter().map(entry).collect(),
        }
    }

    fn host() -> HostCpu {
        HostCpu { architecture: "x86_64", os: "linux" }
    }

    fn picked(artifacts: &[(&str, &[&str])]) -> String {
        pick(&index(artifacts), &host(), None).unwrap().target().to_string()
    }

    #[test]
    fn native_before_portable_and_foreign_never() {
        assert_eq!(
            picked(&[("aarch64-linux", &[]), ("pulley64", &[]), ("x86_64-linux", &[])]),
            "x86_64-unknown-linux-gnu"
        );
        assert_eq!(picked(&[("aarch64-linux", &[]), ("pulley64", &[])]), "pulley64");
        assert_eq!(picked(&[("x86_64-linux-musl", &[])]), "x86_64-unknown-linux-musl");
    }

    #[test]
    fn a_feature_that_no_cpu_has_is_passed_over() {
        let index = index(&[("x86_64-linux/x86-64-v3", &["telepathy"]), ("x86_64-linux", &[])]);
        let pick = pick(&index, &host(), None).unwrap();
        assert_eq!(pick.target().cpu(), None);
        let (target, reason) = &pick.passed_over()[0];
        assert_eq!(target.cpu(), Some("x86-64-v3"));
        assert_eq!(*reason, Reason::Lacks(vec!["telepathy".to_owned()]));
    }

    #[test]
    fn what_a_thin_bundle_lacks_is_passed_over() {
        let index = index(&[("x86_64-linux", &[]), ("pulley64", &[])]);
        let only = |path: &'static str| move |entry: &Entry| entry.path.contains(path);
        let pick = pick_present(&index, only("pulley64"), &host(), None).unwrap();
        assert!(pick.target().is_portable());
        assert_eq!(pick.passed_over()[0].1, Reason::Absent);
        let error = pick_present(&index, |_| false, &host(), None).unwrap_err();
        let told = &error.diagnostics()[0];
        assert!(told.message.contains("is absent from this thin bundle"), "{}", told.message);
        assert!(told.hint.as_ref().is_some_and(|hint| hint.contains("--target host")));
    }

    #[test]
    fn the_refusal_names_the_host_and_what_there_is() {
        let error = pick(&index(&[("aarch64-linux", &[])]), &host(), None).unwrap_err();
        let message = &error.diagnostics()[0].message;
        assert!(
            message.contains("`x86_64-linux`") && message.contains("`aarch64-unknown-linux-gnu`"),
            "{message}"
        );
        let asked = Target::pulley64();
        assert!(pick(&index(&[("x86_64-linux", &[])]), &host(), Some(&asked)).is_err());
    }

    #[test]
    fn other_engines_are_refused_with_the_command_that_mends_it() {
        let refused = |change: &dyn Fn(&mut Engine)| {
            let mut index = index(&[("pulley64", &[])]);
            change(&mut index.engine);
            let error = pick(&index, &host(), None).unwrap_err();
            let told = error.diagnostics().remove(0);
            assert!(told.hint.as_deref().unwrap().contains("`subakoc rebuild BUNDLE -o NEW`"), "{told}");
            (error, told)
        };
        let (error, told) = refused(&|engine| engine.version = "48.0.6".to_owned());
        assert!(matches!(error, Error::BelowFloor { .. }) && told.code == Code::EngineFloor);
        let (error, told) = refused(&|engine| engine.version = "48.0.999".to_owned());
        assert!(matches!(error, Error::OtherEngine { .. }) && told.code == Code::EngineOther);
        assert_eq!(
            told.message,
            format!("the artifacts are for wasmtime 48.0.999, this is wasmtime {ENGINE_VERSION}")
        );
        // The same version, set up in another way: what differs is named, not the version twice.
        let (_, told) = refused(&|engine| engine.artifact_format = 1_234);
        assert_eq!(
            told.message,
            format!(
                "the artifacts are for wasmtime {ENGINE_VERSION} with other settings (artifact format 1234), \
                 this is wasmtime {ENGINE_VERSION} (artifact format {ARTIFACT_FORMAT})"
            )
        );
        let other = Digest::of(b"other");
        let (_, told) = refused(&|engine| engine.compatibility = other);
        let ours = engine::compatibility();
        assert_eq!(
            told.message,
            format!(
                "the artifacts are for wasmtime {ENGINE_VERSION} with other settings (compatibility digest \
                 {other}), this is wasmtime {ENGINE_VERSION} (compatibility digest {ours})"
            )
        );
    }

    #[test]
    fn an_engine_on_the_list_is_denied() {
        let engine = index(&[]).engine;
        let denied = DeniedEngine { version: ENGINE_VERSION, fault: "CVE-0000-0000 (every host)" };
        let error = check_engine_by(&engine, &[denied]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the artifacts are by wasmtime {ENGINE_VERSION}, whose artifacts are not run: \
                 CVE-0000-0000 (every host)"
            )
        );
        let told = error.diagnostics().remove(0);
        assert_eq!(told.code, Code::EngineFloor);
        assert!(told.hint.unwrap().contains("`subakoc rebuild BUNDLE -o NEW`"));
        // Exactly that version and no other.
        let other = Engine { version: "48.0.999".to_owned(), ..engine.clone() };
        assert!(matches!(check_engine_by(&other, &[denied]), Err(Error::OtherEngine { .. })));
        let prefix = DeniedEngine { version: "48.0", fault: "" };
        assert_eq!(check_engine_by(&engine, &[prefix]), Ok(()));
    }

    #[test]
    fn this_engine_is_one_that_is_run() {
        assert_eq!(check_engine(&index(&[]).engine), Ok(()));
    }
}
