//! What may be asked for: verbs, the roles that each stands for, and the words that leave a doubt.
//!
//! English only. A verb that is not here asks for nothing.

use ic_types::Role;

/// A family of verbs that ask for the same kind of call.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) verbs: &'static [&'static str],
    /// What the first resource may be.
    pub(crate) first: &'static [Role],
    /// What the second resource may be; there is none if this is empty.
    pub(crate) second: &'static [Role],
    /// The roles without which it is another kind of call.
    pub(crate) needs: &'static [Role],
    /// What may stand right before the first resource, besides fillers; `&[]` if only the verb may.
    pub(crate) before: &'static [&'static str],
    /// The words of which one has to be in the name of the tool.
    pub(crate) tools: &'static [&'static str],
    /// Whether content may be sent along.
    pub(crate) has_content: bool,
    /// Whether any words may stand between the verb and what stands before the resource.
    pub(crate) is_wordy: bool,
}

const READ: Role = Role::ReadPath;
const WRITE: Role = Role::WritePath;

/// Words in the names of tools that only read.
pub(crate) const READ_TOOLS: &[&str] =
    &["read", "list", "tree", "info", "view", "show", "cat", "get", "stat"];
pub(crate) const WRITE_TOOLS: &[&str] =
    &["write", "create", "save", "edit", "append", "replace", "update", "make", "mkdir"];
pub(crate) const DELETE_TOOLS: &[&str] = &["delete", "remove", "erase", "unlink"];
pub(crate) const FETCH_TOOLS: &[&str] = &["fetch", "get", "download", "read"];

/// Words in the names of tools that do more than any family says.
const MORE: [&str; 28] = [
    "run", "execute", "exec", "eval", "shell", "command", "post", "send", "upload", "put", "patch",
    "publish", "share", "install", "call", "invoke", "submit", "apply", "start", "open", "launch",
    "spawn", "import", "load", "sync", "merge", "force", "all",
];

/// Returns whether a tool is called after what `own` says, and after nothing else.
///
/// What a role means is not what a tool does: one that runs a script reads it, too.
pub(crate) fn is_called(tool: &str, own: &[&str]) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    for c in tool.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    let is_own = |word: &String| own.contains(&word.as_str());
    let is_other = |word: &String| {
        let of_families = FAMILIES.iter().flat_map(|it| it.tools);
        MORE.contains(&word.as_str()) || of_families.into_iter().any(|it| it == word)
    };
    words.iter().any(is_own) && !words.iter().any(|word| !is_own(word) && is_other(word))
}

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        verbs: &[
            "read",
            "show",
            "open",
            "print",
            "view",
            "display",
            "summarize",
            "summarise",
            "list",
            "cat",
        ],
        first: &[READ],
        second: &[],
        needs: &[READ],
        tools: READ_TOOLS,
        has_content: false,
        before: &["in", "inside", "of", "from", "at", "through"],
        is_wordy: true,
    },
    Family {
        verbs: &["write", "save", "store", "put", "append", "insert"],
        first: &[READ, WRITE],
        second: &[],
        needs: &[WRITE],
        tools: WRITE_TOOLS,
        has_content: true,
        before: &["to", "into", "in", "as"],
        is_wordy: true,
    },
    Family {
        verbs: &["edit", "update", "create", "overwrite", "modify", "change", "fix", "make"],
        first: &[READ, WRITE],
        second: &[],
        needs: &[WRITE],
        tools: WRITE_TOOLS,
        has_content: true,
        before: &[],
        is_wordy: false,
    },
    Family {
        verbs: &["delete", "remove", "erase"],
        first: &[Role::DeletePath],
        second: &[],
        needs: &[Role::DeletePath],
        tools: DELETE_TOOLS,
        has_content: false,
        before: &[],
        is_wordy: false,
    },
    Family {
        verbs: &["move", "rename"],
        first: &[READ, Role::DeletePath],
        second: &[WRITE],
        needs: &[Role::DeletePath, WRITE],
        tools: &["move", "rename"],
        has_content: false,
        before: &[],
        is_wordy: false,
    },
    Family {
        verbs: &["copy"],
        first: &[READ],
        second: &[WRITE],
        needs: &[READ, WRITE],
        tools: &["copy"],
        has_content: false,
        before: &[],
        is_wordy: false,
    },
    Family {
        verbs: &[
            "fetch",
            "download",
            "visit",
            "get",
            "read",
            "open",
            "summarize",
            "summarise",
            "show",
        ],
        first: &[Role::FetchUrl],
        second: &[],
        needs: &[Role::FetchUrl],
        tools: FETCH_TOOLS,
        has_content: false,
        before: &["in", "of", "from", "at"],
        is_wordy: true,
    },
    Family {
        verbs: &["clone"],
        first: &[Role::GitRemoteUrl],
        second: &[WRITE],
        needs: &[Role::GitRemoteUrl],
        tools: &["clone"],
        has_content: false,
        before: &[],
        is_wordy: false,
    },
    Family {
        verbs: &["push"],
        first: &[READ, Role::WriteHistory],
        second: &[Role::GitRemoteUrl],
        needs: &[Role::GitRemoteUrl],
        tools: &["push"],
        has_content: false,
        before: &[],
        is_wordy: false,
    },
];

