//! The methods besides `tools/call` that are calls: judged as tools of their own names.
//!
//! A resource is judged by what its URI names: a `file:` URI is a path that is read, an `http` or `https`
//! URI is fetched, and what any other scheme means only the annotation says. Nothing is sent from here.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ic_types::{Json, Object, ServerName, ToolCall};

use crate::broker::file_uri;
use crate::judge::Judge;
use crate::tool::Tool;

/// The argument that says what kind of thing a URI names; written by us alone.
const SCHEME: &str = "scheme";
const URI: &str = "uri";

/// A method that is a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CallMethod {
    /// `resources/read`.
    ReadResource,
    /// `resources/subscribe`.
    Subscribe,
    /// `prompts/get`.
    GetPrompt,
    /// `completion/complete`.
    Complete,
}

impl CallMethod {
    /// Every such method.
    pub const ALL: [Self; 4] =
        [Self::ReadResource, Self::Subscribe, Self::GetPrompt, Self::Complete];

    /// Returns its name, which is also that of the tool as which it is judged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }

    /// Returns the method of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// Returns the capability of a server that has it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::ReadResource | Self::Subscribe => "resources",
            Self::GetPrompt => "prompts",
            Self::Complete => "completions",
        }
    }

    /// Returns whether the policy of `judge` knows it for `server`, and so whether it may be asked for.
    pub fn is_known(self, judge: &Judge, server: &ServerName) -> bool {
        let tool = self.tool();
        tool.is_some_and(|tool| judge.policy.annotation(server, &tool.name).is_some())
    }

    /// Returns what its parameters are, as an entry of a list of tools.
    pub fn listed(self) -> Object {
        let (properties, required): (&[&str], &[&str]) = match self {
            Self::ReadResource | Self::Subscribe => (&[URI, SCHEME], &[URI]),
            Self::GetPrompt => (&["name", "arguments"], &["name"]),
            Self::Complete => (&["ref", "argument", "context"], &["ref", "argument"]),
        };
        let kind = |name: &str| match name {
            "arguments" | "ref" | "argument" | "context" => "object",
            _ => "string",
        };
        let mut schemas = Object::new();
        for name in properties {
            let mut schema = Object::new();
            schema.insert("type", kind(name));
            schemas.insert(*name, schema);
        }
        let mut schema = Object::new();
        schema.insert("type", "object");
        schema.insert("properties", schemas);
        let required: Vec<Json> = required.iter().map(|name| Json::from(*name)).collect();
        schema.insert("required", required);
        schema.insert("additionalProperties", false);
        let mut listed = Object::new();
        listed.insert("name", self.as_str());
        listed.insert("inputSchema", schema);
        listed
    }

    /// Returns the tool as which it is judged.
    pub(crate) fn tool(self) -> Option<Arc<Tool>> {
        static TOOLS: LazyLock<Vec<(CallMethod, Arc<Tool>)>> = LazyLock::new(|| {
            let tool = |method: CallMethod| {
                let tool = Tool::read(Json::Object(method.listed())).ok()?;
                Some((method, Arc::new(tool)))
            };
            CallMethod::ALL.into_iter().filter_map(tool).collect()
        });
        TOOLS.iter().find(|(method, _)| *method == self).map(|(_, tool)| Arc::clone(tool))
    }

    /// Returns the name under which the broker knows it for a server.
    pub(crate) fn name_for(self, server: &ServerName) -> String {
        format!("{server}__{}", self.as_str())
    }

    /// Takes such a name apart.
    pub(crate) fn of_name(name: &str) -> Option<(&str, Self)> {
        let (server, method) = name.split_once("__")?;
        Some((server, Self::of(method)?))
    }

    /// Returns the parameters that are sent to the server, from the arguments that were judged.
    pub(crate) fn params(self, sent: &Object) -> Object {
        let mut params = sent.clone();
        if let Self::GetPrompt | Self::Complete = self {
            return params;
        }
        let is_path = params.remove(SCHEME).is_some_and(|it| it.as_str() == Some("file"));
        if let (true, Some(path)) = (is_path, params.get(URI).and_then(Json::as_str)) {
            // What was judged is what is sent.
            let uri = file_uri(Path::new(path)).unwrap_or_default();
            params.insert(URI, uri);
        }
        params
    }
}

/// Writes annotations of resources so that a URI is judged as what it names, whatever else they say.
///
/// What a scheme of a server's own means stays as it is written.
pub fn annotate_uris(annotations: &mut Object) {
    let Some(Json::Object(servers)) = annotations.get_mut("servers") else { return };
    let names: Vec<String> = servers.keys().map(str::to_owned).collect();
    for name in names {
        let Some(Json::Object(server)) = servers.get_mut(&name) else { continue };
        let Some(Json::Array(tools)) = server.get_mut("tools") else { continue };
        for tool in tools {
            let Json::Object(tool) = tool else { continue };
            let method = tool.get("toolName").and_then(Json::as_str).and_then(CallMethod::of);
            let (
                Some(CallMethod::ReadResource | CallMethod::Subscribe),
                Some(Json::Object(arguments)),
            ) = (method, tool.get_mut("args"))
            else {
                continue;
            };
            let own = match arguments.remove(URI) {
                Some(Json::Object(mut own)) => {
                    own.remove("default").or_else(|| own.remove("roles"))
                }
                own => own,
            };
            let role = |role: &str| Json::Array(vec![Json::from(role)]);
            let when = |scheme: &str, roles: Json| {
                let mut condition = Object::new();
                condition.insert("arg", SCHEME);
                condition.insert("equals", scheme);
                let mut when = Object::new();
                when.insert("condition", condition);
                when.insert("roles", roles);
                Json::Object(when)
            };
            let mut uri = Object::new();
            uri.insert("default", own.unwrap_or_else(|| role("none")));
            uri.insert(
                "when",
                vec![when("file", role("read-path")), when("http", role("fetch-url"))],
            );
            arguments.insert(URI, uri);
            arguments.insert(SCHEME, role("none"));
        }
    }
}

