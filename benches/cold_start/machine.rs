//! What the figures were measured on, and with what.

use std::fs;

use crate::programs::{Programs, first_line};
use crate::workload::Signing;

/// The machine's load: how many threads ran or wanted to, over one, five and fifteen minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The head of the figures.
pub(crate) fn describe(
    programs: &Programs,
    signing: &Signing,
    rounds: usize,
    before: &str,
    after: &str,
) -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of_cpu = |key: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, value)| value)
    };
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let flags: Vec<&str> = of_cpu("flags").split(' ').collect();
    let has = |flag: &str| if flags.contains(&flag) { "with" } else { "without" };
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib: u64 = meminfo.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = |program: &std::path::Path, arguments: &[&str]| {
        first_line(program, arguments).unwrap_or_else(|| "unknown".to_owned())
    };
    let mut lines = vec![
        format!(
            "- machine: {}, {cores} cores, {} MiB of memory, Linux {}, {} SHA and {} AVX2 instructions{}",
            of_cpu("model name"),
            memory_kib / 1024,
            kernel.trim(),
            has("sha_ni"),
            has("avx2"),
            if flags.contains(&"hypervisor") { ", a virtual machine" } else { "" },
        ),
        format!("- load before and after: {before}; {after}"),
        format!("- rounds: {rounds}, interleaved"),
        format!("- loader: {}, static; bundles {}", version(&programs.loader, &["--version"]), signing.words),
        format!("- native programs: {}, `-O2 -static`", version("gcc".as_ref(), &["--version"])),
    ];
    match &programs.wasmtime {
        Some(wasmtime) => lines.push(format!("- command line: {}", version(wasmtime, &["--version"]))),
        None => lines.push("- command line: none here".to_owned()),
    }
    if let Some(go) = &programs.go {
        lines.push(format!("- Go: {}", version(go, &["version"])));
    }
    lines.join("\n") + "\n\n"
}
