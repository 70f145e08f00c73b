//! `subakoc pull`.

use std::fs;

use subako_compiler::precompile;
use subako_loader::pick::{HostCpu, pick};
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _, Refused};
use subako_manifest::index::Index;
use subako_manifest::target::Target;
use subako_registry::layout::Layout;
use subako_registry::reference::Place;
use subako_registry::registry::{Intent, Registry};
use subako_registry::{Store, Wanted, pull};

use super::publish::reference;
use super::registry::options;
use super::{Console, Stop};
use crate::args::Pull;
use crate::output::Files;
use crate::report::pull::PullReport;

/// The target that is whatever this host runs best.
const HOST: &str = "host";

pub(super) fn run(args: &Pull, console: &Console) -> Result<u8, Stop> {
    let reference = reference(&args.reference)?;
    let wanted = wanted(&args.targets)?;
    let destination = Files::from(args).destination(&args.output)?;
    // What was pulled before is not pulled again.
    let here = fs::read(&args.output).ok().and_then(|bytes| OpenBundle::open(bytes).ok());
    let store: Box<dyn Store> = match &reference.place {
        Place::Directory(path) => Box::new(Layout::open(path)?),
        Place::Registry(repository) => {
            Box::new(Registry::new(repository, Intent::Pull, options(&args.registry, repository)?)?)
        }
    };
    let pulled = pull(&*store, &reference.version, &wanted, here.as_ref(), &*console.progress())?;
    destination.write(&pulled.bytes)?;
    console.tell(&pulled.warnings);
    console.summarise(&PullReport::new(&reference, destination.path(), pulled))?;
    Ok(0)
}

fn wanted(typed: &[String]) -> Result<Wanted, Stop> {
    if typed.is_empty() {
        return Ok(Wanted::All);
    }
    if typed.iter().any(|target| target == HOST) {
        if typed.len() == 1 {
            return Ok(Wanted::Picked(here));
        }
        let message = "`host` stands for one target, and is given alone";
        return Err(Stop::Refused(vec![Diagnostic::error(Code::Usage, HOST, message)]));
    }
    let mut targets: Vec<Target> = Vec::new();
    for target in typed {
        let target = precompile::target(target)?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(Wanted::Targets(targets))
}

/// What a loader picks on this machine.
fn here(index: &Index) -> Result<Target, Refused> {
    match pick(index, &HostCpu::detect(), None) {
        Ok(pick) => Ok(pick.target().clone()),
        Err(error) => Err(Refused(error.diagnostics())),
    }
}
