//! Numbers that only look random: the same seed gives the same ones.

/// A generator after `SplitMix64`; good enough for choosing, and for nothing that is secret.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        self.roll().checked_rem(end).and_then(|it| usize::try_from(it).ok()).unwrap_or(0)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.roll().to_le_bytes()[0]
    }

    /// Whether one of `n` equal chances came up.
    pub(crate) fn is_one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.below(of.len());
        of.get(at)
    }

    /// A range within `len`: mostly short, sometimes long.
    pub(crate) fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len);
        let longest = if self.is_one_in(4) { len } else { 12 };
        let n = 1 + self.below(longest);
        start..len.min(start.saturating_add(n))
    }
}
