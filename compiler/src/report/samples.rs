//! Made-up parts of reports, for tests of their drawings.

use subako_compiler::precompile::{Origin, Sections, Source};
use subako_manifest::digest::Digest;
use subako_manifest::index::Engine;

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
    };
    vec![
        origin("pulley64", Source::Cache, 0, 0),
        origin("x86_64-linux/x86-64-v3", Source::Compiler, 1_233, 1),
    ]
}
