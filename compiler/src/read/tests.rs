use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use proptest::prelude::*;
use subako_manifest::diagnostic::Blame;
use subako_manifest::digest::Digest;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::forge::{Forged, Zip};
use super::*;

const MANIFEST: &str = r#"{"abi":1,"name":"greet","description":"Greets."}"#;
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// A directory with these files.
fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (name, bytes) in files {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    root
}

fn greet() -> TempDir {
    directory(&[("subako-package.json", MANIFEST.as_bytes()), ("module.wasm", MODULE)])
}

fn greet_entries() -> Vec<Forged> {
    vec![Forged::stored("subako-package.json", MANIFEST.as_bytes()), Forged::stored("module.wasm", MODULE)]
}

/// Reads these bytes as a file.
fn read_bytes(bytes: &[u8], limits: &Limits) -> Result<Upload, Error> {
    let root = directory(&[("greet.zip", bytes)]);
    read(&root.path().join("greet.zip"), limits)
}

fn read_zip(zip: &Zip) -> Result<Upload, Error> {
    read_bytes(&zip.bytes(), &Limits::default())
}

fn faults(result: Result<Upload, Error>) -> Vec<Diagnostic> {
    match result {
        Err(error @ Error::Refused(_)) => {
            assert_eq!(error.blame(), Blame::Input);
            error.diagnostics()
        }
        other => panic!("{other:?}"),
    }
}

/// Code and subject of each fault.
fn told(result: Result<Upload, Error>) -> Vec<(&'static str, String)> {
    faults(result).into_iter().map(|fault| (fault.code.as_str(), fault.subject)).collect()
}

/// The good package and this entry beside it.
fn with(entry: Forged) -> Vec<(&'static str, String)> {
    with_all([entry])
}

fn with_all(entries: impl IntoIterator<Item = Forged>) -> Vec<(&'static str, String)> {
    told(read_zip(&Zip::of(greet_entries().into_iter().chain(entries))))
}

fn one(code: &'static str, subject: &str) -> Vec<(&'static str, String)> {
    vec![(code, subject.to_owned())]
}

/// Deflated data of `contents`, cut out of a zip that the `zip` crate writes.
fn deflated(name: &str, contents: &[u8]) -> Forged {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file("x", options).unwrap();
    writer.write_all(contents).unwrap();
    let zip = writer.finish().unwrap().into_inner();
    let archive = subako_manifest::archive::Archive::read(&zip).unwrap();
    let entry = &archive.entries()[0];
    let from = entry.data_offset as usize;
    let data = zip[from..from + entry.compressed_size as usize].to_vec();
    Forged::new(name.as_bytes(), contents, 8, data)
}

#[test]
fn a_directory_is_read() {
    let root = directory(&[
        ("subako-package.json", MANIFEST.as_bytes()),
        ("module.wasm", MODULE),
        ("data/words.txt", b"hello"),
        ("data/deep/er/x", b""),
        (".hidden", b"h"),
    ]);
    let upload = read(root.path(), &Limits::default()).unwrap();
    assert_eq!(upload.manifest.name, "greet");
    assert_eq!(upload.manifest_bytes, MANIFEST.as_bytes());
    assert_eq!(upload.module, MODULE);
    assert_eq!(upload.module_file, format!("{}/module.wasm", root.path().display()));
    let assets: Vec<_> = upload.assets.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    assert_eq!(assets, [(".hidden", &b"h"[..]), ("data/deep/er/x", b""), ("data/words.txt", b"hello")]);
    assert_eq!(upload.warnings, []);
}

