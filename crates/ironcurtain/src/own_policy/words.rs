//! Additions as words of the command line, so that what was added at a question can be taken back by them.

use clap::ValueEnum as _;
use ic_policy::Effect;
use ic_policy::additions::{Addition, Place};
use ic_types::Role;

/// What a call does to a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Verb {
    /// Read files
    Read,
    /// Create and change files
    Write,
    /// Delete files, or move them away
    Delete,
    /// Commit, branch and tag
    Commit,
    /// Rewrite or delete history
    Rewrite,
    /// Fetch web pages
    Fetch,
    /// Push, pull, clone
    Remote,
}

impl Verb {
    /// Returns the role of what it is done to.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Read => Role::ReadPath,
            Self::Write => Role::WritePath,
            Self::Delete => Role::DeletePath,
            Self::Commit => Role::WriteHistory,
            Self::Rewrite => Role::DeleteHistory,
            Self::Fetch => Role::FetchUrl,
            Self::Remote => Role::GitRemoteUrl,
        }
    }
}

/// Says how to take `additions` back from the policy that commands name with this `option`.
pub(crate) fn to_take_back(additions: &[Addition], option: Option<&str>) -> String {
    let commands: Option<Vec<String>> = additions.iter().map(command).collect();
    let option = option.unwrap_or_default();
    match commands.as_deref() {
        Some([command]) => format!("To take it back: {command}{option} --remove"),
        Some(_) | None => {
            "To take it back, take its sentences out: `ironcurtain policy edit`, with the name of the policy."
                .to_owned()
        }
    }
}

/// Returns the command that adds the same; `None` if there is none.
pub(crate) fn command(addition: &Addition) -> Option<String> {
    let word = match addition.effect() {
        Effect::Allow => "allow",
        Effect::Escalate => "ask",
        Effect::Deny => "never",
    };
    let mut command = format!("ironcurtain policy {word}");
    if let Some(server) = addition.server() {
        command.extend([" ", server.as_str()]);
    }
    if let Some(tool) = addition.tool() {
        command.extend([".", tool.as_str()]);
    }
    // Without roles, the command names those of a repository by itself.
    let is_repository =
        matches!(addition.place(), Some(Place::Host(host)) if host.names_repository());
    if let Some(roles) = addition.roles().filter(|_| !is_repository) {
        let verb = |role: &Role| Verb::value_variants().iter().find(|verb| verb.role() == *role);
        let names =
            roles.iter().map(|role| Some(verb(role)?.to_possible_value()?.get_name().to_owned()));
        command.extend([" --to ", &names.collect::<Option<Vec<_>>>()?.join(",")]);
    }
    match addition.place() {
        Some(Place::Directory(directory)) => command.extend([" --in ", &quoted(directory)?]),
        Some(Place::Host(host)) => command.extend([" --host ", &quoted(&host.to_string())?]),
        None => {}
    }
    Some(command)
}

/// Writes a word as a shell reads it; `None` if that would not be plain to see.
fn quoted(word: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "~/._-:".contains(c);
    if word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    // A tilde between quotes would be a name, and a quote or a mark that nobody sees would mislead.
    let is_quotable =
        |c: char| (c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ') && c != '\'';
    match word.strip_prefix("~/") {
        Some(rest) if rest.chars().all(is_quotable) => Some(format!("~/'{rest}'")),
        None if word.chars().all(is_quotable) => Some(format!("'{word}'")),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use ic_policy::DomainPattern;

    use super::*;

    fn addition(
        what: (&str, Option<&str>),
        roles: Option<&[Role]>,
        place: Option<Place>,
    ) -> String {
        let name = (Some(what.0.parse().unwrap()), what.1.map(|it| it.parse().unwrap()));
        let roles = roles.map(<[Role]>::to_vec);
        let addition = Addition::new(Effect::Allow, name, roles, place).unwrap();
        to_take_back(&[addition], None)
    }

    #[test]
    fn what_was_added_is_taken_back_by_the_same_words() {
        let directory = |text: &str| Some(Place::Directory(text.to_owned()));
        let host = |text: &str| Some(Place::Host(DomainPattern::parse(text).unwrap()));
        let read_write: &[Role] = &[Role::ReadPath, Role::WritePath];
        let (files, fetch) = (("filesystem", Some("write_file")), ("fetch", None));
        for (said, expected) in [
            (
                addition(files, Some(read_write), directory("~/notes")),
                "ironcurtain policy allow filesystem.write_file --to read,write --in ~/notes --remove",
            ),
            (
                addition(files, Some(read_write), directory("~/my notes")),
                "ironcurtain policy allow filesystem.write_file --to read,write --in ~/'my notes' --remove",
            ),
            (
                addition(fetch, None, host("*.docs.rs")),
                "ironcurtain policy allow fetch --host '*.docs.rs' --remove",
            ),
            (
                addition(("git", None), Some(&[Role::GitRemoteUrl]), host("a.example/b/c")),
                "ironcurtain policy allow git --host a.example/b/c --remove",
            ),
        ] {
            assert_eq!(said, format!("To take it back: {expected}"));
        }
        for odd in ["/a'b", "/a\u{202e}b", "/a\nb"] {
            let said = addition(files, Some(read_write), directory(odd));
            assert!(said.contains("`ironcurtain policy edit`"), "{said}");
        }
    }
}
