//! The scenarios of `preview1.rs` in another runtime for WASI preview 1, Node's `node:wasi`, with
//! the same module: it is the referee where the standard leaves a doubt.

use std::collections::BTreeSet;

use subako_tests::wasi_calls::{lines, run};
use subako_tests::workspace;

use super::preview1::SCENARIOS;
use super::{Volume, guest, text};

/// A call that the two runtimes answer differently, both as meant.
struct Difference {
    scenario: &'static str,
    call: &'static str,
    node: &'static str,
    /// The row of docs/host.md, "Differences from other runtimes", that explains it.
    row: &'static str,
}

const KNOWN_DIFFERENCES: &[Difference] = &[];

#[test]
fn node_answers_the_same() {
    let guest = guest!();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for scenario in SCENARIOS {
        let calls: Vec<&str> = scenario
            .script
            .lines()
            .map(|line| line.split(" => ").next().unwrap_or_default().trim())
            .filter(|line| !line.is_empty())
            .collect();
        let (ours, theirs) = (Volume::new(), Volume::new());
        (scenario.prepare)(&ours.tmp());
        (scenario.prepare)(&theirs.tmp());
        let script = calls.join("\n");
        let Some(node) = guest.run_in_node(&script, &[("/volume/tmp", &theirs.tmp())]) else { return };
        let ours = run(&guest.bundle, &script, &["--volume-tmp", &text(&ours.tmp())]).exits(0);
        for ((call, ours), node) in calls.iter().zip(lines(&ours.json()["result"])).zip(node) {
            if ours == node {
                continue;
            }
            let known = KNOWN_DIFFERENCES.iter().position(|difference| {
                difference.scenario == scenario.name && difference.call == *call && difference.node == node
            });
            match known {
                Some(at) => _ = seen.insert(at),
                None => wrong.push(format!("{}: {call} => {ours}, in Node {node}", scenario.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (at, difference) in KNOWN_DIFFERENCES.iter().enumerate() {
        assert!(seen.contains(&at), "no difference any more: {}: {}", difference.scenario, difference.call);
    }
}

/// Each difference is explained to those who move a module from one runtime to the other.
#[test]
fn differences_are_documented() {
    let page = std::fs::read_to_string(workspace().join("docs/host.md")).expect("the page is there");
    let section = page.split("## Differences from other runtimes").nth(1).expect("the section is there");
    for difference in KNOWN_DIFFERENCES {
        let row = format!("| {} |", difference.row);
        assert!(section.contains(&row), "docs/host.md has no row for `{}`", difference.row);
    }
}
