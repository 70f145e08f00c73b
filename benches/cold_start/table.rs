//! The figures as Markdown tables.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Fault;
use crate::measure::Measured;
use crate::programs::Programs;
use crate::statistics::{Spread, spread};
use crate::workload::{Kind, Workload};

/// The starts of one module.
pub(crate) fn starts(workload: &Workload, rows: &[Vec<Measured>]) -> String {
    let mut table = format!("### {}: {}\n\n", workload.name, workload.what);
    table.push_str(
        "| start | wall ms, median (quartiles) | CPU ms | page faults, minor + major | peak MiB | × wasmtime | × native |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let median = |kind: &dyn Fn(Kind) -> bool| {
        let at = workload.variants.iter().position(|variant| kind(variant.kind))?;
        Some(spread(rows[at].iter().map(Measured::wall_ms)).median)
    };
    let wasmtime = median(&|kind| kind == Kind::Wasmtime);
    let native = median(&|kind| matches!(kind, Kind::Native(_)));
    for (variant, runs) in workload.variants.iter().zip(rows) {
        let wall = spread(runs.iter().map(Measured::wall_ms));
        let middle = |figure: &dyn Fn(&Measured) -> f64| spread(runs.iter().map(figure)).median;
        let _ = writeln!(
            table,
            "| {} | {} | {:.2} | {:.0} + {:.0} | {:.1} | {} | {} |",
            variant.name,
            shown(wall, 2),
            middle(&|run| run.cpu_us) / 1000.0,
            middle(&|run| run.minor_faults),
            middle(&|run| run.major_faults),
            middle(&|run| run.peak_kib) / 1024.0,
            ratio(wall.median, wasmtime),
            ratio(wall.median, native),
        );
    }
    table + "\n"
}

fn ratio(ours: f64, theirs: Option<f64>) -> String {
    theirs.map_or_else(|| "–".to_owned(), |theirs| format!("{:.2}", ours / theirs))
}

fn shown(Spread { median, lower, upper }: Spread, digits: usize) -> String {
    format!("{median:.digits$} ({lower:.digits$}–{upper:.digits$})")
}

/// Sizes of programs, modules and artifacts.
pub(crate) fn sizes(programs: &Programs, workloads: &[Workload]) -> Result<String, Fault> {
    let mut table = String::from("### Sizes\n\n| file | bytes |\n| --- | ---: |\n");
    let mut row = |what: &str, bytes: u64| {
        let _ = writeln!(table, "| {what} | {} |", grouped(bytes));
    };
    let bytes = |file: &Path| -> Result<u64, Fault> { Ok(fs::metadata(file)?.len()) };
    row("`subako-loader`, static and stripped", bytes(&programs.loader)?);
    if let Some(wasmtime) = &programs.wasmtime {
        row("`wasmtime`", bytes(wasmtime)?);
    }
    row("native C program, static and stripped", bytes(&programs.greet)?);
    for workload in workloads {
        row(&format!("{}: module", workload.name), workload.module_bytes);
        row(&format!("{}: artifact", workload.name), workload.artifact_bytes);
    }
    Ok(table + "\n")
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The steps of one way of starting.
pub(crate) fn steps(title: &str, steps: &[(String, Spread)]) -> String {
    let mut table = format!("#### Steps of {title}\n\n| step | µs, median (quartiles) |\n| --- | ---: |\n");
    for (name, spread) in steps {
        let _ = writeln!(table, "| {name} | {} |", shown(*spread, 0));
    }
    table + "\n"
}
