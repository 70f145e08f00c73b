//! A repository of an OCI registry, by the distribution protocol (OCI distribution 1.1): blobs are
//! looked for before they are sent, manifests are sent under their digest and then under a tag, and
//! signatures are referrers, or are listed under the tag `sha256-<hex>` where the registry does not
//! know those.

mod challenge;
mod http;
mod retry;
mod url;

use subako_manifest::digest::Digest;
use ureq::http::{HeaderMap, Method};
use zeroize::Zeroizing;

use super::credentials::Credentials;
use super::manifest::{Descriptor, INDEX_TYPE, List, MANIFEST_TYPE, MAX_MANIFEST_BYTES};
use super::reference::{Repository, Version};
use super::{Error, Store};
use http::{Answer, Call, Http};
use retry::{Attempts, Trouble};

pub use retry::Patience;

/// What is to be done in the repository: registries give tokens for one or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// To read.
    Pull,
    /// To read and write.
    Push,
}

/// How a registry is spoken to.
#[derive(Debug, Default)]
pub struct Options {
    /// Plain http also where the registry is another machine.
    pub plain_http: bool,
    /// Certificates of CAs in PEM, and the name of their file: trusted beside Mozilla's.
    pub ca: Option<(std::path::PathBuf, Vec<u8>)>,
    /// Who we are.
    pub credentials: Option<Credentials>,
    /// How long somebody waits for it.
    pub patience: Patience,
}

/// The certificates in a file.
///
/// # Errors
///
/// [`Error::Certificate`], where it cannot be read. What is in it is looked at by [`Registry::new`].
pub fn read_ca(path: &std::path::Path) -> Result<(std::path::PathBuf, Vec<u8>), Error> {
    match std::fs::read(path) {
        Ok(pem) => Ok((path.to_owned(), pem)),
        Err(error) => Err(Error::Certificate { path: path.to_owned(), why: error.to_string() }),
    }
}

/// A repository of a registry.
pub struct Registry {
    http: Http,
    /// `https://host/v2/name`.
    base: String,
}

/// What a registry says of a manifest that another push of the same is writing.
const IN_A_RACE: [&str; 2] = ["DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN"];
/// Rounds of listing a referrer under a tag that others change at the same time.
const LIST_ROUNDS: u32 = 8;
/// Blob contents that came before a connection broke, from which an attempt counts as the first.
const PROGRESS_BYTES: usize = 1024 * 1024;

/// Whether a registry is Docker Hub, by the name that people give it.
pub(crate) fn is_docker_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

impl Registry {
    /// Speaks to nobody yet.
    ///
    /// # Errors
    ///
    /// [`Error::Certificate`]
    pub fn new(repository: &Repository, intent: Intent, options: Options) -> Result<Self, Error> {
        let (mut host, mut name) = (repository.host.as_str(), repository.name.clone());
        if is_docker_hub(host) {
            host = "registry-1.docker.io";
            if !name.contains('/') {
                name = format!("library/{name}");
            }
        }
        // Who gives a CA for this machine's own registry wants to see its certificate.
        let plain = options.plain_http || repository.is_loopback() && options.ca.is_none();
        let origin = format!("{}://{host}", if plain { "http" } else { "https" });
        let base = format!("{origin}/v2/{name}");
        let actions = match intent {
            Intent::Pull => "pull",
            Intent::Push => "pull,push",
        };
        let scope = format!("repository:{name}:{actions}");
        let http = Http::new(&origin, repository, scope, plain, options)?;
        Ok(Self { http, base })
    }

    fn manifest_url(&self, version: &str) -> String {
        format!("{}/manifests/{version}", self.base)
    }

    fn blob_url(&self, digest: &Digest) -> String {
        format!("{}/blobs/{digest}", self.base)
    }

    /// A manifest or a list, or nothing where there is none.
    fn fetch(&self, url: &str, accept: &str) -> Result<Option<Answer>, Error> {
        let call = Call { accept: Some(accept), allowed: MAX_MANIFEST_BYTES, ..Call::new(Method::GET, url) };
        let answer = self.http.call(&call)?;
        match answer.status {
            200 if answer.body.len() as u64 > MAX_MANIFEST_BYTES => Err(Error::TooLarge {
                name: url.to_owned(),
                found: answer.body.len() as u64,
                allowed: MAX_MANIFEST_BYTES,
            }),
            200 => Ok(Some(answer)),
            404 => Ok(None),
            _ => Err(answer.refused(url)),
        }
    }

