//! Bad packages of every kind: exit code 3, one clear error, no panic, no output file.

use std::fs;
use std::path::Path;

use subako_tests::package::{Package, example, hello, hello_bundle, manifest};
use subako_tests::programs::subakoc;
use subako_tests::run::Run;
use subako_tests::zip_file::{RawEntry, raw_zip};

/// `hello`'s module, assembled by somebody else.
fn module() -> Vec<u8> {
    wat::parse_file(example("hello").join("module.wat")).expect("the example is valid")
}

/// Builds what is at `input`, which must be refused; the errors' codes are left to the caller.
#[track_caller]
fn refused(input: &Path, output: &Path, arguments: &[&str]) -> Run {
    let mut line =
        vec!["build".into(), input.as_os_str().to_owned(), "-o".into(), output.as_os_str().to_owned()];
    line.extend(arguments.iter().map(Into::into));
    let run = subakoc(line).exits(3);
    assert!(!output.exists(), "{run} left an output file");
    let folder = output.parent().expect("the output is in a folder");
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let name = entry.expect("the folder can be listed").file_name();
        assert!(
            !name.to_string_lossy().contains(".subako") && !name.to_string_lossy().starts_with(".tmp"),
            "{run} left {name:?}"
        );
    }
    assert_eq!(run.stdout, "", "{run}");
    run
}

