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
        for triple in &self.triples {
            out.push_str(&paint.strong(triple.triple));
            let short = triple.short_names.join(", ");
            if !short.is_empty() {
                out.push_str(&paint.faint(format!(" ({short})")));
            }
            if triple.host {
                out.push_str(&format!(" {}", paint.good("this host")));
            }
            out.push('\n');
            let mut sheet = Sheet::new(paint);
            if detail == Detail::Full {
                triple.draw_full(&mut sheet);
            } else {
                triple.draw(&mut sheet);
            }
            out.push_str(&sheet.into_text());
        }
        let defaults = self.triples.iter().flat_map(|triple| &triple.targets).filter(|line| line.default);
        let defaults: Vec<_> = defaults.map(|line| line.target.to_string()).collect();
        out.push_str(&format!("\nWithout --target: {}\n", defaults.join(", ")));
        out
    }
}

impl Triple {
    fn draw(&self, sheet: &mut Sheet) {
        for (label, runs_here) in [(" runs here", true), (" others", false)] {
            let levels = self.targets.iter().filter(|line| line.runs_here == runs_here);
            let levels: Vec<_> = levels.map(|line| line.cpu.as_str()).collect();
            if !levels.is_empty() {
                sheet.words(label, "", &levels);
            }
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
