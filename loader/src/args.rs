//! The command line as it is typed. What it means is decided in `commands`.

mod plain;

use std::env;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use subako_manifest::diagnostic::{Code, Diagnostic, Refused};
use subako_manifest::limits;
use subako_manifest::quantity::{Size, Time};
use subako_manifest::target::Target;

/// Runs bundles of native code that `subakoc` built.
#[derive(Debug, Parser)]
#[command(name = "subako-loader", version, max_term_width = 100, after_help = TOP_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const TOP_HELP: &str = "\
Examples:
  subako-loader tools greet.subako --trust builder.pem.pub
  subako-loader call greet.subako greet '{\"name\":\"Ada\"}' --trust builder.pem.pub

Exit status:
  0  done
  1  the tool answered `isError`
  2  the command line is wrong
  3  the bundle is refused
  4  the call crashed
  5  the machine failed (disk, memory)";

impl Args {
    /// Parses the command line.
    ///
    /// # Errors
    ///
    /// Help, or a fault of usage.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        match plain::call(env::args_os().skip(1)) {
            Some(call) => Ok(Self { command: Command::Call(Box::new(call)) }),
            None => Self::try_parse(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Tools(Tools),
    Call(Box<Call>),
    Exec(Exec),
    Install(Install),
    Cache(Cache),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

/// Which bundle, and who vouches for it.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Source {
    /// The bundle's file; or `sha256:…` or `name:PACKAGE` for one that is installed
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// Where installed bundles are; without it, $SUBAKO_CACHE_DIR, else `subako` in the user's cache
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// A public key (PEM) whose signature is enough, repeatable; or one trust file. Without it:
    /// the trust file that SUBAKO_TRUST names
    #[arg(long, value_name = "KEY.pub")]
    pub(crate) trust: Vec<PathBuf>,
    /// Run a bundle that nobody has signed; for development. Does nothing where keys are trusted
    #[arg(long)]
    pub(crate) allow_unsigned: bool,
}

/// How a command that loads a bundle talks.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Shared {
    /// How results are printed: for people, or as one JSON object on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
    /// Say on stderr which artifact runs, and why the others do not
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What a call is given and how far it may go.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Bounds {
    /// The time of the whole call, the module's start included
    #[arg(long, value_name = "TIME", default_value_t = Time(limits::CALL_TIME))]
    pub(crate) timeout: Time,
    /// How large the module's memory may grow
    #[arg(long, value_name = "SIZE", default_value_t = Size::of(limits::MEMORY_BYTES))]
    pub(crate) memory: Size,
    /// How much the module may write to files
    #[arg(long, value_name = "SIZE", default_value_t = Size::of(limits::WRITE_BUDGET_BYTES))]
    pub(crate) write_budget: Size,
    /// The directory behind `/volume/tmp`; without it, a fresh one that is removed afterwards
    #[arg(long, value_name = "DIR")]
    pub(crate) volume_tmp: Option<PathBuf>,
    /// The directory behind `/volume/data`; without it, the module has none
    #[arg(long, value_name = "DIR")]
    pub(crate) volume_data: Option<PathBuf>,
    /// A read-only directory behind `/skills/NAME`; NAME has 1 to 32 of a-z 0-9 -; repeatable
    #[arg(long = "skill", value_name = "NAME=DIR", value_parser = skill)]
    pub(crate) skills: Vec<(String, PathBuf)>,
    /// Keep the fresh directory behind `/volume/tmp`, and say where it is
    #[arg(long, conflicts_with = "volume_tmp")]
    pub(crate) keep_volume: bool,
    /// The hosts that the module may reach, and their credentials: a JSON file; without it, none
    #[arg(long, value_name = "POLICY")]
    pub(crate) network: Option<PathBuf>,
    /// Show what the module writes on stderr as it comes
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Run the artifact for this target and no other
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Target>,
}

/// `NAME=DIR`: the platform's skill names are 1 to 32 of `a-z 0-9 -`.
fn skill(text: &str) -> Result<(String, PathBuf), String> {
    let (name, dir) = text.split_once('=').ok_or("give NAME=DIR")?;
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !(1..=limits::MAX_SKILL_NAME_CHARS).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(format!("a skill's name has 1 to {} of a-z 0-9 -", limits::MAX_SKILL_NAME_CHARS));
    }
    if dir.is_empty() {
        return Err("give NAME=DIR".to_owned());
    }
    Ok((name.to_owned(), PathBuf::from(dir)))
}

/// List a bundle's tools
///
/// Nothing runs: the tools are those that the module answered when the bundle was built.
#[derive(Debug, clap::Args)]
#[command(after_help = TOOLS_HELP)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) source: Source,
    /// How results are printed: for people, or as one JSON object on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
}

const TOOLS_HELP: &str = "\
Examples:
  subako-loader tools greet.subako --allow-unsigned
  subako-loader tools greet.subako --allow-unsigned --format json

Exit status:
  0  done
  2  the command line is wrong
  3  the bundle is refused
  5  the machine failed";

