//! The real key: on its way into the one header of a request, and out of everything that comes back.
//!
//! The one module of this crate that looks at a key. Its copies are wiped when they are dropped, but for
//! the header of the one request that it is sent with.

use std::path::PathBuf;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use ic_home::environment::ApiKey;
use ic_types::Secret;
use zeroize::Zeroizing;

use crate::credential::Admission;
use crate::provider::Place;

/// The key that a provider is paid with.
#[derive(Clone, Debug)]
pub struct RealKey(ApiKey);

/// A key that cannot stand in a header; what it is, is not said.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the key holds characters that no request can carry")]
pub struct UnusableKey;

/// A key shorter than this would be found in ordinary words, and is not looked for.
const LEN_MIN: usize = 8;

const ALPHABETS: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

impl RealKey {
    /// Takes charge of a key.
    pub fn new(key: ApiKey) -> Self {
        Self(key)
    }

    /// Puts the key into the headers of a request that was admitted, in place of the fake one.
    pub(crate) fn put(
        &self,
        admission: &Admission,
        headers: &mut HeaderMap,
    ) -> Result<(), UnusableKey> {
        let key = self.0.expose();
        let (name, text) = match admission.place() {
            Place::Header(name) => (HeaderName::from_static(name), Zeroizing::new(key.clone())),
            Place::Bearer => (AUTHORIZATION, Zeroizing::new(format!("Bearer {key}"))),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| UnusableKey)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// Returns whether this is the same key.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.expose() == other.0.expose()
    }

    /// Returns the spellings in which the key is masked: as it is, in a URL, in base64, in hexadecimal.
    pub(crate) fn spellings(&self) -> Vec<Secret<Vec<u8>>> {
        let key = self.0.expose().as_bytes();
        if key.len() < LEN_MIN {
            return Vec::new();
        }
        let mut all = vec![key.to_vec()];
        all.extend([in_url(key, b"0123456789ABCDEF"), in_url(key, b"0123456789abcdef")]);
        all.extend([in_json(key), hex(key, b"0123456789abcdef"), hex(key, b"0123456789ABCDEF")]);
        for alphabet in ALPHABETS {
            all.extend([0, 1, 2].map(|n_before| base64(key, n_before, alphabet)));
        }
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(Secret::new).collect()
    }
}

impl RealKey {
    /// Shows the key; for the module that keeps logins.
    pub(crate) fn shown(&self) -> Zeroizing<String> {
        Zeroizing::new(self.0.expose().clone())
    }

    /// Returns the path that stands here instead of a key, if it is one; no key begins like a path.
    pub fn as_path(&self) -> Option<PathBuf> {
        let text = self.0.expose();
        let is_path = text.starts_with('/') || text.starts_with("~/");
        is_path.then(|| PathBuf::from(text))
    }
}

/// Shows what is looked for; for the module that looks.
pub(crate) fn shown(needle: &Secret<Vec<u8>>) -> &[u8] {
    needle.expose()
}

/// Shows the credentials of a proxy, or a token that renews a login; for the modules that send them.
pub(crate) fn shown_text(credentials: &Secret<String>) -> &str {
    credentials.expose()
}

fn pair(byte: u8, digits: &[u8; 16]) -> impl Iterator<Item = u8> {
    [byte >> 4, byte & 15].into_iter().filter_map(|it| digits.get(usize::from(it)).copied())
}

fn hex(key: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    key.iter().flat_map(|byte| pair(*byte, digits)).collect()
}

fn in_url(key: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut text = Vec::with_capacity(key.len());
    for byte in key {
        match byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            true => text.push(*byte),
            false => text.extend(std::iter::once(b'%').chain(pair(*byte, digits))),
        }
    }
    text
}

fn in_json(key: &[u8]) -> Vec<u8> {
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' | b'/' => vec![b'\\', *byte],
        byte => vec![*byte],
    };
    key.iter().flat_map(escaped).collect()
}

/// Writes the digits that the key alone determines, behind `n_before` other bytes.
fn base64(key: &[u8], n_before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits = |at: usize| key.get(at / 8).map(|byte| usize::from(byte >> (7 - at % 8) & 1));
    // The first digit that has no bit of what stands before.
    let mut at = (6 - n_before * 8 % 6) % 6;
    let mut digits = Vec::with_capacity(key.len() * 4 / 3);
    while at + 6 <= key.len() * 8 {
        let digit = (at..at + 6).filter_map(bits).fold(0, |digit, bit| digit << 1 | bit);
        digits.extend(alphabet.get(digit));
        at += 6;
    }
    digits
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;

    pub(crate) fn key(text: &str) -> RealKey {
        RealKey::new(Arc::new(Secret::new(text.to_owned())))
    }

    #[test]
    fn spellings_are_those_that_programs_write() {
        let needles = key("sk-real/+12345").spellings();
        let has = |text: &str| needles.iter().any(|it| shown(it) == text.as_bytes());
        assert!(has("sk-real/+12345"));
        assert!(has("sk-real%2F%2B12345") && has("sk-real%2f%2b12345"));
        assert!(has("sk-real\\/+12345"));
        assert!(has("736b2d7265616c2f2b3132333435"));
        // `echo -n 'sk-real/+12345' | base64`, with none, one and two bytes before it.
        assert!(
            has("c2stcmVhbC8rMTIzND") && has("NrLXJlYWwvKzEyMzQ1") && has("zay1yZWFsLysxMjM0N")
        );
        assert!(key("short").spellings().is_empty());
    }

    #[test]
    fn a_path_is_told_from_a_token() {
        assert_eq!(key("~/.claude/x.json").as_path(), Some(PathBuf::from("~/.claude/x.json")));
        assert_eq!(key("/x/auth.json").as_path(), Some(PathBuf::from("/x/auth.json")));
        assert_eq!(key("sk-ant-oat01-a/b").as_path(), None);
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        let headers = &mut HeaderMap::new();
        let rules = crate::provider::rules(ic_types::Provider::Anthropic);
        let fake = crate::credential::FakeKey::generate(rules).unwrap();
        let mut sent = HeaderMap::new();
        sent.insert("x-api-key", HeaderValue::from_str(fake.as_str()).unwrap());
        let admission = crate::credential::admit(rules, &fake, &sent, None).unwrap();
        assert_eq!(key("a\nb").put(&admission, headers), Err(UnusableKey));
        key("sk-real").put(&admission, headers).unwrap();
        assert_eq!(headers["x-api-key"], "sk-real");
        assert!(!headers.contains_key("authorization"), "it is in the place of the fake one alone");
        assert!(!format!("{headers:?}").contains("sk-real"));
    }
}
