//! The fixtures of `tests/fixtures/module`: a module in text each, whose head says what is
//! expected, `;; expect: CODE SUBJECT`, a line a fault; and what text cannot express.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use subako_manifest::diagnostic::Explain as _;

use super::*;

const FILE: &str = "module.wasm";

fn fixtures(kind: &str) -> Vec<(String, Vec<u8>, BTreeSet<String>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/module").join(kind);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let expected =
                text.lines().filter_map(|line| line.strip_prefix(";; expect: ")).map(str::to_owned).collect();
            let bytes = wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, bytes, expected)
        })
        .collect()
}

/// The modules of the accepted fixtures, for the rewrite's tests too.
pub(crate) fn accepted() -> Vec<(String, CheckedModule)> {
    fixtures("accepted")
        .into_iter()
        .map(|(name, bytes, _)| {
            let module = check(bytes, FILE).unwrap_or_else(|refused| panic!("{name} is refused:\n{refused}"));
            (name, module)
        })
        .collect()
}

fn faults(bytes: &[u8]) -> Vec<Diagnostic> {
    check(bytes.to_vec(), FILE).err().map(|refused| refused.diagnostics()).unwrap_or_default()
}

fn codes(bytes: &[u8]) -> Vec<&'static str> {
    faults(bytes).iter().map(|fault| fault.code.as_str()).collect()
}

