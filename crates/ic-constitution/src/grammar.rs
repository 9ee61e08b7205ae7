//! The grammar of plain sentences, as one table: forms, verb phrases, places, and with whom.
//!
//! The parser reads these rows, `policy grammar` prints them, and a test parses every example. What a
//! sentence comes to as rules is not said here.

use ic_policy::Effect;
use ic_types::Role;

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
/// Those of them that are free in the sandbox.
pub const CONTAINED_SERVERS: [&str; 3] = ["filesystem", "git", "shell"];
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

const FILES: &[&str] = &[
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "directories",
    "document",
    "documents",
    "anything",
    "everything",
    "content",
    "contents",
    "them",
    "it",
];
const READABLE: &[&str] = &[
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "directories",
    "document",
    "documents",
    "anything",
    "everything",
    "content",
    "contents",
    "them",
    "it",
    "repository",
    "repositories",
];
const PAGES: &[&str] = &[
    "page",
    "pages",
    "web page",
    "web pages",
    "website",
    "websites",
    "url",
    "urls",
    "file",
    "files",
    "documentation",
    "anything",
];
const NOTHING: &[&str] = &[];

/// The verbs.
pub const VERBS: [VerbRow; 17] = [
    VerbRow {
        verb: Verb::Read,
        roles: &[Role::ReadPath],
        places: PlaceKind::Directory,
        phrases: &[
            ("read", "reading"),
            ("view", "viewing"),
            ("look at", "looking at"),
            ("look into", "looking into"),
            ("list", "listing"),
            ("search", "searching"),
            ("inspect", "inspecting"),
        ],
        objects: READABLE,
        before_place: "in",
        example: "The agent may read files in ~/notes.",
    },
    VerbRow {
        verb: Verb::Write,
        roles: &[Role::WritePath],
        places: PlaceKind::Directory,
        phrases: &[
            ("write", "writing"),
            ("create", "creating"),
            ("change", "changing"),
            ("edit", "editing"),
            ("modify", "modifying"),
            ("update", "updating"),
            ("save", "saving"),
            ("overwrite", "overwriting"),
        ],
        objects: FILES,
        before_place: "in",
        example: "The agent may create or change files in ~/notes/out.",
    },
    VerbRow {
        verb: Verb::Delete,
        roles: &[Role::DeletePath],
        places: PlaceKind::Directory,
        phrases: &[
            ("delete", "deleting"),
            ("remove", "removing"),
            ("erase", "erasing"),
            ("move away", "moving away"),
            ("move files away", "moving files away"),
            ("move them away", "moving them away"),
        ],
        objects: FILES,
        before_place: "in",
        example: "Ask before deleting files in ~/notes.",
    },
    VerbRow {
        verb: Verb::Commit,
        roles: &[Role::WriteHistory],
        places: PlaceKind::Directory,
        phrases: &[
            ("commit", "committing"),
            ("branch", "branching"),
            ("tag", "tagging"),
            ("make commits", "making commits"),
            ("create commits", "creating commits"),
            ("create branches", "creating branches"),
            ("create tags", "creating tags"),
        ],
        objects: &["changes", "files"],
        before_place: "in",
        example: "The agent may commit, branch and tag in ~/code.",
    },
    VerbRow {
        verb: Verb::Rewrite,
        roles: &[Role::DeleteHistory],
        places: PlaceKind::Directory,
        phrases: &[
            ("rewrite history", "rewriting history"),
            ("delete history", "deleting history"),
            ("remove history", "removing history"),
            ("delete branches", "deleting branches"),
            ("remove branches", "removing branches"),
            ("delete tags", "deleting tags"),
            ("remove tags", "removing tags"),
            ("delete commits", "deleting commits"),
            ("remove commits", "removing commits"),
        ],
        objects: NOTHING,
        before_place: "in",
        example: "The agent must never rewrite history in ~/code.",
    },
    VerbRow {
        verb: Verb::Fetch,
        roles: &[Role::FetchUrl],
        places: PlaceKind::Host,
        phrases: &[
            ("fetch", "fetching"),
            ("request", "requesting"),
            ("download", "downloading"),
            ("browse", "browsing"),
            ("visit", "visiting"),
            ("read pages", "reading pages"),
            ("read web pages", "reading web pages"),
            ("open web pages", "opening web pages"),
            ("make requests", "making requests"),
        ],
        objects: PAGES,
        before_place: "from",
        example: "The agent may fetch pages from docs.rs.",
    },
    VerbRow {
        verb: Verb::Remote,
        roles: &[Role::GitRemoteUrl],
        places: PlaceKind::Host,
        phrases: &[
            ("deal with remotes", "dealing with remotes"),
            ("deal with git remotes", "dealing with git remotes"),
            ("use remotes", "using remotes"),
            ("use git remotes", "using git remotes"),
            ("push", "pushing"),
            ("pull", "pulling"),
            ("clone", "cloning"),
        ],
        objects: &[
            "commit",
            "commits",
            "branch",
            "branches",
            "tag",
            "tags",
            "changes",
            "repository",
            "repositories",
            "remotes",
            "git remotes",
        ],
        before_place: "at",
        example: "Ask before pushing to or pulling from github.com/acme/app.",
    },
    VerbRow {
        verb: Verb::Owner,
        roles: &[Role::GithubOwner],
        places: PlaceKind::Name,
        phrases: &[
            ("act on github repositories", "acting on github repositories"),
            ("work with github repositories", "working with github repositories"),
            ("use github repositories", "using github repositories"),
        ],
        objects: NOTHING,
        before_place: "of",
        example: "The agent may act on GitHub repositories of acme with github.",
    },
    VerbRow {
        verb: Verb::Repository,
        roles: &[Role::GithubRepo],
        places: PlaceKind::Name,
        phrases: &[("name github repositories", "naming github repositories")],
        objects: NOTHING,
        before_place: "called",
        example: "The agent may name GitHub repositories called app with github.",
    },
    VerbRow {
        verb: Verb::Proxy,
        roles: &[Role::ProxyDomain],
        places: PlaceKind::Host,
        phrases: &[("connect through proxy", "connecting through proxy")],
        objects: NOTHING,
        before_place: "to",
        example: "The agent may connect through the proxy to registry.npmjs.org with gateway.",
    },
    VerbRow {
        verb: Verb::Branch,
        roles: &[Role::BranchName],
        places: PlaceKind::Name,
        phrases: &[("name branches", "naming branches")],
        objects: NOTHING,
        before_place: "called",
        example: "Ask before naming branches called main with tracker.",
    },
    VerbRow {
        verb: Verb::Message,
        roles: &[Role::CommitMessage],
        places: PlaceKind::Nothing,
        phrases: &[("write commit messages", "writing commit messages")],
        objects: NOTHING,
        before_place: "",
        example: "The agent may write commit messages with tracker.",
    },
    VerbRow {
        verb: Verb::Mail,
        roles: &[Role::EmailAddress],
        places: PlaceKind::Address,
        phrases: &[
            ("send mail", "sending mail"),
            ("send mails", "sending mails"),
            ("send email", "sending email"),
            ("send emails", "sending emails"),
            ("send messages", "sending messages"),
        ],
        objects: NOTHING,
        before_place: "to",
        example: "The agent may send mail to ann@example.com with mail.",
    },
    VerbRow {
        verb: Verb::MailText,
        roles: &[Role::EmailBody],
        places: PlaceKind::Nothing,
        phrases: &[("write mail texts", "writing mail texts")],
        objects: NOTHING,
        before_place: "",
        example: "Ask before writing mail texts with mail.",
    },
    VerbRow {
        verb: Verb::Share,
        roles: &[Role::SharePermission],
        places: PlaceKind::Name,
        phrases: &[("give permissions", "giving permissions"), ("share", "sharing")],
        objects: FILES,
        before_place: "called",
        example: "The agent must never give permissions.",
    },
    VerbRow {
        verb: Verb::Other,
        roles: &[Role::None],
        places: PlaceKind::Nothing,
        phrases: &[("pass other arguments", "passing other arguments")],
        objects: NOTHING,
        before_place: "",
        example: "The agent may pass other arguments with calendar.",
    },
    VerbRow {
        verb: Verb::Run,
        roles: &[Role::ReadPath, Role::WritePath, Role::DeletePath],
        places: PlaceKind::Directory,
        phrases: &[
            ("run commands", "running commands"),
            ("run shell commands", "running shell commands"),
            ("execute commands", "executing commands"),
            ("run programs", "running programs"),
        ],
        objects: NOTHING,
        before_place: "in",
        example: "Ask before running commands anywhere.",
    },
];

