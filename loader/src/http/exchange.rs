//! One request of a module, from its JSON to the last hop's response.

use std::sync::Arc;

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use subako_manifest::text::shown;
use url::{Position, Url};

use super::Http;
use super::answer::{Body as AnswerBody, Response};
use super::client::{Client, Clock, Ended, broken};
use super::connect::{Driver, check, connect};
use super::decode::{ACCEPTED, codings};
use super::download::Download;
use super::failure::{Failure, Kind};
use super::mask::Secrets;
use super::origin::Origin;
use super::payload::Payload;
use super::policy::Policy;
use super::redirect::{MAX_HOPS, drop_body_headers, drop_private_headers, is_redirect, method_without_body};
use super::request::{Body, Output, Request, destination};
use crate::host::CallHost;
use crate::host::write_budget::WriteBudget;
use crate::volume::{Slot, Unusable, Volume};

const USER_AGENT: &str = concat!("subako-loader/", env!("CARGO_PKG_VERSION"));

/// Makes the request that `bytes` are, for the module of `host`.
pub(super) fn exchange(host: &mut CallHost, bytes: &[u8]) -> Result<Response, Ended> {
    let request = Request::parse(bytes)?;
    let clock = Clock::starting_now(request.timeout, Arc::clone(&host.deadline));
    let CallHost { http, write_budget, .. } = host;
    let Http { policy, volume_tmp, volume_data, client, .. } = http;
    let Some(policy) = policy.as_deref() else {
        return Err(Failure::new(Kind::Abi, "`subako_http` makes no requests outside of a call").into());
    };
    let volume = Volume { tmp: volume_tmp.as_deref(), data: volume_data.as_deref() };

    // Everything that needs no network comes first.
    check(&request.origin, policy)?;
    let slot = match &request.output {
        Output::Inline => None,
        Output::File(path, written) => {
            let slot = volume.slot(path).map_err(|unusable| bad_path(written, unusable))?;
            Some((slot, written.clone()))
        }
    };
    let (follow_redirects, hop) = Hop::first(request);
    let client = match client {
        Some(client) => client,
        None => client.insert(Client::start(policy)?),
    };
    let last =
        follow(hop, follow_redirects, &Surroundings { client, clock: &clock, policy, volume: &volume })?;
    receive(last, client, &clock, slot, write_budget)
}

/// What the hops of a request have in common.
struct Surroundings<'a> {
    client: &'a Client,
    clock: &'a Clock,
    policy: &'a Policy,
    volume: &'a Volume<'a>,
}

/// One request on the wire.
#[derive(Debug)]
struct Hop {
    method: Method,
    url: Url,
    origin: Origin,
    /// The module's own.
    headers: HeaderMap,
    body: Option<Body>,
}

/// A response whose body is still to come.
struct Last {
    origin: Origin,
    response: hyper::Response<Incoming>,
    /// What was sent on the way here and must not come back.
    secrets: Secrets,
    /// The body comes as long as this lives.
    _driver: Driver,
}

impl Hop {
    fn first(request: Request) -> (bool, Self) {
        let Request { method, url, origin, headers, body, follow_redirects, .. } = request;
        (follow_redirects, Self { method, url, origin, headers, body })
    }

    /// The hop that `location` names.
    fn redirected(mut self, status: hyper::StatusCode, location: &HeaderValue) -> Result<Self, Failure> {
        let broken_location =
            || Failure::new(Kind::Connection, format!("{} redirects to what is no URL", self.origin));
        let location = std::str::from_utf8(location.as_bytes()).map_err(|_| broken_location())?;
        let url = self.url.join(location).map_err(|_| broken_location())?;
        let from = self.origin.clone();
        // A location's user information is the server's, not the module's: it goes nowhere.
        let (url, origin) = destination(url).map_err(|failure| match failure.kind {
            Kind::InvalidRequest => broken_location(),
            kind => Failure::new(kind, format!("{from} redirects elsewhere: {}", failure.message)),
        })?;
        self.url = url;
        self.origin = origin;
        if let Some(method) = method_without_body(status, &self.method) {
            self.method = method;
            self.body = None;
            drop_body_headers(&mut self.headers);
        }
        if self.origin != from {
            drop_private_headers(&mut self.headers);
        }
        Ok(self)
    }

