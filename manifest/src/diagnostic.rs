//! What is said of a fault: a value that is collected, sorted and drawn twice, as text for
//! people and as JSON for machines.
//!
//! A step that refuses its input gives [`Diagnostic`]s; a step that could not do its work
//! gives an error of its own, which [`Explain`] turns into diagnostics at the very end. The
//! [`Code`] says whose fault it is ([`Blame`]), and blame is the exit code.

mod code;

use std::fmt;

use serde::Serialize;

pub use code::Code;

/// Whether a diagnostic refuses the input or only speaks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted; `--deny-warnings` makes it an error.
    Warning,
}

/// Whose doing a fault is: it decides a command's exit code (design, "Command lines").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The command line: exit code 2.
    Usage,
    /// What was given to the command: exit code 3.
    Input,
    /// Disk, network, memory of the machine: exit code 5.
    Environment,
    /// This program: exit code 5, with a request for a report.
    Internal,
}

impl Blame {
    /// The exit code of a command that ends with this blame.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Input => 3,
            Self::Environment | Self::Internal => 5,
        }
    }
}

/// Where in the input a fault is; whatever is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, as the user knows it: a path as given, or an entry of a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Bytes from the start of the file; for a module as text, from the start of the module that
    /// it is assembled to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Line of a text file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column of a text file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The function concerned: its name where the module has one, else `function N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

impl Place {
    /// A place in a file of which no more is known.
    #[must_use]
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::default() }
    }

    /// The same place, at `offset` bytes from the start of the file.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(file) = &self.file {
            let mut part = crate::text::shown(file);
            if let Some(line) = self.line {
                part.push_str(&format!(":{line}"));
                if let Some(column) = self.column {
                    part.push_str(&format!(":{column}"));
                }
            }
            parts.push(part);
        }
        if let Some(offset) = self.offset {
            let assembled = self.file.as_deref().is_some_and(is_text) && self.line.is_none();
            let of = if assembled { " of the assembled module" } else { "" };
            parts.push(format!("offset {offset:#x}{of}"));
        }
        if let Some(function) = &self.function {
            parts.push(format!("in {}", crate::text::shown(function)));
        }
        f.write_str(&parts.join(", "))
    }
}

/// Whether a file is WebAssembly text, in which no byte is where a module's is.
fn is_text(file: &str) -> bool {
    file.ends_with(".wat")
}

/// One fault, or one warning.
///
/// The message begins with the thing refused in backticks, then says what is wrong: lower
/// case, present tense, no full stop; a limit names what was found and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Which rule was broken; stable, see `docs/errors.md`.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// The thing refused, for machines: `env.abort`, an entry's name, a tool's name.
    pub subject: String,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What is wrong with it, for people.
    pub message: String,
    /// The rule in words, with the section it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The mend, when one is known: an action, a command when possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error about `subject`.
    #[must_use]
    pub fn error(code: Code, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            subject: subject.into(),
            place: None,
            message: message.into(),
            rule: None,
            hint: None,
        }
    }

    /// A warning about `subject`.
    #[must_use]
    pub fn warning(code: Code, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, subject, message) }
    }

    /// With the place it is at.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// With the rule it breaks.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// With the mend.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the mend, where there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// The drawing for people, without colour:
///
/// ```text
/// error[E0312]: import `env.abort` is not part of ABI 1
///   --> greet/module.wasm, offset 0x1a7
///   rule: …
///   hint: …
/// ```
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}[{}]: {}", self.code.as_str(), self.message)?;
        if let Some(place) = &self.place {
            write!(f, "\n  --> {place}")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, "\n  rule: {}", rule.replace('\n', "\n        "))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", hint.replace('\n', "\n        "))?;
        }
        Ok(())
    }
}

/// An error of a step that can be told to a user.
pub trait Explain: std::error::Error {
    /// What to tell; never empty.
    fn diagnostics(&self) -> Vec<Diagnostic>;

    /// Whose doing it is: the gravest blame among the diagnostics.
    fn blame(&self) -> Blame {
        blame(&self.diagnostics())
    }
}

/// The gravest blame among diagnostics that are errors.
#[must_use]
pub fn blame(diagnostics: &[Diagnostic]) -> Blame {
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.code.blame())
        .max()
        .unwrap_or(Blame::Input)
}

/// Faults found in one run of a step, as the error of that step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub Vec<Diagnostic>);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl Explain for Refused {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.0.clone()
    }
}

impl From<Diagnostic> for Refused {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_says_what_it_is_in() {
        for (file, drawn) in [
            ("greet/module.wasm", "greet/module.wasm, offset 0x1a7"),
            ("greet/module.wat", "greet/module.wat, offset 0x1a7 of the assembled module"),
        ] {
            assert_eq!(Place::file(file).at(0x1a7).to_string(), drawn);
        }
        let line = Place { line: Some(3), column: Some(7), ..Place::file("greet/module.wat") };
        assert_eq!(line.to_string(), "greet/module.wat:3:7");
    }
}
