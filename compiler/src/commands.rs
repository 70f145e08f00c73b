//! A file for each command: what was typed becomes what is meant, one call of the library does
//! the work, and the result is printed. Here is what they share: printing, and the exit status.

mod build;
mod check;
mod compile;
mod compiling;
mod inspect;
mod keygen;
mod publish;
mod pull;
mod rebuild;
mod registry;
mod reported;
mod sharing;
mod sign;
mod signing;
mod targets;
mod verify;

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use serde::Serialize;
use subako_compiler::progress::{Progress, Silent};
use subako_manifest::diagnostic::{Blame, Code, Diagnostic, Explain, Severity, blame};

use crate::args::{Args, Command, Format, Shared};
use crate::bars::{Bars, Lines};
use crate::report::paint::Paint;
use crate::report::{Detail, Refusal, Report};
use crate::signals;

pub(crate) use signing::{IN_VARIABLE, public_path};

/// Runs a command to its end and gives the program's exit status.
pub(crate) fn run(args: Args) -> ExitCode {
    let console = Console::new(args.shared);
    // Whoever compiles for another process ends with that.
    if !matches!(args.command, Command::Compile(_)) {
        signals::await_end();
    }
    let ended = panic::catch_unwind(AssertUnwindSafe(|| match &args.command {
        Command::Check(check) => check::run(check, &console),
        Command::Build(build) => build::run(build, &console),
        Command::Rebuild(rebuild) => rebuild::run(rebuild, &console),
        Command::Keygen(keygen) => keygen::run(keygen, &console),
        Command::Sign(sign) => sign::run(sign, &console),
        Command::Verify(verify) => verify::run(verify, &console),
        Command::Publish(publish) => publish::run(publish, &console),
        Command::Pull(pull) => pull::run(pull, &console),
        Command::Inspect(inspect) => inspect::run(inspect, &console),
        Command::Targets(_) => targets::run(&console),
        Command::Compile(compile) => Ok(compile::run(compile)),
    }));
    let status = match ended {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(Stop::Refused(diagnostics))) => console.refuse(&diagnostics),
        Ok(Err(Stop::Stdout(error))) => Err(error),
        Err(_) => {
            // The panic's own message is on stderr already.
            console.ask_for_report();
            Ok(Blame::Internal.exit_code())
        }
    };
    ExitCode::from(status.unwrap_or_else(|error| console.unprinted(&error)))
}

/// Why a command has no result.
#[derive(Debug)]
enum Stop {
    /// Its work could not be done; the warnings that came before are among them.
    Refused(Vec<Diagnostic>),
    /// Its result could not be printed.
    Stdout(io::Error),
}

impl Stop {
    /// The error of a step, after the warnings of the steps before it.
    fn after(mut warnings: Vec<Diagnostic>, error: &impl Explain) -> Self {
        warnings.append(&mut error.diagnostics());
        Self::Refused(warnings)
    }
}

impl<E: Explain> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(error.diagnostics())
    }
}

/// Where a command prints: results on stdout, the rest on stderr.
struct Console {
    shared: Shared,
    stdout: Paint,
    stderr: Paint,
}

impl Console {
    fn new(shared: Shared) -> Self {
        let stdout = Paint::new(shared.colors(&io::stdout()));
        let stderr = Paint::new(shared.colors(&io::stderr()));
        Self { shared, stdout, stderr }
    }

    /// Tells of each step as the user asked: with bars on a terminal, by lines, or not at all.
    fn progress(&self) -> Box<dyn Progress> {
        if self.shared.format == Format::Json || self.shared.quiet {
            Box::new(Silent)
        } else if self.shared.verbose {
            Box::new(Lines::new(self.stderr))
        } else {
            Box::new(Bars::new())
        }
    }

    /// Prints the result that the command is for, also when it is to be quiet.
    fn print(&self, report: &impl Report) -> Result<(), Stop> {
        let detail = if self.shared.verbose { Detail::Full } else { Detail::Usual };
        match self.shared.format {
            Format::Json => print_json(report),
            Format::Text => print_text(&report.draw(self.stdout, detail)),
        }
        .map_err(Stop::Stdout)
    }

    /// Prints what is JSON already, in either format.
    fn print_as_it_is(&self, text: &str) -> Result<(), Stop> {
        print_text(text).map_err(Stop::Stdout)
    }

    /// Prints a summary of what was done: nothing for a quiet command's people.
    fn summarise(&self, report: &impl Report) -> Result<(), Stop> {
        match self.shared.format {
            Format::Text if self.shared.quiet => Ok(()),
            _ => self.print(report),
        }
    }

    /// Tells people of faults and warnings; machines find them in the result.
    fn tell(&self, diagnostics: &[Diagnostic]) {
        if self.shared.format == Format::Json {
            return;
        }
        for diagnostic in diagnostics {
            if diagnostic.severity == Severity::Error || !self.shared.quiet {
                self.say(&self.stderr.diagnostic(diagnostic));
            }
        }
    }

    /// A line for people, about a fault.
    fn tell_people(&self, line: &str) {
        if self.shared.format == Format::Text {
            self.say(line);
        }
    }

    /// The word for what is not accepted.
    fn refused(&self) -> String {
        self.stderr.bad("refused")
    }

    /// A line on stderr. If nobody reads it, nobody misses it.
    fn say(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Tells why there is no result, and gives the exit status.
    fn refuse(&self, diagnostics: &[Diagnostic]) -> io::Result<u8> {
        self.tell(diagnostics);
        if self.shared.format == Format::Json {
            print_json(&Refusal::new(diagnostics))?;
        }
        Ok(self.status(blame(diagnostics)))
    }

    /// The exit status for a blame; a fault of our own is owned up to.
    fn status(&self, blame: Blame) -> u8 {
        if blame == Blame::Internal {
            self.ask_for_report();
        }
        blame.exit_code()
    }

    fn ask_for_report(&self) {
        let version = env!("CARGO_PKG_VERSION");
        self.say(&format!(
            "This is a fault of subakoc {version} itself. Please report it, with the command line, \
             what it printed and, if you can, the package."
        ));
    }

    /// The exit status when stdout took no more.
    fn unprinted(&self, error: &io::Error) -> u8 {
        let told = Diagnostic::error(Code::Io, "stdout", format!("`stdout` cannot be written: {error}"));
        self.say(&self.stderr.diagnostic(&told));
        told.code.blame().exit_code()
    }
}

fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    print_text(&line)
}

/// A reader who has seen enough is no fault: the run ends as it would have.
fn print_text(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
