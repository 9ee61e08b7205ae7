//! Additions as sentences of a constitution, in the plain form that `compile-policy` reads.

use ic_constitution::{Deed, Directory, HostPlace, Place, Sentence, Verb, With, parse};
use ic_policy::additions::{self, Addition};
use ic_types::Role;

/// Returns the sentence that says the same as `addition`; `None` if there is no plain form of it.
pub(crate) fn sentence(addition: &Addition) -> Option<String> {
    let verb = |role: &Role| Verb::all().find(|verb| verb.row().roles == [*role]);
    let verbs = addition.roles()?.iter().map(verb).collect::<Option<Vec<Verb>>>()?;
    let place = match addition.place() {
        None => Place::Unsaid,
        Some(additions::Place::Directory(at)) => {
            Place::Directories(vec![Directory::At(at.clone())])
        }
        Some(additions::Place::Host(host)) => Place::Hosts(vec![HostPlace::Pattern(host.clone())]),
    };
    let server = addition.server().cloned();
    let with = server.map(|server| With { server, tool: addition.tool().cloned() });
    let meant = Sentence {
        effect: addition.effect(),
        is_only: false,
        deed: Deed::Verbs(verbs),
        place,
        with: with.into_iter().collect(),
        reason: None,
        line: 1,
        text: String::new(),
    };
    let text = meant.to_string();
    // SECURITY: what a person reads has to be what the compiler would understand, whatever a name contains.
    let read = parse(&text).ok()?.sentences;
    let [read] = read.as_slice() else { return None };
    let is_same = Sentence { text: String::new(), line: 1, ..read.clone() } == meant;
    is_same.then_some(text)
}

#[cfg(test)]
mod tests {
    use ic_policy::{DomainPattern, Effect};

    use super::*;

    #[track_caller]
    fn check(effect: Effect, roles: &[Role], place: &str, tool: Option<&str>, expected: &str) {
        let place = match place.starts_with(['~', '/']) {
            true => additions::Place::Directory(place.to_owned()),
            false => additions::Place::Host(DomainPattern::parse(place).unwrap()),
        };
        let names = (Some("filesystem".parse().unwrap()), tool.map(|it| it.parse().unwrap()));
        let addition = Addition::new(effect, names, Some(roles.to_vec()), Some(place)).unwrap();
        assert_eq!(sentence(&addition).as_deref().unwrap_or("none"), expected);
    }

    #[test]
    fn an_addition_is_written_as_a_sentence_that_means_it() {
        use Effect::{Allow, Deny, Escalate};
        use Role::{FetchUrl, GitRemoteUrl, ReadPath, WritePath};
        check(
            Allow,
            &[ReadPath],
            "~/notes",
            Some("read_file"),
            "The agent may read files in ~/notes with read_file of filesystem.",
        );
        check(
            Allow,
            &[ReadPath, WritePath],
            "~/my notes",
            None,
            "The agent may read and write files in `~/my notes` with filesystem.",
        );
        check(
            Escalate,
            &[WritePath],
            "/srv",
            None,
            "Ask before writing files in /srv with filesystem.",
        );
        check(
            Deny,
            &[FetchUrl],
            "https://docs.rs",
            None,
            "The agent must never fetch pages from https://docs.rs with filesystem.",
        );
        check(
            Allow,
            &[GitRemoteUrl],
            "github.com/acme/tools",
            None,
            "The agent may deal with remotes at github.com/acme/tools with filesystem.",
        );
    }

    #[test]
    fn a_name_that_would_read_as_something_else_has_no_sentence() {
        for odd in ["~/a`b", "~/a\nEverything else is refused"] {
            check(Effect::Allow, &[Role::ReadPath], odd, None, "none");
        }
    }
}
