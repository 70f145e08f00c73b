//! `subakoc rebuild`.

use subako_compiler::precompile;
use subako_compiler::rebuild::{self, Error, rebuild};
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::Explain as _;

use super::compiling::{settings, targets};
use super::inspect::{in_file, place_in, read};
use super::{Console, Stop, signing};
use crate::args::Rebuild;
use crate::output::Destination;
use crate::report::rebuild::RebuildReport;

pub(super) fn run(args: &Rebuild, console: &Console) -> Result<u8, Stop> {
    // All that can be wrong with the command line is told before the work begins.
    let targets = targets(&args.targets)?;
    let mut warnings = Vec::new();
    let signing = signing::wanted(args.sign.as_deref(), &args.signing, None)?;
    let settings = settings(&args.compiling, &args.sharing, signing.as_ref(), &mut warnings)?;
    let destination = Destination::new(&args.output)?;

    let here = |diagnostics| in_file(&args.bundle, diagnostics);
    let old = OpenBundle::open(read(&args.bundle)?).map_err(|error| here(error.diagnostics()))?;
    let targets = targets.unwrap_or_else(|| match rebuild::targets(&old) {
        none if none.is_empty() => precompile::default_targets(),
        targets => targets,
    });

    let progress = console.progress();
    let rebuilt = rebuild(&old, &targets, &settings, signing.as_ref(), &*progress, &mut warnings);
    drop(progress);
    let rebuilt = match rebuilt {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            // The old bundle's faults are told with its path; those of a target are not in it.
            let of_bundle = matches!(&error, Error::Bundle(_) | Error::Refused(_) | Error::Disagrees { .. });
            let mut told = error.diagnostics();
            if of_bundle {
                place_in(&args.bundle, &mut told);
            }
            warnings.append(&mut told);
            return Err(Stop::Refused(warnings));
        }
    };
    if let Err(error) = destination.write(&rebuilt.bundle.bytes) {
        return Err(Stop::after(warnings, &error));
    }
    console.tell(&warnings);
    console.summarise(&RebuildReport::new(rebuilt, destination.path(), warnings))?;
    Ok(0)
}