/// The digest is that of what `sha256sum` prints for all files, sorted.
#[test]
fn the_digest_is_over_names_and_bytes() {
    let root = directory(&[
        ("subako-package.json", MANIFEST.as_bytes()),
        ("module.wat", b"(module)"),
        ("a", b"abc"),
    ]);
    let upload = read(root.path(), &Limits::default()).unwrap();
    // FIPS 180-4's value for `abc`; the text of the module, not what it assembles to.
    let lines = format!(
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n{}  module.wat\n{}  subako-package.json\n",
        Digest::of(b"(module)").hex(),
        Digest::of(MANIFEST.as_bytes()).hex()
    );
    assert_eq!(upload.digest, Digest::of(lines.as_bytes()));
    assert_eq!(upload.module, MODULE);
    assert!(upload.module_file.ends_with("/module.wat"));
    assert_eq!(upload.assets.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_zip_gives_what_its_directory_gives() {
    let files: [(&str, &[u8]); 4] = [
        ("module.wasm", MODULE),
        ("data/ünï.txt", b"hello hello hello hello"),
        ("subako-package.json", MANIFEST.as_bytes()),
        ("empty", b""),
    ];
    let root = directory(&files);
    let from_directory = read(root.path(), &Limits::default()).unwrap();

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_directory("data/", SimpleFileOptions::default()).unwrap();
    for (at, (name, bytes)) in files.into_iter().enumerate() {
        let method = if at % 2 == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        writer.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let zip = writer.finish().unwrap().into_inner();
    let from_zip = read_bytes(&zip, &Limits::default()).unwrap();
    assert_eq!(from_zip.digest, from_directory.digest);
    assert_eq!(from_zip.assets, from_directory.assets);
    assert!(from_zip.module_file.ends_with("/greet.zip/module.wasm"));
}

#[test]
fn streamed_zips_are_read() {
    let mut writer = ZipWriter::new_stream(Vec::new());
    for (name, bytes) in [("subako-package.json", MANIFEST.as_bytes()), ("module.wasm", MODULE)] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let zip = writer.finish().unwrap().into_inner();
    assert_eq!(read_bytes(&zip, &Limits::default()).unwrap().module, MODULE);

    let streamed = greet_entries().into_iter().map(|entry| entry.streamed(true));
    assert_eq!(read_zip(&Zip::of(streamed)).unwrap().module, MODULE);
}

#[test]
fn directory_entries_are_dropped() {
    let entries = [
        Forged::stored("data/", b"").mode(0o040_755),
        Forged::stored("data/x", b"x"),
        // No kind in the mode, as some tools write it.
        Forged::stored("more/", b"").mode(0o755),
    ];
    let upload = read_zip(&Zip::of(greet_entries().into_iter().chain(entries))).unwrap();
    assert_eq!(upload.assets.keys().collect::<Vec<_>>(), ["data/x"]);
}

#[test]
fn a_path_to_nothing_is_refused() {
    let root = greet();
    for path in ["absent", "module.wasm/below"] {
        let path = root.path().join(path);
        let [fault] = &faults(read(&path, &Limits::default()))[..] else { panic!() };
        assert_eq!(fault.code.as_str(), "E0101");
        assert_eq!(fault.message, format!("`{}` is not there", path.display()));
    }
}

#[test]
fn a_file_that_is_no_zip_is_refused() {
    let hint = |bytes: &[u8]| {
        let [fault] = &faults(read_bytes(bytes, &Limits::default()))[..] else { panic!() };
        assert_eq!(fault.code.as_str(), "E0102");
        assert!(fault.message.ends_with("greet.zip` is neither a directory nor a zip"));
        fault.hint.clone().unwrap_or_default()
    };
    assert!(hint(MODULE).starts_with("it is a WebAssembly file: put it as `module.wasm`"));
    assert!(hint(b"(module)").starts_with("it looks like WebAssembly text"));
    assert!(hint(b";; hello: by hand\n(module)").starts_with("it looks like WebAssembly text"));
    assert!(hint(MANIFEST.as_bytes()).starts_with("it looks like a manifest"));
    assert!(hint(b"\x1f\x8b\x08\0").starts_with("it is compressed by gzip"));
    assert_eq!(hint(b"hello"), "");
    assert_eq!(told(read_bytes(b"", &Limits::default()))[0].0, "E0107");
    // A zip that is cut off.
    let zip = Zip::of(greet_entries()).bytes();
    assert_eq!(told(read_bytes(&zip[..zip.len() - 1], &Limits::default()))[0].0, "E0140");
    #[cfg(unix)]
    assert_eq!(told(read(Path::new("/dev/null"), &Limits::default())), one("E0102", "/dev/null"));
}

#[test]
fn what_is_absent_is_named() {
    let root = directory(&[]);
    assert_eq!(
        told(read(root.path(), &Limits::default())),
        [("E0103", "subako-package.json".into()), ("E0104", "module.wasm".into())]
    );
    let root = directory(&[("module.wasm", MODULE)]);
    assert_eq!(told(read(root.path(), &Limits::default())), one("E0103", "subako-package.json"));
    let root = directory(&[("subako-package.json", MANIFEST.as_bytes())]);
    assert_eq!(told(read(root.path(), &Limits::default())), one("E0104", "module.wasm"));
    assert_eq!(told(read_zip(&Zip::default())).len(), 2);
    // Not at the root.
    let root = directory(&[("subako-package.json", MANIFEST.as_bytes()), ("build/module.wasm", MODULE)]);
    assert_eq!(told(read(root.path(), &Limits::default())), one("E0104", "module.wasm"));
}

#[test]
fn a_module_that_is_still_to_be_made_or_named_is_hinted_at() {
    let manifest = ("subako-package.json", MANIFEST.as_bytes());
    let hint = |files: &[(&str, &[u8])]| {
        let root = directory(files);
        let mut told = faults(read(root.path(), &Limits::default()));
        assert_eq!((told.len(), told[0].code), (1, Code::ModuleAbsent));
        told.remove(0).hint.unwrap_or_default().replace(&*root.path().to_string_lossy(), "greet")
    };
    assert_eq!(hint(&[manifest]), "");
    assert_eq!(
        hint(&[manifest, ("build.sh", b"#!/bin/sh"), ("main.c", b"")]),
        "it has a `build.sh`: run `greet/build.sh OUT`, then build OUT"
    );
    assert_eq!(
        hint(&[manifest, ("out/greet.wasm", MODULE)]),
        "if `out/greet.wasm` is the module, name it `module.wasm`, beside `subako-package.json`"
    );
}

/// A bundle has all the files of a package.
#[test]
fn a_bundle_is_no_package() {
    let index: &[u8] = br#"{"format":7,"package":"greet","engine":{"name":"x"},"entries":[],"new":1}"#;
    let (index, tools) = (("bundle.json", index), ("tools.json", &b"{\"tools\":[]}"[..]));
    let entry = |(name, bytes): (&str, &[u8])| Forged::stored(name, bytes);
    assert_eq!(with_all([index, tools].map(entry)).iter().map(|told| told.0).collect::<Vec<_>>(), ["E0125"]);

    let root = greet();
    for (name, bytes) in [index, tools] {
        std::fs::write(root.path().join(name), bytes).unwrap();
    }
    let told = faults(read(root.path(), &Limits::default()));
    assert_eq!((told.len(), told[0].code), (1, Code::PackageBundle));
    assert!(told[0].hint.as_deref().is_some_and(|hint| hint.contains("the package that it was made from")));

    // Assets may be called so, as long as they are something else.
    let asset = ("bundle.json", &b"{\"entries\":[],\"format\":\"esm\"}"[..]);
    read_zip(&Zip::of(greet_entries().into_iter().chain([asset, tools].map(entry)))).unwrap();
    read_zip(&Zip::of(greet_entries().into_iter().chain([index].map(entry)))).unwrap();
}

#[test]
fn two_modules_are_refused() {
    assert_eq!(with(Forged::stored("module.wat", b"(module)")), one("E0105", "module.wasm"));
}

#[test]
fn faults_of_manifest_and_text_come_together() {
    let root = directory(&[
        ("subako-package.json", b"{\"abi\":1,\n\"name\":\"Greet\",\"description\":\"\"}"),
        ("module.wat", b"(module\n (func (frob)))"),
    ]);
    let faults = faults(read(root.path(), &Limits::default()));
    let lines: Vec<_> = faults
        .iter()
        .map(|fault| {
            let place = fault.place.as_ref().unwrap();
            let file = place.file.as_deref().unwrap().rsplit('/').next().unwrap();
            (fault.code.as_str(), file, place.line.unwrap(), place.column.unwrap())
        })
        .collect();
    assert_eq!(lines, [("E0213", "subako-package.json", 2, 8), ("E0106", "module.wat", 2, 9)]);
}

#[test]
fn warnings_of_the_manifest_come_along() {
    let manifest = MANIFEST.replace("1,", "1,\"version\":2,");
    let root = directory(&[("subako-package.json", manifest.as_bytes()), ("module.wasm", MODULE)]);
    let upload = read(root.path(), &Limits::default()).unwrap();
    assert_eq!(upload.warnings.len(), 1);
    assert_eq!(upload.warnings[0].subject, "version");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, code) in [
        ("../up", "E0116"),
        ("a/../../up", "E0116"),
        ("./here", "E0116"),
        ("/etc/passwd", "E0115"),
        ("C:/windows", "E0114"),
        ("..\\up", "E0113"),
        ("a\nb", "E0112"),
        ("a\0", "E0112"),
        ("a//b", "E0111"),
        ("//a", "E0115"),
        ("", "E0111"),
    ] {
        assert_eq!(with(Forged::stored(name, b"x")), one(code, name), "{name:?}");
    }
    assert_eq!(with(Forged::stored("/", b"").mode(0o040_755)), one("E0111", ""));
    assert_eq!(with(Forged::stored("../", b"").mode(0o040_755)), one("E0116", ".."));
    assert_eq!(with(Forged::stored(b"caf\xe9", b"x")), one("E0110", "caf\u{fffd}"));
    let long = "a/".repeat(512) + "b";
    assert_eq!(with(Forged::stored(&long, b"x")), one("E0117", &long));
}

#[test]
fn what_is_no_file_is_refused() {
    for (mode, code) in [
        (0o120_777, "E0118"),
        (0o010_644, "E0119"),
        (0o140_644, "E0119"),
        (0o060_644, "E0119"),
        (0o020_644, "E0119"),
        (0o040_755, "E0119"),
    ] {
        assert_eq!(with(Forged::stored("x", b"/etc/passwd").mode(mode)), one(code, "x"), "{mode:o}");
    }
    // As the name of a directory it is none either.
    assert_eq!(with(Forged::stored("x/", b"").mode(0o120_777)), one("E0118", "x/"));
    assert_eq!(with(Forged::stored("x/", b"text").mode(0o040_755)), one("E0124", "x/"));
    // The module itself: refused once, not absent as well.
    let zip = Zip::of([
        Forged::stored("subako-package.json", MANIFEST.as_bytes()),
        Forged::stored("module.wasm", b"../x").mode(0o120_777),
    ]);
    assert_eq!(told(read_zip(&zip)), one("E0118", "module.wasm"));
}

#[test]
fn names_that_are_one_file_are_refused() {
    let pair =
        |first: &str, second: &str| with_all([Forged::stored(first, b""), Forged::stored(second, b"")]);
    assert_eq!(pair("a", "a"), one("E0120", "a"));
    assert_eq!(pair("a", "A"), one("E0121", "A"));
    assert_eq!(pair("é", "e\u{301}"), one("E0122", "e\u{301}"));
    assert_eq!(pair("a", "a/b"), one("E0123", "a/b"));
    assert_eq!(pair("a/b", "a"), one("E0123", "a"));
    assert_eq!(with(Forged::stored("Module.wasm", MODULE)), one("E0121", "Module.wasm"));
    assert_eq!(with(Forged::stored("module.wasm", MODULE)), one("E0120", "module.wasm"));
    assert_eq!(with(Forged::stored("module.wasm/", b"")), one("E0123", "module.wasm/"));
}

#[test]
fn each_lie_of_a_zip_has_its_code() {
    let x = || Forged::stored("x", b"xyz");
    assert_eq!(with(x().both(|header| header.flags = 1)), one("E0149", "x"));
    assert_eq!(with(x().both(|header| header.method = 93)), one("E0150", "x"));
    assert_eq!(with(x().both(|header| header.crc32 = 1)), one("E0152", "x"));
    assert_eq!(with(x().both(|header| header.size = 2)), one("E0151", "x"));
    assert_eq!(with(x().local(|header| header.name = b"y".to_vec())), one("E0143", "x"));
    assert_eq!(with(x().local(|header| header.crc32 = 1)), one("E0143", "x"));
    assert_eq!(with(x().after("gap")), one("E0145", "x"));
    assert_eq!(with(x().streamed(true).after("gap")), one("E0146", "x"));
    assert_eq!(with(x().central(|header| header.size = u32::MAX)), one("E0147", "x"));
    assert_eq!(with(Forged { disk: 1, ..x() }), one("E0148", "x"));
    assert_eq!(with(Forged { header_offset: Some(5), ..x() }), one("E0142", "x"));
    let overlap = with(Forged { header_offset: Some(0), ..x() });
    assert!(overlap.contains(&("E0144", "x".into())), "{overlap:?}");
    let broken =
        Forged { data: vec![7, 7, 7], ..deflated("x", b"xyz").both(|header| header.compressed_size = 3) };
    assert_eq!(with(broken), one("E0153", "x"));
    let lying = deflated("x", &[0; 5_000]).both(|header| header.size = 10);
    assert_eq!(with(lying), one("E0151", "x"));

    let whole = |zip: Zip| told(read_zip(&zip))[0].0;
    let good = || Zip::of(greet_entries());
    assert_eq!(whole(Zip { before: b"x".to_vec(), ..good() }), "E0145");
    assert_eq!(whole(Zip { trailing: b"x".to_vec(), ..good() }), "E0145");
    assert_eq!(whole(Zip { after_directory: b"x".to_vec(), ..good() }), "E0141");
    assert_eq!(whole(Zip { comment: Zip::default().bytes(), ..good() }), "E0140");
    assert_eq!(whole(Zip { disk: 1, ..good() }), "E0148");
    assert_eq!(whole(Zip { count: Some(0xffff), ..good() }), "E0147");
}

#[test]
fn all_faults_of_a_zip_are_found_in_one_run() {
    let zip = Zip::of([
        Forged::stored("subako-package.json", b"{\"abi\":2,\"name\":\"greet\",\"description\":\"\"}"),
        Forged::stored("module.wasm", MODULE).both(|header| header.crc32 = 0),
        Forged::stored("secret", b"x").both(|header| header.flags = 1),
        Forged::stored("../up", b"x"),
        Forged::stored("link", b"x").mode(0o120_777),
        Forged::stored("A", b"x"),
        Forged::stored("a", b"x").both(|header| header.crc32 = 0),
        Forged::stored("b", b"x").both(|header| header.crc32 = 0),
    ]);
    assert_eq!(
        told(read_zip(&zip)),
        [
            ("E0149", "secret".into()),
            ("E0116", "../up".into()),
            ("E0118", "link".into()),
            ("E0121", "a".into()),
            ("E0211", "abi".into()),
            ("E0152", "module.wasm".into()),
            ("E0152", "b".into()),
        ]
    );
}

#[test]
fn faults_are_told_up_to_a_hundred() {
    let entries = (0..150).map(|at| Forged::stored(format!("../{at}"), b""));
    let told = with_all(entries);
    assert_eq!(told.len(), 101);
    assert_eq!(told[99], ("E0116", "../99".into()));
    assert_eq!(told[100].0, "E0109");
}

#[test]
fn the_content_in_a_folder_is_refused_with_a_hint() {
    let inside = |entries: Vec<Forged>| {
        entries
            .into_iter()
            .map(|entry| entry.both(|header| header.name = [b"greet/", header.name.as_slice()].concat()))
    };
    let folder = Forged::stored("greet/", b"").mode(0o040_755);
    let finder = Forged::stored("__MACOSX/greet/._module.wasm", b"");
    let zip = Zip::of(inside(greet_entries()).chain([folder, finder]));
    let [fault] = &faults(read_zip(&zip))[..] else { panic!() };
    assert_eq!(fault.code.as_str(), "E0108");
    assert!(fault.message.ends_with("greet.zip` has all its content in the folder `greet`"));
    assert!(fault.hint.is_some());

    let root =
        directory(&[("greet/subako-package.json", MANIFEST.as_bytes()), ("greet/module.wasm", MODULE)]);
    assert_eq!(told(read(root.path(), &Limits::default()))[0].0, "E0108");
}

#[test]
fn limits_hold_for_zips() {
    let limits = Limits { files: 3, file_bytes: 100, total_bytes: 1_000, ratio: 200 };
    let zip = |entries: Vec<Forged>| {
        let bytes = Zip::of(greet_entries().into_iter().chain(entries)).bytes();
        read_bytes(&bytes, &limits)
    };
    assert!(zip(vec![Forged::stored("x", &[b'x'; 100])]).is_ok());
    let message = |result| {
        let [fault] = &faults(result)[..] else { panic!() };
        assert!(fault.hint.is_some());
        (fault.code.as_str(), fault.message.clone())
    };
    let (code, said) = message(zip(vec![Forged::stored("x", &[b'x'; 101])]));
    assert_eq!((code, &*said), ("E0131", "entry `x` has 101 bytes, at most 100 are allowed"));
    let (code, said) = message(zip(vec![Forged::stored("x", b""), Forged::stored("y", b"")]));
    assert_eq!(code, "E0130");
    assert!(said.ends_with("greet.zip` has 4 files, at most 3 are allowed"), "{said}");

    // The files together, although the zip itself is small.
    let limits = Limits { total_bytes: 2_000, ..Limits::default() };
    let entries = greet_entries().into_iter().chain([deflated("x", &[0; 2_000])]);
    let result = read_bytes(&Zip::of(entries).bytes(), &limits);
    let (code, said) = message(result);
    assert_eq!(code, "E0132");
    assert!(
        said.ends_with("greet.zip` has files of 2,056 bytes together, at most 2,000 are allowed"),
        "{said}"
    );

    // The zip itself.
    let entries = greet_entries().into_iter().chain([Forged::stored("x", &[0; 2_000])]);
    assert_eq!(message(read_bytes(&Zip::of(entries).bytes(), &limits)).0, "E0132");
}

#[test]
fn a_bomb_is_refused() {
    let zeros = vec![0; 3 << 20];
    let bomb = || greet_entries().into_iter().chain([deflated("zeros", &zeros)]);
    let [fault] = &faults(read_zip(&Zip::of(bomb())))[..] else { panic!() };
    assert_eq!((fault.code.as_str(), fault.subject.as_str()), ("E0133", "zeros"));
    assert!(fault.message.ends_with("times its compressed size, at most 200 are allowed"));
    let limits = Limits { ratio: 2_000, ..Limits::default() };
    assert!(read_bytes(&Zip::of(bomb()).bytes(), &limits).is_ok());
    // Up to 1 MiB nobody is harmed.
    let small = deflated("zeros", &zeros[..1 << 20]);
    assert!(read_zip(&Zip::of(greet_entries().into_iter().chain([small]))).is_ok());
}

#[test]
fn limits_hold_for_directories() {
    let root = greet();
    std::fs::write(root.path().join("x"), [b'x'; 101]).unwrap();
    let good = Limits { files: 3, file_bytes: 101, total_bytes: 157, ratio: 1 };
    assert!(read(root.path(), &good).is_ok());
    let refused = |limits: Limits| {
        let [fault] = &faults(read(root.path(), &limits))[..] else { panic!() };
        (fault.code.as_str(), fault.message.clone())
    };
    let name = root.path().display();
    assert_eq!(
        refused(Limits { files: 2, ..good }),
        ("E0130", format!("`{name}` has 3 files, at most 2 are allowed"))
    );
    assert_eq!(
        refused(Limits { file_bytes: 100, ..good }),
        ("E0131", "entry `x` has 101 bytes, at most 100 are allowed".into())
    );
    assert_eq!(
        refused(Limits { total_bytes: 156, ..good }),
        ("E0132", format!("`{name}` has files of 157 bytes together, at most 156 are allowed"))
    );
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn symlinks_and_sockets_of_a_directory_are_refused() {
        let root = greet();
        symlink("/etc", root.path().join("etc")).unwrap();
        symlink("absent", root.path().join("dangling")).unwrap();
        let _listener = UnixListener::bind(root.path().join("socket")).unwrap();
        assert_eq!(
            told(read(root.path(), &Limits::default())),
            [("E0118", "dangling".into()), ("E0118", "etc".into()), ("E0119", "socket".into()),]
        );
    }

    #[test]
    fn a_module_that_is_a_symlink_is_refused_once() {
        let root = directory(&[("subako-package.json", MANIFEST.as_bytes()), ("other", MODULE)]);
        symlink("other", root.path().join("module.wasm")).unwrap();
        assert_eq!(told(read(root.path(), &Limits::default())), one("E0118", "module.wasm"));
    }

    #[test]
    fn a_package_may_be_reached_through_a_symlink() {
        let root = greet();
        let other = TempDir::new().unwrap();
        symlink(root.path(), other.path().join("link")).unwrap();
        assert!(read(&other.path().join("link"), &Limits::default()).is_ok());
    }

    #[test]
    fn names_in_a_directory_follow_the_rules_of_a_zip() {
        let root = greet();
        for name in [&b"caf\xe9"[..], b"back\\slash", b"line\nend", b"a", b"A", b"C:x"] {
            std::fs::write(root.path().join(OsStr::from_bytes(name)), b"").unwrap();
        }
        std::fs::create_dir(root.path().join(OsStr::from_bytes(b"bad\xff"))).unwrap();
        std::fs::write(root.path().join(OsStr::from_bytes(b"bad\xff/below")), b"").unwrap();
        assert_eq!(
            told(read(root.path(), &Limits::default())),
            [
                ("E0114", "C:x".into()),
                ("E0121", "a".into()),
                ("E0113", "back\\slash".into()),
                ("E0110", "bad\u{fffd}".into()),
                ("E0110", "caf\u{fffd}".into()),
                ("E0112", "line\nend".into()),
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_the_environments() {
        let root = greet();
        let path = root.path().join("module.wasm");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
        match read(root.path(), &Limits::default()) {
            // A test that runs as root reads everything.
            Ok(upload) => assert_eq!(upload.module, MODULE),
            Err(error) => {
                assert_eq!(error.blame(), Blame::Environment);
                let [fault] = &error.diagnostics()[..] else { panic!() };
                assert_eq!((fault.code, &fault.subject), (Code::Io, &path.display().to_string()));
            }
        }
    }
}

#[test]
fn an_io_error_names_its_path() {
    let error = Error::Io {
        path: PathBuf::from("greet/module.wasm"),
        source: io::ErrorKind::PermissionDenied.into(),
    };
    assert_eq!(error.to_string(), "`greet/module.wasm` cannot be read: permission denied");
    assert_eq!(error.blame(), Blame::Environment);
    assert_eq!(error.diagnostics()[0].subject, "greet/module.wasm");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_bytes(&bytes, &Limits::default());
    }

    #[test]
    fn any_change_of_a_zip_ends(at in any::<prop::sample::Index>(), to in any::<[u8; 3]>()) {
        let entries = greet_entries().into_iter().chain([deflated("a/b", b"abcabcabc")]);
        let mut bytes = Zip::of(entries).bytes();
        let at = at.index(bytes.len() - to.len());
        bytes[at..at + to.len()].copy_from_slice(&to);
        let _ = read_bytes(&bytes, &Limits::default());
    }

    #[test]
    fn any_text_of_a_module_ends(text in "[()a-z0-9$\" \n;]{0,80}") {
        let _ = module_text::assemble(text.as_bytes(), "module.wat");
    }
}
