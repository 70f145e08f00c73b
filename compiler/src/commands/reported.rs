//! `--report`: the work of a command, and a file that says how it went, however it went.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use subako_compiler::rebuild::Replaced;
use subako_compiler::record::Record;
use subako_manifest::diagnostic::{Diagnostic, Explain as _};

use super::Stop;
use crate::output::{Destination, Error, Files};
use crate::report::run::{End, RunReport};

/// Where a report goes, if anywhere.
#[derive(Debug)]
pub(super) struct Reporter {
    command: &'static str,
    file: Option<Destination>,
}

/// What a run has done so far.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) record: Record,
    /// With `rebuild`.
    pub(super) replaced: Option<Replaced>,
}

impl Reporter {
    /// Tries whether the report can be written, before the work that it is about. It is no file of
    /// what the work takes and gives.
    pub(super) fn new(command: &'static str, file: Option<&Path>, files: &Files) -> Result<Self, Stop> {
        let Some(path) = file else { return Ok(Self { command, file: None }) };
        let file = files.destination(path)?;
        file.try_write()?;
        Ok(Self { command, file: Some(file) })
    }

    /// Does the work and writes the report, also where the work refuses, fails or panics. The
    /// work gives its result and its warnings.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&mut Run) -> Result<(T, Vec<Diagnostic>), Stop>,
    ) -> Result<(T, Vec<Diagnostic>), Stop> {
        let mut run = Run::default();
        let done = panic::catch_unwind(AssertUnwindSafe(|| work(&mut run)));
        let end = match &done {
            Ok(Ok((_, warnings))) => End::Built(warnings),
            Ok(Err(Stop::Refused(diagnostics))) => End::Refused(diagnostics),
            // Nothing is printed before the report is written.
            Ok(Err(Stop::Stdout(_))) | Err(_) => End::Panicked,
        };
        let written = self.write(&run, end);
        match (done, written) {
            (Err(panic), _) => panic::resume_unwind(panic),
            (Ok(done), Ok(())) => done,
            (Ok(Ok((_, warnings))), Err(error)) => Err(Stop::after(warnings, &error)),
            (Ok(Err(Stop::Refused(mut diagnostics))), Err(error)) => {
                diagnostics.append(&mut error.diagnostics());
                Err(Stop::Refused(diagnostics))
            }
            (Ok(Err(stop)), Err(_)) => Err(stop),
        }
    }

    fn write(&self, run: &Run, end: End<'_>) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        let report = RunReport::new(self.command, &run.record, run.replaced.as_ref(), end);
        file.write(&report.to_json())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;
    use subako_manifest::diagnostic::{Blame, Code, blame};

    use super::*;

    fn reporter(folder: &Path) -> Reporter {
        let file = folder.join("report.json");
        Reporter::new("build", Some(&file), &Files::default()).unwrap()
    }

    fn written(folder: &Path) -> Value {
        serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
    }

    #[test]
    fn a_panic_is_reported_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let reporter = reporter(folder.path());
        let panic = panic::catch_unwind(AssertUnwindSafe(|| {
            drop(reporter.run(|_| -> Result<((), Vec<Diagnostic>), Stop> { panic!("a fault of ours") }));
        }));
        assert!(panic.is_err());
        assert_eq!(written(folder.path())["status"], "failed");
    }

    #[test]
    fn a_report_that_cannot_be_written_is_a_fault_beside_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let reporter = reporter(&inner);
        fs::remove_dir(&inner).unwrap();
        let fault = Diagnostic::error(Code::NotModule, "a", "`a` is wrong");
        let refused =
            |_: &mut Run| -> Result<((), Vec<Diagnostic>), Stop> { Err(Stop::Refused(vec![fault])) };
        let Err(Stop::Refused(told)) = reporter.run(refused) else { panic!("it is refused") };
        assert_eq!(told.iter().map(|told| told.code).collect::<Vec<_>>(), [Code::NotModule, Code::Io]);
        let Err(Stop::Refused(told)) = reporter.run(|_| Ok(((), Vec::new()))) else { panic!("no report") };
        assert_eq!(blame(&told), Blame::Environment);
    }
}
