//! What kind of place an address is: public, or special in a named way.
//!
//! Pure tables and arithmetic; knows no names and no policy. What is in no table of public
//! addresses is special: a range that somebody gives a meaning tomorrow is closed today.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not public.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Special {
    /// Set apart for examples in texts.
    Documentation,
    /// Set apart for measuring networks.
    Benchmarking,
    /// Set apart for protocols, or for nothing yet.
    Reserved,
    /// Packets to it are thrown away.
    Discard,
    /// A segment of a provider's routing.
    SegmentRouting,
    /// An IPv4 address inside of IPv6, by a translator or tunnel whose other end nobody knows.
    Tunnel,
    /// This machine, by an address that only it can see.
    Loopback,
    /// This machine, by an address that others see too; no table knows it.
    Own,
    /// A private network (RFC 1918).
    Private,
    /// The network between a provider and its customers (RFC 6598).
    Shared,
    /// A private network of IPv6.
    UniqueLocal,
    /// A private network of IPv6, as it was once written.
    SiteLocal,
    /// The link that this machine is on.
    LinkLocal,
    /// Where a cloud hands out the credentials of a machine.
    Metadata,
    /// No address at all; systems take it for themselves.
    Unspecified,
    /// All machines of a group.
    Multicast,
    /// All machines of a network.
    Broadcast,
}

/// What a pattern must name for a special address to be connected to; strictest last.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Naming {
    /// The host or the address, each with its port.
    HostOrAddress,
    /// The address, with its port: whoever runs the name's zone must not choose it.
    Address,
    /// Nothing helps.
    Never,
}

/// A network, and what it is.
struct Net<A> {
    address: A,
    bits: u32,
    special: Special,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32, special: Special) -> Net<Ipv4Addr> {
    Net { address: Ipv4Addr::new(a, b, c, d), bits, special }
}

/// The first of two 64-bit halves is enough for most networks; the second is for single hosts.
const fn v6(high: u64, low: u64, bits: u32, special: Special) -> Net<Ipv6Addr> {
    let address = Ipv6Addr::from_bits(((high as u128) << 64) | low as u128);
    Net { address, bits, special }
}

/// The special networks of IPv4; what is in none is public. The first that holds decides.
const V4: [Net<Ipv4Addr>; 22] = [
    v4(0, 0, 0, 0, 8, Special::Unspecified),
    v4(255, 255, 255, 255, 32, Special::Broadcast),
    // Amazon, Google, Azure, and most others; then containers at Amazon, Oracle, Alibaba, Azure.
    v4(169, 254, 169, 254, 32, Special::Metadata),
    v4(169, 254, 170, 2, 32, Special::Metadata),
    v4(169, 254, 170, 23, 32, Special::Metadata),
    v4(192, 0, 0, 192, 32, Special::Metadata),
    v4(100, 100, 100, 200, 32, Special::Metadata),
    v4(168, 63, 129, 16, 32, Special::Metadata),
    v4(10, 0, 0, 0, 8, Special::Private),
    v4(100, 64, 0, 0, 10, Special::Shared),
    v4(127, 0, 0, 0, 8, Special::Loopback),
    v4(169, 254, 0, 0, 16, Special::LinkLocal),
    v4(172, 16, 0, 0, 12, Special::Private),
    v4(192, 0, 0, 0, 24, Special::Reserved),
    v4(192, 0, 2, 0, 24, Special::Documentation),
    v4(192, 88, 99, 0, 24, Special::Tunnel),
    v4(192, 168, 0, 0, 16, Special::Private),
    v4(198, 18, 0, 0, 15, Special::Benchmarking),
    v4(198, 51, 100, 0, 24, Special::Documentation),
    v4(203, 0, 113, 0, 24, Special::Documentation),
    v4(224, 0, 0, 0, 4, Special::Multicast),
    v4(240, 0, 0, 0, 4, Special::Reserved),
];

/// The special networks of IPv6. What is in none is public within [`V6_PUBLIC`], else reserved.
const V6: [Net<Ipv6Addr>; 19] = [
    v6(0, 0, 128, Special::Unspecified),
    v6(0, 1, 128, Special::Loopback),
    // Amazon (twice), Google, Scaleway.
    v6(0xfd00_0ec2_0000_0000, 0x254, 128, Special::Metadata),
    v6(0xfd00_0ec2_0000_0000, 0x23, 128, Special::Metadata),
    v6(0xfd20_00ce_0000_0000, 0x254, 128, Special::Metadata),
    v6(0xfd00_0042_0000_0000, 0x42, 128, Special::Metadata),
    v6(0x0064_ff9b_0001_0000, 0, 48, Special::Tunnel),
    v6(0x0100_0000_0000_0000, 0, 63, Special::Discard),
    v6(0x2001_0000_0000_0000, 0, 32, Special::Tunnel),
    v6(0x2001_0002_0000_0000, 0, 48, Special::Benchmarking),
    v6(0x2001_0000_0000_0000, 0, 23, Special::Reserved),
    v6(0x2001_0db8_0000_0000, 0, 32, Special::Documentation),
    v6(0x2002_0000_0000_0000, 0, 16, Special::Tunnel),
    v6(0x3fff_0000_0000_0000, 0, 20, Special::Documentation),
    v6(0x5f00_0000_0000_0000, 0, 16, Special::SegmentRouting),
    v6(0xfc00_0000_0000_0000, 0, 7, Special::UniqueLocal),
    v6(0xfe80_0000_0000_0000, 0, 10, Special::LinkLocal),
    v6(0xfec0_0000_0000_0000, 0, 10, Special::SiteLocal),
    v6(0xff00_0000_0000_0000, 0, 8, Special::Multicast),
];

