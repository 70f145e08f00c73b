//! `subako-loader exec`.

use std::io::{self, BufReader};
use std::sync::{Arc, Mutex, PoisonError};

use subako_loader::call::run as run_module;
use subako_loader::outcome::Crash;
use subako_loader::relay::Relay;

use super::call::tell_crash;
use super::program::open;
use super::{ANSWERED, Stop, clear, prepare};
use crate::args::{Exec, Format};

pub(super) fn run(args: &Exec) -> Result<u8, Stop> {
    let program = open(&args.source, args.verbose)?.load(args.bounds.target.as_ref(), args.verbose)?;
    let setup = prepare(&program, &args.bounds, Format::Text)?;
    let unpassed = Arc::new(Mutex::new(None));
    let relay = Relay::new(BufReader::new(io::stdin()), io::stdout(), Arc::clone(&unpassed));
    let ended = run_module(&program.module, &setup, Box::new(relay));
    clear(&setup.scratch);
    let ended = ended.map_err(|error| Stop::of_call(&error, &setup.interrupt))?;
    let unpassed = unpassed.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = unpassed.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        return Err(Stop::Stdout(error));
    }
    match ended {
        (None, _) => Ok(ANSWERED),
        (Some(cause), stderr_tail) => {
            tell_crash(Format::Text, &Crash { cause, stderr_tail }, args.bounds.stderr)
        }
    }
}
