//! How a registry is spoken to, from the command line: what `publish`, `pull` and the shared compile
//! cache have in common.

use std::env;
use std::io;
use std::path::Path;

use subako_registry::Error;
use subako_registry::credentials::{Credentials, config_path, read_password, stored};
use subako_registry::reference::Repository;
use subako_registry::registry::{Options, read_ca};

use super::Stop;
use crate::args;

/// Where Docker keeps credentials, if not in `~/.docker`.
const DOCKER_CONFIG: &str = "DOCKER_CONFIG";

/// What the options mean for this repository.
pub(super) fn options(typed: &args::Registry, repository: &Repository) -> Result<Options, Stop> {
    let credentials = match &typed.username {
        Some(username) => {
            let password = read_password("stdin", io::stdin())?;
            Some(Credentials::Basic { username: username.clone(), password })
        }
        None => kept(repository)?,
    };
    let args::Connection { plain_http, ca_file } = &typed.connection;
    let ca = ca_file.as_deref().map(read_ca).transpose()?;
    Ok(Options { plain_http: *plain_http, ca, credentials, ..Options::default() })
}

/// What `docker login` and its like have kept for the registry.
pub(super) fn kept(repository: &Repository) -> Result<Option<Credentials>, Error> {
    let folder = env::var_os(DOCKER_CONFIG);
    let home = env::home_dir();
    match config_path(folder.as_deref().map(Path::new), home.as_deref()) {
        Some(path) => stored(&path, &repository.host),
        None => Ok(None),
    }
}