/// What is given out for use in the internet: `2000::/3`, and the well-known translator, whose
/// addresses are judged by the IPv4 address in them.
const V6_PUBLIC: [Net<Ipv6Addr>; 2] = [
    v6(0x2000_0000_0000_0000, 0, 3, Special::Reserved),
    v6(0x0064_ff9b_0000_0000, 0, 96, Special::Reserved),
];

/// Returns why `address` is not public, or `None` if it is.
///
/// An IPv6 address that carries IPv4 addresses is judged by these too, and the strictest counts.
pub fn special(address: IpAddr) -> Option<Special> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => {
            let inner = embedded(address).into_iter().flatten().filter_map(special_v4);
            inner.chain(special_v6(address)).max_by_key(|special| (special.naming(), *special))
        }
    }
}

/// Returns the addresses that `address` may lead to: itself, and those inside of it.
pub(crate) fn carried(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = address.to_canonical();
    let inner = match address {
        IpAddr::V4(_) => [None; 3],
        IpAddr::V6(address) => embedded(address),
    };
    std::iter::once(address).chain(inner.into_iter().flatten().map(IpAddr::V4))
}

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    V4.iter().find(|net| net.contains(address)).map(|net| net.special)
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let in_table = V6.iter().find(|net| net.contains(address)).map(|net| net.special);
    let is_given_out = || V6_PUBLIC.iter().any(|net| net.contains(address));
    in_table.or_else(|| (!is_given_out()).then_some(Special::Reserved))
}

/// Returns the IPv4 addresses that translators and tunnels would read in `address`.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 3] {
    let bits = address.to_bits();
    let at = |shift: u32| {
        let [.., a, b, c, d] = (bits >> shift).to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    let last = at(0);
    let [s0, s1, s2, s3, s4, s5, ..] = address.segments();
    let by_network = match [s0, s1, s2, s3, s4, s5] {
        [0x2002, ..] => [Some(at(80)), None],
        // Teredo: the server, and the client with every bit turned.
        [0x2001, 0, ..] => [Some(at(64)), Some(Ipv4Addr::from_bits(!last.to_bits()))],
        // A translator of one's own: at the end, or around the byte that RFC 6052 leaves empty.
        [0x64, 0xff9b, 1, high, ..] if last.is_unspecified() => {
            let [.., low_a, low_b] = (bits >> 40).to_be_bytes();
            let [high_a, high_b] = high.to_be_bytes();
            [Some(Ipv4Addr::new(high_a, high_b, low_a, low_b)), None]
        }
        // The same, the well-known translator (RFC 6052), IPv4-translated (RFC 2765), and
        // IPv4-compatible, of which `::` and `::1` are none.
        [0x64, 0xff9b, 1, ..] | [0x64, 0xff9b, 0, 0, 0, 0] | [0, 0, 0, 0, 0 | 0xffff, 0]
            if 1 < bits =>
        {
            [Some(last), None]
        }
        _ => [None, None],
    };
    // ISATAP, in whatever network.
    let by_interface = matches!([s4, s5], [0 | 0x200, 0x5efe]).then_some(last);
    let [first, second] = by_network;
    [first, second, by_interface]
}

impl Net<Ipv4Addr> {
    fn contains(&self, address: Ipv4Addr) -> bool {
        let differing = self.address.to_bits() ^ address.to_bits();
        differing.leading_zeros() >= self.bits
    }
}

impl Net<Ipv6Addr> {
    fn contains(&self, address: Ipv6Addr) -> bool {
        let differing = self.address.to_bits() ^ address.to_bits();
        differing.leading_zeros() >= self.bits
    }
}

// === impl Special ===

impl Special {
    pub(crate) fn naming(self) -> Naming {
        match self {
            Self::Documentation
            | Self::Benchmarking
            | Self::Reserved
            | Self::Discard
            | Self::SegmentRouting
            | Self::Tunnel
            | Self::Loopback
            | Self::Own
            | Self::Private
            | Self::Shared
            | Self::UniqueLocal
            | Self::SiteLocal => Naming::HostOrAddress,
            Self::LinkLocal | Self::Metadata => Naming::Address,
            Self::Unspecified | Self::Multicast | Self::Broadcast => Naming::Never,
        }
    }

