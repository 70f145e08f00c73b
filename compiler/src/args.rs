//! The command line as it is typed. What it means is decided in `commands`.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};
use subako_compiler::sign::provenance;
use subako_compiler::{pipeline, precompile, read, rewrite};
use subako_manifest::key::{self, KeyId};
use subako_manifest::limits;

use subako_manifest::quantity::{Size, Time};

/// Turns function packages into bundles of native code.
///
/// A package is a directory or a zip with `subako-package.json` and `module.wasm` (or
/// `module.wat`) at its root; every other file in it is an asset. Its bundle holds the same
/// module compiled ahead of time, and runs in `subako-loader`.
#[derive(Debug, Parser)]
#[command(name = "subakoc", version, max_term_width = 100, after_help = TOP_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

const TOP_HELP: &str = "\
Examples:
  subakoc build greet -o greet.subako
  subakoc build greet -o greet.subako --sign builder.pem
  subakoc check greet --format json

Exit status:
  0  done
  2  the command line is wrong
  3  the package or bundle is refused
  5  the machine failed (disk, memory), or subakoc has a fault";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Build(Build),
    Rebuild(Rebuild),
    Keygen(Keygen),
    Sign(Sign),
    Verify(Verify),
    Publish(Publish),
    Pull(Pull),
    Inspect(Inspect),
    Targets(Targets),
    #[command(name = precompile::COMPILE_COMMAND, hide = true)]
    Compile(Compile),
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Shared {
    /// How results are printed: for people, or as one JSON object on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, global = true)]
    pub(crate) format: Format,
    /// Whether to use colours; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    color: Color,
    /// Say more: each step and its time, and what a summary leaves out
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Say less: no progress, no warnings, no summary
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Shared {
    /// Whether to use colours on `stream`.
    pub(crate) fn colors(&self, stream: &impl IsTerminal) -> bool {
        self.color.on(stream.is_terminal(), std::env::var_os("NO_COLOR"))
    }
}

impl Color {
    fn on(self, terminal: bool, no_color: Option<OsString>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            // An empty variable counts as unset (no-color.org).
            Self::Auto => terminal && no_color.is_none_or(|value| value.is_empty()),
        }
    }
}

/// Check packages against ABI 1, without building anything
///
/// Reads each package and checks its manifest and its module: the kind, the exports, the imports
/// with their types, and the WebAssembly features used. Every fault is told, of every package.
/// The module is not run, so its tools are checked by `build` only.
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct Check {
    /// Directories or zips
    #[arg(required = true, value_name = "PACKAGE")]
    pub(crate) packages: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

const CHECK_HELP: &str = "\
Examples:
  subakoc check greet
  subakoc check --format json greet weather.zip
  subakoc check --deny-warnings greet

Exit status:
  0  every package is accepted
  2  the command line is wrong
  3  a package is refused
  5  a file could not be read, or subakoc has a fault";

/// Build a bundle from a package
///
/// Reads and checks the package, rewrites its module, compiles it for every target, runs it once
/// to learn its tools, and packs all of it into one file. The same package gives the same bytes
/// on every machine. A build that is refused leaves no bundle behind.
#[derive(Debug, clap::Args)]
#[command(after_help = BUILD_HELP, group = ArgGroup::new("by").args(["sign", "signer"]))]
pub(crate) struct Build {
    /// A directory or a zip
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: PathBuf,
    /// The bundle to write; a file that is there is replaced whole
    #[arg(short, long, value_name = "OUT.subako")]
    pub(crate) output: PathBuf,
    /// Make an artifact for this target; repeatable. Without it: x86-64 Linux baseline and
    /// x86-64-v3, aarch64 Linux, and pulley64. `subakoc targets` lists all
    #[arg(long = "target", value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Put an SBOM of the bundle into it, `sbom.cdx.json` (CycloneDX): its files, the module as it
    /// came, the tools that made it, the engine
    #[arg(long)]
    pub(crate) sbom: bool,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
    // Before the others: their headings would take in what follows them.
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) passes: Passes,
    #[command(flatten)]
    pub(crate) compiling: Compiling,
    #[command(flatten)]
    pub(crate) sharing: Sharing,
    /// Sign the bundle with this private key: a PEM file, or `env:NAME` for a variable that holds
    /// the PEM
    #[arg(long, value_name = "KEY.pem", help_heading = "Signing")]
    pub(crate) sign: Option<String>,
    #[command(flatten)]
    pub(crate) signing: Signing,
}

