//! What commands print: one value for each, serialised for machines and drawn for people. The
//! JSON is described by `docs/schema/subakoc.json`, and tests compare the two.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod paint;
pub(crate) mod publish;
pub(crate) mod pull;
pub(crate) mod rebuild;
pub(crate) mod run;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod schema;
mod sheet;
pub(crate) mod sign;
pub(crate) mod targets;
pub(crate) mod verify;

use std::path::Path;

use serde::Serialize;
use subako_compiler::precompile::{Origin, Sections, Source};
use subako_compiler::rebuild::Replaced;
use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::digest::Digest;
use subako_manifest::index::{Engine, Entry, Index};
use subako_manifest::package::Manifest;
use subako_manifest::target::Target;
use subako_manifest::text::{grouped, shown};
use subako_manifest::tool::ToolSet;

use paint::Paint;
use sheet::{Cell, Sheet};

/// The result of a command, with two drawings.
pub(crate) trait Report: Serialize {
    /// The drawing for people: whole lines, or nothing.
    fn draw(&self, paint: Paint, detail: Detail) -> String;
}

/// How much the drawing for people says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What everybody wants to know.
    Usual,
    /// That, and the rest (`--verbose`).
    Full,
}

/// What is printed instead of a result, as JSON only: people get the diagnostics on stderr.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal<'a> {
    ok: bool,
    diagnostics: &'a [Diagnostic],
}

impl<'a> Refusal<'a> {
    pub(crate) fn new(diagnostics: &'a [Diagnostic]) -> Self {
        Self { ok: false, diagnostics }
    }
}

/// The package of a bundle.
#[derive(Debug, Serialize)]
struct Package {
    name: String,
    description: String,
    abi: u32,
    upload: Digest,
}

impl Package {
    fn new(manifest: &Manifest, upload: Digest) -> Self {
        Self {
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            abi: manifest.abi,
            upload,
        }
    }

    fn draw(&self, sheet: &mut Sheet) {
        sheet.field("package", [format!("{}: {}", shown(&self.name), shown(&self.description))]);
    }
}

/// A bundle as a file.
#[derive(Debug, Serialize)]
struct Bundle {
    path: String,
    size: u64,
    digest: Digest,
}

impl Bundle {
    fn new(path: &Path, size: usize, digest: Digest) -> Self {
        Self { path: path.to_string_lossy().into_owned(), size: size as u64, digest }
    }

    fn draw(&self, sheet: &mut Sheet, upload: Digest) {
        sheet.field("upload", [upload.to_string()]);
        sheet.field("digest", [self.digest.to_string()]);
        sheet.field("bundle", [format!("{}, {} bytes", shown(&self.path), grouped(self.size))]);
    }
}

/// A bundle that was rebuilt.
#[derive(Debug, Serialize)]
struct Old {
    digest: Digest,
    engine: Engine,
    signatures: Vec<String>,
}

impl Old {
    fn of(replaced: &Replaced) -> Self {
        let Replaced { digest, engine, signatures } = replaced.clone();
        Self { digest, engine, signatures }
    }
}

/// A tool, without its schemas: those are in the bundle.
#[derive(Debug, Serialize)]
struct Tool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Tool {
    fn all(tools: &ToolSet) -> Vec<Self> {
        let tool = |tool: &subako_manifest::tool::Tool| Self {
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
        };
        tools.tools().iter().map(tool).collect()
    }

    fn draw(tools: &[Self], sheet: &mut Sheet) {
        let row = |tool: &Self| {
            let description = tool.description.as_deref().unwrap_or_default();
            vec![Cell::Text(shown(&tool.name)), Cell::Text(shown(description))]
        };
        sheet.table("tools", tools.iter().map(row));
    }
}

/// An artifact of a bundle.
#[derive(Debug, Serialize)]
struct Artifact {
    target: Target,
    path: String,
    size: u64,
    digest: Digest,
    cpu_features: Vec<String>,
    sections: Sections,
}

impl Artifact {
    /// The artifact that `entry` of an index names; nothing for other entries.
    fn new(entry: &Entry, sections: Sections) -> Option<Self> {
        Some(Self {
            target: entry.target.clone()?,
            path: entry.path.clone(),
            size: entry.size,
            digest: entry.digest,
            cpu_features: entry.cpu_features.clone().unwrap_or_default(),
            sections,
        })
    }

