//! Passes, one by one and together, over modules in text and over the accepted fixtures.

use super::*;
use crate::check::tests::accepted;
use proptest::prelude::*;

const ALL_OFF: Passes = Passes { exports: false, unreachable: false, strip: Strip::None };

fn module(more: &str) -> CheckedModule {
    let text = format!("(module {more} (memory (export \"memory\") 1) (func (export \"_start\")))");
    check(wat::parse_str(text).unwrap(), "module.wasm").unwrap()
}

fn exports(bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        if let Payload::ExportSection(section) = payload.unwrap() {
            names.extend(section.into_iter().map(|export| export.unwrap().name.to_owned()));
        }
    }
    names
}

fn customs(bytes: &[u8]) -> Vec<String> {
    sections::split(bytes).unwrap().iter().filter(|s| s.id == 0).map(|s| s.name.to_owned()).collect()
}

fn removed(report: &RewriteReport, pass: &str) -> Vec<(&'static str, u64)> {
    let line = report.passes.iter().find(|line| line.name == pass).unwrap();
    line.removed.iter().map(|(what, count)| (*what, *count)).collect()
}

/// The combinations of switches.
fn switches() -> Vec<Passes> {
    let mut all = Vec::new();
    for strip in [Strip::None, Strip::Debug, Strip::All] {
        for (exports, unreachable) in [(false, false), (false, true), (true, false), (true, true)] {
            all.push(Passes { exports, unreachable, strip });
        }
    }
    all
}

#[test]
fn passes_switched_off_change_nothing() {
    for (name, module) in accepted() {
        let before = module.bytes().to_vec();
        let (after, report) = rewrite(module, &ALL_OFF).unwrap();
        assert_eq!(after.bytes(), before, "{name}");
        assert!(report.kept_original && report.passes.iter().all(|line| !line.ran), "{name}");
    }
}

#[test]
fn exports_but_the_two_go() {
    let module = module("(func (export \"helper\")) (global (export \"__heap_base\") i32 (i32.const 1))");
    let (after, report) = rewrite(module, &Passes { exports: true, ..ALL_OFF }).unwrap();
    assert_eq!(exports(after.bytes()), ["memory", "_start"]);
    assert_eq!(removed(&report, "exports"), [("exports", 2)]);
    assert!(report.after < report.before);
}

#[test]
fn a_second_export_of_the_memory_or_of_start_goes() {
    let text = "(module (memory (export \"memory\") (export \"again\") 1) (func (export \"_start\") (export \"main\")))";
    let module = check(wat::parse_str(text).unwrap(), "module.wasm").unwrap();
    let (after, _) = rewrite(module, &Passes::default()).unwrap();
    assert_eq!(exports(after.bytes()), ["memory", "_start"]);
}

#[test]
fn a_function_that_only_its_export_declared_is_declared_anew() {
    for more in [
        "(table 1 funcref) (func $f (export \"f\")) (func $g (table.set (i32.const 0) (ref.func $f)))",
        "(table 1 funcref) (elem (i32.const 0) $g) (func $f (export \"f\")) \
         (func $g (table.set (i32.const 0) (ref.func $f)))",
        "(table 1 funcref) (data $d \"x\") (func $f (export \"f\")) \
         (func $g (data.drop $d) (table.set (i32.const 0) (ref.func $f)))",
    ] {
        let (after, _) = rewrite(module(more), &Passes { exports: true, ..ALL_OFF }).unwrap();
        assert_eq!(exports(after.bytes()), ["memory", "_start"], "{more}");
    }
}

#[test]
fn what_nothing_reaches_goes() {
    let (_, module) = accepted().into_iter().find(|(name, _)| name == "unused-code").unwrap();
    let (after, report) = rewrite(module, &Passes::default()).unwrap();
    assert_eq!(after.imports(), ["wasi_snapshot_preview1.proc_exit"]);
    assert_eq!(removed(&report, "exports"), [("exports", 1)]);
    assert_eq!(
        removed(&report, "unreachable"),
        [
            ("data", 1),
            ("elements", 1),
            ("functions", 2),
            ("globals", 1),
            ("imports", 1),
            ("tables", 1),
            ("types", 2)
        ]
    );
    let line = &report.passes[1];
    assert!(line.after_bytes < line.before_bytes && line.kept.is_none());
}

#[test]
fn an_export_that_stays_keeps_what_it_reaches() {
    let text = "(func $deep (result i32) i32.const 1) (func (export \"helper\") (drop (call $deep)))";
    let (after, report) = rewrite(module(text), &Passes { exports: false, ..Passes::default() }).unwrap();
    assert_eq!(exports(after.bytes()), ["helper", "memory", "_start"]);
    assert!(!removed(&report, "unreachable").iter().any(|(what, _)| *what == "functions"));
}

