//! One request and its answer: with the authorization that the registry asks for, along redirects,
//! and again after what passes.
//!
//! Credentials and tokens go to the registry's own origin, and credentials to the server that it
//! names for tokens; redirects and upload addresses elsewhere get neither. Where the registry is
//! reached by https, nothing goes anywhere by plain http.

use std::io::{self, Read as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use subako_manifest::text::shown;
use ureq::http::{HeaderMap, Method, Request, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use super::challenge::Challenge;
use super::retry::{Attempts, Patience, Trouble};
use super::{Error, Options, Secret, url};
use crate::credentials::Credentials;
use crate::error::CA_AS_SERVER;
use crate::reference::Repository;

const USER_AGENT: &str = concat!("subako/", env!("CARGO_PKG_VERSION"));
const MAX_REDIRECTS: usize = 5;
/// What is told of an answer that says no without a word.
const NO_WORDS: &str = "it says no more";
/// Bytes of an answer that says no, and of one with a token.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024;
/// Characters of what a registry says that are shown.
const MAX_MESSAGE_CHARS: usize = 300;
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// How long a connection may stand still.
const STILL_TIME: Duration = Duration::from_secs(60);
/// How long a registry may think, about an upload of some GiB too; and where its answer can be done
/// without.
const ANSWER_TIME: Duration = Duration::from_secs(300);
const SHORT_ANSWER_TIME: Duration = Duration::from_secs(30);
/// How long a body may take, of what can be done without.
const SHORT_BODY_TIME: Duration = Duration::from_secs(300);

/// A request.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) accept: Option<&'a str>,
    /// Content type and content.
    pub(super) body: Option<(&'a str, &'a [u8])>,
    /// The byte from which on the answer is wanted.
    pub(super) from: Option<u64>,
    /// Bytes of the answer's body, all of it; at most one more is read.
    pub(super) allowed: u64,
}

impl<'a> Call<'a> {
    pub(super) fn new(method: Method, url: &'a str) -> Self {
        Self { method, url, accept: None, body: None, from: None, allowed: MAX_MESSAGE_BYTES }
    }
}

/// An answer. Of one that says no, `body` is what it says.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// One of the errors that a registry tells (OCI distribution, "Error codes").
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Answer {
    /// The error of an answer that is not one of those that were hoped for.
    pub(super) fn refused(&self, url: &str) -> Error {
        let (url, status, message) = (url::without_query(url).to_owned(), self.status, self.message());
        // So answer servers of https to plain http; registries say in JSON what is wrong.
        match status == 400 && url.starts_with("http://") && self.errors().is_none() {
            true => Error::MaybeHttps { url, status, message },
            false => Error::Refused { url, status, message },
        }
    }

    /// Whether this is among the codes of what the registry says.
    pub(super) fn says(&self, code: &str) -> bool {
        self.errors().is_some_and(|errors| errors.iter().any(|one| one.code == code))
    }

    fn errors(&self) -> Option<Vec<Said>> {
        #[derive(Deserialize)]
        struct Errors {
            errors: Vec<Said>,
        }
        serde_json::from_slice::<Errors>(&self.body).ok().map(|said| said.errors)
    }

    /// What the registry says.
    fn message(&self) -> String {
        let said = match self.errors() {
            Some(errors) => {
                let words = |one: &Said| format!("{} {}", one.code, one.message).trim().to_owned();
                errors.iter().map(words).collect::<Vec<_>>().join("; ")
            }
            None => String::from_utf8_lossy(&self.body).trim().to_owned(),
        };
        match said.is_empty() {
            true => NO_WORDS.to_owned(),
            false => said.chars().take(MAX_MESSAGE_CHARS).collect(),
        }
    }
}

/// The way to one registry.
pub(super) struct Http {
    agent: Agent,
    host: String,
    origin: (String, String, u16),
    scope: String,
    plain: bool,
    credentials: Option<Credentials>,
    patience: Patience,
    /// The value of `Authorization`, once the registry asked for one.
    authorization: Mutex<Option<Secret>>,
}

impl Http {
    pub(super) fn new(
        origin: &str,
        repository: &Repository,
        scope: String,
        plain: bool,
        options: Options,
    ) -> Result<Self, Error> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // Where a request goes is decided here.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .accept("*/*")
            .timeout_resolve(Some(CONNECT_TIME))
            .timeout_connect(Some(CONNECT_TIME))
            .timeout_per_read(Some(STILL_TIME))
            .timeout_per_write(Some(STILL_TIME));
        config = match options.patience {
            Patience::Long => config.timeout_recv_response(Some(ANSWER_TIME)),
            Patience::Short => config
                .timeout_recv_response(Some(SHORT_ANSWER_TIME))
                .timeout_send_body(Some(SHORT_BODY_TIME))
                .timeout_recv_body(Some(SHORT_BODY_TIME)),
        };
        if repository.is_loopback() {
            config = config.proxy(None);
        }
        if let Some((path, pem)) = options.ca {
            let roots = certificates(&path, &pem)?;
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let unknown = || Error::Unreachable { url: origin.to_owned(), why: "it is no address".to_owned() };
        Ok(Self {
            agent: config.build().new_agent(),
            host: repository.host.clone(),
            origin: url::origin(origin).ok_or_else(unknown)?,
            scope,
            plain,
            credentials: options.credentials,
            patience: options.patience,
            authorization: Mutex::new(None),
        })
    }

    /// Whether what comes slowly is waited for.
    pub(super) fn is_patient(&self) -> bool {
        self.patience == Patience::Long
    }

    /// None made yet.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts::new(self.patience)
    }

    /// The answer to a request that can be made again.
    pub(super) fn call(&self, call: &Call<'_>) -> Result<Answer, Error> {
        let mut attempts = self.attempts();
        loop {
            let mut body = Vec::new();
            match self.once(call, &mut body) {
                Ok(mut answer) => {
                    if answer.body.is_empty() {
                        answer.body = body;
                    }
                    return Ok(answer);
                }
                Err(trouble) => attempts.bear(trouble)?,
            }
        }
    }

    /// One attempt. The body of an answer that says yes is added to `sink`, or takes its place where
    /// the answer is not the rest that was asked for.
    pub(super) fn once(&self, call: &Call<'_>, sink: &mut Vec<u8>) -> Result<Answer, Trouble> {
        let used = self.authorization();
        let answer = self.along_redirects(call, used.as_ref(), sink)?;
        if answer.status != 401 {
            return self.judged(call, answer);
        }
        self.authorize(&answer, used.as_ref())?;
        let answer = self.along_redirects(call, self.authorization().as_ref(), sink)?;
        self.judged(call, answer)
    }

    fn judged(&self, call: &Call<'_>, answer: Answer) -> Result<Answer, Trouble> {
        match answer.status {
            401 | 403 => Err(self.denied(&answer).into()),
            408 | 429 | 500 | 502 | 503 | 504 => {
                let url = url::without_query(call.url).to_owned();
                let asked = answer.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
                // A date instead of seconds counts as nothing: whose clock it is by nobody knows.
                let asked = asked.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
                let error = Box::new(Error::Busy { url, status: answer.status, attempts: 1 });
                Err(Trouble::Passing { error, asked })
            }
            _ => Ok(answer),
        }
    }

    fn denied(&self, answer: &Answer) -> Error {
        let known = self.credentials.is_some();
        Error::Denied { host: self.host.clone(), known, message: answer.message() }
    }

    fn along_redirects(
        &self,
        call: &Call<'_>,
        authorization: Option<&Secret>,
        sink: &mut Vec<u8>,
    ) -> Result<Answer, Trouble> {
        let mut at = call.url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let origin = self.allowed(&at)?;
            let authorization = authorization.filter(|_| origin == self.origin);
            let answer = self.exchange(call, &at, authorization.map(|it| it.as_str()), sink)?;
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let wrong =
                |why: &str| Error::Answer { url: url::without_query(&at).to_owned(), why: why.to_owned() };
            if call.method != Method::GET && call.method != Method::HEAD {
                return Err(wrong("leads a request elsewhere that only it can take").into());
            }
            let location = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url::resolve(&at, location));
            at = next.ok_or_else(|| wrong("leads elsewhere and does not say where"))?;
        }
        let url = url::without_query(call.url).to_owned();
        let why = format!("leads elsewhere more than {MAX_REDIRECTS} times");
        Err(Error::Answer { url, why }.into())
    }

    /// The origin of an address that may be asked.
    fn allowed(&self, at: &str) -> Result<(String, String, u16), Error> {
        let shown_url = url::without_query(at).to_owned();
        match url::origin(at) {
            Some((scheme, ..)) if scheme == "http" && !self.plain => Err(Error::Plain(shown_url)),
            Some(origin) => Ok(origin),
            None => Err(Error::Unreachable { url: shown_url, why: "it is no address".to_owned() }),
        }
    }

    fn exchange(
        &self,
        call: &Call<'_>,
        at: &str,
        authorization: Option<&str>,
        sink: &mut Vec<u8>,
    ) -> Result<Answer, Trouble> {
        let mut request = Request::builder().method(call.method.clone()).uri(at);
        if let Some(accept) = call.accept {
            request = request.header(header::ACCEPT, accept);
        }
        if let Some(from) = call.from {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let answered = match call.body {
            None => request.body(()).map_err(ureq::Error::Http).and_then(|request| self.agent.run(request)),
            Some((media_type, body)) => {
                if !media_type.is_empty() {
                    request = request.header(header::CONTENT_TYPE, media_type);
                }
                request.body(body).map_err(ureq::Error::Http).and_then(|request| self.agent.run(request))
            }
        };
        let (head, body) = answered.map_err(|error| trouble(at, &error))?.into_parts();
        let (status, headers) = (head.status.as_u16(), head.headers);
        let broken = |error: &io::Error| trouble(at, &ureq::Error::Io(io::Error::from(error.kind())));
        if !matches!(status, 200 | 206) || call.method == Method::HEAD {
            let mut message = Vec::new();
            if call.method != Method::HEAD {
                read(body, MAX_MESSAGE_BYTES, &mut message).map_err(|error| broken(&error))?;
            }
            return Ok(Answer { status, headers, body: message });
        }
        // The whole where a part was asked for, or another part, takes the place of what is there.
        if status == 200 || begins_at(&headers) != call.from {
            if status == 206 {
                let why = "gives another part than the one asked for".to_owned();
                return Err(Error::Answer { url: url::without_query(at).to_owned(), why }.into());
            }
            sink.clear();
        }
        let room = call.allowed.saturating_add(1).saturating_sub(sink.len() as u64);
        read(body, room, sink).map_err(|error| broken(&error))?;
        Ok(Answer { status, headers, body: Vec::new() })
    }

    /// Gets what the registry asks for, unless another thread has got it since `used` was sent.
    fn authorize(&self, asked: &Answer, used: Option<&Secret>) -> Result<(), Trouble> {
        let mut authorization = self.locked();
        if authorization.as_ref() != used {
            return Ok(());
        }
        let headers = asked.headers.get_all(header::WWW_AUTHENTICATE).iter();
        let headers: Vec<&str> = headers.filter_map(|value| value.to_str().ok()).collect();
        let challenge = Challenge::of(&headers);
        let new = match (challenge, &self.credentials) {
            (Some(Challenge::Bearer { realm, service }), _) => self.token(&realm, service.as_deref())?,
            (Some(Challenge::Basic), Some(credentials @ Credentials::Basic { .. })) => basic(credentials),
            _ => return Err(self.denied(asked).into()),
        };
        *authorization = Some(new);
        Ok(())
    }

    /// Asks the server that the registry names for a token.
    fn token(&self, realm: &str, service: Option<&str>) -> Result<Secret, Trouble> {
        #[derive(Deserialize)]
        struct Token {
            #[serde(default)]
            token: String,
            #[serde(default)]
            access_token: String,
        }
        self.allowed(realm)?;
        let mut query = format!("scope={}", url::encode(&self.scope));
        if let Some(service) = service {
            query = format!("service={}&{query}", url::encode(service));
        }
        let mut sink = Vec::new();
        let answer = match &self.credentials {
            Some(Credentials::Identity(token)) => {
                let token = Zeroizing::new(url::encode(token));
                let form = Zeroizing::new(format!(
                    "grant_type=refresh_token&client_id=subako&{query}&refresh_token={}",
                    *token
                ));
                let body = Some(("application/x-www-form-urlencoded", form.as_bytes()));
                let call = Call { body, ..Call::new(Method::POST, realm) };
                self.exchange(&call, realm, None, &mut sink)?
            }
            other => {
                let joint = if realm.contains('?') { '&' } else { '?' };
                let at = format!("{realm}{joint}{query}");
                let authorization = other.as_ref().map(basic);
                let authorization = authorization.as_ref().map(|it| it.as_str());
                self.exchange(&Call::new(Method::GET, &at), &at, authorization, &mut sink)?
            }
        };
        let call = Call::new(Method::GET, realm);
        let answer = self.judged(&call, answer)?;
        if answer.status != 200 {
            return Err(self.denied(&answer).into());
        }
        let body = Zeroizing::new(sink);
        let token: Option<Token> = serde_json::from_slice(&body).ok();
        let token = token.map(|it| if it.token.is_empty() { it.access_token } else { it.token });
        match token.filter(|token| !token.is_empty()).map(Zeroizing::new) {
            Some(token) => Ok(Zeroizing::new(format!("Bearer {}", *token))),
            None => {
                let url = url::without_query(realm).to_owned();
                Err(Error::Answer { url, why: "gives no token".to_owned() }.into())
            }
        }
    }

    fn authorization(&self) -> Option<Secret> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Option<Secret>> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn basic(credentials: &Credentials) -> Secret {
    match credentials {
        Credentials::Basic { username, password } => {
            let pair = Zeroizing::new(format!("{username}:{}", **password));
            Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())))
        }
        Credentials::Identity(token) => Zeroizing::new(format!("Bearer {}", **token)),
    }
}

