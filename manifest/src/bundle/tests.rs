//! A good bundle, made by hand here, and every way to spoil it one thing at a time.

use std::io::Write as _;

use super::*;
use crate::diagnostic::Explain as _;
use crate::index::{Engine, IndexError};

const ARTIFACT: &str = "native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm";

/// One entry of a zip to be.
#[derive(Clone)]
struct Part {
    path: Vec<u8>,
    bytes: Vec<u8>,
    stored: bool,
    /// Alignment of the data, by a record of that kind with that filling.
    aligned: Option<(u16, u8)>,
}

fn deflated_part(path: &str, bytes: &[u8]) -> Part {
    Part { path: path.into(), bytes: bytes.into(), stored: false, aligned: None }
}

fn stored_part(path: &str, bytes: &[u8]) -> Part {
    Part { path: path.into(), bytes: bytes.into(), stored: true, aligned: Some((16_384, 0)) }
}

/// A zip by the rules of `bundle/layout.rs`.
fn zip(parts: &[Part]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for part in parts {
        let data = if part.stored {
            part.bytes.clone()
        } else {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&part.bytes).unwrap();
            encoder.finish().unwrap()
        };
        let offset = file.len();
        let version: u16 = if part.stored { 10 } else { 20 };
        let flags: u16 = if part.path.is_ascii() { 0 } else { 0x800 };
        let mut common = Vec::new();
        common.extend(version.to_le_bytes());
        common.extend(flags.to_le_bytes());
        common.extend((if part.stored { 0_u16 } else { 8 }).to_le_bytes());
        common.extend([0x00, 0x00, 0x21, 0x00]);
        common.extend(crc32fast::hash(&part.bytes).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((part.bytes.len() as u32).to_le_bytes());
        common.extend((part.path.len() as u16).to_le_bytes());

        let mut extra = Vec::new();
        if let Some((alignment, filling)) = part.aligned {
            let end = offset + 30 + part.path.len();
            let short = (usize::from(alignment) - end % usize::from(alignment)) % usize::from(alignment);
            let length = if (1..6).contains(&short) { short + usize::from(alignment) } else { short };
            if length > 0 {
                extra.extend(0xa11e_u16.to_le_bytes());
                extra.extend((length as u16 - 4).to_le_bytes());
                extra.extend(alignment.to_le_bytes());
                extra.resize(length, filling);
            }
        }
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend((extra.len() as u16).to_le_bytes());
        file.extend(&part.path);
        file.extend(extra);
        file.extend(data);

        directory.extend(b"PK\x01\x02");
        directory.extend((0x0300 | version).to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 8]);
        directory.extend(0x81a4_0000_u32.to_le_bytes());
        directory.extend((offset as u32).to_le_bytes());
        directory.extend(&part.path);
    }
    let offset = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend((parts.len() as u16).to_le_bytes());
    file.extend((parts.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(offset.to_le_bytes());
    file.extend([0, 0]);
    file
}

fn entry(path: &str, role: Role, bytes: &[u8]) -> Entry {
    let artifact = role == Role::Artifact;
    Entry {
        path: path.to_owned(),
        role,
        size: bytes.len() as u64,
        digest: Digest::of(bytes),
        target: artifact.then(|| "x86_64-unknown-linux-gnu/x86-64-v3".parse().unwrap()),
        cpu_features: artifact.then(|| vec!["avx".to_owned(), "avx2".to_owned()]),
    }
}

fn artifact_bytes() -> Vec<u8> {
    (0..200_u32).flat_map(|number| number.to_le_bytes()).collect()
}

/// The index and the parts of a good bundle; `bundle.json` is added by [`file`].
fn good() -> (Index, Vec<Part>) {
    let contents: [(&str, Role, Vec<u8>); 6] = [
        ("module.wasm", Role::Module, b"\0asm\x01\0\0\0".to_vec()),
        (ARTIFACT, Role::Artifact, artifact_bytes()),
        ("package/empty", Role::Asset, Vec::new()),
        ("package/texts/gr\u{fc}n.txt", Role::Asset, b"green".repeat(50)),
        ("subako-package.json", Role::Manifest, b"{}".to_vec()),
        ("tools.json", Role::Tools, b"{\"tools\":[]}".to_vec()),
    ];
    let index = Index {
        format: 1,
        package: "greet".to_owned(),
        engine: Engine {
            name: "wasmtime".to_owned(),
            version: "48.0.8".to_owned(),
            artifact_format: 1,
            compatibility: Digest::of(b"settings"),
        },
        upload: Digest::of(b"upload"),
        imports: vec!["wasi_snapshot_preview1.fd_read".into(), "wasi_snapshot_preview1.fd_write".into()],
        tools: vec!["greet".into()],
        entries: contents.iter().map(|(path, role, bytes)| entry(path, *role, bytes)).collect(),
    };
    let parts = contents
        .iter()
        .map(
            |(path, role, bytes)| {
                if *role == Role::Artifact { stored_part(path, bytes) } else { deflated_part(path, bytes) }
            },
        )
        .collect();
    (index, parts)
}

/// The zip of those parts, sorted, with an index of that text.
fn file_with(json: &[u8], mut parts: Vec<Part>) -> Vec<u8> {
    parts.push(deflated_part(INDEX, json));
    parts.sort_by(|a, b| a.path.cmp(&b.path));
    zip(&parts)
}

/// The good bundle with these signatures, each a name and its bytes.
pub(crate) fn signed(signatures: &[(String, Vec<u8>)]) -> OpenBundle<Vec<u8>> {
    let (index, mut parts) = good();
    parts.extend(signatures.iter().map(|(name, bytes)| deflated_part(&signature_path(name).unwrap(), bytes)));
    OpenBundle::open(file(&index, parts)).unwrap()
}

fn file(index: &Index, parts: Vec<Part>) -> Vec<u8> {
    file_with(&index.to_json(), parts)
}

fn good_file() -> Vec<u8> {
    let (index, parts) = good();
    file(&index, parts)
}

fn refused(bytes: Vec<u8>) -> Error {
    OpenBundle::open(bytes).map(|_| ()).expect_err("the bundle is wrong")
}

fn code(error: &Error) -> &'static str {
    error.diagnostics()[0].code.as_str()
}

