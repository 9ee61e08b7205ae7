//! Our fetch server: one for each call, with the judged host and nothing else within its reach.
//!
//! It follows no redirect: each is a call of its own.
//!
//! ```text
//! http_fetch A ─judge─▶ record ─▶ forward ─▶ "go to B" ─record the outcome─▶ http_fetch B ─judge─▶ ...
//! ```
//!
//! What a page says about where to go next is text of a stranger, so nothing that was decided about the
//! page counts for the next one: the policy is asked, and a person if it says so. What the agent sent to
//! one host is not sent to another.

use ic_mcp::Outcome;
use ic_policy::{Scheme, UrlValue};
use ic_resolve::url::parse_fetch_url;
use ic_servers::fetch::REDIRECT;
use ic_types::{Json, Object, Role};

use super::{Case, Made, Strategy, unseen};
use crate::backend::{Next, NoPlan};
use crate::one_shot::OneShot;
use crate::reach::{self, Origin};
use crate::server::Unanswered;

/// The longest address that a redirect may lead to.
const LOCATION_BYTES_MAX: usize = 8 << 10;
/// The rule that is named where a redirect is refused whatever the policy says.
const RULE: &str = "structural-redirect";
/// The arguments of `http_fetch` that are about the host, and not about the answer.
const FOR_HOST: [&str; 1] = ["headers"];

/// How pages are served.
pub(super) struct Pages;

impl Strategy for Pages {
    fn is_always_started(&self) -> bool {
        true
    }

    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan> {
        let (call, policy) = (case.permit.call(), &case.judge.policy);
        let reach = reach::of_call(call, Role::FetchUrl, policy, case.config).map_err(unseen)?;
        let origin = Origin::of_call(call, policy, case.config).ok_or_else(|| {
            unseen(format!("the entry of the server `{}` forbids this host", call.server()))
        })?;
        Ok(Some(OneShot::plan_fetch(reach, origin)))
    }

    fn next(&self, made: &Made, outcome: &Result<Outcome, Unanswered>) -> Option<Next> {
        let Ok(Ok(Json::Object(result))) = outcome else { return None };
        let Some(Json::Object(structured)) = result.get("structuredContent") else { return None };
        let Some(Json::Object(redirect)) = structured.get(REDIRECT) else { return None };
        let location = redirect.get("location").and_then(Json::as_str)?;
        Some(redirected(made.sent.clone(), location))
    }
}

/// Returns the call that a redirect leads to.
fn redirected(mut arguments: Object, location: &str) -> Next {
    let from = arguments.get("url").and_then(Json::as_str).map(str::to_owned);
    let from = from.and_then(|url| parse_fetch_url(&url).ok());
    let to = parse_fetch_url(location).ok();
    let refusal = refusal(location, from.as_ref(), to.as_ref());
    // SECURITY: what was meant for one host may be its credentials.
    if !matches!((&from, &to), (Some(from), Some(to)) if is_same_origin(from, to)) {
        for name in FOR_HOST {
            arguments.remove(name);
        }
    }
    let location: String = location.chars().take(LOCATION_BYTES_MAX).collect();
    arguments.insert("url", location.as_str());
    Next {
        arguments,
        brought: None,
        because: format!("redirected to `{location}`"),
        rule: RULE,
        refusal,
        too_many: |n| format!("there were {n} redirects already, and no more are followed"),
    }
}

/// Says why a redirect is not followed, whatever the policy would say of where it leads.
fn refusal(location: &str, from: Option<&UrlValue>, to: Option<&UrlValue>) -> Option<String> {
    if LOCATION_BYTES_MAX < location.len() {
        Some("the address that a redirect leads to is too long".to_owned())
    } else if is(from, Scheme::Https) && is(to, Scheme::Http) {
        // Anyone on the network path could read and change the rest.
        Some("a redirect from https to http is not followed".to_owned())
    } else {
        None
    }
}

fn is(url: Option<&UrlValue>, scheme: Scheme) -> bool {
    url.is_some_and(|url| url.destination.scheme == Some(scheme))
}

fn is_same_origin(from: &UrlValue, to: &UrlValue) -> bool {
    from.destination == to.destination
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(url: &str) -> Object {
        let mut headers = Object::new();
        headers.insert("Authorization", "Bearer secret");
        let mut arguments = Object::new();
        arguments.insert("url", url);
        arguments.insert("headers", headers);
        arguments.insert("max_length", 10_u64);
        arguments
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
            let next = redirected(arguments(from), to);
            assert_eq!(next.arguments.get("headers").is_some(), stays, "{to}");
            assert_eq!(next.arguments.get("url").and_then(Json::as_str), Some(to));
            assert!(next.arguments.get("max_length").is_some(), "what is about the answer stays");
        }
    }

    #[test]
    fn some_redirects_are_never_followed() {
        let long = format!("https://a.example/{}", "x".repeat(LOCATION_BYTES_MAX));
        for (from, to, part) in [
            ("https://a.example/", "http://a.example/", Some("from https to http")),
            ("https://a.example/", "HTTP://b.example/", Some("from https to http")),
            ("http://a.example/", "https://a.example/", None),
            ("http://a.example/", "http://b.example/", None),
            ("https://a.example/", "https://b.example/", None),
            ("https://a.example/", &long, Some("too long")),
        ] {
            let refusal = redirected(arguments(from), to).refusal;
            match (part, &refusal) {
                (None, None) => {}
                (Some(part), Some(refusal)) => assert!(refusal.contains(part), "{refusal}"),
                (expected, refusal) => panic!("{from} {to}: {expected:?}, {refusal:?}"),
            }
        }
    }

    #[test]
    fn only_what_the_server_says_in_its_own_words_is_a_redirect() {
        let parse = |text: &str| Json::parse(text.as_bytes(), ic_types::JsonLimits::CALL).unwrap();
        let sent = arguments("https://a.example/");
        let made = Made { asked: sent.clone(), sent };
        let next = |text: &str| Pages.next(&made, &Ok(Ok(parse(text))));
        let found = next(r#"{"structuredContent":{"redirect":{"location":"https://b.example/"}}}"#);
        assert_eq!(found.unwrap().because, "redirected to `https://b.example/`");
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
        assert!(Pages.next(&made, &Ok(Err(error))).is_none());
    }
}
