//! Names to addresses: `/etc/hosts`, then the name servers of `/etc/resolv.conf` or of the policy.
//!
//! Nothing is kept between two questions, so that what is checked is what was just answered, and
//! names are taken as they are: no search domain is put behind them.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// Asks name servers.
pub(super) struct Resolver {
    nameservers: Vec<SocketAddr>,
    resolver: OnceCell<TokioResolver>,
}

impl Resolver {
    /// One that asks `nameservers`, or those of the machine where there are none. Nothing is read
    /// until the first question.
    pub(super) fn new(nameservers: &[SocketAddr]) -> Self {
        Self { nameservers: nameservers.to_vec(), resolver: OnceCell::new() }
    }

    /// Every address of `name`; none where there is no such name.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NetError> {
        let resolver = match self.resolver.get() {
            Some(resolver) => resolver,
            None => {
                let made = self.build()?;
                self.resolver.get_or_init(|| made)
            }
        };
        match resolver.lookup_ip(format!("{name}.")).await {
            Ok(found) => Ok(found.iter().collect()),
            Err(error) if error.is_no_records_found() || error.is_nx_domain() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn build(&self) -> Result<TokioResolver, NetError> {
        let provider = TokioRuntimeProvider::default();
        let mut builder = if self.nameservers.is_empty() {
            // Without the file there is a name server on the machine itself, by tradition.
            TokioResolver::builder_tokio()
                .unwrap_or_else(|_| TokioResolver::builder_with_config(config(&[LOCAL]), provider))
        } else {
            TokioResolver::builder_with_config(config(&self.nameservers), provider)
        };
        builder.options_mut().cache_size = 0;
        builder.build()
    }
}

const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);

fn config(nameservers: &[SocketAddr]) -> ResolverConfig {
    let servers = nameservers.iter().map(|server| {
        let mut config = NameServerConfig::udp_and_tcp(server.ip());
        for connection in &mut config.connections {
            connection.port = server.port();
        }
        config
    });
    ResolverConfig::from_parts(None, Vec::new(), servers.collect())
}
