//! One request: judged, written anew, sent with the real key, and its answer passed on.
//!
//! ```text
//! head ─▶ Route, Admission ─▶ body ─▶ CheckedBody ─▶ recorded ─▶ key put in ─▶ sent ─▶ Relay
//!   └──────────── or a Refusal: body read to its end, recorded, answered ────┘
//! ```

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode, Uri};
use ic_types::Digest;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::body::{self, CheckedBody, Expected};
use crate::credential::{self, Admission};
use crate::gate::Gate;
use crate::headers;
use crate::ledger::{Asked, Refused};
use crate::limits;
use crate::login::Paid;
use crate::mask::Mask;
use crate::meter::Meter;
use crate::path::Route;
use crate::provider::Purpose;
use crate::refusal::{Refusal, named, told};
use crate::relay::{Open, Relay, Reply};
use crate::upstream::{Answer, Draft};

/// The connection that a request came on.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The host that was connected to.
    pub(crate) host: Arc<str>,
    /// Whether the TLS handshake was for the same host.
    pub(crate) is_same_host: bool,
}

/// A request whose head was judged.
struct Judged {
    route: Route,
    admission: Admission,
    query: Option<String>,
    headers: HeaderMap,
    permit: OwnedSemaphorePermit,
}

/// Serves one request.
pub(crate) async fn serve(
    gate: Arc<Gate>,
    line: Line,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let judged = judge(&gate, &line, parts);
    let answered = match judged {
        Ok(judged) => go_on(&gate, &line, judged, body).await,
        Err(why) => {
            drain(body).await;
            Err(why)
        }
    };
    Ok(answered.unwrap_or_else(|why| gate.refuse(&method, &line.host, &path, &why)))
}

/// Judges the head of a request.
fn judge(gate: &Gate, line: &Line, parts: hyper::http::request::Parts) -> Result<Judged, Refusal> {
    if !line.is_same_host {
        return Err(Refusal::Sni);
    }
    check_authority(line, &parts.uri, &parts.headers)?;
    if parts.headers.contains_key(header::UPGRADE) {
        return Err(Refusal::Upgrade);
    }
    let rules = gate.rules();
    let route = Route::find(rules, &parts.method, parts.uri.path())?;
    let query = parts.uri.query();
    let admission = credential::admit(rules, gate.fake(), &parts.headers, query)?;
    credential::check_query(rules, query)?;
    check_encoding(&parts.headers, &route)?;
    let permit = gate.request_permit()?;
    let query = query.map(ToOwned::to_owned);
    Ok(Judged { route, admission, query, headers: parts.headers, permit })
}

/// Returns what is asked of the provider.
fn target(route: &Route, query: Option<&str>) -> String {
    match query {
        Some(query) => format!("{}?{query}", route.path.as_str()),
        None => route.path.as_str().to_owned(),
    }
}

/// Returns what the head of a request becomes, without the key.
#[cfg(test)]
pub(crate) fn head(
    gate: &Gate,
    line: &Line,
    parts: hyper::http::request::Parts,
) -> Result<(String, HeaderMap), Refusal> {
    let Judged { route, query, headers, .. } = judge(gate, line, parts)?;
    let headers = headers::outgoing(gate.rules(), &headers, gate.named(), &|_| {});
    Ok((target(&route, query.as_deref()), headers))
}

/// Checks that the request is for the host that was connected to, whichever way it says so.
pub(crate) fn check_authority(line: &Line, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_host = |text: &str| {
        let host = text.strip_suffix(":443").unwrap_or(text);
        host.eq_ignore_ascii_case(&line.host)
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let first = first.map(|it| it.to_str().unwrap_or_default());
    let authority = uri.authority().map(Authority::as_str);
    let all = first.into_iter().chain(authority).all(is_host);
    let is_secure = uri.scheme_str().is_none_or(|it| it == "https");
    match all && is_secure && second.is_none() && (first.is_some() || authority.is_some()) {
        true => Ok(()),
        false => Err(Refusal::Authority),
    }
}

fn check_encoding(headers: &HeaderMap, route: &Route) -> Result<(), Refusal> {
    let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return Err(Refusal::Encoded);
    }
    match route.endpoint.purpose {
        Purpose::List => Ok(()),
        Purpose::Complete(_) | Purpose::Count(_) => {
            let mut types = headers.get_all(header::CONTENT_TYPE).iter();
            match (types.next().and_then(|it| it.to_str().ok()), types.next()) {
                (Some(text), None) if is_json(text) => Ok(()),
                _ => Err(Refusal::MediaType),
            }
        }
    }
}

