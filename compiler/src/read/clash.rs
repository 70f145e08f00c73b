//! Names that mean one file on some system: equal by case folding or by Unicode normalization,
//! or a file where another name wants a directory.

use std::collections::BTreeMap;
use std::ops::Bound;

use subako_manifest::diagnostic::Code;
use unicode_normalization::UnicodeNormalization as _;

/// Why two names cannot be in one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clash {
    pub(super) kind: ClashKind,
    /// The name that came later.
    pub(super) name: String,
    /// The name that it clashes with.
    pub(super) other: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClashKind {
    /// The same name.
    Exact,
    /// The same after case folding.
    Case,
    /// The same after NFC.
    Normalization,
    /// One is a file, the other a directory or in one.
    FileAndDirectory,
}

impl ClashKind {
    pub(super) fn code(self) -> Code {
        match self {
            Self::Exact => Code::EntryTwice,
            Self::Case => Code::EntryCase,
            Self::Normalization => Code::EntryNormalization,
            Self::FileAndDirectory => Code::EntryFileAndDirectory,
        }
    }
}

/// All names so far, by their [`fold`]ed form. Every question costs one look into a sorted map:
/// a hostile zip has tens of thousands of names of hundreds of parts.
#[derive(Debug, Default)]
pub(super) struct Names {
    files: BTreeMap<String, String>,
    /// Directories with an entry of their own, their names with the `/`.
    directories: BTreeMap<String, String>,
}

impl Names {
    /// Adds a file; the clash with an earlier name, if there is one.
    pub(super) fn add_file(&mut self, name: &str) -> Option<Clash> {
        let folded = fold(name);
        let clash = |kind, other: &str| Some(Clash { kind, name: name.to_owned(), other: other.to_owned() });
        if let Some(other) = self.files.get(&folded) {
            return clash(kind_of(name, other), other);
        }
        let other = self
            .file_above(&folded)
            .or_else(|| self.directories.get(&folded))
            .or_else(|| below(&self.files, &folded))
            .or_else(|| below(&self.directories, &folded));
        if let Some(other) = other {
            return clash(ClashKind::FileAndDirectory, other);
        }
        self.files.insert(folded, name.to_owned());
        None
    }

    /// Adds a directory that has an entry of its own, its name without the `/` at the end.
    pub(super) fn add_directory(&mut self, name: &str) -> Option<Clash> {
        let folded = fold(name);
        let name = format!("{name}/");
        let clash = |kind, other: &str| Some(Clash { kind, name: name.clone(), other: other.to_owned() });
        if let Some(other) = self.directories.get(&folded) {
            return clash(kind_of(&name, other), other);
        }
        if let Some(other) = self.files.get(&folded).or_else(|| self.file_above(&folded)) {
            return clash(ClashKind::FileAndDirectory, other);
        }
        self.directories.insert(folded, name);
        None
    }

    /// The file that stands where `folded` wants a directory. NUL sorts before all else, so that
    /// only names below that file could come between the two, and those have been refused.
    fn file_above(&self, folded: &str) -> Option<&String> {
        let (file, name) =
            self.files.range::<str, _>((Bound::Unbounded, Bound::Excluded(folded))).next_back()?;
        is_below(folded, file).then_some(name)
    }
}

/// The first name that wants `folded` for a directory.
fn below<'a>(names: &'a BTreeMap<String, String>, folded: &str) -> Option<&'a String> {
    let (found, name) = names.range::<str, _>((Bound::Excluded(folded), Bound::Unbounded)).next()?;
    is_below(found, folded).then_some(name)
}

fn is_below(folded: &str, directory: &str) -> bool {
    folded.strip_prefix(directory).is_some_and(|rest| rest.starts_with('\0'))
}

fn kind_of(name: &str, other: &str) -> ClashKind {
    if name == other {
        ClashKind::Exact
    } else if name.nfc().eq(other.nfc()) {
        ClashKind::Normalization
    } else {
        ClashKind::Case
    }
}

/// One form for all names that some system takes for the same. To upper case and back merges
/// what lower case alone keeps apart, such as `ß` and `SS`. Parts are separated by NUL, which no
/// name has.
fn fold(name: &str) -> String {
    let folded: String = name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect();
    folded.replace('/', "\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(first: &str, second: &str) -> Option<ClashKind> {
        let mut names = Names::default();
        let mut add = |name: &str| match name.strip_suffix('/') {
            Some(name) => names.add_directory(name),
            None => names.add_file(name),
        };
        assert_eq!(add(first), None);
        add(second).map(|clash| {
            assert_eq!((clash.name.as_str(), clash.other.as_str()), (second, first));
            clash.kind
        })
    }

    #[test]
    fn names_that_differ_stand_together() {
        for (first, other) in
            [("a", "b"), ("a/b", "a/c"), ("a/", "a/b"), ("a/b", "a/"), ("a", "ab/c"), ("é", "e")]
        {
            assert_eq!(second(first, other), None, "{first} {other}");
        }
    }

    #[test]
    fn names_that_are_one_file_somewhere_clash() {
        assert_eq!(second("a", "a"), Some(ClashKind::Exact));
        assert_eq!(second("a/", "a/"), Some(ClashKind::Exact));
        for (first, other) in [
            ("a", "A"),
            ("readme.TXT", "README.txt"),
            ("É", "é"),
            ("straße", "STRASSE"),
            ("ΣΑΣ", "σας"),
            ("\u{212a}", "k"),
            ("Dir/x", "dir/x"),
            ("e\u{301}", "É"),
        ] {
            assert_eq!(second(first, other), Some(ClashKind::Case), "{first} {other}");
        }
        for (first, other) in [("é", "e\u{301}"), ("\u{212b}", "Å"), ("가", "\u{1100}\u{1161}")] {
            assert_eq!(second(first, other), Some(ClashKind::Normalization), "{first} {other}");
        }
    }

    /// Names that sort between a file and what is below it, in plain order.
    #[test]
    fn neighbours_hide_no_clash() {
        let mut names = Names::default();
        for name in ["a", "a-b", "a b", "a!", "b/c", "b-d"] {
            assert_eq!(names.add_file(name), None);
        }
        for (name, other) in [("a/x", "a"), ("b", "b/c"), ("a!/x", "a!"), ("b/c/d/e", "b/c")] {
            let clash = names.add_file(name).unwrap();
            assert_eq!((clash.kind, &*clash.other), (ClashKind::FileAndDirectory, other));
        }
        assert_eq!(names.add_directory("b"), None);
    }

    #[test]
    fn a_file_is_no_directory() {
        for (first, other) in
            [("a", "a/b"), ("a/b", "a"), ("a", "a/"), ("a/", "a"), ("a", "A/b/c"), ("a/b/c", "a/B")]
        {
            assert_eq!(second(first, other), Some(ClashKind::FileAndDirectory), "{first} {other}");
        }
    }
}
