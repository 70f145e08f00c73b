//! What a name in a package may be: a relative path with `/` between its parts, that means the
//! same file on every system and leads nowhere else.

use subako_manifest::diagnostic::Code;
use subako_manifest::limits::MAX_ENTRY_NAME_BYTES;
use subako_manifest::text::{grouped, shown};

use super::limits::MAX_NAME_PART_BYTES;

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameFault {
    /// Not UTF-8.
    NotText,
    /// Nothing at all, or nothing between two slashes.
    EmptyPart,
    /// NUL, line ends, escapes.
    Control(char),
    /// Another system's separator.
    Backslash,
    /// `C:` and the like.
    Drive,
    /// Begins with `/`.
    Absolute,
    /// A part `.` or `..`.
    Traversal,
    /// More bytes than a path may have.
    Long(usize),
    /// A part of more bytes than a file system takes.
    PartLong(usize),
}

/// The name of a file, or of a directory without its `/` at the end.
pub(super) fn check(name: &[u8]) -> Result<&str, NameFault> {
    let name = std::str::from_utf8(name).map_err(|_| NameFault::NotText)?;
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Err(NameFault::Control(control));
    }
    if name.contains('\\') {
        return Err(NameFault::Backslash);
    }
    if let [letter, b':', ..] = name.as_bytes()
        && letter.is_ascii_alphabetic()
    {
        return Err(NameFault::Drive);
    }
    if name.starts_with('/') {
        return Err(NameFault::Absolute);
    }
    // A path that leads out is worth more than one that is untidy.
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(NameFault::Traversal);
    }
    if name.split('/').any(str::is_empty) {
        return Err(NameFault::EmptyPart);
    }
    if name.len() > MAX_ENTRY_NAME_BYTES {
        return Err(NameFault::Long(name.len()));
    }
    match name.split('/').map(str::len).find(|bytes| *bytes > MAX_NAME_PART_BYTES) {
        Some(bytes) => Err(NameFault::PartLong(bytes)),
        None => Ok(name),
    }
}

impl NameFault {
    pub(super) fn code(self) -> Code {
        match self {
            Self::NotText => Code::EntryNameText,
            Self::EmptyPart => Code::EntryNameEmpty,
            Self::Control(_) => Code::EntryNameControl,
            Self::Backslash => Code::EntryNameBackslash,
            Self::Drive => Code::EntryNameDrive,
            Self::Absolute => Code::EntryNameAbsolute,
            Self::Traversal => Code::EntryNameTraversal,
            Self::Long(_) | Self::PartLong(_) => Code::EntryNameLong,
        }
    }

    pub(super) fn message(self, name: &str) -> String {
        let name = shown(name);
        match self {
            Self::NotText => format!("entry `{name}` has a name that is not UTF-8"),
            Self::EmptyPart if name.is_empty() => "entry `` has no name".to_owned(),
            Self::EmptyPart => format!("entry `{name}` has an empty part in its path"),
            Self::Control(control) => {
                format!("entry `{name}` has the control character {} in its name", control.escape_unicode())
            }
            Self::Backslash => format!("entry `{name}` has a backslash in its name"),
            Self::Drive => format!("entry `{name}` begins with a drive letter"),
            Self::Absolute => format!("entry `{name}` is an absolute path"),
            Self::Traversal => format!("entry `{name}` has a part `.` or `..` in its path"),
            Self::Long(found) => format!(
                "entry `{name}` has a path of {} bytes, at most {} are allowed",
                grouped(found as u64),
                grouped(MAX_ENTRY_NAME_BYTES as u64)
            ),
            Self::PartLong(found) => format!(
                "entry `{name}` has a part of {} bytes in its path, at most {MAX_NAME_PART_BYTES} are allowed",
                grouped(found as u64)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_names() {
        for name in
            ["a", "a/b/c.txt", ".hidden", "..a", "a..", "...", "ünï/中文", "a b", "ab:c", "trailing.", "CON"]
        {
            assert_eq!(check(name.as_bytes()), Ok(name));
        }
        let part = "a".repeat(255);
        assert!(check(part.as_bytes()).is_ok());
        let path = format!("{part}/{part}/{part}/{part}/");
        assert!(check(path.trim_end_matches('/').as_bytes()).is_ok());
    }

    #[test]
    fn each_kind_of_name_is_refused() {
        let refused = |name: &str| check(name.as_bytes()).unwrap_err();
        assert_eq!(check(b"a\xff"), Err(NameFault::NotText));
        assert_eq!(refused(""), NameFault::EmptyPart);
        assert_eq!(refused("a//b"), NameFault::EmptyPart);
        assert_eq!(refused("a/"), NameFault::EmptyPart);
        assert_eq!(refused("a\0b"), NameFault::Control('\0'));
        assert_eq!(refused("a\nb"), NameFault::Control('\n'));
        assert_eq!(refused("\u{7f}"), NameFault::Control('\u{7f}'));
        assert_eq!(refused("\u{85}"), NameFault::Control('\u{85}'));
        assert_eq!(refused("a\\b"), NameFault::Backslash);
        assert_eq!(refused("..\\a"), NameFault::Backslash);
        assert_eq!(refused("C:a"), NameFault::Drive);
        assert_eq!(refused("c:/a"), NameFault::Drive);
        assert_eq!(refused("/etc/passwd"), NameFault::Absolute);
        assert_eq!(refused("//a"), NameFault::Absolute);
        for name in ["..", "../a", "a/../b", "a/..", ".", "./a", "a/./b", "a//../b"] {
            assert_eq!(refused(name), NameFault::Traversal, "{name}");
        }
        assert_eq!(refused(&"a".repeat(256)), NameFault::PartLong(256));
        assert_eq!(refused(&format!("{}é", "a".repeat(254))), NameFault::PartLong(256));
        assert_eq!(refused(&format!("{}ab", "ab/".repeat(341))), NameFault::Long(1_025));
    }
}