/// Returns whether a media type is JSON in UTF-8.
fn is_json(text: &str) -> bool {
    let mut parts = text.split(';').map(|it| it.trim().to_ascii_lowercase());
    let is_json = parts.next().is_some_and(|it| it == "application/json");
    is_json && parts.all(|it| matches!(it.as_str(), "charset=utf-8" | "charset=\"utf-8\""))
}

/// Reads the body, checks it, and sends the request.
async fn go_on(
    gate: &Arc<Gate>,
    line: &Line,
    judged: Judged,
    body: Incoming,
) -> Result<Response<Reply>, Refusal> {
    let Judged { route, admission, query, headers, permit } = judged;
    let (bytes, _room) = read(gate, body).await?;
    let rules = gate.rules();
    let checked = check_body(gate, &route, bytes).await?;
    gate.account().check()?;
    if checked.is_some() {
        gate.before().await;
    }
    let notice = |text: &str| gate.ledger().noticed(text);
    let mut draft = Draft {
        method: if checked.is_some() { Method::POST } else { Method::GET },
        path: target(&route, query.as_deref()),
        headers: headers::outgoing(rules, &headers, gate.named(), &notice),
        body: Bytes::new(),
    };
    let model = checked.as_ref().map(|it| it.model.clone());
    let asked = asked(gate, line, &route, checked.as_ref(), &draft);
    if let Some(checked) = checked {
        let json = HeaderValue::from_static("application/json");
        draft.headers.insert(header::CONTENT_TYPE, json);
        draft.body = checked.bytes.into();
    }
    gate.ledger().asked(&asked).map_err(|_| Refusal::Unrecorded)?;
    let mut open = Open::new(Arc::clone(gate), asked, model, permit);
    let sent = timeout(limits::IDLE, send(gate, &admission, &mut draft)).await;
    match sent.unwrap_or_else(|_| Ok(Err("no answer came for too long".to_owned()))) {
        Ok(Ok(answer)) => pass_on(gate, open, &route, answer),
        Ok(Err(why)) => {
            open.fail(why.as_str());
            Ok(gate.unreachable(&why))
        }
        Err(refusal) => {
            open.fail(refusal.to_string());
            Err(refusal)
        }
    }
}

/// Sends a request with the real key; once more if the token of a login is not taken and there is a newer
/// one, since a request that was not let in has done nothing.
async fn send(
    gate: &Gate,
    admission: &Admission,
    draft: &mut Draft,
) -> Result<Result<Answer, String>, Refusal> {
    let paid = gate.paid(None).await?;
    put(&paid, admission, draft)?;
    let answer = gate.upstream().send(draft).await;
    let status = answer.as_ref().ok().map(|it| it.response.status());
    if status != Some(StatusCode::UNAUTHORIZED) || !gate.is_login() {
        return Ok(answer);
    }
    drop(answer);
    let paid = gate.paid(Some(&paid.key)).await?;
    put(&paid, admission, draft)?;
    Ok(gate.upstream().send(draft).await)
}

fn put(paid: &Paid, admission: &Admission, draft: &mut Draft) -> Result<(), Refusal> {
    paid.key.put(admission, &mut draft.headers).map_err(|_| Refusal::WrongKey)?;
    if let Some((name, value)) = &paid.beside {
        draft.headers.insert(name.clone(), value.clone());
    }
    Ok(())
}