    /// Returns the words that stand before "address" in texts for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Reserved => "reserved",
            Self::Discard => "discard-only",
            Self::SegmentRouting => "segment-routing",
            Self::Tunnel => "tunnelled",
            Self::Loopback => "loopback",
            Self::Own => "local (this machine's own)",
            Self::Private => "private",
            Self::Shared => "shared (carrier-grade NAT)",
            Self::UniqueLocal => "unique-local",
            Self::SiteLocal => "site-local",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
        }
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(special_as: Option<Special>, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(special(address.parse().unwrap()), special_as, "{address}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        check(
            None,
            &[
                "1.1.1.1",
                "8.8.8.8",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "::ffff:8.8.8.8",
                "64:ff9b::8.8.8.8",
                "2606:4700:4700::1111",
                "2001:4860:4860::8888",
                "2001:200::1",
                "3ffe::1",
            ],
        );
    }

    #[test]
    fn special_addresses_have_a_kind() {
        check(Some(Special::Unspecified), &["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"]);
        check(
            Some(Special::Loopback),
            &["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"],
        );
        check(
            Some(Special::Private),
            &["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
        );
        check(Some(Special::Shared), &["100.64.0.1", "100.127.255.255"]);
        check(Some(Special::LinkLocal), &["169.254.0.1", "fe80::1", "febf::1"]);
        check(
            Some(Special::Metadata),
            &[
                "169.254.169.254",
                "169.254.170.2",
                "100.100.100.200",
                "168.63.129.16",
                "192.0.0.192",
                "fd00:ec2::254",
                "fd20:ce::254",
                "::ffff:169.254.169.254",
            ],
        );
        check(Some(Special::UniqueLocal), &["fc00::1", "fdff::1", "fd00:ec2::255"]);
        check(Some(Special::SiteLocal), &["fec0::1", "feff::1"]);
        check(Some(Special::Multicast), &["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"]);
        check(Some(Special::Broadcast), &["255.255.255.255"]);
        check(Some(Special::Reserved), &["240.0.0.1", "255.255.255.254", "192.0.0.1"]);
        check(
            Some(Special::Documentation),
            &["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff:fff::1"],
        );
        check(Some(Special::Benchmarking), &["198.18.0.1", "198.19.255.255", "2001:2::1"]);
        check(Some(Special::Discard), &["100::1", "100:0:0:1::1"]);
        check(Some(Special::SegmentRouting), &["5f00::1"]);
        // Nothing of this has been given out.
        check(
            Some(Special::Reserved),
            &["200::1", "400::1", "1fff::1", "4000::1", "e000::1", "fe00::1", "100:0:0:2::1"],
        );
        check(Some(Special::Reserved), &["2001:1::1", "2001:20::1", "2001:1ff::1"]);
    }

    #[test]
    fn an_address_inside_an_address_is_judged_too() {
        // Compatible, translated, by translators, 6to4, Teredo (server, client), ISATAP.
        check(
            Some(Special::Metadata),
            &[
                "::169.254.169.254",
                "::ffff:0:169.254.169.254",
                "64:ff9b::169.254.169.254",
                "64:ff9b:1::169.254.169.254",
                "64:ff9b:1:a9fe:a9:fe00::",
                "2002:a9fe:a9fe::1",
                "2001:0:a9fe:a9fe::1",
                "2001:0:808:808::5601:5601",
                "2606:4700::5efe:169.254.169.254",
                "2606:4700::200:5efe:169.254.169.254",
                "2002:808:808::5efe:169.254.169.254",
            ],
        );
        check(Some(Special::Private), &["64:ff9b::10.0.0.1", "2002:0a00:0001::1"]);
        check(Some(Special::Loopback), &["64:ff9b::127.0.0.1", "2606:4700::5efe:127.0.0.1"]);
        check(Some(Special::Multicast), &["2002:e000:0001::1", "64:ff9b::224.0.0.1"]);
        // The tunnel itself is not public, whatever is in it.
        check(Some(Special::Tunnel), &["2002:0808:0808::1", "64:ff9b:1::8.8.8.8"]);
        check(Some(Special::Reserved), &["::8.8.8.8", "::ffff:0:8.8.8.8"]);
    }

    proptest! {
        /// However IPv4 is written as IPv6, it is never more public than it is.
        #[test]
        fn no_spelling_makes_an_address_public(bits: u32) {
            let inner = Ipv4Addr::from_bits(bits);
            let plain = special(inner.into()).map(Special::naming);
            let low = u128::from(bits);
            for outer in [
                low | 0xffff << 32,
                // `::1` is itself, and not 0.0.0.1.
                if bits == 1 { 0 } else { low },
                low | 0x0064_ff9b << 96,
                low | 0x0064_ff9b_0001 << 80,
                0x2002 << 112 | low << 80,
                0x2001 << 112 | low << 64,
                0x2001 << 112 | u128::from(!bits),
                0x2606_4700 << 96 | 0x5efe << 32 | low,
            ] {
                let outer = Ipv6Addr::from_bits(outer);
                prop_assert!(plain <= special(outer.into()).map(Special::naming), "{inner} as {outer}");
            }
        }
    }
}
