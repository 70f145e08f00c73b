//! What a build server is told: the report of a build, and the SBOM in its bundle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use subako_manifest::digest::Digest;
use subako_tests::bundle::Bundle;
use subako_tests::keys::{Keys, Kind, key_id};
use subako_tests::package::{Package, example, hello, host_target};
use subako_tests::programs::{loader, programs, subakoc};
use subako_tests::remake::Remade;
use subako_tests::run::{COMPILE_CACHE, Run};
use subako_tests::workspace;

const SBOM: &str = "sbom.cdx.json";

fn read(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `examples/hello` with an asset.
fn package() -> Package {
    hello().with("data/words.txt", "an asset\n")
}

/// Builds with a report; gives the run and the report.
fn reported(package: &Package, flags: &[&str]) -> (Run, Value) {
    let report = package.beside("report.json");
    let report_text = report.to_str().expect("the path is UTF-8");
    let (run, _) = package.try_build(&[&["--report", report_text], flags].concat());
    (run, read(&report))
}

/// A report without the one member that may differ, as bytes.
fn without_timings(path: &Path) -> Vec<u8> {
    let mut report = read(path);
    let timings = report.as_object_mut().expect("a report is an object").remove("timings");
    assert!(timings.is_some(), "{report}");
    serde_json::to_vec(&report).expect("a value is JSON")
}

// The report

/// Two machines, as far as one can have them: other directories, another cache, another number of
/// cores, another time zone.
#[test]
fn two_builds_have_the_same_report_but_for_its_timings() {
    let build = |package: &Package, folder: &str, report: &Path, flags: &[&str], cache: &Path| {
        let folder = package.beside(folder);
        fs::create_dir_all(folder.join("tmp")).expect("the folder is ours");
        let mut command = Command::new(&programs().subakoc);
        command.args(["build", ".", "--sbom", "-o"]).arg(folder.join("out.subako")).args(flags);
        command.arg("--report").arg(report).current_dir(package.path());
        command.env("TMPDIR", folder.join("tmp")).env(COMPILE_CACHE, cache);
        _ = Run::of(command.env("TZ", "Asia/Kathmandu")).exits(0);
        // Nothing is left beside either.
        assert_eq!(fs::read_dir(folder.join("tmp")).expect("it is there").count(), 0);
    };
    let (one, other) = (package(), package());
    let (first, second, third) =
        (one.beside("report.json"), other.beside("another.json"), other.beside("third.json"));
    build(&one, "here", &first, &["--no-cache"], Path::new("/nowhere"));
    let cache = other.beside("cache");
    build(&other, "there/deep", &second, &["--jobs", "1"], &cache);
    build(&other, "there/deep", &third, &["--jobs", "3", "--format", "json"], &cache);
    assert_eq!(without_timings(&first), without_timings(&second));
    assert_eq!(without_timings(&first), without_timings(&third));

    for (report, source) in [(&first, "compiler"), (&second, "compiler"), (&third, "cache")] {
        let targets = read(report)["timings"]["targets"].clone();
        let targets = targets.as_array().expect("a list");
        assert_eq!(targets.len(), 4);
        for target in targets {
            assert_eq!(target["source"], source, "{target}");
            assert!(target["ms"].is_u64(), "{target}");
        }
        let text = fs::read_to_string(report).expect("it is UTF-8");
        for path in [workspace().to_owned(), std::env::temp_dir(), one.path(), other.path(), cache.clone()] {
            let path = path.to_str().expect("the path is UTF-8");
            assert!(!text.contains(path), "{path} is in {text}");
        }
    }
}

/// A compile cache that is damaged is this machine's affair: the report says so in its timings.
#[test]
fn a_damaged_cache_changes_the_timings_alone() {
    let package = package();
    let cache = package.beside("cache");
    let cache_text = cache.to_str().expect("the path is UTF-8");
    let flags = ["--target", host_target(), "--cache-dir", cache_text];
    let report = package.beside("report.json");
    _ = reported(&package, &flags).0.exits(0);
    let before = without_timings(&report);
    for entry in fs::read_dir(cache.join("artifacts")).expect("it is there") {
        fs::write(entry.expect("it can be listed").path(), "damaged").expect("the cache is ours");
    }
    let (run, value) = reported(&package, &flags);
    assert_eq!(run.exits(0).warnings(), ["E0510"]);
    assert_eq!(without_timings(&report), before);
    assert_eq!(value["timings"]["diagnostics"][0]["code"], "E0510");
}

#[test]
fn a_report_says_what_was_made() {
    let keys = Keys::default();
    let (private, public) = keys.make("builder", Kind::P256, &[]);
    fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let text = fs::read_to_string(example("hello").join("module.wat")).expect("the example is there");
    // Before the last parenthesis: a function that nothing reaches.
    let end = text.rfind(')').expect("a module ends so");
    let text = format!("{}(func $unused (param i32)))", &text[..end]);
    let module = wat::parse_str(&text).expect("the module is text");
    let package = package().with("module.wat", &text);

    let (run, report) = reported(&package, &["--target", "pulley64", "--sign", &private]);
    let run = run.exits(0);
    assert!(run.stdout.contains("bundle "), "what is printed is printed all the same: {run}");
    assert_eq!((&report["format"], &report["command"]), (&json!(1), &json!("build")));
    assert_eq!((&report["status"], &report["exit_status"]), (&json!("built"), &json!(0)));
    assert!(report.get("step").is_none(), "{report:#}");
    assert_eq!(report["diagnostics"], json!([]));
    assert_eq!(report["package"]["name"], "hello");
    assert_eq!(report["checked"]["size"], module.len());
    assert_eq!(report["checked"]["digest"], Digest::of(&module).to_string());
    assert_eq!(report["checked"]["imports"][0], "wasi_snapshot_preview1.fd_read");
    assert_eq!(report["rewritten"]["before"], module.len());
    let passes = report["rewritten"]["passes"].as_array().expect("a list");
    assert_eq!(passes[1]["name"], "unreachable");
    assert_eq!(passes[1]["removed"]["functions"], 1);
    assert_eq!(report["discovered"][0]["name"], "greet");
    assert_eq!(report["signed_by"], json!([key_id(&public)]));

    // The bundle's own words, read by others.
    let bytes = fs::read(package.beside("out.subako")).expect("the bundle is there");
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("it is a zip");
    let mut entry = |name: &str| {
        let mut bytes = Vec::new();
        let mut entry = zip.by_name(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::io::Read::read_to_end(&mut entry, &mut bytes).expect("it inflates");
        bytes
    };
    assert_eq!(report["packed"]["digest"], Digest::of(&entry("bundle.json")).to_string());
    assert_eq!(report["rewritten"]["after"], entry("module.wasm").len());
    let artifact = entry("native/pulley64/baseline.cwasm");
    assert_eq!(report["compiled"][0]["target"], "pulley64");
    assert_eq!(report["compiled"][0]["size"], artifact.len());
    assert_eq!(report["compiled"][0]["digest"], Digest::of(&artifact).to_string());
    assert_eq!(report["compiled"].as_array().map(Vec::len), Some(1));
    let index: Value = serde_json::from_slice(&entry("bundle.json")).expect("the index is JSON");
    assert_eq!(
        report["packed"]["entries"].as_array().map(Vec::len),
        index["entries"].as_array().map(Vec::len)
    );
    for (reported, named) in
        report["packed"]["entries"].as_array().into_iter().flatten().zip(index["entries"].as_array().unwrap())
    {
        for field in ["path", "role", "size", "digest"] {
            assert_eq!(reported[field], named[field], "{reported}");
        }
    }
    // What was made for discovery alone took its time too.
    assert_eq!(report["timings"]["targets"].as_array().map(Vec::len), Some(2));
    assert!(report["timings"]["sign_ms"].is_u64());

    // The size is that of the bundle without signatures.
    let (run, unsigned) = reported(&package, &["--target", "pulley64"]);
    _ = run.exits(0);
    assert_eq!(unsigned["packed"], report["packed"]);
    assert_eq!(unsigned["signed_by"], json!([]));
    let size = fs::metadata(package.beside("out.subako")).expect("the bundle is there").len();
    assert_eq!(unsigned["packed"]["size"], size);
}

/// Then a build server wants it most.
#[test]
fn a_build_that_is_refused_is_reported_too() {
    let trap = r#"(module (memory (export "memory") 1) (func (export "_start") unreachable))"#;
    let unlikely = hello().with("subako-package.json", r#"{"abi":1,"name":"hello","description":"d","x":1}"#);
    let (no_start, traps) = (Package::of_text("p", "(module)"), Package::of_text("p", trap));
    let not_there = Package::empty();
    type Case<'a> = (&'a Package, &'a [&'a str], i32, Option<&'a str>, &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (&not_there, &[], 3, Some("read"), &["package", "checked"]),
        (&no_start, &[], 3, Some("check"), &["checked", "rewritten"]),
        (&traps, &["--target", host_target()], 3, Some("discover"), &["discovered", "packed"]),
        (&unlikely, &["--deny-warnings"], 3, Some("check"), &["rewritten"]),
        (&no_start, &["--target", "nowhere"], 2, None, &["package"]),
        (&no_start, &["--sign", "/no/such/key.pem"], 3, None, &["package"]),
    ];
    for (package, flags, status, step, absent) in cases {
        let before = package.beside("report.json");
        fs::write(&before, "the report of the last build").expect("there is room");
        let (run, report) = reported(package, flags);
        let run = run.exits(status);
        assert_eq!((&report["status"], &report["exit_status"]), (&json!("refused"), &json!(status)), "{run}");
        assert_eq!(report.get("step").and_then(Value::as_str), step, "{run}");
        let codes: Vec<&str> = report["diagnostics"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|told| told["severity"] == "error")
            .filter_map(|told| told["code"].as_str())
            .collect();
        assert_eq!(codes, run.errors(), "{run}");
        assert!(!codes.is_empty(), "{run}");
        for member in absent {
            assert!(report.get(member).is_none(), "{member} is in {report:#}");
        }
        assert!(!package.beside("out.subako").exists(), "{run}");
    }
    // As far as it came, it is there.
    let (_, report) = reported(&traps, &["--target", host_target()]);
    assert_eq!(report["compiled"][0]["target"], host_target());
    assert!(report["rewritten"]["before"].is_u64() && report["timings"]["discover_ms"].is_u64());
}

/// Before anything is compiled.
#[test]
fn a_report_that_cannot_be_written_is_told_first() {
    let package = package();
    let cache = package.beside("cache");
    let inside = package.path().join("report.json");
    let output = package.beside("out.subako");
    let absent = package.beside("absent/report.json");
    let mut places: Vec<(PathBuf, i32, &str)> = vec![
        (inside, 2, "E0902"),
        (output.clone(), 2, "E0902"),
        (absent, 2, "E0902"),
        ("-".into(), 2, "E0902"),
        ("/dev/stdout".into(), 2, "E0902"),
        (package.path(), 2, "E0902"),
    ];
    if cfg!(target_os = "linux") {
        // A directory that takes no file, whoever asks.
        places.push(("/proc/report.json".into(), 5, "E0901"));
    }
    for (place, status, code) in places {
        let mut command = Command::new(&programs().subakoc);
        command.arg("build").arg(package.path()).arg("-o").arg(&output).arg("--report").arg(&place);
        let run = Run::of(command.env(COMPILE_CACHE, &cache)).exits(status);
        assert_eq!(run.errors(), [code], "{run}");
        assert!(!output.exists() && !cache.exists(), "{run}");
    }
}

#[test]
fn a_rebuild_is_reported() {
    let package = package();
    let (run, output) = package.try_build(&["--target", host_target()]);
    _ = run.exits(0);
    let old = fs::read(&output).expect("the bundle is there");
    let report = package.beside("report.json");
    let mut command = Command::new(&programs().subakoc);
    command.arg("rebuild").arg(&output).arg("-o").arg(&output).args(["--target", "pulley64", "--report"]);
    _ = Run::of(command.arg(&report)).exits(0);
    let made = read(&report);
    assert_eq!((&made["command"], &made["status"]), (&json!("rebuild"), &json!("built")));
    assert_eq!(made["compiled"][0]["target"], "pulley64");
    assert_eq!(made["discovered"][0]["name"], "greet");
    assert!(made["replaced"]["digest"].as_str().is_some_and(|digest| digest != made["packed"]["digest"]));

    fs::write(&output, &old[..old.len() / 2]).expect("the file is ours");
    let mut command = Command::new(&programs().subakoc);
    command.arg("rebuild").arg(&output).arg("-o").arg(package.beside("new")).arg("--report");
    let run = Run::of(command.arg(&report)).exits(3);
    assert_eq!(read(&report)["diagnostics"][0]["code"], run.errors()[0], "{run}");
    assert!(!package.beside("new").exists());

    // Nor is the bundle itself a place for it.
    let mut command = Command::new(&programs().subakoc);
    command.arg("rebuild").arg(&output).arg("-o").arg(package.beside("new")).arg("--report");
    assert_eq!(Run::of(command.arg(&output)).exits(2).errors(), ["E0902"]);
}

// The SBOM

/// A bundle with an SBOM, for two targets.
fn with_sbom() -> Bundle {
    package().build_with(&["--sbom", "--target", host_target(), "--target", "pulley64"])
}

fn sbom(bundle: &Bundle) -> Value {
    serde_json::from_slice(&bundle.entry(SBOM).bytes).expect("the SBOM is JSON")
}

/// The SHA-256 of the component with this reference.
fn digest_in(sbom: &Value, reference: &str) -> String {
    let all = sbom["components"].as_array().expect("a list");
    let found = all.iter().find(|it| it["bom-ref"] == reference);
    let found = found.unwrap_or_else(|| panic!("{reference} is not in {sbom:#}"));
    assert_eq!(found["hashes"][0]["alg"], "SHA-256");
    format!("sha256:{}", found["hashes"][0]["content"].as_str().expect("text"))
}

#[test]
fn an_sbom_names_every_entry_and_the_module_that_came() {
    let bundle = with_sbom();
    let sbom = sbom(&bundle);
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let entries = bundle.entries();
    for entry in entries.iter().filter(|entry| ![SBOM, "bundle.json"].contains(&entry.name.as_str())) {
        assert_eq!(digest_in(&sbom, &entry.name), Digest::of(&entry.bytes).to_string(), "{}", entry.name);
    }
    let text = fs::read(example("hello").join("module.wat")).expect("the example is there");
    assert_eq!(digest_in(&sbom, "upload:module.wat"), Digest::of(&text).to_string());
    assert_eq!(
        format!("sha256:{}", sbom["metadata"]["component"]["hashes"][0]["content"].as_str().expect("text")),
        bundle.index()["upload"].as_str().expect("text")
    );
    let engine = format!("pkg:cargo/wasmtime@{}", subako_manifest::index::ENGINE_VERSION);
    let components = sbom["components"].as_array().expect("a list");
    assert!(components.iter().any(|it| it["purl"] == engine.as_str()), "{sbom:#}");

    // The index names it, and so does `inspect`; the rest of the bundle is as without it.
    let index = bundle.index();
    let line = index["entries"].as_array().expect("a list").iter().find(|it| it["path"] == SBOM);
    assert_eq!(line.expect("it is named")["role"], "sbom");
    let path = bundle.path().to_str().expect("the path is UTF-8");
    assert!(subakoc(["inspect", path]).exits(0).stdout.contains(SBOM));
    for format in ["text", "json"] {
        let printed = subakoc(["inspect", "--sbom", path, "--format", format]).exits(0).stdout;
        assert_eq!(printed.as_bytes(), bundle.entry(SBOM).bytes);
    }
    assert_eq!(bundle.call("greet", &json!({ "name": "Ada" }), &[]).exits(0).stdout, "Hello, Ada!\n");
}

/// The rewrite takes the section out of the module; what it said is in the SBOM.
#[test]
fn an_sbom_says_what_made_the_module() {
    let text = fs::read_to_string(example("hello").join("module.wat")).expect("the example is there");
    let mut module = wat::parse_str(&text).expect("the module is text");
    let content = b"\x09producers\x02\x08language\x01\x04Rust\x00\x0cprocessed-by\x01\x05rustc\x061.95.0";
    module.extend([0, u8::try_from(content.len()).expect("it is short")]);
    module.extend(content);
    let bundle = Package::of_module("hello", &module).build_with(&["--sbom", "--target", host_target()]);
    let sbom = sbom(&bundle);
    assert_eq!(digest_in(&sbom, "upload:module.wasm"), Digest::of(&module).to_string());
    let found: Vec<_> = sbom["components"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|it| it["bom-ref"].as_str().is_some_and(|it| it.starts_with("producer:")))
        .map(|it| (it["name"].as_str(), it["version"].as_str(), it["type"].as_str()))
        .collect();
    let expected =
        [(Some("Rust"), None, Some("platform")), (Some("rustc"), Some("1.95.0"), Some("application"))];
    assert_eq!(found, expected);
    let rewritten = bundle.entry("module.wasm").bytes;
    assert!(!rewritten.windows(9).any(|bytes| bytes == b"producers"));
}

#[test]
fn a_bundle_without_one_says_so() {
    let bundle = hello().build();
    let run = subakoc(["inspect", "--sbom", bundle.path().to_str().expect("the path is UTF-8")]).exits(3);
    assert_eq!(run.errors(), ["E0732"], "{run}");
    assert!(run.stdout.is_empty() && run.stderr.contains("--sbom"), "{run}");
}

#[test]
fn the_same_package_has_the_same_sbom() {
    let (one, other) = (with_sbom(), with_sbom());
    assert!(one.bytes() == other.bytes());
    assert!(sbom(&one)["metadata"].get("timestamp").is_none());

    let package = package();
    let output = package.beside("out.subako");
    let build = |epoch: &str| {
        let mut command = Command::new(&programs().subakoc);
        command
            .arg("build")
            .arg(package.path())
            .arg("-o")
            .arg(&output)
            .args(["--sbom", "--target", "pulley64"]);
        Run::of(command.env("SOURCE_DATE_EPOCH", epoch))
    };
    _ = build("86400").exits(0);
    let printed = subakoc(["inspect".as_ref(), "--sbom".as_ref(), output.as_os_str()]).exits(0).json();
    assert_eq!(printed["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
    assert_eq!(build("yesterday").exits(2).errors(), ["E0838"]);
}

#[test]
fn a_rebuilt_bundle_has_the_sbom_that_a_build_would_have_made() {
    let bundle = with_sbom();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let new = folder.path().join("new.subako");
    let rebuild = |flags: &[&str]| {
        let mut command = Command::new(&programs().subakoc);
        Run::of(command.arg("rebuild").arg(bundle.path()).arg("-o").arg(&new).args(flags))
    };
    _ = rebuild(&[]).exits(0);
    assert!(fs::read(&new).expect("it is there") == bundle.bytes());

    _ = rebuild(&["--target", "pulley64"]).exits(0);
    let built = package().build_with(&["--sbom", "--target", "pulley64"]);
    assert!(fs::read(&new).expect("it is there") == built.bytes());

    // One that somebody else has put there tells nothing of the module.
    let mut remade = Remade::of(&bundle);
    remade.replace(SBOM, br#"{"bomFormat":"CycloneDX","specVersion":"1.6","version":1}"#.to_vec());
    remade.index_what_is_there();
    fs::write(bundle.path(), remade.bytes()).expect("the bundle is ours");
    assert_eq!(rebuild(&[]).exits(3).errors(), ["E0733"]);
    let path = bundle.path().to_str().expect("the path is UTF-8");
    assert_eq!(subakoc(["inspect", "--sbom", path]).exits(3).errors(), ["E0733"]);
}

/// Signed, an SBOM is what the signer said; unsigned, what the index says.
#[test]
fn an_sbom_that_was_changed_added_or_taken_out_is_refused() {
    let bundle = with_sbom();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("changed.subako");
    let text = String::from_utf8(bundle.entry(SBOM).bytes).expect("it is text");
    let mut changed = Remade::of(&bundle);
    changed.replace(SBOM, text.replacen("CycloneDX", "CycloneDY", 1).into_bytes());
    let mut added = Remade::of(&hello().build());
    added.entries.insert(SBOM.to_owned(), text.into_bytes());
    let mut taken_out = Remade::of(&bundle);
    taken_out.entries.remove(SBOM);
    for (remade, code) in [(&changed, "E0727"), (&added, "E0718"), (&taken_out, "E0717")] {
        fs::write(&path, remade.bytes()).expect("the folder is ours");
        let path = path.to_str().expect("the path is UTF-8");
        assert_eq!(subakoc(["inspect", path]).exits(3).errors(), [code]);
        let cache = folder.path().join("cache");
        let cache = cache.to_str().expect("the path is UTF-8");
        let run = loader(["install", path, "--allow-unsigned", "--cache-dir", cache]).exits(3);
        assert_eq!(run.errors(), [code], "{run}");
    }
}

/// Signing, publishing, pulling and installing take it along.
#[test]
fn an_sbom_goes_where_its_bundle_goes() {
    let bundle = with_sbom();
    let keys = Keys::default();
    let (private, public) = keys.make("builder", Kind::Ed25519, &[]);
    fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let (signed, thin, cache) =
        (keys.write("signed.subako", bundle.bytes()), keys.path("thin"), keys.path("cache"));
    _ = subakoc(["sign", &signed, "--key", &private]).exits(0);
    let layout = format!("dir:{}:1.0", keys.path("layout"));
    _ = subakoc(["publish", &signed, &layout]).exits(0);
    _ = subakoc(["pull", &layout, "-o", &thin, "--target", host_target()]).exits(0);
    let printed = subakoc(["inspect", "--sbom", &thin]).exits(0).stdout;
    assert_eq!(printed.as_bytes(), bundle.entry(SBOM).bytes);
    _ = subakoc(["verify", &thin, "--trust", &public]).exits(0);
    _ = loader(["install", &thin, "--trust", &public, "--cache-dir", &cache]).exits(0);
    _ = loader(["cache", "verify", "--cache-dir", &cache]).exits(0);
    let arguments =
        ["call", "name:hello", "greet", r#"{"name":"Ada"}"#, "--cache-dir", &cache, "--trust", &public];
    assert_eq!(loader(arguments).exits(0).stdout, "Hello, Ada!\n");
    _ = subakoc(["pull", &layout, "-o", &thin]).exits(0);
    assert!(fs::read(&thin).expect("it is there") == fs::read(&signed).expect("it is there"));
}
