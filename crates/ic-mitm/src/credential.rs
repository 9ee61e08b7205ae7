//! The one credential of a request: found, compared with the session's fake key, and taken out.
//!
//! The real key is not known here. Whatever looks like a second credential, wherever it stands, refuses
//! the request: data could leave to somebody else's account with it.

use std::io;

use hyper::header::{HeaderMap, HeaderName};
use ic_home::random;
use ic_types::Digest;

use crate::provider::{Place, Rules};
use crate::refusal::{Refusal, named};

/// What an agent is given instead of a key: worthless everywhere but at this session's gate.
#[derive(Clone, Eq, PartialEq)]
pub struct FakeKey(String);

/// The proof that a request carried the session's key, in its place and nowhere else.
///
/// Only [`admit`] makes one, and the real key is put into nothing else.
#[derive(Debug)]
#[must_use = "an admission that is dropped admits nothing"]
pub struct Admission(Place);

/// 192 bits.
const RANDOM_BYTES: usize = 24;

/// Parts of the names of headers that carry credentials.
const HEADER_PARTS: [&str; 9] = [
    "apikey",
    "api-key",
    "auth",
    "cookie",
    "credential",
    "password",
    "secret",
    "token",
    "signature",
];

/// Names that carry credentials in a query, in lower case and without `-` and `_`.
const QUERY_NAMES: [&str; 14] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "credential",
    "key",
    "oauthtoken",
    "secret",
    "signature",
    "token",
    "xapikey",
    "xgoogapikey",
];

impl FakeKey {
    /// Makes a key that nobody has had before, and that begins like those of the provider.
    pub fn generate(rules: &Rules) -> io::Result<Self> {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bytes = random::bytes::<RANDOM_BYTES>()?;
        let mut text = rules.key_prefix.to_owned();
        for three in bytes.chunks(3) {
            let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            let digits = [18, 12, 6, 0].map(|shift| bits >> shift & 63);
            text.extend(digits.iter().filter_map(|it| DIGITS.get(*it)).map(|it| char::from(*it)));
        }
        Ok(Self(text))
    }

    /// Returns the key, to be given to the agent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the texts differ.
    fn is(&self, other: &[u8]) -> bool {
        Digest::of(self.0.as_bytes()) == Digest::of(other)
    }
}

/// It is worth nothing elsewhere, but a log is no place for it.
impl std::fmt::Debug for FakeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FakeKey(..)")
    }
}

/// Checks that the request has the session's key in its place, and no other credential.
pub fn admit(
    rules: &Rules,
    fake: &FakeKey,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Admission, Refusal> {
    let is_place = |name: &str| rules.places.iter().any(|place| place.header() == name);
    for name in headers.keys().map(HeaderName::as_str) {
        if !is_place(name) && HEADER_PARTS.iter().any(|part| name.contains(part)) {
            return Err(Refusal::Credential(named(name)));
        }
    }
    if let Some(name) = query.and_then(credential_in) {
        return Err(Refusal::Credential(format!("the query, as `{}`", named(&name))));
    }
    let in_place = |place: &Place| {
        headers.get_all(place.header()).iter().map(|it| (*place, it)).collect::<Vec<_>>()
    };
    let mut found = rules.places.iter().flat_map(in_place);
    let (place, value) = match (found.next(), found.next()) {
        (Some(found), None) => found,
        (Some(_), Some((second, _))) => {
            return Err(Refusal::Credential(named(second.header())));
        }
        (None, _) => return Err(Refusal::WrongKey),
    };
    let key = match place {
        Place::Header(_) => Some(value.as_bytes()),
        Place::Bearer => bearer(value.as_bytes()),
    };
    match key {
        Some(key) if fake.is(key) => Ok(Admission(place)),
        Some(_) | None => Err(Refusal::WrongKey),
    }
}

impl Admission {
    /// Returns where the fake key was, and the real one goes.
    pub(crate) fn place(&self) -> Place {
        self.0
    }
}

/// Checks that a query does not change what the request means.
pub fn check_query(rules: &Rules, query: Option<&str>) -> Result<(), Refusal> {
    let refused = |name: &String| {
        let name = name.trim().to_ascii_lowercase();
        rules.query_refused.contains(&name.as_str())
    };
    match query.into_iter().flat_map(names).find(refused) {
        Some(name) => Err(Refusal::Query(named(&name))),
        None => Ok(()),
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(key)
}

/// Returns the name under which a query carries a credential, if it does.
fn credential_in(query: &str) -> Option<String> {
    names(query).find(|name| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|it| it.to_ascii_lowercase()).collect();
        QUERY_NAMES.contains(&plain.as_str())
    })
}