const BUILD_HELP: &str = "\
Examples:
  subakoc build greet -o greet.subako
  subakoc build greet -o greet.subako --sign builder.pem --builder https://ci.example.com/builder
  subakoc build greet -o greet.subako --sign builder.pem --cache-to oci://registry:5000/cache
  subakoc build greet -o greet.subako --cache-from dir:/srv/cache --cache-trust builder.pem.pub
  subakoc build greet.zip -o greet.subako --target x86_64-linux/x86-64-v3 --target pulley64
  subakoc build greet -o greet.subako --report report.json --sbom
  subakoc build greet -o greet.subako --format json --deny-warnings

Exit status:
  0  the bundle is written
  2  the command line is wrong, or a target is not known
  3  the package is refused
  5  the machine failed (disk, memory), or subakoc has a fault";

/// Make new artifacts for a bundle, and keep everything else
///
/// Compiles the bundle's own module with this program's engine: for bundles whose engine a loader
/// does not run (any more), and for other targets. Manifest, tools, module, assets and the
/// upload's digest stay byte for byte; the module is not run again. Signatures do not survive.
/// Whose bundle it is, is not looked at: verify it before, and sign the new one.
#[derive(Debug, clap::Args)]
#[command(after_help = REBUILD_HELP, group = ArgGroup::new("by").args(["sign", "signer"]))]
pub(crate) struct Rebuild {
    /// A file that `subakoc build` made, of any engine version
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// The bundle to write; a file that is there is replaced whole, also BUNDLE itself
    #[arg(short, long, value_name = "OUT.subako")]
    pub(crate) output: PathBuf,
    /// Make an artifact for this target; repeatable. Without it: for those of the old bundle
    #[arg(long = "target", value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
    #[command(flatten)]
    pub(crate) compiling: Compiling,
    #[command(flatten)]
    pub(crate) sharing: Sharing,
    /// Sign the new bundle with this private key: a PEM file, or `env:NAME` for a variable that holds
    /// the PEM
    #[arg(long, value_name = "KEY.pem", help_heading = "Signing")]
    pub(crate) sign: Option<String>,
    #[command(flatten)]
    pub(crate) signing: Signing,
}

const REBUILD_HELP: &str = "\
Examples:
  subakoc rebuild old.subako -o new.subako
  subakoc rebuild old.subako -o new.subako --target aarch64-linux --target pulley64

Exit status:
  0  the bundle is written
  2  the command line is wrong, or a target is not known
  3  the bundle is refused
  5  the machine failed (disk, memory), or subakoc has a fault";

/// Where it is said how the run went.
#[derive(Debug, clap::Args)]
pub(crate) struct Reporting {
    /// Write how it went, step by step, to this file too (JSON), also when it is refused. But for
    /// `timings`, the same run writes the same bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// How a package is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// Refuse a package for its warnings too
    #[arg(long)]
    deny_warnings: bool,
    /// Files of a package, at most
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>,
        default_value_t = known(limits::MAX_PACKAGE_FILES),
        help_heading = "Limits")]
    max_files: NonZeroU64,
    /// Bytes of one file of a package, at most
    #[arg(long, value_name = "SIZE", help_heading = "Limits",
        default_value_t = Size::of(limits::MAX_PACKAGE_FILE_BYTES))]
    max_file_size: Size,
    /// Bytes of all files of a package together, at most
    #[arg(long, value_name = "SIZE", help_heading = "Limits",
        default_value_t = Size::of(limits::MAX_PACKAGE_TOTAL_BYTES))]
    max_total_size: Size,
    /// How many times larger than its compressed bytes an entry of a zip may be
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>,
        default_value_t = known(limits::MAX_PACKAGE_RATIO),
        help_heading = "Limits")]
    max_ratio: NonZeroU64,
}

impl Reading {
    pub(crate) fn limits(&self) -> read::Limits {
        read::Limits {
            files: self.max_files.get(),
            file_bytes: self.max_file_size.bytes(),
            total_bytes: self.max_total_size.bytes(),
            ratio: self.max_ratio.get(),
        }
    }

