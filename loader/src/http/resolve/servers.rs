//! The name servers, one after the other, and the file `/etc/resolv.conf` that names them
//! (resolv.conf(5)).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use super::MAX_ALIASES;
use super::ask::{Unanswered, ask};
use super::message::{Answer, Question};

const PORT: u16 = 53;
/// Without the file there is a name server on the machine itself, by tradition.
const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);
/// Seconds that a server has to answer, unless the file says otherwise, and at most.
const TIMEOUT: u64 = 5;
const MAX_TIMEOUT: u64 = 30;
/// How often each server is asked, unless the file says otherwise, and at most.
const ATTEMPTS: u64 = 2;
const MAX_ATTEMPTS: u64 = 5;

/// Why a name's addresses are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(in crate::http) enum Error {
    /// A label is empty or longer than 63 bytes, or all are longer than 253.
    #[error("no server can be asked for such a name")]
    Name,
    /// A circle, for the most part.
    #[error("it leads to another name in more than {MAX_ALIASES} answers")]
    Aliases,
    /// What the last server did; those before it did not answer either.
    #[error("the name server {server} {reason}")]
    Unanswered {
        server: SocketAddr,
        #[source]
        reason: Unanswered,
    },
}

/// Who is asked, and how patiently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Servers {
    /// At least one.
    pub(super) addresses: Vec<SocketAddr>,
    /// For one server and one attempt.
    pub(super) timeout: Duration,
    pub(super) attempts: u64,
}

impl Servers {
    /// These; the machine's own where there are none.
    pub(super) fn these(mut addresses: Vec<SocketAddr>) -> Self {
        if addresses.is_empty() {
            addresses.push(LOCAL);
        }
        Self { addresses, timeout: Duration::from_secs(TIMEOUT), attempts: ATTEMPTS }
    }

    /// Those of the file at `path`. What is unknown in it is passed over, as the C library does.
    pub(super) fn of_file(path: &Path) -> Self {
        let file = std::fs::read(path).unwrap_or_default();
        let (mut addresses, mut timeout, mut attempts) = (Vec::new(), TIMEOUT, ATTEMPTS);
        for line in String::from_utf8_lossy(&file).lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    // An address of one network's alone has the network's name behind it.
                    let address = words.next().and_then(|word| word.split('%').next()?.parse().ok());
                    addresses.extend(address.map(|address: IpAddr| SocketAddr::new(address, PORT)));
                }
                Some("options") => {
                    for word in words {
                        match word.split_once(':').map(|(name, value)| (name, value.parse::<u64>())) {
                            Some(("timeout", Ok(seconds))) => timeout = seconds.clamp(1, MAX_TIMEOUT),
                            Some(("attempts", Ok(times))) => attempts = times.clamp(1, MAX_ATTEMPTS),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Self { timeout: Duration::from_secs(timeout), attempts, ..Self::these(addresses) }
    }

    /// The answer of the first server that has one.
    pub(super) async fn ask(&self, question: &Question) -> Result<Answer, Error> {
        let mut last = None;
        for _ in 0..self.attempts {
            for &server in &self.addresses {
                match ask(server, question, self.timeout).await {
                    Ok(answer) => return Ok(answer),
                    Err(reason) => last = Some(Error::Unanswered { server, reason }),
                }
            }
        }
        Err(last.expect("there is a server and an attempt"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Servers {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Servers::of_file(file.path())
    }

    fn servers(addresses: &[&str], timeout: u64, attempts: u64) -> Servers {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Servers { addresses, timeout: Duration::from_secs(timeout), attempts }
    }

    #[test]
    fn a_file_of_servers() {
        let text = "# nameserver 192.0.2.9\n; nameserver 192.0.2.8\n\
            search example.com\nnameserver 192.0.2.1\n  nameserver\t2001:db8::1 # second\n\
            nameserver fe80::1%eth0\nnameserver dns.example\nnameserver\nnameservers 192.0.2.7\n\
            options ndots:2 timeout:1 attempts:3 edns0 rotate\n";
        assert_eq!(read(text), servers(&["192.0.2.1:53", "[2001:db8::1]:53", "[fe80::1]:53"], 1, 3));
    }

    #[test]
    fn what_holds_without_a_file() {
        let local = servers(&["127.0.0.1:53"], 5, 2);
        assert_eq!(Servers::of_file(Path::new("/absent/resolv.conf")), local);
        assert_eq!(read(""), local);
        assert_eq!(read("options timeout: attempts:x timeout\n"), local);
    }

    /// resolv.conf(5) caps them at 30 and 5; nobody is asked less than once.
    #[test]
    fn patience_has_bounds() {
        let bounded = |timeout, attempts| servers(&["127.0.0.1:53"], timeout, attempts);
        assert_eq!(read("options timeout:31 attempts:6"), bounded(30, 5));
        assert_eq!(read("options timeout:0 attempts:0"), bounded(1, 1));
        assert_eq!(read("options attempts:4\noptions attempts:1"), bounded(5, 1));
    }
}
