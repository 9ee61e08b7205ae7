//! Our own keys, matched exactly: as they are, backwards, in hexadecimal, in base64, and as in a URL.
//!
//! Whoever knows a key can write it in yet another way; that is not found.
//! Keys spelled with escapes are found in the decoded text and need nothing here. What is kept is
//! wiped when dropped.

use std::sync::Arc;

use ic_types::Secret;

/// A key shorter than this would be found in ordinary words, and is not looked for.
const LEN_MIN: usize = 8;

/// How far a key can be broken by the end of a line: `\r\n`.
const N_BREAKS_MAX: usize = 2;

const ALPHABETS: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

/// How many bits of a key share a digit with what stands before it, at each of three alignments.
const BITS_SHARED: [u32; 3] = [0, 4, 2];

/// What to look for.
pub(super) struct OwnKeys(Vec<Secret<Vec<u8>>>);

impl OwnKeys {
    pub(super) fn new(keys: impl IntoIterator<Item = Arc<Secret<String>>>) -> Self {
        let mut needles = Vec::new();
        for key in keys {
            let key = key.expose().trim().as_bytes();
            if key.len() < LEN_MIN {
                continue;
            }
            needles.push(Secret::new(key.to_vec()));
            needles.extend(spellings(key).into_iter().map(Secret::new));
            for alphabet in ALPHABETS {
                for n_shared in BITS_SHARED {
                    needles.push(Secret::new(base64(key, n_shared, alphabet)));
                }
            }
        }
        Self(needles)
    }

    /// Returns whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of each needle, and how it begins.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = (usize, [u8; 3])> {
        let needles = self.0.iter().enumerate();
        needles.filter_map(|(number, needle)| Some((number, *needle.expose().first_chunk()?)))
    }

    /// Returns how long needle `number` is at the start of `text`, if it stands there.
    ///
    /// Line breaks are passed over: programs that encode base64 break it into lines.
    pub(super) fn len_at(&self, number: usize, text: &[u8]) -> Option<usize> {
        let mut wanted = self.0.get(number)?.expose().iter();
        let mut next = wanted.next();
        let mut n_breaks = 0;
        for (at, byte) in text.iter().enumerate() {
            match next {
                None => return Some(at),
                Some(expected) if expected == byte => {
                    next = wanted.next();
                    n_breaks = 0;
                }
                Some(_) if matches!(byte, b'\r' | b'\n') && n_breaks < N_BREAKS_MAX => {
                    n_breaks += 1;
                }
                Some(_) => return None,
            }
        }
        next.is_none().then_some(text.len())
    }
}

/// Writes `key` backwards, in hexadecimal, and as in a URL, in either case of the digits.
fn spellings(key: &[u8]) -> Vec<Vec<u8>> {
    const DIGITS: [&[u8; 16]; 2] = [b"0123456789abcdef", b"0123456789ABCDEF"];
    let mut all = vec![key.iter().rev().copied().collect()];
    for digits in DIGITS {
        let digit = |at: u8| digits.get(usize::from(at)).copied();
        let pair = |byte: u8| [byte >> 4, byte & 15].into_iter().filter_map(digit);
        let escaped = |byte: u8| std::iter::once(b'%').chain(pair(byte));
        all.push(key.iter().flat_map(|byte| pair(*byte)).collect());
        all.push(key.iter().flat_map(|byte| escaped(*byte)).collect());
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let mut in_url: Vec<u8> = Vec::with_capacity(key.len());
        for byte in key {
            match is_plain(*byte) {
                true => in_url.push(*byte),
                false => in_url.extend(escaped(*byte)),
            }
        }
        all.push(in_url);
    }
    all.retain(|spelling| spelling != key);
    all.sort();
    all.dedup();
    all
}

/// Writes the digits that `key` alone determines, wherever it stands in what is encoded.
fn base64(key: &[u8], n_shared: u32, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(key.len() * 4 / 3 + 2);
    let (mut bits, mut n_bits) = (0_u32, 0_u32);
    for (at, byte) in key.iter().enumerate() {
        bits = bits << 8 | u32::from(*byte);
        n_bits += if at == 0 { 8 - n_shared } else { 8 };
        bits &= (1 << n_bits) - 1;
        while 6 <= n_bits {
            n_bits -= 6;
            digits.extend(usize::try_from(bits >> n_bits & 63).ok().and_then(|i| alphabet.get(i)));
        }
    }
    digits
}
