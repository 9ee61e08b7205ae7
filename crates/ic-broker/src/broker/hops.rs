//! Redirects: our fetch server follows none; each is a call of its own, found, judged and recorded.
//!
//! ```text
//! http_fetch A ─judge─▶ record ─▶ forward ─▶ "go to B" ─record the outcome─▶ http_fetch B ─judge─▶ ...
//! ```
//!
//! What a page says about where to go next is text of a stranger, so nothing that was decided about the
//! page counts for the next one: the policy is asked, and a person if it says so. What the agent sent to
//! one host is not sent to another.

use std::sync::Arc;

use ic_audit::Entry;
use ic_backend::server::{Server, Unanswered};
use ic_mcp::Outcome;
use ic_policy::{Permit, Scheme, UrlValue};
use ic_resolve::url::parse_fetch_url;
use ic_servers::fetch::REDIRECT;
use ic_types::{Digest, Json, Object};

use super::{Asked, Broker, Flight, Found, Reply};
use crate::breaker::Came;
use crate::locked;
use crate::refusal::{Refusal, RefusalKind};

/// How many redirects one call follows.
pub(crate) const HOPS_MAX: usize = 5;
/// The longest address that a redirect may lead to.
const LOCATION_BYTES_MAX: usize = 8 << 10;
/// The rule that is named where a redirect is refused whatever the policy says.
const RULE: &str = "structural-redirect";
/// The arguments of `http_fetch` that are about the host, and not about the answer.
const FOR_HOST: [&str; 1] = ["headers"];

/// A call of our fetch server under way, with what the next one would be made of.
pub(super) struct Trail {
    name: String,
    arguments: Object,
    meta: Object,
    /// How many redirects led here.
    n_hops: usize,
}

/// The next call.
#[derive(Debug)]
pub(super) struct Hop {
    asked: Asked,
    /// Where it leads, as it was said.
    location: String,
    /// Why it is not made, whatever the policy says.
    refusal: Option<Refusal>,
    n_hops: usize,
}

impl Trail {
    /// Notes a call, if redirects can come of it.
    pub(super) fn of(
        server: &Server,
        permit: &Permit,
        (name, meta): (&str, &Object),
        n_hops: usize,
    ) -> Option<Self> {
        let arguments = permit.call().sent();
        server.is_fetch().then(|| Self {
            name: name.to_owned(),
            arguments: arguments.clone(),
            meta: meta.clone(),
            n_hops,
        })
    }

    /// Returns the next call, if the server answered that there is one to make.
    pub(super) fn next(self, outcome: &Result<Outcome, Unanswered>) -> Option<Hop> {
        let Ok(Ok(Json::Object(result))) = outcome else { return None };
        let Some(Json::Object(structured)) = result.get("structuredContent") else { return None };
        let Some(Json::Object(redirect)) = structured.get(REDIRECT) else { return None };
        let location = redirect.get("location").and_then(Json::as_str)?;
        Some(self.hop(location))
    }

    fn hop(self, location: &str) -> Hop {
        let from = self.arguments.get("url").and_then(Json::as_str).map(str::to_owned);
        let from = from.and_then(|url| parse_fetch_url(&url).ok());
        let to = parse_fetch_url(location).ok();
        let refusal = refusal(self.n_hops, location, from.as_ref(), to.as_ref());
        let mut arguments = self.arguments;
        // SECURITY: what was meant for one host may be its credentials.
        if !matches!((&from, &to), (Some(from), Some(to)) if is_same_origin(from, to)) {
            for name in FOR_HOST {
                arguments.remove(name);
            }
        }
        let location: String = location.chars().take(LOCATION_BYTES_MAX).collect();
        arguments.insert("url", location.as_str());
        let asked = Asked { name: self.name, arguments, meta: self.meta };
        Hop { asked, location, refusal, n_hops: self.n_hops + 1 }
    }
}

/// Says why a redirect is not followed, whatever the policy would say of where it leads.
fn refusal(
    n_hops: usize,
    location: &str,
    from: Option<&UrlValue>,
    to: Option<&UrlValue>,
) -> Option<Refusal> {
    let reason = if HOPS_MAX <= n_hops {
        format!("there were {n_hops} redirects already, and no more are followed")
    } else if LOCATION_BYTES_MAX < location.len() {
        "the address that a redirect leads to is too long".to_owned()
    } else if is(from, Scheme::Https) && is(to, Scheme::Http) {
        // Whoever sits between could read and change what follows.
        "a redirect from https to http is not followed".to_owned()
    } else {
        return None;
    };
    Some(Refusal::structural(RefusalKind::Denied, RULE, reason))
}

fn is(url: Option<&UrlValue>, scheme: Scheme) -> bool {
    url.is_some_and(|url| url.destination.scheme == Some(scheme))
}

fn is_same_origin(from: &UrlValue, to: &UrlValue) -> bool {
    from.destination == to.destination
}

