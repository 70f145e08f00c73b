//! The order of the steps, and nothing else: read, check, rewrite, precompile, discover, pack, sign.

use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use subako_loader::engine;
use subako_manifest::diagnostic::{Diagnostic, Explain, Refused, Severity};
use subako_manifest::key::KeyId;
use subako_manifest::target::Target;
use subako_manifest::tool::ToolSet;

use crate::check::{self, CheckedModule};
use crate::discover::{self, discover};
use crate::pack::{self, Bundle, pack};
use crate::precompile::{self, Artifact, Origin, Precompiled, precompile};
use crate::progress::Progress;
use crate::read::{self, Limits, Upload};
use crate::rewrite::{self, Passes, RewriteReport, rewrite};
use crate::sign::{self, Signing};

/// What the steps are told beside the package.
#[derive(Debug)]
pub struct Options {
    /// How large a package may be.
    pub limits: Limits,
    /// What the rewrite does.
    pub passes: Passes,
    /// What artifacts are made for, in this order; no target comes twice.
    pub targets: Vec<Target>,
    /// How artifacts are made.
    pub precompile: precompile::Settings,
    /// What a warning is.
    pub warnings: Warnings,
    /// Who signs the bundle; without it, nobody does.
    pub signing: Option<Signing>,
}

/// What a warning of a step means for the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    /// The package is accepted with them.
    Accepted,
    /// A warning refuses the package.
    Denied,
}

/// A package that passed check.
#[derive(Debug)]
pub struct Checked {
    /// The package as read; its module is in `module`.
    pub upload: Upload,
    /// The module.
    pub module: CheckedModule,
    /// How long read took.
    pub read: Duration,
    /// How long check took.
    pub check: Duration,
}

/// A bundle, and what happened on the way to it.
#[derive(Debug)]
pub struct Built {
    /// The package as read; its module is gone to the bundle.
    pub upload: Upload,
    /// What each pass of the rewrite did.
    pub rewrite: RewriteReport,
    /// The artifacts of the bundle, in the order of [`Options::targets`].
    pub artifacts: Vec<Artifact>,
    /// How each of them came to be.
    pub origins: Vec<Origin>,
    /// What the package offers.
    pub tools: ToolSet,
    /// The bundle itself, its signature included.
    pub bundle: Bundle,
    /// The key that signed it.
    pub signed_by: Option<KeyId>,
    /// How long each step took.
    pub timings: Timings,
}

/// How long each step took.
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "each field is the step of its name")]
pub struct Timings {
    pub read: Duration,
    pub check: Duration,
    pub rewrite: Duration,
    pub precompile: Duration,
    pub discover: Duration,
    pub pack: Duration,
    pub sign: Duration,
}