/// The forms.
pub const FORMS: [FormRow; 9] = [
    FormRow {
        effect: Effect::Allow,
        is_only: true,
        subject: Subject::Agent,
        phrases: &["may only", "can only", "is only allowed to", "are only allowed to"],
        example: "The agent may only read files in ~/notes.",
    },
    FormRow {
        effect: Effect::Deny,
        is_only: false,
        subject: Subject::Agent,
        phrases: &[
            "must never",
            "must not",
            "mustn't",
            "may not",
            "may never",
            "can not",
            "cannot",
            "can't",
            "can never",
            "does not",
            "do not",
            "doesn't",
            "don't",
            "never",
            "shall not",
            "shall never",
            "will not",
            "will never",
            "won't",
            "is not allowed to",
            "is never allowed to",
            "are not allowed to",
            "are never allowed to",
            "isn't allowed to",
            "is forbidden to",
            "is not permitted to",
        ],
        example: "The agent must never delete files.",
    },
    FormRow {
        effect: Effect::Escalate,
        is_only: false,
        subject: Subject::Agent,
        phrases: &[
            "must ask before",
            "must ask me before",
            "must ask first before",
            "asks before",
            "asks me before",
            "ask before",
            "has to ask before",
            "have to ask before",
            "must ask person before",
            "must ask for approval before",
            "must ask for permission before",
            "must get approval before",
            "needs approval before",
            "needs approval to",
            "needs permission to",
            "needs my approval to",
        ],
        example: "The agent must ask before deleting files in ~/notes.",
    },
    FormRow {
        effect: Effect::Allow,
        is_only: false,
        subject: Subject::Agent,
        phrases: &[
            "may",
            "can",
            "is allowed to",
            "are allowed to",
            "is permitted to",
            "is free to",
            "are free to",
        ],
        example: "The agent may read files in ~/notes.",
    },
    FormRow {
        effect: Effect::Escalate,
        is_only: false,
        subject: Subject::Nobody,
        phrases: &[
            "ask before",
            "ask me before",
            "ask first before",
            "ask person before",
            "ask for approval before",
            "ask for permission before",
            "ask me first before",
        ],
        example: "Ask before fetching pages from the web.",
    },
    FormRow {
        effect: Effect::Deny,
        is_only: false,
        subject: Subject::Nobody,
        phrases: &["never", "do not", "don't"],
        example: "Never delete files in ~/photos.",
    },
    FormRow {
        effect: Effect::Escalate,
        is_only: false,
        subject: Subject::Deed,
        phrases: &[
            "is for person to decide",
            "are for person to decide",
            "is for me to decide",
            "are for me to decide",
            "is up to me",
            "is up to person",
            "needs approval",
            "need approval",
            "needs my approval",
            "requires approval",
            "require approval",
            "requires my approval",
        ],
        example: "Reading files anywhere else is for a person to decide.",
    },
    FormRow {
        effect: Effect::Deny,
        is_only: false,
        subject: Subject::Deed,
        phrases: &[
            "is refused",
            "are refused",
            "is forbidden",
            "are forbidden",
            "is denied",
            "are denied",
            "is prohibited",
            "is not allowed",
            "are not allowed",
            "is never allowed",
            "isn't allowed",
        ],
        example: "Everything else is refused.",
    },
    FormRow {
        effect: Effect::Allow,
        is_only: false,
        subject: Subject::Deed,
        phrases: &["is allowed", "are allowed", "is permitted", "are permitted"],
        example: "Reading files in ~/notes is allowed.",
    },
];