fn begins_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn read(mut body: Body, room: u64, sink: &mut Vec<u8>) -> io::Result<()> {
    body.as_reader().take(room).read_to_end(sink).map(drop)
}

/// A request without an answer. What is wrong with names and certificates stays so.
fn trouble(at: &str, error: &ureq::Error) -> Trouble {
    let url = url::without_query(at).to_owned();
    let passing = match error {
        ureq::Error::Io(error) => error.kind() != io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => true,
        _ => false,
    };
    let error = Box::new(Error::Unreachable { url, why: in_words(&error.to_string()) });
    if passing { Trouble::Passing { error, asked: None } } else { Trouble::Lasting(error) }
}

/// What is wrong with a registry's certificate, which the TLS library tells by its own names.
fn in_words(error: &str) -> String {
    let Some((_, name)) = error.split_once("invalid peer certificate: ") else { return shown(error) };
    let words = [
        ("CaUsedAsEndEntity", CA_AS_SERVER),
        ("UnknownIssuer", "it is not by a CA that is trusted"),
        ("NotValidForName", "it is for another name"),
        ("NotValidYet", "it is not valid yet"),
        ("Expired", "it has expired"),
        ("Revoked", "it is revoked"),
        ("UnsupportedCertVersion", "it is of a version other than 3"),
        ("BadSignature", "its signature is wrong"),
        ("BadEncoding", "it is damaged"),
    ];
    let known = words.iter().find(|(known, _)| name.contains(known)).map(|(_, words)| (*words).to_owned());
    // What has words of its own has no name in it.
    let told = known.unwrap_or_else(|| {
        let inner = name.trim_start_matches("Other(").trim_start_matches("OtherError(").trim_end_matches(')');
        format!("it is not accepted: {}", shown(inner))
    });
    format!("its certificate cannot be used: {told}")
}

