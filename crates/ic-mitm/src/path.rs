//! The path of a request, made canonical, and the endpoint that it means.
//!
//! A path that two programs could read differently is refused; what is sent on is the canonical form.

use hyper::Method;

use crate::provider::{Endpoint, Rules};
use crate::refusal::{Refusal, named};

/// The longest path.
const BYTES_MAX: usize = 512;

/// A path in its one form.
///
/// Invariant: begins with `/`; segments are not empty, neither `.` nor `..`, and of letters, digits and
/// `-._~:@` alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CanonicalPath(String);

/// A request that may be made.
#[derive(Debug)]
pub struct Route {
    /// The endpoint.
    pub endpoint: &'static Endpoint,
    /// The path, as it is sent on.
    pub path: CanonicalPath,
    /// The model, if the path names one.
    pub model: Option<String>,
}

impl CanonicalPath {
    /// Makes `raw` canonical; `None` if it has no canonical form.
    pub fn new(raw: &str) -> Option<Self> {
        if BYTES_MAX < raw.len() {
            return None;
        }
        let path = decoded(raw)?;
        let segments = path.strip_prefix('/')?.split('/');
        let is_plain = |segment: &str| {
            !matches!(segment, "" | "." | "..") && segment.bytes().all(is_segment_byte)
        };
        segments.into_iter().all(is_plain).then_some(Self(path))
    }

    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Route {
    /// Finds the endpoint that `method` and the path `raw` mean.
    pub fn find(rules: &'static Rules, method: &Method, raw: &str) -> Result<Self, Refusal> {
        let refused = || Refusal::Endpoint { method: named(method.as_str()), path: named(raw) };
        let path = CanonicalPath::new(raw).ok_or_else(refused)?;
        let fitting = rules.endpoints.iter().filter(|it| it.verb.is(method));
        let mut found = fitting.map(|it| (it, Fit::of(it.path, path.as_str())));
        let found = found.find(|(_, fit)| *fit != Fit::No);
        match found {
            Some((endpoint, fit)) => {
                let model = match fit {
                    Fit::Model(model) => Some(model.to_owned()),
                    Fit::Whole | Fit::No => None,
                };
                Ok(Self { endpoint, path, model })
            }
            None if rules.housekeeping.iter().any(|it| path.as_str().starts_with(it)) => {
                Err(Refusal::Housekeeping)
            }
            None => Err(refused()),
        }
    }
}

/// How a path fits a pattern.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Fit<'a> {
    No,
    /// To the letter.
    Whole,
    /// With this model in place of `*`.
    Model(&'a str),
}

impl<'a> Fit<'a> {
    fn of(pattern: &str, path: &'a str) -> Self {
        let Some((before, after)) = pattern.split_once('*') else {
            return if pattern == path { Self::Whole } else { Self::No };
        };
        let model = path.strip_prefix(before).and_then(|it| it.strip_suffix(after));
        // One segment, and no second method of Google's behind a colon.
        let is_name = |it: &&str| !it.is_empty() && !it.contains(['/', ':']);
        model.filter(is_name).map_or(Self::No, Self::Model)
    }
}

/// Takes the escapes out, once.
fn decoded(raw: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            byte => byte,
        });
        // What was escaped and is neither plain nor a slash, has no canonical form.
        if !bytes.last().is_some_and(|it| is_segment_byte(*it) || byte == b'/' && *it == b'/') {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok())
}

fn is_segment_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':' | b'@')
}

#[cfg(test)]
mod tests {
    use ic_types::Provider;
    use proptest::prelude::*;

    use super::*;
    use crate::provider::rules;