    fn put_under(
        &self,
        version: &str,
        media_type: &str,
        digest: &Digest,
        bytes: &[u8],
    ) -> Result<HeaderMap, Error> {
        let url = self.manifest_url(version);
        let call = Call { body: Some((media_type, bytes)), ..Call::new(Method::PUT, &url) };
        let mut attempts = Attempts::new(Patience::Long);
        loop {
            let answer = self.http.call(&call)?;
            if matches!(answer.status, 200..=204) {
                took(&url, &answer.headers, digest)?;
                return Ok(answer.headers);
            }
            let error = answer.refused(&url);
            // The digest is right, and all that a manifest names is there before it. A registry may
            // not see a blob, or read half a manifest, for the moment in which somebody else sends
            // the same.
            if !IN_A_RACE.iter().any(|code| answer.says(code)) {
                return Err(error);
            }
            attempts.bear(Trouble::Passing { error: Box::new(error), asked: None })?;
        }
    }

    /// One attempt at sending a blob, from the beginning.
    fn send(&self, blob: &Descriptor, bytes: &[u8]) -> Result<(), Trouble> {
        let begin = format!("{}/blobs/uploads/", self.base);
        let call = Call { body: Some(("", b"")), ..Call::new(Method::POST, &begin) };
        let answer = self.http.once(&call, &mut Vec::new())?;
        if answer.status != 202 {
            return Err(answer.refused(&begin).into());
        }
        let wrong = |why: &str| Error::Answer { url: begin.clone(), why: why.to_owned() };
        let location = answer.headers.get("location").and_then(|value| value.to_str().ok());
        let location = location.ok_or_else(|| wrong("does not say where the upload goes"))?;
        let location = url::resolve(&begin, location)
            .ok_or_else(|| wrong("says that the upload goes to what is no address"))?;
        let joint = if location.contains('?') { '&' } else { '?' };
        let end = format!("{location}{joint}digest={}", url::encode(&blob.digest.to_string()));
        let octets = "application/octet-stream";
        let call = Call { body: Some((octets, bytes)), ..Call::new(Method::PUT, &end) };
        let answer = self.http.once(&call, &mut Vec::new())?;
        if !matches!(answer.status, 201 | 204) {
            return Err(answer.refused(&end).into());
        }
        Ok(took(&end, &answer.headers, &blob.digest)?)
    }

    /// The list under the tag `sha256-<hex>` (OCI distribution, "Referrers tag schema").
    fn listed(&self, subject: &Digest) -> Result<List, Error> {
        let url = self.manifest_url(&tag_of(subject));
        match self.fetch(&url, INDEX_TYPE)? {
            Some(answer) => read_list(&url, &answer.body),
            None => Ok(List::empty()),
        }
    }
}

impl Store for Registry {
    fn has(&self, blob: &Descriptor) -> Result<bool, Error> {
        let url = self.blob_url(&blob.digest);
        let answer = self.http.call(&Call::new(Method::HEAD, &url))?;
        match answer.status {
            200 => Ok(true),
            404 => Ok(false),
            _ => Err(answer.refused(&url)),
        }
    }

    fn put(&self, blob: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        let mut attempts = self.http.attempts();
        loop {
            match self.send(blob, bytes) {
                Ok(()) => return Ok(()),
                Err(trouble) => attempts.bear(trouble)?,
            }
            // What was cut off at the very end may be there.
            if self.has(blob)? {
                return Ok(());
            }
        }
    }

    fn blob(&self, blob: &Descriptor) -> Result<Vec<u8>, Error> {
        let url = self.blob_url(&blob.digest);
        let (mut bytes, mut attempts) = (Vec::new(), self.http.attempts());
        loop {
            let before = bytes.len();
            let call = Call {
                from: (before > 0).then_some(before as u64),
                allowed: blob.size,
                ..Call::new(Method::GET, &url)
            };
            let trouble = match self.http.once(&call, &mut bytes) {
                Ok(answer) => match answer.status {
                    // A registry that ends early without saying so is asked for the rest.
                    200 | 206 if (bytes.len() as u64) < blob.size && bytes.len() > before => {
                        let found = bytes.len() as u64;
                        let short = Error::Size { name: url.clone(), found, expected: blob.size };
                        Trouble::Passing { error: Box::new(short), asked: None }
                    }
                    200 | 206 => break,
                    404 => return Err(Error::Absent(url)),
                    416 if before > 0 => {
                        bytes.clear();
                        continue;
                    }
                    _ => return Err(answer.refused(&url)),
                },
                Err(trouble) => trouble,
            };
            if self.http.is_patient() && bytes.len() >= before + PROGRESS_BYTES {
                attempts = self.http.attempts();
            }
            attempts.bear(trouble)?;
        }
        let found = bytes.len() as u64;
        if found != blob.size {
            return Err(Error::Size { name: url, found, expected: blob.size });
        }
        same(&url, Digest::of(&bytes), blob.digest)?;
        Ok(bytes)
    }