    pub(crate) fn warnings(&self) -> pipeline::Warnings {
        if self.deny_warnings { pipeline::Warnings::Denied } else { pipeline::Warnings::Accepted }
    }
}

/// What the rewrite leaves alone.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rewrite")]
pub(crate) struct Passes {
    /// Which custom sections to drop: none, debug and producer sections, or all, names of
    /// functions included (backtraces then have numbers only). Also with `none`, debug sections go
    /// where code moves, about which they would be wrong; `--keep-unreachable` keeps code in place
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    strip: Strip,
    /// Keep exports other than `_start` and `memory`
    #[arg(long)]
    keep_exports: bool,
    /// Keep functions, data, tables, globals and imports that nothing reaches
    #[arg(long)]
    keep_unreachable: bool,
    /// Leave the module as it is
    #[arg(long, conflicts_with_all = ["strip", "keep_exports", "keep_unreachable"])]
    no_rewrite: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Strip {
    None,
    #[default]
    Debug,
    All,
}

impl Passes {
    pub(crate) fn passes(&self) -> rewrite::Passes {
        rewrite::Passes {
            exports: !self.no_rewrite && !self.keep_exports,
            unreachable: !self.no_rewrite && !self.keep_unreachable,
            strip: match self.strip {
                _ if self.no_rewrite => rewrite::Strip::None,
                Strip::None => rewrite::Strip::None,
                Strip::Debug => rewrite::Strip::Debug,
                Strip::All => rewrite::Strip::All,
            },
        }
    }
}

/// How artifacts are made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compiling")]
pub(crate) struct Compiling {
    /// Targets compiled at the same time, at most; without it, as many as there are cores. Fewer
    /// are where memory is short
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// The time that one target may take: seconds, or with a unit (`90s`, `5m`)
    #[arg(long, value_name = "TIME", default_value_t = Time(limits::COMPILE_TIME))]
    pub(crate) compile_timeout: Time,
    /// The memory that compiling one target may take: bytes, or with a unit (`512MiB`)
    #[arg(long, value_name = "SIZE",
        default_value_t = Size::of(limits::COMPILE_MEMORY_BYTES))]
    pub(crate) compile_memory: Size,
    /// Where artifacts and compiled functions are kept for the next time; without it,
    /// $SUBAKO_COMPILE_CACHE, else `subakoc` in the user's cache directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Leave the cache alone: take nothing from it, and keep nothing in it
    #[arg(long, conflicts_with_all = ["cache_dir", "cache_size"])]
    pub(crate) no_cache: bool,
    /// The size of the cache: beyond it, what was used longest ago is removed
    #[arg(long, value_name = "SIZE",
        default_value_t = Size::of(limits::COMPILE_CACHE_BYTES))]
    pub(crate) cache_size: Size,
}

/// The compile cache that several builders share.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Shared compile cache")]
pub(crate) struct Sharing {
    /// Take artifacts that trusted builders have compiled before from here: `oci://HOST/REPOSITORY`
    /// or `dir:PATH`. Whatever is wrong there is a warning, and compiled
    #[arg(long, value_name = "PLACE")]
    pub(crate) cache_from: Option<String>,
    /// Share what is compiled here, signed by the key of `--sign` or `--signer`
    #[arg(long, value_name = "PLACE")]
    pub(crate) cache_to: Option<String>,
    /// A public key (PEM) of a builder whose artifacts are taken; repeatable. The key that this
    /// build signs with is trusted too
    #[arg(long, value_name = "KEY.pub", requires = "cache_from")]
    pub(crate) cache_trust: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Who signs, and what the signature says of the build.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Signing")]
pub(crate) struct Signing {
    /// Let this program sign, by the shell: the bytes to sign on its stdin, the raw signature on
    /// its stdout
    #[arg(long, value_name = "COMMAND", requires = "public_key")]
    pub(crate) signer: Option<String>,
    /// The public key (PEM) that the program signs by
    #[arg(long, value_name = "KEY.pub", requires = "signer")]
    pub(crate) public_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) passphrase: Passphrase,
    /// Who builds: a URI, for the statement that is signed
    #[arg(long, value_name = "URI", requires = "by", value_parser = uri,
        default_value = provenance::BUILDER_UNNAMED, hide_default_value = true)]
    pub(crate) builder: String,
    /// Where the package's source is, for the statement that is signed
    #[arg(long, value_name = "URI[@COMMIT]", requires = "by", value_parser = source)]
    pub(crate) source: Option<provenance::Source>,
}

