//! A message as words: what is a resource among them, what is quoted, and where a clause ends.
//!
//! Nothing is looked up: a path is one if it is written in full.

use crate::doubt::Doubt;
use crate::wanted;

/// One word, or one quotation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Token {
    /// A word, in lower case, without what stands behind it.
    Word(String),
    /// A resource that is named in full.
    Resource(Resource),
    /// Something that may name a resource, and does not do so in full: a relative name, a pattern.
    Loose(String),
    /// What stands in quotation marks, if it is no resource.
    Quoted(String),
}

/// A resource as it stands in a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Resource {
    /// An absolute path.
    Path(String),
    /// A URL, and the remote that it would be.
    Url(String, Option<String>),
    /// A remote that is no URL.
    Remote(String),
}

/// A part of a message that asks for one thing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Clause {
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Whether it ends with a question mark.
    pub is_question: bool,
}

/// Words that join clauses.
const JOINING: [&str; 2] = ["and", "then"];
/// What ends a clause at the end of a word.
const STOPS: [char; 6] = ['.', ',', ';', ':', '!', '?'];

/// Reads a message; `home` is what `~` stands for.
pub fn clauses(text: &str, home: Option<&str>) -> Result<Vec<Clause>, Doubt> {
    let mut clauses = vec![Clause::default()];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, word_len) = match first {
            '"' | '\'' | '`' => quoted(rest, first, home)?,
            _ => {
                let len = rest.find(' ').unwrap_or(rest.len());
                let word = rest.get(..len).unwrap_or_default();
                let bare = word.trim_end_matches(STOPS);
                (token(bare, home), bare.len())
            }
        };
        let (_, behind) = rest.split_at_checked(word_len).ok_or(Doubt::Characters)?;
        let stops_len = behind.find(|c| !STOPS.contains(&c)).unwrap_or(behind.len());
        let (stops, behind) = behind.split_at_checked(stops_len).ok_or(Doubt::Characters)?;
        if behind.starts_with(|c| c != ' ') {
            // Something is glued to a quotation.
            return Err(Doubt::Quoted);
        }
        let is_joint =
            matches!(&token, Some(Token::Word(word)) if JOINING.contains(&word.as_str()));
        if let Some(clause) = clauses.last_mut() {
            clause.tokens.extend(token.filter(|_| !is_joint));
            clause.is_question |= stops.contains('?');
        }
        if is_joint || !stops.is_empty() {
            clauses.push(Clause::default());
        }
        rest = behind.trim_start();
    }
    clauses.retain(|clause| !clause.tokens.is_empty());
    Ok(clauses)
}

/// Reads a quotation, with its length.
fn quoted(rest: &str, mark: char, home: Option<&str>) -> Result<(Option<Token>, usize), Doubt> {
    let inner = rest.get(1..).unwrap_or_default();
    let len = inner.find(mark).ok_or(Doubt::Quoted)?;
    let inner = inner.get(..len).unwrap_or_default();
    let token = match resource(inner, home) {
        Some(resource) => Token::Resource(resource),
        None => Token::Quoted(inner.to_owned()),
    };
    Ok((Some(token), len + 2))
}

fn token(word: &str, home: Option<&str>) -> Option<Token> {
    if word.is_empty() {
        return None;
    }
    // A path with a space in it has to be quoted.
    if let Some(resource) = resource(word, home).filter(|_| !word.contains(' ')) {
        return Some(Token::Resource(resource));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '\'' | '-');
    match word.chars().all(is_word) && !word.starts_with('-') {
        true => Some(Token::Word(word.to_ascii_lowercase())),
        false => Some(Token::Loose(word.to_owned())),
    }
}

/// Reads a resource that is named in full.
fn resource(text: &str, home: Option<&str>) -> Option<Resource> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        let is_plain = text.chars().all(|c| c.is_ascii_graphic() && !"\"'`<>\\^{}|".contains(c));
        return is_plain.then(|| Resource::Url(text.to_owned(), wanted::remote(text)));
    }
    if let Some(path) = path(text, home) {
        return Some(Resource::Path(path));
    }
    wanted::remote(text).map(Resource::Remote)
}

/// Returns an absolute path, written so that it can mean one thing only.
fn path(text: &str, home: Option<&str>) -> Option<String> {
    let text = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => format!("{}/{rest}", home.strip_suffix('/').unwrap_or(home)),
        (Some(_), None) => return None,
        (None, _) => text.to_owned(),
    };
    let path = text.strip_suffix('/').unwrap_or(&text);
    let mut parts = path.strip_prefix('/')?.split('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-+@,=%#:".contains(c);
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..") && part.chars().all(is_plain) && part.trim() == part
    };
    parts.all(is_part).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Token {
        let clauses = clauses(text, Some("/home/u")).unwrap();
        let [Clause { tokens, .. }] = clauses.as_slice() else { panic!("{clauses:?}") };
        let [token] = tokens.as_slice() else { panic!("{tokens:?}") };
        token.clone()
    }

    #[test]
    fn what_is_named_in_full_is_a_resource() {
        let path = |text: &str| Token::Resource(Resource::Path(text.to_owned()));
        for (text, token) in [
            ("/home/u/plan.md", path("/home/u/plan.md")),
            ("/home/u/plan.md.", path("/home/u/plan.md")),
            ("~/plan.md", path("/home/u/plan.md")),
            ("/home/u/", path("/home/u")),
            ("\"/home/u/my plan.md\"", path("/home/u/my plan.md")),
            ("github.com/a/b", Token::Resource(Resource::Remote("github.com/a/b".to_owned()))),
        ] {
            assert_eq!(only(text), token, "{text}");
        }
        for text in [
            "plan.md",
            "./plan.md",
            "/home/u/../v",
            "/home//u",
            "/home/u/*.md",
            "~v/plan.md",
            "(/home/u)",
            "a/b",
            "-rf",
            "$HOME",
            "/",
        ] {
            assert!(matches!(only(text), Token::Loose(_)), "{text}: {:?}", only(text));
        }
        assert!(matches!(only("\"delete /home/u/plan.md\""), Token::Quoted(_)));
        assert_eq!(clauses("read \"/home/u", None), Err(Doubt::Quoted));
        assert_eq!(clauses("read \"/home/u\"x", None), Err(Doubt::Quoted));
    }

    #[test]
    fn clauses_end_at_stops_and_joints() {
        let clauses = clauses("Read /a/b, then delete /c/d and stop. Thanks!", None).unwrap();
        assert_eq!(clauses.len(), 4);
    }
}
