//! The order of the steps, and nothing else: read, check, rewrite, precompile, discover, pack, sign.

use std::mem;
use std::path::Path;

use subako_loader::engine;
use subako_manifest::diagnostic::{Diagnostic, Explain, Refused, Severity};
use subako_manifest::key::KeyId;
use subako_manifest::target::Target;
use subako_manifest::tool::ToolSet;
use subako_manifest::trust::Moment;

use crate::check::{self, CheckedModule};
use crate::discover::{self, discover};
use crate::pack::{self, Bundle, pack};
use crate::precompile::{self, Artifact, Origin, Precompiled, precompile};
use crate::progress::Progress;
use crate::read::{self, Limits, Upload};
use crate::record::{self, Record, Step, Timings};
use crate::rewrite::{self, Passes, RewriteReport, rewrite};
use crate::sbom::Lineage;
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
    /// With it, the bundle gets an SBOM.
    pub sbom: Option<SbomOptions>,
    /// Who signs the bundle; without it, nobody does.
    pub signing: Option<Signing>,
}

/// What goes into an SBOM that was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SbomOptions {
    /// When the bundle is built, where somebody wants that told.
    pub built: Option<Moment>,
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

/// Reads a package and checks its module. `record` gets the warnings of both steps, also when the
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
    record: &mut Record,
) -> Result<Checked, Error> {
    let what = package.display().to_string();
    let mut upload = record.timed(progress, Step::Read, &what, || read::read(package, limits))?;
    record.package = Some(record::Package::of(&upload));
    record.warnings.append(&mut upload.warnings);
    let bytes = mem::take(&mut upload.module);
    let checked = record.timed(progress, Step::Check, &what, || check::check(bytes, &upload.module_file));
    let mut module = checked.map_err(Error::Check)?;
    record.module = Some(record::Module::of(module.bytes(), module.imports()));
    record.warnings.append(&mut module.warnings);
    policy.judge(&mut record.warnings)?;
    Ok(Checked { upload, module })
}

/// Takes a package the whole way to a bundle in memory. `record` gets what each step did, and the
/// warnings of all, also when the package is then refused for something else.
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
    record: &mut Record,
) -> Result<Built, Error> {
    let Checked { upload, module } =
        self::check(package, &options.limits, options.warnings, progress, record)?;
    let what = &upload.manifest.name;
    let sbom = options
        .sbom
        .map(|SbomOptions { built }| pack::Sbom { lineage: Lineage::of(&upload, module.bytes()), built });

    let (module, report) =
        record.timed(progress, Step::Rewrite, what, || rewrite(module, &options.passes))?;
    record.rewritten = Some(report.clone());

    let host = precompile::host_target();
    let mut wanted = options.targets.clone();
    if !wanted.contains(&host) {
        wanted.push(host.clone());
    }
    let Precompiled { mut artifacts, mut origins, warnings: mut of_cache } =
        record.clocked(Step::Precompile, || precompile(&module, &wanted, &options.precompile, progress))?;
    record.of_machine.append(&mut of_cache);
    record.origins.clone_from(&origins);
    // The host's is the last one if nobody asked for it.
    record.compiled = Some(artifacts.iter().take(options.targets.len()).map(record::Compiled::of).collect());

    let mut discovered = record.timed(progress, Step::Discover, what, || {
        let here = artifacts
            .iter()
            .find(|artifact| artifact.target == host)
            .expect("precompile gives an artifact for each target, and the host is one");
        discover(here, &upload)
    })?;
    record.warnings.append(&mut discovered.warnings);
    record.discovered = Some(discovered.tools.clone());
    options.warnings.judge(&mut record.warnings)?;

    artifacts.truncate(options.targets.len());
    origins.truncate(options.targets.len());
    let mut bundle = record.timed(progress, Step::Pack, what, || {
        pack(&upload, &module, &artifacts, &discovered.tools, engine::compatibility(), sbom.as_ref())
    })?;
    record.packed = Some(record::Packed::of(&bundle));
    let mut signed_by = None;
    if let Some(signing) = &options.signing {
        let key_id = record.timed(progress, Step::Sign, what, || sign::sign_packed(&mut bundle, signing))?;
        record.signed.push(key_id);
        signed_by = Some(key_id);
    }
    let (tools, timings) = (discovered.tools, record.timings);
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
