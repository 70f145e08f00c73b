//! An HTTPS server on loopback that behaves as badly as a test asks: by HTTP/1.1 it answers from
//! [`responses`], byte for byte; by HTTP/2 it repeats what it was sent.
//!
//! Its certificates are made anew for each server, by an authority of its own.

mod http2;
pub mod responses;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server. Its threads end with the test's process.
#[derive(Debug)]
pub struct HttpsServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// The authority's certificate, as PEM.
    pub authority: String,
    received: Arc<Mutex<Vec<Received>>>,
}

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// `GET`.
    pub method: String,
    /// The target of the request line: `/path?query`.
    pub target: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, its chunks joined.
    pub body: Vec<u8>,
    /// Whether it came by HTTP/2.
    pub http2: bool,
}

impl Received {
    /// The values of a header, joined.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

impl HttpsServer {
    /// A server of HTTP/1.1 with a certificate for these names or addresses.
    #[must_use]
    pub fn start(names: &[&str]) -> Self {
        let (server, listener, config) = Self::prepare(names, &[b"http/1.1"]);
        let received = Arc::clone(&server.received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (config, received) = (Arc::clone(&config), Arc::clone(&received));
                thread::spawn(move || {
                    let connection = ServerConnection::new(config).expect("the configuration is whole");
                    let mut stream = StreamOwned::new(connection, stream);
                    let Some(request) = read_request(&mut stream) else { return };
                    locked(&received).push(request.clone());
                    // A client that has seen enough goes away in the middle.
                    let _ = responses::respond(&mut stream, &request);
                });
            }
        });
        server
    }

    /// A server of HTTP/2.
    #[must_use]
    pub fn start_http2(names: &[&str]) -> Self {
        let (server, listener, config) = Self::prepare(names, &[b"h2"]);
        http2::serve(listener, config, Arc::clone(&server.received));
        server
    }

    fn prepare(names: &[&str], protocols: &[&[u8]]) -> (Self, TcpListener, Arc<ServerConfig>) {
        let (authority, chain, key) = certificates(names);
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has the versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the key is the certificate's");
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("the listener is bound");
        (Self { address, authority, received: Arc::default() }, listener, Arc::new(config))
    }

    /// The requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        locked(&self.received).clone()
    }

    /// A question that a server of names can ask: have there been requests yet?
    pub fn has_been_asked(&self) -> impl Fn() -> bool + Send + 'static {
        let received = Arc::clone(&self.received);
        move || !locked(&received).is_empty()
    }

    /// Writes the authority's certificate into a folder, as `ca.pem`.
    ///
    /// # Panics
    ///
    /// When it cannot.
    pub fn write_authority(&self, directory: &Path) {
        std::fs::write(directory.join("ca.pem"), &self.authority).expect("the folder is ours");
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of the lock panics")
}

fn certificates(names: &[&str]) -> (String, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names are no wrong names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("ring makes keys");
    let pem = authority.self_signed(&authority_key).expect("the authority signs itself").pem();
    let issuer = Issuer::new(authority, authority_key);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().expect("ring makes keys");
    let certificate = CertificateParams::new(names)
        .expect("the names are names")
        .signed_by(&key, &issuer)
        .expect("the authority signs");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    (pem, vec![certificate.der().clone()], key)
}

/// Reads a request's head and body; none where the client leaves before the end of them.
fn read_request(stream: &mut Stream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, &mut bytes)?;
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let mut request = Received {
        method: first.next()?.to_owned(),
        target: first.next()?.to_owned(),
        ..Received::default()
    };
    request.headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = request.header("content-length").map_or(0, |length| length.parse().expect("a number"));
    bytes.drain(..head_end);
    while bytes.len() < length {
        more(stream, &mut bytes)?;
    }
    request.body = bytes;
    Some(request)
}

fn more(stream: &mut Stream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
    bytes.extend_from_slice(&chunk[..read]);
    Some(())
}

/// Waits until the client goes away.
fn hold(stream: &mut Stream) {
    let _ = stream.flush();
    let mut bytes = Vec::new();
    while more(stream, &mut bytes).is_some() {}
}
