//! A new token from the host that gives them out.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::Method;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use ic_types::{Json, JsonLimits, Object, Secret};
use zeroize::Zeroizing;

use super::LoginError;
use super::tokens::Tokens;
use crate::key::{RealKey, shown_text};
use crate::provider::login::LoginRules;
use crate::upstream::{Draft, Upstream};

/// The longest answer.
const BYTES_MAX: usize = 256 << 10;
/// How long it may take.
const WAIT: Duration = Duration::from_secs(30);

/// What came back.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) access: RealKey,
    pub(super) refresh: Option<Secret<String>>,
    pub(super) lasts: Option<Duration>,
    /// Further members that are kept in the file.
    pub(super) kept: Vec<(&'static str, Secret<String>)>,
}

/// Asks for a new token.
pub(super) async fn ask(
    upstream: &Arc<Upstream>,
    rules: &LoginRules,
    tokens: &Tokens,
) -> Result<Renewal, LoginError> {
    let Some(refresh) = &tokens.refresh else { return Err(LoginError::Refused(0)) };
    let mut body = Object::new();
    body.insert("grant_type", "refresh_token");
    body.insert("refresh_token", shown_text(refresh));
    body.insert("client_id", rules.client_id);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let draft = Draft {
        method: Method::POST,
        path: rules.token_path.to_owned(),
        headers,
        body: Json::Object(body).to_string().into_bytes().into(),
    };
    let exchange = async {
        let answer = upstream.send(&draft).await?;
        let (parts, body) = answer.response.into_parts();
        let body = Limited::new(body, BYTES_MAX).collect().await;
        let body = body.map_err(|_| "the answer breaks off".to_owned())?;
        Ok::<_, String>((parts.status, Zeroizing::new(body.to_bytes().to_vec())))
    };
    let answered = tokio::time::timeout(WAIT, exchange).await;
    let answered = answered.unwrap_or_else(|_| Err("no answer came".to_owned()));
    let (status, body) = answered.map_err(LoginError::Unreachable)?;
    match status.as_u16() {
        200 => read(rules, &body),
        // The token is not good any more: this is an answer, and another try would get the same.
        400..=499 => Err(LoginError::Refused(status.as_u16())),
        status => Err(LoginError::Unreachable(format!("HTTP {status}"))),
    }
}

fn read(rules: &LoginRules, body: &[u8]) -> Result<Renewal, LoginError> {
    let strange = || LoginError::Unreachable("the answer cannot be understood".to_owned());
    let Ok(Json::Object(answer)) = Json::parse(body, JsonLimits::CALL) else {
        return Err(strange());
    };
    let text = |name: &str| answer.get(name).and_then(Json::as_str).map(ToOwned::to_owned);
    let access = text("access_token").filter(|it| !it.is_empty()).ok_or_else(strange)?;
    let lasts = match answer.get("expires_in") {
        Some(Json::Number(seconds)) => seconds.as_str().parse().ok().map(Duration::from_secs),
        _ => None,
    };
    let kept = rules.reply.kept.iter().filter_map(|it| Some((*it, Secret::new(text(it)?))));
    Ok(Renewal {
        access: RealKey::new(Arc::new(Secret::new(access))),
        refresh: text("refresh_token").map(Secret::new),
        lasts,
        kept: kept.collect(),
    })
}
