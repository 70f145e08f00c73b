//! What `subakoc targets` lists.

use serde::Serialize;
use subako_compiler::precompile;
use subako_manifest::target::{BASELINE, TRIPLES, Target};

use super::paint::Paint;
use super::sheet::{Cell, Sheet};
use super::{Detail, Report};

/// Every target, by triple.
#[derive(Debug, Serialize)]
pub(crate) struct TargetsReport {
    ok: bool,
    host: Target,
    triples: Vec<Triple>,
}

#[derive(Debug, Serialize)]
struct Triple {
    triple: &'static str,
    short_names: &'static [&'static str],
    /// Whether it is this machine's.
    host: bool,
    targets: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    target: Target,
    cpu: String,
    description: String,
    /// Whether it is made when no target is named.
    default: bool,
    runs_here: bool,
}

impl TargetsReport {
    /// All that precompile knows, seen from the machine `host`.
    pub(crate) fn new(host: &Target, runs_here: impl Fn(&Target) -> bool) -> Self {
        let defaults = precompile::default_targets();
        let line = |target: Target, cpu: String, description: String| Line {
            default: defaults.contains(&target),
            runs_here: runs_here(&target),
            target,
            cpu,
            description,
        };
        let triple = |(triple, short_names): &(&'static str, &'static [&'static str])| {
            let named = |name: &str| name.parse::<Target>().ok();
            let baseline = named(triple)
                .map(|target| line(target, BASELINE.to_owned(), "every CPU of this triple".to_owned()));
            let levels = precompile::cpu_levels(triple).into_iter().filter_map(|level| {
                let target = named(&format!("{triple}/{}", level.name))?;
                // A level that is spelt as the baseline is there already.
                target.cpu()?;
                Some(line(target, level.name.to_string(), level.description.to_string()))
            });
            Triple {
                triple,
                short_names,
                host: *triple == host.triple(),
                targets: baseline.into_iter().chain(levels).collect(),
            }
        };
        Self { ok: true, triples: TRIPLES.iter().map(triple).collect(), host: host.clone() }
    }
}

impl Report for TargetsReport {
    fn draw(&self, paint: Paint, detail: Detail) -> String {
        let mut out = String::new();
        for (at, triple) in self.triples.iter().enumerate() {
            out.push_str(&triple.heading(paint));
            // Triples that differ in nothing else share their list.
            if self.triples.get(at + 1).is_some_and(|next| next.has_levels_of(triple)) {
                continue;
            }
            let mut sheet = Sheet::new(paint);
            match detail {
                Detail::Usual => triple.draw(&mut sheet),
                Detail::Full => triple.draw_full(&mut sheet),
            }
            out.push_str(&sheet.into_text());
        }
        let defaults = self.triples.iter().flat_map(|triple| &triple.targets).filter(|line| line.default);
        let defaults: Vec<_> = defaults.map(|line| line.target.to_string()).collect();
        let mut sheet = Sheet::new(paint);
        sheet.field("default", defaults);
        out.push_str(&format!("\n{}", sheet.into_text()));
        out
    }
}

impl Triple {
    fn heading(&self, paint: Paint) -> String {
        let mut out = paint.strong(self.triple);
        if !self.short_names.is_empty() {
            out.push_str(&paint.faint(format!(" ({})", self.short_names.join(", "))));
        }
        if self.host {
            out.push_str(&format!(" {}", paint.good("this host")));
        }
        out.push('\n');
        out
    }

    fn has_levels_of(&self, other: &Self) -> bool {
        let level = |line: &Line| (line.cpu.clone(), line.runs_here);
        self.targets.iter().map(level).eq(other.targets.iter().map(level))
    }

    fn draw(&self, sheet: &mut Sheet) {
        let levels = |runs_here| {
            let lines = self.targets.iter().filter(move |line| line.runs_here == runs_here);
            lines.map(|line| line.cpu.as_str()).collect::<Vec<_>>()
        };
        let (here, elsewhere) = (levels(true), levels(false));
        if !here.is_empty() {
            sheet.words(" runs here", "", &here);
        }
        if !elsewhere.is_empty() {
            sheet.words(if here.is_empty() { " levels" } else { " others" }, "", &elsewhere);
        }
    }

    fn draw_full(&self, sheet: &mut Sheet) {
        let rows = self.targets.iter().map(|line| {
            vec![
                Cell::Text(line.cpu.clone()),
                Cell::Text(if line.runs_here { "runs here" } else { "" }.to_owned()),
                Cell::Text(line.description.clone()),
            ]
        });
        sheet.table("", rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema;

    fn report() -> TargetsReport {
        let host = "x86_64-unknown-linux-gnu".parse().expect("a known triple");
        TargetsReport::new(&host, |target| {
            target.is_portable() || target.triple() == "x86_64-unknown-linux-gnu" && target.cpu().is_none()
        })
    }

    #[test]
    fn json_is_as_the_schema_says() {
        schema::assert_valid("targets", &report());
    }

    #[test]
    fn every_triple_is_listed_with_its_baseline_first() {
        let report = report();
        assert_eq!(report.triples.len(), TRIPLES.len());
        for triple in &report.triples {
            let first = &triple.targets[0];
            assert_eq!((first.cpu.as_str(), first.target.to_string().as_str()), (BASELINE, triple.triple));
            assert_eq!(triple.host, triple.triple == "x86_64-unknown-linux-gnu");
        }
    }

    #[test]
    fn this_host_and_what_runs_on_it_are_marked() {
        let drawn = report().draw(Paint::new(false), Detail::Usual);
        for lines in [
            "x86_64-unknown-linux-gnu (x86_64-linux) this host\n runs here baseline\n others    ",
            "pulley64 (portable)\n runs here baseline\n",
            "riscv64gc-unknown-linux-gnu (riscv64-linux)\n levels    baseline\n",
            // Two that differ in nothing but their names.
            "x86_64-apple-darwin (x86_64-macos, x86_64-darwin)\nx86_64-pc-windows-msvc (x86_64-windows)\n levels ",
            "\ndefault    aarch64-unknown-linux-gnu\n           pulley64\n           x86_64-unknown-linux-gnu\n",
        ] {
            assert!(drawn.contains(lines), "{lines}\n{drawn}");
        }
        let full = report().draw(Paint::new(false), Detail::Full);
        assert!(full.contains("x86-64-v3"), "{full}");
    }
}
