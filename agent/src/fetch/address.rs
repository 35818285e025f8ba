//! What an address is: public, or of which kind of network that nobody outside should be led into.
//!
//! Apart because it is a table and nothing else: it knows no URL, no rule and no socket. An IPv6 address that carries an
//! IPv4 one is what that one is; the ways of carrying that are out of use are no way at all.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressKind {
    /// Anybody may ask it.
    Public,
    /// This machine.
    Loopback,
    /// A network of one's own.
    Private,
    /// The same cable.
    LinkLocal,
    /// The inside of a provider's address translation.
    Shared,
    /// Where clouds tell machines their credentials.
    Metadata,
    /// No address at all.
    Unspecified,
    /// Several at once.
    Multicast,
    /// For documentation, tests, or nothing yet.
    Reserved,
}

impl AddressKind {
    /// Whether it is of a network that may be allowed as a whole.
    pub(crate) fn is_inside(self) -> bool {
        matches!(
            self,
            AddressKind::Loopback | AddressKind::Private | AddressKind::LinkLocal | AddressKind::Shared
        )
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressKind::Public => "a public address",
            AddressKind::Loopback => "an address of this machine",
            AddressKind::Private => "a private address",
            AddressKind::LinkLocal => "a link-local address",
            AddressKind::Shared => "an address behind a provider's translation",
            AddressKind::Metadata => "an address where clouds tell credentials",
            AddressKind::Unspecified => "an unspecified address",
            AddressKind::Multicast => "a multicast address",
            AddressKind::Reserved => "a reserved address",
        })
    }
}

/// What the address is.
pub(crate) fn kind(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        [169, 254, 169, 253 | 254] | [169, 254, 170, 2 | 23] | [100, 100, 100, 200] | [192, 0, 0, 192] => {
            AddressKind::Metadata
        }
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [169, 254, ..] => AddressKind::LinkLocal,
        [100, 64..=127, ..] => AddressKind::Shared,
        [224..=239, ..] => AddressKind::Multicast,
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => AddressKind::Reserved,
        [198, 51, 100, _] | [203, 0, 113, _] | [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    let parts = address.segments();
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // IPv4-mapped, and the prefix by which networks without IPv4 reach it.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => of_v4(last_32_bits(address)),
        [0x64, 0xff9b, 1, ..] => AddressKind::Private,
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => AddressKind::Metadata,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressKind::Private,
        // What IETF protocols have (Teredo too), documentation, 6to4.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2002, ..] => {
            AddressKind::Reserved
        }
        // ISATAP carries an address of the network behind it.
        [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, ..] => of_v4(last_32_bits(address)),
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

fn last_32_bits(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> AddressKind {
        kind(text.parse().unwrap())
    }

    #[test]
    fn each_network_is_known_by_its_first_and_last_address_and_not_by_its_neighbours() {
        for (kind, inside, outside) in [
            (AddressKind::Loopback, "127.0.0.0 127.255.255.255 ::1", "126.255.255.255 128.0.0.0"),
            (AddressKind::Private, "10.0.0.0 10.255.255.255", "9.255.255.255 11.0.0.0"),
            (AddressKind::Private, "172.16.0.0 172.31.255.255", "172.15.255.255 172.32.0.0"),
            (AddressKind::Private, "192.168.0.0 192.168.255.255", "192.167.255.255 192.169.0.0"),
            (AddressKind::Private, "fc00:: fdff:ffff::1 fec0::1 64:ff9b:1::a", "2600::1"),
            (AddressKind::LinkLocal, "169.254.0.0 169.254.255.255 fe80::1 febf::1", "169.253.255.255"),
            (AddressKind::Shared, "100.64.0.0 100.127.255.255", "100.63.255.255 100.128.0.0"),
            (AddressKind::Multicast, "224.0.0.1 239.255.255.255 ff02::1", "223.255.255.255"),
            (AddressKind::Unspecified, "0.0.0.0 0.1.2.3 ::", "1.0.0.0"),
            (
                AddressKind::Reserved,
                "192.0.2.1 198.51.100.1 203.0.113.9 198.18.0.1 198.19.255.255",
                "198.20.0.0",
            ),
            (AddressKind::Reserved, "192.88.99.1 240.0.0.1 255.255.255.255", "192.88.98.1"),
            (
                AddressKind::Reserved,
                "2001:db8::1 2001::1 2002:a00:1:: 3fff::1 100::1 ::7f00:1",
                "2001:4860::8888",
            ),
            (AddressKind::Metadata, "169.254.169.254 fd00:ec2::254 100.100.100.200", "93.184.215.14"),
        ] {
            for address in inside.split(' ') {
                assert_eq!(kind_of(address), kind, "{address}");
            }
            for address in outside.split(' ') {
                assert_eq!(kind_of(address), AddressKind::Public, "{address}");
            }
        }
    }

    #[test]
    fn what_carries_an_address_is_what_it_carries() {
        for prefix in ["::ffff:", "64:ff9b::", "2600:1:2:3:0:5efe:"] {
            assert_eq!(kind_of(&format!("{prefix}127.0.0.1")), AddressKind::Loopback, "{prefix}");
            assert_eq!(kind_of(&format!("{prefix}169.254.169.254")), AddressKind::Metadata, "{prefix}");
            assert_eq!(kind_of(&format!("{prefix}8.8.8.8")), AddressKind::Public, "{prefix}");
        }
    }
}
