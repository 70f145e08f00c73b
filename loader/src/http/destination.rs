//! Addresses that no request may reach, by whatever name: those that are not of the public
//! internet, those that carry another address inside, and those where clouds answer about the
//! machine itself.
//!
//! The registries behind the table are IANA's of special-purpose addresses (RFC 6890 and what has
//! been added to it).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// This machine.
    Loopback,
    /// A private network (RFC 1918).
    Private,
    /// One link.
    LinkLocal,
    /// Behind a carrier's NAT (RFC 6598).
    CarrierNat,
    /// A private network of IPv6 (RFC 4193).
    UniqueLocal,
    /// A group.
    Multicast,
    /// Examples in texts.
    Documentation,
    /// No address at all: `0.0.0.0/8`, `::`.
    Unspecified,
    /// An IPv4 address written as one of IPv6, or carried inside one: mapped, compatible, 6to4,
    /// Teredo, NAT64.
    Carried,
    /// Kept for something else.
    Reserved,
    /// A cloud's service for the machine itself.
    Metadata,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::CarrierNat => "an address behind a carrier's NAT",
            Self::UniqueLocal => "a unique-local address",
            Self::Multicast => "a multicast address",
            Self::Documentation => "an address for documentation",
            Self::Unspecified => "an unspecified address",
            Self::Carried => "an IPv4 address inside one of IPv6",
            Self::Reserved => "a reserved address",
            Self::Metadata => "an address of a cloud's metadata service",
        })
    }
}

/// A range of addresses: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    prefix: u32,
}

impl Network {
    const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u32) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    const fn v6(a: u16, b: u16, c: u16, prefix: u32) -> Self {
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), prefix }
    }

    /// Whether `address` is in it. An IPv4 address is in no network of IPv6.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let shift = 32 - self.prefix;
                u32::from(first).checked_shr(shift) == u32::from(address).checked_shr(shift)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let shift = 128 - self.prefix;
                u128::from(first).checked_shr(shift) == u128::from(address).checked_shr(shift)
            }
            _ => false,
        }
    }

    /// Whether the whole of `other` is in it.
    fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.first)
    }

    /// Whether an operator may allow it: all of it is loopback, private, link-local, carrier-grade
    /// NAT or unique-local.
    #[must_use]
    pub fn may_be_allowed(&self) -> bool {
        use Class::{CarrierNat, LinkLocal, Loopback, Private, UniqueLocal};
        RANGES.iter().any(|(range, class)| {
            matches!(class, Loopback | Private | LinkLocal | CarrierNat | UniqueLocal) && range.covers(self)
        })
    }
}

impl FromStr for Network {
    type Err = NotNetwork;

    fn from_str(text: &str) -> Result<Self, NotNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| NotNetwork::Text)?;
        let bits = if first.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= bits).ok_or(NotNetwork::Text)?
            }
            Some(_) => return Err(NotNetwork::Text),
        };
        let below = match first {
            IpAddr::V4(first) => u128::from(u32::from(first)) & !(u128::MAX << (32 - prefix)),
            IpAddr::V6(first) => u128::from(first) & !u128::MAX.checked_shl(128 - prefix).unwrap_or(0),
        };
        if below != 0 {
            return Err(NotNetwork::Inside);
        }
        Ok(Self { first, prefix })
    }
}

/// A text that is no range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNetwork {
    /// It is not `ADDRESS` or `ADDRESS/BITS`.
    #[error("is not an address or a network like `10.0.0.0/8`")]
    Text,
    /// It has bits below its prefix: `10.1.2.3/8`.
    #[error("names an address inside a network, not the network")]
    Inside,
}

