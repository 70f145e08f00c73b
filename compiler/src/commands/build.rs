//! `subakoc build`.

use std::collections::BTreeSet;
use std::env;
use std::num::NonZeroUsize;
use std::thread;

use subako_compiler::pipeline::{self, Options};
use subako_compiler::precompile;
use subako_compiler::sign::{Signing, provenance};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _};
use subako_manifest::target::{self, Target};

use super::{Console, Stop, signing};
use crate::args::{Build, Compiling};
use crate::output::Destination;
use crate::report::build::BuildReport;

pub(super) fn run(args: &Build, console: &Console) -> Result<u8, Stop> {
    // All that can be wrong with the command line is told before the work begins.
    let options = Options {
        limits: args.reading.limits(),
        passes: args.passes.passes(),
        targets: targets(&args.targets)?,
        precompile: settings(&args.compiling)?,
        warnings: args.reading.warnings(),
        signing: signing(args)?,
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
    if let Err(error) = destination.write(&built.bundle.bytes) {
        return Err(Stop::after(warnings, &error));
    }
    console.tell(&warnings);
    console.summarise(&BuildReport::new(built, destination.path(), warnings))?;
    Ok(0)
}

fn signing(args: &Build) -> Result<Option<Signing>, Stop> {
    if args.sign.is_none() && args.signing.signer.is_none() {
        return Ok(None);
    }
    let flags = provenance::flags(&args.passes.passes());
    signing::signing(args.sign.as_deref(), &args.signing, Some(flags)).map(Some)
}

/// The targets meant by the names, each once, sorted; every name that is none is told.
fn targets(names: &[String]) -> Result<Vec<Target>, Stop> {
    if names.is_empty() {
        return Ok(precompile::default_targets());
    }
    let mut targets = BTreeSet::new();
    let mut faults = Vec::new();
    for name in names {
        match precompile::target(name) {
            Ok(target) => {
                targets.insert(target);
            }
            Err(error) => {
                let meant = target::meant_by(name).map(|meant| format!("did you mean `{meant}`?"));
                faults.extend(error.diagnostics().into_iter().map(|mut told| {
                    told.hint = told.hint.or_else(|| meant.clone());
                    told
                }));
            }
        }
    }
    if faults.is_empty() { Ok(targets.into_iter().collect()) } else { Err(Stop::Refused(faults)) }
}

fn settings(typed: &Compiling) -> Result<precompile::Settings, Stop> {
    let program = env::current_exe().map_err(|error| {
        let message = format!("`subakoc` cannot find its own file to compile with: {error}");
        Stop::Refused(vec![Diagnostic::error(Code::Io, "subakoc", message)])
    })?;
    let jobs = typed.jobs.or_else(|| thread::available_parallelism().ok());
    Ok(precompile::Settings {
        program,
        jobs: jobs.map_or(1, NonZeroUsize::get),
        time: typed.compile_timeout.0,
        memory_bytes: typed.compile_memory.bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(names: &[&str]) -> Result<Vec<String>, Vec<Diagnostic>> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        match targets(&names) {
            Ok(targets) => Ok(targets.iter().map(Target::to_string).collect()),
            Err(Stop::Refused(diagnostics)) => Err(diagnostics),
            Err(Stop::Stdout(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn a_target_is_made_once_however_it_is_spelt() {
        let names = ["x86_64-linux", "pulley64", "x86_64-unknown-linux-gnu/baseline", "portable"];
        assert_eq!(meant(&names), Ok(vec!["pulley64".to_owned(), "x86_64-unknown-linux-gnu".to_owned()]));
    }

    #[test]
    fn the_default_set() {
        let mut default = meant(&[]).expect("no name is wrong");
        default.sort();
        assert_eq!(
            default,
            [
                "aarch64-unknown-linux-gnu",
                "pulley64",
                "x86_64-unknown-linux-gnu",
                "x86_64-unknown-linux-gnu/x86-64-v3"
            ]
        );
    }

    #[test]
    fn every_unknown_target_is_told() {
        let faults = meant(&["x86_64-linus", "pulley64", "sparc"]).expect_err("two are unknown");
        let told: Vec<_> = faults.iter().map(|fault| (fault.code, fault.subject.as_str())).collect();
        assert_eq!(told, [(Code::TargetUnknown, "x86_64-linus"), (Code::TargetUnknown, "sparc")]);
        assert!(faults[0].hint.as_deref().is_some_and(|hint| hint.contains("x86_64-linux")), "{faults:?}");
        for (name, hint) in [
            ("PULLEY64", "did you mean `pulley64`?"),
            ("amd64", "did you mean `x86_64-linux`?"),
            ("linux", "did you mean `x86_64-linux`?"),
            ("x86_64-linux/", "did you mean `x86_64-linux`?"),
        ] {
            let faults = meant(&[name]).expect_err("it is unknown");
            assert_eq!(faults[0].hint.as_deref(), Some(hint), "{name}");
        }
    }
}
