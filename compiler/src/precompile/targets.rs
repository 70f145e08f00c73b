//! Which targets there are, which are built when nobody says, and which is this host's.

use subako_manifest::target::{NotTarget, TRIPLES, Target};

use super::{Error, cpu};

/// A triple of this many wrong letters is taken for a slip of the hand.
const MAX_SLIPS: usize = 3;

/// The target called `name`: `<triple>` or `<triple>/<cpu>`, short names too.
///
/// # Errors
///
/// The error names the nearest name there is, if one is near.
pub fn target(name: &str) -> Result<Target, Error> {
    match name.parse() {
        Ok(target) => known(&target).map(|()| target),
        Err(NotTarget::Triple(triple)) => {
            let names = TRIPLES.iter().flat_map(|(whole, short)| short.iter().copied().chain([*whole]));
            Err(Error::TripleUnknown { near: nearest(&triple, names), triple })
        }
        Err(NotTarget::Cpu(cpu)) => {
            // A word that is no level's anywhere: the triple before it is known.
            let triple = name.split_once('/').map_or(name, |(triple, _)| triple);
            let whole = triple.parse::<Target>().map_or("", |target| target.triple());
            Err(cpu_unknown(whole, &cpu))
        }
    }
}

/// Whether the target's CPU level is one that cranelift has for its triple.
///
/// # Errors
///
/// [`Error::CpuUnknown`], with the nearest level there is.
pub fn known(target: &Target) -> Result<(), Error> {
    match (target.cpu(), cpu::flags(target)) {
        (Some(cpu), None) => Err(cpu_unknown(target.triple(), cpu)),
        _ => Ok(()),
    }
}

fn cpu_unknown(triple: &str, cpu: &str) -> Error {
    let levels: Vec<String> = cpu::cpu_levels(triple).into_iter().map(|level| level.name).collect();
    Error::CpuUnknown {
        near: nearest(cpu, levels.iter().map(String::as_str)),
        triple: triple.to_owned(),
        cpu: cpu.to_owned(),
        levels: levels.len(),
    }
}

/// The targets that are built when no `--target` says otherwise (design, "Precompile").
#[must_use]
pub fn default_targets() -> Vec<Target> {
    [
        "x86_64-unknown-linux-gnu",
        "x86_64-unknown-linux-gnu/x86-64-v3",
        "aarch64-unknown-linux-gnu",
        "pulley64",
    ]
    .iter()
    .map(|name| name.parse().expect("a test parses the default targets"))
    .collect()
}

/// The baseline target of the machine this program was built for; the portable one where it has
/// no triple of ours.
#[must_use]
pub fn host_target() -> Target {
    nearest_host(&target_lexicon::HOST.to_string())
}

fn nearest_host(triple: &str) -> Target {
    triple.parse().unwrap_or_else(|_| Target::pulley64())
}

/// The name that is the fewest slips away from `wrong`, the shortest of several; one that begins
/// with `wrong` counts as near.
fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    if wrong.is_empty() {
        return None;
    }
    let rank = |name: &str| {
        let slips = slips(wrong, name);
        if slips <= MAX_SLIPS.min(wrong.chars().count() / 2) {
            Some(slips)
        } else {
            name.starts_with(wrong).then_some(MAX_SLIPS + 1)
        }
    };
    names.filter_map(|name| Some((rank(name)?, name.len(), name))).min().map(|(_, _, name)| name.to_owned())
}

/// How many letters must be put in, taken out or changed to make `to` of `from`.
fn slips(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(name: &str) -> Option<String> {
        match target(name) {
            Err(Error::TripleUnknown { near, .. } | Error::CpuUnknown { near, .. }) => near,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn slips_are_counted() {
        assert_eq!(slips("", "abc"), 3);
        assert_eq!(slips("kitten", "sitting"), 3);
        assert_eq!(slips("same", "same"), 0);
    }

    #[test]
    fn near_misses_are_named() {
        assert_eq!(near("x86-64-linux").as_deref(), Some("x86_64-linux"));
        assert_eq!(near("aarch64-unknown-linux-gn").as_deref(), Some("aarch64-unknown-linux-gnu"));
        assert_eq!(near("x86_64").as_deref(), Some("x86_64-linux"));
        assert_eq!(near("pulley").as_deref(), Some("pulley64"));
        assert_eq!(near("sparc-sun-solaris"), None);
        assert_eq!(near(""), None);
        assert_eq!(near("x86_64-linux/x86-64-v5").as_deref(), Some("x86-64-v2"));
        assert_eq!(near("x86_64-linux/x86_64-v3").as_deref(), Some("x86-64-v3"));
        assert_eq!(near("x86_64-linux/haswel").as_deref(), Some("haswell"));
        assert_eq!(near("x86_64-linux/a b"), None);
    }

    #[test]
    fn levels_belong_to_their_architecture() {
        for name in ["aarch64-linux/x86-64-v3", "pulley64/x86-64-v3", "riscv64-linux/has_zba"] {
            assert!(matches!(target(name), Err(Error::CpuUnknown { levels: 0, .. })), "{name}");
        }
        assert_eq!(
            target("x86_64-linux/x86-64-v3").expect("known").to_string(),
            "x86_64-unknown-linux-gnu/x86-64-v3"
        );
    }

    #[test]
    fn default_targets_are_the_design_s() {
        let names: Vec<String> = default_targets().iter().map(Target::to_string).collect();
        assert_eq!(
            names,
            [
                "x86_64-unknown-linux-gnu",
                "x86_64-unknown-linux-gnu/x86-64-v3",
                "aarch64-unknown-linux-gnu",
                "pulley64"
            ]
        );
        for target in default_targets() {
            assert!(known(&target).is_ok(), "{target}");
        }
    }

    #[test]
    fn hosts_without_a_triple_of_ours_are_portable() {
        assert_eq!(nearest_host("x86_64-unknown-linux-gnu").to_string(), "x86_64-unknown-linux-gnu");
        assert_eq!(nearest_host("x86_64-unknown-freebsd"), Target::pulley64());
        assert_eq!(host_target().cpu(), None);
    }
}