/// The step that could not give what the next one takes, and why.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the step of its name")]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Read(#[from] read::Error),
    #[error(transparent)]
    Check(Refused),
    #[error(transparent)]
    Rewrite(#[from] rewrite::Error),
    #[error(transparent)]
    Precompile(#[from] precompile::Error),
    #[error(transparent)]
    Discover(#[from] discover::Error),
    #[error(transparent)]
    Pack(#[from] pack::Error),
    #[error(transparent)]
    Sign(#[from] sign::Error),
    /// The steps went well but for warnings, and warnings are denied; these are errors now.
    #[error(transparent)]
    Warnings(Refused),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Read(error) => error.diagnostics(),
            Self::Check(refused) | Self::Warnings(refused) => refused.diagnostics(),
            Self::Rewrite(error) => error.diagnostics(),
            Self::Precompile(error) => error.diagnostics(),
            Self::Discover(error) => error.diagnostics(),
            Self::Pack(error) => error.diagnostics(),
            Self::Sign(error) => error.diagnostics(),
        }
    }
}

/// Reads a package and checks its module. `warnings` gets those of both steps, also when the
/// package is then refused for something else.
///
/// # Errors
///
/// The faults of the first step that found any, or the warnings if they are denied.
pub fn check(
    package: &Path,
    limits: &Limits,
    policy: Warnings,
    progress: &dyn Progress,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Checked, Error> {
    let what = package.display().to_string();
    let (upload, read_time) = timed(progress, "read", &what, || read::read(package, limits));
    let mut upload = upload?;
    warnings.append(&mut upload.warnings);
    let bytes = mem::take(&mut upload.module);
    let (module, check_time) = timed(progress, "check", &what, || check::check(bytes, &upload.module_file));
    let mut module = module.map_err(Error::Check)?;
    warnings.append(&mut module.warnings);
    policy.judge(warnings)?;
    Ok(Checked { upload, module, read: read_time, check: check_time })
}

/// Takes a package the whole way to a bundle in memory. `warnings` gets those of every step,
/// also when the package is then refused for something else.
///
/// Discovery runs the artifact of this host's baseline. Where that is not among the targets, it
/// is made all the same and left out of the bundle.
///
/// # Errors
///
/// The faults of the first step that found any, or the warnings if they are denied.
pub fn build(
    package: &Path,
    options: &Options,
    progress: &dyn Progress,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Built, Error> {
    let Checked { upload, module, read, check } =
        self::check(package, &options.limits, options.warnings, progress, warnings)?;
    let what = &upload.manifest.name;

    let (rewritten, rewrite_time) = timed(progress, "rewrite", what, || rewrite(module, &options.passes));
    let (module, report) = rewritten?;

    let host = precompile::host_target();
    let mut wanted = options.targets.clone();
    if !wanted.contains(&host) {
        wanted.push(host.clone());
    }
    // It tells of each target by itself.
    let begun = Instant::now();
    let Precompiled { mut artifacts, mut origins, warnings: mut of_cache } =
        precompile(&module, &wanted, &options.precompile, progress)?;
    let precompile_time = begun.elapsed();

    let (discovered, discover_time) = timed(progress, "discover", what, || {
        let here = artifacts
            .iter()
            .find(|artifact| artifact.target == host)
            .expect("precompile gives an artifact for each target, and the host is one");
        discover(here, &upload)
    });
    let mut discovered = discovered?;
    warnings.append(&mut discovered.warnings);
    options.warnings.judge(warnings)?;
    // Not judged: the cache is no part of the package.
    warnings.append(&mut of_cache);

    // The host's is the last one if nobody asked for it.
    artifacts.truncate(options.targets.len());
    origins.truncate(options.targets.len());
    let (bundle, pack_time) = timed(progress, "pack", what, || {
        pack(&upload, &module, &artifacts, &discovered.tools, engine::compatibility())
    });
    let mut bundle = bundle?;
    let (signed_by, sign_time) = match &options.signing {
        Some(signing) => {
            let (signed, time) = timed(progress, "sign", what, || sign::sign_packed(&mut bundle, signing));
            (Some(signed?), time)
        }
        None => (None, Duration::ZERO),
    };
    let timings = Timings {
        read,
        check,
        rewrite: rewrite_time,
        precompile: precompile_time,
        discover: discover_time,
        pack: pack_time,
        sign: sign_time,
    };
    let tools = discovered.tools;
    Ok(Built { bundle, signed_by, upload, rewrite: report, artifacts, origins, tools, timings })
}

impl Warnings {
    /// Turns warnings into errors where they are denied.
    fn judge(self, warnings: &mut Vec<Diagnostic>) -> Result<(), Error> {
        if self == Self::Accepted || warnings.is_empty() {
            return Ok(());
        }
        let mut denied = mem::take(warnings);
        for diagnostic in &mut denied {
            diagnostic.severity = Severity::Error;
        }
        Err(Error::Warnings(Refused(denied)))
    }
}

fn timed<T>(
    progress: &dyn Progress,
    step: &'static str,
    what: &str,
    work: impl FnOnce() -> T,
) -> (T, Duration) {
    progress.began(step, what);
    let begun = Instant::now();
    let done = work();
    progress.ended(step, what);
    (done, begun.elapsed())
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::{Blame, Code};

    use super::*;

    #[test]
    fn denied_warnings_are_errors() {
        let warning = Diagnostic::warning(Code::ManifestJson, "field", "`field` is not known");
        let mut warnings = vec![warning];
        Warnings::Accepted.judge(&mut warnings).expect("warnings are accepted");
        assert_eq!(warnings.len(), 1);
        let error = Warnings::Denied.judge(&mut warnings).expect_err("warnings are denied");
        assert!(warnings.is_empty(), "a denied warning is told once, as an error");
        assert_eq!(error.diagnostics()[0].severity, Severity::Error);
        assert_eq!(error.blame(), Blame::Input);
        Warnings::Denied.judge(&mut warnings).expect("there is nothing to deny");
    }
}
