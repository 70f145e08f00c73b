//! Who a registry is told that we are: what the user gives, or what `docker login` and its like have
//! kept, in `config.json` or with a helper program.
//!
//! Of `config.json` (in DOCKER_CONFIG, or in `~/.docker`), in this order: `credHelpers`, a program
//! for this registry; `credsStore`, one for all; `auths`, in the file itself.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::Error;

/// A user and a secret. Its debug form shows neither.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// A token that an authorization server takes for shorter-lived ones.
    Identity(Zeroizing<String>),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Credentials::Basic(..)",
            Self::Identity(_) => "Credentials::Identity(..)",
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: BTreeMap<String, Stored>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stored {
    auth: String,
    identitytoken: String,
    username: String,
    password: String,
}

#[derive(Deserialize)]
struct Told {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// What a helper calls the name of a user that is no user but an identity token.
const TOKEN_USER: &str = "<token>";
/// The key of Docker Hub, which is older than the rule that keys are hosts.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// Bytes of `config.json`.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// Bytes of a password; tokens of some registries are passwords too.
const MAX_PASSWORD_BYTES: u64 = 64 * 1024;

/// The file with stored credentials: `config.json` in `docker_config`, else in `.docker` of `home`.
#[must_use]
pub fn config_path(docker_config: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let folder = match docker_config.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => folder.to_owned(),
        None => home?.join(".docker"),
    };
    Some(folder.join("config.json"))
}

/// The password that `from`, called `name` in messages, has: all of it but the end of its line.
///
/// # Errors
///
/// It cannot be read, or is empty.
pub fn read_password(name: &str, from: impl Read) -> Result<Zeroizing<String>, Error> {
    let wrong = |why: String| Error::Password { name: name.to_owned(), why };
    let mut text = Zeroizing::new(String::new());
    from.take(MAX_PASSWORD_BYTES).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(wrong("it is empty".to_owned()));
    }
    Ok(Zeroizing::new(line.to_owned()))
}

/// The stored credentials for the registry `host`, if there are any.
///
/// # Errors
///
/// The file cannot be read, or a helper failed.
pub fn stored(config: &Path, host: &str) -> Result<Option<Credentials>, Error> {
    let name = config.to_string_lossy();
    let wrong = |why: String| Error::Credentials { name: name.clone().into_owned(), why };
    let bytes = match std::fs::metadata(config) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Ok(metadata) if metadata.len() > MAX_CONFIG_BYTES => {
            return Err(wrong("it is too large for what it is".to_owned()));
        }
        _ => std::fs::read(config).map_err(|error| wrong(error.to_string()))?,
    };
    // The parser's words hold the value that it stumbled over: only the place is told.
    let config: Config = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(format!("it is wrong in line {}, column {}", error.line(), error.column())))?;
    let keys = keys(host);
    if let Some((key, helper)) = keys.iter().find_map(|key| Some((key, config.cred_helpers.get(key)?))) {
        return ask(helper, key);
    }
    if let Some(helper) = config.creds_store.as_deref().filter(|helper| !helper.is_empty()) {
        for key in &keys {
            if let Some(found) = ask(helper, key)? {
                return Ok(Some(found));
            }
        }
    }
    for key in &keys {
        if let Some(found) = config.auths.get(key) {
            return found.read(key).map_err(wrong);
        }
    }
    Ok(None)
}

/// How a registry may be called in `config.json`.
fn keys(host: &str) -> Vec<String> {
    let mut keys = vec![host.to_owned(), format!("https://{host}"), format!("http://{host}")];
    if super::registry::is_docker_hub(host) {
        keys.insert(0, DOCKER_HUB.to_owned());
        keys.push("index.docker.io".to_owned());
    }
    keys
}

impl Stored {
    fn read(&self, key: &str) -> Result<Option<Credentials>, String> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Credentials::Identity(Zeroizing::new(self.identitytoken.clone()))));
        }
        if !self.auth.is_empty() {
            let wrong = || format!("`auth` of `{key}` is not base64 of `user:password`");
            let text = STANDARD.decode(self.auth.trim()).map(Zeroizing::new).map_err(|_| wrong())?;
            // Some writers end the text with a zero.
            let text = std::str::from_utf8(&text).map_err(|_| wrong())?.trim_end_matches('\0');
            let (username, password) = text.split_once(':').ok_or_else(wrong)?;
            return Ok(Some(basic(username, password)));
        }
        // With a helper in use, an entry is there to say that the helper has one.
        Ok((!self.username.is_empty()).then(|| basic(&self.username, &self.password)))
    }
}

