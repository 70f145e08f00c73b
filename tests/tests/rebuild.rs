//! Artifacts that do not fit are refused before they run, and `subakoc rebuild` makes new ones; the
//! compile cache changes how long that takes, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::package::{Package, example, hello, hello_bundle, host_target};
use subako_tests::programs::programs;
use subako_tests::remake::Remade;
use subako_tests::run::{COMPILE_CACHE, Run};

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

fn rebuild(bundle: &Path, output: &Path, flags: &[&str]) -> Run {
    Run::of(Command::new(&programs().subakoc).arg("rebuild").arg(bundle).arg("-o").arg(output).args(flags))
}

fn call(bundle: &Path) -> Run {
    Run::of(
        Command::new(&programs().loader)
            .args(["call", "--allow-unsigned"])
            .arg(bundle)
            .args(["greet", r#"{"name":"Ada"}"#]),
    )
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("the folder is ours");
    path
}

/// The bundle of `examples/hello` for this host alone, as a path in `folder`, with one change.
fn changed(folder: &Path, change: impl FnOnce(&mut Remade)) -> PathBuf {
    let mut remade = Remade::of(&hello().build());
    change(&mut remade);
    write(folder, "changed.subako", &remade.bytes())
}

fn artifact_path() -> String {
    format!("native/{}/baseline.cwasm", host_target())
}

// Rebuild

#[test]
fn what_is_remade_by_the_tests_is_a_bundle() {
    let bundle = hello_bundle();
    assert!(Remade::of(bundle).bytes() == bundle.bytes());
}

#[test]
fn the_same_engine_makes_the_same_bundle() {
    let folder = temporary();
    let bundle = Package::empty()
        .with("subako-package.json", fs::read(example("hello").join("subako-package.json")).unwrap())
        .with("module.wat", fs::read(example("hello").join("module.wat")).unwrap())
        .with("data/words.txt", "an asset\n")
        .build_with(&["--target", host_target(), "--target", "pulley64"]);
    let output = folder.path().join("new.subako");
    for flags in [&[][..], &["--no-cache"]] {
        let run = rebuild(bundle.path(), &output, flags).exits(0);
        assert!(fs::read(&output).unwrap() == bundle.bytes(), "{run}");
        assert!(run.warnings().is_empty(), "{run}");
    }
    // In its own place.
    drop(rebuild(&output, &output, &[]).exits(0));
    assert!(fs::read(&output).unwrap() == bundle.bytes());
}

#[test]
fn a_bundle_of_another_engine_says_how_to_rebuild_it_and_then_runs() {
    for (version, code) in
        [("48.0.6", "E0912"), ("47.1.0", "E0912"), ("48.999.0", "E0911"), ("99.0.0", "E0911")]
    {
        let folder = temporary();
        let old = changed(folder.path(), |remade| {
            remade.index["engine"]["version"] = version.into();
            // What such an engine made is of no use here, whatever it is.
            remade.replace(&artifact_path(), b"made long ago".to_vec());
            remade.index_what_is_there();
        });
        let refused = call(&old).exits(3);
        assert_eq!(refused.errors(), [code], "{refused}");
        assert!(refused.stderr.contains("`subakoc rebuild BUNDLE -o NEW`"), "{refused}");
        assert!(refused.stderr.contains(version), "{refused}");

        let new = folder.path().join("new.subako");
        let run = rebuild(&old, &new, &["--format", "json"]).exits(0);
        let report = run.json();
        assert_eq!(report["replaced"]["engine"]["version"], version);
        assert_eq!(report["artifacts"][0]["target"], host_target());
        assert_eq!(call(&new).exits(0).stdout, "Hello, Ada!\n");
        // Everything else is as it was.
        let (old, new) = (entries(&old), entries(&new));
        assert!(old.keys().eq(new.keys()));
        for (name, bytes) in &old {
            let kept = ![artifact_path().as_str(), "bundle.json"].contains(&name.as_str());
            assert_eq!(new[name] == *bytes, kept, "{name}");
        }
        let index = |entries: &std::collections::BTreeMap<String, Vec<u8>>| -> Value {
            serde_json::from_slice(&entries["bundle.json"]).expect("the index is JSON")
        };
        assert_eq!(index(&new)["upload"], index(&old)["upload"]);
    }
}

fn entries(path: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(path).expect("the bundle is there");
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("it is a zip");
    (0..zip.len())
        .map(|at| {
            let mut entry = zip.by_index(at).expect("the entry is in the zip");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("the entry inflates");
            (entry.name().expect("the name is UTF-8").into_owned(), bytes)
        })
        .collect()
}

#[test]
fn other_settings_of_the_same_engine_are_refused() {
    let folder = temporary();
    for (field, value) in
        [("artifact_format", json!(1_234)), ("compatibility", json!(format!("sha256:{}", "0".repeat(64))))]
    {
        let path = changed(folder.path(), |remade| remade.index["engine"][field] = value);
        let run = call(&path).exits(3);
        assert_eq!(run.errors(), ["E0911"], "{run}");
        assert!(run.stderr.contains("other settings") && run.stderr.contains("subakoc rebuild"), "{run}");
        let new = folder.path().join("new.subako");
        drop(rebuild(&path, &new, &[]).exits(0));
        assert_eq!(call(&new).exits(0).stdout, "Hello, Ada!\n");
    }
}

#[test]
fn other_targets_can_be_asked_for() {
    let folder = temporary();
    let new = folder.path().join("new.subako");
    let run = rebuild(hello().build().path(), &new, &["--target", "portable", "--format", "json"]).exits(0);
    assert_eq!(run.json()["artifacts"].as_array().map(Vec::len), Some(1));
    assert_eq!(run.json()["artifacts"][0]["target"], "pulley64");
    assert!(entries(&new).contains_key("native/pulley64/baseline.cwasm"));
    assert!(!entries(&new).contains_key(&artifact_path()));
    assert_eq!(call(&new).exits(0).stdout, "Hello, Ada!\n");
    let run = rebuild(hello_bundle().path(), &new, &["--target", "portabel"]).exits(2);
    assert_eq!(run.errors(), ["E0501"], "{run}");
}

#[test]
fn signatures_are_lost_and_that_is_said() {
    let folder = temporary();
    let signed = changed(folder.path(), |remade| {
        for name in ["signatures/ada.json", "signatures/bob.json"] {
            remade.entries.insert(name.to_owned(), b"{}\n".to_vec());
        }
    });
    let new = folder.path().join("new.subako");
    let run = rebuild(&signed, &new, &[]).exits(0);
    assert_eq!(run.warnings(), ["E0512"], "{run}");
    assert!(run.stderr.contains("`ada`") && run.stdout.contains("lost: bob"), "{run}");
    assert!(entries(&new).keys().all(|name| !name.starts_with("signatures/")));
    let report = rebuild(&signed, &new, &["--format", "json"]).exits(0).json();
    assert_eq!(report["replaced"]["signatures"], json!(["ada", "bob"]));
}

#[test]
fn a_bundle_that_is_not_as_its_index_says_is_not_rebuilt() {
    let folder = temporary();
    let new = folder.path().join("new.subako");
    let other_module = wat::parse_str(
        r#"(module (import "env" "abort" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
    )
    .expect("the module is text");
    type Change<'a> = &'a dyn Fn(&mut Remade);
    let changes: [(&str, Change<'_>); 6] = [
        ("E0727", &|remade| {
            let same_size: Vec<u8> =
                remade.entries["tools.json"].iter().map(|byte| byte.to_ascii_uppercase()).collect();
            remade.replace("tools.json", same_size);
        }),
        ("E0321", &|remade| {
            remade.replace("module.wasm", other_module.clone());
            remade.index_what_is_there();
        }),
        ("E0201", &|remade| {
            remade.replace("subako-package.json", b"not JSON".to_vec());
            remade.index_what_is_there();
        }),
        ("E0513", &|remade| remade.index["package"] = "another".into()),
        ("E0513", &|remade| remade.index["tools"] = json!(["another"])),
        ("E0513", &|remade| remade.index["imports"] = json!([])),
    ];
    for (code, change) in changes {
        let path = changed(folder.path(), change);
        let run = rebuild(&path, &new, &[]).exits(3);
        assert_eq!(run.errors(), [code], "{run}");
        assert!(!new.exists(), "{run}");
    }
    let run = rebuild(&folder.path().join("absent"), &new, &[]).exits(3);
    assert_eq!(run.errors(), ["E0701"], "{run}");
}

/// The old artifacts are not read: a bundle that lost one byte of them can be mended.
#[test]
fn a_damaged_artifact_is_mended() {
    let folder = temporary();
    let path = changed(folder.path(), |remade| {
        let mut bytes = remade.entries[&artifact_path()].clone();
        bytes[1_000] ^= 1;
        remade.replace(&artifact_path(), bytes);
    });
    assert_eq!(call(&path).exits(3).errors(), ["E0727"]);
    drop(rebuild(&path, &path, &[]).exits(0));
    assert_eq!(call(&path).exits(0).stdout, "Hello, Ada!\n");
}

// What the loader refuses

#[test]
fn a_flipped_byte_is_refused_by_digest() {
    let folder = temporary();
    let good = Remade::of(&hello().build());
    let length = good.entries[&artifact_path()].len();
    // The header, the engine's version, the code, the end.
    for at in [0, 0x40, length / 4, length / 2, length - 1] {
        let mut remade = good.clone();
        remade.entries.get_mut(&artifact_path()).expect("the artifact is there")[at] ^= 0x20;
        let run = call(&write(folder.path(), "flipped.subako", &remade.bytes())).exits(3);
        assert_eq!(run.errors(), ["E0727"], "byte {at}: {run}");
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn an_artifact_cut_short_is_refused() {
    let folder = temporary();
    let good = Remade::of(&hello().build());
    let length = good.entries[&artifact_path()].len();
    for kept in [0, 1, 64, length / 2, length - 1] {
        let mut remade = good.clone();
        remade.entries.get_mut(&artifact_path()).expect("the artifact is there").truncate(kept);
        let path = write(folder.path(), "short.subako", &remade.bytes());
        let run = call(&path).exits(3);
        assert_eq!(run.errors(), ["E0720"], "{kept} bytes: {run}");
        // The size in the index made right, too.
        for named in remade.index["entries"].as_array_mut().expect("the index has entries") {
            if named["path"] == artifact_path().as_str() {
                named["size"] = kept.into();
            }
        }
        let run = call(&write(folder.path(), "short.subako", &remade.bytes())).exits(3);
        assert_eq!(run.errors(), ["E0727"], "{kept} bytes: {run}");
    }
    // The file of the bundle itself.
    let whole = good.bytes();
    for kept in [whole.len() - 1, whole.len() / 2, 100, 0] {
        let run = call(&write(folder.path(), "short.subako", &whole[..kept])).exits(3);
        assert_eq!(run.errors(), ["E0702"], "{kept} bytes: {run}");
    }
}

/// Somebody vouches for the wrong artifact: the index names it by its right digest. The engine's
/// own check is what is left, and it refuses instead of crashing.
#[test]
fn a_wrong_artifact_with_a_right_digest_is_refused_by_the_engine() {
    let folder = temporary();
    let good = Remade::of(&hello().build());
    let native = good.entries[&artifact_path()].clone();
    let bytecode =
        hello().build_with(&["--target", "pulley64"]).entry("native/pulley64/baseline.cwasm").bytes;
    let other = match std::env::consts::ARCH {
        "aarch64" => "x86_64-unknown-linux-gnu",
        _ => "aarch64-unknown-linux-gnu",
    };
    let foreign =
        hello().build_with(&["--target", other]).entry(&format!("native/{other}/baseline.cwasm")).bytes;
    let replaced = |from: &str, to: &str| {
        let mut bytes = native.clone();
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes());
        let at = at.unwrap_or_else(|| panic!("`{from}` is not in the artifact"));
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let wrong: [(&str, Vec<u8>); 11] = [
        ("nothing", Vec::new()),
        ("no ELF file", b"made long ago".to_vec()),
        ("zeros", vec![0; 100_000]),
        ("a module", good.entries["module.wasm"].clone()),
        ("half of it", native[..native.len() / 2].to_vec()),
        ("all but the end", native[..native.len() - 1].to_vec()),
        ("the header alone", native[..64].to_vec()),
        ("bytecode", bytecode),
        ("another machine's", foreign),
        ("another engine version's", replaced("wasmtime 48.0", "wasmtime 47.0")),
        ("another format's", replaced("format 1:", "format 2:")),
    ];
    for (what, bytes) in wrong {
        let mut remade = good.clone();
        remade.replace(&artifact_path(), bytes);
        remade.index_what_is_there();
        let run = call(&write(folder.path(), "wrong.subako", &remade.bytes())).exits(3);
        assert_eq!(run.errors(), ["E0913"], "{what}: {run}");
        assert_eq!(run.stdout, "", "{what}");
    }
}

// The compile cache

/// Builds `examples/hello` for two targets with this cache.
fn build_cached(cache: &Path, flags: &[&str]) -> (Run, Vec<u8>) {
    let package = hello();
    let output = package.beside("out.subako");
    let run = Run::of(
        Command::new(&programs().subakoc)
            .arg("build")
            .arg(package.path())
            .arg("-o")
            .arg(&output)
            .args(["--target", host_target(), "--target", "pulley64", "--format", "json"])
            .args(flags)
            .env(COMPILE_CACHE, cache),
    );
    let bytes = fs::read(&output).unwrap_or_default();
    (run, bytes)
}

fn sources(run: &Run) -> Vec<String> {
    let report = run.json();
    let compiled = report["compiled"].as_array().unwrap_or_else(|| panic!("no `compiled` in {run}"));
    compiled.iter().map(|origin| origin["source"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn cached_and_uncached_builds_give_the_same_bytes() {
    let folder = temporary();
    let cache = folder.path().join("cache");
    let (run, uncached) = build_cached(&cache, &["--no-cache"]);
    assert_eq!(sources(&run.exits(0)), ["compiler", "compiler"]);
    assert!(!cache.exists(), "`--no-cache` leaves nothing");
    let (run, cold) = build_cached(&cache, &[]);
    assert_eq!(sources(&run.exits(0)), ["compiler", "compiler"]);
    let (run, warm) = build_cached(&cache, &[]);
    let run = run.exits(0);
    assert_eq!(sources(&run), ["cache", "cache"], "{run}");
    assert!(uncached == cold && cold == warm);
    for folder in [cache.clone(), cache.join("artifacts"), cache.join("functions")] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
    // Functions alone: the artifacts are gone.
    for artifact in fs::read_dir(cache.join("artifacts")).unwrap() {
        fs::remove_file(artifact.unwrap().path()).unwrap();
    }
    let (run, functions) = build_cached(&cache, &[]);
    let run = run.exits(0);
    assert_eq!(sources(&run), ["compiler", "compiler"]);
    assert!(run.json()["compiled"][0]["functions_reused"].as_u64() > Some(0), "{run}");
    assert!(functions == cold);
}

#[test]
fn a_directory_can_be_named() {
    let folder = temporary();
    let cache = folder.path().join("named");
    let named = cache.to_str().expect("the path is UTF-8");
    let other = folder.path().join("variable");
    assert_eq!(sources(&build_cached(&other, &["--cache-dir", named]).0.exits(0)), ["compiler"; 2]);
    assert_eq!(sources(&build_cached(&other, &["--cache-dir", named]).0.exits(0)), ["cache"; 2]);
    assert!(!other.exists());
    // Rebuild finds what build has made.
    let bundle = hello().build_with(&["--target", host_target(), "--target", "pulley64"]);
    let output = folder.path().join("new.subako");
    let run = rebuild(bundle.path(), &output, &["--format", "json", "--cache-dir", named]).exits(0);
    assert_eq!(sources(&run), ["cache"; 2]);
}

#[test]
fn a_damaged_entry_is_told_and_made_anew() {
    let folder = temporary();
    let (run, good) = build_cached(folder.path(), &[]);
    drop(run.exits(0));
    for entry in fs::read_dir(folder.path().join("artifacts")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    // A warning of the cache is none of the package.
    let (run, bytes) = build_cached(folder.path(), &["--deny-warnings"]);
    let run = run.exits(0);
    assert_eq!(sources(&run), ["compiler", "compiler"]);
    let codes: Vec<_> = run.json()["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|told| (told["code"].clone(), told["severity"].clone()))
        .collect();
    assert_eq!(codes, vec![(json!("E0510"), json!("warning")); 2], "{run}");
    assert!(bytes == good);
    let (run, bytes) = build_cached(folder.path(), &[]);
    let run = run.exits(0);
    assert_eq!(sources(&run), ["cache", "cache"]);
    assert_eq!(run.json()["diagnostics"], json!([]));
    assert!(bytes == good);
}

#[test]
fn a_cache_that_others_may_write_is_refused() {
    let folder = temporary();
    let cache = folder.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let (run, bytes) = build_cached(&cache, &[]);
    let run = run.exits(5);
    assert_eq!(run.json()["diagnostics"][0]["code"], "E0511", "{run}");
    assert!(bytes.is_empty());
    let (run, bytes) = build_cached(&cache, &["--no-cache"]);
    drop(run.exits(0));
    assert!(!bytes.is_empty());
}

/// The one that nobody named is done without.
#[test]
fn the_default_cache_is_not_needed() {
    let folder = temporary();
    let home = folder.path().join("home");
    let build = |home: &Path| {
        let package = hello();
        Run::of(
            Command::new(&programs().subakoc)
                .args(["build", "--target", host_target(), "--format", "json", "-o"])
                .arg(package.beside("out.subako"))
                .arg(package.path())
                .env(COMPILE_CACHE, "")
                .env_remove("XDG_CACHE_HOME")
                .env("HOME", home),
        )
        .exits(0)
    };
    fs::create_dir(&home).unwrap();
    assert_eq!(sources(&build(&home)), ["compiler"]);
    assert!(home.join(".cache/subakoc/artifacts").is_dir());
    assert_eq!(sources(&build(&home)), ["cache"]);
    let file = write(folder.path(), "file", b"");
    let run = build(&file);
    assert_eq!(sources(&run), ["compiler"]);
    assert_eq!(run.json()["diagnostics"][0]["severity"], "warning", "{run}");
}

#[test]
fn the_cache_stays_within_its_size() {
    let folder = temporary();
    let (run, _) = build_cached(folder.path(), &["--cache-size", "1"]);
    assert_eq!(sources(&run.exits(0)), ["compiler"; 2]);
    let (run, _) = build_cached(folder.path(), &["--cache-size", "1"]);
    assert_eq!(sources(&run.exits(0)), ["compiler"; 2]);
    let left = fs::read_dir(folder.path().join("artifacts")).unwrap().count();
    assert_eq!(left, 0);
}

/// `examples/hello` with a hundred functions more; `last` is what the last one adds.
fn with_functions(last: u32) -> Package {
    let text = fs::read_to_string(example("hello").join("module.wat")).expect("the example is there");
    let end = text.rfind(')').expect("the module ends");
    let mut more = String::new();
    for number in 0..100_u32 {
        let addend = if number == 99 { last } else { number };
        more += &format!(
            "(func (export \"more{number}\") (param i32) (result i32)
                (i32.add (i32.mul (local.get 0) (i32.const {})) (i32.const {addend})))",
            number * 7 + 3
        );
    }
    hello().with("module.wat", format!("{}{more}{}", &text[..end], &text[end..]))
}

#[test]
fn one_changed_function_compiles_little() {
    let folder = temporary();
    let flags = ["--keep-exports", "--keep-unreachable", "--target", host_target(), "--format", "json"];
    let cached = [&flags[..], &["--cache-dir", folder.path().to_str().expect("the path is UTF-8")]].concat();
    let numbers = |run: &Run| {
        let origin = run.json()["compiled"][0].clone();
        let number = |field: &str| origin[field].as_u64().unwrap_or_else(|| panic!("{field}: {run}"));
        (number("functions_reused"), number("functions_compiled"))
    };
    let (_, all) = numbers(&with_functions(99).try_build(&cached).0.exits(0));
    assert!(all > 100);
    let changed = with_functions(1_000);
    let (run, output) = changed.try_build(&cached);
    let (reused, compiled) = numbers(&run.exits(0));
    assert_eq!(reused + compiled, all);
    // The changed one and, as the engine's keys are, perhaps the one that is compiled after it.
    assert!((1..=2).contains(&compiled), "{compiled} of {all} functions were compiled");

    let bytes = fs::read(output).unwrap();
    let again = with_functions(1_000);
    let (run, output) = again.try_build(&[&flags[..], &["--no-cache"]].concat());
    assert_eq!(numbers(&run.exits(0)), (0, 0));
    assert!(fs::read(output).unwrap() == bytes, "the same bundle, whatever was reused");
}

#[test]
fn fewer_jobs_give_the_same_bytes() {
    let bundle: &Bundle = hello_bundle();
    for jobs in ["1", "3"] {
        let package = hello();
        let (run, output) = package.try_build(&["--no-cache", "--jobs", jobs]);
        drop(run.exits(0));
        assert!(fs::read(output).unwrap() == bundle.bytes(), "--jobs {jobs}");
    }
}
