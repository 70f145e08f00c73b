//! Target names: `<triple>` or `<triple>/<cpu>` (design, "Precompile").
//!
//! The triples are a closed list; which CPU levels a triple has is the compiler's to know, so a
//! level here is only a word. A target without a level is the triple's baseline: it runs on
//! every CPU of that architecture.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The triples that artifacts are made for, each with the short names it is known by.
pub const TRIPLES: &[(&str, &[&str])] = &[
    ("aarch64-apple-darwin", &["aarch64-macos", "aarch64-darwin", "arm64-macos"]),
    ("aarch64-pc-windows-msvc", &["aarch64-windows"]),
    ("aarch64-unknown-linux-gnu", &["aarch64-linux", "arm64-linux"]),
    ("aarch64-unknown-linux-musl", &["aarch64-linux-musl"]),
    ("pulley64", &["portable"]),
    ("riscv64gc-unknown-linux-gnu", &["riscv64-linux"]),
    ("s390x-unknown-linux-gnu", &["s390x-linux"]),
    ("x86_64-apple-darwin", &["x86_64-macos", "x86_64-darwin"]),
    ("x86_64-pc-windows-msvc", &["x86_64-windows"]),
    ("x86_64-unknown-linux-gnu", &["x86_64-linux"]),
    ("x86_64-unknown-linux-musl", &["x86_64-linux-musl"]),
];

/// The word for "no level": it stands in artifact paths and may be written in a target name.
pub const BASELINE: &str = "baseline";

/// A triple and, above its baseline, a CPU level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    triple: &'static str,
    cpu: Option<String>,
}

impl Target {
    /// The portable bytecode that any host runs.
    #[must_use]
    pub fn pulley64() -> Self {
        Self { triple: "pulley64", cpu: None }
    }

    /// The whole triple.
    #[must_use]
    pub fn triple(&self) -> &'static str {
        self.triple
    }

    /// The CPU level, if it is above the baseline.
    #[must_use]
    pub fn cpu(&self) -> Option<&str> {
        self.cpu.as_deref()
    }

    /// Whether this is bytecode for the engine's interpreter.
    #[must_use]
    pub fn is_portable(&self) -> bool {
        self.triple == "pulley64"
    }

    /// The path of this target's artifact in a bundle: `native/<triple>/<cpu>.cwasm`.
    #[must_use]
    pub fn entry_path(&self) -> String {
        format!("native/{}/{}.cwasm", self.triple, self.cpu().unwrap_or(BASELINE))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.triple)?;
        match &self.cpu {
            Some(cpu) => write!(f, "/{cpu}"),
            None => Ok(()),
        }
    }
}

/// A name that is no target's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTarget {
    /// The part before `/` is no triple of [`TRIPLES`], nor a short name of one.
    #[error("`{}` is not a known triple", crate::text::shown(.0))]
    Triple(String),
    /// The part after `/` is not a word of letters, digits, `-`, `_` and `.`.
    #[error("`{}` is not a CPU level", crate::text::shown(.0))]
    Cpu(String),
}

impl FromStr for Target {
    type Err = NotTarget;

    fn from_str(name: &str) -> Result<Self, NotTarget> {
        let (triple, cpu) = match name.split_once('/') {
            Some((triple, cpu)) => (triple, Some(cpu)),
            None => (name, None),
        };
        let triple = TRIPLES
            .iter()
            .find(|(whole, short)| *whole == triple || short.contains(&triple))
            .map(|(whole, _)| *whole)
            .ok_or_else(|| NotTarget::Triple(triple.to_owned()))?;
        let cpu = match cpu {
            None | Some(BASELINE) => None,
            Some(cpu) => {
                let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                if cpu.is_empty() || cpu.starts_with('.') || !cpu.chars().all(word) {
                    return Err(NotTarget::Cpu(cpu.to_owned()));
                }
                Some(cpu.to_owned())
            }
        };
        Ok(Self { triple, cpu })
    }
}

/// What somebody probably means who calls a target `name`, which no target is called: other words
/// for an architecture, upper case, an operating system alone, an empty level. `None` where nothing
/// is known; names with slips of the hand are not looked for.
#[must_use]
pub fn meant_by(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let (triple, cpu) = match lower.split_once('/') {
        Some((triple, cpu)) => (triple, Some(cpu)),
        None => (lower.as_str(), None),
    };
    let known =
        |triple: &str| TRIPLES.iter().any(|(whole, short)| *whole == triple || short.contains(&triple));
    let (arch, system) = match triple.split_once('-') {
        Some((arch, system)) => (arch, system),
        None if matches!(triple, "linux" | "macos" | "windows") => ("x86_64", triple),
        None => (triple, "linux"),
    };
    let arch = match arch {
        "amd64" | "x64" => "x86_64",
        "arm64" => "aarch64",
        "riscv64gc" => "riscv64",
        "pulley" => "pulley64",
        arch => arch,
    };
    let other = format!("{arch}-{system}");
    let triple = [triple, arch, other.as_str()].into_iter().find(|triple| known(triple))?;
    let meant = match cpu {
        None | Some("") => triple.to_owned(),
        Some(cpu) => format!("{triple}/{cpu}"),
    };
    (meant != name).then_some(meant)
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_printed_whole() {
        for (given, whole, path) in [
            ("x86_64-linux", "x86_64-unknown-linux-gnu", "native/x86_64-unknown-linux-gnu/baseline.cwasm"),
            (
                "x86_64-linux/x86-64-v3",
                "x86_64-unknown-linux-gnu/x86-64-v3",
                "native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm",
            ),
            (
                "aarch64-apple-darwin/baseline",
                "aarch64-apple-darwin",
                "native/aarch64-apple-darwin/baseline.cwasm",
            ),
            ("pulley64", "pulley64", "native/pulley64/baseline.cwasm"),
        ] {
            let target: Target = given.parse().expect(given);
            assert_eq!(target.to_string(), whole);
            assert_eq!(target.entry_path(), path);
            assert_eq!(whole.parse(), Ok(target));
        }
    }

    #[test]
    fn other_words_for_a_target_are_understood() {
        for (name, meant) in [
            ("PULLEY64", Some("pulley64")),
            ("X86_64-Linux/x86-64-V3", Some("x86_64-linux/x86-64-v3")),
            ("amd64", Some("x86_64-linux")),
            ("amd64-linux", Some("x86_64-linux")),
            ("arm64", Some("aarch64-linux")),
            ("arm64-windows", Some("aarch64-windows")),
            ("linux", Some("x86_64-linux")),
            ("x86_64-linux/", Some("x86_64-linux")),
            ("amd64-unknown-linux-gnu", Some("x86_64-unknown-linux-gnu")),
            ("pulley64", None),
            ("x86_64-linux/x86-64-v9", None),
            ("sparc", None),
            ("", None),
        ] {
            assert_eq!(meant_by(name).as_deref(), meant, "{name}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        assert_eq!("x86_64".parse::<Target>(), Err(NotTarget::Triple("x86_64".into())));
        assert_eq!("".parse::<Target>(), Err(NotTarget::Triple(String::new())));
        for cpu in ["", "..", "a/b", "a b"] {
            assert_eq!(format!("pulley64/{cpu}").parse::<Target>(), Err(NotTarget::Cpu(cpu.into())));
        }
    }
}
