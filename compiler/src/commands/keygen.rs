//! `subakoc keygen`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use subako_compiler::sign::Error;
use subako_compiler::sign::key::PrivateKey;
use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::text::shown;
use zeroize::Zeroizing;

use super::signing::{ask, passphrase, public_path};
use super::{Console, Stop};
use crate::args::Keygen;
use crate::output::Files;
use crate::report::keygen::KeygenReport;

pub(super) fn run(args: &Keygen, console: &Console) -> Result<u8, Stop> {
    let public_path = public_path(&args.output);
    let files = Files::from(args);
    // Told before anybody types a passphrase; the files are made only if they are not there.
    for path in [&args.output, &public_path] {
        if fs::symlink_metadata(path).is_ok() {
            return Err(there_already(path));
        }
        files.fresh(path)?;
    }
    let passphrase = match passphrase(&args.passphrase)? {
        None if args.encrypt => Some(asked_twice(&args.output)?),
        given => given,
    };
    let key = PrivateKey::generate(args.algorithm.into())?;
    let pem = key.to_pem(passphrase.as_deref().map(String::as_str))?;
    create(&args.output, pem.as_bytes(), 0o600)?;
    if let Err(stop) = create(&public_path, key.public_key().to_pem().as_bytes(), 0o644) {
        let _ = fs::remove_file(&args.output);
        return Err(stop);
    }
    console.summarise(&KeygenReport::new(key.public_key(), &args.output, &public_path))?;
    Ok(0)
}

fn asked_twice(path: &Path) -> Result<Zeroizing<String>, Stop> {
    let name = path.to_string_lossy();
    let first = ask(&format!("passphrase for {}: ", shown(&name)));
    let first = first.ok_or_else(|| Error::PassphraseAbsent(name.clone().into_owned()))?;
    match ask("the same again: ") {
        Some(second) if second == first => Ok(first),
        _ => Err(Error::PassphraseWrong(name.into_owned()).into()),
    }
}

fn create(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Stop> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let write = || {
        let mut file = options.open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error: io::Error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return there_already(path);
        }
        let name = path.to_string_lossy();
        let message = format!("`{}` cannot be written: {error}", shown(&name));
        Stop::Refused(vec![Diagnostic::error(Code::Io, name, message)])
    })
}

fn there_already(path: &Path) -> Stop {
    let name = path.to_string_lossy();
    let message = format!("`{}` is there already, and a key is never written over", shown(&name));
    Stop::Refused(vec![Diagnostic::error(Code::KeyFileExists, name, message)])
}
