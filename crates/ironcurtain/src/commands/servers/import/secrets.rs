//! Keeps secrets out of what is imported: a variable stands in their place.
//!
//! Known by the name that they are given, or by their shape. Better one too many: a variable that stands
//! for something harmless has to be set once, and a secret that was copied stays copied.

use ic_audit::Redactor;
use url::Url;

use super::references::{Context, Gathered, Place, Wanted, Why, is_only_references};

/// Words in names of variables, options and headers that hold secrets.
const NAMES: [&str; 19] = [
    "key",
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "passphrase",
    "pw",
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

/// How a value can begin that is followed by a secret.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "ApiKey "];

/// What is left, and which variables stand for what was taken out.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) gathered: Gathered,
}

/// Takes the secrets out of how a server is started, and writes its references as ours.
pub(super) fn keep_out(
    context: &Context<'_>,
    words: &[String],
    env: Vec<(String, String)>,
) -> Result<Kept, String> {
    let mut kept = Kept::default();
    // SECURITY: what is no name could be anything, and would be printed as one.
    if env.iter().any(|(name, _)| !is_variable(name)) {
        return Err("one of its variables has an invalid name".to_owned());
    }
    for (variable, value) in env {
        let (text, gathered) = context.translate(Place::Variable, &value, &[])?;
        let is_secret = is_secret_name(&variable) || is_secret_text(&text);
        let (_, inner) = split_scheme(&text);
        if is_secret && !is_only_references(inner) && !text.is_empty() {
            kept.refer(context, &variable, Why::Secret);
        } else {
            kept.gathered.extend(gathered);
            kept.env.push((variable, text));
        }
    }
    let mut after_option = false;
    for (at, word) in words.iter().enumerate() {
        let place = if at == 0 { Place::Command } else { Place::Argument };
        let (word, gathered) = context.translate(place, word, &kept.env)?;
        let stays = staying(&word, after_option);
        after_option = !word.contains('=') && word.starts_with('-') && is_secret_name(&word);
        match stays {
            Some(_) if at == 0 => return Err("its command holds what may be a secret".to_owned()),
            Some(stays) => {
                let variable = context.own(&format!("ARG_{at}"));
                kept.command.push(format!("{stays}${{ENV:{variable}}}"));
                kept.gathered.want(Wanted { name: variable, why: Why::Secret });
            }
            None => {
                kept.gathered.extend(gathered);
                kept.command.push(word);
            }
        }
    }
    Ok(kept)
}

impl Kept {
    /// Lets the server have the variable `name` from our own environment.
    pub(super) fn refer(&mut self, context: &Context<'_>, name: &str, why: Why) {
        let wanted = context.variable(name, why);
        self.env.push((name.to_owned(), format!("${{ENV:{}}}", wanted.name)));
        self.gathered.want(wanted);
    }
}

/// Returns what stays of a word that is, or holds, a secret; `None` if none is in it.
fn staying(word: &str, after_option: bool) -> Option<String> {
    let is_shaped = is_secret_text(word)
        || word.split_once('=').is_some_and(|(_, value)| is_secret_address(value));
    let option = match word.split_once('=') {
        Some((option, _)) if option.starts_with('-') => Some(option),
        _ => None,
    };
    let stays = match (naming(word), option) {
        (Some(naming), _) => naming.to_owned(),
        (None, Some(option)) if is_shaped => format!("{option}="),
        (None, None) if is_shaped || after_option => String::new(),
        (None, _) => return None,
    };
    let rest = word.get(stays.len()..).unwrap_or_default();
    let (_, inner) = split_scheme(rest.trim_start());
    (!is_only_references(inner)).then_some(stays)
}

/// Splits what says how a secret is sent from the secret.
pub(super) fn split_scheme(value: &str) -> (&'static str, &str) {
    let scheme = SCHEMES
        .into_iter()
        .find(|scheme| value.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme)));
    let scheme = scheme.unwrap_or_default();
    (scheme, value.get(scheme.len()..).unwrap_or_default().trim())
}

/// Returns whether a text looks like a secret, or like an address that holds one.
pub(in super::super) fn is_secret_text(text: &str) -> bool {
    Redactor::new([]).text(text) != text || has_user_information(text) || is_secret_address(text)
}

/// Returns whether a name says that a secret follows.
pub(in super::super) fn is_secret_name(name: &str) -> bool {
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
    use crate::commands::servers::import::references::Style;
    use crate::commands::servers::import::references::tests::context;

    fn kept(words: &[&str], env: &[(&str, &str)]) -> (String, Vec<String>) {
        let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
        let env = env.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let kept = keep_out(&context("my-server", Style::Plain), &words, env).unwrap();
        let env: Vec<String> = kept.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let variables = kept.gathered.variables.into_iter().map(|it| it.name).collect();
        (format!("{} | {}", kept.command.join(" "), env.join(" ")), variables)
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
             GITHUB_TOKEN=${ENV:GITHUB_TOKEN} OTHER=${ENV:OTHER} LEVEL=3 R=${ENV:MY_SERVER_X}"
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

    /// A reference keeps its own name, whatever it is given to.
    #[test]
    fn references_are_no_secrets() {
        for (word, expected) in [
            ("--api-key=${env:OTHER}", "--api-key=${ENV:OTHER}"),
            ("Authorization: Bearer ${OTHER}", "Authorization: Bearer ${ENV:OTHER}"),
            ("--env=A_TOKEN=${OTHER}", "--env=A_TOKEN=${ENV:OTHER}"),
            ("--api-key=${OTHER}hunter2", "--api-key=${ENV:MY_SERVER_ARG_1}"),
            ("https://ada:${OTHER}@a.example/", "${ENV:MY_SERVER_ARG_1}"),
        ] {
            let (line, variables) = kept(&["npx", word], &[]);
            assert_eq!(line, format!("npx {expected} | "), "{word}");
            assert_eq!(variables.len(), 1, "{word}");
        }
        let (line, variables) = kept(
            &[
                "x",
                "--token",
                "${env:A}",
                "--header",
                "Authorization:${AUTH}",
                "--level",
                "${LEVEL}",
            ],
            &[
                ("A_TOKEN", "${env:OTHER}"),
                ("AUTH", "Bearer ${env:OTHER}"),
                ("LEVEL", "3"),
                ("B_KEY", ""),
            ],
        );
        assert_eq!(
            line,
            "x --token ${ENV:A} --header Authorization:Bearer ${ENV:OTHER} --level 3 | \
             A_TOKEN=${ENV:OTHER} AUTH=Bearer ${ENV:OTHER} LEVEL=3 B_KEY="
        );
        assert_eq!(variables, ["OTHER", "A"]);
        let (line, variables) = kept(&["x"], &[("OPENAI_API_KEY", "hunter2")]);
        assert_eq!(line, "x | OPENAI_API_KEY=${ENV:MY_SERVER_OPENAI_API_KEY}");
        assert_eq!(
            variables,
            ["MY_SERVER_OPENAI_API_KEY"],
            "a provider's key is given to no server"
        );
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
