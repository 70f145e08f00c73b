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

#[cfg(test)]
mod tests {
    use super::*;

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
