//! What a server asks of a client: its model (sampling), or its person (elicitation); and what a cage asks of the
//! host: packages of a registry.
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

/// As what it is judged whether a cage may read packages of a registry.
pub const REGISTRY: &str = "ironcurtain/registry";

/// What texts hold that ask for things which nobody should type into a form, without what stands between
/// letters.
const SECRETS: [&str; 22] = [
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
    "seedphrase",
    "seedword",
    "recoveryphrase",
    "recoverycode",
    "recoverykey",
    "backupcode",
    "mnemonic",
    "onetime",
    "verificationcode",
    "securitycode",
    "socialsecurity",
];
/// The same, where they are words of their own; in other words they mean nothing.
const SECRET_WORDS: [&str; 8] = ["pin", "otp", "totp", "ssn", "cvv", "cvc", "2fa", "mfa"];
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
    if tool.as_str() == REGISTRY {
        let detail = format!(
            "programs in the cage of `{server}` want to read packages of a registry; the names that they ask for \
             leave this machine"
        );
        return vec![Finding::structural(Structural::ServerRequest, detail)];
    }
    let what = match tool.as_str() {
        SAMPLING => "to let the client's model answer what it wrote",
        ELICITATION => "a person to fill in a form that it wrote",
        _ => "for something of the client's",
    };
    let detail = format!("the server `{server}` itself asks {what}; no agent called this");
    let mut findings = vec![Finding::structural(Structural::ServerRequest, detail)];
    let secret = fields(call.sent()).find(|(name, field)| is_secret(name) || holds_secret(field));
    if let Some((name, _)) = secret {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let detail = format!(
            "the field `{}` looks like a secret, which the protocol forbids a form to ask for",
            name.escape_debug()
        );
        findings.push(Finding::structural(Structural::ServerRequest, detail));
    }
    if tool.as_str() == ELICITATION && is_said(call.sent()) {
        let detail = "what is said over the form speaks of a secret, which the protocol forbids a form to \
                      ask for";
        findings.push(Finding::structural(Structural::ServerRequest, detail.to_owned()));
    }
    findings
}

/// Returns whether what stands over the fields of a form speaks of a secret.
fn is_said(arguments: &Object) -> bool {
    let schema = match arguments.get("requestedSchema") {
        Some(Json::Object(schema)) => Some(schema),
        _ => None,
    };
    let of_schema = |key: &str| schema.and_then(|schema| schema.get(key));
    let said = [arguments.get("message"), of_schema("title"), of_schema("description")];
    said.into_iter().flatten().any(holds_secret)
}

/// Returns whether any text in what is said of a field speaks of a secret: a label, a choice, anything.
fn holds_secret(said: &Json) -> bool {
    match said {
        Json::String(text) => is_secret(text),
        Json::Array(items) => items.iter().any(holds_secret),
        Json::Object(object) => object.iter().any(|(_, it)| holds_secret(it)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Returns whether a text speaks of a secret, as far as spelling tells: letters of other alphabets that
/// look alike, and other languages, are not known.
fn is_secret(text: &str) -> bool {
    let (mut letters, mut words) = (String::new(), vec![String::new()]);
    let mut was_lower = false;
    for c in text.chars().map(narrow) {
        let is_hump = was_lower && c.is_uppercase();
        was_lower = c.is_lowercase();
        if !c.is_alphanumeric() || is_hump {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            letters.extend(c.to_lowercase());
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
    }
    SECRETS.iter().any(|secret| letters.contains(secret))
        || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// Returns a full-width letter, digit or sign as the one that it is a wide form of.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_a_secret_is_known_by_its_words() {
        for text in [
            "api_key",
            "API-Key",
            "Your bank PIN and one-time code",
            "bankPin",
            "PIN",
            "OTP",
            "your SSN:",
            "Recovery phrase word one",
            "ｐａｓｓｗｏｒｄ",
            "ＰＩＮ",
            "one time password",
            "cvv",
            "Social Security number",
        ] {
            assert!(is_secret(text), "{text}");
        }
        for text in
            ["name", "spinner", "opinion", "pinned", "Spinat", "standard", "hotpot", "colour"]
        {
            assert!(!is_secret(text), "{text}");
        }
    }

    #[test]
    fn a_secret_is_looked_for_in_every_text_of_a_field() {
        let json = |text: &str| Json::parse(text.as_bytes(), ic_types::JsonLimits::CALL).unwrap();
        for field in [
            r#"{"type":"string","title":"Your PIN","description":"favourite colour"}"#,
            r#"{"type":"string","oneOf":[{"const":"x","title":"Recovery phrase"}]}"#,
            r#"{"type":"string","enum":["x"],"enumNames":["my password"]}"#,
            r#"{"type":"array","items":{"anyOf":[{"const":"otp"}]}}"#,
            r#"{"type":"string","default":"password"}"#,
        ] {
            assert!(holds_secret(&json(field)), "{field}");
        }
        assert!(!holds_secret(&json(r#"{"type":"string","title":"Colour","minLength":1}"#)));
        for (form, expected) in [
            (r#"{"message":"your PIN, please"}"#, true),
            (r#"{"message":"m","requestedSchema":{"title":"Password"}}"#, true),
            (r#"{"message":"m","requestedSchema":{"description":"type your token"}}"#, true),
            (r#"{"message":"m","requestedSchema":{"title":"Colour"}}"#, false),
        ] {
            let Json::Object(form_of) = json(form) else { panic!("{form}") };
            assert_eq!(is_said(&form_of), expected, "{form}");
        }
    }
}
