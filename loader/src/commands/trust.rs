//! Whom the user trusts: `--trust`, else the file that `SUBAKO_TRUST` names. Only where neither is
//! given does `--allow-unsigned` count, so that a deployment's choice cannot be talked away.

use std::env;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use subako_loader::cache::Record;
use subako_loader::verify::{TRUST_VARIABLE, Trust, Voucher, clock};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _};
use subako_manifest::text::shown;
use subako_manifest::trust;

use super::{Stop, read_file, say};
use crate::args::Source;

pub(super) fn trust(source: &Source) -> Result<Trust, Stop> {
    let mut paths = source.trust.clone();
    if paths.is_empty() {
        paths.extend(env::var_os(TRUST_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from));
    }
    if paths.is_empty() {
        return Ok(if source.allow_unsigned { Trust::AllowUnsigned } else { Trust::Nobody });
    }
    let files: Vec<(String, Vec<u8>)> = paths
        .iter()
        .map(|path| {
            only_some_may_write(path)?;
            Ok((path.display().to_string(), read_file(path, Code::TrustFileAbsent)?))
        })
        .collect::<Result<_, Stop>>()?;
    let keys = trust::Trust::from_files(&files)?;
    Ok(Trust::Keys { keys, detached: Vec::new(), now: clock()? })
}

/// A file that anybody may write says nothing about whom to trust. What is no file, such as a pipe,
/// is as good as whoever gives it.
fn only_some_may_write(path: &Path) -> Result<(), Stop> {
    // What cannot be looked at cannot be read either, which is told then.
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    if !metadata.is_file() || metadata.mode() & 0o002 == 0 {
        return Ok(());
    }
    let name = path.display().to_string();
    let message = format!("`{}` may be written by anybody, who then decides what runs", shown(&name));
    Err(Stop::one(
        Diagnostic::error(Code::TrustFileShared, name.clone(), message)
            .rule("who is trusted is said by whoever runs the loader (docs/trust.md)")
            .hint(format!("`chmod o-w {}`, and look at what is in it", shown(&name))),
    ))
}

/// Asks again of an installed bundle: its signatures were verified when it was installed, and
/// since then a key may have expired or the bundle may have been revoked.
pub(super) fn ask_again(source: &Source, record: &Record) -> Result<(), Stop> {
    let digest = record.digest.to_string();
    match trust(source)? {
        Trust::Keys { keys, now, .. } => keys
            .ask_again(record.digest, record.upload, &record.package, &record.signed_by, now)
            .map_err(|error| not_as_installed(&error, record)),
        // Whoever installed it trusted somebody who signed it.
        _ if !record.signed_by.is_empty() => Ok(()),
        Trust::AllowUnsigned => {
            warn_of_unsigned(&source.bundle.to_string_lossy());
            Ok(())
        }
        _ => Err(Stop::one(
            installed_unsigned(&digest)
                .hint("add `--allow-unsigned` to this command too, or install a signed bundle"),
        )),
    }
}

fn installed_unsigned(digest: &str) -> Diagnostic {
    let message = format!("`{digest}` was installed with `--allow-unsigned`");
    Diagnostic::error(Code::Unsigned, digest, message)
        .rule("native code runs only from a bundle that somebody vouches for (docs/trust.md)")
}

/// Why an installed bundle is not trusted. An install looks only at the signatures of the keys that
/// are trusted then: others may be in the bundle.
fn not_as_installed(error: &trust::Error, record: &Record) -> Stop {
    let again = "if the bundle has signatures of keys that are trusted now, install it again with these";
    if record.signed_by.is_empty() && matches!(error, trust::Error::Unsigned { .. }) {
        return Stop::one(installed_unsigned(&record.digest.to_string()).hint(again));
    }
    let revoked = matches!(error, trust::Error::Revoked { .. });
    let told = error.diagnostics().into_iter().map(|told| match revoked {
        true => told,
        false => told.hint(again),
    });
    Stop::Refused(told.collect())
}

/// Says who vouches: always where it is the user, else if they want to know.
pub(super) fn tell(voucher: &Voucher, source: &Source, verbose: bool) {
    match voucher {
        Voucher::User => warn_of_unsigned(&source.bundle.to_string_lossy()),
        Voucher::Keys(keys) if verbose => {
            for key in keys {
                say(&format!("signed by: {} ({})", shown(&key.name), key.key_id));
            }
        }
        Voucher::Keys(_) => {}
    }
}

fn warn_of_unsigned(name: &str) {
    say(&format!(
        "warning: nobody who is trusted has signed `{}`, which --allow-unsigned accepts",
        shown(name)
    ));
}
