//! A path beneath `/volume`.

/// A path beneath `/volume`: a mount and at least one name below it, none of them able to lead
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumePath {
    /// Which of the volume's directories.
    pub mount: Mount,
    /// The names below it, as the bytes of a file name.
    pub names: Vec<Vec<u8>>,
}

/// A directory of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mount {
    /// `/volume/tmp`.
    Tmp,
    /// `/volume/data`.
    Data,
}

/// Why a guest's path names no file of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPath {
    /// It begins with neither `/volume/tmp/` nor `/volume/data/`.
    #[error("it is not below `/volume/tmp` or `/volume/data`")]
    Outside,
    /// It ends in a slash.
    #[error("it names a directory")]
    Directory,
    /// It has a `..`.
    #[error("it has a name `..`")]
    Parent,
    /// It has a zero byte.
    #[error("it has a zero byte")]
    Zero,
}

impl VolumePath {
    /// The path that a module writes as `path`: absolute, as it opens its files. As everywhere
    /// in a path, `.` and a doubled slash mean nothing.
    ///
    /// # Errors
    ///
    /// It names no file below `/volume/tmp` or `/volume/data`, or is not plain enough to tell.
    pub fn of_guest(path: &str) -> Result<Self, NotPath> {
        let mut names = path.strip_prefix('/').ok_or(NotPath::Outside)?.split('/');
        let mut named = || names.by_ref().find(|name| !matches!(*name, "" | "."));
        let mount = match (named(), named()) {
            (Some("volume"), Some("tmp")) => Mount::Tmp,
            (Some("volume"), Some("data")) => Mount::Data,
            _ => return Err(NotPath::Outside),
        };
        let mut below = Vec::new();
        while let Some(name) = named() {
            match name {
                ".." => return Err(NotPath::Parent),
                name if name.contains('\0') => return Err(NotPath::Zero),
                name => below.push(name.as_bytes().to_owned()),
            }
        }
        if below.is_empty() || path.ends_with('/') || path.ends_with("/.") {
            return Err(NotPath::Directory);
        }
        Ok(Self { mount, names: below })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_guest() {
        for (path, mount, below) in [
            ("/volume/tmp/out.bin", Mount::Tmp, &["out.bin"][..]),
            ("/volume/data/a/b", Mount::Data, &["a", "b"]),
            ("//volume//tmp/./a", Mount::Tmp, &["a"]),
            ("/volume/tmp/...", Mount::Tmp, &["..."]),
            ("/volume/tmp/%2e%2e", Mount::Tmp, &["%2e%2e"]),
            ("/volume/tmp/a b\\c", Mount::Tmp, &["a b\\c"]),
        ] {
            let below = below.iter().map(|name| name.as_bytes().to_owned()).collect();
            assert_eq!(VolumePath::of_guest(path), Ok(VolumePath { mount, names: below }), "{path}");
        }
    }

    #[test]
    fn paths_of_a_guest_that_name_no_file() {
        for (path, wrong) in [
            ("", NotPath::Outside),
            ("/", NotPath::Outside),
            ("out.bin", NotPath::Outside),
            ("volume/tmp/a", NotPath::Outside),
            ("/package/a", NotPath::Outside),
            ("/skills/a/b", NotPath::Outside),
            ("/volume/other/a", NotPath::Outside),
            ("/volume/tmpx/a", NotPath::Outside),
            ("/Volume/tmp/a", NotPath::Outside),
            ("/volume/../etc/passwd", NotPath::Outside),
            ("/volume/tmp", NotPath::Directory),
            ("/volume/tmp/", NotPath::Directory),
            ("/volume/tmp/a/", NotPath::Directory),
            ("/volume/tmp/a/.", NotPath::Directory),
            ("/volume/tmp/..", NotPath::Parent),
            ("/volume/tmp/../data/a", NotPath::Parent),
            ("/volume/tmp/a/../b", NotPath::Parent),
            ("/volume/tmp/a\0b", NotPath::Zero),
        ] {
            assert_eq!(VolumePath::of_guest(path), Err(wrong), "{path}");
        }
    }
}
