//! Words that are places: directories, hosts and lists.
//!
//! Looks at one word alone; whether a place may stand where it does is for the clause to say.

use ic_policy::{DomainPattern, HostPattern};
use ic_types::Host;

use crate::grammar::KNOWN_DIRECTORIES;
use crate::sentence::Directory;
use crate::word::Word;

/// Returns the pattern of the web.
pub(crate) fn any_host() -> Option<DomainPattern> {
    DomainPattern::parse("*").ok()
}

pub(crate) fn looks_like_place(word: &Word) -> bool {
    let is_web = word.is_one_of(&["web", "internet"]);
    is_web || directory_of(word).is_some() || list_of(word).is_some() || host_of(word).is_some()
}

pub(crate) fn list_of(word: &Word) -> Option<String> {
    let name = word.text.strip_prefix('@').filter(|_| !word.is_quoted)?;
    let is_name =
        !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it));
    is_name.then(|| name.to_owned())
}

/// Words for places that are no hosts, though a port behind them makes them look like one.
const NO_HOSTS: [&str; 15] = [
    "web",
    "internet",
    "network",
    "host",
    "hosts",
    "website",
    "websites",
    "address",
    "addresses",
    "local",
    "anywhere",
    "everywhere",
    "elsewhere",
    "sandbox",
    "workspace",
];

/// Returns the word of a place that has a port or a scheme here, as only a host can: `web:8080`.
///
/// SECURITY: it would be a host of that name, and a *never* for it hold for nothing.
pub(super) fn word_with_port(word: &Word) -> Option<&'static str> {
    let bare = word.low.split_once("://").map_or(word.low.as_str(), |(_, rest)| rest);
    let name = bare.split([':', '/']).next().unwrap_or(bare);
    let is_more = !word.is_quoted && name != word.low;
    NO_HOSTS.into_iter().find(|it| is_more && *it == name)
}

/// Reads a host; a word without a dot, a port or a star is a host only if it is `localhost`.
pub(crate) fn host_of(word: &Word) -> Option<DomainPattern> {
    if word_with_port(word).is_some() {
        return None;
    }
    let is_one = word.text.contains(['.', ':', '*']) || word.low == "localhost";
    let is_other = word.text.starts_with(['/', '~', '@', '$']) || word.text.contains('@');
    DomainPattern::parse(&word.text).ok().filter(|_| is_one && !is_other)
}

/// Hosts on which a repository is always one of an owner's.
const FORGES: [&str; 6] =
    ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht"];

/// Says why a pattern holds for no repository, though it looks as if it did.
pub(super) fn never_holds(pattern: &DomainPattern) -> Option<&'static str> {
    let repository = pattern.repository()?;
    if repository.contains(['*', '?']) {
        return Some(
            "a repository is named as a whole: `github.com/acme/app`; patterns are not possible",
        );
    }
    let is_forge = matches!(pattern.host(), HostPattern::Exact(Host::Name(name)) if FORGES.contains(&name.as_str()));
    (is_forge && !repository.contains('/')).then_some(
        "this names an owner and no repository; name the repository, or the host alone for all of them",
    )
}

/// Says that a place may look like another one: a *never* for it would hold for nothing.
pub(super) fn look_alike(word: &Word) -> Option<String> {
    if word.is_quoted || word.text.is_ascii() {
        return None;
    }
    // Directories have names in all languages, but seldom in two alphabets at once.
    let is_directory = word.text.starts_with(['/', '~', '$']);
    let is_odd = |part: &str| !is_directory && !part.is_ascii() || mixes_letters(part);
    let odd = word.text.split('/').find(|part| is_odd(part))?;
    let codes: Vec<String> = odd
        .chars()
        .filter(|it| !it.is_ascii())
        .map(|it| format!("U+{:04X}", u32::from(it)))
        .collect();
    let codes = codes.join(", ");
    Some(format!(
        "it has letters that are not English ({codes}) and may look like others; put it in backticks if it is meant"
    ))
}

/// Returns whether English letters stand beside letters of an alphabet that has the same shapes.
fn mixes_letters(text: &str) -> bool {
    let is_like = |it: char| {
        matches!(it,
            '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'
            | '\u{1d00}'..='\u{1dbf}' | '\u{2100}'..='\u{214f}' | '\u{2c60}'..='\u{2c7f}' | '\u{a640}'..='\u{a69f}'
            | '\u{ab30}'..='\u{abbf}' | '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}')
    };
    text.chars().any(|it| it.is_ascii_alphabetic()) && text.chars().any(is_like)
}

