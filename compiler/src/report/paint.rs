//! Colours, for a terminal that wants them, and the drawing of diagnostics.

use std::fmt;

use clap::builder::styling::{AnsiColor, Style};
use subako_manifest::diagnostic::{Diagnostic, Severity};

/// Colours or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// A label, a heading.
    pub(crate) fn strong(self, text: impl fmt::Display) -> String {
        self.styled(Style::new().bold(), text)
    }

    /// What is there to be found, not to be read first.
    pub(crate) fn faint(self, text: impl fmt::Display) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    /// All is well.
    pub(crate) fn good(self, text: impl fmt::Display) -> String {
        self.styled(AnsiColor::Green.on_default().bold(), text)
    }

    /// An error's head.
    pub(crate) fn bad(self, text: impl fmt::Display) -> String {
        self.styled(AnsiColor::Red.on_default().bold(), text)
    }

    /// A diagnostic, without a line end.
    pub(crate) fn diagnostic(self, diagnostic: &Diagnostic) -> String {
        let plain = diagnostic.to_string();
        if !self.on {
            return plain;
        }
        let head = match diagnostic.severity {
            Severity::Error => AnsiColor::Red.on_default().bold(),
            Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        };
        // The plain drawing is `head: message`, then lines that begin with one of three labels.
        let (kind, rest) = plain.split_once(": ").unwrap_or(("", &plain));
        let mut out = format!("{}: ", self.styled(head, kind));
        let (message, rest) = rest.split_at(diagnostic.message.len());
        out.push_str(&self.strong(message));
        let label = AnsiColor::Cyan.on_default();
        for line in rest.split_inclusive('\n') {
            match ["  --> ", "  rule: ", "  hint: "].iter().find(|label| line.starts_with(**label)) {
                Some(found) => {
                    out.push_str("  ");
                    out.push_str(&self.styled(label, found.trim()));
                    out.push_str(&line[found.len() - 1..]);
                }
                None => out.push_str(line),
            }
        }
        out
    }

    fn styled(self, style: Style, text: impl fmt::Display) -> String {
        if self.on { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use subako_manifest::diagnostic::{Code, Place};

    use super::*;

    fn diagnostic() -> Diagnostic {
        Diagnostic::error(Code::NotModule, "a", "`a` is\n  no module: é")
            .at(Place::file("a.wasm").at(16))
            .rule("a rule")
            .hint("one\ntwo")
    }

    #[test]
    fn without_colour_it_is_plain() {
        let plain = "error[E0302]: `a` is\n  no module: é\n  --> a.wasm, offset 0x10\n  rule: a rule\n  \
                     hint: one\n        two";
        assert_eq!(Paint::new(false).diagnostic(&diagnostic()), plain);
        assert_eq!(Paint::new(false).good("ok"), "ok");
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let painted = Paint::new(true).diagnostic(&diagnostic());
        assert!(painted.starts_with("\u{1b}["), "{painted:?}");
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = after.split_once('m').expect("an escape ends with `m`").1;
        }
        plain.push_str(rest);
        assert_eq!(plain, diagnostic().to_string());
    }
}
