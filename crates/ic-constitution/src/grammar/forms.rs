//! The table of forms, and that of places, servers and tools.
//!
//! Rows only; what they mean is said by their types.

use ic_policy::Effect;

use super::{FormRow, PlaceRow, Subject};

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
        meaning: "every place, and calls that name none; *never* without a place has no exceptions but the session's own sandbox, which holds nothing of yours",
        example: "The agent does not write files.",
    },
    PlaceRow {
        form: "without naming a place",
        meaning: "calls that leave the directory out",
        example: "The agent may read files without naming a place with git.",
    },
    PlaceRow {
        form: "from HOST, to HOST, at HOST",
        meaning: "a host (in a *may* on its usual ports, in *ask* and *never* on every port), `*.HOST` with its subdomains, `HOST:PORT`, `HOST:*` for every port, `https://HOST`, and for remotes `HOST/OWNER/REPO`",
        example: "The agent may fetch pages from docs.rs and *.rust-lang.org.",
    },
    PlaceRow {
        form: "from the web",
        meaning: "every public host name on its usual ports; in *ask* and *never* also public addresses, and every port",
        example: "Ask before fetching pages from the web.",
    },
    PlaceRow {
        form: "from local addresses",
        meaning: "this machine and the local network: their names and addresses, and no host at all",
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

/// Where the values of a list come from.
pub const LISTS: [PlaceRow; 4] = [
    PlaceRow {
        form: "@LIST is what TOOL of SERVER returns",
        meaning: "`ironcurtain refresh-lists` calls the tool, under the policy, and shows you the values; arguments follow as ``for `{…}` ``",
        example: "@contacts is what list_contacts of addressbook returns.",
    },
    PlaceRow {
        form: "@LIST is each FIELD that TOOL of SERVER returns",
        meaning: "the same, with the values that stand under one key of the result",
        example: "@contacts is each email that list_contacts of addressbook returns.",
    },
    PlaceRow {
        form: "@LIST means WORDS",
        meaning: "`ironcurtain refresh-lists` asks a model for the values, and shows them to you; this needs a key",
        example: "@news means popular news sites.",
    },
    PlaceRow {
        form: "@LIST means WORDS, found with SERVER",
        meaning: "a model chooses a call of the server, which is judged like any other, and finds the values in its result",
        example: "@contacts means my contacts, found with addressbook.",
    },
];