/// Reads a directory; the outer is `None` if the word is nothing of the kind.
pub(crate) fn directory_of(word: &Word) -> Option<Result<Directory, String>> {
    let directory = any_directory_of(word)?;
    Some(directory.and_then(|it| match unplain(word) {
        Some(sign) => Err(format!(
            "`{sign}` may not belong to the name of the directory; put the name in backticks, and what does not \
             belong to it behind them"
        )),
        None => Ok(it),
    }))
}

/// Returns what stands in an unquoted directory and may be punctuation that is stuck to it.
///
/// SECURITY: `~/a—ever` would be a directory that does not exist, and a *never* for it hold for nothing.
fn unplain(word: &Word) -> Option<String> {
    let text = word.text.strip_prefix("${SANDBOX}").unwrap_or(&word.text);
    let is_tilde = |at: usize| 0 < at || word.text.len() != text.len();
    let is_plain = |(at, it): (usize, char)| match it {
        '~' => !is_tilde(at),
        '/' | '.' | '_' | '-' | '@' => true,
        // Letters that stand above or beside others look like marks.
        '\u{2b0}'..='\u{2ff}' => false,
        it => it.is_alphabetic() || it.is_ascii_digit(),
    };
    if word.is_quoted {
        return None;
    }
    if let Some((_, odd)) = text.char_indices().find(|it| !is_plain(*it)) {
        return Some(odd.to_string());
    }
    let ends_oddly = |part: &str| part.ends_with('-') || part.ends_with('.') && part != ".";
    let odd = text.split('/').find(|it| ends_oddly(it) || it.contains("--"))?;
    Some(odd.chars().filter(|it| "-.".contains(*it)).collect())
}

/// Returns whether a word is a directory but for something that may not belong to it.
pub(super) fn is_unplain(word: &Word) -> bool {
    matches!(any_directory_of(word), Some(Ok(_))) && unplain(word).is_some()
}

fn any_directory_of(word: &Word) -> Option<Result<Directory, String>> {
    let text = word.text.as_str();
    for name in ["sandbox", "workspace"] {
        let rest = word.low.strip_prefix(name).filter(|_| !word.is_quoted);
        if let Some(rest) = rest.filter(|it| it.is_empty() || it.starts_with('/')) {
            let rest = text.get(text.len() - rest.len()..).unwrap_or_default();
            return Some(relative(rest).map(Directory::Sandbox));
        }
    }
    if let Some(rest) = text.strip_prefix("${SANDBOX}") {
        return Some(relative(rest).map(Directory::Sandbox));
    }
    if word.is("home") {
        return Some(Ok(Directory::At("~".to_owned())));
    }
    let known = KNOWN_DIRECTORIES.iter().find(|it| it.eq_ignore_ascii_case(text));
    if let Some(name) = known.filter(|_| !word.is_quoted) {
        return Some(Ok(Directory::At(format!("~/{name}"))));
    }
    if text == "~" {
        return Some(Ok(Directory::At("~".to_owned())));
    }
    let (root, rest) = match (text.strip_prefix("~/"), text.strip_prefix('/')) {
        (Some(rest), _) => ("~", rest),
        (None, Some(rest)) => ("", rest),
        (None, None) if text.starts_with('~') => {
            return Some(Err("only your own home can be named: begin with `~/`".to_owned()));
        }
        (None, None) => return None,
    };
    if !word.is_quoted && text.contains([',', ';', '|', '…', '+', '&']) {
        // SECURITY: `~/a,~/b` would be one directory that does not exist, and a *never* for it hold for nothing.
        let problem =
            "join directories by `and`, or put a path in backticks if it has this sign in its name";
        return Some(Err(problem.to_owned()));
    }
    Some(relative(rest).and_then(|rest| match (root, rest.as_str()) {
        ("", "") => Err("everything is written as `anywhere` or `anywhere else`".to_owned()),
        (root, "") => Ok(Directory::At(root.to_owned())),
        (root, rest) => Ok(Directory::At(format!("{root}/{rest}"))),
    }))
}

/// Makes a path beneath something plain: no empty parts, and none that leads up.
fn relative(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
    if parts.contains(&"..") {
        return Err("a path with `..` is not plain; write where it leads".to_owned());
    }
    if parts.iter().any(|it| it.contains(['*', '?', '$', '{', '}'])) {
        return Err("a directory is named as a whole; patterns are not possible".to_owned());
    }
    Ok(parts.join("/"))
}
