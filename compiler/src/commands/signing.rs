//! Who signs, from the command line: what `build`, `sign` and `keygen` share.

use std::env;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use subako_compiler::sign::key::{NotPrivateKey, PrivateKey, read_secret};
use subako_compiler::sign::program::Program;
use subako_compiler::sign::provenance::Provenance;
use subako_compiler::sign::{Error, Signer, Signing};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _};
use subako_manifest::key::PublicKey;
use subako_manifest::text::shown;
use subako_manifest::trust::{Fault, Moment, TrustFileError};
use zeroize::Zeroizing;

use super::Stop;
use crate::args;

/// What a key is that does not stand in a file.
pub(crate) const IN_VARIABLE: &str = "env:";
/// The time of the build, where somebody wants it told (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The signer that the options mean, if they mean one.
pub(super) fn wanted(
    key: Option<&str>,
    typed: &args::Signing,
    flags: Option<Vec<String>>,
) -> Result<Option<Signing>, Stop> {
    match (key, &typed.signer) {
        (None, None) => no_passphrase(&typed.passphrase).map(|()| None),
        _ => signing(key, typed, flags).map(Some),
    }
}

/// A passphrase that nothing would read was meant for a key that was forgotten.
pub(super) fn no_passphrase(typed: &args::Passphrase) -> Result<(), Stop> {
    let given = [
        (typed.passphrase_file.is_some(), "--passphrase-file"),
        (typed.passphrase_env.is_some(), "--passphrase-env"),
    ];
    let Some((_, option)) = given.into_iter().find(|(given, _)| *given) else { return Ok(()) };
    let message = format!("`{option}` is for a private key, and none is given");
    let told = Diagnostic::error(Code::Usage, option, message);
    Err(Stop::Refused(vec![
        told.hint("give the key with `--sign KEY.pem`, or with `--key KEY.pem` to `sign`"),
    ]))
}

/// The signer that the options mean; clap has seen to it that there is one.
pub(super) fn signing(
    key: Option<&str>,
    typed: &args::Signing,
    flags: Option<Vec<String>>,
) -> Result<Signing, Stop> {
    let provenance = Provenance {
        builder: typed.builder.clone(),
        source: typed.source.clone(),
        finished: finished()?,
        flags,
    };
    let signer = match (&typed.signer, &typed.public_key) {
        (Some(command), Some(path)) => {
            no_passphrase(&typed.passphrase)?;
            Signer::Program(Program::new(command.clone(), public_key(path)?))
        }
        _ => Signer::Key(private_key(key.unwrap_or_default(), &typed.passphrase)?),
    };
    Ok(Signing { signer: Arc::new(signer), provenance })
}

fn private_key(name: &str, typed: &args::Passphrase) -> Result<PrivateKey, Stop> {
    let pem = match name.strip_prefix(IN_VARIABLE) {
        Some(variable) => from_variable(variable),
        None => read_secret(Path::new(name)),
    };
    let read = pem.and_then(|pem| {
        PrivateKey::from_pem(name, &pem, || match passphrase(typed)? {
            Some(given) => Ok(given),
            None => ask(&format!("passphrase of {}: ", shown(name)))
                .ok_or_else(|| Error::PassphraseAbsent(name.to_owned())),
        })
    });
    read.map_err(|error| match (&error, private_of(name)) {
        (Error::Key { why: NotPrivateKey::Public, .. }, Some(private)) => {
            let hint = format!("give the private key, `{}`", shown(private));
            Stop::Refused(error.diagnostics().into_iter().map(|told| told.hint(&hint)).collect())
        }
        _ => error.into(),
    })
}

/// The private key that lies beside a public one, by the names that `keygen` gives.
fn private_of(public: &str) -> Option<&str> {
    public.strip_suffix(".pub").filter(|private| Path::new(private).is_file())
}

pub(super) fn public_key(path: &Path) -> Result<PublicKey, Stop> {
    let file = path.to_string_lossy().into_owned();
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let read = PublicKey::from_pem(&text);
    Ok(read.map_err(|error| TrustFileError { file, fault: Fault::Key(error) })?)
}

/// The passphrase, where an option says where it is.
pub(super) fn passphrase(typed: &args::Passphrase) -> Result<Option<Zeroizing<String>>, Error> {
    let text = match (&typed.passphrase_file, &typed.passphrase_env) {
        (Some(path), _) => read_secret(path)?,
        (None, Some(variable)) => from_variable(variable)?,
        (None, None) => return Ok(None),
    };
    // The end of the line is the editor's, not the passphrase's.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Some(Zeroizing::new(line.strip_suffix('\r').unwrap_or(line).to_owned())))
}

/// The passphrase as it is typed, where somebody is there to type it.
pub(super) fn ask(prompt: &str) -> Option<Zeroizing<String>> {
    io::stdin().is_terminal().then(|| rpassword::prompt_password(prompt).ok()).flatten().map(Zeroizing::new)
}

fn from_variable(name: &str) -> Result<Zeroizing<String>, Error> {
    env::var(name).map(Zeroizing::new).map_err(|_| Error::Variable(name.to_owned()))
}

/// When the build is finished, where somebody wants it told.
pub(super) fn finished() -> Result<Option<Moment>, Stop> {
    let Some(value) = env::var_os(EPOCH) else { return Ok(None) };
    let seconds = value.to_str().and_then(|text| text.parse().ok()).and_then(Moment::from_unix);
    seconds.map(Some).ok_or_else(|| {
        let value = shown(&value.to_string_lossy());
        let message = format!("`{EPOCH}` is `{value}`, which is no number of seconds since 1970");
        Stop::Refused(vec![Diagnostic::error(Code::EpochInvalid, EPOCH, message)])
    })
}

/// The name of a key's public half.
pub(crate) fn public_path(private: &Path) -> PathBuf {
    let mut name = private.as_os_str().to_owned();
    name.push(".pub");
    PathBuf::from(name)
}