    /// The module's headers with those of the operator and of the client.
    fn all_headers(&self, policy: &Policy, secrets: &mut Secrets) -> Result<HeaderMap, Failure> {
        let mut headers = self.headers.clone();
        for credential in policy.credentials(&self.origin) {
            if headers.contains_key(&credential.header) {
                let message = format!(
                    "`headers.{}` is set by a stored credential for {}; leave it out",
                    credential.header, self.origin
                );
                return Err(Failure::new(Kind::CredentialHeader, message));
            }
        }
        for credential in policy.credentials(&self.origin) {
            let secret = credential.value().map_err(|why| {
                let message = format!(
                    "the stored credential for `{}` of {} cannot be used: its {} {why}",
                    credential.header,
                    self.origin,
                    credential.source.kind()
                );
                Failure::new(Kind::CredentialUnavailable, message)
            })?;
            secrets.add(secret.bytes());
            headers.insert(&credential.header, secret.into_value());
        }
        let mut set = |name, value| {
            if !headers.contains_key(&name) {
                headers.insert(name, HeaderValue::from_static(value));
            }
        };
        set(header::ACCEPT, "*/*");
        set(header::USER_AGENT, USER_AGENT);
        // A part of something compressed is nothing that could be decoded.
        if !self.headers.contains_key(header::RANGE) {
            set(header::ACCEPT_ENCODING, ACCEPTED);
        }
        // Where a body is usual, none is said to be none.
        let usual = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        let empty = match &self.body {
            None => usual,
            Some(Body::Bytes(bytes)) => bytes.is_empty(),
            Some(Body::File(..)) => false,
        };
        if empty {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        Ok(headers)
    }

    fn payload(&self, volume: &Volume<'_>) -> Result<Payload, Failure> {
        Ok(match &self.body {
            None => Payload::Empty,
            Some(Body::Bytes(bytes)) => Payload::Bytes(Some(bytes.clone()).filter(|bytes| !bytes.is_empty())),
            Some(Body::File(path, written)) => {
                let (file, left) = volume.open(path).map_err(|unusable| bad_path(written, unusable))?;
                Payload::File { file, left }
            }
        })
    }
}

/// Goes from hop to hop until a response is no redirect, or is not to be followed.
fn follow(mut hop: Hop, follow_redirects: bool, around: &Surroundings<'_>) -> Result<Last, Ended> {
    let Surroundings { client, clock, policy, volume } = *around;
    let mut hops = 0;
    let mut secrets = Secrets::default();
    loop {
        check(&hop.origin, policy)?;
        let headers = hop.all_headers(policy, &mut secrets)?;
        let payload = hop.payload(volume)?;
        let (response, driver) = client.wait(clock, send(client, policy, &hop, headers, payload))?;
        let location = match response.headers().get(header::LOCATION) {
            Some(location) if follow_redirects && is_redirect(response.status()) => location.clone(),
            _ => return Ok(Last { origin: hop.origin, response, secrets, _driver: driver }),
        };
        if hops == MAX_HOPS {
            let message = format!("{} redirects once more after {MAX_HOPS} hops", hop.origin);
            return Err(Failure::new(Kind::TooManyRedirects, message).into());
        }
        hops += 1;
        hop = hop.redirected(response.status(), &location)?;
    }
}

async fn send(
    client: &Client,
    policy: &Policy,
    hop: &Hop,
    headers: HeaderMap,
    payload: Payload,
) -> Result<(hyper::Response<Incoming>, Driver), Failure> {
    let connection = connect(client, &hop.origin, policy).await?;
    let mut request = hyper::Request::new(payload);
    *request.method_mut() = hop.method.clone();
    *request.headers_mut() = headers;
    let invalid = |_| Failure::new(Kind::InvalidRequest, "`url` has what no request can carry");
    if connection.is_http2() {
        *request.uri_mut() = hop.url[..Position::AfterQuery].parse().map_err(invalid)?;
        *request.version_mut() = hyper::Version::HTTP_2;
    } else {
        *request.uri_mut() = hop.url[Position::BeforePath..Position::AfterQuery].parse().map_err(invalid)?;
        let host = HeaderValue::from_str(&hop.origin.to_string())
            .map_err(|_| Failure::new(Kind::InvalidRequest, "`url` has no host that can be reached"))?;
        request.headers_mut().insert(header::HOST, host);
    }
    let whom = hop.origin.to_string();
    let (response, driver) =
        connection.send(request).await.map_err(|error| broken(&whom, "does not answer", &error))?;
    if response.status() == hyper::StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::new(
            Kind::Connection,
            format!("{whom} switches to a protocol nobody asked for"),
        ));
    }
    Ok((response, driver))
}

/// Reads the body to where it belongs.
fn receive(
    last: Last,
    client: &Client,
    clock: &Clock,
    slot: Option<(Slot, String)>,
    budget: &mut WriteBudget,
) -> Result<Response, Ended> {
    let Last { origin, response, secrets, _driver } = last;
    let (mut head, body) = response.into_parts();
    let codings = codings(&head.headers);
    let empty = hyper::body::Body::is_end_stream(&body);
    if !codings.is_empty() && !empty {
        // They speak of what came, not of what the module gets.
        head.headers.remove(header::CONTENT_ENCODING);
        head.headers.remove(header::CONTENT_LENGTH);
    }
    for value in head.headers.values_mut() {
        let mut bytes = value.as_bytes().to_vec();
        secrets.strike(&mut bytes);
        if bytes != value.as_bytes() {
            *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("***"));
        }
    }
    let download = Download { secrets: &secrets, client, clock, whom: origin.to_string(), body, codings };
    let body = match slot {
        None => AnswerBody::Inline(download.inline()?),
        Some((slot, path)) => {
            let bytes = download.save(slot, &path, budget)?;
            AnswerBody::File { path, bytes }
        }
    };
    Ok(Response { status: head.status, headers: head.headers, body })
}

fn bad_path(path: &str, unusable: Unusable) -> Failure {
    Failure::new(Kind::BadPath, format!("`{}` cannot be used: {unusable}", shown(path)))
}
