//! Made-up parts of reports, for tests of their drawings.

use std::time::Duration;

use subako_compiler::precompile::{Origin, Sections, Source};
use subako_compiler::record::{self, Record};
use subako_compiler::rewrite::RewriteReport;
use subako_manifest::digest::Digest;
use subako_manifest::index::{Engine, Entry, Index, Role};
use subako_manifest::package::Manifest;
use subako_manifest::tool::ToolSet;

use super::{Artifact, Bundle, Package, Tool};

pub(super) fn digest() -> Digest {
    Digest::of(b"abc")
}

/// [`digest`] as FIPS 180-4 gives it.
pub(super) const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

pub(super) fn bundle() -> Bundle {
    Bundle { path: "out.subako".to_owned(), size: 98_304, digest: digest() }
}

pub(super) fn package() -> Package {
    let (name, description) = ("greet".to_owned(), "Greets.\u{1b}[2J".to_owned());
    Package { name, description, abi: 1, upload: digest() }
}

pub(super) fn engine() -> Engine {
    let (name, version) = ("wasmtime".to_owned(), "1.2.3".to_owned());
    Engine { name, version, artifact_format: 1, compatibility: digest() }
}

pub(super) fn imports() -> Vec<String> {
    vec!["wasi_snapshot_preview1.fd_read".to_owned(), "wasi_snapshot_preview1.fd_write".to_owned()]
}

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name: &str, title: Option<&str>, description: Option<&str>| Tool {
        name: name.to_owned(),
        title: title.map(str::to_owned),
        description: description.map(str::to_owned),
    };
    vec![tool("greet", Some("Greet"), Some("Greet someone by name.")), tool("draw_chart", None, None)]
}

pub(super) fn artifacts() -> Vec<Artifact> {
    let artifact = |name: &str, machine: &str, code: u64, cpu_features: &[&str]| {
        let target: subako_manifest::target::Target = name.parse().expect("a known name");
        Artifact {
            path: target.entry_path(),
            target,
            size: code + 150,
            digest: digest(),
            cpu_features: cpu_features.iter().map(|feature| (*feature).to_owned()).collect(),
            sections: Sections {
                machine: machine.to_owned(),
                engine: "1.2.3".to_owned(),
                total: code + 150,
                code,
                data: 50,
                relocations: 0,
                info: 40,
                traps: 30,
                addresses: 20,
                names: 7,
                other: 3,
            },
        }
    };
    vec![
        artifact("pulley64", "pulley64", 850, &[]),
        artifact("x86_64-linux/x86-64-v3", "x86-64", 12_000, &["avx", "avx2"]),
    ]
}

pub(super) fn origins() -> Vec<Origin> {
    let origin = |name: &str, source, functions_reused, functions_compiled| Origin {
        target: name.parse().expect("a known name"),
        source,
        functions_reused,
        functions_compiled,
        time: Duration::from_micros(12_999),
    };
    vec![
        origin("pulley64", Source::Cache, 0, 0),
        origin("x86_64-linux/x86-64-v3", Source::Compiler, 1_233, 1),
    ]
}

/// A run that went well, of two targets.
pub(super) fn record() -> Record {
    let entry = |path: &str, role| Entry {
        path: path.to_owned(),
        role,
        size: 50_471,
        digest: digest(),
        target: None,
        cpu_features: None,
    };
    let compiled = artifacts().into_iter().map(|artifact| record::Compiled {
        target: artifact.target,
        size: artifact.size,
        digest: artifact.digest,
        cpu_features: artifact.cpu_features,
        sections: artifact.sections,
    });
    let tool = r#"{"name":"greet","inputSchema":{"type":"object"}}"#;
    let tool = serde_json::value::RawValue::from_string(tool.to_owned()).expect("it is JSON");
    let (tools, _) = ToolSet::check(vec![tool]).expect("the tool keeps the rules");
    let package = package();
    let manifest = Manifest {
        abi: package.abi,
        name: package.name.clone(),
        description: package.description,
        unknown_fields: Vec::new(),
    };
    let index = Index {
        format: 1,
        package: package.name,
        engine: engine(),
        upload: digest(),
        imports: imports(),
        tools: vec!["greet".to_owned()],
        entries: vec![
            entry("module.wasm", Role::Module),
            entry("native/pulley64/baseline.cwasm", Role::Artifact),
            entry("package/a.txt", Role::Asset),
            entry("sbom.cdx.json", Role::Sbom),
            entry("subako-package.json", Role::Manifest),
            entry("tools.json", Role::Tools),
        ],
    };
    let millisecond = Some(Duration::from_micros(1_900));
    Record {
        step: Some(record::Step::Pack),
        package: Some(record::Package { manifest, upload: digest() }),
        module: Some(record::Module { size: 53_938, digest: digest(), imports: imports() }),
        rewritten: Some(RewriteReport {
            before: 53_938,
            after: 50_471,
            kept_original: false,
            passes: vec![],
        }),
        compiled: Some(compiled.collect()),
        origins: origins(),
        discovered: Some(tools),
        packed: Some(record::Packed { digest: digest(), size: 98_304, index }),
        timings: record::Timings {
            read: millisecond,
            check: millisecond,
            rewrite: millisecond,
            precompile: millisecond,
            discover: millisecond,
            pack: millisecond,
            sign: None,
        },
        ..Record::default()
    }
}
