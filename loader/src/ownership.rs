//! Who may write a file or a directory. Code that is trusted without a signature – a bundle that
//! is mapped, an installed artifact, an artifact of the compile cache – is so only where nobody
//! but root and the user that this process runs as could have put it there: those two could
//! replace the process itself anyway.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Whether root and the user that this process runs as are the only ones who may write it.
#[cfg(unix)]
#[must_use]
pub fn only_we_may_write(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    (owner == 0 || owner == rustix::process::geteuid().as_raw()) && metadata.mode() & 0o022 == 0
}

/// Elsewhere that is not known.
#[cfg(not(unix))]
#[must_use]
pub fn only_we_may_write(_metadata: &Metadata) -> bool {
    false
}

/// Whether `path` is a directory, and no link to one, that only we may write.
///
/// # Errors
///
/// It is not there, or cannot be looked at.
pub fn is_ours_alone(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(metadata.is_dir() && only_we_may_write(&metadata))
}

/// Makes a directory, and those above it, for this user alone. One that is there stays as it is.
///
/// # Errors
///
/// The system refuses.
pub fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_may_write_is_not_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        make_directory(&path).unwrap();
        make_directory(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        for (mode, ours) in [(0o700, true), (0o755, true), (0o770, false), (0o702, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_ours_alone(&path).unwrap(), ours, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(!is_ours_alone(&link).unwrap());
        assert!(is_ours_alone(&folder.path().join("absent")).is_err());
    }
}
