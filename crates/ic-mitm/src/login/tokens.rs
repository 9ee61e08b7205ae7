//! The file in which an agent keeps its login: what it holds, and how it is written back.
//!
//! Everything in it that is not about the tokens stays as it is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ic_home::file;
use ic_types::{Json, JsonLimits, Object, Secret, Timestamp};
use zeroize::Zeroizing;

use super::LoginError;
use super::renewal::Renewal;
use crate::key::{RealKey, shown_text};
use crate::provider::login::LoginRules;

/// The longest file.
const BYTES_MAX: u64 = 1 << 20;

/// What a file holds.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    /// What requests carry.
    pub(super) access: RealKey,
    /// What a new one is got with.
    pub(super) refresh: Option<Arc<Secret<String>>>,
    /// When the first expires, if that is known.
    pub(super) expires: Option<Timestamp>,
    /// The account.
    pub(super) account: Option<String>,
}

/// Reads a file.
pub(super) fn read(rules: &LoginRules, path: &Path) -> Result<Tokens, LoginError> {
    let mut whole = parse(path)?;
    let unknown = || LoginError::Unknown(path.to_owned());
    let shape = &rules.file;
    let found = at(&mut whole, shape.at).ok_or_else(unknown)?;
    let text = |name: &str| found.get(name).and_then(Json::as_str).map(ToOwned::to_owned);
    let access = text(shape.access).filter(|it| !it.is_empty()).ok_or_else(unknown)?;
    let expires = match shape.expires_ms {
        Some(name) => number(found.get(name)),
        None => expiry(&access).map(|seconds| seconds.saturating_mul(1000)),
    };
    Ok(Tokens {
        access: RealKey::new(Arc::new(Secret::new(access))),
        refresh: text(shape.refresh).map(|it| Arc::new(Secret::new(it))),
        expires: expires.map(Timestamp::from_unix_ms),
        account: shape.account.and_then(|(name, _)| text(name)),
    })
}

/// Writes what was renewed into a file that still holds what it was renewed from.
pub(super) fn write(
    rules: &LoginRules,
    path: &Path,
    tokens: &Tokens,
    renewal: &Renewal,
    now: Timestamp,
) -> Result<(), LoginError> {
    let mut whole = parse(path)?;
    let shape = &rules.file;
    let found = at(&mut whole, shape.at).ok_or_else(|| LoginError::Unknown(path.to_owned()))?;
    found.insert(shape.access, tokens.access.shown().as_str());
    if let Some(refresh) = &tokens.refresh {
        found.insert(shape.refresh, shown_text(refresh));
    }
    for (name, value) in &renewal.kept {
        found.insert(*name, shown_text(value));
    }
    if let (Some(name), Some(expires)) = (shape.expires_ms, tokens.expires) {
        found.insert(name, expires.unix_ms());
    }
    if let Some(name) = shape.refreshed {
        whole.insert(name, now.to_string());
    }
    let text = Zeroizing::new(Json::Object(whole).to_string());
    Ok(file::replace_keeping_mode(path, text.as_bytes())?)
}

impl Tokens {
    /// Returns whether the token is good for a while; one whose end nobody knows is.
    pub(super) fn is_fresh(&self, now: Timestamp, margin: Duration) -> bool {
        let soon = now.unix_ms().saturating_add(u64::try_from(margin.as_millis()).unwrap_or(0));
        self.expires.is_none_or(|expires| soon < expires.unix_ms())
    }

    /// Returns whether both hold the same login.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let refresh = |tokens: &Self| tokens.refresh.as_deref().map(|it| shown_text(it).to_owned());
        self.access.is(&other.access) && refresh(self) == refresh(other)
    }

    /// Returns what a renewal makes of these.
    pub(super) fn renewed(&self, renewal: &Renewal, now: Timestamp) -> Self {
        let after = |lasts: Duration| {
            let lasts = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
            Timestamp::from_unix_ms(now.unix_ms().saturating_add(lasts))
        };
        let own = || expiry(&renewal.access.shown()).map(|it| it.saturating_mul(1000));
        let refresh = renewal.refresh.as_ref().map(|it| Secret::new(shown_text(it).to_owned()));
        Self {
            access: renewal.access.clone(),
            // Some hosts give out a new one each time, others never.
            refresh: refresh.map(Arc::new).or_else(|| self.refresh.clone()),
            expires: renewal.lasts.map(after).or_else(|| own().map(Timestamp::from_unix_ms)),
            account: self.account.clone(),
        }
    }
}

fn parse(path: &Path) -> Result<Object, LoginError> {
    let missing = || LoginError::Missing(path.to_owned());
    let bytes = Zeroizing::new(file::read(path, BYTES_MAX)?.ok_or_else(missing)?);
    match Json::parse(&bytes, JsonLimits::CALL) {
        Ok(Json::Object(whole)) => Ok(whole),
        Ok(_) | Err(_) => Err(LoginError::Unknown(path.to_owned())),
    }
}

fn at<'a>(whole: &'a mut Object, path: &[&str]) -> Option<&'a mut Object> {
    let mut found = whole;
    for name in path {
        found = match found.get_mut(name) {
            Some(Json::Object(inner)) => inner,
            _ => return None,
        };
    }
    Some(found)
}

fn number(json: Option<&Json>) -> Option<u64> {
    match json {
        Some(Json::Number(number)) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// Returns when a token says that it expires, in seconds since 1970; whether that is true is the
/// provider's business.
fn expiry(token: &str) -> Option<u64> {
    let payload = token.split('.').nth(1)?;
    let payload = Zeroizing::new(URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?);
    match Json::parse(&payload, JsonLimits::CALL) {
        Ok(Json::Object(claims)) => number(claims.get("exp")),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_when_it_expires() {
        let claims = URL_SAFE_NO_PAD.encode(br#"{"exp":1795000000,"sub":"x"}"#);
        assert_eq!(expiry(&format!("h.{claims}.s")), Some(1_795_000_000));
        for token in ["", "a", "a.b", "a.!!.c", "sk-ant-oat01-x", "h.e30.s"] {
            assert_eq!(expiry(token), None, "{token}");
        }
    }
}
