//! What a start may cost, and whether it does. A bar that is missed is told and nothing more: a
//! busy machine is no fault of the code.

use std::fmt::Write as _;
use std::fs;

use crate::measure::Measured;
use crate::programs::Programs;
use crate::statistics::spread;
use crate::workload::{Kind, Workload};

/// A start from somewhere, at most so many times as long as something else.
struct Bar {
    workload: &'static str,
    start: Kind,
    /// What it is compared with: the wasmtime command line, or the native program.
    against_wasmtime: bool,
    at_most: f64,
}

const fn bar(workload: &'static str, start: Kind, against_wasmtime: bool, at_most: f64) -> Bar {
    Bar { workload, start, against_wasmtime, at_most }
}

const BARS: &[Bar] = &[
    bar("hello", Kind::CallCache, true, 0.25),
    bar("hello", Kind::CallBundle, true, 0.35),
    bar("hello", Kind::CallCache, false, 2.0),
    bar("hello", Kind::CallBundle, false, 2.5),
    bar("greet-c", Kind::CallCache, true, 0.25),
    bar("greet-c", Kind::CallBundle, true, 0.35),
    bar("go", Kind::CallCache, true, 0.4),
];

/// A start from the cache is to take as long with 32 MiB that it does not read as without.
const PADDED: f64 = 1.1;
/// Bytes of the loader.
const LOADER_BYTES: u64 = 5 << 20;
/// Peak memory of a call of the tiny module, in KiB.
const PEAK_KIB: f64 = 6.0 * 1024.0;

/// The table of bars.
#[expect(clippy::cast_precision_loss, reason = "a program is not that large")]
pub(crate) fn judged(programs: &Programs, workloads: &[Workload], measured: &[Vec<Vec<Measured>>]) -> String {
    let mut table =
        String::from("### Bars\n\n| what | measured | at most | |\n| --- | ---: | ---: | --- |\n");
    let mut row = |what: &str, found: f64, at_most: f64, unit: &str| {
        let word = if found <= at_most { "pass" } else { "**fail**" };
        let _ = writeln!(table, "| {what} | {found:.2}{unit} | {at_most:.2}{unit} | {word} |");
    };
    let median = |runs: &[Measured]| spread(runs.iter().map(Measured::wall_ms)).median;
    let runs = |name: &str, fits: &dyn Fn(Kind) -> bool| -> Option<(String, &Vec<Measured>)> {
        let at = workloads.iter().position(|workload| workload.name == name)?;
        let variant = workloads[at].variants.iter().position(|variant| fits(variant.kind))?;
        Some((workloads[at].variants[variant].name.clone(), &measured[at][variant]))
    };
    for Bar { workload, start, against_wasmtime, at_most } in BARS {
        let other = |kind: Kind| match against_wasmtime {
            true => kind == Kind::Wasmtime,
            false => matches!(kind, Kind::Native(_)),
        };
        let (Some((name, ours)), Some((other, theirs))) =
            (runs(workload, &|kind| kind == *start), runs(workload, &other))
        else {
            continue;
        };
        row(&format!("{workload}: {name} ÷ {other}"), median(ours) / median(theirs), *at_most, "×");
    }
    let cached = |name: &str| runs(name, &|kind| kind == Kind::CallCache);
    if let (Some((name, large)), Some((_, tiny))) = (cached("padded"), cached("hello")) {
        let ratio = median(large) / median(tiny);
        row(&format!("padded: {name} ÷ hello: {name}"), ratio, PADDED, "×");
    }
    if let Some((_, runs)) = runs("hello", &|kind| kind == Kind::CallBundle) {
        let peak = spread(runs.iter().map(|run| run.peak_kib)).median;
        row("hello: peak memory from the bundle", peak / 1024.0, PEAK_KIB / 1024.0, " MiB");
    }
    if let Ok(loader) = fs::metadata(&programs.loader) {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        row("the loader's size", mib(loader.len()), mib(LOADER_BYTES), " MiB");
    }
    table + "\n"
}
