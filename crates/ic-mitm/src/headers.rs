//! Which headers go on, in either direction.
//!
//! Towards the provider only those of a list; towards the agent all but those that concern the connection
//! or would make the agent remember something. A key that is echoed in one is masked.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use ic_types::locked;

use crate::limits::REMEMBERED_MAX;
use crate::mask::Needles;
use crate::provider::{Beta, Rules};
use crate::refusal::named;

/// What everybody sends.
const GENERAL: [HeaderName; 4] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::USER_AGENT,
    HeaderName::from_static("idempotency-key"),
];

/// How the headers begin by which clients of the providers' own describe themselves.
const DESCRIBING: &str = "x-stainless-";

/// What does not come back.
const DROPPED: [&str; 17] = [
    "alt-svc",
    "clear-site-data",
    "connection",
    "content-length",
    "keep-alive",
    "location",
    "nel",
    "proxy-authenticate",
    "proxy-connection",
    "report-to",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// Values of beta headers that were removed, each named once.
#[derive(Debug, Default)]
pub struct Named(Mutex<HashSet<String>>);

/// Returns what goes on to the provider, without the key; each value of the beta header that is removed for
/// the first time is told to `notice`.
pub fn outgoing(
    rules: &Rules,
    headers: &HeaderMap,
    named: &Named,
    notice: &dyn Fn(&str),
) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (name, value) in headers {
        let is_known = GENERAL.contains(name)
            || rules.headers.contains(&name.as_str())
            || name.as_str().starts_with(DESCRIBING);
        if is_known {
            out.append(name.clone(), value.clone());
        }
    }
    if let Some(beta) = &rules.beta {
        betas(beta, headers, named, notice, &mut out);
    }
    // What is compressed cannot be looked at.
    out.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    out
}

fn betas(
    beta: &Beta,
    headers: &HeaderMap,
    named: &Named,
    notice: &dyn Fn(&str),
    out: &mut HeaderMap,
) {
    let values = headers.get_all(beta.header).iter();
    let values = values.flat_map(|it| it.as_bytes().split(|byte| *byte == b','));
    let values = values.map(|it| String::from_utf8_lossy(it).trim().to_owned());
    let (known, unknown): (Vec<_>, Vec<_>) =
        values.filter(|it| !it.is_empty()).partition(|it| beta.values.contains(&it.as_str()));
    for value in unknown {
        if named.is_new(&value) {
            let value = crate::refusal::named(&value);
            notice(&format!("removed `{value}` from `{}`", beta.header));
        }
    }
    if let (false, Ok(value)) = (known.is_empty(), HeaderValue::from_str(&known.join(","))) {
        out.insert(HeaderName::from_static(beta.header), value);
    }
}

impl Named {
    fn is_new(&self, value: &str) -> bool {
        let mut all = locked(&self.0);
        all.len() < REMEMBERED_MAX && all.insert(named(value))
    }
}

/// Returns what goes back to the agent.
pub fn incoming(headers: &HeaderMap, needles: &Arc<Needles>) -> HeaderMap {
    let mut back = HeaderMap::new();
    for (name, value) in headers {
        if DROPPED.contains(&name.as_str()) {
            continue;
        }
        let (masked_name, masked) =
            (needles.masked(name.as_str().as_bytes()), needles.masked(value.as_bytes()));
        if masked_name != name.as_str().as_bytes() {
            continue;
        }
        if let Ok(masked) = HeaderValue::from_bytes(&masked) {
            back.append(name.clone(), masked);
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use ic_types::Provider;

    use super::*;
    use crate::key::tests::key;
    use crate::provider::rules;

    fn map(entries: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in entries {
            headers
                .append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_headers_of_the_list_go_on() {
        let headers = map(&[
            ("user-agent", "claude-cli"),
            ("anthropic-version", "2023-06-01"),
            ("x-stainless-lang", "js"),
            ("x-api-key", "fake"),
            ("x-http-method-override", "DELETE"),
            ("x-method-override", "DELETE"),
            ("x-original-url", "/v1/files"),
            ("x-forwarded-host", "evil.example"),
            ("forwarded", "host=evil.example"),
            ("content-encoding", "gzip"),
            ("transfer-encoding", "chunked"),
            ("connection", "x-api-key"),
            ("te", "trailers"),
            ("accept-encoding", "gzip, br"),
            ("openai-organization", "org-x"),
            ("x-whatever", "x"),
        ]);
        let out = outgoing(rules(Provider::Anthropic), &headers, &Named::default(), &|_| {});
        let mut names: Vec<&str> = out.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["accept-encoding", "anthropic-version", "user-agent", "x-stainless-lang"]
        );
        assert_eq!(out["accept-encoding"], "identity");
    }

    #[test]
    fn an_unknown_beta_is_removed_and_named_once() {
        let named = Named::default();
        let notices = Mutex::new(Vec::new());
        let notice = |text: &str| notices.lock().unwrap().push(text.to_owned());
        let headers = map(&[
            ("anthropic-beta", "claude-code-20250219, web-fetch-2025-09-10,mcp-client-2025-04-04"),
            ("anthropic-beta", "code-execution-2025-08-25,,context-1m-2025-08-07"),
        ]);
        for _ in 0..2 {
            let out = outgoing(rules(Provider::Anthropic), &headers, &named, &notice);
            assert_eq!(out["anthropic-beta"], "claude-code-20250219,context-1m-2025-08-07");
        }
        assert_eq!(notices.lock().unwrap().len(), 3);
        let headers = map(&[("anthropic-beta", "files-api-2025-04-14")]);
        let out = outgoing(rules(Provider::Anthropic), &headers, &named, &notice);
        assert!(!out.contains_key("anthropic-beta"));
        let headers = map(&[("openai-beta", "assistants=v2,responses=experimental")]);
        let out = outgoing(rules(Provider::OpenAi), &headers, &named, &notice);
        assert_eq!(out["openai-beta"], "responses=experimental");
    }

    #[test]
    fn what_comes_back_has_no_key_and_nothing_of_the_connection() {
        let needles = Arc::new(Needles::of(&key("sk-real-0123456789")));
        let headers = map(&[
            ("content-type", "text/event-stream"),
            ("request-id", "req_sk-real-0123456789"),
            ("x-sk-real-0123456789", "x"),
            ("set-cookie", "a=b"),
            ("location", "https://evil.example"),
            ("connection", "keep-alive"),
            ("content-length", "7"),
            ("retry-after", "3"),
        ]);
        let back = incoming(&headers, &needles);
        assert_eq!(back.len(), 3, "{back:?}");
        assert_eq!(back["request-id"], "req_<redacted:key>");
        assert_eq!(back["retry-after"], "3");
    }
}
