//! Why a request has no response: what the module reads as `{"error": …}`.

use std::fmt;

/// The kinds of ABI 1, "HTTP: `subako_http`".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request is not one.
    InvalidRequest,
    /// The policy does not allow the host.
    HostNotAllowed,
    /// No module may reach the destination: plain `http`, or a private or reserved address.
    ForbiddenDestination,
    /// The request sets a header that a stored credential sets.
    CredentialHeader,
    /// A stored credential's secret is not there.
    CredentialUnavailable,
    /// More than 10 hops.
    TooManyRedirects,
    /// `timeout_ms` is over.
    Timeout,
    /// The body is too large for an inline answer.
    TooLarge,
    /// The body of an inline answer is no UTF-8.
    NotText,
    /// The call's write budget does not cover the body.
    WriteBudget,
    /// A path names no usable file of the volume.
    BadPath,
    /// The server could not be reached, or broke the exchange.
    Connection,
    /// The host cannot do its own part.
    Abi,
}

impl Kind {
    /// The kind as the module reads it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::HostNotAllowed => "host_not_allowed",
            Self::ForbiddenDestination => "forbidden_destination",
            Self::CredentialHeader => "credential_header",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::TooManyRedirects => "too_many_redirects",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::NotText => "not_text",
            Self::WriteBudget => "write_budget",
            Self::BadPath => "bad_path",
            Self::Connection => "connection",
            Self::Abi => "abi",
        }
    }
}

/// A request that has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: Kind,
    /// What is wrong, for whoever reads it; names the thing.
    pub message: String,
}

impl Failure {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for Failure {}
