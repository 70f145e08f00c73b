//! `subakoc inspect`.

use std::fs;
use std::io;
use std::path::Path;

use subako_compiler::precompile;
use subako_compiler::sbom::{self, Lineage};
use subako_manifest::bundle::{self, OpenBundle};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _, Place};
use subako_manifest::index::{Entry, Role};
use subako_manifest::package;
use subako_manifest::text::shown;
use subako_manifest::tool::ToolSet;
use subako_registry::reference::Reference;

use super::{Console, Stop};
use crate::args::Inspect;
use crate::report::inspect::{Contents, InspectReport};

pub(super) fn run(args: &Inspect, console: &Console) -> Result<u8, Stop> {
    let bytes = read(&args.bundle)?;
    let size = bytes.len();
    let here = |diagnostics| in_file(&args.bundle, diagnostics);
    let bundle = OpenBundle::open(bytes).map_err(|error| here(error.diagnostics()))?;
    if args.sbom {
        console.print_as_it_is(&sbom(&bundle).map_err(here)?)?;
        return Ok(0);
    }
    let mut warnings = Vec::new();
    let contents = contents(&bundle, &mut warnings).map_err(here)?;
    console.tell(&warnings);
    let report = InspectReport::new(&args.bundle, size, bundle.digest(), bundle.index(), contents, warnings);
    let report = report.without(bundle.absent().map(|(entry, _)| entry.path.as_str()));
    console.print(&report)?;
    Ok(0)
}

/// The SBOM, which is there to be printed: JSON that drives no terminal.
fn sbom(bundle: &OpenBundle<Vec<u8>>) -> Result<String, Vec<Diagnostic>> {
    let Some(entry) = bundle.entry(bundle::SBOM) else {
        let message = format!("`{}` is not in the bundle", bundle::SBOM);
        let told = Diagnostic::error(Code::SbomAbsent, bundle::SBOM, message);
        return Err(vec![told.hint("`subakoc build --sbom` puts one into the bundle that it builds")]);
    };
    let bytes = bundle.contents(entry).map_err(|error| error.diagnostics())?;
    Lineage::from_sbom(&bytes).and_then(|_| sbom::to_print(&bytes)).map_err(|error| vec![error.diagnostic()])
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    let name = path.to_string_lossy();
    let told = |code, message: String| {
        Stop::Refused(vec![Diagnostic::error(code, name.clone(), message).at(Place::file(name.clone()))])
    };
    fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let message = format!("`{}` is not there", shown(&name));
            let told = Diagnostic::error(Code::BundleAbsent, name.clone(), message);
            Stop::Refused(vec![told.at(Place::file(name.clone())).maybe_hint(to_pull(&name))])
        }
        io::ErrorKind::IsADirectory => {
            told(Code::BundleAbsent, format!("`{}` is a directory, not a bundle", shown(&name)))
        }
        _ => told(Code::Io, format!("`{}` cannot be read: {error}", shown(&name))),
    })
}

/// The mend where a reference stands in a file's place.
fn to_pull(name: &str) -> Option<String> {
    name.parse::<Reference>().ok()?;
    Some(format!("pull it first: `subakoc pull {} -o out.subako`", shown(name)))
}

/// The faults of a bundle, which does not know what file it is.
pub(super) fn in_file(path: &Path, mut diagnostics: Vec<Diagnostic>) -> Stop {
    place_in(path, &mut diagnostics);
    Stop::Refused(diagnostics)
}

pub(super) fn place_in(path: &Path, diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        let place = diagnostic.place.get_or_insert_default();
        place.file.get_or_insert_with(|| path.to_string_lossy().into_owned());
    }
}

/// Reads every entry, so that each is compared with the index; all faults are given.
fn contents(open: &OpenBundle<Vec<u8>>, warnings: &mut Vec<Diagnostic>) -> Result<Contents, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let (mut manifest, mut tools, mut sections) = (None, None, Vec::new());
    for entry in open.present() {
        let bytes = match open.contents(entry) {
            Ok(bytes) => bytes,
            Err(error) => {
                faults.append(&mut error.diagnostics());
                continue;
            }
        };
        match entry.role {
            Role::Manifest => match package::parse(&bytes, &entry.path) {
                Ok((parsed, mut told)) => {
                    manifest = Some(parsed);
                    warnings.append(&mut told);
                }
                Err(refused) => faults.append(&mut refused.diagnostics()),
            },
            Role::Tools => match ToolSet::from_json(&bytes) {
                Ok(parsed) => tools = Some(parsed),
                Err(refused) => faults.append(&mut refused.diagnostics()),
            },
            Role::Artifact => {
                if let Some(target) = &entry.target {
                    match precompile::inspect(&bytes, target) {
                        Ok(parts) => sections.push((target.clone(), parts)),
                        Err(wrong) => faults.push(not_artifact(entry, &wrong)),
                    }
                }
            }
            Role::Module | Role::Asset | Role::Sbom => {}
        }
    }
    match (manifest, tools) {
        (Some(manifest), Some(tools)) if faults.is_empty() => Ok(Contents { manifest, tools, sections }),
        (manifest, _) => {
            if faults.is_empty() {
                let absent = if manifest.is_none() { bundle::MANIFEST } else { bundle::TOOLS };
                let message = format!("`{absent}` is not in the index");
                faults.push(Diagnostic::error(Code::BundleRoleAbsent, absent, message));
            }
            Err(faults)
        }
    }
}

/// An artifact that is as the index says, but was never one.
fn not_artifact(entry: &Entry, wrong: &precompile::ArtifactError) -> Diagnostic {
    let message = format!("`{}` is not an artifact: {}", shown(&entry.path), shown(&wrong.to_string()));
    Diagnostic::error(Code::BundleContents, &entry.path, message).at(Place::file(&entry.path))
}
