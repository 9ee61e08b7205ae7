//! The headers that other clients send to a server on another machine, without the secrets in them.
//!
//! A variable stands for each value that is secret, or may be. What other clients write for a variable of
//! theirs is read as one; what they would ask a person for has to be set in one.

use ic_audit::Redactor;

use super::secrets::{constant, is_secret_name, is_variable};

/// The longest value that is taken for harmless: keys and tokens are longer.
const HARMLESS_CHARS_MAX: usize = 16;
/// How a value can begin that is followed by a secret.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "ApiKey "];

/// Headers as an entry has them, and the variables that stand for secrets in them.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct KeptHeaders {
    pub(super) headers: Vec<(String, String)>,
    pub(super) secrets: Vec<String>,
}

impl KeptHeaders {
    /// Takes the secrets out of what the server `name` is sent.
    pub(super) fn of(name: &str, headers: Vec<(String, String)>) -> Self {
        let redactor = Redactor::new([]);
        let mut kept = Self::default();
        for (header, value) in headers {
            let scheme = SCHEMES.into_iter().find(|scheme| {
                value.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme))
            });
            let secret = value.get(scheme.map_or(0, str::len)..).unwrap_or_default().trim();
            let is_harmless = scheme.is_none()
                && !is_secret_name(&header)
                && !value.contains(['$', '{'])
                && value.chars().count() < HARMLESS_CHARS_MAX
                && redactor.text(&value) == value;
            if is_harmless {
                kept.headers.push((header, value));
                continue;
            }
            let own = || format!("{}_{}", constant(name), constant(&header));
            let variable = referred(secret).map_or_else(own, str::to_owned);
            kept.refer(header, scheme.unwrap_or_default(), variable);
        }
        kept
    }

    /// Adds a header whose value is in a variable.
    pub(super) fn refer(&mut self, header: String, scheme: &str, variable: String) {
        self.headers.push((header, format!("{scheme}${{ENV:{variable}}}")));
        self.secrets.push(variable);
    }
}

/// Returns the variable that a value is nothing but a reference to.
fn referred(value: &str) -> Option<&str> {
    let inside = value.strip_prefix("${").or_else(|| value.strip_prefix('{'))?.strip_suffix('}')?;
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    is_variable(name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_headers_become_references() {
        for (header, value, expected) in [
            ("Authorization", "Bearer hunter2", "Bearer ${ENV:FAR_AUTHORIZATION}"),
            ("authorization", "bearer hunter2", "Bearer ${ENV:FAR_AUTHORIZATION}"),
            ("Authorization", "hunter2", "${ENV:FAR_AUTHORIZATION}"),
            ("X-Api-Key", "hunter2", "${ENV:FAR_X_API_KEY}"),
            ("X-Anything", "0123456789abcdef", "${ENV:FAR_X_ANYTHING}"),
            ("X-Anything", "Token x", "Token ${ENV:FAR_X_ANYTHING}"),
            ("Authorization", "Bearer ${GITHUB_TOKEN}", "Bearer ${ENV:GITHUB_TOKEN}"),
            ("Authorization", "Bearer ${env:GITHUB_TOKEN}", "Bearer ${ENV:GITHUB_TOKEN}"),
            ("X-Key", "{env:A_KEY}", "${ENV:A_KEY}"),
            ("X-Region", "${env:REGION}", "${ENV:REGION}"),
            ("Authorization", "Bearer ${input:token}", "Bearer ${ENV:FAR_AUTHORIZATION}"),
            ("Authorization", "Bearer ${A:-hunter2}", "Bearer ${ENV:FAR_AUTHORIZATION}"),
        ] {
            let kept = KeptHeaders::of("far", vec![(header.to_owned(), value.to_owned())]);
            assert_eq!(kept.headers, [(header.to_owned(), expected.to_owned())], "{value}");
            assert_eq!(kept.secrets.len(), 1, "{value}");
        }
        let plain = vec![("X-Region".to_owned(), "eu".to_owned())];
        let kept = KeptHeaders::of("far", plain.clone());
        assert_eq!((kept.headers, kept.secrets), (plain, Vec::new()));
    }
}
