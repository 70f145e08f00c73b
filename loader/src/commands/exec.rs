//! `subako-loader exec`.

use std::io::{self, BufReader};
use std::sync::{Arc, Mutex, PoisonError};

use subako_loader::call::run as run_module;
use subako_loader::message::MAX_INPUT_BYTES;
use subako_loader::outcome::Crash;
use subako_loader::relay::{Broken, Relay};
use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::text::grouped;

use super::call::tell_crash;
use super::program::open;
use super::{ANSWERED, Stop, prepare, settle};
use crate::args::{Exec, Format};

pub(super) fn run(args: &Exec) -> Result<u8, Stop> {
    let program = open(&args.source, args.verbose)?.load(&args.bounds, args.verbose)?;
    let setup = prepare(&program, &args.bounds, Format::Text)?;
    let broken = Arc::new(Mutex::new(None));
    let relay = Relay::new(BufReader::new(io::stdin()), io::stdout(), Arc::clone(&broken));
    let ended = run_module(&program.module, &setup, Box::new(relay));
    settle(&program)?;
    let ended = ended.map_err(|error| Stop::of_call(&error, &setup.interrupt))?;
    let broken = broken.lock().unwrap_or_else(PoisonError::into_inner).take();
    match broken {
        Some(Broken::Unwritten(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(Stop::Stdout(error));
        }
        Some(Broken::TooLong) => {
            let message = format!("`stdin` has a line of more than {} bytes", grouped(MAX_INPUT_BYTES));
            return Err(Stop::one(Diagnostic::error(Code::Arguments, "stdin", message)));
        }
        _ => {}
    }
    match ended {
        (None, _) => Ok(ANSWERED),
        (Some(cause), stderr_tail) => {
            tell_crash(Format::Text, &Crash { cause, stderr_tail }, args.bounds.stderr)
        }
    }
}