    fn draw(artifacts: &[Self], sheet: &mut Sheet, detail: Detail) {
        let mut rows = vec![match detail {
            Detail::Usual => ["target", "bytes", "code", "data", "info", "other"].map(Cell::Head).to_vec(),
            Detail::Full => [
                "target",
                "bytes",
                "code",
                "data",
                "relocations",
                "info",
                "traps",
                "addresses",
                "names",
                "other",
            ]
            .map(Cell::Head)
            .to_vec(),
        }];
        for artifact in artifacts {
            let Sections { code, data, relocations, info, traps, addresses, names, other, .. } =
                artifact.sections;
            let numbers = match detail {
                Detail::Usual => {
                    vec![artifact.size, code, data, info, relocations + traps + addresses + names + other]
                }
                Detail::Full => {
                    vec![artifact.size, code, data, relocations, info, traps, addresses, names, other]
                }
            };
            let target = Cell::Text(artifact.target.to_string());
            rows.push([target].into_iter().chain(numbers.into_iter().map(Cell::Number)).collect());
        }
        sheet.table("artifacts", rows);
        if detail == Detail::Full {
            let needing = artifacts.iter().filter(|artifact| !artifact.cpu_features.is_empty());
            sheet.field(
                "needs",
                needing.map(|artifact| format!("{}: {}", artifact.target, artifact.cpu_features.join(" "))),
            );
        }
    }
}

/// How artifacts came to be: in one line, or in one for each.
fn draw_origins(origins: &[Origin], sheet: &mut Sheet, detail: Detail) {
    let functions = |compiled: u64, reused: u64| match compiled + reused {
        // Without a cache, nobody counts them.
        0 => None,
        all => Some(format!("{} of {} functions", grouped(compiled), grouped(all))),
    };
    if detail == Detail::Full {
        let line = |origin: &Origin| {
            let how = match origin.source {
                Source::Cache => "from the cache".to_owned(),
                Source::Registry => "from the shared cache".to_owned(),
                Source::Compiler => functions(origin.functions_compiled, origin.functions_reused)
                    .map_or_else(|| "compiled".to_owned(), |some| format!("{some} compiled")),
            };
            format!("{}: {how}", origin.target)
        };
        return sheet.field("compiled", origins.iter().map(line));
    }
    let from = |source| origins.iter().filter(|origin| origin.source == source).count();
    let (cached, shared) = (from(Source::Cache), from(Source::Registry));
    let compiled = origins.iter().map(|origin| origin.functions_compiled).sum();
    let reused = origins.iter().map(|origin| origin.functions_reused).sum();
    let mut parts = Vec::new();
    if cached > 0 {
        parts.push(format!("{cached} of {} artifacts from the cache", origins.len()));
    }
    if shared > 0 {
        parts.push(format!("{shared} of {} artifacts from the shared cache", origins.len()));
    }
    if let Some(functions) = functions(compiled, reused) {
        let others = if cached + shared > 0 { " of the others" } else { "" };
        parts.push(format!("{functions}{others} compiled"));
    }
    if !parts.is_empty() {
        sheet.field("compiled", [parts.join("; ")]);
    }
}

/// The host functions that a module imports, a line for each host module.
fn draw_imports(imports: &[String], sheet: &mut Sheet) {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for import in imports {
        let (module, field) = import.split_once('.').unwrap_or(("", import));
        match lines.last_mut() {
            Some((last, fields)) if *last == module => fields.push(field),
            _ => lines.push((module, vec![field])),
        }
    }
    if lines.is_empty() {
        sheet.field("imports", ["none".to_owned()]);
    }
    for (at, (module, fields)) in lines.into_iter().enumerate() {
        let label = if at == 0 { "imports" } else { "" };
        sheet.words(label, &format!("{module}:"), &fields);
    }
}

/// The entry of an index at the path of `target`'s artifact.
fn artifact_entry<'a>(index: &'a Index, target: &Target) -> Option<&'a Entry> {
    index.artifacts().find(|(_, other)| *other == target).map(|(entry, _)| entry)
}