/// Call a tool and print its answer
///
/// The module is started, asked once, and has to exit; every call gets a fresh instance. In text,
/// the answer is what the model reads; as JSON, it is the tool's own result, or why there is none.
#[derive(Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = CALL_HELP)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The tool's name
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// The arguments: a JSON object, `@FILE` to read one, or `-` for stdin
    #[arg(value_name = "ARGUMENTS", default_value = NO_ARGUMENTS)]
    pub(crate) arguments: String,
    /// As JSON, also what the model would read
    #[arg(long)]
    pub(crate) render: bool,
    /// Say on stderr how long each step took
    #[arg(long)]
    pub(crate) timings: bool,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// The arguments of a tool that needs none.
const NO_ARGUMENTS: &str = "{}";

const CALL_HELP: &str = "\
Examples:
  subako-loader call greet.subako greet '{\"name\":\"Ada\"}' --allow-unsigned
  subako-loader call greet.subako greet @arguments.json --format json --allow-unsigned
  echo '{\"name\":\"Ada\"}' | subako-loader call greet.subako greet - --allow-unsigned

Exit status:
  0  the tool answered
  1  the tool answered `isError`
  2  the command line is wrong
  3  the bundle is refused
  4  the call crashed
  5  the machine failed";

/// Pass JSON-RPC lines through to the module
///
/// Each line of stdin goes to the module as it is, once the request before it is answered; each
/// line that the module prints goes to stdout as it is. Stdin's end closes the module's stdin. The
/// protocol's rules hold, but for JSON-RPC errors, which are passed on.
#[derive(Debug, clap::Args)]
#[command(after_help = EXEC_HELP)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// Say on stderr which artifact runs, and why the others do not
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

const EXEC_HELP: &str = "\
Examples:
  subako-loader exec greet.subako --allow-unsigned < requests.jsonl

Exit status:
  0  every request was answered
  2  the command line is wrong
  3  the bundle is refused
  4  the conversation broke
  5  the machine failed";

/// Install a bundle, to run it without verifying it again
///
/// The bundle is verified, and the artifact for this host, the tools and the assets are kept in the
/// cache under the bundle's digest, and under the package's name. Where the loader was built with the
/// feature `registry`, BUNDLE can also be `oci://HOST/REPOSITORY@DIGEST`: then the index, what all
/// targets share and that artifact are pulled, and nothing else. With a trusted key, `:TAG` is enough.
#[derive(Debug, clap::Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Install the artifact for this target and no other
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Target>,
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[cfg(feature = "registry")]
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// How a registry is spoken to.
#[cfg(feature = "registry")]
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct Registry {
    /// The user; without it, what `docker login` has kept for the registry
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub(crate) username: Option<String>,
    /// Read the user's password, or token, from stdin
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    /// Speak plain http to a registry that is not on this machine
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Certificates (PEM) of CAs to trust beside those of the Web
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

const INSTALL_HELP: &str = "\
Examples:
  subako-loader install greet.subako --allow-unsigned
  subako-loader call name:greet greet '{\"name\":\"Ada\"}' --allow-unsigned

Exit status:
  0  done
  2  the command line is wrong
  3  the bundle is refused
  5  the machine failed";

/// List, prune or verify what is installed
#[derive(Debug, clap::Args)]
#[command(after_help = CACHE_HELP)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
    /// Where installed bundles are; without it, $SUBAKO_CACHE_DIR, else `subako` in the user's cache
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// How results are printed: for people, or as one JSON object on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, global = true)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// The installed bundles, a line each: digest, name, target
    List,
    /// Remove the bundles that no name stands for, and what cut-off installs have left
    Prune {
        /// Remove all bundles
        #[arg(long)]
        all: bool,
    },
    /// Hash everything and compare it with the bundles' indexes
    Verify,
}

const CACHE_HELP: &str = "\
Examples:
  subako-loader cache list
  subako-loader cache prune
  subako-loader cache verify --format json

Exit status:
  0  done
  2  the command line is wrong
  3  `verify` found a damaged bundle
  5  the machine failed, or others may write the cache";

/// Where installed bundles are: as given, else `$SUBAKO_CACHE_DIR`, else `subako` in the user's
/// cache directory.
pub(crate) fn cache_dir(given: Option<&Path>) -> Result<PathBuf, Refused> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given
        .map(Path::to_owned)
        .or_else(|| variable("SUBAKO_CACHE_DIR"))
        .or_else(|| variable("XDG_CACHE_HOME").filter(|dir| dir.is_absolute()).map(|dir| dir.join("subako")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache").join("subako")))
        .ok_or_else(|| {
            Diagnostic::error(Code::CacheAbsent, "cache", "there is no home directory for the cache to be in")
                .hint("name a directory with `--cache-dir` or SUBAKO_CACHE_DIR")
                .into()
        })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn skills_are_named() {
        assert_eq!(skill("pdf-forms=/s"), Ok(("pdf-forms".to_owned(), PathBuf::from("/s"))));
        for wrong in ["", "a", "a=", "=d", "A=d", "a/b=d", &format!("{}=d", "a".repeat(33))] {
            assert!(skill(wrong).is_err(), "{wrong}");
        }
    }
}