/// What can stand after the verbs, or in their place.
pub const PLACES: [PlaceRow; 16] = [
    PlaceRow {
        form: "in DIRECTORY",
        meaning: "the directory and all that is in it; begins with `~/` or `/`, in backticks if it has spaces",
        example: "The agent may read files in `~/my notes` and ~/Documents.",
    },
    PlaceRow {
        form: "in the sandbox, in the workspace",
        meaning: "the directory of this session",
        example: "Ask before deleting files in the workspace.",
    },
    PlaceRow {
        form: "anywhere",
        meaning: "every place, the sandbox and the workspace included; *never … anywhere* has no exceptions",
        example: "The agent must never delete files anywhere.",
    },
    PlaceRow {
        form: "anywhere else",
        meaning: "every place that no other sentence with the same verb names; the workspace stays free",
        example: "Ask before reading files anywhere else.",
    },
    PlaceRow {
        form: "no place",
        meaning: "every place, and calls that name none; *never* without a place has no exceptions",
        example: "The agent does not write files.",
    },
    PlaceRow {
        form: "without naming a place",
        meaning: "calls that leave the directory out",
        example: "The agent may read files without naming a place with git.",
    },
    PlaceRow {
        form: "from HOST, to HOST, at HOST",
        meaning: "a host, `*.HOST` with its subdomains, `HOST:PORT`, `https://HOST`, and for remotes `HOST/OWNER/REPO`",
        example: "The agent may fetch pages from docs.rs and *.rust-lang.org.",
    },
    PlaceRow {
        form: "from the web",
        meaning: "every public host name on its usual port",
        example: "Ask before fetching pages from the web.",
    },
    PlaceRow {
        form: "from local addresses",
        meaning: "everything else: IP addresses, names of the local network, unusual ports, no host at all",
        example: "The agent must never fetch pages from local addresses.",
    },
    PlaceRow {
        form: "in @LIST, to @LIST, of @LIST",
        meaning: "the values of a list in dynamic-lists.json",
        example: "The agent may fetch pages from hosts in @docs.",
    },
    PlaceRow {
        form: "of NAME, owned by NAME, called NAME",
        meaning: "names, for owners, repositories and branches",
        example: "The agent may act on GitHub repositories owned by acme with github.",
    },
    PlaceRow {
        form: "with SERVER",
        meaning: "calls of this server alone; a *may* that names no server covers only the built-in ones",
        example: "The agent may read files in ~/notes with mail.",
    },
    PlaceRow {
        form: "with TOOL of SERVER",
        meaning: "calls of this tool alone",
        example: "The agent may read files in ~/notes with attach_file of mail.",
    },
    PlaceRow {
        form: "use TOOL of SERVER",
        meaning: "everything that the tool does, wherever; for *ask* and *never* also `use tools of SERVER`",
        example: "The agent may use list_events of calendar.",
    },
    PlaceRow {
        form: "use tools without resources",
        meaning: "tools that reach no file, no repository and no network",
        example: "The agent may use tools without resources.",
    },
    PlaceRow {
        form: "Everything else …",
        meaning: "what no sentence covers; without this sentence it is refused",
        example: "Everything else is for a person to decide.",
    },
];

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

