//! Whom the user trusts: `--trust`, else the file that `SUBAKO_TRUST` names. Only where neither is
//! given does `--allow-unsigned` count, so that a deployment's choice cannot be talked away.

use std::env;
use std::path::PathBuf;

use subako_loader::cache::Record;
use subako_loader::verify::{TRUST_VARIABLE, Trust, Voucher, clock};
use subako_manifest::diagnostic::{Code, Diagnostic};
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
        .map(|path| Ok((path.display().to_string(), read_file(path, Code::TrustFileAbsent)?)))
        .collect::<Result<_, Stop>>()?;
    let keys = trust::Trust::from_files(&files)?;
    Ok(Trust::Keys { keys, detached: Vec::new(), now: clock()? })
}

/// Asks again of an installed bundle: its signatures were verified when it was installed, and
/// since then a key may have expired or the bundle may have been revoked.
pub(super) fn ask_again(source: &Source, record: &Record) -> Result<(), Stop> {
    let digest = record.digest.to_string();
    match trust(source)? {
        Trust::Keys { keys, now, .. } => {
            Ok(keys.ask_again(record.digest, record.upload, &record.package, &record.signed_by, now)?)
        }
        // Whoever installed it trusted somebody who signed it.
        _ if !record.signed_by.is_empty() => Ok(()),
        Trust::AllowUnsigned => {
            warn_of_unsigned(&source.bundle.to_string_lossy());
            Ok(())
        }
        _ => {
            let message = format!("`{digest}` was installed with `--allow-unsigned`");
            Err(Stop::one(
                Diagnostic::error(Code::Unsigned, digest, message)
                    .rule("native code runs only from a bundle that somebody vouches for (docs/trust.md)")
                    .hint("add `--allow-unsigned` to this command too, or install a signed bundle"),
            ))
        }
    }
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
    say(&format!("warning: `{}` is not signed, which --allow-unsigned accepts", shown(name)));
}
