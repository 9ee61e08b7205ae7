//! Keeps secrets out of what is imported: a variable stands in their place.
//!
//! Known by the name that they are given, or by their shape. Better one too many: a variable that stands
//! for something harmless has to be set once, and a secret that was copied stays copied.

use ic_audit::Redactor;

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
        let is_shaped = redactor.text(&word) != word || has_user_information(&word);
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, Some(value)),
            _ => (word.as_str(), None),
        };
        let is_option = option.starts_with('-') && is_secret_name(option);
        let variable = format!("{}_ARG_{at}", constant(name));
        let written = match value {
            Some(_) if is_option || is_shaped => Some(format!("{option}=${{ENV:{variable}}}")),
            None if is_shaped || after_option => Some(format!("${{ENV:{variable}}}")),
            _ => None,
        };
        after_option = is_option && value.is_none();
        match written {
            Some(written) => {
                kept.secrets.push(variable);
                kept.command.push(written);
            }
            None => kept.command.push(word),
        }
    }
    for (variable, value) in env {
        let is_reference = value.starts_with("${") && value.ends_with('}');
        let is_secret = is_secret_name(&variable)
            || redactor.text(&value) != value
            || has_user_information(&value);
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
    fn what_is_none_stays() {
        let (line, secrets) = kept(
            &["npx", "-y", "@a/server", "/home/ada/x", "--verbose", "https://a.example/x@y"],
            &[("MEMORY_FILE_PATH", "/x/memory.json"), ("KEYBOARD", "de")],
        );
        assert!(secrets.is_empty(), "{secrets:?} {line}");
    }
}