/// Mozilla's roots, and those of the user's.
fn certificates(path: &std::path::Path, pem: &[u8]) -> Result<RootCerts, Error> {
    let wrong = |why: String| Error::Certificate { path: path.to_owned(), why };
    let mut own = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(error.to_string()))? {
            own.push(certificate);
        }
    }
    if own.is_empty() {
        return Err(wrong("it has none".to_owned()));
    }
    let mozilla = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    let mozilla = mozilla.map(|der| Certificate::from_der(der).to_owned());
    Ok(mozilla.chain(own).collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_does_not_lead_to_plain_http() {
        let repository = Repository { host: "h".to_owned(), name: "r".to_owned() };
        let http = |plain| {
            Http::new("https://h", &repository, String::new(), plain, Options::default())
                .unwrap_or_else(|error| panic!("{error}"))
        };
        assert!(
            matches!(http(false).allowed("http://h/x?token=1"), Err(Error::Plain(url)) if url == "http://h/x")
        );
        assert!(http(true).allowed("http://h/x").is_ok());
        assert!(http(false).allowed("https://other/x").is_ok());
        assert!(matches!(http(false).allowed("ftp://h/x"), Err(Error::Unreachable { .. })));
    }

    #[test]
    fn what_a_registry_says() {
        let said = |body: &str| {
            let (headers, body) = (HeaderMap::new(), body.as_bytes().to_vec());
            Answer { status: 400, headers, body }.message()
        };
        assert_eq!(said(r#"{"errors":[{"code":"A","message":"b","detail":{}},{"code":"C"}]}"#), "A b; C");
        assert_eq!(said(" plain\n"), "plain");
        assert_eq!(said(""), "it says no more");
        assert_eq!(said(&"x".repeat(1_000)).len(), 300);
    }

    #[test]
    fn certificates_are_spoken_of_in_words() {
        let told = |name: &str| in_words(&format!("io: invalid peer certificate: {name}"));
        let ca = told("Other(OtherError(CaUsedAsEndEntity))");
        assert_eq!(ca, "its certificate cannot be used: it is a CA's, which is no server's");
        assert!(told("UnknownIssuer").ends_with("it is not by a CA that is trusted"));
        assert!(told("Other(OtherError(MaximumPathDepth))").ends_with("not accepted: MaximumPathDepth"));
        assert_eq!(in_words("host not found"), "host not found");
    }

    #[test]
    fn who_answers_plain_http_with_400_may_speak_https() {
        let refused = |url: &str, status, body: &str| {
            let (headers, body) = (HeaderMap::new(), body.as_bytes().to_vec());
            matches!(Answer { status, headers, body }.refused(url), Error::MaybeHttps { .. })
        };
        assert!(refused("http://localhost:5000/v2/a", 400, ""));
        assert!(refused("http://r/v2/a", 400, "Client sent an HTTP request to an HTTPS server."));
        assert!(!refused("http://localhost:5000/v2/a", 400, r#"{"errors":[{"code":"NAME_INVALID"}]}"#));
        assert!(!refused("https://r/v2/a", 400, "") && !refused("http://r/v2/a", 405, ""));
    }

    #[test]
    fn a_ca_file_has_certificates() {
        let path = std::path::Path::new("ca.pem");
        for wrong in ["", "text", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"] {
            assert!(
                matches!(certificates(path, wrong.as_bytes()), Err(Error::Certificate { .. })),
                "{wrong}"
            );
        }
    }
}
