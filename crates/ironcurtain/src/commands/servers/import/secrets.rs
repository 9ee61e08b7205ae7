//! Keeps secrets out of what is imported: a variable stands in their place.
//!
//! Known by the name that they are given, or by their shape. Better one too many: a variable that stands
//! for something harmless has to be set once, and a secret that was copied stays copied.

use ic_audit::Redactor;
use url::Url;

/// Words in names of variables, options and headers that hold secrets.
const NAMES: [&str; 17] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "pat",
    "bearer",
    "cookie",
    "dsn",
    "jwt",
];

/// The shortest part of an address that may be a secret, in characters, if letters and digits are mixed
/// in it.
const PART_CHARS_MIN: usize = 16;

/// What is left, and which variables stand for what was taken out.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) secrets: Vec<String>,
}

/// Takes the secrets out of how the server `name` is started.
pub(super) fn keep_out(name: &str, words: Vec<String>, env: Vec<(String, String)>) -> Kept {
    let redactor = Redactor::new([]);
    let mut kept = Kept::default();
    let mut after_option = false;
    for (at, word) in words.into_iter().enumerate() {
        let is_shaped = redactor.text(&word) != word
            || has_user_information(&word)
            || is_secret_address(&word)
            || word.split_once('=').is_some_and(|(_, value)| is_secret_address(value));
        let option = match word.split_once('=') {
            Some((option, _)) if option.starts_with('-') => Some(option),
            _ => None,
        };
        // What stays of a word that is, or holds, a secret.
        let stays = match (naming(&word), option) {
            (Some(naming), _) => Some(naming.to_owned()),
            (None, Some(option)) if is_shaped => Some(format!("{option}=")),
            (None, None) if is_shaped || after_option => Some(String::new()),
            (None, _) => None,
        };
        after_option = option.is_none() && word.starts_with('-') && is_secret_name(&word);
        match stays {
            Some(stays) => {
                let variable = format!("{}_ARG_{at}", constant(name));
                kept.command.push(format!("{stays}${{ENV:{variable}}}"));
                kept.secrets.push(variable);
            }
            None => kept.command.push(word),
        }
    }
    for (variable, value) in env {
        let is_reference = value.starts_with("${") && value.ends_with('}');
        let is_secret = is_secret_name(&variable)
            || redactor.text(&value) != value
            || has_user_information(&value)
            || is_secret_address(&value);
        // Other clients' references mean nothing here, and would be passed on as they are written.
        match is_secret || is_reference {
            true => {
                kept.env.push((variable.clone(), format!("${{ENV:{variable}}}")));
                kept.secrets.push(variable);
            }
            false => kept.env.push((variable, value)),
        }
    }
    kept
}

/// Returns whether a name says that a secret follows.
pub(super) fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| NAMES.contains(&word))
        || NAMES.iter().any(|it| 4 < it.len() && lower.contains(it))
}

/// Returns the beginning of a word that says that a secret follows in it: `--key=`, `NAME=`, `NAME:`,
/// `--header=NAME:`.
fn naming(word: &str) -> Option<&str> {
    let at = word.find(['=', ':'])?;
    let (name, value) = (word.get(..at)?, word.get(at + 1..)?);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match is_name && is_secret_name(name) && !value.is_empty() {
        true => word.get(..=at),
        false if word.get(at..)?.starts_with('=') => word.get(..=at + naming(value)?.len()),
        false => None,
    }
}

/// Returns whether an address has a part that looks like a secret, or is said to be one.
pub(super) fn is_secret_address(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    if url.cannot_be_a_base() {
        return false;
    }
    let is_mixed = |part: &str| {
        PART_CHARS_MIN <= part.chars().count()
            && part.contains(char::is_alphabetic)
            && part.contains(|c: char| c.is_ascii_digit())
    };
    let segments = url.path_segments().into_iter().flatten();
    segments.chain(url.fragment()).any(is_mixed)
        || url.query_pairs().any(|(name, value)| is_secret_name(&name) || is_mixed(&value))
}

/// Returns whether a text can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a text is a URL with a user's name or password in it.
fn has_user_information(text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next());
    authority.flatten().is_some_and(|authority| authority.contains('@'))
}

/// Writes a name as names of variables are written.
pub(super) fn constant(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(words: &[&str], env: &[(&str, &str)]) -> (String, Vec<String>) {
        let words = words.iter().map(|&it| it.to_owned()).collect();
        let env = env.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let kept = keep_out("my-server", words, env);
        let env: Vec<String> = kept.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
        (format!("{} | {}", kept.command.join(" "), env.join(" ")), kept.secrets)
    }

    #[test]
    fn secrets_become_references() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let (line, secrets) = kept(
            &["npx", "x", "--api-key", "hunter2", &format!("--x={token}"), "postgres://u:p@db/x"],
            &[("GITHUB_TOKEN", "anything"), ("OTHER", &token), ("LEVEL", "3"), ("R", "${input:x}")],
        );
        assert_eq!(
            line,
            "npx x --api-key ${ENV:MY_SERVER_ARG_3} --x=${ENV:MY_SERVER_ARG_4} ${ENV:MY_SERVER_ARG_5} | \
             GITHUB_TOKEN=${ENV:GITHUB_TOKEN} OTHER=${ENV:OTHER} LEVEL=3 R=${ENV:R}"
        );
        assert_eq!(secrets.len(), 6, "{secrets:?}");
        assert!(!line.contains("hunter2") && !line.contains("ghp_"));
    }

    #[test]
    fn a_secret_behind_its_name_becomes_a_reference() {
        for (word, expected) in [
            ("Authorization:hunter2", "Authorization:${ENV:MY_SERVER_ARG_1}"),
            ("Authorization: Bearer hunter2", "Authorization:${ENV:MY_SERVER_ARG_1}"),
            ("X-Api-Key:hunter2", "X-Api-Key:${ENV:MY_SERVER_ARG_1}"),
            ("--header=Authorization:hunter2", "--header=Authorization:${ENV:MY_SERVER_ARG_1}"),
            ("GITHUB_TOKEN=hunter2", "GITHUB_TOKEN=${ENV:MY_SERVER_ARG_1}"),
            ("--env=GITHUB_TOKEN=hunter2", "--env=GITHUB_TOKEN=${ENV:MY_SERVER_ARG_1}"),
            ("--api-key=hunter2", "--api-key=${ENV:MY_SERVER_ARG_1}"),
            ("https://a.example/s/hunter2hunter2hunter2/mcp", "${ENV:MY_SERVER_ARG_1}"),
            ("--url=https://a.example/?q=hunter2hunter2hunter2", "--url=${ENV:MY_SERVER_ARG_1}"),
        ] {
            let (line, secrets) = kept(&["npx", word], &[]);
            assert_eq!(line, format!("npx {expected} | "), "{word}");
            assert_eq!(secrets, ["MY_SERVER_ARG_1"], "{word}");
        }
        let (line, secrets) = kept(&["x"], &[("URL", "https://a.example/hunter2hunter2hunter2")]);
        assert_eq!((line.as_str(), secrets.len()), ("x | URL=${ENV:URL}", 1));
    }

    #[test]
    fn what_is_none_stays() {
        let (line, secrets) = kept(
            &[
                "npx",
                "-y",
                "@a/server",
                "/home/ada/x",
                "--verbose",
                "https://a.example/x@y",
                "--mode=a:b",
                "level:3",
                "data:text/plain,0123456789abcdef",
            ],
            &[("MEMORY_FILE_PATH", "/x/memory.json"), ("KEYBOARD", "de")],
        );
        assert!(secrets.is_empty(), "{secrets:?} {line}");
    }
}
