//! The table of what can be said to the offline model, and what each wording means.
//!
//! A row of the table is a pattern and what it asks for. The first row that fits counts. Politeness and
//! what joins clauses are gone when a clause arrives here.

use super::pattern::{Element, Found, Slot, fit, pattern};
use super::request::Request;
use super::words::Token;

/// What a clause means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    /// Something is to be done.
    Do(Request),
    /// It asks for what is done anyway, such as that the result is told.
    Nothing,
}

/// What a row asks for.
#[derive(Clone, Copy, Debug)]
enum Ask {
    List,
    Tree,
    Read,
    Write,
    Append,
    Move,
    Copy,
    Delete,
    MakeDirectory,
    Search,
    FindFiles,
    Fetch,
    GitStatus,
    GitLog,
    GitDiff,
    Commit,
    Push,
    Clone,
    Run,
}

/// The table, read.
pub(super) struct Grammar {
    help: Vec<Vec<Element>>,
    nothing: Vec<Vec<Element>>,
    rows: Vec<(Vec<Element>, Ask)>,
}

impl Grammar {
    /// Reads the table.
    pub(super) fn new() -> Self {
        let row = |(text, ask): &(&'static str, Ask)| Some((pattern(text)?, *ask));
        Self {
            help: HELP.iter().filter_map(|text| pattern(text)).collect(),
            nothing: NOTHING.iter().filter_map(|text| pattern(text)).collect(),
            rows: ROWS.iter().filter_map(row).collect(),
        }
    }

    /// Returns whether a clause asks what can be asked.
    pub(super) fn asks_for_help(&self, clause: &[Token<'_>]) -> bool {
        self.help.iter().any(|pattern| fit(pattern, clause).is_some())
    }

    /// Returns what a clause means, if it is understood.
    pub(super) fn meaning(&self, clause: &[Token<'_>]) -> Option<Meaning> {
        if self.nothing.iter().any(|pattern| fit(pattern, clause).is_some()) {
            return Some(Meaning::Nothing);
        }
        self.rows.iter().find_map(|(pattern, ask)| {
            let mut found = fit(pattern, clause)?;
            ask.request(&mut found).map(Meaning::Do)
        })
    }
}

/// What asks what can be asked.
const HELP: [&str; 6] = [
    "help|--help|-h|/help|/?|commands",
    "help [me] [with this]",
    "i need [some|your] help",
    "what can|do you do|understand|offer [here]",
    "what can i ask|do|say|type [you|here] [to do]",
    "how can|do you help [me|us]",
];

/// What asks for nothing more than is done anyway.
const NOTHING: [&str; 5] = [
    "tell|show|give|print [me] [what] [the|its] result|results|output|answer",
    "tell|show me what it|this|that says|prints|returns|returned|printed|does|did",
    "tell me what happens|happened",
    "report [back] [the|its] [result|results|output]",
    "report what happened|happens",
];

/// Where: a directory by name, or the one in which the agent is.
macro_rules! place {
    () => {
        " [in|of|inside|within|under|from|at|for|on the|this|my|your [current|working] directory|folder|dir|sandbox|workspace|repository|repo|project]\
         [in|of|inside|within|under|from|at|for|on [the|this|my] [directory|folder|dir|path|repository|repo] <dir> [directory|folder|dir|repository|repo]]\
         [here]"
    };
}

macro_rules! row {
    ($($text:literal)+ , $ask:ident) => { (concat!($($text),+), Ask::$ask) };
    ($($text:literal)+ ; place, $ask:ident) => { (concat!($($text),+, place!()), Ask::$ask) };
}

const ROWS: &[(&str, Ask)] = &[
    // Trees, before listings: `show the directory tree` names no directory.
    row!("show|list|print|display|draw|give|view [me] [the|a] [directory|folder|file|whole] tree" ; place, Tree),
    row!("tree" ; place, Tree),
    row!("tree <dir>", Tree),
    row!("show|list|print [me] [all] [the] files recursively" ; place, Tree),
    row!("list|ls -r" ; place, Tree),
    // Listing.
    row!("list|ls|show|display|see|print|give|view|get [me] [all] [a|the|my] [list of] [all] [the] files|entries|everything [and files|folders|directories]" ; place, List),
    row!("list|ls|show|display [me] [all] [the|my] directories|folders [and files]" ; place, List),
    row!("list|ls [me] [all] [the] contents|content" ; place, List),
    row!(
        "show|display|print|give|view|see [me] [the] contents|content of [the|this|my] directory|folder <dir>",
        List
    ),
    row!(
        "show|display|print|give|view|see [me] [the] contents|content of [the|this|my] [current|working] directory|folder|sandbox|workspace",
        List
    ),
    row!("list|ls|dir [-l|-a|-la|-al]" ; place, List),
    row!("list|ls [-l|-a|-la|-al] [the] [directory|folder|dir] <dir> [directory|folder]", List),
    row!("show|display|view|open [me] [the] directory|folder <dir>", List),
    row!("what|which files [and folders|directories] are|exist [there]" ; place, List),
    row!("what|which files [and folders|directories] do we|i|you have" ; place, List),
    row!("what|what's [is] [there] in [the|this|my] directory|folder <dir>", List),
    row!(
        "what|what's [is] [there] in [the|this|my] [current|working] directory|folder|sandbox|workspace",
        List
    ),
    row!("what [else] is|are there" ; place, List),
    // The state of repositories; before reading, since `show the diff` names no file.
    row!("[show|print|display|check|run|get|give|tell] [me] [the] git status" ; place, GitStatus),
    row!("what|what's [is] the git status" ; place, GitStatus),
    row!("[show|print|display|check] [me] [the] status of the repository|repo" ; place, GitStatus),
    row!("[show|print|display|run|get|give] [me] [the] git log|history" ; place, GitLog),
    row!("show|print|display [me] [the] commits|log|history" ; place, GitLog),
    row!("[show|print|display|run|get|give] [me] [the] git diff|changes" ; place, GitDiff),
    row!("show|print|display [me] [the] diff|changes" ; place, GitDiff),
    row!("what|what's [has] changed" ; place, GitDiff),
    row!("git status <dir>", GitStatus),
    row!("git log <dir>", GitLog),
    row!("git diff <dir>", GitDiff),
    // Fetching, before reading: an address is no file.
    row!(
        "fetch|download|get|visit|load|retrieve|open|read|show|curl|wget [me] [the] [page|url|website|site|address|document] [contents|content|text] [of|at|from] [the] [page|url|website|site] <url>",
        Fetch
    ),
    row!(
        "fetch|download|visit|curl|wget [the] [page|url|website|site|address] [contents|content|text] [of|at|from] <address>",
        Fetch
    ),
    // Reading.
    row!(
        "read|show|cat|print|open|display|view|output|see|type|give [me] [the|my] [whole|full|entire] [text|contents|content] [of|from|in] [the|my] [file] <path> [file]",
        Read
    ),
    row!(
        "read|show|print|open|display|view [me] what [is] in|inside [the|my] [file] <path> [says]",
        Read
    ),
    row!("show|tell [me] what [the] [file] <path> says|contains", Read),
    row!("what|what's [is] [written] in|inside [the|my] [file] <path>", Read),
    row!("what|what's [is|are] the contents|content|text of [the|my] [file] <path>", Read),
    row!("what does [the|my] [file] <path> say|contain", Read),
    row!("look at|into [the|my] [file] <path>", Read),
    // Writing.
    row!(
        "write|save|put|store|insert|output [the] [following] [text|content|contents|line|words|string] <text> to|into|in|as [the|a|my] [new] [text] [file] [named|called] <path> [file]",
        Write
    ),
    row!(
        "write|save|put|store|insert [this|that|the|it|following] [following] [text|content|contents|block|code|script|lines] to|into|in|as [the|a|my] [new] [text] [file] [named|called] <path> [file] <text>",
        Write
    ),
    row!(
        "write|fill|overwrite|replace|set|update [the|a|my] [new] [text] [contents|content|text] [of] [the] [file] <path> [with|to|containing|as] [the|this|following] [following] [text|content|contents] <text>",
        Write
    ),
    row!(
        "create|make|write|add|save|start [a|the|my] [new] [text] [file] [named|called] <path> [with|containing|saying|holding|having] [the|this|as] [following] [text|content|contents|line|words] <text>",
        Write
    ),
    row!(
        "create|make|write|add|save [a|the|my] [new] [text] [file] [named|called] <path> that|which contains|says|holds|has|reads [the] [following] [text|content|contents|line|words] <text>",
        Write
    ),
    row!(
        "create|make|write|add|save [a|the|my] [new] [text] file [in|at|as] <path> [with|containing|saying] [the] [text|content|contents] <text>",
        Write
    ),
    // Adding to what is there.
    row!(
        "append|add [the] [following] [text|content|line|words] <text> to|at|onto [the] [end] [of] [the|my] [file] <path> [file]",
        Append
    ),
    row!(
        "append|add [this|that|the|it|following] [following] [text|content|line|lines|block] to|at|onto [the] [end] [of] [the|my] [file] <path> [file] <text>",
        Append
    ),
    // Files from here to there.
    row!(
        "move|rename|mv [the|my] [file|directory|folder] <path> [to|as|into] [the] directory|folder <dir>",
        Move
    ),
    row!(
        "move|rename|mv [the|my] [file|directory|folder] <path> to|as|into [the] [file|name] <path>",
        Move
    ),
    row!("mv <path> <path>", Move),
    row!(
        "copy|cp|duplicate [the|my] [file] <path> [to|as|into] [the] directory|folder <dir>",
        Copy
    ),
    row!("copy|cp|duplicate [the|my] [file] <path> to|as|into [the] [file|name] <path>", Copy),
    row!(
        "make a copy of [the|my] [file] <path> to|as|in|called|named [the] [file|name] <path>",
        Copy
    ),
    row!("cp <path> <path>", Copy),
    row!("delete|remove|rm|erase|unlink [the|my] [file] <path> [file]", Delete),
    row!(
        "create|make|add [a|the|my] [new] directory|folder|dir [named|called|at] <path>",
        MakeDirectory
    ),
    row!("create|make|add [a|the|my] [new] <path> directory|folder|dir", MakeDirectory),
    row!("mkdir [-p] <path>", MakeDirectory),
    // Searching.
    row!(
        "search [through|in] [the] [directory|folder|files] [in|of] <dir> for [the] [text|word|string] <term>",
        Search
    ),
    row!("find|search|list|show [me] [for] [all] [the] files [that|which] [are] named|called|matching|like [the] [pattern] <term>" ; place, FindFiles),
    row!("search|grep|find [for] [the|all] [files] [containing|with|that|which] [contain|mention] [text|word|string|words|occurrences|mentions] [of] <term>" ; place, Search),
    row!("search [through|in] [all] [the|my] files for [the] [text|word|string] <term>", Search),
    row!("look for [the] [text|word|string] <term>" ; place, Search),
    row!("grep <term> <dir>", Search),
    // Repositories.
    row!("[git] commit|save [-m|-am] [all|the|my|these] [all] [the|my|these] [changes|everything|it|files|work] [in|to] [the] [repository|repo] [with] [the|a] [commit] [message] <text>" ; place, Commit),
    row!(
        "[git] commit [all|the|my] [the|my] [changes|everything|it|work] in [the] [directory|folder|repository|repo] <dir> with|using|as [the] [commit] [message] <text>",
        Commit
    ),
    row!("[git] push [all|the|my|these] [changes|commits|commit|branch|it|everything|work] [to] [the] [remote] [called|named] [repository|repo] <remote> [remote]" ; place, Push),
    row!("[git] push [all|the|my|these] [changes|commits|commit|branch|it|everything|work]" ; place, Push),
    row!(
        "[git] clone [the] [git] [repository|repo] [at|from] <address> [to|into|in|as] [the|a] [new] [directory|folder] [named|called] [<dir>]",
        Clone
    ),
    // Code that was given.
    row!(
        "run|execute|evaluate|eval|try|use [this|that|the|my|following|below] [following] [typescript|javascript|ts|js] [code|script|block|program|snippet|typescript|javascript|block] [below|here] [in the sandbox] [for me] <code>",
        Run
    ),
    row!(
        "here|here's [is] [some|the|my|a] [typescript|javascript|ts|js] code|script [to run|execute] <code>",
        Run
    ),
];

const HERE: &str = ".";

fn directory(found: &mut Found<'_>) -> String {
    match found.take(Slot::Directory) {
        Some(dir) if dir.eq_ignore_ascii_case("here") => HERE.to_owned(),
        Some(dir) => dir,
        None => HERE.to_owned(),
    }
}

impl Ask {
    /// Makes the request of what stood in the slots.
    fn request(self, found: &mut Found<'_>) -> Option<Request> {
        Some(match self {
            Self::List => Request::List { dir: directory(found) },
            Self::Tree => Request::Tree { dir: directory(found) },
            Self::Read => Request::Read { path: found.take(Slot::Path)? },
            Self::Write => {
                Request::Write { path: found.take(Slot::Path)?, text: found.take(Slot::Text)? }
            }
            Self::Append => {
                Request::Append { path: found.take(Slot::Path)?, text: found.take(Slot::Text)? }
            }
            Self::Move => {
                let (from, to) = from_to(found)?;
                Request::Move { from, to }
            }
            Self::Copy => {
                let (from, to) = from_to(found)?;
                Request::Copy { from, to }
            }
            Self::Delete => Request::Delete { path: found.take(Slot::Path)? },
            Self::MakeDirectory => Request::MakeDirectory { path: found.take(Slot::Path)? },
            Self::Search => {
                Request::Search { text: found.take(Slot::Term)?, dir: directory(found) }
            }
            Self::FindFiles => {
                Request::FindFiles { pattern: found.take(Slot::Term)?, dir: directory(found) }
            }
            Self::Fetch => Request::Fetch { url: url(found)? },
            Self::GitStatus => Request::GitStatus { dir: directory(found) },
            Self::GitLog => Request::GitLog { dir: directory(found) },
            Self::GitDiff => Request::GitDiff { dir: directory(found) },
            Self::Commit => {
                Request::Commit { message: found.take(Slot::Text)?, dir: directory(found) }
            }
            Self::Push => Request::Push { remote: found.take(Slot::Remote), dir: directory(found) },
            Self::Clone => {
                let url = found.take(Slot::Address)?;
                let dir = found.take(Slot::Directory).unwrap_or_else(|| name_of_repository(&url));
                Request::Clone { url, dir }
            }
            Self::Run => Request::Run { code: found.take(Slot::Code)? },
        })
    }
}

fn url(found: &mut Found<'_>) -> Option<String> {
    if let Some(url) = found.take(Slot::Url) {
        return Some(url);
    }
    let address = found.take(Slot::Address)?;
    // What has no scheme is a host, and hosts are asked over TLS.
    (!address.contains("://")).then(|| format!("https://{address}"))
}

/// Returns where something comes from and where it goes.
fn from_to(found: &mut Found<'_>) -> Option<(String, String)> {
    let from = found.take(Slot::Path)?;
    let to = match found.take(Slot::Directory) {
        Some(dir) => into_directory(&from, with_slash(dir)),
        None => into_directory(&from, found.take(Slot::Path)?),
    };
    Some((from, to))
}

fn with_slash(dir: String) -> String {
    if dir.ends_with('/') { dir } else { format!("{dir}/") }
}

/// A destination that ends with a slash is a directory, and the name stays.
fn into_directory(from: &str, to: String) -> String {
    match from.trim_end_matches('/').rsplit('/').next() {
        Some(name) if to.ends_with('/') => format!("{to}{name}"),
        Some(_) | None => to,
    }
}

/// Returns the directory that a clone goes into: the last part of its address, without `.git`.
fn name_of_repository(url: &str) -> String {
    const FALLBACK: &str = "repository";
    let end = url.trim_end_matches('/');
    let last = end.rsplit(['/', ':']).next().unwrap_or_default();
    let name = last.strip_suffix(".git").unwrap_or(last);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name =
        name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_name { name.to_owned() } else { FALLBACK.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_pattern() {
        for (text, _) in ROWS {
            assert!(pattern(text).is_some(), "{text}");
        }
        for text in HELP.into_iter().chain(NOTHING) {
            assert!(pattern(text).is_some(), "{text}");
        }
        for text in ["[a", "a]", "<nope>", "<path"] {
            assert!(pattern(text).is_none(), "{text}");
        }
    }
}
