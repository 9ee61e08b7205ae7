//! Reads numbers and counted bytes off the front of a slice, and never past its end.
//!
//! Knows no protocol; what runs out is `None`, and the caller knows what that means.

/// The part of a message that is still to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.u8()?, self.u8()?]))
    }

    /// Reads a number of three bytes, as TLS counts the bytes of a message.
    pub(crate) fn u24(&mut self) -> Option<usize> {
        let [a, b, c] = [self.u8()?, self.u8()?, self.u8()?].map(usize::from);
        Some(a << 16 | b << 8 | c)
    }

    /// Reads bytes that a byte before them counts.
    pub(crate) fn counted_u8(&mut self) -> Option<Self> {
        let n = self.u8()?;
        self.take(n.into()).map(Self)
    }

    /// Reads bytes that two bytes before them count.
    pub(crate) fn counted_u16(&mut self) -> Option<Self> {
        let n = self.u16()?;
        self.take(n.into()).map(Self)
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}
