//! `subakoc`: turns function packages into bundles of native code.

mod args;
mod bars;
mod commands;
mod output;
mod report;
mod signals;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match args::Args::try_parse() {
        Ok(args) => commands::run(args),
        Err(told) => {
            // Help or a fault of usage; whoever closed the pipe does not want to read it.
            let _ = told.print();
            u8::try_from(told.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}