/// Checks the body, on another thread if it is long.
async fn check_body(
    gate: &Arc<Gate>,
    route: &Route,
    bytes: Vec<u8>,
) -> Result<Option<CheckedBody>, Refusal> {
    let format = match route.endpoint.purpose {
        Purpose::List if bytes.is_empty() => return Ok(None),
        Purpose::List => return Err(Refusal::Body),
        Purpose::Complete(format) | Purpose::Count(format) => format,
    };
    let (waiting, gate, model) = (gate, Arc::clone(gate), route.model.clone());
    let n_bytes = bytes.len();
    let check = move || {
        let (rules, allow_keys) = (gate.rules(), gate.allow_keys());
        Expected { rules, format, allow_keys, model: model.as_deref() }.check(&bytes)
    };
    let checked = if n_bytes < limits::ASIDE_BYTES {
        check()
    } else {
        let _place = waiting.check_permit().await;
        let checking = tokio::task::spawn_blocking(check).await;
        checking.unwrap_or_else(|_| Err(Refusal::Malformed("it could not be checked".to_owned())))
    };
    checked.map(Some)
}

fn asked(
    gate: &Gate,
    line: &Line,
    route: &Route,
    checked: Option<&CheckedBody>,
    draft: &Draft,
) -> Asked {
    let bytes = checked.map(|it| it.bytes.as_slice()).unwrap_or_default();
    Asked {
        id: gate.next_id(),
        method: draft.method.to_string(),
        host: line.host.to_string(),
        path: route.path.as_str().to_owned(),
        model: checked.map(|it| format!("{}:{}", gate.rules().provider, named(&it.model))),
        n_bytes: bytes.len() as u64,
        digest: Digest::of(bytes),
        removed: checked.iter().flat_map(|it| it.removed.iter().cloned()).collect(),
    }
}

/// Passes an answer on.
fn pass_on(
    gate: &Arc<Gate>,
    mut open: Open,
    route: &Route,
    answer: Answer,
) -> Result<Response<Reply>, Refusal> {
    let Answer { response, lease } = answer;
    let (parts, body) = response.into_parts();
    let status = parts.status;
    open.answered(status.as_u16(), None);
    if status.is_redirection() {
        open.fail("the provider redirects");
        return Err(Refusal::Redirected);
    }
    // SECURITY: what is compressed cannot be masked, and after an upgrade nothing can.
    let encoding = parts.headers.get(header::CONTENT_ENCODING);
    if status.is_informational() || encoding.is_some_and(|it| it.as_bytes() != b"identity") {
        let why = "the provider answers in a form that was not asked for";
        open.fail(why);
        return Ok(gate.unreachable(why));
    }
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let is_events = media.is_some_and(|it| it.trim_start().starts_with("text/event-stream"));
    let meter = match route.endpoint.purpose {
        Purpose::Complete(format) => Some(Meter::new(&format.usage, is_events)),
        Purpose::Count(_) | Purpose::List => None,
    };
    open.answered(status.as_u16(), meter);
    let needles = gate.needles();
    let mask = Mask::new(Arc::clone(&needles));
    let mut reply = Response::new(Reply::Relay(Box::new(Relay::new(body, mask, open, lease))));
    *reply.status_mut() = status;
    *reply.headers_mut() = headers::incoming(&parts.headers, &needles);
    Ok(reply)
}

/// Reads a body that is wanted; one that is too long is read to its end, and refused.
///
/// What it returns beside the body holds the room that the body takes.
async fn read(gate: &Gate, mut body: Incoming) -> Result<(Vec<u8>, OwnedSemaphorePermit), Refusal> {
    let reading = async {
        let mut whole = Vec::new();
        let mut room = gate.body_permit(0)?;
        while let Some(frame) = body.frame().await {
            // What comes behind a body is dropped.
            let Ok(bytes) = frame.map_err(|_| Refusal::CutShort)?.into_data() else { continue };
            if body::BYTES_MAX < whole.len() + bytes.len() {
                return Err(Refusal::TooLong(body::BYTES_MAX));
            }
            let n_bytes = whole.len() + bytes.len();
            room.merge(gate.body_permit(n_bytes.saturating_sub(room.num_permits() << 10))?);
            whole.extend_from_slice(&bytes);
        }
        Ok((whole, room))
    };
    let read = timeout(limits::BODY, reading).await.unwrap_or(Err(Refusal::CutShort));
    if let Err(Refusal::TooLong(_) | Refusal::TooMuch(_)) = read {
        drain(body).await;
    }
    read
}

