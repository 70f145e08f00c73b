use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::precompile::{compile_here, cpu_features, inspect};

const MODULE_TEXT: &str = r#"(module
    (memory (export "memory") 1)
    (data (i32.const 8) "hello")
    (func (export "_start")))"#;

fn artifact(name: &str) -> Artifact {
    let target: Target = name.parse().unwrap();
    let bytes = compile_here(&wat::parse_str(MODULE_TEXT).unwrap(), &target).unwrap();
    Artifact {
        cpu_features: cpu_features(&target).unwrap(),
        sections: inspect(&bytes, &target).unwrap(),
        target,
        bytes,
    }
}

const MANIFEST_TEXT: &[u8] = b"{ \"abi\": 1, \"name\": \"greet\", \"description\": \"Greets\" }\r\n";

fn try_pack(artifacts: &[Artifact]) -> Result<Bundle, Error> {
    let assets =
        [("data/gr\u{fc}n.txt", b"green".to_vec()), ("empty", Vec::new()), ("zeros", vec![0; 100_000])];
    Sources {
        package: "greet",
        description: "Greets",
        manifest: MANIFEST_TEXT,
        assets: &assets.into_iter().map(|(path, bytes)| (path.to_owned(), bytes)).collect(),
        upload: Digest::of(b"upload"),
        module: &wat::parse_str(MODULE_TEXT).unwrap(),
        imports: &["wasi_snapshot_preview1.fd_write".to_owned()],
        artifacts,
        tools: b"{\"tools\":[]}\n",
        tool_names: vec!["greet"],
        compatibility: Digest::of(b"settings"),
        sbom: None,
    }
    .pack()
}

fn packed(artifacts: &[Artifact]) -> Bundle {
    try_pack(artifacts).unwrap()
}

fn two() -> Vec<Artifact> {
    vec![artifact("x86_64-linux/x86-64-v3"), artifact("pulley64")]
}

/// The output of a program that must succeed, in `directory`.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_bundle_is_what_its_index_says() {
    let bundle = packed(&two());
    let open = OpenBundle::open(bundle.bytes.as_slice()).unwrap();
    assert_eq!(open.digest(), bundle.digest);
    assert_eq!(open.index(), &bundle.index);
    let paths: Vec<&str> = open.index().entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "module.wasm",
            "native/pulley64/baseline.cwasm",
            "native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm",
            "package/data/gr\u{fc}n.txt",
            "package/empty",
            "package/zeros",
            "subako-package.json",
            "tools.json",
        ]
    );
    let contents = |path: &str| open.contents(open.entry(path).unwrap()).unwrap().into_owned();
    assert_eq!(contents("subako-package.json"), MANIFEST_TEXT);
    assert_eq!(contents("package/data/gr\u{fc}n.txt"), b"green");
    assert_eq!(contents("package/empty"), b"");
    assert_eq!(contents("module.wasm"), wat::parse_str(MODULE_TEXT).unwrap());
    assert_eq!(contents("native/pulley64/baseline.cwasm"), artifact("pulley64").bytes);
    let v3 = open.entry("native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm").unwrap();
    assert_eq!(v3.target.as_ref().unwrap().to_string(), "x86_64-unknown-linux-gnu/x86-64-v3");
    assert!(v3.cpu_features.as_ref().unwrap().contains(&"avx2".to_owned()));
    for (entry, _) in open.index().artifacts() {
        assert_eq!(open.stored_range(entry).unwrap().start % 16_384, 0, "{}", entry.path);
    }
}