/// Where the passphrase of a private key is; without either, it is asked for on the terminal.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Signing")]
pub(crate) struct Passphrase {
    /// The file with the private key's passphrase
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_env")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// The environment variable with the private key's passphrase
    #[arg(long, value_name = "NAME")]
    pub(crate) passphrase_env: Option<String>,
}

fn uri(text: &str) -> Result<String, String> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let named = scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    match named && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("give a URI, such as `https://ci.example.com/builder`".to_owned()),
    }
}

/// `URI` or `URI@COMMIT`, a commit being 40 or 64 hexadecimal digits.
fn source(text: &str) -> Result<provenance::Source, String> {
    let commit = |text: &str| {
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    Ok(match text.rsplit_once('@') {
        Some((before, after)) if commit(after) => {
            provenance::Source { uri: uri(before)?, commit: Some(after.to_owned()) }
        }
        _ => provenance::Source { uri: uri(text)?, commit: None },
    })
}

/// Make a key to sign bundles with
///
/// Writes the private key, which only you may read, and beside it the public key, with `.pub`
/// behind the name. Both are PEM as openssl writes it. A file that is there is never written over.
#[derive(Debug, clap::Args)]
#[command(after_help = KEYGEN_HELP)]
pub(crate) struct Keygen {
    /// The private key to write
    #[arg(short, long, value_name = "KEY.pem")]
    pub(crate) output: PathBuf,
    /// What the key signs by
    #[arg(long, value_enum, value_name = "ALGORITHM", default_value_t)]
    pub(crate) algorithm: Algorithm,
    /// Encrypt the private key with a passphrase, asked for where no option says where it is
    #[arg(long)]
    pub(crate) encrypt: bool,
    #[command(flatten)]
    pub(crate) passphrase: Passphrase,
}

const KEYGEN_HELP: &str = "\
Examples:
  subakoc keygen -o builder.pem
  subakoc keygen -o builder.pem --encrypt --passphrase-file passphrase.txt
  openssl genpkey -algorithm ed25519 -out builder.pem    (makes the same kind of key)

Exit status:
  0  both files are written
  2  a file is there already, or the command line is wrong
  3  the passphrase cannot be used
  5  the machine failed";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    #[default]
    Ed25519,
    /// ECDSA on P-256 with SHA-256
    P256,
}

impl From<Algorithm> for key::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Ed25519 => Self::Ed25519,
            Algorithm::P256 => Self::P256,
        }
    }
}

/// Sign a bundle
///
/// Compares every entry of the bundle with its index, and adds your signature to those that are
/// there. No other entry changes, and neither does the bundle's digest.
#[derive(Debug, clap::Args)]
#[command(after_help = SIGN_HELP,
    group = ArgGroup::new("what").args(["key", "signer", "attach", "remove"]).required(true),
    group = ArgGroup::new("by").args(["key", "signer"]))]
pub(crate) struct Sign {
    /// The bundle, which is replaced whole
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// The private key: a PEM file, or `env:NAME` for a variable that holds the PEM
    #[arg(long, value_name = "KEY.pem")]
    pub(crate) key: Option<String>,
    /// Add a signature that was made with `--detached`
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Option<PathBuf>,
    /// Remove the signature of this key
    #[arg(long, value_name = "KEYID")]
    pub(crate) remove: Option<KeyId>,
    /// Write the signature to this file and leave the bundle alone
    #[arg(long, value_name = "FILE", requires = "by", conflicts_with = "output")]
    pub(crate) detached: Option<PathBuf>,
    /// Write the bundle to this file and leave the one that is there alone
    #[arg(short, long, value_name = "OUT.subako")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signing: Signing,
}

const SIGN_HELP: &str = "\
Examples:
  subakoc sign greet.subako --key builder.pem
  subakoc sign greet.subako --key builder.pem --detached greet.sig.json
  subakoc sign greet.subako --attach greet.sig.json
  subakoc sign greet.subako --signer './kms-sign.sh key-7' --public-key key-7.pem.pub
  subakoc sign greet.subako --remove 3f0a…