/// Writes the arguments of a call so that they can be judged; doing it twice changes nothing.
///
/// SECURITY: what a URI names is found out here and nowhere else; whatever the caller says of it is
/// written over.
pub(crate) fn spread(mut call: ToolCall) -> ToolCall {
    let method = CallMethod::of(call.tool.as_str());
    if let Some(CallMethod::ReadResource | CallMethod::Subscribe) = method {
        let uri = call.arguments.remove(URI);
        call.arguments.remove(SCHEME);
        let (uri, scheme) = match uri {
            Some(Json::String(uri)) => {
                let (uri, scheme) = named(uri);
                (Some(Json::String(uri)), scheme)
            }
            other => (other, "other"),
        };
        if let Some(uri) = uri {
            call.arguments.insert(URI, uri);
        }
        call.arguments.insert(SCHEME, scheme);
    }
    call
}

/// Says what a URI names, and writes it so.
fn named(uri: String) -> (String, &'static str) {
    if uri.starts_with('/') {
        return (uri, "file");
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        // What is no path stays as it is, and is denied as none.
        Some("file") => match path_of(&uri) {
            Some(path) => (path, "file"),
            None => (uri, "file"),
        },
        Some("http" | "https") => (uri, "http"),
        _ => (uri, "other"),
    }
}

/// Reads the path of a `file:` URI; one on another machine, or with anything besides a path, is none.
fn path_of(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once(':')?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            matches!(host, "" | "localhost").then(|| rest.get(host.len()..)).flatten()?
        }
        None => rest,
    };
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    let path = String::from_utf8(bytes).ok()?;
    // Another spelling of the root could stand for something else to another program.
    PathBuf::from(&path).is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(uri: &str) -> String {
        let mut arguments = Object::new();
        arguments.insert("uri", uri);
        arguments.insert("scheme", "other");
        let call = ToolCall {
            server: "s".parse().unwrap(),
            tool: "resources/read".parse().unwrap(),
            arguments,
        };
        let once = spread(call);
        let arguments = once.arguments.clone();
        let twice = spread(once);
        assert_eq!(twice.arguments, arguments, "{uri}");
        Json::Object(arguments).to_string()
    }

    /// Whoever calls says nothing about what a URI names, and no spelling makes a path anything else.
    #[test]
    fn a_uri_is_judged_as_what_it_names() {
        for (uri, expected) in [
            ("file:///a/b", r#"{"uri":"/a/b","scheme":"file"}"#),
            ("FILE:///a%20b/%2e%2e/c", r#"{"uri":"/a b/../c","scheme":"file"}"#),
            ("file://localhost/a", r#"{"uri":"/a","scheme":"file"}"#),
            ("file:/a", r#"{"uri":"/a","scheme":"file"}"#),
            ("/etc/passwd", r#"{"uri":"/etc/passwd","scheme":"file"}"#),
            // These are no paths, and a path is what they are judged as.
            ("file://elsewhere/a", r#"{"uri":"file://elsewhere/a","scheme":"file"}"#),
            ("file:a", r#"{"uri":"file:a","scheme":"file"}"#),
            ("file:///a?b", r#"{"uri":"file:///a?b","scheme":"file"}"#),
            ("file:///a%", r#"{"uri":"file:///a%","scheme":"file"}"#),
            ("file:///%ff", r#"{"uri":"file:///%ff","scheme":"file"}"#),
            ("HTTPS://a.example", r#"{"uri":"HTTPS://a.example","scheme":"http"}"#),
            ("demo://x", r#"{"uri":"demo://x","scheme":"other"}"#),
            ("", r#"{"uri":"","scheme":"other"}"#),
        ] {
            assert_eq!(judged(uri), expected, "{uri}");
        }
    }

    #[test]
    fn what_is_sent_is_what_was_judged() {
        let mut sent = Object::new();
        sent.insert("uri", "/a b/c");
        sent.insert("scheme", "file");
        let params = CallMethod::ReadResource.params(&sent);
        assert_eq!(Json::Object(params).to_string(), r#"{"uri":"file:///a%20b/c"}"#);
        let mut sent = Object::new();
        sent.insert("uri", "demo://x");
        sent.insert("scheme", "other");
        let params = CallMethod::Subscribe.params(&sent);
        assert_eq!(Json::Object(params).to_string(), r#"{"uri":"demo://x"}"#);
    }

    #[test]
    fn every_method_has_a_tool_and_a_name() {
        for method in CallMethod::ALL {
            assert_eq!(method.tool().unwrap().name.as_str(), method.as_str());
            let name = method.name_for(&"a".parse().unwrap());
            assert_eq!(CallMethod::of_name(&name), Some(("a", method)));
        }
        assert_eq!(CallMethod::of_name("a__tools/call"), None);
    }
}