/// Reads a body that is not wanted, so that the answer is: an agent that still sends does not listen.
pub(crate) async fn drain(mut body: Incoming) {
    let reading = async {
        let mut n_left = limits::DRAIN_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let n_bytes = frame.data_ref().map_or(0, Bytes::len);
            match n_left.checked_sub(n_bytes) {
                Some(left) if !body.is_end_stream() => n_left = left,
                Some(_) | None => return,
            }
        }
    };
    // What is not read by then is cut off with its connection.
    timeout(limits::DRAIN, reading).await.ok();
}

impl Gate {
    /// Writes down a refusal, and answers it.
    pub(crate) fn refuse(
        &self,
        method: &Method,
        host: &str,
        path: &str,
        why: &Refusal,
    ) -> Response<Reply> {
        if why.is_recorded() {
            let (method, path) = (named(method.as_str()), named(path));
            let refused = Refused { method: &method, host, path: &path, why };
            self.ledger().refused(&refused);
        }
        let mut response = self.own(why.status(), &why.to_string());
        if *why == Refusal::Upgrade {
            let version = HeaderValue::from_static("HTTP/1.1");
            response.headers_mut().insert(header::UPGRADE, version);
        }
        if method == Method::HEAD {
            // Such an answer has no body.
            *response.body_mut() = Reply::Own(Full::default());
        }
        response
    }

    /// Says that the provider cannot be reached, which is worth another try.
    pub(crate) fn unreachable(&self, why: &str) -> Response<Reply> {
        self.own(StatusCode::BAD_GATEWAY, &format!("cannot reach the provider: {}", named(why)))
    }

    fn own(&self, status: StatusCode, message: &str) -> Response<Reply> {
        let body = told(self.rules().provider, status, message);
        let mut response = Response::new(Reply::Own(Full::new(body.into())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Clients of the providers ask for this before they try again.
        headers.insert(
            "x-should-retry",
            HeaderValue::from_static(match status.is_server_error() {
                true => "true",
                false => "false",
            }),
        );
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line { host: "api.anthropic.com".into(), is_same_host: true }
    }

    #[track_caller]
    fn check(uri: &str, hosts: &[&str], is_right: bool) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        let checked = check_authority(&line(), &uri.parse().unwrap(), &headers);
        assert_eq!(checked.is_ok(), is_right, "{uri} {hosts:?}");
    }

    #[test]
    fn a_request_is_for_the_host_of_its_connection() {
        check("/v1/messages", &["api.anthropic.com"], true);
        check("/v1/messages", &["API.anthropic.com:443"], true);
        check("https://api.anthropic.com/v1/messages", &[], true);
        check("https://api.anthropic.com/v1/messages", &["api.anthropic.com"], true);
        for host in [
            "evil.example",
            "api.anthropic.com.",
            "api.anthropic.com:80",
            "",
            "api.anthropic.com:443:443",
            "api.anthropic.com,evil.example",
            "x@api.anthropic.com",
            "127.0.0.1",
            "[::1]",
        ] {
            check("/v1/messages", &[host], false);
            check("https://api.anthropic.com/v1/messages", &[host], false);
        }
        check("/v1/messages", &[], false);
        check("/v1/messages", &["api.anthropic.com", "api.anthropic.com"], false);
        check("https://evil.example/v1/messages", &["api.anthropic.com"], false);
        check("http://api.anthropic.com/v1/messages", &["api.anthropic.com"], false);
        check("https://x@api.anthropic.com/v1/messages", &[], false);
    }

    #[test]
    fn only_plain_json_is_taken() {
        for text in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=utf-8",
        ] {
            assert!(is_json(text), "{text}");
        }
        for text in [
            "",
            "text/plain",
            "application/jsonx",
            "application/json; charset=utf-16",
            "application/json, text/plain",
            "multipart/form-data",
            "application/json; boundary=x",
        ] {
            assert!(!is_json(text), "{text}");
        }
    }
}