/// The first range that holds an address tells its class. What the table does not hold of IPv4 is
/// public; of IPv6, only what is in `2000::/3`.
const RANGES: &[(Network, Class)] = &[
    // Where clouds answer about the machine, its keys included. Some lie in ranges that an
    // operator may allow, one is a public address.
    (Network::v4(169, 254, 169, 254, 32), Class::Metadata),
    (Network::v4(169, 254, 170, 2, 32), Class::Metadata),
    (Network::v4(169, 254, 170, 23, 32), Class::Metadata),
    (Network::v4(100, 100, 100, 200, 32), Class::Metadata),
    (Network::v4(168, 63, 129, 16, 32), Class::Metadata),
    (Network::v4(192, 0, 0, 192, 32), Class::Metadata),
    (METADATA_V6[0], Class::Metadata),
    (METADATA_V6[1], Class::Metadata),
    (METADATA_V6[2], Class::Metadata),
    (Network::v4(0, 0, 0, 0, 8), Class::Unspecified),
    (Network::v4(10, 0, 0, 0, 8), Class::Private),
    (Network::v4(100, 64, 0, 0, 10), Class::CarrierNat),
    (Network::v4(127, 0, 0, 0, 8), Class::Loopback),
    (Network::v4(169, 254, 0, 0, 16), Class::LinkLocal),
    (Network::v4(172, 16, 0, 0, 12), Class::Private),
    // Protocol assignments.
    (Network::v4(192, 0, 0, 0, 24), Class::Reserved),
    (Network::v4(192, 0, 2, 0, 24), Class::Documentation),
    // 6to4's relays.
    (Network::v4(192, 88, 99, 0, 24), Class::Reserved),
    (Network::v4(192, 168, 0, 0, 16), Class::Private),
    // Benchmarks.
    (Network::v4(198, 18, 0, 0, 15), Class::Reserved),
    (Network::v4(198, 51, 100, 0, 24), Class::Documentation),
    (Network::v4(203, 0, 113, 0, 24), Class::Documentation),
    (Network::v4(224, 0, 0, 0, 4), Class::Multicast),
    // The broadcast address with them.
    (Network::v4(240, 0, 0, 0, 4), Class::Reserved),
    (Network { first: IpAddr::V6(Ipv6Addr::UNSPECIFIED), prefix: 128 }, Class::Unspecified),
    (Network { first: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix: 128 }, Class::Loopback),
    // Compatible (`::a.b.c.d`), mapped (`::ffff:a.b.c.d`), translated (`::ffff:0:a.b.c.d`).
    (Network::v6(0, 0, 0, 64), Class::Carried),
    // NAT64, the well-known prefix and those of networks.
    (Network::v6(0x64, 0xff9b, 0, 32), Class::Carried),
    // Protocol assignments; of them Teredo carries IPv4.
    (Network::v6(0x2001, 0, 0, 32), Class::Carried),
    (Network::v6(0x2001, 0, 0, 23), Class::Reserved),
    (Network::v6(0x2001, 0xdb8, 0, 32), Class::Documentation),
    (Network::v6(0x2002, 0, 0, 16), Class::Carried),
    (Network::v6(0x3fff, 0, 0, 20), Class::Documentation),
    (Network::v6(0xfc00, 0, 0, 7), Class::UniqueLocal),
    (Network::v6(0xfe80, 0, 0, 10), Class::LinkLocal),
    // Site-local, before unique-local replaced it.
    (Network::v6(0xfec0, 0, 0, 10), Class::Private),
    (Network::v6(0xff00, 0, 0, 8), Class::Multicast),
];

const METADATA_V6: [Network; 3] = [
    Network { first: IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), prefix: 128 },
    Network { first: IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)), prefix: 128 },
    Network { first: IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), prefix: 128 },
];

const PUBLIC_V6: Network = Network::v6(0x2000, 0, 0, 3);

/// What `address` is, if no request may reach it.
#[must_use]
pub fn forbidden(address: IpAddr) -> Option<Class> {
    match RANGES.iter().find(|(range, _)| range.contains(address)) {
        Some((_, class)) => Some(*class),
        None if address.is_ipv4() || PUBLIC_V6.contains(address) => None,
        None => Some(Class::Reserved),
    }
}