impl Broker {
    /// Records that a call led elsewhere, and makes the call that it led to.
    pub(super) async fn follow(
        &self,
        hop: Hop,
        entry: Entry,
        repetition: Digest,
        (found, flight): (Found, Flight),
    ) -> Reply {
        let Hop { asked, location, refusal, n_hops } = hop;
        let id = self.request_id();
        let reason = format!("redirected to `{location}`, which is the request {id}");
        if let Err(error) = self.log.note(Entry { reason: Some(Arc::from(reason)), ..entry }) {
            return self.unrecorded(&error);
        }
        let reply = match refusal {
            Some(refusal) => self.refuse(&asked, &refusal, Some(found.names()), &id),
            // It is our own tool, which is neither withheld nor gone meanwhile.
            None => Box::pin(self.serve(asked, found, flight, (&id, n_hops))).await,
        };
        // The whole way is what the call came to: a page that changes behind a redirect is progress.
        if let Some(came) = came_of(&reply) {
            locked(&self.breaker).remember(repetition, came, self.clock.now());
        }
        reply
    }
}

/// Returns what a call came to, if it came to something that another one could come to as well.
pub(super) fn came_of(reply: &Reply) -> Option<Came> {
    match reply {
        Reply::Result(text) => Some(Came::Result(Digest::of(text.as_bytes()))),
        Reply::Refused(..) => Some(Came::Denial),
        Reply::Error(error) => Some(Came::Result(Digest::of(error.message.as_bytes()))),
        Reply::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(url: &str, n_hops: usize) -> Trail {
        let mut headers = Object::new();
        headers.insert("Authorization", "Bearer secret");
        let mut arguments = Object::new();
        arguments.insert("url", url);
        arguments.insert("headers", headers);
        arguments.insert("max_length", 10_u64);
        Trail { name: "fetch__http_fetch".to_owned(), arguments, meta: Object::new(), n_hops }
    }

    /// What was said to one host is said to no other: not to another port, and not in the clear.
    #[test]
    fn headers_go_to_the_host_that_they_were_meant_for_and_to_no_other() {
        let from = "https://a.example/x";
        for (to, stays) in [
            ("https://a.example/y?z", true),
            ("https://A.example:443/y", true),
            ("https://b.example/y", false),
            ("https://a.example.evil.example/y", false),
            ("https://sub.a.example/y", false),
            ("https://a.example:8443/y", false),
            ("http://a.example/y", false),
            ("https://a.example@evil.example/", false),
            ("ftp://a.example/y", false),
            ("nonsense", false),
        ] {
            let hop = trail(from, 0).hop(to);
            let arguments = &hop.asked.arguments;
            assert_eq!(arguments.get("headers").is_some(), stays, "{to}");
            assert_eq!(arguments.get("url").and_then(Json::as_str), Some(to));
            assert!(arguments.get("max_length").is_some(), "what is about the answer stays");
        }
    }

    #[test]
    fn some_redirects_are_never_followed() {
        let long = format!("https://a.example/{}", "x".repeat(LOCATION_BYTES_MAX));
        for (from, to, n_hops, part) in [
            ("https://a.example/", "http://a.example/", 0, Some("from https to http")),
            ("https://a.example/", "HTTP://b.example/", 0, Some("from https to http")),
            ("http://a.example/", "https://a.example/", 0, None),
            ("http://a.example/", "http://b.example/", 0, None),
            ("https://a.example/", "https://b.example/", HOPS_MAX - 1, None),
            ("https://a.example/", "https://b.example/", HOPS_MAX, Some("5 redirects")),
            ("https://a.example/", &long, 0, Some("too long")),
        ] {
            let refusal = trail(from, n_hops).hop(to).refusal;
            match (part, refusal) {
                (None, None) => {}
                (Some(part), Some(refusal)) => {
                    assert!(refusal.reason().contains(part), "{}", refusal.reason());
                }
                (expected, refusal) => panic!("{from} {to}: {expected:?}, {refusal:?}"),
            }
        }
    }

    #[test]
    fn only_what_the_server_says_in_its_own_words_is_a_redirect() {
        let parse = |text: &str| Json::parse(text.as_bytes(), ic_types::JsonLimits::CALL).unwrap();
        let next = |text: &str| trail("https://a.example/", 0).next(&Ok(Ok(parse(text))));
        let hop = next(r#"{"structuredContent":{"redirect":{"location":"https://b.example/"}}}"#);
        assert_eq!(hop.unwrap().location, "https://b.example/");
        for no in [
            "{}",
            r#"{"redirect":{"location":"https://b.example/"}}"#,
            r#"{"content":[{"type":"text","text":"redirect https://b.example/"}]}"#,
            r#"{"structuredContent":{"redirect":"https://b.example/"}}"#,
            r#"{"structuredContent":{"redirect":{"location":7}}}"#,
        ] {
            assert!(next(no).is_none(), "{no}");
        }
        let error = ic_mcp::RpcError::new(1, "https://b.example/");
        assert!(trail("https://a.example/", 0).next(&Ok(Err(error))).is_none());
    }
}