/// What may stand between the first resource and the second, besides fillers.
pub(crate) const BETWEEN: [&str; 3] = ["to", "into", "as"];

/// What may stand before a resource and says nothing about it.
pub(crate) const FILLERS: [&str; 15] = [
    "the",
    "a",
    "my",
    "this",
    "new",
    "file",
    "directory",
    "folder",
    "page",
    "site",
    "url",
    "document",
    "repository",
    "repo",
    "path",
];

/// What may stand before a request and changes nothing about it.
pub(crate) const BEFORE: &[&[&str]] = &[
    &["please"],
    &["kindly"],
    &["now"],
    &["then"],
    &["and"],
    &["also"],
    &["next"],
    &["finally"],
    &["first"],
    &["just"],
    &["hey"],
    &["hello"],
    &["hi"],
    &["ok"],
    &["okay"],
    &["yes"],
    &["thanks"],
    &["thank", "you"],
    &["go", "ahead"],
    &["i", "want", "you", "to"],
    &["i", "need", "you", "to"],
    &["i'd", "like", "you", "to"],
];

/// What may stand before a request that is put as a question.
pub(crate) const ASKING: &[&[&str]] =
    &[&["can", "you"], &["could", "you"], &["would", "you"], &["will", "you"]];

/// What may stand behind a request and changes nothing about it.
pub(crate) const BEHIND: &[&[&str]] =
    &[&["please"], &["now"], &["thanks"], &["too"], &["again"], &["for", "me"], &["to", "me"]];

