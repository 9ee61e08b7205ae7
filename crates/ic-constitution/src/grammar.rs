//! The grammar of plain sentences, as one table: forms, verb phrases, places, and with whom.
//!
//! The parser reads these rows, `policy grammar` prints them, and a test parses every example. What a
//! sentence comes to as rules is not said here.

mod forms;
mod verbs;

use ic_policy::Effect;
use ic_types::Role;

pub use forms::{FORMS, LISTS, PLACES};
pub use verbs::VERBS;

/// Something that an agent does; each has its role.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Verb {
    /// Read files.
    Read,
    /// Create and change files.
    Write,
    /// Delete files, or move them away.
    Delete,
    /// Commit, branch and tag.
    Commit,
    /// Rewrite or delete history.
    Rewrite,
    /// Fetch pages.
    Fetch,
    /// Deal with git remotes.
    Remote,
    /// Act on GitHub repositories of an owner.
    Owner,
    /// Name GitHub repositories.
    Repository,
    /// Connect through the proxy.
    Proxy,
    /// Name branches.
    Branch,
    /// Write commit messages.
    Message,
    /// Send mail.
    Mail,
    /// Write the text of mails.
    MailText,
    /// Give permissions.
    Share,
    /// Pass arguments that the policy does not look at.
    Other,
    /// Run commands in the shell.
    Run,
}

/// The kinds of places that a verb can be limited to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlaceKind {
    /// Directories.
    Directory,
    /// Hosts and git repositories.
    Host,
    /// Names that are compared as they are.
    Name,
    /// Mail addresses.
    Address,
    /// None.
    Nothing,
}

/// A row of the table of verbs.
#[derive(Debug)]
pub struct VerbRow {
    /// The verb.
    pub verb: Verb,
    /// The roles that it stands for.
    pub roles: &'static [Role],
    /// What it can be limited to.
    pub places: PlaceKind,
    /// How it is written after *may* and *never*, and after *ask before*; the first of each is ours.
    pub phrases: &'static [(&'static str, &'static str)],
    /// What may follow it without adding anything.
    pub objects: &'static [&'static str],
    /// The word before its place, when we write it.
    pub before_place: &'static str,
    /// A sentence with it.
    pub example: &'static str,
}

/// How a sentence says what is to happen.
#[derive(Debug)]
pub struct FormRow {
    /// What is to happen.
    pub effect: Effect,
    /// Whether it also forbids the same anywhere else.
    pub is_only: bool,
    /// Whether a subject (the agent) stands before it.
    pub subject: Subject,
    /// How it is written, without articles.
    pub phrases: &'static [&'static str],
    /// A sentence with it.
    pub example: &'static str,
}

/// Where the words of a form stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Subject {
    /// After the agent.
    Agent,
    /// At the beginning of the sentence.
    Nobody,
    /// At the end of the sentence.
    Deed,
}

/// A row of what can stand after the verbs.
#[derive(Debug)]
pub struct PlaceRow {
    /// How it is written.
    pub form: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// A sentence with it.
    pub example: &'static str,
}

/// The servers that come with the program, which a *may* covers without naming them.
pub const BUILT_IN_SERVERS: [&str; 4] = ["filesystem", "git", "fetch", "shell"];
/// The server and the tool that run commands.
pub const SHELL: (&str, &str) = ("shell", "run_command");

/// The words for who acts.
pub const AGENTS: [&str; 6] = ["agent", "agents", "it", "assistant", "ai", "ai agent"];

/// Words that add nothing.
pub const FILLERS: [&str; 10] =
    ["the", "a", "an", "please", "also", "always", "kindly", "both", "either", "freely"];

/// Words before a noun that add nothing.
pub const DETERMINERS: [&str; 8] = ["any", "all", "every", "each", "my", "its", "their", "some"];

/// Directories of the home that are called by their names.
pub const KNOWN_DIRECTORIES: [&str; 8] =
    ["Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos"];

impl Verb {
    /// Returns the row of the verb.
    pub fn row(self) -> &'static VerbRow {
        // INVARIANT: every verb has a row; a test goes through all of them.
        let [first, ..] = &VERBS;
        VERBS.iter().find(|row| row.verb == self).unwrap_or(first)
    }

    /// Returns every verb.
    pub fn all() -> impl Iterator<Item = Self> {
        VERBS.iter().map(|row| row.verb)
    }
}

/// Returns every example of a sentence about the agent.
pub fn examples() -> impl Iterator<Item = &'static str> {
    let verbs = VERBS.iter().map(|row| row.example);
    let forms = FORMS.iter().map(|row| row.example);
    verbs.chain(forms).chain(PLACES.iter().map(|row| row.example))
}

/// Prints the table for people.
pub fn page() -> String {
    let mut lines = vec!["FORMS".to_owned()];
    for row in &FORMS {
        let (before, after) = match row.subject {
            Subject::Agent => ("The agent ", " …"),
            Subject::Nobody => ("", " …"),
            Subject::Deed => ("… ", ""),
        };
        let effect = match (row.effect, row.is_only) {
            (Effect::Allow, false) => "allowed",
            (Effect::Allow, true) => "allowed, and refused anywhere else",
            (Effect::Escalate, _) => "you are asked",
            (Effect::Deny, _) => "refused",
        };
        lines.push(format!("  {effect}"));
        lines.push(format!("      {before}{}{after}", row.phrases.join(" | ")));
        lines.push(format!("      {}", row.example));
    }
    lines.extend([String::new(), "VERBS".to_owned()]);
    for row in &VERBS {
        let roles: Vec<&str> = row.roles.iter().map(|role| role.as_str()).collect();
        let phrases: Vec<&str> = row.phrases.iter().map(|(base, _)| *base).collect();
        lines.push(format!("  {} ({})", phrases.join(" | "), roles.join(", ")));
        lines.push(format!("      {}", row.example));
    }
    lines.extend([String::new(), "PLACES, SERVERS AND TOOLS".to_owned()]);
    let rows = |rows: &[PlaceRow]| {
        let row = |it: &PlaceRow| {
            let PlaceRow { form, meaning, example } = it;
            [format!("  {form}"), format!("      {meaning}"), format!("      {example}")]
        };
        rows.iter().flat_map(row).collect::<Vec<String>>()
    };
    lines.extend(rows(&PLACES));
    lines.extend([String::new(), "LISTS".to_owned()]);
    lines.extend(rows(&LISTS));
    lines.push(
        "\nANY SENTENCE may end with `because …`, which is shown as the reason.\n\
         Headings, block quotes, HTML comments and code blocks are commentary; every other line has to be\n\
         a plain sentence. A list under `The agent may:` takes these words."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}
