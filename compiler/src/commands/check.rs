//! `subakoc check`.

use subako_compiler::pipeline;
use subako_compiler::record::Record;
use subako_manifest::diagnostic::{Diagnostic, Explain as _, Severity};
use subako_manifest::text::{grouped, shown};

use super::{Console, Stop};
use crate::args::Check;
use crate::report::check::{CheckReport, CheckedPackage};

pub(super) fn run(args: &Check, console: &Console) -> Result<u8, Stop> {
    let limits = args.reading.limits();
    let progress = console.progress();
    let mut packages = Vec::new();
    for package in &args.packages {
        let mut record = Record::default();
        let checked = pipeline::check(package, &limits, args.reading.warnings(), &*progress, &mut record);
        let mut diagnostics = record.warnings;
        let name = shown(&package.to_string_lossy());
        packages.push(match checked {
            Ok(checked) => {
                console.tell(&diagnostics);
                CheckedPackage::accepted(package, &checked, diagnostics)
            }
            Err(error) => {
                diagnostics.append(&mut error.diagnostics());
                console.tell(&diagnostics);
                console.tell_people(&format!("{name}: {} ({})", console.refused(), counted(&diagnostics)));
                CheckedPackage::refused(package, diagnostics)
            }
        });
    }
    drop(progress);
    let report = CheckReport::new(packages);
    console.summarise(&report)?;
    Ok(report.blame().map_or(0, |blame| console.status(blame)))
}

/// `2 errors, 1 warning`.
fn counted(diagnostics: &[Diagnostic]) -> String {
    let mut parts = Vec::new();
    for (severity, word) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
        let number = diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        match number {
            0 => {}
            1 => parts.push(format!("1 {word}")),
            _ => parts.push(format!("{} {word}s", grouped(number as u64))),
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::Code;

    use super::*;

    #[test]
    fn faults_are_counted_by_severity() {
        let error = Diagnostic::error(Code::NotModule, "a", "`a`");
        let warning = Diagnostic::warning(Code::NotModule, "a", "`a`");
        assert_eq!(counted(&[error.clone(), warning.clone(), error.clone()]), "2 errors, 1 warning");
        assert_eq!(counted(&[error]), "1 error");
    }
}
