//! What the variables in a text of the shell hold: what the text gives them, or the environment that is written out.

use std::ffi::OsString;

use super::is_of_name;

/// The variables of a child, all of them.
type Environment<'a> = &'a [(OsString, OsString)];

/// Puts what variables hold in their place: nothing, if the child does not have them.
///
/// One that the text itself sets, or that has more in it than a path, is left to the shell.
pub(super) fn expanded(text: &str, environment: Environment<'_>) -> String {
    let (mut found, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        found.push_str(before);
        let braced = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let end = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
        let (name, behind) = match braced {
            Some((name, behind)) => (name, behind),
            None => after.split_at(end),
        };
        let value = value(name, text, environment).filter(|_| !before.ends_with('\\'));
        rest = if value.is_some() { behind } else { after };
        found.push_str(value.as_deref().unwrap_or("$"));
    }
    found.push_str(rest);
    found
}

fn value(name: &str, text: &str, environment: Environment<'_>) -> Option<String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_of_name);
    if !is_name {
        return None;
    }
    if let Some(value) = assigned(name, text) {
        return value;
    }
    let is_plain = |it: &str| it.chars().all(|c| c.is_alphanumeric() || "/._-+:@%,".contains(c));
    let known = environment.iter().find(|(known, _)| known == name);
    let known = known.map(|(_, value)| value.to_string_lossy().into_owned());
    match (known, name) {
        (Some(value), _) => Some(value).filter(|it| is_plain(it)),
        (None, "HOME") => Some("~".to_owned()),
        (None, "PWD" | "OLDPWD" | "SHELL" | "RANDOM" | "UID" | "PPID" | "HOSTNAME") => None,
        // Nobody else sets it.
        (None, _) => Some(String::new()),
    }
}

/// Returns what a text gives to a variable: `None` if it gives it nothing, nothing within if only the shell knows it.
#[expect(clippy::option_option, reason = "not set, and set to something unknown, are two things")]
fn assigned(name: &str, text: &str) -> Option<Option<String>> {
    let is_break = |c: char| c.is_whitespace() || ";&|()\"'`".contains(c);
    let words: Vec<&str> = text.split(is_break).collect();
    let sets =
        |it: &&&str| it.split_once('=').is_some_and(|(to, _)| to.trim_end_matches('+') == name);
    // `for X in …`, `read X`, `local X`.
    let is_named = words.contains(&name);
    let mut values = words.iter().filter(sets);
    match (values.next(), values.next(), is_named) {
        (None, _, false) => None,
        (Some(one), None, false) => {
            let value = one.split_once('=').map_or("", |(_, value)| value);
            let is_plain = !value.is_empty()
                && !one.contains("+=")
                && value.chars().all(|c| c.is_alphanumeric() || "/._-+:@%,~".contains(c));
            Some(is_plain.then(|| value.to_owned()))
        }
        _ => Some(None),
    }
}
