//! HTTP/2, by a server that is well-behaved: hyper's.

use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::{Received, locked, responses};

pub(super) fn serve(listener: TcpListener, config: Arc<ServerConfig>, received: Arc<Mutex<Vec<Received>>>) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("the machine has room for a runtime");
        runtime.block_on(async {
            listener.set_nonblocking(true).expect("the listener can be asked without waiting");
            let listener = tokio::net::TcpListener::from_std(listener).expect("the listener is bound");
            let acceptor = TlsAcceptor::from(config);
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (acceptor, received) = (acceptor.clone(), Arc::clone(&received));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| answer(request, Arc::clone(&received)));
                    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    drop(connection.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
    });
}

async fn answer(
    request: hyper::Request<Incoming>,
    received: Arc<Mutex<Vec<Received>>>,
) -> Result<hyper::Response<Whole>, Infallible> {
    let (head, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    let mut headers =
        vec![("host".to_owned(), head.uri.authority().map_or("", |host| host.as_str()).to_owned())];
    for (name, value) in &head.headers {
        headers.push((name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    }
    let request = Received {
        method: head.method.to_string(),
        target: head.uri.path_and_query().map_or("", |target| target.as_str()).to_owned(),
        headers,
        body: bytes,
        http2: head.version == hyper::Version::HTTP_2,
    };
    let text = responses::echo(&request).to_string();
    locked(&received).push(request);
    Ok(hyper::Response::new(Whole(Some(text.into()))))
}

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}
