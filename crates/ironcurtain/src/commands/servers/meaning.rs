//! What an argument is taken for, in words: the roles of the policy as a person would say them.
//!
//! Which roles an argument has is decided elsewhere.

use ic_types::{Json, Role};

/// A choice of meanings that covers most arguments: the words, and the roles that they stand for.
pub(super) const MEANINGS: [(&str, &[&str]); 8] = [
    ("data (not a path or an address)", &["none"]),
    ("a path that is read", &["read-path"]),
    ("a path that is written", &["write-path"]),
    ("a path that is read and written", &["read-path", "write-path"]),
    ("a path that is deleted", &["delete-path"]),
    ("a path that is read, written or deleted", &["read-path", "write-path", "delete-path"]),
    ("a web address that is fetched", &["fetch-url"]),
    ("a git remote", &["git-remote-url"]),
];

/// Says what the roles of an argument mean; roles without words of their own are named.
pub(super) fn words(roles: &Json) -> String {
    let Json::Array(named) = roles else {
        return "depends on the other arguments".to_owned();
    };
    let named: Vec<&str> = named.iter().filter_map(Json::as_str).collect();
    let known = MEANINGS.iter().find(|(_, roles)| {
        roles.len() == named.len() && roles.iter().all(|role| named.contains(role))
    });
    match known {
        Some((words, _)) => (*words).to_owned(),
        None => named.join(", "),
    }
}

/// Reads roles that are written as `read-path,write-path`.
pub(super) fn roles(text: &str) -> Result<Vec<Json>, String> {
    let role = |name: &str| name.trim().parse::<Role>().map(|role| Json::from(role.as_str()));
    text.split(',').map(role).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_made_of_roles_and_has_its_words_back() {
        for (expected, named) in MEANINGS {
            let read = roles(&named.join(",")).unwrap();
            assert_eq!(words(&Json::Array(read)), expected);
        }
        assert_eq!(
            words(&Json::Array(roles("delete-path,read-path").unwrap())),
            "delete-path, read-path"
        );
        assert!(roles("read").is_err() && roles("").is_err());
    }
}
