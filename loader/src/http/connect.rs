//! From an origin to a connection: its addresses are found, every one is checked, and one of just
//! those is connected to. Nothing is looked up again in between.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::client::{Client, broken};
use super::destination::forbidden_but;
use super::failure::{Failure, Kind};
use super::origin::{Host, Origin};
use super::payload::Payload;
use super::policy::Policy;

/// Bytes of a response's headers, together.
const MAX_HEAD_BYTES: usize = 256 * 1024;
/// A response has at most this many headers.
const MAX_HEADERS: usize = 1_000;
/// How long one address may take to answer while there are others to try.
const ONE_ADDRESS: Duration = Duration::from_secs(3);

/// A connection that waits for its one request.
pub(super) enum Connection {
    Http1(http1::SendRequest<Payload>, Driver),
    Http2(http2::SendRequest<Payload>, Driver),
}

/// Keeps a connection going; ends it when dropped.
#[derive(Debug)]
pub(super) struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Whether the request line names the whole URL.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(..))
    }

    /// Sends the request and waits for the response's headers.
    pub(super) async fn send(
        self,
        request: hyper::Request<Payload>,
    ) -> hyper::Result<(Response<Incoming>, Driver)> {
        match self {
            Self::Http1(mut sender, driver) => {
                sender.ready().await?;
                Ok((sender.send_request(request).await?, driver))
            }
            Self::Http2(mut sender, driver) => {
                sender.ready().await?;
                Ok((sender.send_request(request).await?, driver))
            }
        }
    }
}

/// Whether requests may go to the host as it is written, before anything is looked up.
pub(super) fn check(origin: &Origin, policy: &Policy) -> Result<(), Failure> {
    if let Host::Address(address) = origin.host {
        check_address(origin, address, policy)?;
    }
    if !policy.allows(origin) {
        let message = format!("{origin} is not in this function's network allowlist");
        return Err(Failure::new(Kind::HostNotAllowed, message));
    }
    Ok(())
}

fn check_address(origin: &Origin, address: IpAddr, policy: &Policy) -> Result<(), Failure> {
    match forbidden_but(address, &policy.private_networks) {
        None => Ok(()),
        Some(class) => Err(Failure::new(
            Kind::ForbiddenDestination,
            match origin.host {
                Host::Address(_) => format!("{} is {class}", origin.host),
                Host::Name(_) => format!("{} is at {class}", origin.host),
            },
        )),
    }
}

/// Connects to `origin`, which has passed [`check`].
pub(super) async fn connect(
    client: &Client,
    origin: &Origin,
    policy: &Policy,
) -> Result<Connection, Failure> {
    let whom = origin.to_string();
    let addresses = addresses(client, origin, policy).await?;
    // One bad address spoils the name: which of them is tried is no matter of luck.
    for address in &addresses {
        check_address(origin, address.ip(), policy)?;
    }
    let stream = open(&addresses).await.map_err(|error| broken(&whom, "cannot be reached", &error))?;
    // Small writes are the rule; failing to say so costs time only.
    let _ = stream.set_nodelay(true);

    let name = match &origin.host {
        Host::Address(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => ServerName::try_from(name.clone()),
    };
    let name = name.map_err(|error| broken(&whom, "is no name for TLS", &error))?;
    let stream =
        client.tls.connect(name, stream).await.map_err(|error| broken(&whom, "has no TLS", &error))?;
    handshake(stream).await.map_err(|error| broken(&whom, "speaks no HTTP", &error))
}

async fn addresses(client: &Client, origin: &Origin, policy: &Policy) -> Result<Vec<SocketAddr>, Failure> {
    let name = match &origin.host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, origin.port)]),
        Host::Name(name) => name,
    };
    if let Some(resolved) = policy.resolve.get(name) {
        return Ok(vec![SocketAddr::new(resolved.address, resolved.port.unwrap_or(origin.port))]);
    }
    let found = client.resolver.addresses(name).await;
    let found = found.map_err(|error| broken(name, "cannot be resolved", &error))?;
    if found.is_empty() {
        return Err(Failure::new(Kind::Connection, format!("{name} has no address")));
    }
    Ok(found.into_iter().map(|address| SocketAddr::new(address, origin.port)).collect())
}

/// The first of `addresses` that answers.
async fn open(addresses: &[SocketAddr]) -> std::io::Result<TcpStream> {
    let Some((last, others)) = addresses.split_last() else {
        return Err(std::io::ErrorKind::NotFound.into());
    };
    for address in others {
        if let Ok(Ok(stream)) = tokio::time::timeout(ONE_ADDRESS, TcpStream::connect(address)).await {
            return Ok(stream);
        }
    }
    TcpStream::connect(last).await
}

async fn handshake(stream: TlsStream<TcpStream>) -> hyper::Result<Connection> {
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2".as_slice());
    let stream = TokioIo::new(stream);
    if http2 {
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .handshake(stream)
            .await?;
        // How the connection ends is told by the request on it.
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Connection::Http2(sender, Driver(driver)))
    } else {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .handshake(stream)
            .await?;
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Connection::Http1(sender, Driver(driver)))
    }
}

#[cfg(test)]
mod tests;
