use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use subako_manifest::index::Role;
use subako_manifest::package::Manifest;

use super::*;
use crate::read::Upload;

/// A custom section.
fn custom(name: &str, content: &[u8]) -> Vec<u8> {
    let name = text(name);
    [vec![0], length(name.len() + content.len()), name, content.to_vec()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [length(text.len()), text.as_bytes().to_vec()].concat()
}

/// A length below 16,384 as LEB128, always of two bytes.
fn length(number: usize) -> Vec<u8> {
    vec![u8::try_from(number & 0x7f | 0x80).unwrap(), u8::try_from(number >> 7).unwrap()]
}

/// A `producers` section: fields with names and versions.
fn producers(fields: &[(&str, &[(&str, &str)])]) -> Vec<u8> {
    let mut content = vec![u8::try_from(fields.len()).unwrap()];
    for (field, values) in fields {
        content.extend(text(field));
        content.push(u8::try_from(values.len()).unwrap());
        for (name, version) in *values {
            content.extend(text(name));
            content.extend(text(version));
        }
    }
    custom("producers", &content)
}

fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x01\0\0\0".to_vec(), sections.concat()].concat()
}

fn upload(module_file: &str) -> Upload {
    Upload {
        manifest: Manifest {
            abi: 1,
            name: "greet".to_owned(),
            description: "Greets.".to_owned(),
            unknown_fields: Vec::new(),
        },
        manifest_bytes: Vec::new(),
        module: Vec::new(),
        module_file: module_file.to_owned(),
        module_digest: Digest::of(b"abc"),
        assets: BTreeMap::new(),
        digest: Digest::of(b"upload"),
        warnings: Vec::new(),
    }
}

fn lineage() -> Lineage {
    let rust: &[(&str, &[(&str, &str)])] =
        &[("language", &[("Rust", "")]), ("processed-by", &[("rustc", "1.95.0"), ("walrus", "0.28.0")])];
    let bytes = module(&[producers(rust), custom(".dep-v0", b"zlib")]);
    Lineage::of(&upload("greet/module.wasm"), &bytes)
}

fn entries() -> Vec<Entry> {
    let entry = |path: &str, role, target: Option<&str>| Entry {
        path: path.to_owned(),
        role,
        size: 3,
        digest: Digest::of(b"abc"),
        target: target.map(|target| target.parse().unwrap()),
        cpu_features: target.map(|_| Vec::new()),
    };
    vec![
        entry("module.wasm", Role::Module, None),
        entry("native/pulley64/baseline.cwasm", Role::Artifact, Some("pulley64")),
        entry("package/package", Role::Asset, None),
        entry("subako-package.json", Role::Manifest, None),
        entry("tools.json", Role::Tools, None),
    ]
}

fn written(lineage: &Lineage, built: Option<Moment>) -> Vec<u8> {
    let entries = entries();
    let subject = Subject {
        name: "greet",
        description: "Greets.\u{9b}",
        upload: Digest::of(b"upload"),
        entries: &entries,
        built,
    };
    write(&subject, lineage)
}

fn value() -> Value {
    serde_json::from_slice(&written(&lineage(), None)).unwrap()
}