fn assemble(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// The smallest module that is accepted, with `more` in it.
fn with(more: &str) -> Vec<u8> {
    assemble(&format!("(module {more} (memory (export \"memory\") 1) (func (export \"_start\")))"))
}

#[test]
fn accepted_fixtures_are_accepted() {
    for (name, _, expected) in fixtures("accepted") {
        assert!(expected.is_empty(), "{name} expects a fault and is accepted");
    }
    assert!(accepted().len() >= 15);
}

#[test]
fn refused_fixtures_are_refused_for_what_they_say() {
    for (name, bytes, expected) in fixtures("refused") {
        let found: BTreeSet<String> =
            faults(&bytes).iter().map(|fault| format!("{} {}", fault.code.as_str(), fault.subject)).collect();
        assert_eq!(found, expected, "{name}:\n{}", Refused(faults(&bytes)));
        assert!(!expected.is_empty(), "{name} expects nothing and is refused");
    }
}

#[test]
fn every_fault_has_a_place_and_a_rule_and_begins_with_what_is_refused() {
    for (name, bytes, _) in fixtures("refused") {
        for fault in faults(&bytes) {
            assert!(fault.message.starts_with('`'), "{name}: {}", fault.message);
            assert!(!fault.message.ends_with('.'), "{name}: {}", fault.message);
            assert!(fault.rule.as_deref().is_some_and(|rule| rule.contains("ABI 1")), "{name}");
            assert_eq!(fault.place.as_ref().and_then(|place| place.file.as_deref()), Some(FILE), "{name}");
        }
    }
}

#[test]
fn every_toolchain_cause_has_a_hint() {
    for (name, words) in [
        ("import-assemblyscript", "@assemblyscript/wasi-shim"),
        ("import-emscripten", "-sSTANDALONE_WASM"),
        ("import-undefined", "--allow-undefined"),
        ("import-wasi-unstable", "wasm32-wasip1"),
        ("import-preview-2", "preview 2"),
        ("import-wasm-bindgen", "cargo tree"),
        ("import-go-js", "GOOS=wasip1"),
        ("import-thread-spawn", "-pthread"),
        ("import-wasi-unknown", "`fd_write`"),
        ("import-http-unknown", "`read_response"),
        ("import-module-near", "`subako_http`"),
        ("import-memory", "--import-memory"),
        ("import-tag", "-fno-exceptions"),
        ("start-reactor", "reactor"),
        ("memory-not-exported", "--export-memory"),
        ("feature-threads", "-pthread"),
        ("feature-exceptions", "-fno-exceptions"),
        ("feature-legacy-exceptions", "-fno-exceptions"),
        ("feature-tail-call", "-mno-tail-call"),
        ("feature-extended-const", "-mno-extended-const"),
    ] {
        let (_, bytes, _) = fixtures("refused").into_iter().find(|(found, ..)| found == name).unwrap();
        let hints: Vec<String> = faults(&bytes).into_iter().filter_map(|fault| fault.hint).collect();
        assert!(hints.iter().any(|hint| hint.contains(words)), "{name}: no hint has {words}: {hints:?}");
    }
}

#[test]
fn faults_are_sorted_by_place() {
    let bytes = assemble(
        "(module (import \"env\" \"one\" (func)) (import \"env\" \"two\" (func)) \
         (func (export \"_start\") (param i32)))",
    );
    let found: Vec<String> = faults(&bytes).into_iter().map(|fault| fault.subject).collect();
    assert_eq!(found, ["memory", "env.one", "env.two", "_start"]);
}

#[test]
fn a_feature_is_counted_and_its_first_function_is_named() {
    let bytes = with("(func) (func $worker (atomic.fence) (atomic.fence)) (func (atomic.fence))");
    let fault = &faults(&bytes)[0];
    assert_eq!(
        fault.message,
        "`threads` is not available, and is used 3 times, first by an atomic instruction"
    );
    let place = fault.place.as_ref().unwrap();
    assert_eq!(place.function.as_deref(), Some("worker"));
    // `atomic.fence` is 0xfe 0x03, then a zero.
    let offset = place.offset.unwrap() as usize;
    assert_eq!(bytes[offset..offset + 3], [0xfe, 0x03, 0x00]);
    assert!(!bytes[..offset].windows(2).any(|pair| pair == [0xfe, 0x03]));
}

#[test]
fn a_function_without_a_name_is_called_by_its_index() {
    let bytes =
        with("(import \"wasi_snapshot_preview1\" \"sched_yield\" (func (result i32))) (func (atomic.fence))");
    assert_eq!(faults(&bytes)[0].place.as_ref().unwrap().function.as_deref(), Some("function 1"));
}

#[test]
fn an_invalid_function_is_named() {
    let bytes = with("(func $wrong (result i32) (i64.const 1))");
    let fault = &faults(&bytes)[0];
    assert_eq!(fault.code, Code::ModuleInvalid);
    assert_eq!(fault.place.as_ref().unwrap().function.as_deref(), Some("wrong"));
}

#[test]
fn imports_are_sorted_and_each_once() {
    let module = check(
        with(
            "(import \"wasi_snapshot_preview1\" \"sched_yield\" (func (result i32)))
             (import \"subako_http\" \"request\" (func (param i32 i32) (result i32)))
             (import \"wasi_snapshot_preview1\" \"sched_yield\" (func (result i32)))",
        ),
        FILE,
    )
    .unwrap();
    assert_eq!(module.imports(), ["subako_http.request", "wasi_snapshot_preview1.sched_yield"]);
}

#[test]
fn thousands_of_wrong_imports_are_not_all_told() {
    let imports: String = (0..1_000).map(|n| format!("(import \"env\" \"f{n}\" (func))")).collect();
    let found = faults(&with(&imports));
    assert_eq!(found.len(), 101);
    assert!(found.iter().any(|fault| fault.message == "`imports` has 900 more that are refused"));
}

#[test]
fn a_component_is_refused_and_the_way_to_a_module_told() {
    // An empty component: the header is all of it.
    let found = faults(b"\0asm\x0d\0\x01\0");
    assert_eq!((found.len(), found[0].code), (1, Code::Component));
    assert!(found[0].hint.as_ref().unwrap().contains("wasm32-wasip1"));
}

#[test]
fn files_that_are_no_module_are_told_apart() {
    for (bytes, code) in [
        (&b""[..], "E0303"),
        (b"(module)", "E0304"),
        (b"\xef\xbb\xbf ;; a comment\n (; and (; another ;) ;) (module)", "E0304"),
        (b"\0as", "E0305"),
        (b"\0asm\x01\0\0", "E0305"),
        (b"\0asm\x02\0\0\0", "E0306"),
        (b"\0asm\x01\0\x02\0", "E0306"),
        (b"\0asm\x0d\0\x01\0", "E0301"),
        (b"(component (core module))", "E0301"),
        (b"; no comment (module)", "E0302"),
        (b"\x7fELF\x02\x01\x01\0", "E0302"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "E0302"),
        (b"PK\x03\x04\x14\0\0\0", "E0302"),
        (b"{\"abi\":1}", "E0302"),
        (b"version https://git-lfs.github.com/spec/v1\n", "E0302"),
        (b"x", "E0302"),
    ] {
        assert_eq!(codes(bytes), [code], "{bytes:?}");
    }
}

#[test]
fn what_a_file_is_instead_is_said() {
    let message = |bytes: &[u8]| faults(bytes)[0].message.clone();
    assert_eq!(
        message(b"\x7fELF\x02\x01\x01\0"),
        "`module.wasm` is an ELF file, native code, not a WebAssembly module"
    );
    assert_eq!(message(b"PK\x03\x04\x14\0\0\0"), "`module.wasm` is a zip, not a WebAssembly module");
    assert_eq!(
        message(b"\0asm\x02\0\0\0"),
        "`module.wasm` is WebAssembly of version 2, only version 1 is known"
    );
}

#[test]
fn a_module_cut_anywhere_is_refused() {
    let whole = with("(func (data.drop 0)) (data \"bytes\")");
    assert_eq!(codes(&whole), [""; 0]);
    for length in 0..whole.len() {
        let found = codes(&whole[..length]);
        assert!(!found.is_empty(), "cut to {length} bytes");
    }
    // One byte short: the last section, the data, is cut.
    assert_eq!(codes(&whole[..whole.len() - 1]), ["E0305"]);
}

#[test]
fn a_cut_section_says_both_numbers() {
    // A type section of 16 bytes, of which there are 2.
    let bytes = b"\0asm\x01\0\0\0\x01\x10\x01\x60";
    let fault = &faults(bytes)[0];
    assert_eq!(
        fault.message,
        "`module.wasm` ends within its type section: the section has 16 bytes, the file has 2 of them"
    );
    assert_eq!(fault.place.as_ref().unwrap().offset, Some(8));
}

#[test]
fn bytes_after_the_module_are_refused() {
    let mut bytes = with("");
    bytes.extend_from_slice(b"\0asm\x01\0\0\0");
    assert!(codes(&bytes).iter().all(|code| ["E0305", "E0307"].contains(code)));
    assert!(!codes(&bytes).is_empty());
}

/// LLVM writes table indices of `call_indirect` in five bytes.
#[test]
fn long_table_indices_of_llvm_are_accepted() {
    // (type (func)) (func (type 0)) twice, (table 1 funcref) (memory 1), both exports, and a
    // body with `i32.const 0; call_indirect 0 (table 0x80 0x80 0x80 0x80 0x00)`.
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    bytes.extend_from_slice(&[1, 4, 1, 0x60, 0, 0]);
    bytes.extend_from_slice(&[3, 2, 1, 0]);
    bytes.extend_from_slice(&[4, 4, 1, 0x70, 0, 1]);
    bytes.extend_from_slice(&[5, 3, 1, 0, 1]);
    bytes.extend_from_slice(&[7, 19, 2, 6]);
    bytes.extend_from_slice(b"_start\0\0\x06memory\x02\0");
    bytes.extend_from_slice(&[10, 13, 1, 11, 0, 0x41, 0, 0x11, 0, 0x80, 0x80, 0x80, 0x80, 0, 0x0b]);
    assert_eq!(codes(&bytes), [""; 0], "{}", Refused(faults(&bytes)));
}

#[test]
fn names_that_would_drive_a_terminal_are_escaped() {
    let fault = &faults(&with("(import \"env\" \"\\1b[2J\" (func))"))[0];
    assert_eq!(fault.subject, "env.\\u{1b}[2J");
    assert!(!fault.to_string().contains('\u{1b}'));
}

proptest! {
    #[test]
    fn any_bytes_end_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(bytes, FILE);
    }

    #[test]
    fn any_sections_end_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend(bytes);
        let _ = check(module, FILE);
    }

    #[test]
    fn a_good_module_with_a_byte_changed_ends_without_a_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), which in any::<prop::sample::Index>()) {
        let modules = accepted();
        let mut bytes = which.get(&modules).1.bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = check(bytes, FILE);
    }
}

/// Nobody's toolchain made what is written by hand.
#[test]
fn a_module_from_text_gets_hints_for_text() {
    let module = assemble(
        "(module (import \"env\" \"abort\" (func (param i32 i32 i32 i32)))
                 (import \"subako_htp\" \"request\" (func (param i32 i32) (result i32))))",
    );
    let refused = check(module, "greet/module.wat").expect_err("much is absent");
    let told: Vec<_> =
        refused.0.iter().map(|fault| (fault.subject.as_str(), fault.hint.as_deref().unwrap_or(""))).collect();
    assert_eq!(told.len(), 4, "{refused}");
    for (subject, words) in [
        ("_start", "(func (export \"_start\") …)"),
        ("memory", "(memory (export \"memory\") 1)"),
        ("env.abort", "define the function in the module"),
        ("subako_htp.request", "`subako_http`"),
    ] {
        assert!(told.iter().any(|(found, hint)| *found == subject && hint.contains(words)), "{refused}");
    }
    assert!(!refused.to_string().contains("AssemblyScript"), "{refused}");
    assert!(refused.to_string().contains("of the assembled module"), "{refused}");
}
