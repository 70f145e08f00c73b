//! A request as a module writes it: JSON, with no fields but those of ABI 1, "HTTP:
//! `subako_http`".

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use subako_manifest::limits::MAX_HTTP_REQUEST_BYTES;
use subako_manifest::text::{grouped, shown};
use url::Url;

use super::failure::{Failure, Kind};
use super::fields::{self, Fault, Fields};
use super::origin::Origin;
use crate::volume::VolumePath;

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Headers that are the connection's own affair: dropped, as ABI 1 says.
const OF_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a module asks for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Without fragment and user information; its host in its one spelling.
    pub(super) url: Url,
    pub(super) origin: Origin,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Body>,
    pub(super) output: Output,
    pub(super) follow_redirects: bool,
    pub(super) timeout: Option<Duration>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// These bytes.
    Bytes(Bytes),
    /// A file of the volume; as the module writes its path, too.
    File(VolumePath, String),
}

/// Where the response's body goes.
#[derive(Debug)]
pub(super) enum Output {
    /// Into the answer.
    Inline,
    /// Into a file of the volume; as the module writes its path, too.
    File(VolumePath, String),
}

impl Request {
    /// Reads a request.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let length = bytes.len() as u64;
        if length > MAX_HTTP_REQUEST_BYTES {
            let allowed = grouped(MAX_HTTP_REQUEST_BYTES);
            return Err(invalid(format!(
                "the request has {} bytes, at most {allowed} are allowed",
                grouped(length)
            )));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            invalid(format!("the request is not UTF-8 from byte {}", error.valid_up_to()))
        })?;
        let mut fields = Fields::of_text(text)?;
        let method = fields.take("method");
        let url = fields.string("url")?;
        let headers = fields.take("headers");
        let body = fields.take_some("body");
        let output = fields.take("output");
        let follow_redirects = fields.take("follow_redirects");
        let timeout = fields.take_some("timeout_ms");
        fields.end()?;

        let method = match method {
            Some(raw) => read_method(&fields::string("method".to_owned(), raw)?)?,
            None => Method::GET,
        };
        let mut headers = match headers {
            Some(raw) => read_headers(raw)?,
            None => HeaderMap::new(),
        };
        let follow_redirects = match follow_redirects {
            Some(raw) => fields::boolean("follow_redirects".to_owned(), raw)?,
            None => true,
        };
        let timeout = match timeout {
            Some(raw) => match fields::whole_number("timeout_ms".to_owned(), raw)? {
                0 => return Err(Fault::value("timeout_ms", "is 0, at least 1 is needed").into()),
                milliseconds => Some(Duration::from_millis(milliseconds)),
            },
            None => None,
        };
        let body = match body {
            Some(raw) => {
                let (body, content_type) = read_body(raw)?;
                if let Some(content_type) = content_type
                    && !headers.contains_key(header::CONTENT_TYPE)
                {
                    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
                }
                Some(body)
            }
            None => None,
        };
        let output = match output {
            Some(raw) => read_output(raw)?,
            None => Output::Inline,
        };
        let (url, origin, user) = read_url(&url)?;
        if let Some(user) = user
            && !headers.contains_key(header::AUTHORIZATION)
        {
            headers.insert(header::AUTHORIZATION, user);
        }
        Ok(Self { method, url, origin, headers, body, output, follow_redirects, timeout })
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        invalid(fault.told("the request"))
    }
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Kind::InvalidRequest, message)
}

fn read_method(name: &str) -> Result<Method, Failure> {
    METHODS.into_iter().find(|method| method.as_str() == name).ok_or_else(|| {
        let names: Vec<&str> = METHODS.iter().map(Method::as_str).collect();
        invalid(format!("`method` is `{}`, which is none of {}", shown(name), names.join(", ")))
    })
}

