//! Where a module comes from: the file that was uploaded, and what its `producers` section says
//! made it (WebAssembly tool conventions). A stranger wrote that section: it is a claim, and as
//! much of it is taken as people write.

use std::collections::BTreeSet;

use subako_manifest::digest::Digest;
use subako_manifest::package::{MODULE_FILE, MODULE_TEXT_FILE};
use wasmparser::{Parser, Payload, ProducersSectionReader};

use super::cyclonedx::{Bom, Component, Kind, Scope};
use super::{DEPENDENCIES_PROPERTY, NotOurs, PRODUCER, UPLOAD};
use crate::read::Upload;

/// Producers that are taken from a module; toolchains write up to some ten.
const MAX_PRODUCERS: usize = 64;
/// Characters of a producer's name or version; longer ones are cut.
const MAX_CHARS: usize = 128;

/// The custom section in which `cargo auditable` lists a module's crates.
const DEPENDENCIES_SECTION: &str = ".dep-v0";

/// Where a bundle's module comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The file's name in the package: `module.wasm`, or `module.wat`.
    pub file: &'static str,
    /// The digest of that file.
    pub digest: Digest,
    /// What made it, in the order of its section; none twice in a field.
    pub producers: Vec<Producer>,
    /// Whether the module has a list of its dependencies in it, which is not in the bundle.
    pub lists_dependencies: bool,
}

/// A language, or a tool that made a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Producer {
    /// Which of them it is.
    pub field: Field,
    /// Its name.
    pub name: String,
    /// Its version; empty where it has none.
    pub version: String,
}

/// The fields of a `producers` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// What it was written in.
    Language,
    /// A tool that made or changed it.
    ProcessedBy,
    /// What it was built with.
    Sdk,
}

impl Field {
    const ALL: [Self; 3] = [Self::Language, Self::ProcessedBy, Self::Sdk];

    fn name(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::ProcessedBy => "processed-by",
            Self::Sdk => "sdk",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    fn kind(self) -> Kind {
        match self {
            // The nearest that CycloneDX has.
            Self::Language => Kind::Platform,
            Self::ProcessedBy => Kind::Application,
            Self::Sdk => Kind::Framework,
        }
    }
}

impl Producer {
    pub(super) fn component(&self) -> Component {
        let bom_ref = format!("{PRODUCER}{}:{}", self.field.name(), self.name);
        Component {
            version: self.version.clone(),
            scope: Some(Scope::Excluded),
            ..Component::new(self.field.kind(), &bom_ref, &self.name)
        }
    }

    fn of(component: &Component) -> Option<Self> {
        let (field, _) = component.bom_ref.strip_prefix(PRODUCER)?.split_once(':')?;
        let (name, version) = (component.name.clone(), component.version.clone());
        Some(Self { field: Field::of(field)?, name, version })
    }
}

impl Lineage {
    /// That of `module`, the checked module of this upload, before it is rewritten.
    #[must_use]
    pub fn of(upload: &Upload, module: &[u8]) -> Self {
        let mut lineage = Self {
            file: if upload.module_file.ends_with(MODULE_TEXT_FILE) { MODULE_TEXT_FILE } else { MODULE_FILE },
            digest: upload.module_digest,
            producers: Vec::new(),
            lists_dependencies: false,
        };
        lineage.read(module);
        lineage
    }

    fn read(&mut self, module: &[u8]) {
        let mut seen = BTreeSet::new();
        for payload in Parser::new(0).parse_all(module).map_while(Result::ok) {
            let Payload::CustomSection(section) = payload else { continue };
            match section.name() {
                DEPENDENCIES_SECTION => self.lists_dependencies = true,
                "producers" => {
                    let reader = wasmparser::BinaryReader::new(section.data(), section.data_offset());
                    // No engine reads the section: a broken one is no fault, and ends where it breaks.
                    let fields =
                        ProducersSectionReader::new(reader).into_iter().flatten().map_while(Result::ok);
                    for field in fields {
                        let Some(known) = Field::of(field.name) else { continue };
                        for value in field.values.into_iter().map_while(Result::ok) {
                            self.add(known, value.name, value.version, &mut seen);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, field: Field, name: &str, version: &str, seen: &mut BTreeSet<(Field, String)>) {
        let cut = |text: &str| text.chars().take(MAX_CHARS).collect::<String>();
        let (name, version) = (cut(name), cut(version));
        let more = !name.is_empty() && self.producers.len() < MAX_PRODUCERS;
        if more && seen.insert((field, name.clone())) {
            self.producers.push(Producer { field, name, version });
        }
    }

    pub(super) fn module_component(&self) -> Component {
        let bom_ref = format!("{UPLOAD}{}", self.file);
        let mut component = Component {
            scope: Some(Scope::Excluded),
            ..Component::new(Kind::File, &bom_ref, self.file).digested(self.digest)
        };
        if self.lists_dependencies {
            component.property(DEPENDENCIES_PROPERTY, DEPENDENCIES_SECTION.to_owned());
        }
        component
    }

    /// The lineage that an SBOM tells, one that pack has written.
    ///
    /// # Errors
    ///
    /// It is another document.
    pub fn from_sbom(json: &[u8]) -> Result<Self, NotOurs> {
        let bom: Bom = serde_json::from_slice(json).map_err(|error| NotOurs(error.to_string()))?;
        if !bom.is_known() {
            return Err(NotOurs(format!("it is {} {}", bom.bom_format, bom.spec_version)));
        }
        let absent = || NotOurs("it does not name the module that came".to_owned());
        let (file, module) = [MODULE_FILE, MODULE_TEXT_FILE]
            .into_iter()
            .find_map(|file| {
                let named = |it: &&Component| it.bom_ref.strip_prefix(UPLOAD) == Some(file);
                Some((file, bom.components.iter().find(named)?))
            })
            .ok_or_else(absent)?;
        let mut lineage = Self {
            file,
            digest: module.digest().ok_or_else(absent)?,
            producers: Vec::new(),
            lists_dependencies: module.properties.iter().any(|it| it.name == DEPENDENCIES_PROPERTY),
        };
        let mut seen = BTreeSet::new();
        for producer in bom.components.iter().filter_map(Producer::of) {
            lineage.add(producer.field, &producer.name, &producer.version, &mut seen);
        }
        Ok(lineage)
    }
}
