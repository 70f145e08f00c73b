//! What the compiler makes, the loader runs: both built apart, as users get them.

use std::fs;

use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, elf};
use serde_json::json;
use subako_tests::bundle::Bundle;
use subako_tests::package::{hello, hello_bundle, host_target};
use subako_tests::run::Run;

fn greet(bundle: &Bundle) -> Run {
    bundle.call("greet", &json!({ "name": "Ada" }), &["-v"])
}

/// What `-v` says of the artifact that runs.
fn picked(run: &Run) -> &str {
    let line = run.stderr.lines().find_map(|line| line.strip_prefix("runs: "));
    line.unwrap_or_else(|| panic!("`-v` does not name the artifact: {run}"))
}

/// The levels of this architecture, and what `/proc/cpuinfo` must list for each.
fn levels() -> Vec<(&'static str, &'static [&'static str])> {
    if cfg!(target_arch = "x86_64") {
        vec![
            ("x86-64-v2", &["sse4_2", "popcnt", "ssse3", "cx16"]),
            ("x86-64-v3", &["sse4_2", "popcnt", "ssse3", "cx16", "avx2", "bmi1", "bmi2", "fma", "abm"]),
        ]
    } else {
        Vec::new()
    }
}

/// Whether this CPU has these features; none on a system that does not say.
fn host_has(features: &[&str]) -> Option<bool> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags: Vec<&str> = info
        .lines()
        .find_map(|line| line.strip_prefix("flags")?.split_once(':'))?
        .1
        .split_whitespace()
        .collect();
    Some(features.iter().all(|feature| flags.contains(feature)))
}

#[test]
fn the_host_baseline_runs() {
    let run = greet(&hello().build_with(&["--target", host_target()])).exits(0);
    assert_eq!(run.stdout, "Hello, Ada!\n", "{run}");
    assert!(picked(&run).starts_with(host_target()), "{run}");
}

#[test]
fn portable_bytecode_runs() {
    let run = greet(&hello().build_with(&["--target", "pulley64"])).exits(0);
    assert_eq!(run.stdout, "Hello, Ada!\n", "{run}");
    assert!(picked(&run).starts_with("pulley64"), "{run}");
}

#[test]
fn a_cpu_level_runs_where_the_cpu_has_it() {
    for (level, features) in levels() {
        let target = format!("{}/{level}", host_target());
        let run = greet(&hello().build_with(&["--target", &target]));
        match host_has(features) {
            Some(true) => {
                let run = run.exits(0);
                assert_eq!(run.stdout, "Hello, Ada!\n", "{run}");
                assert!(picked(&run).starts_with(&target), "{run}");
            }
            Some(false) => assert!(run.exits(3).stderr.contains(level)),
            None => {}
        }
    }
}

/// The default set has bytecode and native code for this host: native code is taken.
#[test]
fn native_code_goes_first() {
    let run = greet(hello_bundle()).exits(0);
    assert!(picked(&run).starts_with(host_target()), "{run}");
}

#[test]
fn an_artifact_for_another_host_is_refused_by_name() {
    let other = match std::env::consts::ARCH {
        "aarch64" => "x86_64-unknown-linux-gnu",
        _ => "aarch64-unknown-linux-gnu",
    };
    let run = greet(&hello().build_with(&["--target", other, "--target", "riscv64-linux"])).exits(3);
    assert_eq!(run.errors().len(), 1, "{run}");
    for words in [other, "riscv64gc-unknown-linux-gnu", std::env::consts::ARCH] {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
    assert_eq!(run.stdout, "");
}

/// ELF for the machine that the name says, stored as it is at a multiple of 16 KiB.
#[test]
fn artifacts_are_what_their_names_say() {
    let targets = [
        ("x86_64-unknown-linux-gnu", elf::EM_X86_64),
        ("aarch64-unknown-linux-gnu", elf::EM_AARCH64),
        ("riscv64gc-unknown-linux-gnu", elf::EM_RISCV),
    ];
    let arguments: Vec<&str> = targets.iter().flat_map(|(target, _)| ["--target", target]).collect();
    let bundle = hello().build_with(&arguments);
    for (target, machine) in targets {
        let entry = bundle.entry(&format!("native/{target}/baseline.cwasm"));
        assert!(entry.stored && entry.offset.is_multiple_of(16 * 1024), "{target} is at {}", entry.offset);
        let file = ElfFile64::<Endianness>::parse(entry.bytes.as_slice()).expect("the artifact is ELF");
        assert_eq!(file.elf_header().e_machine(file.endian()), machine, "{target}");
    }
}
