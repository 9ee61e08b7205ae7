//! What happens if a call is approved, in one line of plain English.
//!
//! Made of the roles of the call and of what the session resolved them to, never of words of the agent's.
//! It says what the tool is asked to do; what a server does besides is not known here.

use ic_policy::Structural;
use ic_types::{Json, Role};

use super::{NAMED_MAX, View, is_petition, kept, push, value};
use crate::request::Request;

/// The longest value that is named, in characters; a longer one stands below, whole.
const NAMED_CHARS_MAX: usize = 160;

/// Says what happens if the call is approved; `None` if its headline says so already, or nothing is known.
pub(super) fn line(request: &Request) -> Option<String> {
    // Where nobody has confirmed what the tool does, what its arguments mean is a guess.
    let draft = Structural::Draft.as_str();
    let is_guess = request.causes.iter().any(|it| it.rule == draft) || request.rule == draft;
    if is_guess || is_petition(request) || kept::files(request).is_some() {
        return None;
    }
    let deeds = request.resolved.iter().filter(|(role, _)| *role != push::KEY);
    let deeds: Vec<String> = deeds.filter_map(|(role, it)| deed(role.parse().ok()?, it)).collect();
    let last = deeds.last()?;
    let deeds = match deeds.split_last() {
        Some((_, [])) | None => last.clone(),
        Some((last, others)) => format!("{}, and {last}", others.join(", ")),
    };
    Some(format!("  if approved, {} may {deeds}", request.server))
}

/// Says what is done to the values of a role; `None` for what is only passed on.
fn deed(role: Role, values: &Json) -> Option<String> {
    let verb = match role {
        Role::ReadPath => "read",
        Role::WritePath => return Some(written(values)),
        Role::DeletePath => "remove",
        Role::WriteHistory => "add to the history of",
        Role::DeleteHistory => "take something out of the history of",
        Role::FetchUrl => "fetch",
        Role::GitRemoteUrl => "talk to the repository",
        Role::GithubOwner => "act on repositories of",
        Role::GithubRepo => "act on the repository",
        Role::ProxyDomain => "connect to",
        Role::BranchName => "name the branch",
        Role::EmailAddress => "write to",
        Role::SharePermission => "give the right",
        Role::CommitMessage | Role::EmailBody | Role::None => return None,
    };
    let items = items(values);
    // Where it goes may depend on the repository, and that it goes somewhere has to be said all the same.
    if role == Role::GitRemoteUrl && items.is_empty() {
        return Some("talk to a repository that is not known".to_owned());
    }
    (!items.is_empty()).then(|| format!("{verb} {}", named(&items)))
}

/// Tells what would be made from what would be changed.
fn written(values: &Json) -> String {
    let kind = |it: &Json| match it {
        Json::Object(object) => object.get("kind").and_then(Json::as_str).map(str::to_owned),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    };
    let (mut new, mut files, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for it in items(values) {
        match kind(it).as_deref() {
            None => new.push(it),
            Some("file") => files.push(it),
            Some(_) => others.push(it),
        }
    }
    let parts = [("create", new), ("change", files), ("write in", others)];
    let parts = parts.iter().filter(|(_, items)| !items.is_empty());
    let parts: Vec<String> =
        parts.map(|(verb, items)| format!("{verb} {}", named(items))).collect();
    parts.join(", ")
}

fn items(values: &Json) -> Vec<&Json> {
    match values {
        Json::Array(values) => values.iter().collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
            vec![values]
        }
    }
}

/// Names the first few; all of them stand below, role by role.
fn named(items: &[&Json]) -> String {
    let name = |it: &&Json| {
        let shown = match it {
            Json::Object(object) => {
                value(object.get("path").or_else(|| object.get("url")).unwrap_or(it), View::Full)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                value(it, View::Full)
            }
        };
        // SECURITY: it is named as a whole or not at all, since what matters may stand in its middle.
        match shown.chars().count() <= NAMED_CHARS_MAX {
            true => shown,
            false => "what is named below".to_owned(),
        }
    };
    let mut names: Vec<String> = items.iter().take(NAMED_MAX).map(name).collect();
    if NAMED_MAX < items.len() {
        names.push(format!("and {} more", items.len() - NAMED_MAX));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    #[test]
    fn every_role_that_does_something_has_a_verb() {
        for (role, values, expected) in [
            ("write-path", r#"[{"path":"/d/a"}]"#, Some(r#"create "/d/a""#)),
            ("write-path", r#"[{"path":"/d/a","kind":"file"}]"#, Some(r#"change "/d/a""#)),
            ("write-path", r#"[{"path":"/d","kind":"directory"}]"#, Some(r#"write in "/d""#)),
            (
                "write-path",
                r#"[{"path":"/d/a","kind":"file"},{"path":"/d/b"}]"#,
                Some(r#"create "/d/b", change "/d/a""#),
            ),
            (
                "read-path",
                r#"[{"path":"/1"},{"path":"/2"},{"path":"/3"},{"path":"/4"},{"path":"/5"}]"#,
                Some(r#"read "/1", "/2", "/3", and 2 more"#),
            ),
            ("delete-path", r#"[{"path":"/d\u001b[2J"}]"#, Some(r#"remove "/d\u001b[2J""#)),
            (
                "fetch-url",
                r#"[{"url":"https://a.org/x","destination":"a.org:443"}]"#,
                Some(r#"fetch "https://a.org/x""#),
            ),
            ("email-address", r#"["bob@example.com"]"#, Some(r#"write to "bob@example.com""#)),
            ("git-remote-url", "[]", Some("talk to a repository that is not known")),
            ("commit-message", r#"["anything"]"#, None),
            ("read-path", "[]", None),
        ] {
            let values = Json::parse(values.as_bytes(), JsonLimits::CALL).unwrap();
            let said = deed(role.parse().unwrap(), &values);
            assert_eq!(said.as_deref(), expected, "{role}");
        }
    }
}