/// Where the local header of `path` is, and its header in the directory.
fn headers(bytes: &[u8], path: &str) -> (usize, usize) {
    let find = |signature: &[u8], name_at: usize| {
        (0..bytes.len() - name_at)
            .find(|at| {
                bytes[*at..].starts_with(signature) && bytes[*at + name_at..].starts_with(path.as_bytes())
            })
            .unwrap()
    };
    (find(b"PK\x03\x04", 30), find(b"PK\x01\x02", 46))
}

#[test]
fn a_good_bundle_is_read() {
    let (index, parts) = good();
    let bundle = OpenBundle::open(file(&index, parts)).unwrap();
    assert_eq!(bundle.index(), &index);
    assert_eq!(bundle.digest(), Digest::of(&index.to_json()));
    for (entry, contents) in
        index.entries.iter().zip([b"\0asm\x01\0\0\0".to_vec(), artifact_bytes(), vec![], b"green".repeat(50)])
    {
        assert_eq!(bundle.contents(entry).unwrap(), contents, "{}", entry.path);
    }
    assert_eq!(bundle.entry("tools.json").unwrap().role, Role::Tools);
    assert_eq!(bundle.entry("tools.jso"), None);
    assert_eq!(bundle.signatures().count(), 0);
    assert_eq!(bundle.signature("anybody"), Ok(None));
}

#[test]
fn artifacts_are_borrowed_from_an_aligned_place() {
    let bundle = OpenBundle::open(good_file()).unwrap();
    let entry = bundle.entry(ARTIFACT).unwrap();
    let range = bundle.stored_range(entry).unwrap();
    assert_eq!(range.start % 16_384, 0);
    assert_eq!(bundle.bytes()[range], artifact_bytes());
    assert!(matches!(bundle.contents(entry).unwrap(), Cow::Borrowed(_)));
    let tools = bundle.entry(TOOLS).unwrap();
    assert!(matches!(bundle.stored_range(tools), Err(Error::Method { .. })));
}