fn basic(username: &str, password: &str) -> Credentials {
    Credentials::Basic { username: username.to_owned(), password: Zeroizing::new(password.to_owned()) }
}

/// Asks `docker-credential-<helper>` for what it has kept for `key`.
fn ask(helper: &str, key: &str) -> Result<Option<Credentials>, Error> {
    let program = format!("docker-credential-{helper}");
    let wrong = |why: String| Error::Credentials { name: program.clone(), why };
    if helper.contains(['/', '\\']) {
        return Err(wrong("a helper is named, not given by its path".to_owned()));
    }
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| wrong(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read says so by its exit status.
        let _ = stdin.write_all(key.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| wrong(error.to_string()))?;
    let stdout = Zeroizing::new(output.stdout);
    if !output.status.success() {
        // The one answer of helpers that is a sentence.
        let said = String::from_utf8_lossy(&stdout).to_ascii_lowercase();
        return match said.contains("credentials not found") {
            true => Ok(None),
            false => Err(wrong(output.status.to_string())),
        };
    }
    let told: Told =
        serde_json::from_slice(&stdout).map_err(|_| wrong("it printed no credentials".to_owned()))?;
    Ok(Some(match told.username.as_str() {
        TOKEN_USER => Credentials::Identity(Zeroizing::new(told.secret)),
        username => basic(username, &told.secret),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: &str, host: &str) -> Result<Option<Credentials>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, config).unwrap();
        stored(&path, host)
    }

    #[test]
    fn where_they_are() {
        let path = |folder, home| config_path(Option::map(folder, Path::new), Option::map(home, Path::new));
        assert_eq!(path(Some("/d"), Some("/h")), Some("/d/config.json".into()));
        assert_eq!(path(Some(""), Some("/h")), Some("/h/.docker/config.json".into()));
        assert_eq!(path(None, None), None);
        assert_eq!(stored(Path::new("/absent/config.json"), "h").unwrap(), None);
    }

    #[test]
    fn what_a_file_has() {
        // `dTpwOnc=` is `u:p:w`.
        let config = r#"{"auths": {"h:5": {"auth": "dTpwOnc="}, "https://i": {"username": "u", "password": "p"},
            "t": {"auth": "dTpwOnc=", "identitytoken": "abc"}, "e": {},
            "https://index.docker.io/v1/": {"auth": "dTpwOnc="}}, "HttpHeaders": {}}"#;
        assert_eq!(found(config, "h:5").unwrap(), Some(basic("u", "p:w")));
        assert_eq!(found(config, "i").unwrap(), Some(basic("u", "p")));
        assert_eq!(found(config, "docker.io").unwrap(), Some(basic("u", "p:w")));
        assert!(matches!(found(config, "t").unwrap(), Some(Credentials::Identity(token)) if *token == "abc"));
        for none in ["h", "e", "other"] {
            assert_eq!(found(config, none).unwrap(), None, "{none}");
        }
        assert_eq!(found("{}", "h").unwrap(), None);
    }

    #[test]
    fn a_password_is_a_line() {
        let read = |text: &[u8]| read_password("stdin", text).map(|password| password.to_string());
        for text in ["p w", "p w\n", "p w\r\n"] {
            assert_eq!(read(text.as_bytes()).unwrap(), "p w");
        }
        for wrong in [&b""[..], b"\n", b"\xff"] {
            assert!(matches!(read(wrong), Err(Error::Password { .. })));
        }
    }

    #[test]
    fn a_fault_does_not_tell_the_secret() {
        for config in [
            r#"{"auths": {"h": {"auth": 5253}}}"#,
            r#"{"auths": {"h": {"auth": "s3cr3t!"}}}"#,
            r#"{"auths": {"h": {"auth": "czNjcjN0"}}}"#,
            r#"{"credHelpers": {"h": "../evil"}}"#,
            "s3cr3t",
        ] {
            let told = found(config, "h").expect_err(config).to_string();
            assert!(
                !told.contains("s3cr3t") && !told.contains("5253") && !told.contains("czNjcjN0"),
                "{told}"
            );
        }
        assert_eq!(format!("{:?}", basic("u", "s3cr3t")), "Credentials::Basic(..)");
    }
}
