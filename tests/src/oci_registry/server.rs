//! A small HTTP server: a request a connection, an answer from a closure.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`
    pub method: String,
    /// With its query.
    pub path: String,
    /// As they were sent.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// All but the length.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
    /// How much of the body is sent before the connection ends; all of it without a number.
    pub cut: Option<usize>,
}

/// The server; it ends with the test's process.
#[derive(Debug, Clone)]
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers every request with what `answer` gives; nothing at all for `None`.
    ///
    /// # Panics
    ///
    /// When there is no port.
    pub fn start(answer: impl Fn(&Request) -> Option<Response> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (answer, seen) = (Arc::new(answer), Arc::new(Mutex::new(Vec::new())));
        let server = Self { address, seen };
        let of_threads = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, server) = (answer.clone(), of_threads.clone());
                thread::spawn(move || server.one(&stream, &*answer));
            }
        });
        server
    }

    fn one(&self, stream: &TcpStream, answer: &(impl Fn(&Request) -> Option<Response> + ?Sized)) {
        let Some(request) = Request::read(stream) else { return };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        if let Some(response) = answer(&request) {
            // Who does not read the answer to the end is free to do so.
            let _ = (&*stream).write_all(&response.to_bytes(request.method == "HEAD"));
        }
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The requests so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let headers = headers(&mut reader)?;
        let length = value(&headers, "content-length").map_or(0, |length| length.parse().unwrap_or(0));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }

    /// As HTTP 1.0, which has no chunks and ends the connection.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.0\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            if !name.eq_ignore_ascii_case("connection") {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    /// The path without its query.
    #[must_use]
    pub fn place(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// A value of the query, as it is spelled there.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// Whether it sends a blob.
    #[must_use]
    pub fn sends_blob(&self) -> bool {
        self.method == "PUT" && self.place().contains("/blobs/uploads/")
    }

    /// Whether it fetches a blob.
    #[must_use]
    pub fn fetches_blob(&self) -> bool {
        self.method == "GET" && self.place().contains("/blobs/")
    }
}

impl Response {
    /// An answer with this body.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut: None }
    }

    /// With one header more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        value(&self.headers, name)
    }

    /// The body, if the answer says yes.
    ///
    /// # Panics
    ///
    /// When it does not.
    #[track_caller]
    #[must_use]
    pub fn ok(self) -> Vec<u8> {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.body
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut reader = BufReader::new(bytes);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status line");
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let headers = headers(&mut reader).expect("headers");
        let mut body = Vec::new();
        reader.read_to_end(&mut body).expect("memory can be read");
        Self { status, headers, body, cut: None }
    }

    fn to_bytes(&self, of_head: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Told\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            let ours = ["connection", "content-length", "transfer-encoding"];
            if !ours.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        let length = match (of_head, self.header("content-length")) {
            (true, Some(length)) => length.to_owned(),
            _ => self.body.len().to_string(),
        };
        head.push_str(&format!("Content-Length: {length}\r\n\r\n"));
        let sent = &self.body[..self.cut.unwrap_or(self.body.len())];
        [head.as_bytes(), if of_head { &[] } else { sent }].concat()
    }
}

fn headers(reader: &mut impl std::io::BufRead) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            return Some(headers);
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn value<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}