#[test]
fn signatures_stand_beside_the_index() {
    let (index, mut parts) = good();
    parts.push(deflated_part("signatures/3f2a.json", b"{\"payload\":\"\"}"));
    let bundle = OpenBundle::open(file(&index, parts)).unwrap();
    assert_eq!(bundle.digest(), OpenBundle::open(good_file()).unwrap().digest());
    assert_eq!(bundle.signatures().collect::<Vec<_>>(), ["3f2a"]);
    assert_eq!(bundle.signature("3f2a").unwrap().unwrap(), b"{\"payload\":\"\"}".as_slice());
    assert_eq!(signature_path("3f2a").as_deref(), Some("signatures/3f2a.json"));
    for wrong in ["", ".", "../x", "a/b", "a b", &"a".repeat(129)] {
        assert_eq!(signature_path(wrong), None, "{wrong}");
    }
}

#[test]
fn padding_too_short_for_a_record_is_a_page_longer() {
    // The length of the entry before it moves an artifact: one for each remainder that matters.
    let mut seen = std::collections::BTreeSet::new();
    for length in 0..16_384 {
        let parts = [stored_part("a", &vec![7; length]), stored_part("b", b"x")];
        let end = 16_384 + length + 30 + 1;
        let short = (16_384 - end % 16_384) % 16_384;
        if short > 6 || !seen.insert(short) {
            continue;
        }
        let bytes = zip(&parts);
        let archive = Archive::read(&bytes).unwrap();
        let extra = if (1..6).contains(&short) { short + 16_384 } else { short };
        assert_eq!(archive.entries()[1].data_offset as usize, end + extra);
        layout::check(&bytes, archive.entries()).unwrap();
        layout::check_padding(&bytes, "b", &archive.entries()[1]).unwrap();
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn bytes_of_no_entry_are_refused() {
    let good = good_file();
    let mut before = b"#!/bin/sh\n".to_vec();
    before.extend(&good);
    assert_eq!(code(&refused(before)), "E0702");
    let mut after = good.clone();
    after.extend(b"more");
    assert_eq!(code(&refused(after)), "E0723");
    let mut comment = good.clone();
    let end = comment.len();
    comment[end - 2] = 4;
    comment.extend(b"more");
    assert_eq!(code(&refused(comment)), "E0723");
    for cut in [0, 1, 21, 22, 100, good.len() / 2, good.len() - 1] {
        assert_eq!(code(&refused(good[..cut].to_vec())), "E0702", "cut at {cut}");
    }
    assert_eq!(code(&refused(b"not a zip".repeat(10))), "E0702");
}

#[test]
fn a_thin_bundle_lacks_artifacts_alone() {
    let (index, parts) = good();
    let whole = OpenBundle::open(good_file()).unwrap();
    assert_eq!(whole.absent().count(), 0);
    for (at, entry) in index.entries.iter().enumerate() {
        let mut fewer = parts.clone();
        fewer.remove(at);
        let opened = OpenBundle::open(file(&index, fewer));
        if entry.role != Role::Artifact {
            assert_eq!(opened.map(drop), Err(Error::EntryAbsent { path: entry.path.clone() }));
            continue;
        }
        let thin = opened.unwrap();
        assert_eq!(thin.digest(), whole.digest());
        assert!(!thin.has(entry) && whole.has(entry));
        assert_eq!(thin.present().count(), index.entries.len() - 1);
        assert_eq!(thin.absent().map(|(absent, _)| absent).collect::<Vec<_>>(), [entry]);
        let absent = Error::EntryAbsent { path: entry.path.clone() };
        assert_eq!(thin.contents(entry), Err(absent.clone()));
        assert_eq!(thin.stored_range(entry), Err(absent));
    }
}

/// A bundle can have an SBOM or not; where the index names one, it is an entry like others.
#[test]
fn an_sbom_is_an_entry_of_the_index() {
    const JSON: &[u8] = b"{\"bomFormat\":\"CycloneDX\"}";
    let (mut index, mut parts) = good();
    let undeclared = [parts.clone(), vec![deflated_part(SBOM, JSON)]].concat();
    assert_eq!(refused(file(&index, undeclared)), Error::EntryUnknown { path: SBOM.into() });

    index.entries.insert(4, entry(SBOM, Role::Sbom, JSON));
    assert_eq!(refused(file(&index, parts.clone())), Error::EntryAbsent { path: SBOM.into() });
    parts.push(deflated_part(SBOM, JSON));
    let bundle = OpenBundle::open(file(&index, parts.clone())).unwrap();
    assert_eq!(bundle.contents(bundle.entry(SBOM).unwrap()).unwrap(), JSON);
    assert!(String::from_utf8(index.to_json()).unwrap().contains("\"role\": \"sbom\""));

    let altered = deflated_part(SBOM, b"{\"bomFormat\":\"CycloneDY\"}");
    *parts.last_mut().unwrap() = altered;
    let bundle = OpenBundle::open(file(&index, parts.clone())).unwrap();
    let error = bundle.contents(bundle.entry(SBOM).unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Digest { path, .. } if path == SBOM), "{error}");

    *parts.last_mut().unwrap() = stored_part(SBOM, JSON);
    assert_eq!(code(&refused(file(&index, parts))), "E0721");

    let elsewhere = |path: &str, role| {
        let (mut index, _) = good();
        index.entries.insert(4, entry(path, role, JSON));
        Index::from_json(&index.to_json()).unwrap_err()
    };
    let moved = "sbom.json";
    assert_eq!(elsewhere(moved, Role::Sbom), IndexError::RolePath { path: moved.into(), role: Role::Sbom });
    assert_eq!(elsewhere(SBOM, Role::Asset), IndexError::RolePath { path: SBOM.into(), role: Role::Asset });
}

#[test]
fn entries_are_those_of_the_index() {
    let (index, parts) = good();
    let mut more = parts.clone();
    more.push(deflated_part("package/more.txt", b"more"));
    assert_eq!(refused(file(&index, more)), Error::EntryUnknown { path: "package/more.txt".into() });

    let mut fewer = parts.clone();
    fewer.remove(3);
    assert_eq!(
        refused(file(&index, fewer)),
        Error::EntryAbsent { path: "package/texts/gr\u{fc}n.txt".into() }
    );

    assert_eq!(refused(zip(&parts)), Error::IndexAbsent);
    // Of a zip that is no bundle, neither the order nor what only bundles lack is told.
    let package = zip(&[deflated_part(TOOLS, b"{}"), deflated_part(MODULE, b"module")]);
    let mut commented = package.clone();
    let end = commented.len();
    commented[end - 2] = 4;
    commented.extend(b"more");
    for package in [package, commented] {
        let error = refused(package);
        assert_eq!(error, Error::IndexAbsent);
        let [told] = &error.diagnostics()[..] else { panic!("{error}") };
        assert_eq!(told.message, "`bundle.json` is absent: the file is a zip, but not a bundle");
        assert!(told.hint.as_deref().is_some_and(|hint| hint.contains("subakoc build")), "{told}");
    }

    for path in ["signatures/", "signatures/a b.json", "signatures/a/b.json", "signatures/key.txt"] {
        let mut odd = parts.clone();
        odd.push(deflated_part(path, b"{}"));
        assert_eq!(refused(file(&index, odd)), Error::EntryUnknown { path: path.into() });
    }

    let mut latin1 = parts.clone();
    latin1.push(Part { path: b"package/z\xfc".to_vec(), ..deflated_part("", b"") });
    assert_eq!(refused(file(&index, latin1)), Error::EntryUnknown { path: "package/z\u{fffd}".into() });
}

#[test]
fn entries_are_sorted() {
    let (index, mut parts) = good();
    parts.insert(0, deflated_part(INDEX, &index.to_json()));
    parts.swap(4, 5);
    let error = refused(zip(&parts));
    assert_eq!(error, Error::Order { path: "package/texts/gr\u{fc}n.txt".into() });
    assert_eq!(code(&error), "E0719");
    let hint = error.diagnostics().remove(0).hint;
    assert!(hint.is_some_and(|hint| hint.contains("from where it was built")));
    parts.swap(4, 5);
    parts.push(parts[6].clone());
    assert_eq!(code(&refused(zip(&parts))), "E0702");
}

#[test]
fn roles_say_how_entries_are_stored() {
    let (index, parts) = good();
    for at in [0, 2, 4, 5] {
        let mut wrong = parts.clone();
        wrong[at].stored = true;
        let path = String::from_utf8(wrong[at].path.clone()).unwrap();
        let expected = Error::Method { path, found: Method::Stored, expected: Method::Deflated };
        assert_eq!(refused(file(&index, wrong)), expected);
    }
    let mut wrong = parts.clone();
    wrong[1] = deflated_part(ARTIFACT, &artifact_bytes());
    let expected = Error::Method { path: ARTIFACT.into(), found: Method::Deflated, expected: Method::Stored };
    assert_eq!(refused(file(&index, wrong)), expected);

    let mut stored_index = parts.clone();
    stored_index.insert(0, Part { stored: true, ..deflated_part(INDEX, &index.to_json()) });
    let error = refused(zip(&stored_index));
    assert_eq!((code(&error), error.diagnostics()[0].subject.as_str()), ("E0721", INDEX));
}

#[test]
fn artifacts_are_aligned_by_zeros() {
    let (index, parts) = good();
    let with = |aligned| {
        let mut parts = parts.clone();
        parts[1].aligned = aligned;
        refused(file(&index, parts))
    };
    assert!(matches!(with(None), Error::Alignment { .. }));
    assert!(matches!(with(Some((4_096, 0))), Error::Alignment { offset: 4_096, .. }));
    assert!(matches!(with(Some((16_384, 1))), Error::Padding { .. }));
    assert!(matches!(with(Some((32_768, 0))), Error::Padding { .. }));
}

#[test]
fn no_header_has_a_value_of_its_own() {
    use HeaderField as F;
    let good = good_file();
    // Where in the local header, where in the directory's (or where in that alone), which field,
    // and what the module's entry has there.
    let fields: [(Option<usize>, Option<usize>, F, u32); 7] = [
        (None, Some(4), F::MadeBy, 0x0314),
        (Some(4), None, F::VersionNeeded, 20),
        (None, Some(6), F::VersionNeeded, 20),
        (Some(10), None, F::Time, 0x0021_0000),
        (None, Some(12), F::Time, 0x0021_0000),
        (None, Some(36), F::InternalAttributes, 0),
        (None, Some(38), F::ExternalAttributes, 0x81a4_0000),
    ];
    for (in_local, in_directory, field, expected) in fields {
        let mut wrong = good.clone();
        let (local, directory) = headers(&good, MODULE);
        for at in [in_local.map(|at| local + at), in_directory.map(|at| directory + at)].into_iter().flatten()
        {
            wrong[at] ^= 1;
        }
        let found = expected ^ 1;
        assert_eq!(refused(wrong), Error::Header { path: MODULE.into(), field, found, expected });
    }
    // Both headers agree on other flags: "deflated with more effort" and "the path is UTF-8".
    for (at, flag) in [(6, 2_u8), (7, 8)] {
        let mut wrong = good.clone();
        let (local, directory) = headers(&good, MODULE);
        wrong[local + at] ^= flag;
        wrong[directory + at + 2] ^= flag;
        let found = u32::from(flag) << (8 * (at - 6));
        let expected = Error::Header { path: MODULE.into(), field: F::Flags, found, expected: 0 };
        assert_eq!(refused(wrong), expected);
    }
    // An extra field where none may be.
    let (index, mut parts) = self::good();
    parts[0].aligned = Some((16, 0));
    let error = refused(file(&index, parts));
    assert!(matches!(error, Error::Header { field: F::ExtraField, .. }), "{error:?}");
}

#[test]
fn sizes_are_the_index_s() {
    let (mut index, parts) = good();
    index.entries[5].size += 1;
    assert_eq!(refused(file(&index, parts)), Error::Size { path: TOOLS.into(), found: 12, expected: 13 });
}

#[test]
fn contents_are_compared_with_their_digest() {
    let (mut index, parts) = good();
    index.entries[0].digest = Digest::of(b"another");
    let bundle = OpenBundle::open(file(&index, parts)).unwrap();
    let error = bundle.contents(&index.entries[0]).unwrap_err();
    let found = Digest::of(b"\0asm\x01\0\0\0");
    assert_eq!(error, Error::Digest { path: MODULE.into(), found, expected: Digest::of(b"another") });
    assert_eq!(code(&error), "E0727");

    // One bit of an artifact: the zip's own sum is the first to differ.
    let mut spoiled = good_file();
    let bundle = OpenBundle::open(spoiled.clone()).unwrap();
    let range = bundle.stored_range(bundle.entry(ARTIFACT).unwrap()).unwrap();
    spoiled[range.start + 5] ^= 1;
    let bundle = OpenBundle::open(spoiled).unwrap();
    let error = bundle.contents(bundle.entry(ARTIFACT).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Archive(archive::Error::CrcWrong { .. })));
    assert_eq!(code(&error), "E0726");
}

