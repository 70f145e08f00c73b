//! How a registry is spoken to, from the command line: what `publish` and `pull` share.

use std::env;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use subako_compiler::publish::Error;
use subako_compiler::publish::credentials::{Credentials, config_path, stored};
use subako_compiler::publish::reference::Repository;
use subako_compiler::publish::registry::Options;
use subako_manifest::diagnostic::{Code, Diagnostic};
use zeroize::Zeroizing;

use super::Stop;
use crate::args;

/// Where Docker keeps credentials, if not in `~/.docker`.
const DOCKER_CONFIG: &str = "DOCKER_CONFIG";
/// Bytes of a password; tokens of some registries are passwords too.
const MAX_PASSWORD_BYTES: u64 = 64 * 1024;

/// What the options mean for this repository.
pub(super) fn options(typed: &args::Registry, repository: &Repository) -> Result<Options, Stop> {
    let ca = match &typed.ca_file {
        None => None,
        Some(path) => {
            let pem = fs::read(path)
                .map_err(|error| Error::Certificate { path: path.clone(), why: error.to_string() })?;
            Some((path.clone(), pem))
        }
    };
    let credentials = match &typed.username {
        Some(username) => Some(Credentials::Basic { username: username.clone(), password: password()? }),
        None => {
            let folder = env::var_os(DOCKER_CONFIG);
            let home = env::home_dir();
            match config_path(folder.as_deref().map(Path::new), home.as_deref()) {
                Some(path) => stored(&path, &repository.host)?,
                None => None,
            }
        }
    };
    Ok(Options { plain_http: typed.plain_http, ca, credentials })
}

/// The password, which is all of stdin but the end of its line.
fn password() -> Result<Zeroizing<String>, Stop> {
    let mut password = Zeroizing::new(String::new());
    let told = |message: String| Stop::Refused(vec![Diagnostic::error(Code::Usage, "stdin", message)]);
    io::stdin()
        .take(MAX_PASSWORD_BYTES)
        .read_to_string(&mut password)
        .map_err(|error| told(format!("`stdin` gives no password: {error}")))?;
    let line = password.strip_suffix('\n').unwrap_or(&password);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(told("`stdin` gives no password: it is empty".to_owned()));
    }
    Ok(Zeroizing::new(line.to_owned()))
}
