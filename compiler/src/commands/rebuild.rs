//! `subakoc rebuild`.

use std::mem;

use subako_compiler::precompile;
use subako_compiler::rebuild::{self, Error, rebuild};
use subako_manifest::bundle::{OpenBundle, SBOM};
use subako_manifest::diagnostic::{Diagnostic, Explain as _};

use super::compiling::{settings, targets};
use super::inspect::{in_file, place_in, read};
use super::reported::{Reporter, Run};
use super::{Console, Stop, signing};
use crate::args::Rebuild;
use crate::output::Files;
use crate::report::rebuild::RebuildReport;

pub(super) fn run(args: &Rebuild, console: &Console) -> Result<u8, Stop> {
    let files = Files::from(args);
    let reporter = Reporter::new("rebuild", args.reporting.report.as_deref(), &files)?;
    let (report, _) = reporter.run(|run| rebuilt(args, &files, console, run))?;
    console.tell(report.warnings());
    console.summarise(&report)?;
    Ok(0)
}

/// Writes the bundle; gives the result, and the warnings about the bundle.
fn rebuilt(
    args: &Rebuild,
    files: &Files,
    console: &Console,
    run: &mut Run,
) -> Result<(RebuildReport, Vec<Diagnostic>), Stop> {
    let record = &mut run.record;
    // All that can be wrong with the command line is told before the work begins.
    let destination = files.destination(&args.output)?;
    let targets = targets(&args.targets)?;
    let signing = signing::wanted(args.sign.as_deref(), &args.signing, None)?;
    let settings = settings(&args.compiling, &args.sharing, signing.as_ref(), &mut record.of_machine)?;

    let here = |diagnostics| in_file(&args.bundle, diagnostics);
    let old = OpenBundle::open(read(&args.bundle)?).map_err(|error| here(error.diagnostics()))?;
    let targets = targets.unwrap_or_else(|| match rebuild::targets(&old) {
        none if none.is_empty() => precompile::default_targets(),
        targets => targets,
    });

    // Asked for only where it is told.
    let built = old.entry(SBOM).map_or(Ok(None), |_| signing::finished())?;

    let progress = console.progress();
    let rebuilt = rebuild(&old, &targets, &settings, signing.as_ref(), built, &*progress, record);
    drop(progress);
    let mut warnings = mem::take(&mut record.warnings);
    let rebuilt = match rebuilt {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            // The old bundle's faults are told with its path; those of a target are not in it.
            let of_bundle = matches!(
                &error,
                Error::Bundle(_) | Error::Refused(_) | Error::Sbom(_) | Error::Disagrees { .. }
            );
            let mut told = error.diagnostics();
            if of_bundle {
                place_in(&args.bundle, &mut told);
            }
            warnings.append(&mut told);
            return Err(Stop::Refused(warnings));
        }
    };
    run.replaced = Some(rebuilt.replaced.clone());
    if let Err(error) = destination.write(&rebuilt.bundle.bytes) {
        return Err(Stop::after(warnings, &error));
    }
    let all = [run.record.of_machine.as_slice(), &warnings].concat();
    Ok((RebuildReport::new(rebuilt, destination.path(), all), warnings))
}
