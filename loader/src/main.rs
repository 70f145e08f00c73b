//! `subako-loader`: runs bundles of native code.

mod args;
mod commands;

use std::process::ExitCode;

use subako_loader::timings;

fn main() -> ExitCode {
    let started = timings::now();
    match args::Args::parse_fast() {
        Ok(args) => commands::run(&args, started),
        Err(told) => {
            // Help or a fault of usage; whoever closed the pipe does not want to read it.
            let _ = told.print();
            u8::try_from(told.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}
