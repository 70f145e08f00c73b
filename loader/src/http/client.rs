//! What requests of one call are made with. It is made at the first of them, so that a call
//! without HTTP pays nothing, and is the call's own, so that calls share nothing.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::failure::{Failure, Kind};
use super::policy::Policy;
use super::resolve::Resolver;

/// A runtime on the module's own thread, the roots of TLS, a resolver of names.
pub(super) struct Client {
    runtime: Runtime,
    pub(super) tls: TlsConnector,
    pub(super) resolver: Resolver,
}

/// Why a request came to no response.
#[derive(Debug, Clone)]
pub(super) enum Ended {
    /// The module is told.
    Failed(Failure),
    /// The time of the whole call is over: nobody is left to be told.
    CallOver,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Client {
    pub(super) fn start(policy: &Policy) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(Kind::Abi, format!("the host cannot start a client: {error}")))?;
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in &policy.certificates {
            // The policy's reader has taken it already.
            let _ = roots.add(certificate.clone());
        }
        let mut tls = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::new(Kind::Abi, format!("the host cannot start a client: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        tls.resumption = Resumption::disabled();
        let resolver = Resolver::new(&policy.nameservers);
        Ok(Self { runtime, tls: TlsConnector::from(Arc::new(tls)), resolver })
    }

    /// Waits for `work` as long as `clock` allows.
    pub(super) fn wait<T>(
        &self,
        clock: &Clock,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Ended> {
        // A server that always has something ready would never be late otherwise.
        if Instant::now() >= clock.until {
            return Err(clock.ended());
        }
        let until = tokio::time::Instant::from_std(clock.until);
        match self.runtime.block_on(async { tokio::time::timeout_at(until, work).await }) {
            Ok(result) => result.map_err(Ended::Failed),
            Err(_) => Err(clock.ended()),
        }
    }
}

/// When a request has to be over: by its own `timeout_ms`, and never later than its call.
#[derive(Debug)]
pub(super) struct Clock {
    until: Instant,
    /// The request's own limit, where that comes first.
    own: Option<Duration>,
}

impl Clock {
    pub(super) fn starting_now(timeout: Option<Duration>, call: Duration) -> Self {
        let own = timeout.filter(|timeout| *timeout < call);
        let now = Instant::now();
        let year = Duration::from_secs(365 * 24 * 3600);
        Self { until: now + own.unwrap_or(call).min(year), own }
    }

    fn ended(&self) -> Ended {
        match self.own {
            Some(own) => Ended::Failed(Failure::new(
                Kind::Timeout,
                format!("the request took longer than its `timeout_ms` of {}", own.as_millis()),
            )),
            None => Ended::CallOver,
        }
    }
}

/// A failure of the connection to `whom`, with every reason that `error` has.
pub(super) fn broken(whom: &str, what: &str, error: &(dyn StdError + 'static)) -> Failure {
    let mut message = format!("{whom} {what}: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        let told = error.to_string();
        if !message.ends_with(&told) {
            let _ = write!(message, ": {told}");
        }
        source = error.source();
    }
    Failure::new(Kind::Connection, message)
}
