//! Keys and signatures by `openssl`, which is not ours.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder for keys and what is made with them, removed with the value.
#[derive(Debug)]
pub struct Keys {
    directory: TempDir,
}

/// What a key signs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256.
    P256,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ed25519, Self::P256];

    fn openssl(self) -> &'static [&'static str] {
        match self {
            Self::Ed25519 => &["-algorithm", "ed25519"],
            Self::P256 => &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self { directory: tempfile::tempdir().expect("there is room for a folder") }
    }
}

impl Keys {
    /// A path in the folder, as text.
    ///
    /// # Panics
    ///
    /// When the folder's path is not UTF-8.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("the folder's path is UTF-8").to_owned()
    }

    /// Writes a file into the folder.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).expect("the folder is ours");
        path
    }

    /// Makes a key pair: `NAME.pem` and `NAME.pub`. `more` are arguments for the private key.
    pub fn make(&self, name: &str, kind: Kind, more: &[&str]) -> (String, String) {
        let (private, public) = (self.path(&format!("{name}.pem")), self.path(&format!("{name}.pub")));
        let arguments = [&["genpkey"], kind.openssl(), more, &["-out", &private]].concat();
        let _ = openssl(&arguments, b"");
        let pass: &[&str] = match more.iter().find(|word| word.starts_with("pass:")) {
            Some(pass) => &["-passin", pass],
            None => &[],
        };
        let _ = openssl(&[&["pkey", "-in", &private, "-pubout", "-out", &public], pass].concat(), b"");
        (private, public)
    }

    /// The signature of a message.
    #[must_use]
    pub fn sign(&self, private: &str, kind: Kind, message: &[u8]) -> Vec<u8> {
        let input = self.write("message", message);
        match kind {
            Kind::Ed25519 => openssl(&["pkeyutl", "-sign", "-inkey", private, "-rawin", "-in", &input], b""),
            Kind::P256 => openssl(&["dgst", "-sha256", "-sign", private, &input], b""),
        }
    }

    /// Whether openssl takes a signature of a message.
    #[must_use]
    pub fn verifies(&self, public: &str, kind: Kind, message: &[u8], signature: &[u8]) -> bool {
        let (input, signature) = (self.write("message", message), self.write("signature", signature));
        let arguments: &[&str] = match kind {
            Kind::Ed25519 => &[
                "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", &input, "-sigfile",
                &signature,
            ],
            Kind::P256 => &["dgst", "-sha256", "-verify", public, "-signature", &signature, &input],
        };
        let mut command = Command::new("openssl");
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("openssl runs").success()
    }
}

/// The id of a key: the SHA-256 of its SPKI.
#[must_use]
pub fn key_id(public: &str) -> String {
    let spki = openssl(&["pkey", "-pubin", "-in", public, "-outform", "DER"], b"");
    let text = openssl(&["dgst", "-sha256", "-r"], &spki);
    String::from_utf8(text).expect("it is hexadecimal").chars().take(64).collect()
}

/// What a trust file has as `key`: the base64 of the SPKI.
#[must_use]
pub fn spki_base64(public: &str) -> String {
    base64(&openssl(&["pkey", "-pubin", "-in", public, "-outform", "DER"], b""))
}

/// Base64 on one line.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    String::from_utf8(openssl(&["base64", "-A"], bytes)).expect("base64 is ASCII")
}

/// What base64 on one line stands for.
#[must_use]
pub fn unbase64(text: &str) -> Vec<u8> {
    openssl(&["base64", "-d", "-A"], text.as_bytes())
}

/// What `openssl` prints for these bytes.
///
/// # Panics
///
/// When it fails.
#[must_use]
pub fn openssl_prints(arguments: &[&str]) -> String {
    String::from_utf8(openssl(arguments, b"")).expect("it prints text")
}

fn openssl(arguments: &[&str], stdin: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed");
    let mut input = child.stdin.take().expect("stdin is piped");
    let fed = input.write_all(stdin);
    drop(input);
    let output = child.wait_with_output().expect("openssl can be waited for");
    assert!(output.status.success() && fed.is_ok(), "openssl {arguments:?}: {output:?}");
    output.stdout
}
