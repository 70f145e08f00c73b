//! `subakoc build`.

use std::mem;

use subako_compiler::pipeline::{self, Options, SbomOptions};
use subako_compiler::precompile;
use subako_compiler::sign::provenance;
use subako_manifest::diagnostic::Diagnostic;

use super::compiling::{settings, targets};
use super::reported::{Reporter, Run};
use super::{Console, Stop, signing};
use crate::args::Build;
use crate::output::Files;
use crate::report::build::BuildReport;

pub(super) fn run(args: &Build, console: &Console) -> Result<u8, Stop> {
    let files = Files::from(args);
    let reporter = Reporter::new("build", args.reporting.report.as_deref(), &files)?;
    let (report, _) = reporter.run(|run| build(args, &files, console, run))?;
    console.tell(report.warnings());
    console.summarise(&report)?;
    Ok(0)
}

/// Writes the bundle; gives the result, and the warnings about the package.
fn build(
    args: &Build,
    files: &Files,
    console: &Console,
    run: &mut Run,
) -> Result<(BuildReport, Vec<Diagnostic>), Stop> {
    let record = &mut run.record;
    // All that can be wrong with the command line is told before the work begins.
    let destination = files.destination(&args.output)?;
    let targets = targets(&args.targets)?.unwrap_or_else(precompile::default_targets);
    let flags = provenance::flags(&args.passes.passes(), args.sbom);
    let signing = signing::wanted(args.sign.as_deref(), &args.signing, Some(flags))?;
    let options = Options {
        limits: args.reading.limits(),
        passes: args.passes.passes(),
        targets,
        precompile: settings(&args.compiling, &args.sharing, signing.as_ref(), &mut record.of_machine)?,
        warnings: args.reading.warnings(),
        sbom: args.sbom.then(sbom).transpose()?,
        signing,
    };

    let progress = console.progress();
    let built = pipeline::build(&args.package, &options, &*progress, record);
    drop(progress);
    let warnings = mem::take(&mut record.warnings);
    let built = match built {
        Ok(built) => built,
        Err(error) => return Err(Stop::after(warnings, &error)),
    };
    if let Err(error) = destination.write(&built.bundle.bytes) {
        return Err(Stop::after(warnings, &error));
    }
    // Not judged by `--deny-warnings`: the cache is no part of the package.
    let all = [warnings.as_slice(), &record.of_machine].concat();
    Ok((BuildReport::new(built, destination.path(), all), warnings))
}

fn sbom() -> Result<SbomOptions, Stop> {
    Ok(SbomOptions { built: signing::finished()? })
}
