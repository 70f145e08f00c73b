//! Every way in which publishing and pulling fail.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use subako_manifest::bundle;
use subako_manifest::bundle::write::WriteError;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place, Refused};
use subako_manifest::digest::Digest;
use subako_manifest::target::Target;
use subako_manifest::text::{grouped, shown};

/// Why a bundle was not published, or not pulled. Addresses have no credentials in them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle is not what its index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// The bundle cannot be put together.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// No artifact is wanted.
    #[error(transparent)]
    Picked(#[from] Refused),
    /// The bundle to publish has not all its artifacts.
    #[error("`{}` is absent: the bundle is thin", shown(.path))]
    Thin {
        /// The first artifact that is absent.
        path: String,
    },
    /// A signature, of the bundle or from the store, is not one.
    #[error("`{}` is not a signature of the bundle: {}", shown(.name), shown(.why))]
    Signature {
        /// The entry, or the digest of the manifest.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is published is not a bundle, or not whole.
    #[error("what is published there is not a bundle: {}", shown(.0))]
    Other(String),
    /// What is stored is not an artifact of a shared compile cache.
    #[error("what is stored there is not an artifact of a compile cache: {}", shown(.0))]
    NotCompiled(String),
    /// More than is taken.
    #[error("`{}` has {} bytes, at most {} are allowed", shown(.name), grouped(*.found), grouped(*.allowed))]
    TooLarge {
        /// What it is.
        name: String,
        /// Its bytes.
        found: u64,
        /// The limit.
        allowed: u64,
    },
    /// There is no artifact for a target.
    #[error("`{target}` is not among the targets of the published bundle")]
    Target {
        /// The target.
        target: Target,
        /// Those that are there.
        there: Vec<Target>,
    },
    /// Nothing is there.
    #[error("`{}` is not there", shown(.0))]
    Absent(String),
    /// Nothing that is a bundle came by the digest that was asked for.
    #[error(transparent)]
    ByDigest(Box<Error>),
    /// Something else came than was asked for, or than was sent.
    #[error("`{}` came with the digest {found}, expected {expected}", shown(.name))]
    Digest {
        /// Where it came from.
        name: String,
        /// The digest of what came.
        found: Digest,
        /// The digest that it should have.
        expected: Digest,
    },
    /// Something came in another size.
    #[error("`{}` came with {} bytes, expected {}", shown(.name), grouped(*.found), grouped(*.expected))]
    Size {
        /// Where it came from.
        name: String,
        /// Its bytes; one more than expected where more came.
        found: u64,
        /// The bytes that it should have.
        expected: u64,
    },
    /// A file or a directory.
    #[error("`{}` cannot be read or written: {source}", shown(&.path.to_string_lossy()))]
    Io {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A directory that is no image layout.
    #[error("`{}` is not an OCI image layout: {}", shown(&.path.to_string_lossy()), shown(.why))]
    Layout {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No answer: the name, the connection, TLS, or the time that it took.
    #[error("`{}` cannot be reached: {}", shown(.url), shown(.why))]
    Unreachable {
        /// What was asked for.
        url: String,
        /// Why not.
        why: String,
    },
    /// The registry asked to wait, or failed, at each attempt.
    #[error("`{}` answers {status} at each of {attempts} attempts", shown(.url))]
    Busy {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// How often it was asked for.
        attempts: u32,
    },
    /// The registry asks to wait for longer than anybody would.
    #[error("`{}` answers {status} and asks to wait {} s, at most {} s are waited", shown(.url), grouped(.asked.as_secs()), grouped(.allowed.as_secs()))]
    Wait {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// How long it asks to wait.
        asked: Duration,
        /// The limit.
        allowed: Duration,
    },
    /// The registry refuses a request.
    #[error("`{}` answers {status}: {}", shown(.url), shown(.message))]
    Refused {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What the registry says.
        message: String,
    },
    /// It refuses a request by plain http as a server of https does.
    #[error("`{}` answers {status}: {}", shown(.url), shown(.message))]
    MaybeHttps {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The registry asks who that is, or does not let them.
    #[error("`{}` {}: {}", shown(.host), if *.known { "does not let this user do that" } else { "asks for a user and a password" }, shown(.message))]
    Denied {
        /// The registry.
        host: String,
        /// Whether it was given credentials.
        known: bool,
        /// What it says.
        message: String,
    },
    /// A registry of https leads to plain http.
    #[error("`{}` is plain http, where the registry leads", shown(.0))]
    Plain(String),
    /// An answer that the protocol does not have.
    #[error("`{}` {}", shown(.url), shown(.why))]
    Answer {
        /// What was asked for.
        url: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// Stored credentials, or the program that keeps them.
    #[error("`{}` gives no credentials: {}", shown(.name), shown(.why))]
    Credentials {
        /// The file or the program.
        name: String,
        /// Why not; never the credentials themselves.
        why: String,
    },
    /// No password where one was to be.
    #[error("`{}` gives no password: {}", shown(.name), shown(.why))]
    Password {
        /// Where.
        name: String,
        /// Why not.
        why: String,
    },
    /// A file for a CA without a certificate.
    #[error("`{}` has no certificate: {}", shown(&.path.to_string_lossy()), shown(.why))]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl Error {
    /// The same, where a bundle was asked for by its manifest's digest: whoever takes the bundle's for
    /// it gets an answer that differs from registry to registry.
    pub(crate) fn by_digest(self) -> Self {
        match self {
            Self::Absent(_) | Self::Busy { .. } | Self::Refused { .. } | Self::Other(_) => {
                Self::ByDigest(Box::new(self))
            }
            other => other,
        }
    }

    /// Whether it is about what is stored, and not about the store itself.
    #[must_use]
    pub fn is_about_content(&self) -> bool {
        if let Self::ByDigest(error) = self {
            return error.is_about_content();
        }
        matches!(
            self,
            Self::Signature { .. }
                | Self::Other(_)
                | Self::NotCompiled(_)
                | Self::TooLarge { .. }
                | Self::Absent(_)
                | Self::Digest { .. }
                | Self::Size { .. }
        )
    }
}

const MANIFEST_DIGEST: &str = "a bundle is pulled by its manifest's digest, the one in the reference that `subakoc publish` prints as `to pin`, not by its own";

const OF_REGISTRY: &str = "try again; if it stays so, the registry's storage is damaged, and as the registry says that it has this, `publish` does not send it again: delete it there and publish again, or publish to another repository";
const OF_LAYOUT: &str = "`subakoc publish` of the same bundle writes anew what is damaged in an image layout";

const MAYBE_HTTPS: &str = "it was asked by plain http, as registries on this machine are unless `--ca-file FILE` is given, and others with `--plain-http`: if it speaks https, give its CA's certificate, or leave `--plain-http` away";
const MAKE_A_CA: &str = "make a CA, and with it a certificate for the server: the server gets that one, `--ca-file` the CA's; or make the server's own with `basicConstraints=CA:FALSE`";

/// What is wrong with a certificate that was made without a thought of CAs.
pub(crate) const CA_AS_SERVER: &str = "it is a CA's, which is no server's";

fn is_address(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let error = |code, subject: &str| Diagnostic::error(code, subject, self.to_string());
        vec![match self {
            Self::Bundle(inner) => return inner.diagnostics(),
            Self::Write(inner) => return inner.diagnostics(),
            Self::Picked(inner) => return inner.diagnostics(),
            Self::Thin { path } => error(Code::PublishedThin, path)
                .rule("who pulls a bundle gets any of its artifacts (docs/publish.md)")
                .hint("publish the whole bundle, as it was built or as `subakoc pull` without `--target` gives it"),
            Self::Signature { name, .. } => error(Code::PublishedSignature, name),
            Self::Other(_) => error(Code::PublishedOther, "manifest"),
            Self::NotCompiled(_) => error(Code::SharedCacheEntry, "manifest"),
            Self::TooLarge { name, .. } => error(Code::PublishedOther, name),
            Self::Target { target, there } => {
                let there: Vec<String> = there.iter().map(ToString::to_string).collect();
                error(Code::PublishedTarget, &target.to_string())
                    .hint(format!("it has: {}", shown(&there.join(", "))))
            }
            Self::Absent(name) => error(Code::PublishedAbsent, name),
            Self::ByDigest(inner) => {
                // What may pass keeps its own hint.
                let hinted = |told: Diagnostic| match told.hint.clone() {
                    Some(hint) => told.hint(format!("{MANIFEST_DIGEST}; or {hint}")),
                    None => told.hint(MANIFEST_DIGEST),
                };
                return inner.diagnostics().into_iter().map(hinted).collect();
            }
            Self::Digest { name, .. } | Self::Size { name, .. } => error(Code::PublishedDigest, name)
                .rule("whatever a registry gives is compared with its digest, and so is what it took")
                .hint(if is_address(name) { OF_REGISTRY } else { OF_LAYOUT }),
            Self::Io { path, .. } => {
                let path = path.to_string_lossy();
                error(Code::Io, &path).at(Place::file(path))
            }
            Self::Layout { path, .. } => error(Code::LayoutInvalid, &path.to_string_lossy()),
            Self::Unreachable { url, why } if why.ends_with(CA_AS_SERVER) => {
                error(Code::RegistryAbsent, url).hint(MAKE_A_CA)
            }
            Self::Unreachable { url, .. } => error(Code::RegistryAbsent, url),
            Self::Busy { url, .. } | Self::Wait { url, .. } => error(Code::RegistryBusy, url)
                .hint("try again later: what is there already is not sent or fetched again"),
            Self::Refused { url, .. } => error(Code::RegistryRefused, url),
            Self::MaybeHttps { url, .. } => error(Code::RegistryRefused, url).hint(MAYBE_HTTPS),
            Self::Denied { host, known: false, .. } => error(Code::RegistryDenied, host)
                .hint(format!("`docker login {}`, or `--username NAME --password-stdin`", shown(host))),
            Self::Denied { host, known: true, .. } => error(Code::RegistryDenied, host),
            Self::Plain(url) => error(Code::RegistryPlain, url)
                .rule("plain http is for this machine alone, unless `--plain-http` is given"),
            Self::Answer { url, .. } => error(Code::RegistryAnswer, url),
            Self::Credentials { name, .. } => error(Code::CredentialsUnread, name),
            Self::Password { name, .. } => error(Code::Usage, name),
            Self::Certificate { path, .. } => error(Code::CertificateInvalid, &path.to_string_lossy())
                .rule("a CA file has certificates in PEM"),
        }]
    }
}
