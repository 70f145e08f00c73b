//! The SBOM of a bundle: `sbom.cdx.json`, CycloneDX 1.6. `docs/bundle.md` describes it.
//!
//! 1. The package, with the digest of its upload, is what the SBOM is about.
//! 2. Its components are the bundle's other entries, the module as it came, what that module says
//!    made it (`lineage`), and the engine that compiled the artifacts and runs them.
//! 3. The graph leads from the package to its entries, from an artifact to its module and the engine,
//!    from the module to the one that came, and from that to its producers.
//!
//! All of it follows from the rest of the bundle and the module that came. Of that module a bundle
//! keeps nothing else, so a rebuild takes its lineage from the SBOM that is there.

mod cyclonedx;
mod lineage;
#[cfg(test)]
mod tests;

use subako_manifest::bundle::{MODULE, SBOM};
use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::digest::Digest;
use subako_manifest::index::{ENGINE_NAME, ENGINE_VERSION, Entry, Role};
use subako_manifest::text::shown;
use subako_manifest::trust::Moment;

use cyclonedx::{Bom, Component, Dependency, Kind, Metadata, Scope, Tools};

pub use lineage::{Field, Lineage, Producer};

/// The compiler behind the engine, a crate; a test compares its version with `Cargo.lock`.
const COMPILER_NAME: &str = "cranelift-codegen";
const COMPILER_VERSION: &str = "0.135.8";

/// The reference of what the SBOM is about. References of entries are their paths.
const PACKAGE: &str = "package";
/// Before the file name of the module that came.
const UPLOAD: &str = "upload:";
/// Before a producer's field and name.
const PRODUCER: &str = "producer:";

/// Names of properties.
const TARGET_PROPERTY: &str = "subako:target";
const DEPENDENCIES_PROPERTY: &str = "subako:dependencies";

/// Why there is no lineage in an SBOM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{SBOM}` is not an SBOM as `subakoc build` writes it: {}", shown(.0))]
pub struct NotOurs(pub(crate) String);

impl NotOurs {
    /// The refusal of the bundle that has it.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(Code::SbomInvalid, SBOM, self.to_string())
            .at(Place::file(SBOM))
            .hint("build the package again with `subakoc build --sbom`")
    }
}

/// The SBOM of a bundle as text that drives no terminal: all that could is written as an escape.
///
/// # Errors
///
/// It is another document.
pub fn to_print(json: &[u8]) -> Result<String, NotOurs> {
    let text = std::str::from_utf8(json).map_err(|error| NotOurs(error.to_string()))?;
    match text.chars().any(|c| c.is_control() && c != '\n') {
        true => Err(NotOurs("it has control characters".to_owned())),
        false => Ok(text.to_owned()),
    }
}

/// What an SBOM is about, beside where its module comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) upload: Digest,
    /// The bundle's entries but the SBOM, sorted.
    pub(crate) entries: &'a [Entry],
    /// When the bundle was built, where somebody wants it told.
    pub(crate) built: Option<Moment>,
}

/// The SBOM in its one spelling.
pub(crate) fn write(subject: &Subject<'_>, lineage: &Lineage) -> Vec<u8> {
    let engine = Component {
        version: ENGINE_VERSION.to_owned(),
        scope: Some(Scope::Required),
        ..of_crate(Kind::Platform, ENGINE_NAME, ENGINE_VERSION)
    };
    let compiler = Component {
        version: COMPILER_VERSION.to_owned(),
        scope: Some(Scope::Excluded),
        ..of_crate(Kind::Library, COMPILER_NAME, COMPILER_VERSION)
    };
    let module = lineage.module_component();
    let producers: Vec<Component> = lineage.producers.iter().map(Producer::component).collect();

    let paths = || subject.entries.iter().map(|entry| entry.path.clone());
    let mut dependencies = vec![Dependency::new(PACKAGE, paths().collect())];
    for entry in subject.entries {
        let on = match entry.role {
            Role::Artifact => vec![MODULE.to_owned(), compiler.bom_ref.clone(), engine.bom_ref.clone()],
            Role::Module => vec![module.bom_ref.clone()],
            Role::Manifest | Role::Tools | Role::Asset | Role::Sbom => Vec::new(),
        };
        dependencies.push(Dependency::new(&entry.path, on));
    }
    dependencies
        .push(Dependency::new(&module.bom_ref, producers.iter().map(|it| it.bom_ref.clone()).collect()));
    for last in producers.iter().chain([&compiler, &engine]) {
        dependencies.push(Dependency::new(&last.bom_ref, Vec::new()));
    }

    let mut components: Vec<Component> = subject.entries.iter().map(of_entry).collect();
    components.push(module);
    components.extend(producers);
    components.extend([compiler, engine]);
    let package = Component {
        description: subject.description.to_owned(),
        ..Component::new(Kind::Application, PACKAGE, subject.name).digested(subject.upload)
    };
    let tool = Component {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Component::new(Kind::Application, "", "subakoc")
    };
    let metadata = Metadata {
        timestamp: subject.built.map(|moment| moment.to_string()),
        tools: Tools { components: vec![tool] },
        component: package,
    };
    Bom::new(metadata, components, dependencies).to_json()
}

fn of_entry(entry: &Entry) -> Component {
    let mut component = Component::new(Kind::File, &entry.path, &entry.path).digested(entry.digest);
    if let Some(target) = &entry.target {
        component.property(TARGET_PROPERTY, target.to_string());
    }
    component
}

fn of_crate(kind: Kind, name: &str, version: &str) -> Component {
    let purl = format!("pkg:cargo/{name}@{version}");
    Component { purl: purl.clone(), ..Component::new(kind, &purl, name) }
}
