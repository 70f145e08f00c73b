//! `subako-loader`: runs bundles of native code.
//!
//! With the GNU C library, `main` is C's own: the standard library's spends some 60 µs of a start of
//! 500 on finding the main thread's stack in `/proc`, to tell of an overflow. What else it does is
//! done here.

#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

mod args;
mod commands;
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start;

use std::env;

use subako_loader::timings;

use args::Args;

/// C's `main`. The standard library finds the arguments by itself.
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
#[expect(unsafe_code, reason = "the `main` that the C library calls: nothing else has this name")]
#[unsafe(no_mangle)]
extern "C" fn main() -> std::ffi::c_int {
    start::prepare();
    end(run())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    run().into()
}

fn run() -> u8 {
    if env::args_os().any(|word| word == "--timings") {
        timings::keep("main");
    }
    match Args::read() {
        Ok(args) => commands::run(&args),
        Err(told) => {
            // Help or a fault of usage; whoever closed the pipe does not want to read it.
            let _ = told.print();
            u8::try_from(told.exit_code()).unwrap_or(1)
        }
    }
}

/// Ends the program, whatever its threads are doing. The standard library writes out what it holds.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "not every end is a return from `main`")]
fn end(status: u8) -> ! {
    std::process::exit(i32::from(status))
}
