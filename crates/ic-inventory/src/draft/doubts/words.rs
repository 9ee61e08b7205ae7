//! The words of names by which questions are chosen, and the questions.

pub(super) const RECIPIENT: &str = "does it say who gets something? Then it may be an `email-address`, by which rules can limit it";
pub(super) const ACCOUNT: &str = "does it name an account or a person?";
pub(super) const PAYEE: &str = "is it an account that money goes to?";
pub(super) const TEXT: &str = "is it text that others get to read? Then it may be an `email-body`";
pub(super) const NUMBERED: &str =
    "does it name something of an account or a service, such as a page, a file or a message?";
/// What a person is asked where only the description leaves a doubt.
pub(super) const TOLD: &str = "its description speaks of a path or an address; is it one?";
pub(super) const UNKNOWN: &str =
    "does it name something outside of the call, or leave this machine?";

/// Who may do what.
pub(super) const RIGHTS: (&str, &str) = (
    "access permission permissions privacy privilege privileges role roles scope scopes share sharing visibility",
    "does it give somebody rights? Then it may be a `share-permission`",
);

/// Words of names, each with the question to a person; the first row that has one of the words counts.
pub(super) const ASKED: [(&str, &str); 8] = [
    (
        "addressee attendee attendees bcc cc contact contacts email emails invitee invitees mail participant \
         participants payee phone recipient recipients sender to",
        RECIPIENT,
    ),
    (
        "account accounts assignee assignees author beneficiary customer customers iban login member members \
         person profile reviewer reviewers tenant user username users wallet",
        ACCOUNT,
    ),
    (
        "channel channels chat conversation dm group groups room thread",
        "does it say where or to whom something is posted?",
    ),
    (
        "namespace org organisation organization owner project projects team teams workspace",
        "does it say whose repository or project something is done to? Then it may be a `github-owner`",
    ),
    (
        "args arguments cmd code command commands cypher expression function javascript js program python script \
         shell sql statement statements",
        "is it run, so that it could reach any file or address?",
    ),
    ("bearer credential credentials passwd password secret secrets", "is it a secret?"),
    RIGHTS,
    (
        "answer body caption comment comments content contents description html keyword keywords markdown message \
         messages msg note notes objective prompt prompts q queries query question reply search subject summary text \
         texts title titles",
        TEXT,
    ),
];

/// What tools do that move money.
pub(super) const PAYING: [&str; 12] = [
    "charge", "deposit", "donate", "invoice", "money", "pay", "payment", "payout", "refund",
    "remit", "transfer", "withdraw",
];

/// Words of a description that leave a doubt.
pub(super) const TELLING: &str =
    "address addresses directory domain email file folder host hostname path uri url";

/// Words of a description that leave a doubt about a setting.
pub(super) const BEYOND_SETTINGS: &str = "id ids json uuid";

/// The last words of names of settings: when, how many, in which order and form, and where on a page.
const SETTINGS: &str = "agent align alignment amount angle ascending asc bottom button color colors colour compression count \
    country currency cursor date dates datetime day days deadline decoration delay delimiter depth desc device \
    direction distance duration element emoji encoding end engine estimate expand flex font format formats fps \
    freshness geolocation gravity height hour hours icon interval kind lang language languages layout left \
    level limit locale margin max metric metrics min minute mode model month offset operator order ordering \
    orientation page pagination palette period platform position precision priority provider quality radius ratio \
    raw reaction recency region resolution right sampling scale scaling severity size sort \
    sorting sorts spacing speed spent start state states since status step strategy style submit temperature theme \
    thought thoughts threshold time timeframe timeout times timestamp timezone top tz uid unit units until \
    verbosity version viewport wait weight width year zoom";
/// Words that make a name one of a setting wherever they stand: `paddingTop`, `excluded_file_patterns`.
const SETTING_ANYWHERE: &str = "color excluded exclude margin offset padding regex";
/// The first words of names of flags, also of those that are given as texts.
const FLAGS: &str = "allow enable has ignore is needs return should use";
/// Words behind which the word before counts: `sort_by`, `size_value`.
const TRAILING: [&str; 2] = ["by", "value"];
/// Words that say when, if a verb in the past stands before them: `created_at`, `updated_since`.
const WHEN: [&str; 7] = ["after", "at", "before", "on", "since", "until", "within"];
/// What the words `token` and `cursor` say with one of these before them: where a list goes on.
const PAGING: [&str; 5] = ["continuation", "cursor", "next", "page", "sync"];
/// What has a type that is as good as the name of a table.
const TYPED: [&str; 7] = ["entity", "node", "object", "record", "relation", "resource", "return"];
/// What a date has before or after it, in names of two words.
const SPANS: [&str; 6] = ["after", "before", "end", "from", "start", "to"];

/// Returns whether a name is that of a setting.
pub(super) fn is_setting(name: &[String]) -> bool {
    let name: Vec<&str> = name.iter().map(String::as_str).collect();
    if name.iter().any(|word| has(SETTING_ANYWHERE, word)) {
        return true;
    }
    match name[..] {
        ["after" | "before" | "started" | "ended" | "include" | "fields"]
        | [.., "return", "fields"] => true,
        [.., before, "token"] => PAGING.contains(&before),
        [.., "type" | "types"] => !TYPED.iter().any(|it| name.contains(it)),
        // Of a page, and not of what is deleted.
        [.., "selector"] => !["field", "label", "node"].iter().any(|it| name.contains(it)),
        [first, _, ..] if has(FLAGS, first) => true,
        ["date", last] if SPANS.contains(&last) => true,
        [.., before, last] if WHEN.contains(&last) && before.ends_with("ed") => true,
        [.., before, last] if TRAILING.contains(&last) => has(SETTINGS, before),
        [.., last] => has(SETTINGS, last),
        [] => false,
    }
}

/// Returns whether a name is that of what a file holds.
pub(super) fn is_filling(name: &[String]) -> bool {
    let has = |of: &[&str]| name.iter().any(|word| of.contains(&word.as_str()));
    has(&["content", "contents"]) || (has(&["text"]) && has(&["new", "old"]))
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|it| it == word)
}