#[test]
fn the_start_section_keeps_what_it_reaches() {
    let (_, module) = accepted().into_iter().find(|(name, _)| name == "start-section").unwrap();
    let (after, _) = rewrite(module, &Passes::default()).unwrap();
    let started = Parser::new(0)
        .parse_all(after.bytes())
        .any(|payload| matches!(payload.unwrap(), Payload::StartSection { .. }));
    assert!(started);
}

#[test]
fn custom_sections_go_as_strip_says() {
    let (_, module) = accepted().into_iter().find(|(name, _)| name == "custom-sections").unwrap();
    let stripped = |strip, unreachable| {
        let (after, _) = rewrite(module.clone(), &Passes { exports: true, unreachable, strip }).unwrap();
        let mut names = customs(after.bytes());
        names.sort();
        names
    };
    assert_eq!(
        stripped(Strip::None, false),
        [".debug_info", "anything", "name", "producers", "target_features"]
    );
    // The code has moved: what speaks of places in it would be wrong.
    assert_eq!(stripped(Strip::None, true), ["anything", "name", "producers", "target_features"]);
    for unreachable in [false, true] {
        assert_eq!(stripped(Strip::All, unreachable), [""; 0]);
    }
    assert_eq!(stripped(Strip::Debug, false), ["name"]);
}

#[test]
fn constants_keep_their_bits() {
    // A signalling NaN and a negative one with a payload, little-endian behind their opcodes.
    let module = module(
        "(func (param i64 i64)) (func $f (drop (f32.const nan:0x200001)) (drop (f64.const -nan:0x4000000000002))) \
         (start $f)",
    );
    let (after, report) = rewrite(module, &Passes::default()).unwrap();
    assert_eq!(removed(&report, "unreachable"), [("functions", 1), ("types", 1)]);
    let has = |bytes: &[u8]| after.bytes().windows(bytes.len()).any(|window| window == bytes);
    assert!(has(&[0x43, 0x01, 0x00, 0xa0, 0x7f]));
    assert!(has(&[0x44, 0x02, 0, 0, 0, 0, 0, 0xf4, 0xff]));
}

#[test]
fn names_stay_with_the_functions_that_stay() {
    let module = module("(func $gone) (func $stays (drop (i32.const 1))) (start $stays)");
    let (after, _) = rewrite(module, &Passes::default()).unwrap();
    let has = |name: &[u8]| after.bytes().windows(name.len()).any(|window| window == name);
    assert!(has(b"stays") && !has(b"gone"));
}

#[test]
fn a_module_with_nothing_to_give_stays_as_it_is() {
    let before = module("");
    let (after, report) = rewrite(before.clone(), &Passes::default()).unwrap();
    assert_eq!(after.bytes(), before.bytes());
    assert!(report.kept_original);
    assert_eq!((report.before, report.after), (before.bytes().len() as u64, before.bytes().len() as u64));
}

#[test]
fn a_module_that_would_only_grow_stays_as_it_is() {
    // walrus gives every `if` an `else`, of one byte.
    let before = module("(func (if (i32.const 1) (then))) (start 0)");
    let bytes = before.bytes().len() as u64;
    let (after, report) = rewrite(before.clone(), &Passes::default()).unwrap();
    assert_eq!(after.bytes(), before.bytes());
    assert_eq!(report.passes[1].kept, Some(Kept::Larger { bytes: bytes + 1 }));
    assert!(report.passes[1].ran && report.passes[1].removed.is_empty());
}

/// A module of `_start` and `more` functions that declare 50,000 locals each.
fn many_locals(more: usize) -> CheckedModule {
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [&[id][..], &long(content.len()), content].concat()
    }
    /// A number in three bytes.
    fn long(number: usize) -> [u8; 3] {
        [number as u8 | 0x80, (number >> 7) as u8 | 0x80, (number >> 14) as u8]
    }
    let count = long(more + 1);
    let bytes = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(3, &[&count[..], &vec![0; more + 1]].concat()),
        section(5, &[1, 0, 1]),
        section(7, b"\x02\x06memory\x02\0\x06_start\0\0"),
        section(10, &[&count[..], &[2, 0, 0x0b], &[6, 1, 0xd0, 0x86, 3, 0x7f, 0x0b].repeat(more)].concat()),
    ];
    check(bytes.concat(), "module.wasm").unwrap()
}

#[test]
fn the_memory_of_the_pass_is_estimated_from_code_and_locals() {
    // `_start` is 2 bytes: no locals, `end`. The other: one group of locals, which is 1 byte for
    // the number of groups, 3 for 50,000, 1 for the type; and `end`.
    let estimate = unreachable::estimated_memory(many_locals(1).bytes()).unwrap();
    assert_eq!(estimate, (2 + 6) * 95 + 50_000 * 100);
}

