//! One run of a program, measured from outside by `native/measure.c`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Fault;
use crate::workload::Variant;

/// What one run took.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// When it was started, by the system's monotonic clock.
    pub(crate) started_ns: i128,
    /// When its end was seen.
    pub(crate) ended_ns: i128,
    /// User and system time, in microseconds.
    pub(crate) cpu_us: f64,
    /// Page faults that the disk was not asked for.
    pub(crate) minor_faults: f64,
    /// Page faults that it was.
    pub(crate) major_faults: f64,
    /// Peak memory, in KiB.
    pub(crate) peak_kib: f64,
    /// What it printed on stderr.
    pub(crate) stderr: String,
}

impl Measured {
    /// From the start to the end, in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "a run takes no years")]
    pub(crate) fn wall_ms(&self) -> f64 {
        (self.ended_ns - self.started_ns) as f64 / 1e6
    }
}

/// Runs variants.
pub(crate) struct Runner {
    measure: PathBuf,
    folder: PathBuf,
}

impl Runner {
    pub(crate) fn new(measure: &Path, folder: &Path) -> Self {
        Self { measure: measure.to_owned(), folder: folder.to_owned() }
    }

    /// Runs a variant once. A wrong answer is a fault: its time would mean nothing.
    pub(crate) fn run(&self, variant: &Variant) -> Result<Measured, Fault> {
        self.run_with(variant, &[])
    }

    /// Runs a variant with more arguments.
    pub(crate) fn run_with(&self, variant: &Variant, more: &[&str]) -> Result<Measured, Fault> {
        let stdin = self.folder.join("stdin");
        fs::File::create(&stdin)?.write_all(variant.stdin.as_bytes())?;
        let mut command = Command::new(&self.measure);
        command.arg(&stdin).args(&variant.command).args(more).env_clear();
        // All of them start with the same small environment.
        for name in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let output = command.output()?;
        let text = String::from_utf8(output.stdout)?;
        let measured = parse(&text).ok_or_else(|| {
            format!("{}: measure printed `{text}`, {}", variant.name, String::from_utf8_lossy(&output.stderr))
        })?;
        let (status, stdout, measured) = measured;
        if status != 0 || !stdout.contains(variant.answer) {
            let command = &variant.command;
            let stderr = &measured.stderr;
            return Err(format!("{}: {command:?} ended with {status}: {stdout}{stderr}", variant.name).into());
        }
        Ok(measured)
    }
}

/// The line of numbers, and what the program printed.
fn parse(text: &str) -> Option<(i32, &str, Measured)> {
    let (line, printed) = text.split_once('\n')?;
    let numbers: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| numbers.get(at)?.parse::<f64>().ok();
    let (stdout, stderr) = printed.split_at_checked(numbers.get(8)?.parse().ok()?)?;
    let measured = Measured {
        started_ns: numbers.first()?.parse().ok()?,
        ended_ns: numbers.get(1)?.parse().ok()?,
        cpu_us: number(2)? + number(3)?,
        minor_faults: number(4)?,
        major_faults: number(5)?,
        peak_kib: number(6)?,
        stderr: stderr.to_owned(),
    };
    Some((numbers.get(7)?.parse().ok()?, stdout, measured))
}
