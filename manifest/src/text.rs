//! Text from strangers – names in a zip, a guest's stderr, a tool's name – made fit to show.

/// The longest piece of foreign text that a message shows, in characters.
const MAX_SHOWN_CHARS: usize = 120;

/// Escapes control characters and other invisible ones, so that a name cannot drive the
/// terminal it is shown on, and cuts what is longer than 120 characters.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_SHOWN_CHARS {
            out.push('…');
            break;
        }
        push_visible(&mut out, c);
    }
    out
}

/// As [`shown`], for text of several lines (a guest's stderr): line ends and tabs stay, and
/// nothing is cut.
#[must_use]
pub fn shown_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' {
            out.push(c);
        } else {
            push_visible(&mut out, c);
        }
    }
    out
}

fn push_visible(out: &mut String, c: char) {
    // Directional overrides and zero-width characters make one name look like another.
    let invisible = matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if c.is_control() || invisible {
        out.extend(c.escape_unicode());
    } else {
        out.push(c);
    }
}

/// A number with a comma between groups of three digits: `65,536`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The name among `names` that is at most two edits away from what was written, if there is one.
#[must_use]
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Longer than any name of ours and two edits: not worth the table.
    if written.len() > 64 {
        return None;
    }
    names
        .into_iter()
        .map(|name| (edits(written, name), name))
        .filter(|(edits, _)| *edits <= 2)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be put in, taken out or changed to make one name of the other.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, candidate) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *candidate);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("fd_write", "fd_write"), 0);
        assert_eq!(edits("fd_wrte", "fd_write"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
    }

    #[test]
    fn only_a_near_name_is_offered() {
        assert_eq!(nearest("fd_wirte", ["fd_read", "fd_write"]), Some("fd_write"));
        assert_eq!(nearest("sock_connect", ["sock_accept", "fd_write"]), None);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\u{a}");
        assert_eq!(shown("x\u{202e}txt"), "x\\u{202e}txt");
        assert_eq!(shown_lines("one\n\ttwo\r"), "one\n\ttwo\\u{d}");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(shown(&"é".repeat(121)).chars().count(), 121);
        assert!(shown(&"é".repeat(121)).ends_with('…'));
        assert!(!shown(&"é".repeat(120)).ends_with('…'));
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(65_536), "65,536");
        assert_eq!(grouped(1_048_576), "1,048,576");
    }
}
