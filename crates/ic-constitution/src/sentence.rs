//! A sentence as it was understood, and how we write the same in plain English.
//!
//! What it comes to beside other sentences is the compiler's to find out.

use std::fmt;

use ic_policy::{DomainPattern, Effect};
use ic_types::{ServerName, ToolName};

use crate::grammar::{PlaceKind, Verb};

/// A sentence of a constitution.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sentence {
    /// What is to happen.
    pub effect: Effect,
    /// Whether the same is forbidden anywhere else.
    pub is_only: bool,
    /// What it is about.
    pub deed: Deed,
    /// Where.
    pub place: Place,
    /// With which servers and tools; with none it is for all that its form covers.
    pub with: Vec<With>,
    /// The words after *because*.
    pub reason: Option<String>,
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// The sentence as written.
    pub text: String,
}

/// What a sentence is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Deed {
    /// Doing these things.
    Verbs(Vec<Verb>),
    /// Using these tools, or all tools of a server.
    Use(Vec<With>),
    /// Using tools that reach no resource.
    UseWithoutResources,
    /// What no other sentence covers.
    EverythingElse,
}

/// Where a sentence holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// No place is said: everywhere, and where a call names none.
    Unsaid,
    /// Everywhere, the sandbox included.
    Anywhere,
    /// Wherever no other sentence with the verb says something.
    Elsewhere,
    /// Where a call leaves its directory out.
    Unnamed,
    /// In one of these directories.
    Directories(Vec<Directory>),
    /// At one of these hosts.
    Hosts(Vec<HostPlace>),
    /// One of these names or addresses.
    Names(Vec<NamePlace>),
}

/// A directory.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Directory {
    /// By its path, which begins with `/` or `~`; without a slash at its end.
    At(String),
    /// The sandbox or workspace, or what is in it at this relative path.
    Sandbox(String),
}

/// A place that a URL or remote leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HostPlace {
    /// The hosts that a pattern holds for; `*` is the web.
    Pattern(DomainPattern),
    /// What is not the web.
    Local,
    /// The hosts of a list.
    List(String),
}

/// A name, or the names of a list.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum NamePlace {
    /// A name as written.
    Name(String),
    /// The names of a list.
    List(String),
}

/// A server, or one of its tools.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct With {
    /// The server.
    pub server: ServerName,
    /// The tool; without one, all of them.
    pub tool: Option<ToolName>,
}

impl Directory {
    /// Returns whether this is the whole home of the user.
    pub fn is_home(&self) -> bool {
        matches!(self, Self::At(path) if path == "~" || path == "/home" || path == "/root")
    }

    /// Returns the directory as rules name it.
    pub fn within(&self) -> String {
        match self {
            Self::At(path) => path.clone(),
            Self::Sandbox(rest) if rest.is_empty() => "${SANDBOX}".to_owned(),
            Self::Sandbox(rest) => format!("${{SANDBOX}}/{rest}"),
        }
    }
}

/// Writes the sentence in our own plain words; parsing them gives the same sentence.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.deed == Deed::EverythingElse {
            f.write_str(match self.effect {
                Effect::Escalate => "Everything else is for a person to decide",
                Effect::Allow | Effect::Deny => "Everything else is refused",
            })?;
            return self.end(f);
        }
        let is_gerund = self.effect == Effect::Escalate;
        f.write_str(match (self.effect, self.is_only) {
            (Effect::Allow, false) => "The agent may ",
            (Effect::Allow, true) => "The agent may only ",
            (Effect::Escalate, _) => "Ask before ",
            (Effect::Deny, _) => "The agent must never ",
        })?;
        match &self.deed {
            Deed::Verbs(verbs) => f.write_str(&verb_phrase(verbs, is_gerund))?,
            Deed::Use(tools) => {
                let tools: Vec<String> = tools.iter().map(ToString::to_string).collect();
                let using = if is_gerund { "using" } else { "use" };
                write!(f, "{using} {}", joined(&tools))?;
            }
            Deed::UseWithoutResources => {
                write!(f, "{} tools without resources", if is_gerund { "using" } else { "use" })?;
            }
            Deed::EverythingElse => {}
        }
        f.write_str(&self.place_phrase())?;
        if !self.with.is_empty() {
            let with: Vec<String> = self.with.iter().map(With::as_means).collect();
            write!(f, " with {}", joined(&with))?;
        }
        self.end(f)
    }
}