/// A URL of a request: where to, without what is no part of that, and the `authorization` that
/// its user information stands for.
fn read_url(text: &str) -> Result<(Url, Origin, Option<HeaderValue>), Failure> {
    // A URL's reader skips line breaks and trims; a request with them is a mistake or an attack.
    if text.chars().any(char::is_control) || text.trim() != text {
        return Err(invalid("`url` has a control character, or a space around it"));
    }
    let url = Url::parse(text).map_err(|error| invalid(format!("`url` is not a URL: {error}")))?;
    let user = match (url.username(), url.password()) {
        ("", None) => None,
        (user, password) => {
            let decoded = |text: &str| percent_decoded(text);
            let mut pair = decoded(user);
            pair.push(b':');
            pair.extend(decoded(password.unwrap_or_default()));
            let value = format!("Basic {}", STANDARD.encode(pair));
            HeaderValue::from_str(&value).ok().map(|mut value| {
                value.set_sensitive(true);
                value
            })
        }
    };
    let (url, origin) = destination(url)?;
    Ok((url, origin, user))
}

/// The one spelling of a request's URL and its origin; the scheme is looked at, nothing else.
pub(super) fn destination(mut url: Url) -> Result<(Url, Origin), Failure> {
    if url.scheme() != "https" {
        return Err(Failure::new(
            Kind::ForbiddenDestination,
            format!("the scheme `{}` is not allowed, only `https` is", shown(url.scheme())),
        ));
    }
    let no_host = || invalid("`url` has no host that can be reached");
    let origin = Origin::of(&url).ok_or_else(no_host)?;
    url.set_fragment(None);
    let set = url.set_username("").is_ok() && url.set_password(None).is_ok();
    if !set || url.set_host(Some(&origin.host.to_string())).is_err() {
        return Err(no_host());
    }
    Ok((url, origin))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

fn read_headers(raw: &RawValue) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, raw) in Fields::of("headers".to_owned(), raw)?.all() {
        let path = format!("headers.{name}");
        let value = fields::string(path.clone(), raw)?;
        let fault = |why: &str| Failure::from(Fault::value(path.clone(), why));
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(fault("is not in lower case"));
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault("is no name of a header"))?;
        let value = HeaderValue::from_bytes(value.trim_matches([' ', '\t']).as_bytes())
            .map_err(|_| fault("has a control character"))?;
        if !is_of_connection(&name) {
            headers.try_insert(name, value).map_err(|_| invalid("`headers` has too many"))?;
        }
    }
    Ok(headers)
}

/// Whether a header is the connection's own affair.
pub(super) fn is_of_connection(name: &HeaderName) -> bool {
    OF_CONNECTION.contains(&name.as_str())
}

/// A body, and the `content-type` it has unless a header says otherwise.
fn read_body(raw: &RawValue) -> Result<(Body, Option<&'static str>), Failure> {
    let mut fields = Fields::of("body".to_owned(), raw)?;
    let kind = fields.string("type")?;
    let read = match kind.as_str() {
        "text" => {
            let text = fields.string("text")?;
            (Body::Bytes(text.into()), Some("text/plain; charset=utf-8"))
        }
        "json" => {
            // As the module wrote it, to the byte.
            let json = fields.required("json")?.get().to_owned();
            (Body::Bytes(json.into()), Some("application/json"))
        }
        "file" => {
            let (path, written) = read_path(&mut fields)?;
            (Body::File(path, written), None)
        }
        _ => return Err(Fault::value("body.type", "is none of `text`, `json`, `file`").into()),
    };
    fields.end()?;
    Ok(read)
}

fn read_output(raw: &RawValue) -> Result<Output, Failure> {
    let mut fields = Fields::of("output".to_owned(), raw)?;
    let kind = fields.string("type")?;
    let read = match kind.as_str() {
        "inline" => Output::Inline,
        "file" => {
            let (path, written) = read_path(&mut fields)?;
            Output::File(path, written)
        }
        _ => return Err(Fault::value("output.type", "is none of `inline`, `file`").into()),
    };
    fields.end()?;
    Ok(read)
}

fn read_path(fields: &mut Fields<'_>) -> Result<(VolumePath, String), Failure> {
    let written = fields.string("path")?;
    match VolumePath::of_guest(&written) {
        Ok(path) => Ok((path, written)),
        Err(wrong) => {
            let message = format!("`{}` cannot be used: {wrong}", shown(&written));
            Err(Failure::new(Kind::BadPath, message))
        }
    }
}

#[cfg(test)]
mod tests;
