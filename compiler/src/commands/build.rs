//! `subakoc build`.

use subako_compiler::pipeline::{self, Options};
use subako_compiler::precompile;
use subako_compiler::sign::provenance;

use super::compiling::{settings, targets};
use super::{Console, Stop, signing};
use crate::args::Build;
use crate::output::Destination;
use crate::report::build::BuildReport;

pub(super) fn run(args: &Build, console: &Console) -> Result<u8, Stop> {
    // All that can be wrong with the command line is told before the work begins.
    let targets = targets(&args.targets)?.unwrap_or_else(precompile::default_targets);
    let mut of_cache = Vec::new();
    let flags = provenance::flags(&args.passes.passes());
    let signing = signing::wanted(args.sign.as_deref(), &args.signing, Some(flags))?;
    let options = Options {
        limits: args.reading.limits(),
        passes: args.passes.passes(),
        targets,
        precompile: settings(&args.compiling, &args.sharing, signing.as_ref(), &mut of_cache)?,
        warnings: args.reading.warnings(),
        signing,
    };
    let destination = Destination::new(&args.output)?.outside(&args.package)?;

    let progress = console.progress();
    let mut warnings = Vec::new();
    let built = pipeline::build(&args.package, &options, &*progress, &mut warnings);
    drop(progress);
    let built = match built {
        Ok(built) => built,
        Err(error) => return Err(Stop::after(warnings, &error)),
    };
    // Not judged by `--deny-warnings`: the cache is no part of the package.
    warnings.append(&mut of_cache);
    if let Err(error) = destination.write(&built.bundle.bytes) {
        return Err(Stop::after(warnings, &error));
    }
    console.tell(&warnings);
    console.summarise(&BuildReport::new(built, destination.path(), warnings))?;
    Ok(0)
}