/// One error, whose code begins with `code`, that says `words`.
#[track_caller]
fn refused_with(package: &Package, code: &str, words: &[&str]) {
    let run = refused(&package.path(), &package.beside("out.subako"), &[]);
    assert_eq!(run.errors().len(), 1, "{run}");
    assert!(run.errors()[0].starts_with(code), "the code is not {code}: {run}");
    for words in words {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
}

fn with_manifest(manifest: impl AsRef<[u8]>) -> Package {
    Package::empty().with("subako-package.json", manifest).with("module.wasm", module())
}

#[test]
fn absent() {
    let package = Package::empty();
    let run = refused(&package.beside("not-there"), &package.beside("out.subako"), &[]);
    assert_eq!(run.errors(), ["E0101"], "{run}");
    assert!(run.stderr.contains("not-there"), "{run}");
}

#[test]
fn neither_directory_nor_zip() {
    let package = Package::empty();
    for (name, bytes) in [("text", b"hello".as_slice()), ("module.wasm", &module())] {
        let file = package.beside(name);
        fs::write(&file, bytes).expect("there is room");
        let run = refused(&file, &package.beside("out.subako"), &[]);
        assert_eq!(run.errors(), ["E0102"], "{run}");
    }
}

/// A bundle has a package's files, and more; unpacked, it has them too.
#[test]
fn a_bundle_is_no_package() {
    let bundle = hello_bundle();
    let package = Package::empty();
    let run = refused(bundle.path(), &package.beside("out.subako"), &[]);
    assert_eq!(run.errors(), ["E0125"], "{run}");
    assert!(run.stderr.contains("is a bundle, not a package"), "{run}");

    let unpacked =
        bundle.entries().into_iter().fold(package, |package, entry| package.with(&entry.name, &entry.bytes));
    refused_with(&unpacked, "E0125", &["is a bundle, not a package", "hint: "]);
}

/// As the sources of `examples/greet-c` are, before its script has run.
#[test]
fn a_package_that_is_still_to_be_built() {
    let run = refused(&example("greet-c"), &Package::empty().beside("out.subako"), &[]);
    assert_eq!(run.errors(), ["E0104"], "{run}");
    assert!(run.stderr.contains("build.sh OUT`, then build OUT"), "{run}");
}

/// Nothing is written, and what is there stays.
#[test]
#[cfg(unix)]
fn an_output_that_is_no_file() {
    let package = hello();
    let link = package.beside("link");
    std::os::unix::fs::symlink("/dev/null", &link).expect("the folder is ours");
    for output in [link.clone(), "-".into(), package.beside("missing/out.subako")] {
        let line = ["build".into(), package.path(), "-o".into(), output.clone()];
        let run = subakoc(line).exits(2);
        assert_eq!(run.errors(), ["E0902"], "{run}");
        let hint =
            if output.ends_with("out.subako") { "make the directory first" } else { "cannot be piped" };
        assert!(run.stderr.contains(hint), "{run}");
    }
    assert!(link.is_symlink() && !package.beside("missing").exists());
}

/// Whoever closes the pipe has seen enough; what was to be said does not change.
#[test]
fn a_closed_stdout_changes_no_status() {
    for (package, code) in [(Package::empty().beside("nope"), 3), (example("hello"), 0)] {
        let (reader, writer) = std::io::pipe().expect("there is a pipe");
        drop(reader);
        let status = std::process::Command::new(&subako_tests::programs::programs().subakoc)
            .arg("check")
            .arg(&package)
            .args(["--format", "json"])
            .stdout(writer)
            .stderr(std::process::Stdio::null())
            .status()
            .expect("subakoc starts");
        assert_eq!(status.code(), Some(code), "{}", package.display());
    }
}

#[test]
fn empty_file() {
    let package = Package::empty();
    let file = package.beside("empty");
    fs::write(&file, "").expect("there is room");
    assert_eq!(refused(&file, &package.beside("out.subako"), &[]).errors(), ["E0107"]);
}

#[test]
fn empty_directory() {
    let package = Package::empty();
    let run = refused(&package.path(), &package.beside("out.subako"), &[]);
    assert!(run.errors().contains(&"E0103"), "{run}");
    assert!(run.stderr.contains("subako-package.json"), "{run}");
}

#[test]
fn a_part_is_absent() {
    refused_with(&Package::empty().with("module.wasm", module()), "E0103", &["subako-package.json"]);
    refused_with(&Package::empty().with("subako-package.json", manifest("a")), "E0104", &["module.wasm"]);
    refused_with(&hello().with("module.wasm", module()), "E0105", &["module.wasm", "module.wat"]);
}

#[test]
fn module_is_no_module() {
    let whole = module();
    let text = fs::read(example("hello").join("module.wat")).expect("the example is there");
    for bytes in [&[][..], &whole[..4], &whole[..9], &whole[..whole.len() / 2], &text, b"\0\0\0\0"] {
        refused_with(&Package::of_module("a", bytes), "E03", &["module.wasm"]);
    }
    // Cut before the last byte: the code section, or a name, ends too early.
    refused_with(&Package::of_module("a", &whole[..whole.len() - 1]), "E03", &["module.wasm"]);
}

#[test]
fn text_module_is_no_text() {
    // The parenthesis of `(func` on line 3 never closes.
    refused_with(&Package::of_text("a", "(module\n  (memory 1)\n  (func\n"), "E0106", &["module.wat"]);
    refused_with(&Package::of_text("a", "(module\n  (memry 1))\n"), "E0106", &["module.wat:2:"]);
    refused_with(&Package::of_text("a", ""), "E0", &["module.wat"]);
    refused_with(
        &Package::empty().with("subako-package.json", manifest("a")).with("module.wat", b"\xff\xfe"),
        "E0106",
        &["module.wat"],
    );
}

#[test]
fn component() {
    // The preamble of a component: version 13, layer 1.
    refused_with(&Package::of_module("a", b"\0asm\x0d\0\x01\0"), "E0301", &["component"]);
}

/// Every fault of the module is told in one run.
#[test]
fn many_faults_at_once() {
    let package = Package::of_text(
        "a",
        r#"(module
             (import "env" "abort" (func (param i32 i32 i32 i32)))
             (import "wasi_snapshot_preview1" "fd_nothing" (func))
             (memory 1))"#,
    );
    let run = refused(&package.path(), &package.beside("out.subako"), &[]);
    // Two imports, no `_start`, no `memory`.
    assert_eq!(run.errors().len(), 4, "{run}");
    for subject in ["env.abort", "fd_nothing", "_start", "memory"] {
        assert!(run.stderr.contains(subject), "`{subject}` is not in {run}");
    }
}

#[test]
fn manifest_is_no_json() {
    // The comma after the last member of line 4.
    let text = "{\n  \"abi\": 1,\n  \"name\": \"a\",\n  \"description\": \"b\",\n}\n";
    refused_with(&with_manifest(text), "E0201", &["subako-package.json:5:1"]);
    refused_with(&with_manifest("{\"abi\": 1"), "E0201", &["subako-package.json:1:"]);
    refused_with(&with_manifest(""), "E0201", &["subako-package.json:"]);
    refused_with(&with_manifest("{} {}"), "E0201", &["subako-package.json:1:4"]);
    refused_with(&with_manifest(b"{\"abi\": 1, \"name\": \"\xff\"}"), "E02", &["subako-package.json"]);
}

