//! Names to addresses: `/etc/hosts`, then the name servers of `/etc/resolv.conf` or of the policy.
//!
//! A stub resolver of our own: a statically linked C library has none that works everywhere, and
//! only addresses are asked for. Nothing is kept between two names, so that what is checked is what
//! was just answered, and names are taken as they are: no search domain is put behind them.

mod ask;
mod hosts;
mod message;
mod servers;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use futures_util::future::join;

use message::{Answer, Family, Name, Question};
pub(super) use servers::Error;
use servers::Servers;

/// A name leads on to others at most this often within an answer, and from answer to answer.
const MAX_ALIASES: usize = 16;

/// Asks name servers.
pub(super) struct Resolver {
    /// None: those of the machine, as its file names them at each question.
    servers: Option<Servers>,
    /// Where `hosts` and `resolv.conf` are.
    etc: PathBuf,
}

impl Resolver {
    /// One that asks `nameservers`, or those of the machine where there are none. Nothing is read
    /// until the first question.
    pub(super) fn new(nameservers: &[SocketAddr]) -> Self {
        let servers = (!nameservers.is_empty()).then(|| Servers::these(nameservers.to_vec()));
        Self { servers, etc: PathBuf::from("/etc") }
    }

    /// Every address of `name`, those of IPv6 first; none where there is no such name.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let written = hosts::addresses(&self.etc.join("hosts"), name);
        if !written.is_empty() {
            return Ok(written);
        }
        if let Some(special) = special(name) {
            return Ok(special);
        }
        let name = Name::of(name).ok_or(Error::Name)?;
        let of_machine;
        let servers = match &self.servers {
            Some(servers) => servers,
            None => {
                of_machine = Servers::of_file(&self.etc.join("resolv.conf"));
                &of_machine
            }
        };
        let ask = |family| follow(servers, Question { name: name.clone(), family });
        match join(ask(Family::V6), ask(Family::V4)).await {
            (Ok(mut found), Ok(more)) => {
                found.extend(more);
                Ok(found)
            }
            // There are servers that know nothing of IPv6, and say so by an error.
            (Ok(found), Err(error)) | (Err(error), Ok(found)) => {
                if found.is_empty() {
                    Err(error)
                } else {
                    Ok(found)
                }
            }
            (Err(error), Err(_)) => Err(error),
        }
    }
}

/// The addresses of a name that no server is asked for (RFC 6761 and RFC 7686).
fn special(name: &str) -> Option<Vec<IpAddr>> {
    match name.rsplit('.').next()? {
        "localhost" => Some(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]),
        "invalid" | "onion" => Some(Vec::new()),
        _ => None,
    }
}

/// Asks on, where a name stands for another that the answer does not have.
async fn follow(servers: &Servers, mut question: Question) -> Result<Vec<IpAddr>, Error> {
    for _ in 0..=MAX_ALIASES {
        match servers.ask(&question).await? {
            Answer::Addresses(found) => return Ok(found),
            Answer::Alias(name) => question.name = name,
        }
    }
    Err(Error::Aliases)
}

#[cfg(test)]
mod tests;
