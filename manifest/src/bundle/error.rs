//! Every way in which a bundle is wrong, each its own variant.

use std::fmt;

use super::{ARTIFACT_ALIGNMENT, INDEX};
use crate::archive::{self, Method};
use crate::diagnostic::{Code, Diagnostic, Explain, Place};
use crate::digest::Digest;
use crate::index::IndexError;
use crate::text::{grouped, shown};

/// What is wrong with a bundle. Offsets are in bytes from the start of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The zip itself is broken or lies, or an entry's data does.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// There is no index.
    #[error("`{INDEX}` is absent: the file is a zip, but not a bundle")]
    IndexAbsent,
    /// The index is wrong.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index names an entry that the zip does not have; of artifacts, only when one is asked for.
    #[error("`{}` is in the index and not in the bundle", shown(.path))]
    EntryAbsent {
        /// The entry's path.
        path: String,
    },
    /// The zip has an entry that the index does not name.
    #[error("`{}` is in the bundle and not in its index", shown(.path))]
    EntryUnknown {
        /// The entry's path, with what is not UTF-8 replaced.
        path: String,
    },
    /// The entries are not sorted by path, in the file or in the zip's directory.
    #[error("`{}` is not in its place: entries are sorted by path", shown(.path))]
    Order {
        /// The first entry that is not after the one before it.
        path: String,
    },
    /// An entry has another size than the index says.
    #[error("`{}` has {} bytes, the index says {}", shown(.path), grouped(*.found), grouped(*.expected))]
    Size {
        /// The entry's path.
        path: String,
        /// Its bytes.
        found: u64,
        /// The index's number.
        expected: u64,
    },
    /// An entry says that it inflates to more bytes than one of its role can have, or than deflate
    /// can make of its compressed bytes.
    #[error("`{}` has {} bytes, it can have at most {}", shown(.path), grouped(*.found), grouped(*.allowed))]
    TooLarge {
        /// The entry's path.
        path: String,
        /// The bytes that it says it has.
        found: u64,
        /// The bytes that it can have.
        allowed: u64,
    },
    /// An artifact is deflated, or another entry is not.
    #[error("`{}` is {}, and must be {}", shown(.path), name(*.found), name(*.expected))]
    Method {
        /// The entry's path.
        path: String,
        /// How it is stored.
        found: Method,
        /// How its role is stored.
        expected: Method,
    },
    /// A header holds a value that no bundle has.
    #[error("`{}` has {field} {found:#x}, and a bundle has {expected:#x}", shown(.path))]
    Header {
        /// The entry's path.
        path: String,
        /// Which value.
        field: HeaderField,
        /// What it is.
        found: u32,
        /// What it is in every bundle.
        expected: u32,
    },
    /// An artifact's data does not begin at a multiple of the alignment.
    #[error("`{}` begins at {}, which is no multiple of {}", shown(.path), grouped(*.offset), grouped(ARTIFACT_ALIGNMENT))]
    Alignment {
        /// The artifact's path.
        path: String,
        /// Where its data begins.
        offset: u64,
    },
    /// An artifact's padding is longer than it must be, or holds something.
    #[error("`{}` has a padding that is not the one of zeros which aligns it", shown(.path))]
    Padding {
        /// The artifact's path.
        path: String,
        /// Where its header begins.
        offset: u64,
    },
    /// An entry has other contents than the index says.
    #[error("`{}` has the digest {found}, the index says {expected}", shown(.path))]
    Digest {
        /// The entry's path.
        path: String,
        /// The digest of the contents.
        found: Digest,
        /// The index's.
        expected: Digest,
    },
}

/// A value of a header that is the same in every bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderField {
    /// The version that made the entry, and its system.
    MadeBy,
    /// The version that is needed to read the entry.
    VersionNeeded,
    /// The flags.
    Flags,
    /// Time and date.
    Time,
    /// Bytes of the extra field.
    ExtraField,
    /// The internal attributes.
    InternalAttributes,
    /// The external attributes: the kind of file and its mode.
    ExternalAttributes,
}

impl fmt::Display for HeaderField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MadeBy => "made-by version",
            Self::VersionNeeded => "needed version",
            Self::Flags => "flags",
            Self::Time => "time",
            Self::ExtraField => "extra bytes",
            Self::InternalAttributes => "internal attributes",
            Self::ExternalAttributes => "external attributes",
        })
    }
}

fn name(method: Method) -> String {
    match method {
        Method::Stored => "stored".to_owned(),
        Method::Deflated => "deflated".to_owned(),
        Method::Other(number) => format!("compressed by method {number}"),
    }
}

/// Nothing in a bundle can be mended by hand: another byte is another bundle.
pub(crate) const GET_AGAIN: &str =
    "get the bundle again from where it was built: unpacking and zipping it anew makes another file";

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let error = |code, subject: &str| Diagnostic::error(code, subject, self.to_string()).hint(GET_AGAIN);
        vec![match self {
            Self::Index(index) => return index.diagnostics(),
            Self::Archive(archive) => explain_archive(archive),
            Self::IndexAbsent => error(Code::BundleIndexAbsent, INDEX)
                .hint("if it is a package, `subakoc build PACKAGE -o OUT.subako` makes a bundle of it"),
            Self::EntryAbsent { path } => error(Code::BundleEntryAbsent, path),
            Self::EntryUnknown { path } => error(Code::BundleEntryUnknown, path),
            Self::Order { path } => error(Code::BundleZipOrder, path),
            Self::Size { path, .. } => error(Code::BundleSize, path),
            Self::TooLarge { path, .. } => error(Code::BundleEntryLarge, path),
            Self::Method { path, .. } => error(Code::BundleMethod, path),
            Self::Header { path, .. } => error(Code::BundleHeader, path),
            Self::Alignment { path, offset } => error(Code::BundleAlignment, path).at(offset_only(*offset)),
            Self::Padding { path, offset } => error(Code::BundlePadding, path).at(offset_only(*offset)),
            Self::Digest { path, .. } => error(Code::BundleDigest, path),
        }]
    }
}

/// The zip's reader speaks of zips; which code a fault has here is this table.
fn explain_archive(error: &archive::Error) -> Diagnostic {
    use archive::Error as E;
    let code = match error {
        E::Gap { .. } | E::TrailingBytes { .. } | E::DirectoryLong { .. } | E::Comment { .. } => {
            Code::BundleGap
        }
        E::SizeWrong { .. }
        | E::TooLarge { .. }
        | E::CrcWrong { .. }
        | E::DataBroken { .. }
        | E::DataLong { .. } => Code::BundleContents,
        _ => Code::BundleBroken,
    };
    let subject = error.entry().unwrap_or("bundle").to_owned();
    let diagnostic = Diagnostic::error(code, subject, error.to_string());
    let diagnostic = match error {
        E::EndAbsent => diagnostic.hint("if it is a bundle, get it again from where it was built"),
        _ => diagnostic.hint(GET_AGAIN),
    };
    match error.offset() {
        Some(offset) => diagnostic.at(offset_only(offset)),
        None => diagnostic,
    }
}

fn offset_only(offset: u64) -> Place {
    Place::default().at(offset)
}