#[test]
fn manifest_is_no_object() {
    for text in ["[]", "1", "null", "\"text\""] {
        refused_with(&with_manifest(text), "E02", &["subako-package.json"]);
    }
}

#[test]
fn wrong_abi() {
    for abi in ["2", "0", "-1", "1.5", "\"1\"", "null", "true", "[1]", "18446744073709551616"] {
        let text = format!(r#"{{"abi": {abi}, "name": "a", "description": "b"}}"#);
        refused_with(&with_manifest(text), "E02", &["abi"]);
    }
    refused_with(&with_manifest(r#"{"name": "a", "description": "b"}"#), "E02", &["abi"]);
}

#[test]
fn wrong_name() {
    let long = "a".repeat(65);
    for name in ["", "A", "a b", "a.b", "é", "a/b", "..", &long] {
        let text = serde_json::json!({ "abi": 1, "name": name, "description": "b" }).to_string();
        refused_with(&with_manifest(text), "E02", &["name"]);
    }
    refused_with(&with_manifest(r#"{"abi": 1, "description": "b"}"#), "E02", &["name"]);
    refused_with(&with_manifest(r#"{"abi": 1, "name": 1, "description": "b"}"#), "E02", &["name"]);
}

#[test]
fn wrong_description() {
    let long = serde_json::json!({ "abi": 1, "name": "a", "description": "é".repeat(1_025) }).to_string();
    refused_with(&with_manifest(long), "E02", &["description", "1,025", "1,024"]);
    refused_with(&with_manifest(r#"{"abi": 1, "name": "a"}"#), "E02", &["description"]);
    refused_with(&with_manifest(r#"{"abi": 1, "name": "a", "description": null}"#), "E02", &["description"]);
}

/// The limits themselves are allowed, counted in characters.
#[test]
fn manifest_at_its_limits() {
    let name = format!("a-z_0{}", "9".repeat(59));
    let text = serde_json::json!({ "abi": 1, "name": name, "description": "é".repeat(1_024) }).to_string();
    let package = with_manifest(text);
    let run = subakoc(["check".into(), package.path()]).exits(0);
    assert!(run.errors().is_empty() && run.warnings().is_empty(), "{run}");
}

#[test]
fn unknown_field_is_a_warning() {
    let package =
        with_manifest(r#"{"abi": 1, "name": "a", "description": "b", "homepage": "https://example.com"}"#);
    let run = subakoc(["check".into(), package.path()]).exits(0);
    assert_eq!(run.warnings().len(), 1, "{run}");
    assert!(run.stderr.contains("homepage"), "{run}");

    let run = refused(&package.path(), &package.beside("out.subako"), &["--deny-warnings"]);
    assert!(run.stderr.contains("homepage"), "{run}");
}

#[test]
fn check_finds_the_same() {
    let package = with_manifest("{\"abi\": 1");
    let run = subakoc(["check".into(), package.path()]).exits(3);
    assert_eq!(run.errors(), ["E0201"], "{run}");
    let json = subakoc(["check".as_ref(), "--format".as_ref(), "json".as_ref(), package.path().as_os_str()])
        .exits(3)
        .json();
    assert!(json.is_object() && json.to_string().contains("E0201"), "{json}");
}

#[test]
fn wrong_command_lines() {
    for line in [
        &["build"][..],
        &["nothing"],
        &["build", "a", "-o", "b", "--nothing"],
        &["build", "a", "-o", "b", "--target", "z80"],
    ] {
        _ = subakoc(line).exits(2);
    }
}

/// An existing bundle stays when its package no longer builds.
#[test]
fn a_refusal_leaves_the_old_output() {
    let package = with_manifest("{");
    let output = package.beside("out.subako");
    fs::write(&output, "as before").expect("there is room");
    let (run, _) = package.try_build(&[]);
    _ = run.exits(3);
    assert_eq!(fs::read(&output).expect("it is there"), b"as before");
}

// Zips.

/// What every zip here has beside its fault.
fn good() -> Vec<RawEntry> {
    vec![RawEntry::new("subako-package.json", manifest("a")), RawEntry::new("module.wasm", module())]
}

fn with_entry(entry: RawEntry) -> Vec<u8> {
    let mut entries = good();
    entries.push(entry);
    raw_zip(&entries)
}

#[track_caller]
fn zip_refused(bytes: &[u8], words: &[&str]) -> Run {
    zip_refused_by(bytes, words, &[])
}

#[track_caller]
fn zip_refused_by(bytes: &[u8], words: &[&str], arguments: &[&str]) -> Run {
    let package = Package::empty();
    let file = package.beside("package.zip");
    fs::write(&file, bytes).expect("there is room");
    let run = refused(&file, &package.beside("out.subako"), arguments);
    assert_eq!(run.errors().len(), 1, "{run}");
    assert!(run.errors()[0].starts_with("E01"), "{run}");
    for words in words {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
    run
}

#[test]
fn a_good_zip_is_accepted() {
    let package = Package::empty();
    let file = package.beside("package.zip");
    let mut entries = good();
    // A zip tool's entry for a folder, and a file in it.
    entries.push(RawEntry { mode: 0o040_755, ..RawEntry::new("assets/", "") });
    entries.push(RawEntry::new("assets/a.txt", "text"));
    fs::write(&file, raw_zip(&entries)).expect("there is room");
    _ = subakoc(["check".into(), file]).exits(0);
}

#[test]
fn names_that_leave_the_package() {
    for name in [
        "../evil.txt",
        "a/../../evil.txt",
        "a/..",
        "./a.txt",
        "/etc/evil.txt",
        "C:/evil.txt",
        "C:evil.txt",
        "a\\b.txt",
        "..\\evil.txt",
        "a//b.txt",
    ] {
        _ = zip_refused(&with_entry(RawEntry::new(name, "x")), &[]);
    }
    _ = zip_refused(&with_entry(RawEntry::new("../evil.txt", "x")), &["../evil.txt"]);
}

#[test]
fn names_that_are_no_text() {
    _ = zip_refused(&with_entry(RawEntry::new(b"\xff\xfe.txt", "x")), &[]);
    let run = zip_refused(&with_entry(RawEntry::new("a\x1b[2Jb.txt", "x")), &[]);
    assert!(!run.stderr.contains('\x1b'), "a name drives the terminal: {run}");
    _ = zip_refused(&with_entry(RawEntry::new("a\0b.txt", "x")), &[]);
    _ = zip_refused(&with_entry(RawEntry::new("", "x")), &[]);
}

#[test]
fn names_that_come_twice() {
    _ = zip_refused(&with_entry(RawEntry::new("module.wasm", module())), &["module.wasm"]);
    for (one, other) in
        [("a.txt", "A.txt"), ("Straße", "STRASSE"), ("\u{e9}.txt", "e\u{301}.txt"), ("a", "a/b")]
    {
        let mut entries = good();
        entries.push(RawEntry::new(one, "x"));
        entries.push(RawEntry::new(other, "y"));
        _ = zip_refused(&raw_zip(&entries), &[]);
    }
}

#[test]
fn entries_that_are_no_files() {
    // A symlink, a character device, a fifo, a socket.
    for mode in [0o120_777, 0o020_666, 0o010_644, 0o140_755] {
        _ = zip_refused(&with_entry(RawEntry { mode, ..RawEntry::new("link", "/etc/passwd") }), &["link"]);
    }
}

#[test]
fn entries_that_cannot_be_read() {
    let entry = || RawEntry::new("asset.bin", "0123456789");
    _ = zip_refused(&with_entry(RawEntry { flags: 0x801, ..entry() }), &["asset.bin", "encrypted"]);
    _ = zip_refused(&with_entry(RawEntry { method: 12, ..entry() }), &["asset.bin"]);
    _ = zip_refused(&with_entry(RawEntry { crc32: Some(1), ..entry() }), &["asset.bin"]);
    // Deflate that is none.
    _ = zip_refused(&with_entry(RawEntry { method: 8, data: vec![0xff; 10], ..entry() }), &["asset.bin"]);
}

#[test]
fn entries_that_lie() {
    let entry = || RawEntry::new("asset.bin", "0123456789");
    for size in [9, 11, 0] {
        _ = zip_refused(&with_entry(RawEntry { size: Some(size), ..entry() }), &["asset.bin"]);
    }
    _ = zip_refused(&with_entry(RawEntry { local_name: Some(b"asset.exe".to_vec()), ..entry() }), &["asset"]);
    // A size beyond every limit, the bytes of the first entry again, an offset past the end: each
    // breaks several rules.
    for entry in [
        RawEntry { size: Some(u32::MAX - 1), ..entry() },
        RawEntry { offset: Some(0), ..entry() },
        RawEntry { offset: Some(u32::MAX - 8), ..entry() },
    ] {
        let package = Package::empty();
        let file = package.beside("package.zip");
        fs::write(&file, with_entry(entry)).expect("there is room");
        let run = refused(&file, &package.beside("out.subako"), &[]);
        assert!(run.errors().iter().all(|code| code.starts_with("E01")), "{run}");
        assert!(run.stderr.contains("asset.bin"), "{run}");
    }
}

#[test]
fn a_cut_zip() {
    let whole = raw_zip(&good());
    for len in [4, whole.len() / 2, whole.len() - 23, whole.len() - 1] {
        _ = zip_refused(&whole[..len], &[]);
    }
}

#[test]
fn a_folder_in_the_zip() {
    let entries = [
        RawEntry::new("package/subako-package.json", manifest("a")),
        RawEntry::new("package/module.wasm", module()),
    ];
    let package = Package::empty();
    let file = package.beside("package.zip");
    fs::write(&file, raw_zip(&entries)).expect("there is room");
    let run = refused(&file, &package.beside("out.subako"), &[]);
    assert!(run.errors() == ["E0108"] && run.stderr.contains("`package`"), "{run}");
}

/// A zip of zeros, made with an honest tool.
fn bomb(bytes: usize) -> Vec<u8> {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for entry in good() {
        let name = String::from_utf8(entry.name).expect("the name is text");
        zip.start_file(name, options).expect("the zip is in memory");
        zip.write_all(&entry.data).expect("the zip is in memory");
    }
    zip.start_file("zeros.bin", options).expect("the zip is in memory");
    zip.write_all(&vec![0; bytes]).expect("the zip is in memory");
    zip.finish().expect("the zip is in memory").into_inner()
}

#[test]
fn a_compression_bomb() {
    // Zeros deflate to a thousandth; 200 times is allowed, but for small entries.
    _ = zip_refused(&bomb(16 << 20), &["zeros.bin", "200"]);
    let package = Package::empty();
    let file = package.beside("package.zip");
    fs::write(&file, bomb(1 << 20)).expect("there is room");
    _ = subakoc(["check".into(), file]).exits(0);
}

#[test]
fn limits_are_flags() {
    let bytes = bomb(100_000);
    _ = zip_refused_by(&bytes, &["99,999"], &["--max-file-size", "99999"]);
    _ = zip_refused_by(&bytes, &["100,000"], &["--max-total-size", "100000"]);
    _ = zip_refused_by(&bytes, &["2"], &["--max-files", "2"]);
    let package = hello().with("zeros.bin", vec![0; 100_000]);
    for flags in [["--max-file-size", "99999"], ["--max-total-size", "100000"], ["--max-files", "2"]] {
        let run = refused(&package.path(), &package.beside("out.subako"), &flags);
        assert!(run.errors()[0].starts_with("E01"), "{run}");
    }
}

// What a directory can do that a zip cannot.

#[cfg(unix)]
#[test]
fn symlinks_in_a_directory() {
    use std::os::unix::fs::symlink;
    for (name, target) in
        [("link", "/etc/passwd"), ("link", "module.wat"), ("link", "/"), ("link", "nowhere")]
    {
        let package = hello();
        symlink(target, package.path().join(name)).expect("the folder is ours");
        let run = refused(&package.path(), &package.beside("out.subako"), &[]);
        assert_eq!(run.errors().len(), 1, "{run}");
        assert!(run.errors()[0].starts_with("E01") && run.stderr.contains("link"), "{run}");
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_in_a_directory() {
    let package = hello();
    let fifo = package.path().join("fifo");
    let made = Run::of(std::process::Command::new("mkfifo").arg(&fifo));
    _ = made.exits(0);
    let run = refused(&package.path(), &package.beside("out.subako"), &[]);
    assert!(run.errors()[0].starts_with("E01") && run.stderr.contains("fifo"), "{run}");
}
