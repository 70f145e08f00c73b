//! What `subakoc check` found.

use std::path::Path;

use serde::Serialize;
use subako_compiler::pipeline::Checked;
use subako_manifest::diagnostic::{Blame, Diagnostic, blame};
use subako_manifest::text::{grouped, shown};

use super::paint::Paint;
use super::sheet::Sheet;
use super::{Detail, Report, draw_imports};

/// All packages of one run, in the order they were given.
#[derive(Debug, Serialize)]
pub(crate) struct CheckReport {
    ok: bool,
    packages: Vec<CheckedPackage>,
}

/// One package.
#[derive(Debug, Serialize)]
pub(crate) struct CheckedPackage {
    package: String,
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    #[serde(flatten)]
    accepted: Option<Accepted>,
}

#[derive(Debug, Serialize)]
struct Accepted {
    name: String,
    imports: Vec<String>,
    module_bytes: u64,
}

impl CheckedPackage {
    pub(crate) fn accepted(package: &Path, checked: &Checked, warnings: Vec<Diagnostic>) -> Self {
        let accepted = Accepted {
            name: checked.upload.manifest.name.clone(),
            imports: checked.module.imports().to_vec(),
            module_bytes: checked.module.bytes().len() as u64,
        };
        Self {
            package: package.to_string_lossy().into_owned(),
            ok: true,
            diagnostics: warnings,
            accepted: Some(accepted),
        }
    }

    pub(crate) fn refused(package: &Path, diagnostics: Vec<Diagnostic>) -> Self {
        Self { package: package.to_string_lossy().into_owned(), ok: false, diagnostics, accepted: None }
    }
}

impl CheckReport {
    pub(crate) fn new(packages: Vec<CheckedPackage>) -> Self {
        Self { ok: packages.iter().all(|package| package.ok), packages }
    }

    /// The gravest blame of a package that is refused; none if all are accepted.
    pub(crate) fn blame(&self) -> Option<Blame> {
        let refused = self.packages.iter().filter(|package| !package.ok);
        refused.map(|package| blame(&package.diagnostics)).max()
    }
}

/// A line for each package that is accepted; what is wrong with the others is told on stderr.
impl Report for CheckReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut out = String::new();
        for package in &self.packages {
            let Some(accepted) = &package.accepted else { continue };
            let mut sheet = Sheet::new(paint);
            if detail == Detail::Full {
                sheet.field("module", [format!("{} bytes", grouped(accepted.module_bytes))]);
                draw_imports(&accepted.imports, &mut sheet);
            }
            out.push_str(&format!("{}: {}\n", shown(&package.package), paint.good("ok")));
            out.push_str(&sheet.into_text());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::Code;

    use super::*;
    use crate::report::schema;

    fn accepted() -> CheckedPackage {
        CheckedPackage {
            package: "greet".to_owned(),
            ok: true,
            diagnostics: vec![Diagnostic::warning(Code::ManifestJson, "x", "`x` is not known")],
            accepted: Some(Accepted {
                name: "greet".to_owned(),
                imports: vec![
                    "subako_http.request".to_owned(),
                    "wasi_snapshot_preview1.fd_read".to_owned(),
                    "wasi_snapshot_preview1.fd_write".to_owned(),
                ],
                module_bytes: 53_938,
            }),
        }
    }

    fn refused(code: Code) -> CheckedPackage {
        CheckedPackage::refused(Path::new("other"), vec![Diagnostic::error(code, "a", "`a` is wrong")])
    }

    #[test]
    fn one_refused_package_is_enough() {
        let report = CheckReport::new(vec![accepted()]);
        assert!(report.ok && report.blame().is_none());
        let report = CheckReport::new(vec![accepted(), refused(Code::NotModule)]);
        assert!(!report.ok);
        assert_eq!(report.blame(), Some(Blame::Input));
        let report = CheckReport::new(vec![refused(Code::Io), refused(Code::NotModule)]);
        assert_eq!(report.blame(), Some(Blame::Environment));
    }

    #[test]
    fn only_accepted_packages_have_a_line() {
        let report = CheckReport::new(vec![accepted(), refused(Code::NotModule)]);
        assert_eq!(report.draw(Paint::new(false), Detail::Usual), "greet: ok\n");
        assert_eq!(
            report.draw(Paint::new(false), Detail::Full),
            "greet: ok\n\
             module     53,938 bytes\n\
             imports    subako_http: request\n\
             \u{20}          wasi_snapshot_preview1: fd_read, fd_write\n"
        );
    }

    #[test]
    fn json_is_as_the_schema_says() {
        schema::assert_valid("check", &CheckReport::new(vec![accepted(), refused(Code::NotModule)]));
    }
}
