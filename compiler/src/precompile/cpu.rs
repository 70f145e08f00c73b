//! CPU levels, as cranelift's own tables have them, and the CPU features they turn on.
//!
//! A level is a *preset* of cranelift's settings for an architecture; it turns on boolean
//! settings such as `has_avx2`. An artifact's index entry names the same things as the macros of
//! `std::arch` spell them, so that a loader can ask its host for each:
//!
//! | architecture | setting | CPU feature |
//! | --- | --- | --- |
//! | x86-64 | `has_sse41`, `has_sse42` | `sse4.1`, `sse4.2` |
//! | x86-64 | `has_avx_vnni` | `avxvnni` |
//! | aarch64 | `has_pauth` | `paca` |
//! | s390x | `has_mie3`, `has_mie4` | `miscellaneous-extensions-3`, `-4` |
//! | s390x | `has_vxrs_ext2`, `has_vxrs_ext3` | `vector-enhancements-2`, `-3` |
//! | all | any other `has_…` | the setting without `has_` |

use std::collections::BTreeSet;

use cranelift_codegen::isa;
use cranelift_codegen::settings::{self, Configurable as _, SettingKind};
use subako_manifest::target::{BASELINE, Target};

/// The settings whose CPU feature is not their own name without `has_`.
const SPELLED: &[(&str, &str)] = &[
    ("has_avx_vnni", "avxvnni"),
    ("has_mie3", "miscellaneous-extensions-3"),
    ("has_mie4", "miscellaneous-extensions-4"),
    ("has_pauth", "paca"),
    ("has_sse41", "sse4.1"),
    ("has_sse42", "sse4.2"),
    ("has_vxrs_ext2", "vector-enhancements-2"),
    ("has_vxrs_ext3", "vector-enhancements-3"),
];

/// What a setting needs beside itself on any real CPU. Cranelift's presets leave some of it out
/// (`x86-64-v3` has `has_avx2` and `has_fma` but not `has_avx`), and its code generator then uses
/// neither: a level is completed by this table.
const NEEDS: &[(&str, &str)] = &[
    ("has_avx512bitalg", "has_avx512f"),
    ("has_avx512dq", "has_avx512f"),
    ("has_avx512vbmi", "has_avx512f"),
    ("has_avx512vl", "has_avx512f"),
    ("has_avx512vnni", "has_avx512f"),
    ("has_avx512f", "has_avx2"),
    ("has_avx512f", "has_fma"),
    ("has_avx_vnni", "has_avx2"),
    ("has_avx2", "has_avx"),
    ("has_fma", "has_avx"),
    ("has_avx", "has_sse42"),
    ("has_sse42", "has_sse41"),
    ("has_sse41", "has_ssse3"),
    ("has_ssse3", "has_sse3"),
];

/// One CPU level of an architecture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuLevel {
    /// What stands after the `/` of a target name.
    pub name: String,
    /// What it is, in a few words.
    pub description: String,
}

/// The CPU levels above the baseline that `triple` has, sorted by name: cranelift's presets for
/// its architecture. None where a loader could not tell whether its host has a feature (riscv64:
/// the engine's probe says yes to all), nor for a triple that is not known.
#[must_use]
pub fn cpu_levels(triple: &str) -> Vec<CpuLevel> {
    let Some(builder) = builder(triple) else { return Vec::new() };
    let mut levels: Vec<CpuLevel> = builder
        .iter()
        .filter(|setting| setting.kind == SettingKind::Preset && setting.name != BASELINE)
        .map(|setting| CpuLevel {
            name: setting.name.to_owned(),
            description: setting.description.trim_end_matches('.').to_owned(),
        })
        .collect();
    levels.sort();
    levels
}

/// The boolean settings that the target's level turns on, sorted; none for a baseline, and
/// `None` for a level that is not one of [`cpu_levels`].
pub(super) fn flags(target: &Target) -> Option<BTreeSet<&'static str>> {
    let Some(cpu) = target.cpu() else { return Some(BTreeSet::new()) };
    if !cpu_levels(target.triple()).iter().any(|level| level.name == cpu) {
        return None;
    }
    let mut builder = builder(target.triple())?;
    builder.enable(cpu).ok()?;
    let isa = builder.finish(settings::Flags::new(settings::builder())).ok()?;
    let mut flags: BTreeSet<&'static str> = isa
        .isa_flags()
        .iter()
        .filter(|value| value.as_bool() == Some(true))
        .map(|value| value.name)
        .collect();
    // Each turn follows the table one step further; it is a few steps deep and has no circle.
    loop {
        let before = flags.len();
        for (flag, needed) in NEEDS {
            if flags.contains(flag) {
                flags.insert(needed);
            }
        }
        if flags.len() == before {
            return Some(flags);
        }
    }
}