    fn manifest(&self, version: &Version) -> Result<Vec<u8>, Error> {
        let url = match version {
            Version::Tag(tag) => self.manifest_url(tag),
            Version::Digest(digest) => self.manifest_url(&digest.to_string()),
        };
        let answer = self.fetch(&url, MANIFEST_TYPE)?.ok_or_else(|| Error::Absent(url.clone()))?;
        let found = Digest::of(&answer.body);
        if let Version::Digest(expected) = version {
            same(&url, found, *expected)?;
        }
        if let Some(expected) = told_digest(&answer.headers) {
            same(&url, found, expected)?;
        }
        Ok(answer.body)
    }

    fn put_manifest(&self, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        let version = manifest.digest.to_string();
        self.put_under(&version, &manifest.media_type, &manifest.digest, bytes).map(drop)
    }

    fn put_referrer(&self, subject: &Digest, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        let version = manifest.digest.to_string();
        let headers = self.put_under(&version, &manifest.media_type, &manifest.digest, bytes)?;
        if headers.contains_key("oci-subject") {
            return Ok(());
        }
        // The registry does not list referrers itself. Others may write the list at the same time.
        for round in 0..LIST_ROUNDS {
            let mut list = self.listed(subject)?;
            if list.known().any(|it| it.digest == manifest.digest) {
                return Ok(());
            }
            if round > 0 {
                retry::jitter();
                list = self.listed(subject)?;
            }
            list.add(manifest);
            let json = list.to_json();
            self.put_under(&tag_of(subject), INDEX_TYPE, &Digest::of(&json), &json)?;
        }
        let why = "loses what is listed there to somebody else, each time".to_owned();
        Err(Error::Answer { url: self.manifest_url(&tag_of(subject)), why })
    }

    fn tag(&self, tag: &str, manifest: &Descriptor, bytes: &[u8]) -> Result<(), Error> {
        self.put_under(tag, &manifest.media_type, &manifest.digest, bytes).map(drop)
    }

    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, Error> {
        let url = format!("{}/referrers/{subject}?artifactType={}", self.base, url::encode(artifact_type));
        let list = match self.fetch(&url, INDEX_TYPE)? {
            Some(answer) => read_list(&url, &answer.body)?,
            None => self.listed(subject)?,
        };
        // A registry may ignore the filter.
        Ok(list.known().filter(|it| it.artifact_type.as_deref() == Some(artifact_type)).collect())
    }
}

fn tag_of(subject: &Digest) -> String {
    subject.to_string().replace(':', "-")
}

fn read_list(url: &str, json: &[u8]) -> Result<List, Error> {
    serde_json::from_slice(json).map_err(|error| Error::Answer {
        url: url.to_owned(),
        why: format!("is no list of manifests: {error}"),
    })
}

fn told_digest(headers: &HeaderMap) -> Option<Digest> {
    headers.get("docker-content-digest")?.to_str().ok()?.parse().ok()
}

/// What a registry says that it took is what was sent.
fn took(url: &str, headers: &HeaderMap, sent: &Digest) -> Result<(), Error> {
    match told_digest(headers) {
        Some(found) => same(url, found, *sent),
        None => Ok(()),
    }
}

fn same(url: &str, found: Digest, expected: Digest) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Digest { name: url::without_query(url).to_owned(), found, expected })
}

/// A header's value that nobody should find in freed memory.
type Secret = Zeroizing<String>;

#[cfg(test)]
mod tests {
    use super::*;

    fn base(host: &str, name: &str, options: Options) -> String {
        let repository = Repository { host: host.to_owned(), name: name.to_owned() };
        Registry::new(&repository, Intent::Pull, options).unwrap_or_else(|error| panic!("{error}")).base
    }

    #[test]
    fn plain_http_is_for_this_machine_or_asked_for() {
        assert_eq!(base("ghcr.io", "a/b", Options::default()), "https://ghcr.io/v2/a/b");
        assert_eq!(base("127.0.0.1:5000", "a", Options::default()), "http://127.0.0.1:5000/v2/a");
        let plain = Options { plain_http: true, ..Options::default() };
        assert_eq!(base("registry:5000", "a", plain), "http://registry:5000/v2/a");
    }

    #[test]
    fn docker_hub_has_other_names() {
        assert_eq!(base("docker.io", "a", Options::default()), "https://registry-1.docker.io/v2/library/a");
        assert_eq!(base("docker.io", "a/b", Options::default()), "https://registry-1.docker.io/v2/a/b");
    }
}