/// Returns the names in a query, decoded.
fn names(query: &str) -> impl Iterator<Item = String> {
    // SECURITY: some servers part a query at `;` as well.
    let parts = query.split(';').map(str::as_bytes);
    parts.flat_map(url::form_urlencoded::parse).map(|(name, _)| name.into_owned())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use ic_types::Provider;

    use super::*;
    use crate::provider::rules;

    fn headers(entries: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in entries {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[track_caller]
    fn check(provider: Provider, entries: &[(&str, &str)], query: Option<&str>, is_admitted: bool) {
        let fake = FakeKey("fake-key-1234".to_owned());
        let admitted = admit(rules(provider), &fake, &headers(entries), query);
        assert_eq!(admitted.is_ok(), is_admitted, "{entries:?} {query:?}");
    }

    #[test]
    fn the_fake_key_in_its_place_is_admitted() {
        let (anthropic, openai) = (Provider::Anthropic, Provider::OpenAi);
        check(anthropic, &[("x-api-key", "fake-key-1234")], None, true);
        check(anthropic, &[("x-api-key", "fake-key-1234")], Some("beta=true"), true);
        check(anthropic, &[("authorization", "Bearer fake-key-1234")], None, true);
        check(openai, &[("authorization", "Bearer fake-key-1234")], None, true);
        check(openai, &[("authorization", "bearer fake-key-1234")], None, true);
        check(Provider::Google, &[("x-goog-api-key", "fake-key-1234")], Some("alt=sse"), true);
    }

    #[test]
    fn any_other_or_additional_credential_is_refused() {
        let right = ("x-api-key", "fake-key-1234");
        let refused: &[&[(&str, &str)]] = &[
            &[],
            &[("x-api-key", "")],
            &[("x-api-key", "sk-ant-somebody-else")],
            &[("x-api-key", "fake-key-1234 ")],
            &[("x-api-key", "fake-key-123")],
            &[("x-api-key", "FAKE-KEY-1234")],
            &[right, right],
            &[right, ("x-api-key", "sk-ant-somebody-else")],
            &[right, ("authorization", "Bearer sk-ant-somebody-else")],
            &[right, ("authorization", "Bearer fake-key-1234")],
            &[("authorization", "Bearer fake-key-1234"), ("authorization", "Bearer x")],
            &[("authorization", "fake-key-1234")],
            &[right, ("cookie", "sessionKey=x")],
            &[right, ("proxy-authorization", "Basic x")],
            &[right, ("x-goog-api-key", "x")],
            &[right, ("api-key", "x")],
            &[right, ("x-amz-security-token", "x")],
            &[right, ("x-auth-token", "x")],
        ];
        for entries in refused {
            check(Provider::Anthropic, entries, None, false);
        }
        for value in [
            "fake-key-1234",
            "Basic fake-key-1234",
            "Bearer  fake-key-1234",
            "Bearerfake-key-1234",
            "Bearer x",
            "Bearer",
        ] {
            check(Provider::OpenAi, &[("authorization", value)], None, false);
            check(Provider::Anthropic, &[("authorization", value)], None, false);
        }
        for query in [
            "key=x",
            "KEY=x",
            "api_key=x",
            "api-key=x",
            "x-api-key=x",
            "access_token=x",
            "%6bey=x",
            "alt=sse&key=x",
            "oauth_token=x",
            "key",
            "x_goog_api_key=x",
            "alt=sse;key=x",
            "$key=x",
            "key[]=x",
        ] {
            check(Provider::Google, &[("x-goog-api-key", "fake-key-1234")], Some(query), false);
        }
    }

    #[test]
    fn a_query_does_not_replace_its_request() {
        let google = rules(Provider::Google);
        for query in [
            "$httpMethod=DELETE",
            "%24httpHeaders=x",
            "$req=%7B%7D",
            "alt=sse&$ct=x",
            "alt=sse;$req=x",
        ] {
            assert!(check_query(google, Some(query)).is_err(), "{query}");
        }
        assert!(check_query(google, Some("alt=sse&prettyPrint=false")).is_ok());
        assert!(check_query(google, None).is_ok());
    }

    #[test]
    fn fake_keys_begin_like_real_ones_and_differ() {
        for provider in Provider::ALL {
            let rules = rules(provider);
            let keys = [(); 50].map(|()| FakeKey::generate(rules).unwrap());
            for key in &keys {
                let rest = key.as_str().strip_prefix(rules.key_prefix).unwrap();
                assert_eq!(rest.len(), RANDOM_BYTES * 8 / 6);
                assert!(HeaderValue::from_str(key.as_str()).is_ok());
            }
            let mut texts: Vec<_> = keys.iter().map(FakeKey::as_str).collect();
            texts.sort_unstable();
            texts.dedup();
            assert_eq!(texts.len(), keys.len());
        }
        assert_eq!(format!("{:?}", FakeKey("x".to_owned())), "FakeKey(..)");
    }
}