/// The CPU features that artifacts for `target` need above its triple's baseline, sorted, as
/// `std::arch` spells them; `None` for a level that is not known.
#[must_use]
pub fn cpu_features(target: &Target) -> Option<Vec<String>> {
    let features: BTreeSet<&str> = flags(target)?.into_iter().map(feature).collect();
    Some(features.into_iter().map(str::to_owned).collect())
}

fn feature(flag: &'static str) -> &'static str {
    match SPELLED.iter().find(|(setting, _)| *setting == flag) {
        Some((_, spelled)) => spelled,
        None => flag.strip_prefix("has_").unwrap_or(flag),
    }
}

/// Cranelift's settings for an architecture of which hosts can be probed.
fn builder(triple: &str) -> Option<isa::Builder> {
    if triple.starts_with("riscv64") || triple.starts_with("pulley") {
        return None;
    }
    isa::lookup(triple.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(target: &str) -> Vec<String> {
        cpu_features(&target.parse().expect(target)).expect(target)
    }

    #[test]
    fn level_v3_is_what_the_x86_64_abi_says() {
        // x86-64 psABI, table "Micro-Architecture Levels": v2 is cx16, lahf, popcnt, sse3 to
        // sse4.2; v3 adds avx, avx2, bmi1, bmi2, f16c, fma, lzcnt, movbe, osxsave. Cranelift
        // never uses lahf, f16c and movbe, and has no settings for them.
        assert_eq!(
            features("x86_64-linux/x86-64-v3"),
            [
                "avx",
                "avx2",
                "bmi1",
                "bmi2",
                "cmpxchg16b",
                "fma",
                "lzcnt",
                "popcnt",
                "sse3",
                "sse4.1",
                "sse4.2",
                "ssse3"
            ]
        );
        assert_eq!(
            features("x86_64-linux/x86-64-v2"),
            ["cmpxchg16b", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"]
        );
        let v4 = features("x86_64-linux/x86-64-v4");
        for feature in ["avx", "avx512dq", "avx512f", "avx512vl"] {
            assert!(v4.iter().any(|found| found == feature), "{feature} in {v4:?}");
        }
    }

    #[test]
    fn baselines_need_nothing() {
        for (triple, _) in subako_manifest::target::TRIPLES {
            assert!(features(triple).is_empty(), "{triple}");
        }
    }

    #[test]
    fn every_level_is_closed_over_what_it_needs() {
        for (triple, _) in subako_manifest::target::TRIPLES {
            for level in cpu_levels(triple) {
                let target: Target =
                    format!("{triple}/{}", level.name).parse().expect("a level's name is a word");
                let flags = flags(&target).expect("the level comes from the same table");
                for (flag, needed) in NEEDS {
                    assert!(
                        !flags.contains(flag) || flags.contains(needed),
                        "{target}: {flag} without {needed}"
                    );
                }
                assert!(flags.iter().all(|flag| flag.starts_with("has_")), "{target}: {flags:?}");
            }
        }
    }

    #[test]
    fn levels_are_named_for_their_architecture() {
        let names =
            |triple| -> Vec<String> { cpu_levels(triple).into_iter().map(|level| level.name).collect() };
        for name in ["haswell", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4"] {
            assert!(names("x86_64-unknown-linux-gnu").iter().any(|found| found == name), "{name}");
        }
        assert_eq!(names("s390x-unknown-linux-gnu"), ["arch13", "arch14", "arch15", "z15", "z16", "z17"]);
        for none in ["aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu", "pulley64", "nowhere"] {
            assert!(names(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn s390x_features_are_spelled_as_rust_does() {
        assert_eq!(
            features("s390x-linux/z17"),
            [
                "miscellaneous-extensions-3",
                "miscellaneous-extensions-4",
                "vector-enhancements-2",
                "vector-enhancements-3"
            ]
        );
    }
}
