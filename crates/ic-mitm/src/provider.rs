//! What the gate knows of each provider, as data: one file for each.
//!
//! Nothing is decided here. To add a provider, add a file with its [`Rules`], name it in [`rules`], and put
//! beside it what clients of it were recorded to send.

mod anthropic;
mod compatible;
mod google;
pub mod login;
mod openai;
#[cfg(test)]
mod recorded;

use hyper::Method;
use ic_types::Provider;

/// What a provider takes, and what the gate lets through of it.
#[derive(Debug)]
pub struct Rules {
    /// The provider.
    pub provider: Provider,
    /// The host that agents connect to.
    pub host: &'static str,
    /// The requests that may be made.
    pub endpoints: &'static [Endpoint],
    /// Beginnings of paths that agents use for themselves, and can do without: answered 404.
    pub housekeeping: &'static [&'static str],
    /// Where the key may be; a request has it in exactly one of these places.
    pub places: &'static [Place],
    /// How its keys begin, so that an agent takes a fake one for real.
    pub key_prefix: &'static str,
    /// The variables in which agents look for the key.
    pub key_variables: &'static [&'static str],
    /// The variables in which agents look for the address of the provider, if it is not the usual one.
    pub base_variables: &'static [&'static str],
    /// Headers of the provider's own that are passed on, besides those that everybody sends.
    pub headers: &'static [&'static str],
    /// The header that turns on what is not offered to everyone.
    pub beta: Option<Beta>,
    /// Names in a query that change what a request means.
    pub query_refused: &'static [&'static str],
    /// Parts of the names of models that search the web by themselves.
    pub models_refused: &'static [&'static str],
}

/// Where a provider takes its key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// As the whole of this header.
    Header(&'static str),
    /// As a bearer token.
    Bearer,
}

/// A request that may be made.
#[derive(Debug)]
pub struct Endpoint {
    /// The method.
    pub verb: Verb,
    /// The path; `*` stands for one segment, or for a part of it, that names a model.
    pub path: &'static str,
    /// What it is for.
    pub purpose: Purpose,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verb {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
}

/// What a request is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// A completion, with a body in this format.
    Complete(&'static Format),
    /// Counts the tokens of a body in this format; costs nothing.
    Count(&'static Format),
    /// Lists models: no body, and nothing is counted.
    List,
}

/// The format of a request for a completion.
#[derive(Debug)]
pub struct Format {
    /// The shape of messages and tools.
    pub shape: Shape,
    /// The top-level keys that are passed on.
    pub keys: &'static [&'static str],
    /// The top-level keys that let the provider reach the network, and are removed.
    pub removed_keys: &'static [&'static str],
    /// The tools that the agent runs itself.
    pub tools: &'static [ToolType],
    /// The tools that the provider runs, and that are removed.
    pub removed_tools: &'static [ToolType],
    /// Where the answer says what it took.
    pub usage: UsageFields,
}

/// How messages and tools are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// Anthropic's Messages.
    Messages,
    /// `OpenAI`'s Responses.
    Responses,
    /// `OpenAI`'s Chat Completions.
    Chat,
    /// Google's `generateContent`.
    Gemini,
}

/// The type of a tool.
#[derive(Clone, Copy, Debug)]
pub enum ToolType {
    /// Exactly this one.
    Is(&'static str),
    /// This one, with a version behind it: `_20250305`, `_preview`, `_preview_2025_03_11`.
    Versions(&'static str),
}

/// Where an answer, or an event of it, says what it took.
#[derive(Debug)]
pub struct UsageFields {
    /// The objects that hold the figures; the last figures count.
    pub at: &'static [&'static [&'static str]],
    /// Tokens that went in.
    pub prompt: &'static [&'static [&'static str]],
    /// Tokens that came out.
    pub completion: &'static [&'static [&'static str]],
    /// Tokens that a cache had.
    pub cached: &'static [&'static str],
    /// Tokens that were put into a cache.
    pub cache_written: &'static [&'static str],
    /// Whether `prompt` leaves out what concerns the cache.
    pub prompt_is_uncached: bool,
}

/// The header that turns on what is not offered to everyone.
#[derive(Debug)]
pub struct Beta {
    /// Its name.
    pub header: &'static str,
    /// The values that are passed on; others are removed.
    pub values: &'static [&'static str],
}

/// Every host that our certificate authority may vouch for.
pub const HOSTS: [&str; 5] = [
    anthropic::RULES.host,
    openai::RULES.host,
    openai::LOGIN.rules.host,
    google::RULES.host,
    compatible::RULES.host,
];

/// Returns what is known of `provider`.
pub fn rules(provider: Provider) -> &'static Rules {
    match provider {
        Provider::Anthropic => &anthropic::RULES,
        Provider::OpenAi => &openai::RULES,
        Provider::Google => &google::RULES,
        Provider::OpenAiCompatible => &compatible::RULES,
    }
}

/// What most providers have in common, to be completed.
const COMMON: Rules = Rules {
    provider: Provider::OpenAiCompatible,
    host: "",
    endpoints: &[],
    housekeeping: &[],
    places: &[Place::Bearer],
    key_prefix: "",
    key_variables: &[],
    base_variables: &[],
    headers: &[],
    beta: None,
    query_refused: &[],
    models_refused: &[],
};

impl Place {
    /// Returns the header that it means.
    pub const fn header(self) -> &'static str {
        match self {
            Self::Header(name) => name,
            Self::Bearer => "authorization",
        }
    }
}