#[test]
fn an_sbom_is_packed_where_one_is_wanted() {
    let lineage = Lineage {
        file: "module.wasm",
        digest: Digest::of(b"module"),
        producers: Vec::new(),
        lists_dependencies: false,
    };
    let sbom = Sbom { lineage: lineage.clone(), built: None };
    let (module, artifacts) = (wat::parse_str(MODULE_TEXT).unwrap(), [artifact("pulley64")]);
    let sources = Sources {
        package: "greet",
        description: "Greets",
        manifest: MANIFEST_TEXT,
        assets: &BTreeMap::from([("empty".to_owned(), Vec::new())]),
        upload: Digest::of(b"upload"),
        module: &module,
        imports: &[],
        artifacts: &artifacts,
        tools: b"{\"tools\":[]}\n",
        tool_names: vec!["greet"],
        compatibility: Digest::of(b"settings"),
        sbom: Some(&sbom),
    };
    let bundle = sources.pack().unwrap();
    let open = OpenBundle::open(bundle.bytes.as_slice()).unwrap();
    let json = open.contents(open.entry(SBOM).unwrap()).unwrap();
    assert_eq!(Lineage::from_sbom(&json), Ok(lineage));
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    // All that the index names but the SBOM itself, and the rest of it beside those.
    let named = |path: &str| json["components"].as_array().unwrap().iter().any(|it| it["name"] == path);
    assert!(bundle.index.entries.iter().all(|entry| named(&entry.path) != (entry.path == SBOM)));
    let without = Sources { sbom: None, tool_names: vec!["greet"], ..sources }.pack().unwrap();
    assert!(without.index.entries.iter().all(|entry| entry.role != Role::Sbom));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (mut artifacts, once) = (two(), packed(&two()));
    artifacts.reverse();
    assert_eq!(packed(&artifacts), once);
}

#[test]
fn one_target_is_packed_once() {
    let twice = [artifact("pulley64"), artifact("pulley64")];
    let error = try_pack(&twice).unwrap_err();
    assert!(matches!(&error, Error::TargetTwice(target) if target.to_string() == "pulley64"));
    assert_eq!(error.diagnostics()[0].code.as_str(), "E0729");
}

#[test]
fn other_zip_tools_agree() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = packed(&two());
    fs::write(directory.path().join("greet.subako"), &bundle.bytes).unwrap();
    let tested = run(directory.path(), "unzip", &["-t", "greet.subako"]);
    assert!(tested.contains("No errors detected"), "{tested}");

    let script = r"
import hashlib, json, zipfile
zip = zipfile.ZipFile('greet.subako')
assert zip.testzip() is None
names = zip.namelist()
assert names == sorted(names, key=lambda name: name.encode())
index = zip.read('bundle.json')
print('sha256:' + hashlib.sha256(index).hexdigest())
entries = json.loads(index)['entries']
assert sorted([entry['path'] for entry in entries] + ['bundle.json']) == sorted(names)
for entry in entries:
    info = zip.getinfo(entry['path'])
    contents = zip.read(info)
    assert len(contents) == entry['size'] == info.file_size, info
    assert 'sha256:' + hashlib.sha256(contents).hexdigest() == entry['digest'], info
    artifact = entry['role'] == 'artifact'
    assert info.compress_type == (zipfile.ZIP_STORED if artifact else zipfile.ZIP_DEFLATED), info
    assert info.date_time == (1980, 1, 1, 0, 0, 0), info
    assert info.external_attr == 0o100644 << 16, info
    assert info.extra == b'' and info.comment == b'' and zip.comment == b'', info
    if artifact:
        with open('greet.subako', 'rb') as file:
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
        start = info.header_offset + 30 + int.from_bytes(lengths[:2], 'little') + int.from_bytes(lengths[2:], 'little')
        assert start % 16384 == 0, info
";
    assert_eq!(run(directory.path(), "python3", &["-c", script]).trim(), bundle.digest.to_string());
}

#[test]
fn a_digest_can_be_checked_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = packed(&two());
    fs::write(directory.path().join("greet.subako"), &bundle.bytes).unwrap();
    let sum = run(directory.path(), "sh", &["-c", "unzip -p greet.subako bundle.json | sha256sum"]);
    assert_eq!(sum, format!("{}  -\n", bundle.digest.hex()));
}
