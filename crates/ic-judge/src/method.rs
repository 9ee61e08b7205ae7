//! The methods besides `tools/call` that are calls: judged as tools of their own names.
//!
//! A resource is judged by what its URI names: a `file:` URI is a path that is read, an `http` or `https`
//! URI is fetched, and what any other scheme means only the annotation says. A template of resources is
//! judged by as much of it as is certain. Nothing is sent from here.

mod uri;

pub use uri::file_uri;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ic_inventory::tool::Tool;
use ic_types::{Json, Object, ServerName, ToolCall};

use crate::judge::Judge;

/// The argument that says what kind of thing a URI names; written by us alone.
pub const SCHEME: &str = "scheme";
/// The URI; of a completion, what is certain of its template, and written by us alone.
pub const URI: &str = "uri";
/// What a completion is for.
const REF: &str = "ref";

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
            Self::Complete => (&[REF, "argument", "context", URI, SCHEME], &[REF, "argument"]),
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
    pub fn tool(self) -> Option<Arc<Tool>> {
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
    pub fn name_for(self, server: &ServerName) -> String {
        format!("{server}__{}", self.as_str())
    }

    /// Takes such a name apart.
    pub fn of_name(name: &str) -> Option<(&str, Self)> {
        let (server, method) = name.split_once("__")?;
        Some((server, Self::of(method)?))
    }

    /// Returns the parameters that are sent to the server, from the arguments that were judged.
    pub fn params(self, sent: &Object) -> Object {
        let mut params = sent.clone();
        if self == Self::GetPrompt {
            return params;
        }
        let is_path = params.remove(SCHEME).is_some_and(|it| it.as_str() == Some("file"));
        let judged = params.remove(URI).map(|judged| match (is_path, judged.as_str()) {
            // What was judged is what is sent.
            (true, Some(path)) => Json::from(file_uri(Path::new(path)).unwrap_or_default()),
            _ => judged,
        });
        match (self, judged) {
            (Self::Complete, Some(judged)) => put_back(&mut params, &judged, is_path),
            (_, Some(judged)) => params.insert(URI, judged),
            (_, None) => {}
        }
        params
    }
}

/// Writes what was judged of a template in the place of what was asked.
fn put_back(params: &mut Object, judged: &Json, is_path: bool) {
    let Some(Json::Object(reference)) = params.get_mut(REF) else { return };
    let (Some(template), Some(judged)) =
        (reference.get(URI).and_then(Json::as_str), judged.as_str())
    else {
        return;
    };
    let (_, rest) = uri::certain(template);
    let slash = match is_path && !rest.is_empty() && !judged.ends_with('/') {
        true => "/",
        false => "",
    };
    let template = format!("{judged}{slash}{rest}");
    reference.insert(URI, template);
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
                Some(CallMethod::ReadResource | CallMethod::Subscribe | CallMethod::Complete),
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
/// Says what is wrong with a URI that has to be denied, if so.
///
/// SECURITY: what a URI names is found out here and nowhere else; whatever the caller says of it is
/// written over.
pub(crate) fn spread(mut call: ToolCall) -> (ToolCall, Option<&'static str>) {
    let uri = match CallMethod::of(call.tool.as_str()) {
        Some(CallMethod::ReadResource | CallMethod::Subscribe) => call.arguments.remove(URI),
        Some(CallMethod::Complete) => {
            call.arguments.remove(URI);
            match call.arguments.get(REF) {
                Some(Json::Object(reference)) => reference.get(URI).cloned(),
                Some(_) | None => None,
            }
        }
        Some(CallMethod::GetPrompt) | None => return (call, None),
    };
    call.arguments.remove(SCHEME);
    let is_template = CallMethod::of(call.tool.as_str()) == Some(CallMethod::Complete);
    let Some(uri) = uri else { return (call, None) };
    let (uri, named, fault) = match uri {
        Json::String(uri) => {
            let fault = uri::fault(&uri);
            let certain = if is_template { uri::certain(&uri).0.to_owned() } else { uri };
            let (uri, named) = uri::named(certain);
            (Json::String(uri), named, fault)
        }
        other => (other, uri::Named::Other, Some("a URI is a string")),
    };
    call.arguments.insert(URI, uri);
    call.arguments.insert(SCHEME, named.as_str());
    (call, fault)
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
        let (once, fault) = spread(call);
        let arguments = once.arguments.clone();
        let (twice, _) = spread(once);
        assert_eq!(twice.arguments, arguments, "{uri}");
        assert_eq!(fault.is_some(), uri::fault(uri).is_some(), "{uri}");
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

    /// A template is judged by what is certain of it, and sent as it was judged.
    #[test]
    fn a_template_of_files_or_pages_is_judged_as_what_it_names() {
        for (template, judged, sent) in [
            ("file:///a/b{x}", Some(("/a/", "file")), "file:///a/b{x}"),
            ("file:///a%20b/{x}", Some(("/a b/", "file")), "file:///a%20b/{x}"),
            ("http://h/{x}", Some(("http://h/", "http")), "http://h/{x}"),
            ("demo://{x}", Some(("demo://", "other")), "demo://{x}"),
            ("", None, ""),
        ] {
            let mut reference = Object::new();
            reference.insert("type", "ref/resource");
            if !template.is_empty() {
                reference.insert("uri", template);
            }
            let mut arguments = Object::new();
            arguments.insert("ref", reference);
            arguments.insert("uri", "/of/the/callers/choice");
            arguments.insert("scheme", "other");
            let (server, tool) = ("s".parse().unwrap(), "completion/complete".parse().unwrap());
            let (call, fault) = spread(ToolCall { server, tool, arguments });
            assert_eq!(fault, None, "{template}");
            let text = |name: &str| call.arguments.get(name).and_then(Json::as_str);
            assert_eq!(text("uri").zip(text("scheme")), judged, "{template}");
            let params = CallMethod::Complete.params(&call.arguments);
            assert!(params.get("uri").is_none() && params.get("scheme").is_none());
            let Some(Json::Object(reference)) = params.get("ref") else { panic!("{template}") };
            let kept = reference.get("uri").and_then(Json::as_str).unwrap_or_default();
            assert_eq!(kept, sent, "{template}");
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