Exit status:
  0  the bundle, or the signature, is written
  2  the command line is wrong
  3  the bundle or the key is refused
  5  the signing program or the machine failed";

/// Verify the signatures of a bundle
///
/// Says who vouches for the bundle and what they say of its build. This is what a loader does
/// with the same keys before it runs anything: every signature of a trusted key has to be right,
/// and every entry has to be what the index says.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct Verify {
    /// The bundle
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// A public key (PEM) whose signature is enough, repeatable; or one trust file. Without it:
    /// the trust file that SUBAKO_TRUST names
    #[arg(long, value_name = "KEY.pub")]
    pub(crate) trust: Vec<PathBuf>,
    /// A signature that was made with `--detached`; repeatable
    #[arg(long = "signature", value_name = "FILE")]
    pub(crate) signatures: Vec<PathBuf>,
}

const VERIFY_HELP: &str = "\
Examples:
  subakoc verify greet.subako --trust builder.pem.pub
  subakoc verify greet.subako --trust trust.json --format json

Exit status:
  0  enough of those whom you trust vouch for the bundle
  2  the command line is wrong
  3  they do not, or the bundle was changed
  5  a file could not be read";

/// Publish a bundle to a registry
///
/// Sends the bundle to a repository of an OCI registry, or writes it into an OCI image layout: its
/// index, what all targets share, and each artifact by itself, so that a deployment fetches the one
/// that it runs. Signatures are attached to it. What is there already is not sent again.
#[derive(Debug, clap::Args)]
#[command(after_help = PUBLISH_HELP)]
pub(crate) struct Publish {
    /// The bundle, whole
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// Where to: `oci://HOST/REPOSITORY[:TAG]`, or `dir:PATH[:TAG]`; without a tag, `latest`
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

const PUBLISH_HELP: &str = "\
Examples:
  subakoc publish greet.subako oci://ghcr.io/team/greet:1.0
  subakoc publish greet.subako oci://localhost:5000/greet:1.0
  subakoc publish greet.subako dir:greet-layout:1.0
  subakoc publish greet.subako oci://ghcr.io/team/greet:1.0 --username ci --password-stdin < token

Exit status:
  0  the bundle is published, with its signatures
  2  the command line is wrong
  3  the bundle is refused
  5  the registry refuses or cannot be reached, or the machine failed";

/// Pull a bundle from a registry
///
/// Fetches a bundle that was published, with the signatures that are attached to it, and compares
/// every part of it with its index. Without `--target` the file has the bytes that were published;
/// with it, the other artifacts stay away and the bundle is a thin one. Nobody's signature is
/// verified here: the loader does that, and `subakoc verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = PULL_HELP)]
pub(crate) struct Pull {
    /// Where from: `oci://HOST/REPOSITORY[:TAG|@DIGEST]`, or `dir:PATH[:TAG|@DIGEST]`
    #[arg(value_name = "REFERENCE")]
    pub(crate) reference: String,
    /// The bundle to write; of one that is there, what it has of this bundle is not fetched again
    #[arg(short, long, value_name = "OUT.subako")]
    pub(crate) output: PathBuf,
    /// Fetch the artifact for this target only; repeatable. `host` stands for the one that a
    /// loader picks on this machine
    #[arg(long = "target", value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

const PULL_HELP: &str = "\
Examples:
  subakoc pull oci://ghcr.io/team/greet:1.0 -o greet.subako
  subakoc pull oci://ghcr.io/team/greet@sha256:… -o greet.subako --target host
  subakoc pull dir:greet-layout:1.0 -o greet.subako

Exit status:
  0  the bundle is written
  2  the command line is wrong, or there is no artifact for a target
  3  nothing is there, or what is there is refused
  5  the registry refuses or cannot be reached, or the machine failed";

/// How a registry is spoken to.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct Registry {
    /// The user; without it, what `docker login` has kept for the registry
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub(crate) username: Option<String>,
    /// Read the user's password, or token, from stdin
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// The way to a registry.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct Connection {
    /// Speak plain http to a registry that is not on this machine
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Certificates (PEM) of CAs to trust beside those of the Web
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

/// Show what a bundle holds
///
/// Prints the package, its tools, the host functions it imports, its artifacts with their sizes
/// by section, and every entry with its digest. Every entry is compared with the index; nothing
/// is run, and signatures are not looked at. With `--sbom`, prints the bundle's SBOM alone.
#[derive(Debug, clap::Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct Inspect {
    /// A file that `subakoc build` made
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// Print the bundle's SBOM, as it is
    #[arg(long)]
    pub(crate) sbom: bool,
}

const INSPECT_HELP: &str = "\
Examples:
  subakoc inspect greet.subako
  subakoc inspect greet.subako --sbom > greet.cdx.json
  subakoc inspect greet.subako --format json

Exit status:
  0  the bundle is as its index says
  2  the command line is wrong
  3  the bundle is refused
  5  the file could not be read, or subakoc has a fault";

/// List the targets that artifacts can be made for
///
/// A target is a triple, alone for its baseline or with a CPU level behind a slash. The ones
/// that this machine can run are marked.
#[derive(Debug, clap::Args)]
#[command(after_help = TARGETS_HELP)]
pub(crate) struct Targets {}

const TARGETS_HELP: &str = "\
Examples:
  subakoc targets
  subakoc targets --format json

Exit status:
  0  done
  2  the command line is wrong";

/// Compile the module on stdin for one target and print the artifact: what `build` starts once
/// for each target, so that a stranger's module cannot take the machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Compile {
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// Bytes of address space of this process
    #[arg(value_name = "MEMORY")]
    pub(crate) memory: NonZeroU64,
    /// The folder of functions that were compiled before
    #[arg(value_name = "FUNCTIONS")]
    pub(crate) functions: Option<PathBuf>,
}

