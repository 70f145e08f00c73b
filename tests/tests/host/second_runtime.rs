//! The scenarios of `preview1.rs` in another runtime for WASI preview 1, Node's `node:wasi`, with
//! the same module: it is the referee where the standard leaves a doubt.

use std::collections::BTreeSet;

use subako_tests::wasi_calls::{lines, run};
use subako_tests::workspace;

use super::preview1::SCENARIOS;
use super::{Volume, guest, text};

/// A way in which the two runtimes differ, as meant.
struct Difference {
    /// The row of docs/host.md, "Differences from other runtimes", that explains it.
    row: &'static str,
    /// Whether a call's two answers, ours and Node's, differ in this way.
    is_it: fn(call: &str, ours: &str, node: &str) -> bool,
}

const KNOWN_DIFFERENCES: &[Difference] = &[
    // Listings in POSIX have both; Node's library leaves them out.
    Difference {
        row: "`.` and `..` in a listing",
        is_it: |_, ours, node| without_dots(ours).is_some_and(|listing| listing == node),
    },
    // Rights were taken out of preview 1's practice: what is asked for decides nothing here.
    Difference {
        row: "rights of descriptors",
        is_it: |_, ours, node| {
            let error = node.strip_suffix(" 0").unwrap_or(node);
            error == "notcapable" && !ours.starts_with("ok")
        },
    },
    Difference {
        row: "`..` in a symbolic link's target",
        is_it: |call, ours, node| {
            call.starts_with("symlink") && call.contains("../") && ours == "ok" && node == "notcapable"
        },
    },
    // Both are allowed: a caller has to look at how much was written.
    Difference {
        row: "several buffers in one call",
        is_it: |call, ours, node| call.starts_with("parts") && ours == "ok 2" && node == "ok 3",
    },
    // The kernel's own flags are in Node's answer; the kind of stdio depends on what it is.
    Difference {
        row: "flags of descriptors",
        is_it: |call, ours, node| {
            call.starts_with("fdstat") && ours.starts_with("ok") && node.starts_with("ok")
        },
    },
    Difference {
        row: "`O_SYNC` and its kin",
        is_it: |call, ours, node| call.ends_with(" rs") && ours == "notsup" && node == "ok",
    },
    Difference {
        row: "opening a symbolic link without following",
        is_it: |call, ours, node| call.starts_with("open") && ours == "loop" && node == "ok",
    },
    Difference {
        row: "empty paths and targets",
        is_it: |call, ours, node| call.contains("\"\"") && ours == "noent" && node == "inval",
    },
    Difference {
        row: "links longer than the buffer",
        is_it: |call, ours, node| call.starts_with("readlink") && ours.starts_with("ok") && node == "nobufs",
    },
    Difference {
        row: "names that are not UTF-8",
        is_it: |_, ours, node| ours == "ilseq" && node.starts_with("ok"),
    },
    Difference {
        row: "a closed descriptor renumbered to itself",
        is_it: |call, ours, node| call == "renumber $g $g" && ours == "badf" && node == "ok",
    },
    Difference {
        row: "waiting for files and closed descriptors",
        is_it: |call, ours, node| call.starts_with("poll in:") && (ours, node) != ("ok", "ok"),
    },
];

/// A listing of ours, `ok COUNT .:dir ..:dir NAMES`, as it is without the first two.
fn without_dots(listing: &str) -> Option<String> {
    let (count, names) = listing.strip_prefix("ok ")?.split_once(" .:dir ..:dir")?;
    let count: u32 = count.parse().ok()?;
    Some(format!("ok {}{names}", count.checked_sub(2)?))
}

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
            match KNOWN_DIFFERENCES.iter().find(|difference| (difference.is_it)(call, &ours, &node)) {
                Some(known) => _ = seen.insert(known.row),
                None => wrong.push(format!("{}: {call} => {ours}, in Node {node}", scenario.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for difference in KNOWN_DIFFERENCES {
        assert!(seen.contains(difference.row), "no difference any more: {}", difference.row);
    }
}

/// Each difference is explained to those who move a module from one runtime to the other.
#[test]
fn differences_are_documented() {
    let page = std::fs::read_to_string(workspace().join("docs/host.md")).expect("the page is there");
    let section = page.split("## Differences from other runtimes").nth(1).expect("the section is there");
    for difference in KNOWN_DIFFERENCES {
        assert!(
            section.contains(&format!("| {} |", difference.row)),
            "docs/host.md has no row for `{}`",
            difference.row
        );
    }
}