#[test]
fn a_pass_that_would_take_too_much_memory_is_left_out() {
    // 4 GiB are 858 functions of 50,000 locals at 100 bytes each, and a little.
    let before = many_locals(859);
    assert!(before.bytes().len() < 10_000);
    let (after, report) = rewrite(before.clone(), &Passes::default()).unwrap();
    assert_eq!(after.bytes(), before.bytes());
    let estimated_bytes = (2 + 859 * 6) * 95 + 859 * 50_000 * 100;
    assert_eq!(
        report.passes[1].kept,
        Some(Kept::TooMuchMemory { estimated_bytes, max_bytes: 4_294_967_296 })
    );
    assert!(report.passes[1].ran && report.passes[1].removed.is_empty());
}

#[test]
fn the_other_passes_keep_their_promise_where_the_module_would_grow() {
    let before = module(
        "(@custom \"producers\" \"\\00\") (func (export \"helper\") (if (i32.const 1) (then))) (start 0)",
    );
    let (after, report) = rewrite(before, &Passes::default()).unwrap();
    assert!(matches!(report.passes[1].kept, Some(Kept::Larger { .. })));
    assert_eq!(exports(after.bytes()), ["memory", "_start"]);
    assert_eq!(customs(after.bytes()), [""; 0]);
}

#[test]
fn the_lines_of_the_report_join() {
    for (name, module) in accepted() {
        for passes in switches() {
            let (after, report) = rewrite(module.clone(), &passes).unwrap();
            let names: Vec<_> = report.passes.iter().map(|line| line.name).collect();
            assert_eq!(names, ["exports", "unreachable", "strip"]);
            assert_eq!(report.passes[0].before_bytes, report.before, "{name}");
            assert_eq!(report.passes[0].after_bytes, report.passes[1].before_bytes, "{name}");
            assert_eq!(report.passes[1].after_bytes, report.passes[2].before_bytes, "{name}");
            assert_eq!(report.passes[2].after_bytes, report.after, "{name}");
            assert_eq!(report.after, after.bytes().len() as u64, "{name}");
        }
    }
}

#[test]
fn a_rewrite_of_its_own_output_changes_nothing_and_is_the_same_each_time() {
    for (name, module) in accepted() {
        for passes in switches() {
            let (once, _) = rewrite(module.clone(), &passes).unwrap();
            let (again, _) = rewrite(module.clone(), &passes).unwrap();
            assert_eq!(once, again, "{name} {passes:?}");
            let (twice, report) = rewrite(once.0.clone(), &passes).unwrap();
            assert_eq!(once, twice, "{name} {passes:?}");
            assert!(report.kept_original, "{name} {passes:?}");
            assert!(report.passes.iter().all(|line| line.removed.is_empty()), "{name} {passes:?}");
        }
    }
}

#[test]
fn a_rewrite_never_makes_a_fixture_larger() {
    for (name, module) in accepted() {
        let (_, report) = rewrite(module, &Passes::default()).unwrap();
        assert!(report.after <= report.before, "{name}: {report:?}");
    }
}

#[test]
fn thousands_of_blocks_within_each_other_end_well() {
    let depth = 20_000;
    // `block` and `end` are 0x02 0x40 and 0x0b; the body begins with no locals.
    let mut body = vec![0];
    body.extend([0x02, 0x40].repeat(depth));
    body.extend([0x0b].repeat(depth + 1));
    let mut code = vec![1];
    sections::push_u32(&mut code, body.len() as u32);
    code.extend(body);
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    for (id, content) in [
        (1, &[1, 0x60, 0, 0][..]),
        (3, &[1, 0]),
        (5, &[1, 0, 1]),
        (7, b"\x02\x06_start\0\0\x06memory\x02\0"),
        (10, &code),
    ] {
        bytes.extend(sections::make(id, content));
    }
    let module = check(bytes, "module.wasm").unwrap();
    rewrite(module, &Passes::default()).unwrap();
}

proptest! {
    /// A byte changed at random, where the module is still accepted, is still rewritten.
    #[test]
    fn odd_modules_are_rewritten_without_a_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let modules = accepted();
        let mut bytes = which.get(&modules).1.bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(module) = check(bytes, "module.wasm") {
            for passes in switches() {
                let (once, _) = rewrite(module.clone(), &passes).unwrap();
                let (twice, _) = rewrite(once.0.clone(), &passes).unwrap();
                prop_assert_eq!(once, twice);
            }
        }
    }
}