/// The digest of "abc" (FIPS 180-4).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// What the schema of CycloneDX 1.6 demands.
#[test]
fn it_is_cyclonedx() {
    let bom = value();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    assert_eq!(bom["version"], 1);
    let serial = bom["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
    assert_eq!(serial.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(serial.chars().all(|c| c == '-' || c.is_ascii_digit() || matches!(c, 'a'..='f')), "{serial}");

    let kinds = ["application", "framework", "library", "platform", "file"];
    let all = || {
        let components = bom["components"].as_array().unwrap();
        components.iter().chain([&bom["metadata"]["component"], &bom["metadata"]["tools"]["components"][0]])
    };
    for component in all() {
        assert!(kinds.contains(&component["type"].as_str().unwrap()), "{component}");
        assert!(!component["name"].as_str().unwrap().is_empty(), "{component}");
        for hash in component["hashes"].as_array().into_iter().flatten() {
            assert_eq!(hash["alg"], "SHA-256");
            assert_eq!(hash["content"].as_str().unwrap().len(), 64);
        }
        let scope = component.get("scope").map(|scope| scope.as_str().unwrap());
        assert!(matches!(scope, None | Some("required" | "excluded")), "{component}");
    }
    let refs: Vec<&str> = all().filter_map(|component| component.get("bom-ref")?.as_str()).collect();
    let unique: BTreeSet<&str> = refs.iter().copied().collect();
    assert_eq!(unique.len(), refs.len(), "references are unique: {refs:?}");

    let mut of = BTreeSet::new();
    for dependency in bom["dependencies"].as_array().unwrap() {
        assert!(of.insert(dependency["ref"].as_str().unwrap()), "{dependency} is there once");
        let on: Vec<&str> =
            dependency["dependsOn"].as_array().into_iter().flatten().map(|on| on.as_str().unwrap()).collect();
        assert!(on.iter().all(|on| unique.contains(on)), "{dependency}");
        assert_eq!(on.iter().collect::<BTreeSet<_>>().len(), on.len(), "{dependency}");
    }
    assert_eq!(of, unique, "each is in the graph");
}

#[test]
fn it_names_what_is_there() {
    let bom = value();
    let component = |reference: &str| {
        let all = bom["components"].as_array().unwrap();
        let found = all.iter().find(|component| component["bom-ref"] == reference);
        found.unwrap_or_else(|| panic!("{reference} is not in {bom:#}")).clone()
    };
    let hashes = json!([{ "alg": "SHA-256", "content": ABC }]);
    assert_eq!(bom["metadata"]["component"]["name"], "greet");
    assert_eq!(bom["metadata"]["component"]["description"], "Greets.\u{9b}");
    assert_eq!(bom["metadata"]["component"]["hashes"][0]["content"], Digest::of(b"upload").hex());
    assert_eq!(
        bom["metadata"]["tools"]["components"],
        json!([{ "type": "application", "name": "subakoc", "version": env!("CARGO_PKG_VERSION") }])
    );
    assert_eq!(
        component("package/package"),
        json!({ "type": "file", "bom-ref": "package/package", "name": "package/package", "hashes": hashes })
    );
    assert_eq!(
        component("native/pulley64/baseline.cwasm")["properties"],
        json!([{ "name": "subako:target", "value": "pulley64" }])
    );
    let came = component("upload:module.wasm");
    assert_eq!((&came["name"], &came["hashes"]), (&json!("module.wasm"), &hashes));
    assert_eq!(came["properties"], json!([{ "name": "subako:dependencies", "value": ".dep-v0" }]));
    assert_eq!(
        component("producer:processed-by:rustc"),
        json!({
            "type": "application",
            "bom-ref": "producer:processed-by:rustc",
            "name": "rustc",
            "version": "1.95.0",
            "scope": "excluded",
        })
    );
    let language = component("producer:language:Rust");
    assert_eq!((&language["type"], language.get("version")), (&json!("platform"), None));
    assert_eq!(component("pkg:cargo/wasmtime@48.0.8")["purl"], "pkg:cargo/wasmtime@48.0.8");
    assert_eq!(component("pkg:cargo/wasmtime@48.0.8")["scope"], "required");
    assert_eq!(component("pkg:cargo/cranelift-codegen@0.135.8")["version"], "0.135.8");
    assert_eq!(bom["components"].as_array().unwrap().len(), 5 + 1 + 3 + 2);

    let on = |reference: &str| {
        let all = bom["dependencies"].as_array().unwrap();
        let found = all.iter().find(|dependency| dependency["ref"] == reference).unwrap();
        found.get("dependsOn").cloned().unwrap_or(json!([]))
    };
    assert_eq!(on("package").as_array().unwrap().len(), 5);
    assert_eq!(on("module.wasm"), json!(["upload:module.wasm"]));
    assert_eq!(
        on("native/pulley64/baseline.cwasm"),
        json!(["module.wasm", "pkg:cargo/cranelift-codegen@0.135.8", "pkg:cargo/wasmtime@48.0.8"])
    );
    assert_eq!(
        on("upload:module.wasm"),
        json!(["producer:language:Rust", "producer:processed-by:rustc", "producer:processed-by:walrus"])
    );
    assert_eq!(on("package/package"), json!([]));
}

#[test]
fn the_same_bundle_has_the_same_sbom_and_another_has_another() {
    assert_eq!(written(&lineage(), None), written(&lineage(), None));
    assert!(value()["metadata"].get("timestamp").is_none(), "nobody asked for the time");
    let dated: Value = serde_json::from_slice(&written(&lineage(), Moment::from_unix(86_400))).unwrap();
    assert_eq!(dated["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
    assert_ne!(dated["serialNumber"], value()["serialNumber"]);
}

/// That is all that a rebuild has.
#[test]
fn lineage_comes_back_from_an_sbom() {
    let of_text = Lineage::of(&upload("greet/module.wat"), &module(&[]));
    assert_eq!((of_text.file, of_text.producers.len(), of_text.lists_dependencies), ("module.wat", 0, false));
    for lineage in [lineage(), of_text] {
        assert_eq!(Lineage::from_sbom(&written(&lineage, None)), Ok(lineage));
    }
    let without = |change: fn(&mut Value)| {
        let mut bom = value();
        change(&mut bom);
        Lineage::from_sbom(&serde_json::to_vec(&bom).unwrap())
    };
    for change in [
        (|bom: &mut Value| bom["components"] = json!([])) as fn(&mut Value),
        |bom| bom["specVersion"] = "1.5".into(),
        |bom| bom["components"][5]["hashes"][0]["alg"] = "MD5".into(),
        |bom| bom["components"][5]["hashes"][0]["content"] = "abc".into(),
        |bom| drop(bom.as_object_mut().unwrap().remove("metadata")),
    ] {
        let error = without(change).unwrap_err();
        assert_eq!(error.diagnostic().code.as_str(), "E0733", "{error}");
        assert!(error.to_string().starts_with("`sbom.cdx.json` is not an SBOM as"), "{error}");
    }
    assert!(without(|bom| bom["more"] = 1.into()).is_ok(), "what is not known does no harm");
    assert!(Lineage::from_sbom(b"\0").is_err());
}

#[test]
fn a_producers_section_is_a_claim_of_a_stranger() {
    let many: Vec<String> = (0..100).map(|number| format!("tool-{number}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let read = |sections: &[Vec<u8>]| {
        let found = Lineage::of(&upload("module.wasm"), &module(sections)).producers;
        found.iter().map(|producer| (producer.field, producer.name.chars().count())).collect::<Vec<_>>()
    };
    assert_eq!(read(&[producers(&[("processed-by", &many)])]).len(), 64);
    // Twice the same, one without a name, one that is as long as nobody's.
    let long = "\u{e9}".repeat(200);
    let sdk: &[(&str, &str)] = &[("Emscripten", "4"), ("Emscripten", "5"), ("", "1"), (&long, "")];
    assert_eq!(read(&[producers(&[("sdk", sdk)])]), [(Field::Sdk, 10), (Field::Sdk, 128)]);
    // What breaks off, or is no field, is left away; the rest stays.
    let mut broken = producers(&[("language", &[("C11", ""), ("C", "")])]);
    let end = broken.len();
    broken[end - 2] = 0xff;
    assert!(read(&[broken]).len() <= 1);
    assert_eq!(read(&[producers(&[("unknown", &[("C", "")])])]), []);
    assert_eq!(read(&[custom("producers", b"")]), []);
}

#[test]
fn only_what_drives_no_terminal_is_printed() {
    let json = written(&lineage(), None);
    assert_eq!(to_print(&json).unwrap().into_bytes(), json);
    for wrong in [&b"{\"a\": \"\x1b[2J\"}"[..], "{\"a\": \"\u{9b}2J\"}".as_bytes(), b"{\"a\": \"\xff\"}"] {
        assert!(to_print(wrong).is_err(), "{wrong:?}");
    }
}
