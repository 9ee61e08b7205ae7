//! What a server asks of a client: its model (sampling), or its person (elicitation).
//!
//! Such a petition is no call of an agent, and nothing in it is a resource: a person decides, whatever
//! the rules say. Which servers may ask at all, and whom, is not known here.

use ic_types::{Json, Object};

use crate::call::ResolvedCall;
use crate::finding::{Finding, Structural};

/// The method by which a server asks for an answer of the client's model.
pub const SAMPLING: &str = "sampling/createMessage";
/// The method by which a server asks a person.
pub const ELICITATION: &str = "elicitation/create";

/// What the names of things hold that nobody should type into a form.
const SECRETS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cardnumber",
    "cvv",
    "seedphrase",
];
/// How much of a name is repeated in a reason.
const NAME_CHARS_MAX: usize = 40;

/// Returns the fields that a form asks for, in the server's order.
pub fn fields(arguments: &Object) -> impl Iterator<Item = (&str, &Json)> {
    let properties = match arguments.get("requestedSchema") {
        Some(Json::Object(schema)) => schema.get("properties"),
        _ => None,
    };
    let properties = match properties {
        Some(Json::Object(properties)) => Some(properties),
        _ => None,
    };
    properties.into_iter().flat_map(Object::iter)
}

/// Returns what speaks for or against a petition: always that a person has to be asked.
pub(crate) fn findings(call: &ResolvedCall) -> Vec<Finding> {
    let (server, tool) = (call.server(), call.tool());
    let what = match tool.as_str() {
        SAMPLING => "to let the client's model answer what it wrote",
        ELICITATION => "a person to fill in a form that it wrote",
        _ => "for something of the client's",
    };
    let detail = format!("the server `{server}` itself asks {what}; no agent called this");
    let mut findings = vec![Finding::structural(Structural::ServerRequest, detail)];
    let secret = fields(call.sent()).find(|(name, field)| is_secret(name, field));
    if let Some((name, _)) = secret {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let detail = format!(
            "the field `{}` looks like a secret, which the protocol forbids a form to ask for",
            name.escape_debug()
        );
        findings.push(Finding::structural(Structural::ServerRequest, detail));
    }
    findings
}

/// Returns whether a field looks as if it asked for a secret, by its name or by what is said of it.
fn is_secret(name: &str, field: &Json) -> bool {
    let said = |key: &str| match field {
        Json::Object(field) => field.get(key).and_then(Json::as_str).unwrap_or_default(),
        _ => "",
    };
    [name, said("title"), said("description")].into_iter().any(|text| {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        let letters: String = letters.flat_map(char::to_lowercase).collect();
        SECRETS.iter().any(|secret| letters.contains(secret))
    })
}
