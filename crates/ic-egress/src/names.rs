//! The addresses that stand for names inside one cage.
//!
//! They lie in a part of loopback that nothing else uses. An address is given to a name once, and
//! means that name for the life of the cage.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use ic_types::host::DnsName;

/// How many names one cage may ask for.
pub(crate) const NAMES_MAX: usize = 4096;

/// `127.64.0.0/10`, in bits.
const BASE: u32 = Ipv4Addr::new(127, 64, 0, 0).to_bits();
const PREFIX_BITS: u32 = 10;

/// Which address stands for which name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    // INVARIANT: the name at index n has the address `BASE + 1 + n`, in both.
    by_name: HashMap<DnsName, Ipv4Addr>,
    in_order: Vec<DnsName>,
}

impl Names {
    /// Returns the address that stands for `name`, a new one if need be; `None` if there are too many.
    pub(crate) fn address_of(&mut self, name: &DnsName) -> Option<Ipv4Addr> {
        if let Some(address) = self.by_name.get(name) {
            return Some(*address);
        }
        if NAMES_MAX <= self.in_order.len() {
            return None;
        }
        let index = u32::try_from(self.in_order.len()).ok()?;
        let address = Ipv4Addr::from_bits(BASE + 1 + index);
        self.by_name.insert(name.clone(), address);
        self.in_order.push(name.clone());
        Some(address)
    }

    /// Returns the name that `address` stands for.
    pub(crate) fn name_of(&self, address: Ipv4Addr) -> Option<&DnsName> {
        let index = address.to_bits().checked_sub(BASE + 1)?;
        self.in_order.get(usize::try_from(index).ok()?)
    }
}

/// Returns whether `address` can only stand for a name.
pub(crate) fn is_synthetic(address: Ipv4Addr) -> bool {
    (address.to_bits() ^ BASE).leading_zeros() >= PREFIX_BITS
}

#[cfg(test)]
mod tests {
    use ic_types::Host;

    use super::*;

    fn name(text: &str) -> DnsName {
        match text.parse().unwrap() {
            Host::Name(name) => name,
            Host::V4(_) | Host::V6(_) => panic!("{text} is an address"),
        }
    }

    #[test]
    fn a_name_keeps_its_address() {
        let mut names = Names::default();
        let a = names.address_of(&name("a.example")).unwrap();
        let b = names.address_of(&name("b.example")).unwrap();
        assert_eq!([a, b], [Ipv4Addr::new(127, 64, 0, 1), Ipv4Addr::new(127, 64, 0, 2)]);
        assert_eq!(names.address_of(&name("A.Example.")), Some(a));
        assert_eq!(names.name_of(b), Some(&name("b.example")));
        for nobody in [[127, 64, 0, 0], [127, 64, 0, 3], [127, 0, 0, 1], [127, 63, 0, 1], [0; 4]] {
            assert_eq!(names.name_of(nobody.into()), None);
        }
    }

    #[test]
    fn names_come_to_an_end_and_the_old_ones_stay() {
        let mut names = Names::default();
        for n in 0..NAMES_MAX {
            let given = names.address_of(&name(&format!("n{n}.example"))).unwrap();
            assert!(is_synthetic(given), "{given}");
        }
        assert_eq!(names.address_of(&name("one-more.example")), None);
        assert_eq!(names.address_of(&name("n0.example")), Some(Ipv4Addr::new(127, 64, 0, 1)));
    }

    #[test]
    fn the_synthetic_part_of_loopback_has_edges() {
        for (address, expected) in [
            ([127, 64, 0, 0], true),
            ([127, 127, 255, 255], true),
            ([127, 63, 255, 255], false),
            ([127, 128, 0, 0], false),
            ([127, 0, 0, 1], false),
        ] {
            assert_eq!(is_synthetic(address.into()), expected, "{address:?}");
        }
    }
}
