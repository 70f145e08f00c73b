//! What requests of one call are made with. It is made at the first of them, so that a call
//! without HTTP pays nothing, and is the call's own, so that calls share nothing.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::failure::{Failure, Kind};
use super::policy::Policy;
use super::resolve::Resolver;
use crate::host::deadline::Deadline;

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
        if let Some(ended) = clock.ended() {
            return Err(ended);
        }
        self.runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                if let Ok(result) = tokio::time::timeout(clock.next_look(), &mut work).await {
                    return result.map_err(Ended::Failed);
                }
                if let Some(ended) = clock.ended() {
                    return Err(ended);
                }
            }
        })
    }
}

/// When a request has to be over: by its own `timeout_ms`, and never later than its call.
pub(super) struct Clock {
    /// The request's own time and its end.
    own: Option<(Duration, Instant)>,
    call: Arc<Deadline>,
}

/// How often a wait looks whether the call is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Clock {
    pub(super) fn starting_now(timeout: Option<Duration>, call: Arc<Deadline>) -> Self {
        // A time past what a clock can say is none.
        let until = |own: Duration| Some((own, Instant::now().checked_add(own)?));
        Self { own: timeout.and_then(until), call }
    }

    fn next_look(&self) -> Duration {
        let own = self.own.map_or(LOOK_EVERY, |(_, until)| until.saturating_duration_since(Instant::now()));
        own.min(self.call.remaining()).min(LOOK_EVERY)
    }

    fn ended(&self) -> Option<Ended> {
        if self.call.remaining() == Duration::ZERO {
            return Some(Ended::CallOver);
        }
        let (own, _) = self.own.filter(|(_, until)| *until <= Instant::now())?;
        let message = format!("the request took longer than its `timeout_ms` of {}", own.as_millis());
        Some(Ended::Failed(Failure::new(Kind::Timeout, message)))
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
