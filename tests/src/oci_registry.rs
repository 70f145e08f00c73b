//! OCI registries for tests: Debian's own, started on loopback, and one in memory that lies when it
//! is told to. Nothing here is of the workspace's own code that speaks to registries.

pub mod memory;
pub mod server;

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use subako_manifest::digest::Digest;
use tempfile::TempDir;

use crate::in_ci;
use server::{Request, Response};

/// The user whom a registry with a password knows.
pub const USER: &str = "tester";
/// Their password.
pub const PASSWORD: &str = "open sesame";
/// Both as `htpasswd -B` writes them; the registry takes bcrypt alone.
const HTPASSWD: &str = "tester:$2y$05$NA9m0Xgtdv5EY33qepfiWuQBvmu5FEWoX4wSS2NoJsijCA7qJcFgK\n";

const PROGRAM: &str = "docker-registry";

/// Who may use a registry, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access<'a> {
    /// Anybody.
    Open,
    /// [`USER`].
    Password,
    /// Anybody, by https: a certificate and its key, in PEM.
    Tls(&'a Path, &'a Path),
}

/// Debian's `docker-registry`, ended with the value.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    address: SocketAddr,
    /// What it has stored, apart from the process: the next one can go on with it.
    storage: TempDir,
}

impl Registry {
    /// Starts one with nothing in it; none where the program is absent.
    ///
    /// # Panics
    ///
    /// When it does not start, and in CI when it is absent: there nothing is skipped.
    #[must_use]
    pub fn start(access: Access<'_>) -> Option<Self> {
        let storage = tempfile::tempdir().expect("a temporary directory can be made");
        Self::start_with(storage, access)
    }

    /// Ends it at once, and starts another with what this one has stored.
    ///
    /// # Panics
    ///
    /// When it does not start.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.kill();
        let empty = tempfile::tempdir().expect("a temporary directory can be made");
        let storage = std::mem::replace(&mut self.storage, empty);
        Self::start_with(storage, Access::Open).expect("it was there a moment ago")
    }

    fn start_with(storage: TempDir, access: Access<'_>) -> Option<Self> {
        let root = storage.path();
        let more = match access {
            Access::Open => String::new(),
            Access::Password => {
                let file = root.join("htpasswd");
                fs::write(&file, HTPASSWD).expect("the directory is ours");
                format!("auth: {{htpasswd: {{realm: tests, path: '{}'}}}}\n", file.display())
            }
            Access::Tls(..) => String::new(),
        };
        let tls = match access {
            Access::Tls(certificate, key) => {
                format!(", tls: {{certificate: '{}', key: '{}'}}", certificate.display(), key.display())
            }
            _ => String::new(),
        };
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: '{}'}}}}\n\
             http: {{addr: '127.0.0.1:0'{tls}}}\n{more}",
            root.join("data").display()
        );
        fs::write(root.join("config.yml"), config).expect("the directory is ours");
        let spawned = Command::new(PROGRAM)
            .arg("serve")
            .arg(root.join("config.yml"))
            .env_remove("REGISTRY_HTTP_ADDR")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                assert!(!in_ci(), "{PROGRAM}: {error}");
                skipped(&error.to_string());
                return None;
            }
        };
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let address = listening(&mut log);
        // Whoever logs must be read.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Some(Self { child, address, storage })
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A reference into it.
    #[must_use]
    pub fn reference(&self, rest: &str) -> String {
        format!("oci://{}/{rest}", self.address)
    }

    /// Passes a request on and gives the answer.
    ///
    /// # Panics
    ///
    /// When the registry does not answer.
    #[must_use]
    pub fn forward(&self, request: &Request) -> Response {
        let mut stream = self.connect();
        stream.write_all(&request.to_bytes()).expect("the registry reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the registry answers");
        Response::from_bytes(&bytes)
    }

    /// Passes half of the request's body on, and nothing more.
    ///
    /// # Panics
    ///
    /// When the registry does not read.
    pub fn forward_half(&self, request: &Request) {
        let bytes = request.to_bytes();
        let mut stream = self.connect();
        stream.write_all(&bytes[..bytes.len() - request.body.len() / 2]).expect("the registry reads");
    }

    /// What it answers to a GET, for a look from outside.
    ///
    /// # Panics
    ///
    /// As [`Registry::forward`].
    #[must_use]
    pub fn get(&self, path: &str, accept: &str) -> Response {
        let headers = vec![("Host".to_owned(), self.host()), ("Accept".to_owned(), accept.to_owned())];
        self.forward(&Request { method: "GET".into(), path: path.into(), headers, body: Vec::new() })
    }

    /// Puts a manifest under a tag, as any tool may.
    ///
    /// # Panics
    ///
    /// When the registry does not take it.
    #[track_caller]
    pub fn put_manifest(&self, repository: &str, tag: &str, json: &[u8]) {
        let path = format!("/v2/{repository}/manifests/{tag}");
        let answer = self.send("PUT", &path, "application/vnd.oci.image.manifest.v1+json", json);
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// Puts a blob, as any tool may.
    ///
    /// # Panics
    ///
    /// As [`Registry::put_manifest`].
    #[track_caller]
    pub fn put_blob(&self, repository: &str, bytes: &[u8]) {
        let path = format!("/v2/{repository}/blobs/uploads/");
        let begun = self.send("POST", &path, "application/octet-stream", b"");
        let location = begun.header("location").expect("an upload has a place");
        let (_, place) = location.split_once(&self.host()).expect("the place is here");
        let place = format!("{place}&digest={}", Digest::of(bytes));
        let answer = self.send("PUT", &place, "application/octet-stream", bytes);
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    }

    fn send(&self, method: &str, path: &str, media_type: &str, body: &[u8]) -> Response {
        let headers = [
            ("Host", self.host()),
            ("Content-Type", media_type.to_owned()),
            ("Content-Length", body.len().to_string()),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.forward(&Request { method: method.into(), path: path.into(), headers, body: body.to_owned() })
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("the registry listens")
    }

    /// Ends it as a power cut does.
    ///
    /// # Panics
    ///
    /// When the system does not let us.
    pub fn kill(&mut self) {
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child can be waited for");
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address that the registry says it listens on.
fn listening(log: &mut impl std::io::BufRead) -> SocketAddr {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        let read = log.read_line(&mut line).expect("the log is text");
        assert!(read > 0, "{PROGRAM} does not start: {all}");
        if let Some((_, rest)) = line.split_once("listening on ") {
            let end = rest.find(['"', ',', ' ']).unwrap_or(rest.len());
            return rest[..end].parse().unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        all.push_str(&line);
    }
}

#[expect(clippy::print_stderr, reason = "a test that skips something says so")]
fn skipped(why: &str) {
    eprintln!("tests with {PROGRAM} are skipped: {why}");
}