impl Endpoint {
    const fn complete(path: &'static str, format: &'static Format) -> Self {
        Self { verb: Verb::Post, path, purpose: Purpose::Complete(format) }
    }

    const fn count(path: &'static str, format: &'static Format) -> Self {
        Self { verb: Verb::Post, path, purpose: Purpose::Count(format) }
    }

    const fn list(path: &'static str) -> Self {
        Self { verb: Verb::Get, path, purpose: Purpose::List }
    }
}

impl Format {
    /// Returns whether a top-level key is passed on.
    pub fn takes(&self, key: &str) -> bool {
        self.keys.iter().any(|it| is_spelled(it, key))
    }
}

impl Verb {
    /// Returns whether `method` is this one.
    pub fn is(self, method: &Method) -> bool {
        match self {
            Self::Get => method == Method::GET,
            Self::Post => method == Method::POST,
        }
    }
}

impl ToolType {
    /// Returns whether `name` is of this type.
    pub fn fits(self, name: &str) -> bool {
        match self {
            Self::Is(known) => is_spelled(known, name),
            Self::Versions(known) => name.strip_prefix(known).is_some_and(is_version),
        }
    }
}

/// Returns whether `name` is `known`, or its other spelling: Google's servers take `toolConfig` and
/// `tool_config`, and both are listed as the first.
fn is_spelled(known: &str, name: &str) -> bool {
    let snake = known.chars().flat_map(|it| match it.is_ascii_uppercase() {
        true => [Some('_'), Some(it.to_ascii_lowercase())],
        false => [Some(it), None],
    });
    known == name || snake.flatten().eq(name.chars())
}

/// Returns whether what stands behind a name only says which version it is.
fn is_version(rest: &str) -> bool {
    let is_part = |part: &str| {
        matches!(part, "preview" | "latest")
            || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match rest.strip_prefix('_') {
        None => rest.is_empty(),
        Some(version) => version.split('_').all(is_part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_tool_are_told_from_other_tools() {
        let search = ToolType::Versions("web_search");
        for name in ["web_search", "web_search_20250305", "web_search_preview_2025_03_11"] {
            assert!(search.fits(name), "{name}");
        }
        for name in ["web_searcher", "web_search_", "web_search_x", "Web_search", "my_web_search"] {
            assert!(!search.fits(name), "{name}");
        }
        assert!(ToolType::Is("function").fits("function"));
        assert!(!ToolType::Is("function").fits("function_20250305"));
    }

    #[test]
    fn both_spellings_are_one_name() {
        let tool = ToolType::Is("urlContext");
        assert!(tool.fits("urlContext") && tool.fits("url_context"));
        for name in ["urlcontext", "URLContext", "url_Context", "url__context", "urlContext_", ""] {
            assert!(!tool.fits(name), "{name}");
        }
    }

    #[test]
    fn nothing_is_both_passed_on_and_removed() {
        for provider in Provider::ALL {
            let rules = rules(provider);
            assert_eq!(rules.provider, provider);
            for endpoint in rules.endpoints {
                let (Purpose::Complete(format) | Purpose::Count(format)) = endpoint.purpose else {
                    continue;
                };
                assert!(!format.removed_keys.iter().any(|it| format.takes(it)), "{provider}");
                for removed in format.removed_tools {
                    let (ToolType::Is(name) | ToolType::Versions(name)) = removed;
                    assert!(!format.tools.iter().any(|it| it.fits(name)), "{provider}: {name}");
                }
            }
        }
    }
}
