//! `cargo bench -p subako-benches`: how long a cold start takes, beside the wasmtime command line
//! on the same module and beside a native program. docs/performance.md says how, and holds the
//! result.
//!
//! ```text
//! cargo bench -p subako-benches -- [--rounds N] [--only NAME,…] [--write FILE]
//! ```
//!
//! Progress goes to stderr, the tables as Markdown to stdout, and with `--write` also between the
//! markers of that file.

mod bars;
mod breakdown;
mod machine;
mod measure;
mod programs;
mod statistics;
mod table;
mod workload;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use breakdown::Breakdown;
use measure::{Measured, Runner};
use programs::Programs;
use workload::{Signing, Workload};

/// A fault that ends the measuring, in words.
type Fault = Box<dyn std::error::Error>;

/// Rounds whose figures are thrown away: they bring the files into the page cache.
const WARM_UP: usize = 2;

struct Options {
    rounds: usize,
    only: Vec<String>,
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say(&format!("error: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, Fault> {
    let mut options = Options { rounds: 40, only: Vec::new(), write: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--rounds" => options.rounds = value()?.parse()?,
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            "--write" => options.write = Some(value()?.into()),
            other => {
                return Err(format!("`{other}` is no option: --rounds N, --only NAMES, --write FILE").into());
            }
        }
    }
    if options.rounds == 0 {
        return Err("`--rounds` is at least 1".into());
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), Fault> {
    let folder = tempfile::Builder::new().prefix("subako-bench-").tempdir()?;
    let programs = Programs::find(folder.path())?;
    let signing = Signing::find(&programs, folder.path())?;
    let runner = Runner::new(&programs.measure, folder.path());
    let workloads = workload::all(&programs, &signing, &options.only, folder.path())?;

    let load_before = machine::load();
    let measured = rounds(&runner, &workloads, options.rounds)?;
    let breakdowns = breakdown::all(&runner, &workloads, options.rounds)?;
    let load_after = machine::load();

    let mut page = machine::describe(&programs, &signing, options.rounds, &load_before, &load_after);
    for (workload, rows) in workloads.iter().zip(&measured) {
        page.push_str(&table::starts(workload, rows));
    }
    page.push_str(&bars::judged(&programs, &workloads, &measured));
    page.push_str(&table::sizes(&programs, &workloads)?);
    for Breakdown { title, steps } in &breakdowns {
        page.push_str(&table::steps(title, steps));
    }
    print(&page);
    match &options.write {
        Some(file) => write_between_markers(file, &page),
        None => Ok(()),
    }
}

/// Every variant of every workload once a round, so that whatever else the machine does meets them
/// all alike. The order turns from round to round: nobody always follows the same neighbour.
fn rounds(runner: &Runner, workloads: &[Workload], rounds: usize) -> Result<Vec<Vec<Vec<Measured>>>, Fault> {
    let all: Vec<(usize, usize)> = workloads
        .iter()
        .enumerate()
        .flat_map(|(workload, found)| (0..found.variants.len()).map(move |variant| (workload, variant)))
        .collect();
    let mut measured: Vec<Vec<Vec<Measured>>> =
        workloads.iter().map(|workload| vec![Vec::new(); workload.variants.len()]).collect();
    for round in 0..WARM_UP + rounds {
        let mut order = all.clone();
        order.rotate_left(round % all.len().max(1));
        if round % 2 == 1 {
            order.reverse();
        }
        for (workload, variant) in order {
            let result = runner.run(&workloads[workload].variants[variant])?;
            if round >= WARM_UP {
                measured[workload][variant].push(result);
            }
        }
        say(&format!("round {} of {}", round + 1, WARM_UP + rounds));
    }
    Ok(measured)
}

const BEGIN: &str = "<!-- figures: begin -->\n";
const END: &str = "<!-- figures: end -->";

/// Replaces what is between the markers of a file.
fn write_between_markers(file: &PathBuf, page: &str) -> Result<(), Fault> {
    let text = fs::read_to_string(file)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("`{}` has no markers", file.display()))?;
    fs::write(file, format!("{before}{BEGIN}\n{page}{END}{after}"))?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress and faults of a program for developers")]
fn say(line: &str) {
    eprintln!("{line}");
}

#[expect(clippy::print_stdout, reason = "the result of a program for developers")]
fn print(page: &str) {
    println!("{page}");
}