/// A number that is not 0, told in words of our own where it is none.
fn count<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "give a whole number of at least 1")
}

fn known(limit: u64) -> NonZeroU64 {
    NonZeroU64::new(limit).expect("the register of limits has none of 0")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(args: &[&str]) -> Result<Args, ErrorKind> {
        Args::try_parse_from([&["subakoc"], args].concat()).map_err(|error| error.kind())
    }

    fn build(args: &[&str]) -> Build {
        match parse(&[&["build", "greet", "-o", "out.subako"], args].concat()).unwrap().command {
            Command::Build(build) => build,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_and_exit_codes() {
        for command in Args::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().expect("help after the options").to_string();
            for part in ["Examples:\n", "Exit status:\n"] {
                assert!(help.contains(part), "{} has no {part}", command.get_name());
            }
        }
    }

    #[test]
    fn limits_of_a_package() {
        let limits = build(&[]).reading.limits();
        assert_eq!(
            (limits.files, limits.file_bytes, limits.total_bytes, limits.ratio),
            (10_000, 134_217_728, 536_870_912, 200)
        );
        let limits = build(&["--max-files=2", "--max-file-size=1KiB", "--max-total-size=3", "--max-ratio=4"])
            .reading
            .limits();
        assert_eq!((limits.files, limits.file_bytes, limits.total_bytes, limits.ratio), (2, 1_024, 3, 4));
    }

    #[test]
    fn passes_of_the_rewrite() {
        let passes = build(&[]).passes.passes();
        assert!(passes.exports && passes.unreachable && matches!(passes.strip, rewrite::Strip::Debug));
        let passes = build(&["--keep-exports", "--strip=all"]).passes.passes();
        assert!(!passes.exports && passes.unreachable && matches!(passes.strip, rewrite::Strip::All));
        let passes = build(&["--no-rewrite"]).passes.passes();
        assert!(!passes.exports && !passes.unreachable && matches!(passes.strip, rewrite::Strip::None));
        let both = ["build", "greet", "-o", "out.subako", "--no-rewrite", "--strip", "all"];
        assert_eq!(parse(&both).unwrap_err(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn limits_of_compiling() {
        let compiling = build(&[]).compiling;
        assert_eq!(compiling.compile_timeout.0.as_secs(), 300);
        assert_eq!(compiling.compile_memory.bytes(), 8_589_934_592);
        assert_eq!(compiling.cache_size.bytes(), 2_147_483_648);
        assert!(compiling.cache_dir.is_none() && !compiling.no_cache);
        for wrong in ["--jobs=0", "--compile-timeout=0", "--compile-memory=lots", "--cache-size=0"] {
            let args = ["build", "greet", "-o", "out.subako", wrong];
            assert_eq!(parse(&args).unwrap_err(), ErrorKind::ValueValidation, "{wrong}");
        }
    }

    #[test]
    fn who_signs() {
        let signed = build(&["--sign=k.pem", "--builder=https://ci", "--source=git+https://e@main"]);
        assert_eq!((signed.sign.as_deref(), signed.signing.builder.as_str()), (Some("k.pem"), "https://ci"));
        assert_eq!(signed.signing.source.unwrap().uri, "git+https://e@main");
        let commit = "0123456789012345678901234567890123456789";
        let at =
            build(&["--sign=k", &format!("--source=git+ssh://git@e/r@{commit}")]).signing.source.unwrap();
        assert_eq!((at.uri.as_str(), at.commit.as_deref()), ("git+ssh://git@e/r", Some(commit)));
        let sign = |args: &[&str]| parse(&[&["sign", "b.subako"], args].concat());
        sign(&["--key", "k"]).unwrap();
        sign(&["--signer", "s", "--public-key", "p", "--detached", "d"]).unwrap();
        for (args, kind) in [
            (&[][..], ErrorKind::MissingRequiredArgument),
            (&["--signer", "s"], ErrorKind::MissingRequiredArgument),
            (&["--key", "k", "--signer", "s", "--public-key", "p"], ErrorKind::ArgumentConflict),
            (&["--key", "k", "--attach", "a"], ErrorKind::ArgumentConflict),
            (&["--attach", "a", "--detached", "d"], ErrorKind::MissingRequiredArgument),
            (&["--key", "k", "--detached", "d", "-o", "o"], ErrorKind::ArgumentConflict),
            (&["--remove", "abc"], ErrorKind::ValueValidation),
            (&["--key", "k", "--builder", "me"], ErrorKind::ValueValidation),
            (&["--key", "k", "--source", "a b:c"], ErrorKind::ValueValidation),
        ] {
            assert_eq!(sign(args).unwrap_err(), kind, "{args:?}");
        }
        let unsigned = ["build", "greet", "-o", "out.subako", "--builder=https://ci"];
        assert_eq!(parse(&unsigned).unwrap_err(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn numbers_are_asked_for_in_words() {
        for (wrong, words) in [
            ("--jobs=0", "give a whole number of at least 1"),
            ("--jobs=two", "give a whole number of at least 1"),
            ("--max-files=0", "give a whole number of at least 1"),
            ("--max-total-size=1GB", "did you mean `1GiB`?"),
        ] {
            let error = Args::try_parse_from(["subakoc", "build", "greet", "-o", "out.subako", wrong])
                .expect_err(wrong)
                .to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn help_says_that_debug_sections_go_with_code_that_moves() {
        let mut command = Args::command();
        let build = command.find_subcommand_mut("build").unwrap();
        let help = build.render_long_help().to_string();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("with `none`, debug sections go where code moves"), "{help}");
    }

    #[test]
    fn what_is_needed() {
        assert_eq!(parse(&["check"]).unwrap_err(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parse(&["build", "greet"]).unwrap_err(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parse(&["targets", "-q", "-v"]).unwrap_err(), ErrorKind::ArgumentConflict);
        assert_eq!(parse(&["rebuild", "old.subako"]).unwrap_err(), ErrorKind::MissingRequiredArgument);
        let both = ["rebuild", "old.subako", "-o", "new.subako", "--no-cache", "--cache-dir", "cache"];
        assert_eq!(parse(&both).unwrap_err(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn colours() {
        for (when, terminal, no_color, on) in [
            (Color::Auto, true, None, true),
            (Color::Auto, true, Some(""), true),
            (Color::Auto, true, Some("1"), false),
            (Color::Auto, false, None, false),
            (Color::Always, false, Some("1"), true),
            (Color::Never, true, None, false),
        ] {
            assert_eq!(
                when.on(terminal, no_color.map(OsString::from)),
                on,
                "{when:?} {terminal} {no_color:?}"
            );
        }
    }
}
