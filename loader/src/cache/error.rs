//! What can be wrong with a cache.

use std::io;
use std::path::PathBuf;

use subako_manifest::bundle;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::target::Target;
use subako_manifest::text::shown;

use crate::{package_files, pick, verify};

/// The cache does not give what is asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such bundle is installed.
    #[error("`{}` is not installed", shown(.reference))]
    NotInstalled {
        /// What was asked for.
        reference: String,
    },
    /// Somebody else than the user and root may write a part of the cache.
    #[error("`{}` may be written by others", shown(&.path.to_string_lossy()))]
    OthersMayWrite {
        /// The file or directory.
        path: PathBuf,
    },
    /// A file of the cache is not what this program wrote.
    #[error("`{}` is damaged: {why}", shown(&.path.to_string_lossy()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The bundle was installed on a host with another CPU.
    #[error("`{digest}` is installed for `{target}`, which this host does not run")]
    OtherCpu {
        /// The bundle.
        digest: Digest,
        /// What is installed.
        target: Target,
    },
    /// The artifact is another engine's.
    #[error(transparent)]
    Engine(#[from] pick::Error),
    /// An entry of the bundle is not what its index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// The bundle's artifact is not to be had.
    #[error(transparent)]
    Artifact(#[from] verify::ArtifactError),
    /// The assets cannot be written.
    #[error(transparent)]
    Assets(#[from] package_files::Error),
    /// The disk refuses.
    #[error("`{}` cannot be read or written: {source}", shown(&.path.to_string_lossy()))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let about = |code, path: &PathBuf| Diagnostic::error(code, path.to_string_lossy(), self.to_string());
        vec![match self {
            Self::NotInstalled { reference } => {
                Diagnostic::error(Code::NotInstalled, reference.clone(), self.to_string())
                    .hint("`subako-loader install BUNDLE` installs one, `subako-loader cache list` lists those that are")
            }
            Self::OthersMayWrite { path } => about(Code::CacheShared, path)
                .rule("code runs from the cache without being hashed again, so only its user and root may write it")
                .hint("give the directory to the user that runs the loader, with mode 0700"),
            Self::Damaged { path, .. } => {
                about(Code::CacheDamaged, path).hint("`subako-loader cache verify` tells what else is, and installing the bundle again mends it")
            }
            Self::OtherCpu { digest, .. } => {
                Diagnostic::error(Code::CacheOtherCpu, digest.to_string(), self.to_string())
                    .hint("install the bundle again on this host")
            }
            Self::Engine(error) => return error.diagnostics(),
            Self::Bundle(error) => return error.diagnostics(),
            Self::Artifact(error) => return error.diagnostics(),
            Self::Assets(error) => return error.diagnostics(),
            Self::Io { path, .. } => about(Code::Io, path),
        }]
    }
}