impl Sentence {
    /// Returns the servers and tools that it names.
    pub fn named(&self) -> &[With] {
        match &self.deed {
            Deed::Use(uses) => uses,
            Deed::Verbs(_) | Deed::UseWithoutResources | Deed::EverythingElse => &self.with,
        }
    }

    fn end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, " because {reason}."),
            None => f.write_str("."),
        }
    }

    fn place_phrase(&self) -> String {
        let before = match &self.deed {
            Deed::Verbs(verbs) => verbs.first().map_or("in", |verb| verb.row().before_place),
            Deed::Use(_) | Deed::UseWithoutResources | Deed::EverythingElse => "in",
        };
        match &self.place {
            Place::Unsaid => String::new(),
            Place::Anywhere => " anywhere".to_owned(),
            Place::Elsewhere => " anywhere else".to_owned(),
            Place::Unnamed => " without naming a place".to_owned(),
            Place::Directories(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!(" in {}", joined(&all))
            }
            Place::Hosts(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!(" {before} {}", joined(&all))
            }
            Place::Names(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!(" {before} {}", joined(&all))
            }
        }
    }
}

/// Writes verbs with their objects.
fn verb_phrase(verbs: &[Verb], is_gerund: bool) -> String {
    let word = |verb: &Verb| match verb.row().phrases.first() {
        Some((_, gerund)) if is_gerund => (*gerund).to_owned(),
        Some((base, _)) => (*base).to_owned(),
        None => String::new(),
    };
    let is_file = |verb: &Verb| matches!(verb, Verb::Read | Verb::Write | Verb::Delete);
    if verbs.iter().all(is_file) {
        let words: Vec<String> = verbs.iter().map(word).collect();
        return format!("{} files", joined(&words));
    }
    let with_object = |verb: &Verb| match verb {
        Verb::Fetch => format!("{} pages", word(verb)),
        verb if is_file(verb) => format!("{} files", word(verb)),
        verb => word(verb),
    };
    joined(&verbs.iter().map(with_object).collect::<Vec<_>>())
}

/// Joins words as English does.
pub(crate) fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(path) => f.write_str(&quoted_path(path)),
            Self::Sandbox(rest) if rest.is_empty() => f.write_str("the sandbox"),
            Self::Sandbox(_) => write!(f, "`{}`", self.within()),
        }
    }
}

impl fmt::Display for HostPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => match pattern.to_string().as_str() {
                "*" => f.write_str("the web"),
                text => f.write_str(&quoted(text)),
            },
            Self::Local => f.write_str("local addresses"),
            Self::List(name) => write!(f, "@{name}"),
        }
    }
}

impl fmt::Display for NamePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&quoted(name)),
            Self::List(name) => write!(f, "@{name}"),
        }
    }
}

/// Writes the tool of a server, or all of its tools, as what is used.
impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "{} of {}", quoted(tool.as_str()), self.server),
            None => write!(f, "tools of {}", self.server),
        }
    }
}

impl With {
    /// Writes the server or tool as what something is done with.
    pub(crate) fn as_means(&self) -> String {
        match &self.tool {
            Some(tool) => format!("{} of {}", quoted(tool.as_str()), self.server),
            None => self.server.to_string(),
        }
    }
}

/// Writes a text in backticks where it could be taken for several words or for a keyword.
fn quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._~-:@*".contains(it);
    let looks_special = text.contains(['/', '.', '_', '@', '*', '~']);
    let ends_well = text.ends_with(|it: char| it.is_ascii_alphanumeric() || it == '~');
    match text.chars().all(is_plain) && looks_special && ends_well {
        true => text.to_owned(),
        false => format!("`{text}`"),
    }
}

/// Writes a path in backticks unless nothing in it could be punctuation.
fn quoted_path(path: &str) -> String {
    let rest = path.strip_prefix('~').unwrap_or(path);
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-@".contains(it);
    let ends_well = |part: &str| part.ends_with(|it: char| it.is_ascii_alphanumeric());
    let is_path = rest.chars().all(is_plain)
        && !rest.contains("--")
        && rest.split('/').skip(1).all(ends_well);
    if is_path { path.to_owned() } else { format!("`{path}`") }
}

/// Returns the kind of places that verbs have in common, if it is one.
pub(crate) fn kind_of(verbs: &[Verb]) -> Option<PlaceKind> {
    let first = verbs.first()?.row().places;
    verbs.iter().all(|verb| verb.row().places == first).then_some(first)
}