/// Words that take something back, make it depend on something, report somebody else's words, or make it
/// unclear what is meant. One of them anywhere in the message is a doubt.
const DOUBTFUL: &[&str] = &[
    // Taking back.
    "no",
    "not",
    "never",
    "none",
    "nothing",
    "nobody",
    "neither",
    "nor",
    "without",
    "except",
    "excluding",
    "exclude",
    "besides",
    "unless",
    "avoid",
    "skip",
    "ignore",
    "ignoring",
    "keep",
    "leave",
    "preserve",
    "protect",
    "spare",
    "stop",
    "cancel",
    "abort",
    "forget",
    "undo",
    "refuse",
    "forbid",
    "forbidden",
    "prohibited",
    "instead",
    "rather",
    "but",
    "however",
    "although",
    "though",
    "only",
    "cannot",
    "dont",
    "doesnt",
    "didnt",
    "wont",
    "cant",
    "shouldnt",
    "mustnt",
    "wouldnt",
    "couldnt",
    "isnt",
    "arent",
    "hold",
    "wait",
    "refrain",
    "hands",
    "off",
    "untouched",
    "alone",
    "wrong",
    "mistake",
    "false",
    "fail",
    "dare",
    "minus",
    "less",
    "hate",
    "resist",
    "beware",
    "careful",
    "risky",
    "dangerous",
    "unsafe",
    // Depending on something.
    "if",
    "when",
    "whenever",
    "once",
    "until",
    "till",
    "while",
    "before",
    "after",
    "afterwards",
    "unlike",
    "case",
    "whether",
    "maybe",
    "perhaps",
    "possibly",
    "probably",
    "might",
    "may",
    "should",
    "shall",
    "must",
    "later",
    "tomorrow",
    "tonight",
    "eventually",
    "soon",
    "yesterday",
    "monday",
    "otherwise",
    "else",
    "or",
    "either",
    "assuming",
    "provided",
    "depending",
    "unclear",
    "unsure",
    "ask",
    "asks",
    "asking",
    "confirm",
    "confirmation",
    "approval",
    "approve",
    "approved",
    "permission",
    "check",
    "verify",
    "ensure",
    "sure",
    "wonder",
    "consider",
    "considering",
    "suppose",
    "imagine",
    "pretend",
    "simulate",
    "hypothetically",
    "propose",
    "plan",
    "draft",
    "prepare",
    "explain",
    "describe",
    "discuss",
    "think",
    "decide",
    "choose",
    // Other people's words.
    "said",
    "say",
    "says",
    "saying",
    "told",
    "tells",
    "tell",
    "asked",
    "requested",
    "requests",
    "request",
    "suggested",
    "suggests",
    "suggestion",
    "suggest",
    "mentioned",
    "mentions",
    "mention",
    "quote",
    "quotes",
    "quoted",
    "quoting",
    "according",
    "instruction",
    "instructions",
    "instructs",
    "instructed",
    "command",
    "commands",
    "prompt",
    "system",
    "assistant",
    "user",
    "human",
    "agent",
    "model",
    "output",
    "result",
    "response",
    "reply",
    "replied",
    "claims",
    "claimed",
    "example",
    "following",
    "follow",
    "follows",
    "obey",
    "wants",
    "wanted",
    "recommends",
    "recommended",
    "injected",
    "attack",
    "message",
    "email",
    "mail",
    "forwarded",
    "article",
    "you",
    "your",
    "i",
    "we",
    "our",
    "us",
    "wrote",
    "written",
    "writes",
    "reads",
    "somebody",
    "someone",
    "he",
    "she",
    "they",
    // Questions, and what leads away from the resource.
    "how",
    "why",
    "what",
    "whats",
    "who",
    "which",
    "whose",
    "where",
    "that",
    "did",
    "does",
    "do",
    "was",
    "were",
    "been",
    "had",
    "has",
    "have",
    "is",
    "are",
    "be",
    "being",
    "about",
    "like",
    "similar",
    "such",
    "same",
    "another",
    "other",
    "others",
    "both",
    "near",
    "next",
    "beside",
    "under",
    "below",
    "above",
    "everything",
    "every",
    "each",
    "all",
    "any",
    "anything",
    "rest",
    "them",
    "it",
    "its",
    "these",
    "those",
    "link",
    "links",
    "symlink",
    "reference",
    "references",
    "pointer",
    "alias",
    "shortcut",
    "copies",
    "backup",
    "version",
    "versions",
    "linked",
    "listed",
    "mentioning",
    "referenced",
    "within",
    "stuff",
    "contained",
    "named",
    "called",
    "test",
    "tests",
    "using",
    "use",
    "via",
    "cd",
    "sudo",
    "force",
    "recursively",
];

/// Returns whether a word leaves a doubt.
pub(crate) fn is_doubtful(word: &str) -> bool {
    DOUBTFUL.contains(&word) || word.ends_with("n't") || (word.contains('\'') && word != "i'd")
}

/// Returns whether a word is a form of some verb of the table.
pub(crate) fn is_verb(word: &str) -> bool {
    let is_form = |verb: &&str| {
        let stem = verb.strip_suffix('e').unwrap_or(verb);
        let Some(ending) = word.strip_prefix(stem) else { return false };
        let last = stem.chars().last();
        let doubled = ending.chars().next().filter(|c| Some(*c) == last);
        let ending = doubled.map_or(ending, |c| ending.strip_prefix(c).unwrap_or(ending));
        matches!(ending, "" | "e" | "s" | "es" | "d" | "ed" | "ing" | "ten" | "er" | "en" | "al")
    };
    let irregular = [
        "wrote", "written", "got", "shown", "made", "deletion", "removal", "wipe", "rm", "mv",
        "run", "execute", "send", "upload", "post", "publish", "share", "install", "clear",
        "empty", "clean", "drop", "purge", "reset", "revert", "replace", "truncate", "merge",
        "commit", "pull", "add", "unlink", "trash", "destroy", "kill", "rewrite", "sync", "chmod",
        "chown",
    ];
    FAMILIES.iter().flat_map(|it| it.verbs).any(is_form) || irregular.contains(&word)
}