/// What `address` is, if no request may reach it where the operator allows `networks`.
#[must_use]
pub fn forbidden_but(address: IpAddr, networks: &[Network]) -> Option<Class> {
    let class = forbidden(address)?;
    // A service of the machine's own stays out of reach, whatever network it is in.
    let allowed = class != Class::Metadata && networks.iter().any(|network| network.contains(address));
    (!allowed).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (address, class) in [
            ("1.1.1.1", None),
            ("8.8.8.8", None),
            ("9.255.255.255", None),
            ("11.0.0.0", None),
            ("100.63.255.255", None),
            ("100.128.0.0", None),
            ("126.255.255.255", None),
            ("128.0.0.0", None),
            ("169.253.255.255", None),
            ("169.255.0.0", None),
            ("172.15.255.255", None),
            ("172.32.0.0", None),
            ("192.0.1.0", None),
            ("192.0.3.0", None),
            ("192.167.255.255", None),
            ("192.169.0.0", None),
            ("198.17.255.255", None),
            ("198.20.0.0", None),
            ("223.255.255.255", None),
            ("0.0.0.0", Some(Class::Unspecified)),
            ("0.255.255.255", Some(Class::Unspecified)),
            ("10.0.0.0", Some(Class::Private)),
            ("10.255.255.255", Some(Class::Private)),
            ("100.64.0.0", Some(Class::CarrierNat)),
            ("100.127.255.255", Some(Class::CarrierNat)),
            ("100.100.100.200", Some(Class::Metadata)),
            ("127.0.0.1", Some(Class::Loopback)),
            ("127.255.255.255", Some(Class::Loopback)),
            ("168.63.129.16", Some(Class::Metadata)),
            ("169.254.0.0", Some(Class::LinkLocal)),
            ("169.254.169.254", Some(Class::Metadata)),
            ("169.254.170.2", Some(Class::Metadata)),
            ("172.16.0.0", Some(Class::Private)),
            ("172.31.255.255", Some(Class::Private)),
            ("192.0.0.8", Some(Class::Reserved)),
            ("192.0.0.192", Some(Class::Metadata)),
            ("192.0.2.1", Some(Class::Documentation)),
            ("192.88.99.1", Some(Class::Reserved)),
            ("192.168.0.0", Some(Class::Private)),
            ("192.168.255.255", Some(Class::Private)),
            ("198.18.0.0", Some(Class::Reserved)),
            ("198.19.255.255", Some(Class::Reserved)),
            ("198.51.100.1", Some(Class::Documentation)),
            ("203.0.113.255", Some(Class::Documentation)),
            ("224.0.0.1", Some(Class::Multicast)),
            ("239.255.255.255", Some(Class::Multicast)),
            ("240.0.0.0", Some(Class::Reserved)),
            ("255.255.255.255", Some(Class::Reserved)),
            ("2606:4700:4700::1111", None),
            ("2001:200::1", None),
            ("2a00::1", None),
            ("3ffe:ffff::1", None),
            ("::", Some(Class::Unspecified)),
            ("::1", Some(Class::Loopback)),
            ("::2", Some(Class::Carried)),
            ("::127.0.0.1", Some(Class::Carried)),
            ("::8.8.8.8", Some(Class::Carried)),
            ("::ffff:127.0.0.1", Some(Class::Carried)),
            ("::ffff:8.8.8.8", Some(Class::Carried)),
            ("::ffff:0:10.0.0.1", Some(Class::Carried)),
            ("64:ff9b::7f00:1", Some(Class::Carried)),
            ("64:ff9b:1::a00:1", Some(Class::Carried)),
            ("100::1", Some(Class::Reserved)),
            ("200::1", Some(Class::Reserved)),
            ("2001::1", Some(Class::Carried)),
            ("2001:2::1", Some(Class::Reserved)),
            ("2001:20::1", Some(Class::Reserved)),
            ("2001:db8::1", Some(Class::Documentation)),
            ("2002:7f00:1::", Some(Class::Carried)),
            ("3fff::1", Some(Class::Documentation)),
            ("3fff:fff::1", Some(Class::Documentation)),
            ("4000::1", Some(Class::Reserved)),
            ("5f00::1", Some(Class::Reserved)),
            ("fc00::1", Some(Class::UniqueLocal)),
            ("fd12:3456::1", Some(Class::UniqueLocal)),
            ("fd00:ec2::254", Some(Class::Metadata)),
            ("fe80::1", Some(Class::LinkLocal)),
            ("febf::1", Some(Class::LinkLocal)),
            ("fec0::1", Some(Class::Private)),
            ("ff02::1", Some(Class::Multicast)),
        ] {
            assert_eq!(forbidden(address.parse().unwrap()), class, "{address}");
        }
    }

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn networks_are_read_strictly() {
        for (text, wrong) in [
            ("", NotNetwork::Text),
            ("10", NotNetwork::Text),
            ("10.0.0.0/33", NotNetwork::Text),
            ("10.0.0.0/", NotNetwork::Text),
            ("10.0.0.0/+8", NotNetwork::Text),
            ("::1/129", NotNetwork::Text),
            ("localhost", NotNetwork::Text),
            ("10.0.0.1/8", NotNetwork::Inside),
            ("fd00::1/64", NotNetwork::Inside),
        ] {
            assert_eq!(text.parse::<Network>(), Err(wrong), "{text}");
        }
        assert!(network("0.0.0.0/0").contains("1.2.3.4".parse().unwrap()));
        assert!(network("::/0").contains("::1".parse().unwrap()));
        assert!(!network("::/0").contains("1.2.3.4".parse().unwrap()));
        assert!(network("127.0.0.1").contains("127.0.0.1".parse().unwrap()));
        assert!(!network("127.0.0.1").contains("127.0.0.2".parse().unwrap()));
    }

    #[test]
    fn what_an_operator_may_allow() {
        for allowed in ["127.0.0.1", "10.1.0.0/16", "192.168.0.0/16", "100.64.0.0/10", "::1", "fd00::/8"] {
            assert!(network(allowed).may_be_allowed(), "{allowed}");
        }
        for refused in
            ["0.0.0.0/0", "8.8.8.8", "10.0.0.0/7", "224.0.0.0/4", "::/0", "::ffff:0:0/96", "64:ff9b::/96"]
        {
            assert!(!network(refused).may_be_allowed(), "{refused}");
        }
    }

    #[test]
    fn an_allowed_network_is_no_way_to_the_machines_own_services() {
        let networks = [network("169.254.0.0/16"), network("127.0.0.0/8")];
        let class = |address: &str| forbidden_but(address.parse().unwrap(), &networks);
        assert_eq!(class("127.0.0.1"), None);
        assert_eq!(class("169.254.1.1"), None);
        assert_eq!(class("169.254.169.254"), Some(Class::Metadata));
        assert_eq!(class("10.0.0.1"), Some(Class::Private));
        assert_eq!(class("::ffff:127.0.0.1"), Some(Class::Carried));
    }
}