#[test]
fn every_byte_of_the_structure_counts() {
    let good = good_file();
    let whole = OpenBundle::open(good.as_slice()).unwrap();
    let data: Vec<Range<u64>> = whole
        .places
        .values()
        .map(|place| place.data_offset..place.data_offset + place.compressed_size)
        .collect();
    let artifact = whole.stored_range(whole.entry(ARTIFACT).unwrap()).unwrap();
    // Most of the padding is like the rest of it.
    let padding = headers(&good, ARTIFACT).0 + 30 + ARTIFACT.len();
    for at in (0..padding + 50).chain(artifact.start - 50..good.len()) {
        let in_data = data.iter().any(|range| range.contains(&(at as u64)));
        if in_data && at % 8 != 0 {
            continue;
        }
        let mut wrong = good.clone();
        wrong[at] ^= 0x10;
        let opened = OpenBundle::open(wrong);
        assert!(in_data || opened.is_err(), "a changed bit at {at} is not noticed");
        // A deflated stream may end inside a byte, whose other bits mean nothing: whatever can be
        // read is what it was.
        let Ok(bundle) = opened else { continue };
        assert_eq!(bundle.digest(), whole.digest());
        for entry in &bundle.index().entries {
            if let Ok(contents) = bundle.contents(entry) {
                assert_eq!(contents, whole.contents(entry).unwrap(), "a changed bit at {at}");
            }
        }
    }
}

