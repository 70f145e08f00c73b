//! Labelled lines and aligned columns.

use subako_manifest::text::grouped;

use super::paint::Paint;

/// Where what is labelled begins.
const INDENT: usize = 11;
/// Where lines of words are broken; columns of tables are as wide as they are.
const WIDTH: usize = 96;

/// One column of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// To the left.
    Text(String),
    /// To the right, with its digits grouped.
    Number(u64),
    /// To the side of what is below it, and faint.
    Head(&'static str),
}

impl Cell {
    fn content(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => grouped(*number),
            Self::Head(text) => (*text).to_owned(),
        }
    }
}

/// A drawing in the making.
#[derive(Debug)]
pub(crate) struct Sheet {
    paint: Paint,
    text: String,
}

impl Sheet {
    pub(crate) fn new(paint: Paint) -> Self {
        Self { paint, text: String::new() }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Lines, the first with the label before it; no label without a line.
    pub(crate) fn field(&mut self, label: &str, lines: impl IntoIterator<Item = String>) {
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            // Padded before it is painted: escapes have no width.
            let label = format!("{label:<width$}", width = INDENT - 1);
            let label = if at == 0 { self.paint.strong(label) } else { label };
            let line = format!("{label} {line}");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Rows of a table, the first with the label before it.
    pub(crate) fn table(&mut self, label: &str, rows: impl IntoIterator<Item = Vec<Cell>>) {
        let rows: Vec<_> = rows.into_iter().collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |at: usize| rows.iter().filter_map(move |row: &Vec<Cell>| row.get(at));
        let widths: Vec<_> = (0..columns)
            .map(|at| column(at).map(|cell| cell.content().chars().count()).max().unwrap_or(0))
            .collect();
        let numbers: Vec<_> =
            (0..columns).map(|at| column(at).any(|cell| matches!(cell, Cell::Number(_)))).collect();
        let lines = rows.iter().map(|row| {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let (content, width) = (cell.content(), widths[at]);
                let padded = match cell {
                    Cell::Number(_) => format!("{content:>width$}"),
                    Cell::Head(_) if numbers[at] => format!("{content:>width$}"),
                    Cell::Text(_) | Cell::Head(_) if at + 1 == row.len() => content,
                    Cell::Text(_) | Cell::Head(_) => format!("{content:<width$}"),
                };
                let last = at + 1 == row.len();
                line.push_str(&if matches!(cell, Cell::Head(_)) { self.paint.faint(padded) } else { padded });
                if !last {
                    line.push_str("  ");
                }
            }
            line
        });
        let lines: Vec<_> = lines.collect();
        self.field(label, lines);
    }

    /// `head` and words behind it, broken into lines.
    pub(crate) fn words(&mut self, label: &str, head: &str, words: &[impl AsRef<str>]) {
        let mut lines = Vec::new();
        let mut line = head.to_owned();
        for (at, word) in words.iter().enumerate() {
            let comma = if at + 1 == words.len() { "" } else { "," };
            let word = format!("{}{comma}", word.as_ref());
            if INDENT + line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::replace(&mut line, format!("  {word}")));
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
        }
        lines.push(line);
        self.field(label, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet::new(Paint::new(false))
    }

    #[test]
    fn labels_stand_before_the_first_line_only() {
        let mut sheet = sheet();
        sheet.field("one", ["a".to_owned(), "b".to_owned()]);
        sheet.field("none", []);
        assert_eq!(sheet.into_text(), "one        a\n           b\n");
    }

    #[test]
    fn numbers_stand_to_the_right_below_their_head() {
        let mut sheet = sheet();
        let text = |text: &str| Cell::Text(text.to_owned());
        sheet.table(
            "sizes",
            [
                vec![Cell::Head("name"), Cell::Head("bytes"), Cell::Head("note")],
                vec![text("é"), Cell::Number(1_000), text("")],
                vec![text("longer"), Cell::Number(7), text("x")],
            ],
        );
        assert_eq!(
            sheet.into_text(),
            "sizes      name    bytes  note\n           é       1,000\n           longer      7  x\n"
        );
    }

    #[test]
    fn words_are_broken_into_lines() {
        let mut sheet = sheet();
        sheet.words("imports", "module:", &["a".repeat(40), "b".repeat(40), "c".to_owned()]);
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        assert_eq!(sheet.into_text(), format!("imports    module: {a},\n             {b}, c\n"));
    }

    #[test]
    fn a_painted_label_is_as_wide_as_a_plain_one() {
        let mut sheet = Sheet::new(Paint::new(true));
        sheet.field("one", ["a".to_owned()]);
        assert_eq!(sheet.into_text(), "\u{1b}[1mone       \u{1b}[0m a\n");
    }
}