    #[track_caller]
    fn check(
        provider: Provider,
        method: &Method,
        path: &str,
        expected: Option<(&str, Option<&str>)>,
    ) {
        let found = Route::find(rules(provider), method, path);
        let found = found.as_ref().ok().map(|it| (it.path.as_str(), it.model.as_deref()));
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn endpoints_are_found_by_their_canonical_path() {
        let (post, get) = (Method::POST, Method::GET);
        check(Provider::Anthropic, &post, "/v1/messages", Some(("/v1/messages", None)));
        check(Provider::Anthropic, &post, "/v1/m%65ssages", Some(("/v1/messages", None)));
        check(Provider::Anthropic, &get, "/v1/models/a", Some(("/v1/models/a", Some("a"))));
        check(Provider::OpenAi, &post, "/v1/responses", Some(("/v1/responses", None)));
        let gemini = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
        check(Provider::Google, &post, gemini, Some((gemini, Some("gemini-2.5-pro"))));
        let escaped = "/v1beta/models/gemini-2.5-pro%3AstreamGenerateContent";
        check(Provider::Google, &post, escaped, Some((gemini, Some("gemini-2.5-pro"))));
    }

    #[test]
    fn other_paths_and_tricks_are_refused() {
        for path in [
            "/",
            "",
            "*",
            "v1/messages",
            "/v1",
            "/v1/",
            "/v1/messages/",
            "/v1//messages",
            "//v1/messages",
            "/v1/messages/../files",
            "/v1/messages/..",
            "/v1/./messages",
            "/v1/%2e/messages",
            "/v1/messages/%2e%2e/files",
            "/v1/%2e%2E/v1/messages",
            "/v1%2fmessages",
            "/v1%5cmessages",
            "/v1/messages;x=1",
            "/v1/messages%00",
            "/v1/messages%0a",
            "/v1/messages%20",
            "/v1/messages%",
            "/v1/messages%2",
            "/v1/messages%zz",
            "/v1/mess%2561ges",
            "/V1/messages",
            "/v1/Messages",
            "/v1/messages/batches",
            "/v1/files",
            "/v1/skills",
            "/v1/organizations",
            "/v1/messages\\x",
            "/v1/messagés",
            "/v1/messages%c3%a9",
            "/v1/complete",
            "/v1/models/a/b",
            "/v1/models/",
        ] {
            for method in [Method::POST, Method::GET, Method::PUT] {
                check(Provider::Anthropic, &method, path, None);
            }
        }
        for method in [Method::GET, Method::PUT, Method::DELETE, Method::CONNECT, Method::TRACE] {
            check(Provider::Anthropic, &method, "/v1/messages", None);
        }
        for path in [
            "/v1beta/models/a/b:generateContent",
            "/v1beta/models/:generateContent",
            "/v1beta/models/a:batchGenerateContent",
            "/v1beta/models/a:generateContent:streamGenerateContent",
            "/v1beta/models/..:generateContent/..",
            "/v1beta/cachedContents",
            "/v1beta/files",
            "/upload/v1beta/files",
            "/v1beta/tunedModels/a:generateContent",
        ] {
            check(Provider::Google, &Method::POST, path, None);
        }
        for path in
            ["/v1/files", "/v1/responses/x", "/v1/assistants", "/v1/containers", "/v1/embeddings"]
        {
            check(Provider::OpenAi, &Method::POST, path, None);
        }
        let long = format!("/v1/models/{}", "a".repeat(600));
        check(Provider::Anthropic, &Method::GET, &long, None);
    }

    #[test]
    fn an_agent_s_own_housekeeping_is_told_from_what_is_forbidden() {
        let rules = rules(Provider::Anthropic);
        for path in ["/api/claude_code/settings", "/api/hello", "/api/event_logging/v2/batch"] {
            let refused = Route::find(rules, &Method::POST, path).unwrap_err();
            assert_eq!(refused, Refusal::Housekeeping, "{path}");
        }
        let refused = Route::find(rules, &Method::POST, "/api/../v1/files").unwrap_err();
        assert!(matches!(refused, Refusal::Endpoint { .. }));
    }

    proptest! {
        /// However a path is written, what is sent on is on the list as it stands.
        #[test]
        fn what_is_sent_on_is_canonical(raw in "(/|v1|messages|models|%2e|%2f|%6d|\\.\\.|\\.|;|:|a|%|[!-~]){0,12}") {
            if let Ok(route) = Route::find(rules(Provider::Anthropic), &Method::POST, &raw) {
                let again = Route::find(rules(Provider::Anthropic), &Method::POST, route.path.as_str());
                prop_assert_eq!(again.unwrap().path, route.path.clone());
                prop_assert!(["/v1/messages", "/v1/messages/count_tokens"].contains(&route.path.as_str()));
            }
        }
    }

    /// What paths are made of, and what is read in two ways.
    const WORDS: [&str; 32] = [
        "/",
        "//",
        ".",
        "..",
        "/../",
        "/./",
        "%2e",
        "%2E%2e",
        "%2f",
        "%5c",
        "\\",
        "%00",
        "%25",
        "%252e",
        "%",
        ";",
        ":",
        "@",
        "?",
        "#",
        "v1",
        "v1beta",
        "messages",
        "models",
        "files",
        ":generateContent",
        ":streamGenerateContent",
        "é",
        "%c3%a9",
        " ",
        "\0",
        "*",
    ];

    #[test]
    fn fuzz_gate_path() {
        ic_fuzz::Target::new("gate-path")
            .seeds([
                "/v1/messages",
                "/v1/m%65ssages/count_tokens",
                "/v1beta/models/gemini-2.5-pro%3AstreamGenerateContent",
                "/v1/responses/../files",
                "/api/hello",
            ])
            .corpus("path_traversal")
            .words(WORDS)
            .bytes_max(600)
            .run(|bytes| {
                let Ok(raw) = std::str::from_utf8(bytes) else {
                    return ic_fuzz::Outcome::refused("no text");
                };
                let Some(path) = CanonicalPath::new(raw) else {
                    return ic_fuzz::Outcome::refused("no path");
                };
                assert_eq!(
                    CanonicalPath::new(path.as_str()),
                    Some(path.clone()),
                    "it is not its own form"
                );
                // Whoever reads it as a URL, and whoever takes escapes out once more, reads the same.
                let url = url::Url::parse(&format!("https://a.example{}", path.as_str())).unwrap();
                assert_eq!((url.path(), url.query(), url.fragment()), (path.as_str(), None, None));
                assert!(!path.as_str().contains('%'));
                let mut found = 0_u8;
                for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Google] {
                    if let Ok(route) = Route::find(rules(provider), &Method::POST, raw) {
                        assert_eq!(route.path, path);
                        let is_listed = |it: &Endpoint| {
                            it.path.split('*').all(|part| path.as_str().contains(part))
                        };
                        assert!(is_listed(route.endpoint), "it is sent to another endpoint");
                        assert!(
                            route.model.is_none_or(|it| !it.contains(['/', ':']) && !it.is_empty())
                        );
                        found += 1;
                    }
                }
                ic_fuzz::Outcome::accepted((found, path.as_str().matches('/').count().min(6)))
            });
    }
}
