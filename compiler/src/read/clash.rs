//! Names that mean one file on some system: equal by case folding or by Unicode normalization,
//! or a file where another name wants a directory.

use std::collections::BTreeMap;

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

/// All names so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    files: BTreeMap<String, String>,
    /// Directories with an entry of their own.
    directories: BTreeMap<String, String>,
    /// Every directory, with the first name that needs it.
    needed: BTreeMap<String, String>,
}

impl Names {
    /// Adds a file; the clash with an earlier name, if there is one.
    pub(super) fn add_file(&mut self, name: &str) -> Option<Clash> {
        let folded = fold(name);
        let clash = |kind, other: &str| Some(Clash { kind, name: name.to_owned(), other: other.to_owned() });
        if let Some(other) = self.files.get(&folded) {
            return clash(kind_of(name, other), other);
        }
        if let Some(other) = self.needed.get(&folded) {
            return clash(ClashKind::FileAndDirectory, other);
        }
        if let Some(other) = self.file_above(&folded) {
            return clash(ClashKind::FileAndDirectory, other);
        }
        self.need_above(&folded, name);
        self.files.insert(folded, name.to_owned());
        None
    }

    /// Adds a directory that has an entry of its own, its name without the `/` at the end.
    pub(super) fn add_directory(&mut self, name: &str) -> Option<Clash> {
        let folded = fold(name);
        let clash =
            |kind, other: &str| Some(Clash { kind, name: format!("{name}/"), other: other.to_owned() });
        if let Some(other) = self.directories.get(&folded) {
            return clash(kind_of(name, other), &format!("{other}/"));
        }
        if let Some(other) = self.files.get(&folded).or_else(|| self.file_above(&folded)) {
            return clash(ClashKind::FileAndDirectory, other);
        }
        self.need_above(&folded, name);
        self.needed.entry(folded.clone()).or_insert_with(|| format!("{name}/"));
        self.directories.insert(folded, name.to_owned());
        None
    }

    /// The file that stands where `folded` wants a directory.
    fn file_above(&self, folded: &str) -> Option<&String> {
        above(folded).find_map(|directory| self.files.get(directory))
    }

    fn need_above(&mut self, folded: &str, name: &str) {
        for directory in above(folded) {
            if !self.needed.contains_key(directory) {
                self.needed.insert(directory.to_owned(), name.to_owned());
            }
        }
    }
}

/// The directories that a path leads through, outermost first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
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
/// what lower case alone keeps apart, such as `ß` and `SS`.
fn fold(name: &str) -> String {
    name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
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

    #[test]
    fn a_file_is_no_directory() {
        for (first, other) in
            [("a", "a/b"), ("a/b", "a"), ("a", "a/"), ("a/", "a"), ("a", "A/b/c"), ("a/b/c", "a/B")]
        {
            assert_eq!(second(first, other), Some(ClashKind::FileAndDirectory), "{first} {other}");
        }
    }
}