/// The error of a good bundle whose index was changed.
fn index_error(change: impl Fn(&mut Index)) -> IndexError {
    let (mut index, parts) = good();
    change(&mut index);
    match refused(file(&index, parts)) {
        Error::Index(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The error of a good bundle whose index has another text.
fn text_error(change: impl Fn(String) -> String) -> IndexError {
    let (index, parts) = good();
    let text = change(String::from_utf8(index.to_json()).unwrap());
    match refused(file_with(text.as_bytes(), parts)) {
        Error::Index(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_index_has_one_spelling() {
    assert_eq!(text_error(|text| text.trim_end().to_owned()), IndexError::Spelling);
    assert_eq!(text_error(|text| text.replace("  ", "\t")), IndexError::Spelling);
    assert_eq!(text_error(|text| text.replace("greet", "\\u0067reet")), IndexError::Spelling);
    // A short name of a target means the same, and is another spelling.
    let short = |text: String| text.replace("\"x86_64-unknown-linux-gnu/", "\"x86_64-linux/");
    assert_eq!(text_error(short), IndexError::Spelling);
    for (from, to, message) in [
        ("\"package\"", "\"more\": 1,\n  \"package\"", "unknown field `more`, expected"),
        (
            "\"package\": \"greet\",",
            "\"package\": \"greet\", \"package\": \"greet\",",
            "duplicate field `package`",
        ),
        ("\"role\": \"tools\"", "\"role\": \"tools\", \"role\": \"tools\"", "duplicate field `role`"),
        ("\"role\": \"tools\"", "\"role\": \"toys\"", "unknown variant `toys`"),
        ("\"package\": \"greet\",", "", "missing field `package`"),
        ("\"size\": 12", "\"size\": -12", "invalid value: integer `-12`, expected u64"),
        ("{\n", "[\n", "expected `:`"),
    ] {
        let error = text_error(|text| text.replacen(from, to, 1));
        let IndexError::Json { message: found, .. } = &error else { panic!("{from}: {error:?}") };
        assert!(found.starts_with(message) || from == "{\n", "{found}");
    }
    let trailing = text_error(|text| text + "{}");
    assert_eq!(
        trailing,
        IndexError::Json { message: "trailing characters".into(), line: trailing_line(), column: 1 }
    );
}

fn trailing_line() -> u64 {
    good().0.to_json().iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

#[test]
fn other_formats_are_told_apart() {
    for (format, newer) in [(0, false), (2, true), (700, true)] {
        let error = text_error(|text| {
            text.replacen("\"format\": 1", &format!("\"format\": {format}, \"new\": []"), 1)
        });
        assert_eq!(error, IndexError::Format { found: format });
        let diagnostic = &error.diagnostics()[0];
        assert_eq!(diagnostic.code.as_str(), "E0705");
        assert_eq!(
            diagnostic.message,
            format!("`bundle.json` has format {format}, this version reads format 1")
        );
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        assert_eq!(hint.contains("use a version of this program"), newer, "{hint}");
        assert_eq!(hint.contains("build it again"), !newer, "{hint}");
    }
    let error = text_error(|text| text.replacen("\"format\": 1", "\"format\": \"1\"", 1));
    assert!(matches!(error, IndexError::Json { line: 2, .. }), "{error:?}");
}

#[test]
fn the_index_keeps_its_rules() {
    let path = |path: &str| path.to_owned();
    assert_eq!(index_error(|index| index.engine.name = "other".into()), IndexError::Engine("other".into()));
    for name in ["", "Greet", "a b", &"a".repeat(65)] {
        assert_eq!(index_error(|index| index.package = name.into()), IndexError::PackageName(name.into()));
    }
    assert_eq!(
        index_error(|index| index.imports.swap(0, 1)),
        IndexError::ImportOrder("wasi_snapshot_preview1.fd_read".into())
    );
    assert_eq!(index_error(|index| index.entries.swap(4, 5)), IndexError::EntryOrder(path(MANIFEST)));
    let twice = |index: &mut Index| index.entries.insert(0, index.entries[0].clone());
    assert_eq!(index_error(twice), IndexError::EntryOrder(path(MODULE)));
    for (at, absent) in [(0, MODULE), (4, MANIFEST), (5, TOOLS)] {
        assert_eq!(index_error(|index| drop(index.entries.remove(at))), IndexError::RoleAbsent(absent));
    }
    for (at, role) in
        [(5, Role::Manifest), (4, Role::Tools), (5, Role::Module), (5, Role::Asset), (2, Role::Tools)]
    {
        let expected = IndexError::RolePath { path: good().0.entries[at].path.clone(), role };
        assert_eq!(index_error(|index| index.entries[at].role = role), expected);
    }
    let other_target = |index: &mut Index| index.entries[1].target = Some("pulley64".parse().unwrap());
    assert_eq!(
        index_error(other_target),
        IndexError::RolePath { path: path(ARTIFACT), role: Role::Artifact }
    );
    for change in [
        (|index: &mut Index| index.entries[1].target = None) as fn(&mut Index),
        |index| index.entries[1].cpu_features = None,
        |index| index.entries[1].role = Role::Asset,
    ] {
        assert_eq!(index_error(change), IndexError::ArtifactFields(path(ARTIFACT)));
    }
    assert_eq!(
        index_error(|index| index.entries[0].cpu_features = Some(vec![])),
        IndexError::ArtifactFields(path(MODULE))
    );
    for features in [["avx2", "avx"], ["avx", "avx"], ["", "avx"], ["avx", "\u{1b}[2J"]] {
        let change =
            |index: &mut Index| index.entries[1].cpu_features = Some(features.map(str::to_owned).to_vec());
        assert_eq!(index_error(change), IndexError::CpuFeatures(path(ARTIFACT)), "{features:?}");
    }
}

#[test]
fn asset_paths_stay_below_their_directory() {
    let long = format!("package/{}", "a".repeat(1_025));
    for wrong in [
        "package/",
        "package//a",
        "package/../a",
        "package/.",
        "package/a/",
        "package/a\\b",
        "package/a\nb",
        &long,
    ] {
        let change = |index: &mut Index| {
            index.entries[2].path = wrong.to_owned();
            index.entries[3].path = "package/~".to_owned();
        };
        assert_eq!(index_error(change), IndexError::Path(wrong.into()));
    }
    let below = |index: &mut Index| index.entries[3].path = "package/empty/inside".to_owned();
    assert_eq!(
        index_error(below),
        IndexError::PathBelowFile { path: "package/empty/inside".into(), file: "package/empty".into() }
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn spoiled_bundles_never_panic(
        changes in proptest::collection::vec((proptest::prelude::any::<u16>(), proptest::prelude::any::<u8>()), 1..8),
        from_end in proptest::prelude::any::<bool>(),
    ) {
        let mut bytes = good_file();
        for (at, value) in changes {
            // The index is at the file's start, the headers that lead to everything at its end.
            let near = usize::from(at) % 1_200;
            let place = if from_end { bytes.len() - 1 - near } else { near };
            bytes[place] = value;
        }
        if let Ok(bundle) = OpenBundle::open(bytes) {
            for entry in &bundle.index().entries {
                let _ = (bundle.contents(entry), bundle.stored_range(entry));
            }
        }
    }

    #[test]
    fn any_text_is_an_index_or_an_error(text in ".{0,200}", change in 0..2_000_usize) {
        let _ = Index::from_json(text.as_bytes());
        let mut json = good().0.to_json();
        let at = change % json.len();
        json.splice(at..=at, text.bytes());
        let _ = Index::from_json(&json);
    }
}

/// The good bundle, whose entry at `at` has these bytes, and says that it has `claimed` of them.
fn claiming(at: usize, bytes: &[u8], claimed: u64) -> Vec<u8> {
    let (mut index, mut parts) = good();
    let path = index.entries[at].path.clone();
    index.entries[at].size = claimed;
    index.entries[at].digest = Digest::of(bytes);
    parts[at].bytes = bytes.to_vec();
    let mut file = file(&index, parts);
    let (local, directory) = headers(&file, &path);
    for size_at in [local + 22, directory + 24] {
        file[size_at..size_at + 4].copy_from_slice(&(claimed as u32).to_le_bytes());
    }
    file
}

#[test]
fn manifest_and_tools_are_bounded_before_they_are_inflated() {
    for (at, path, allowed) in [(4, "subako-package.json", 65_536), (5, "tools.json", 1_310_720)] {
        let bytes = vec![b' '; allowed as usize];
        let bundle = OpenBundle::open(claiming(at, &bytes, allowed)).unwrap();
        assert_eq!(bundle.contents(&bundle.index().entries[at]).unwrap(), bytes);
        for found in [allowed + 1, 0xf000_0000] {
            let error = refused(claiming(at, b"{}", found));
            assert_eq!(error, Error::TooLarge { path: path.into(), found, allowed });
            assert_eq!(code(&error), "E0731");
        }
    }
}

#[test]
fn a_module_or_an_asset_claims_no_more_than_deflate_can_make() {
    for at in [0, 3] {
        // Not looked at up to 64 MiB; what it inflates to is still compared.
        assert!(OpenBundle::open(claiming(at, b"short", 64 << 20)).is_ok());
        let error = refused(claiming(at, b"short", (64 << 20) + 1));
        assert!(matches!(error, Error::TooLarge { allowed: 67_108_864, .. }), "{error}");
        assert_eq!(code(&error), "E0731");
    }
    // 100,000 bytes that do not compress: five stored blocks at most, of some bytes each.
    let mut state = 1_u32;
    let noise: Vec<u8> = (0..100_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    assert!(OpenBundle::open(claiming(3, &noise, 109_000_000)).is_ok());
    assert!(matches!(refused(claiming(3, &noise, 111_000_000)), Error::TooLarge { .. }));
}

#[test]
fn the_best_that_deflate_does_is_read() {
    let zeros = vec![0; (64 << 20) + 1];
    let bundle = OpenBundle::open(claiming(3, &zeros, zeros.len() as u64)).unwrap();
    assert!(bundle.contents(&bundle.index().entries[3]).unwrap() == zeros);
}
