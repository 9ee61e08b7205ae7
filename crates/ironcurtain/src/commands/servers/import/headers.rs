//! The headers that other clients send to a server on another machine, without the secrets in them.
//!
//! A variable stands for each value that is secret, or may be.

use super::references::{Context, Gathered, Place, Wanted, Why, is_only_references};
use super::secrets::{is_secret_name, is_secret_text, split_scheme};

/// The longest value that is taken for harmless: keys and tokens are longer.
const HARMLESS_CHARS_MAX: usize = 16;

/// Headers as an entry has them, and the variables that stand for secrets in them.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct KeptHeaders {
    pub(super) headers: Vec<(String, String)>,
    pub(super) gathered: Gathered,
}

impl KeptHeaders {
    /// Takes the secrets out of what a server is sent, and writes its references as ours.
    pub(super) fn of(
        context: &Context<'_>,
        headers: Vec<(String, String)>,
    ) -> Result<Self, String> {
        let mut kept = Self::default();
        for (header, value) in headers {
            let (text, gathered) = context.translate(Place::Header, &value, &[])?;
            let (scheme, inner) = split_scheme(&text);
            let is_harmless = scheme.is_empty()
                && !is_secret_name(&header)
                && !text.contains('$')
                && text.chars().count() < HARMLESS_CHARS_MAX
                && !is_secret_text(&text);
            if is_only_references(inner) {
                kept.gathered.extend(gathered);
                kept.headers.push((header, format!("{scheme}{inner}")));
            } else if is_harmless {
                kept.gathered.extend(gathered);
                kept.headers.push((header, text));
            } else {
                let variable = context.own(&header);
                kept.refer(header, scheme, Wanted { name: variable, why: Why::Secret });
            }
        }
        Ok(kept)
    }

    /// Adds a header whose value is in a variable.
    pub(super) fn refer(&mut self, header: String, scheme: &str, wanted: Wanted) {
        self.headers.push((header, format!("{scheme}${{ENV:{}}}", wanted.name)));
        self.gathered.want(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::servers::import::references::Style;
    use crate::commands::servers::import::references::tests::context;

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
            ("X-Key", "{file:~/key}", "${ENV:FAR_KEY}"),
            ("X-Path", "${env:REGION}/x", "${ENV:FAR_X_PATH}"),
            ("X-Region", "${env:REGION}", "${ENV:REGION}"),
            ("Authorization", "Bearer ${input:token}", "Bearer ${ENV:FAR_TOKEN}"),
            ("Authorization", "Bearer ${A:-hunter2}", "Bearer ${ENV:FAR_AUTHORIZATION}"),
        ] {
            let written = vec![(header.to_owned(), value.to_owned())];
            let kept = KeptHeaders::of(&context("far", Style::OpenCode), written).unwrap();
            assert_eq!(kept.headers, [(header.to_owned(), expected.to_owned())], "{value}");
            assert_eq!(kept.gathered.variables.len(), 1, "{value}");
        }
        let plain = vec![("X-Region".to_owned(), "eu".to_owned())];
        let kept = KeptHeaders::of(&context("far", Style::Plain), plain.clone()).unwrap();
        assert_eq!((kept.headers, kept.gathered), (plain, Gathered::default()));
    }
}