/// Returns every example of the table.
pub fn examples() -> impl Iterator<Item = &'static str> {
    let verbs = VERBS.iter().map(|row| row.example);
    let forms = FORMS.iter().map(|row| row.example);
    verbs.chain(forms).chain(PLACES.iter().map(|row| row.example))
}

/// Prints the table for people.
pub fn page() -> String {
    let mut page = String::from("FORMS\n");
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
        page.push_str(&format!("  {effect}\n      {before}{}{after}\n", row.phrases.join(" | ")));
        page.push_str(&format!("      {}\n", row.example));
    }
    page.push_str("\nVERBS\n");
    for row in &VERBS {
        let roles: Vec<&str> = row.roles.iter().map(|role| role.as_str()).collect();
        let phrases: Vec<&str> = row.phrases.iter().map(|(base, _)| *base).collect();
        page.push_str(&format!("  {} ({})\n", phrases.join(" | "), roles.join(", ")));
        page.push_str(&format!("      {}\n", row.example));
    }
    page.push_str("\nPLACES, SERVERS AND TOOLS\n");
    for row in &PLACES {
        page.push_str(&format!("  {}\n      {}\n      {}\n", row.form, row.meaning, row.example));
    }
    page.push_str(
        "\nANY SENTENCE may end with `because …`, which is shown as the reason.\n\
         Headings, block quotes, HTML comments and code blocks are commentary; every other line has to be\n\
         a plain sentence. A list under `The agent may:` takes these words.\n",
    );
    page
}
