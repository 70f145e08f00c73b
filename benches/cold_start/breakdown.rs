//! Where the time of a start goes, told by `call --timings` itself; what is before `main` and
//! after the last mark comes from the clock of whoever started it.

use std::process::Command;

use crate::measure::{Measured, Runner};
use crate::statistics::{Spread, spread};
use crate::workload::{Kind, Workload};
use crate::{Fault, say};

/// The steps of one way of starting.
pub(crate) struct Breakdown {
    pub(crate) title: String,
    /// Each step with its microseconds.
    pub(crate) steps: Vec<(String, Spread)>,
}

/// The breakdowns of all starts by `call`, each with rounds of its own, interleaved.
pub(crate) fn all(runner: &Runner, workloads: &[Workload], rounds: usize) -> Result<Vec<Breakdown>, Fault> {
    let calls: Vec<(&Workload, usize)> = workloads
        .iter()
        .flat_map(|workload| {
            [Kind::CallCache, Kind::CallBundle].map(|kind| (workload, workload.variant(kind)))
        })
        .filter_map(|(workload, variant)| Some((workload, variant?)))
        .collect();
    let Some((workload, variant)) = calls.first() else { return Ok(Vec::new()) };
    let help = Command::new(&workload.variants[*variant].command[0]).args(["call", "--help"]).output()?;
    if !String::from_utf8_lossy(&help.stdout).contains("--timings") {
        say("skipped: this loader has no `call --timings`");
        return Ok(Vec::new());
    }
    let mut runs: Vec<Vec<Vec<(String, f64)>>> = vec![Vec::new(); calls.len()];
    for _ in 0..rounds {
        for ((workload, variant), runs) in calls.iter().zip(&mut runs) {
            let measured = runner.run_with(&workload.variants[*variant], &["--timings"])?;
            runs.push(steps(&measured).ok_or_else(|| format!("timings in `{}`", measured.stderr))?);
        }
    }
    Ok(calls
        .iter()
        .zip(runs)
        .map(|((workload, variant), runs)| summed_up(workload, *variant, &runs))
        .collect())
}

fn summed_up(workload: &Workload, variant: usize, runs: &[Vec<(String, f64)>]) -> Breakdown {
    let names = runs.first().map(|run| run.iter().map(|(name, _)| name.clone())).into_iter().flatten();
    let steps = names
        .map(|name| {
            let figures = runs.iter().filter_map(|run| run.iter().find(|(step, _)| *step == name));
            let spread = spread(figures.map(|(_, micros)| *micros));
            // Where the whole artifact is hashed, the rate says more than the time.
            let name = match name == "map and digest" {
                true => format!("{name} ({})", rate(workload.artifact_bytes, spread.median)),
                false => name,
            };
            (name, spread)
        })
        .collect();
    Breakdown { title: format!("{}: {}", workload.name, workload.variants[variant].name), steps }
}

#[expect(clippy::cast_precision_loss, reason = "an artifact is not that large")]
fn rate(bytes: u64, micros: f64) -> String {
    format!("{:.2} GB/s", bytes as f64 / micros / 1000.0)
}

/// The steps of one run, in microseconds.
#[expect(clippy::cast_precision_loss, reason = "a run takes no years")]
fn steps(run: &Measured) -> Option<Vec<(String, f64)>> {
    let lines: Vec<&str> = run.stderr.lines().filter_map(|line| line.strip_prefix("timing: ")).collect();
    let at = |name: &str| -> Option<i128> {
        let line = lines.iter().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(" at ")?.strip_suffix(" ns")?.parse().ok()
    };
    let (main, end) = (at("main")?, at("end")?);
    let mut steps =
        vec![("start of the process, to `main`".to_owned(), (main - run.started_ns) as f64 / 1000.0)];
    for line in &lines {
        if let Some((name, micros)) = line.strip_suffix(" us").and_then(|line| line.rsplit_once(' ')) {
            steps.push((name.to_owned(), micros.parse().ok()?));
        }
    }
    steps.push(("end of the process".to_owned(), (run.ended_ns - end) as f64 / 1000.0));
    steps.push(("all".to_owned(), run.wall_ms() * 1000.0));
    Some(steps)
}
