//! Servers by address, as other clients write them.
//!
//! Which of them can be reached is found out when one is added; what can be seen without that, another
//! transport or a secret in the address, is said here.

use serde_json::{Map, Value};
use url::Url;

use super::clients::Shape;
use super::entry::{pairs, text};
use super::headers::KeptHeaders;
use super::references::{Context, Gathered, Place, Why};
use super::secrets::{is_secret_text, is_variable};
use crate::commands::servers::plan::Far;

/// Reads a server by address; `None` if the entry names no address.
pub(super) fn read(
    context: &Context<'_>,
    shape: Shape,
    entry: &Map<String, Value>,
) -> Option<Result<(Far, Gathered), String>> {
    let url = ["url", "uri", "serverUrl"].into_iter().find_map(|key| text(entry, key))?;
    Some(read_at(context, shape, entry, url))
}

fn read_at(
    context: &Context<'_>,
    shape: Shape,
    entry: &Map<String, Value>,
    url: &str,
) -> Result<(Far, Gathered), String> {
    match text(entry, "type") {
        None
        | Some("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "remote") => {}
        Some("sse") => {
            return Err("it speaks the older transport with two endpoints (`sse`), which is not \
                        spoken here; most such servers have a streamable HTTP address as well"
                .to_owned());
        }
        Some(_) => return Err("it speaks a transport that is not spoken here".to_owned()),
    }
    let (url, mut gathered) =
        context.translate(Place::Address, url, &[]).map_err(|_| SECRET_ADDRESS.to_owned())?;
    check_address(&url)?;
    let written = match shape {
        Shape::Codex => "http_headers",
        Shape::Usual | Shape::Goose | Shape::OpenCode => "headers",
    };
    let mut kept = KeptHeaders::of(context, pairs(entry, written)?)?;
    if let Shape::Codex = shape {
        let mut named = pairs(entry, "env_http_headers")?;
        let n_plain = named.len();
        named.extend(
            text(entry, "bearer_token_env_var")
                .map(|it| ("Authorization".to_owned(), it.to_owned())),
        );
        for (at, (header, variable)) in named.into_iter().enumerate() {
            // SECURITY: what is no name could be anything, and would be printed as one.
            if !is_variable(&variable) {
                return Err("one of its variables has an invalid name".to_owned());
            }
            let scheme = if at < n_plain { "" } else { "Bearer " };
            kept.refer(header, scheme, context.variable(&variable, Why::Named));
        }
    }
    gathered.extend(kept.gathered);
    Ok((Far { url, headers: kept.headers }, gathered))
}

const SECRET_ADDRESS: &str = "its address holds a secret, or what may be one, or refers to one, and an address \
     stands in the entry as it is; if the server takes the secret in a header, add it with `servers add NAME \
     --url URL --header 'NAME: ${ENV:…}'`, and if there is none in it, with `servers add NAME --url URL`";

/// Refuses an address that would have to be copied with a secret in it; it is not repeated.
fn check_address(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| "its address is not a URL".to_owned())?;
    if url.scheme() != "https" {
        return Err("only `https://` servers are used".to_owned());
    }
    let has_user = !url.username().is_empty() || url.password().is_some();
    match has_user || is_secret_text(text) {
        true => Err(SECRET_ADDRESS.to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_secret_is_not_copied() {
        for address in [
            "https://me:hunter2@a.example/mcp",
            "https://a.example/mcp?api_key=hunter2",
            "https://a.example/mcp?x=1&accessToken=hunter2",
            "https://a.example/s/hunter2hunter2hunter2/mcp",
            "https://a.example/mcp?q=hunter2hunter2hunter2",
            "https://a.example/mcp#hunter2hunter2hunter2",
            "https://a.example/01234567-89ab-cdef-0123-456789abcdef",
            "http://a.example/mcp",
            "a.example",
        ] {
            let refused = check_address(address).unwrap_err();
            assert!(!refused.contains("hunter2") && !refused.contains("a.example"), "{refused}");
        }
        assert_eq!(check_address("https://a.example/mcp?version=2"), Ok(()));
    }
}
