//! The number of an object of git's.

use std::fmt;

/// The longest number: that of SHA-256.
const BYTES_MAX: usize = 32;

/// A number of 20 bytes, or of 32.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Id {
    bytes: [u8; BYTES_MAX],
    n_bytes: u8,
}

impl Id {
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut id = Self { bytes: [0; BYTES_MAX], n_bytes: u8::try_from(bytes.len()).ok()? };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        matches!(bytes.len(), 20 | BYTES_MAX).then_some(id)
    }

    pub(super) fn from_hex(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        if !matches!(text.len(), 40 | 64) {
            return None;
        }
        let mut id = Self { bytes: [0; BYTES_MAX], n_bytes: u8::try_from(text.len() / 2).ok()? };
        for (byte, pair) in id.bytes.iter_mut().zip(text.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = (digit(*high)? << 4) | digit(*low)?;
        }
        Some(id)
    }

    pub(super) fn n_bytes(self) -> usize {
        usize::from(self.n_bytes)
    }
}

/// Prints it in hexadecimal digits.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes.iter().take(self.n_bytes()).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
