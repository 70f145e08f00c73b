//! Who a request goes to: a host and a port, in one spelling whatever the URL's was.

use std::fmt;
use std::net::IpAddr;

use url::Url;

/// The port of `https`.
pub(super) const HTTPS_PORT: u16 = 443;

/// A host in its one spelling: lower case, punycode, no trailing dot; an address as a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// A name.
    Name(String),
    /// An address, as the URL has it.
    Address(IpAddr),
}

/// Where `https` requests go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// The origin of a URL, without a look at its scheme; nothing where the URL names no host, or
    /// one that nothing can be called.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let host = match url.host()? {
            url::Host::Ipv4(address) => Host::Address(address.into()),
            url::Host::Ipv6(address) => Host::Address(address.into()),
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                let named = |label: &str| (1..=63).contains(&label.len()) && !label.contains('*');
                if name.len() > 253 || !name.split('.').all(named) {
                    return None;
                }
                Host::Name(name.to_ascii_lowercase())
            }
        };
        Some(Self { host, port: url.port().unwrap_or(HTTPS_PORT) })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// As in a URL and in a `host` header: the port of `https` goes without saying.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            HTTPS_PORT => write!(f, "{}", self.host),
            port => write!(f, "{}:{port}", self.host),
        }
    }
}
