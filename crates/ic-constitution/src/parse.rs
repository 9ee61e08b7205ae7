//! From the words of a statement to a sentence, by the table of the grammar.
//!
//! Every word has to be understood: a word that is left over is a mistake, never ignored. Mistakes come with
//! the nearest plain sentence.

mod clause;
mod list;
mod offer;
mod place;
mod stated;

use ic_policy::Effect;
use ic_types::{Json, JsonLimits};

use crate::document::{self, Block, Document, Statement, in_reason};
use crate::fault::{Fault, Faults};
use crate::grammar::{AGENTS, FILLERS, FORMS, FormRow, PlaceKind, Subject, Verb};
use crate::list::ListDefinition;
use crate::sentence::{Deed, HostPlace, Place, Sentence, kind_of};
use crate::word::Word;
use clause::{Clauses, Stuck};
pub(crate) use list::definition_of;
pub use stated::{FREE_MAX, Free, Stated, proposed, stated};

/// The most sentences of a constitution.
pub const SENTENCES_MAX: usize = 10_000;

/// A constitution: its sentences, in the order of their lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Constitution {
    /// The sentences.
    pub sentences: Vec<Sentence>,
    /// Rules that have no plain form.
    pub kept: Vec<Kept>,
    /// Where the values of lists come from.
    pub lists: Vec<ListDefinition>,
}

/// A rule that has no plain form and is kept as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The line on which its block begins, counted from 1.
    pub line: usize,
    /// Whether it is asked after the sentences, and not before.
    pub is_after: bool,
    /// Its name.
    pub name: String,
    /// The rule as compiled-policy.json has it; checked in full when the policy is loaded.
    pub rule: Json,
}

/// Words that make a sentence mean something else than the table knows, and what to say about them.
const REFUSED: [(&[&str], &str); 8] = [
    (
        &["unless", "except", "excepting", "apart", "besides", "excluding"],
        "an exception is a sentence of its own, and the rest is written with `anywhere else`",
    ),
    (&["but", "however", "although", "though", "yet"], "write two sentences"),
    (
        &["should", "shouldn't", "ought", "would", "could", "might", "try", "avoid", "prefer"],
        "this does not say whether it is allowed; write `may`, `must never` or `ask before`",
    ),
    (
        &[
            "if", "when", "whenever", "while", "until", "after", "during", "weekends", "weekdays",
            "night", "hours",
        ],
        "a sentence holds at all times; conditions are not possible",
    ),
    (
        &[
            "usually",
            "normally",
            "generally",
            "sometimes",
            "often",
            "mostly",
            "rarely",
            "occasionally",
        ],
        "a sentence always holds; leave this word out",
    ),
    (
        &[
            "reasonable",
            "sensible",
            "appropriate",
            "necessary",
            "important",
            "sensitive",
            "private",
            "safe",
            "dangerous",
            "suspicious",
            "small",
            "large",
            "big",
            "few",
            "relevant",
            "trusted",
            "personal",
            "temporary",
            "old",
        ],
        "a program cannot tell what this word covers; name the place",
    ),
    (
        &["ignore", "disregard", "forget", "override", "previous", "above", "instructions"],
        "sentences do not change each other; write what is allowed, asked or refused",
    ),
    (
        &[
            "you", "your", "user", "users", "humans", "people's", "i", "we", "somebody",
            "everyone", "anybody", "anyone",
        ],
        "a sentence is about the agent; begin with `The agent`",
    ),
];

const NEGATIONS: [&str; 16] = [
    "never", "not", "no", "cannot", "can't", "don't", "doesn't", "mustn't", "won't", "isn't",
    "nothing", "nobody", "neither", "nor", "none", "nowhere",
];

/// Words of a form, which must not stand in what follows the form.
const MODALS: [&str; 22] = [
    "may", "can", "must", "never", "not", "ask", "only", "allowed", "cannot", "can't", "don't",
    "doesn't", "do", "does", "is", "are", "allow", "forbid", "refuse", "decide", "approval", "no",
];

/// Reads a constitution; all of its mistakes are named at once.
pub fn parse(text: &str) -> Result<Constitution, Faults> {
    let Document { statements, blocks, mut faults } = document::read(text);
    let mut sentences = Vec::new();
    let mut kept = Vec::new();
    let mut lists = Vec::new();
    for block in &blocks {
        match rules_of(block) {
            Ok(rules) => kept.extend(rules),
            Err(fault) => faults.push(fault),
        }
    }
    for statement in &statements {
        if let Some(definition) = list::definition(statement) {
            define(definition, &mut lists, &mut faults);
            continue;
        }
        match sentence(statement) {
            Ok(sentence) => sentences.push(sentence),
            Err(fault) => faults.push(fault),
        }
    }
    if SENTENCES_MAX < sentences.len() {
        faults.push(Fault {
            line: 1,
            column: 1,
            words: "…".to_owned(),
            problem: format!("a constitution has at most {SENTENCES_MAX} sentences"),
            offers: Vec::new(),
        });
    }
    if faults.is_empty() {
        Ok(Constitution { sentences, kept, lists })
    } else {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        Err(Faults(faults))
    }
}

/// Takes what is said about a list; nothing is said twice.
fn define(
    definition: Result<ListDefinition, Fault>,
    lists: &mut Vec<ListDefinition>,
    faults: &mut Vec<Fault>,
) {
    let known = |it: &ListDefinition| lists.iter().find(|known| known.name == it.name);
    match definition {
        Ok(definition) => match known(&definition) {
            Some(known) => faults.push(Fault {
                line: definition.line,
                column: 1,
                problem: format!("line {} says already where this list comes from", known.line),
                words: definition.text,
                offers: Vec::new(),
            }),
            None => lists.push(definition),
        },
        Err(fault) => faults.push(fault),
    }
}

/// Reads the rules of a block.
fn rules_of(block: &Block) -> Result<Vec<Kept>, Fault> {
    let fault = |problem: String| Fault {
        line: block.line,
        column: 1,
        words: "rules".to_owned(),
        problem,
        offers: Vec::new(),
    };
    let json = Json::parse(block.text.as_bytes(), JsonLimits::ARTIFACT)
        .map_err(|error| fault(error.to_string()))?;
    let Json::Array(rules) = json else {
        return Err(fault("a block of rules is a JSON array".to_owned()));
    };
    let kept = |rule: Json| {
        let name = match &rule {
            Json::Object(object) => object.get("name").and_then(Json::as_str).map(str::to_owned),
            _ => None,
        };
        let name = name.ok_or_else(|| fault("a rule is a JSON object with a name".to_owned()))?;
        Ok(Kept { line: block.line, is_after: block.is_after, name, rule })
    };
    rules.into_iter().map(kept).collect()
}

/// Returns the words that mean something.
fn meant(words: &[Word]) -> Vec<Word> {
    let is_word = |it: &&Word| it.is_quoted || !FILLERS.contains(&it.low.as_str());
    let is_comma = |it: &&Word| it.is(",");
    words.iter().filter(is_word).skip_while(is_comma).cloned().collect()
}

/// Returns an article without a noun: it is a name, or a part of one.
fn lone_article(words: &[Word]) -> Option<&Word> {
    let is_end = |it: &Word| it.is_end() || it.is_one_of(&[",", ":", "and", "or"]);
    let mut next = words.iter().skip(1);
    let is_lone = |it: &&Word| {
        let next = next.next();
        it.is_one_of(&["the", "a", "an"]) && next.is_none_or(is_end)
    };
    words.iter().find(is_lone)
}

/// Returns whether a sentence that is offered would be understood, without offering others for it.
fn is_understood(offer: &str) -> bool {
    let Document { statements, faults, .. } = document::read(offer);
    let is_one = |it: &Statement| {
        matches!(list::definition(it), Some(Ok(_))) || read(&meant(&it.words)).is_ok()
    };
    faults.is_empty() && statements.iter().all(is_one)
}

/// Reads one sentence.
fn sentence(statement: &Statement) -> Result<Sentence, Fault> {
    let all = &statement.words;
    let (before, reason) = split_reason(all);
    let words = meant(before);
    let lone = lone_article(before).map(|it| {
        Stuck::at(Some(it), "nothing follows this; put a name that has a blank in backticks")
    });
    let fault = |stuck: Stuck| Fault {
        line: stuck.line,
        column: stuck.column,
        words: stuck.words,
        problem: stuck.problem,
        offers: offer::offers(&words).into_iter().filter(|it| is_understood(it)).collect(),
    };
    if let Some(stuck) = lone {
        // Whatever is offered would be about another place than the one that was meant.
        return Err(Fault { offers: Vec::new(), ..fault(stuck) });
    }
    let understood =
        read(&words).map_err(|stuck| {
            fault(stuck.unwrap_or_else(|| {
                Stuck::at(before.first().or(all.first()), "nothing is said here")
            }))
        })?;
    let (form, deed, place, with) = understood;
    let said = reason.as_deref().and_then(|it| in_reason(it, form.effect == Effect::Allow));
    if let Some(said) = said {
        let problem = "what stands after `because` is not compiled, and this reads like a restriction; write it as \
                       a sentence of its own";
        let because = all.iter().find(|it| it.is("because"));
        return Err(Fault {
            offers: Vec::new(),
            ..fault(Stuck { words: said, ..Stuck::at(because, problem) })
        });
    }
    Ok(Sentence {
        effect: form.effect,
        is_only: form.is_only,
        deed,
        place,
        with,
        reason,
        line: statement.line,
        text: raw(all),
    })
}

type Understood = (&'static FormRow, Deed, Place, Vec<crate::sentence::With>);

fn read(words: &[Word]) -> Result<Understood, Option<Stuck>> {
    check_words(words).map_err(Some)?;
    let Some((form, rest)) = form_of(words) else {
        return Err(words.first().map(|first| {
            Stuck::at(Some(first), "a sentence says `The agent may …`, `The agent must never …`, `Ask before …` or `… is for a person to decide`")
        }));
    };
    if let Some(modal) = rest.iter().find(|it| it.is_one_of(&MODALS)) {
        let problem = "a sentence says one thing: write one sentence for each";
        return Err(Some(Stuck::at(Some(modal), problem)));
    }
    let mut clauses = Clauses::new(rest, words.last());
    let deed = clauses.deed(form.subject == Subject::Deed).map_err(Some)?;
    let (place, mut with) = clauses.rest(&deed).map_err(Some)?;
    let place = clauses.place_for(form.effect, place);
    clauses.check_objects(form.effect, &place).map_err(Some)?;
    if form.effect == Effect::Allow {
        clauses.limit_to_named_remotes(&deed, &mut with).map_err(Some)?;
    }
    check_sense(words, form, &deed, (&place, &with)).map_err(Some)?;
    Ok((form, deed, place, with))
}

/// Refuses words that no sentence has.
fn check_words(words: &[Word]) -> Result<(), Stuck> {
    let look_alike = |it: &&Word| {
        !it.is_quoted && it.text.chars().all(char::is_alphabetic) && !it.text.is_ascii()
    };
    if let Some(word) = words.iter().find(look_alike) {
        let odd: Vec<String> = word
            .text
            .chars()
            .filter(|it| !it.is_ascii())
            .map(|it| format!("U+{:04X}", u32::from(it)))
            .collect();
        let problem = format!(
            "it has letters that are not English ({}) and may look like others; put names in backticks",
            odd.join(", ")
        );
        return Err(Stuck::at(Some(word), problem));
    }
    for (refused, problem) in REFUSED {
        if let Some(word) = words.iter().find(|it| it.is_one_of(refused)) {
            return Err(Stuck::at(Some(word), problem));
        }
    }
    if let [_, second, ..] =
        words.iter().filter(|it| it.is_one_of(&NEGATIONS)).collect::<Vec<_>>().as_slice()
    {
        return Err(Stuck::at(Some(second), "two negations in one sentence; say it without them"));
    }
    for pair in words.windows(2) {
        if let [first, second] = pair
            && first.is("without")
            && !second.is_one_of(&["naming", "resources"])
        {
            let problem = "`without` is only for `without naming a place` and `without resources`";
            return Err(Stuck::at(Some(first), problem));
        }
        if let [first, second] = pair
            && first.is_one_of(&["outside", "beyond"])
        {
            let problem = "say what holds in the place, and use `anywhere else` for the rest";
            let stuck = Stuck::at(Some(first), problem);
            return Err(Stuck { words: format!("{} {}", first.text, second.text), ..stuck });
        }
    }
    Ok(())
}

/// Finds the form, and the words that it leaves.
fn form_of(words: &[Word]) -> Option<(&'static FormRow, &[Word])> {
    let mut best: Option<(usize, &'static FormRow, &[Word])> = None;
    let mut consider = |length: usize, row: &'static FormRow, rest| {
        if best.as_ref().is_none_or(|(longest, ..)| *longest < length) {
            best = Some((length, row, rest));
        }
    };
    for row in &FORMS {
        for phrase in row.phrases {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            match row.subject {
                Subject::Agent => {
                    for agent in AGENTS {
                        let start: Vec<&str> =
                            agent.split(' ').chain(phrase.iter().copied()).collect();
                        if let Some(rest) = after(words, &start) {
                            consider(start.len(), row, rest);
                        }
                    }
                }
                Subject::Nobody => {
                    if let Some(rest) = after(words, &phrase) {
                        consider(phrase.len(), row, rest);
                    }
                }
                Subject::Deed => {
                    let at = words.len().checked_sub(phrase.len());
                    if let Some((rest, end)) = at.and_then(|at| words.split_at_checked(at))
                        && after(end, &phrase).is_some()
                    {
                        consider(phrase.len(), row, rest);
                    }
                }
            }
        }
    }
    best.map(|(_, row, rest)| (row, rest))
}

/// Returns what follows `phrase` at the beginning of `words`.
pub(crate) fn after<'a>(words: &'a [Word], phrase: &[&str]) -> Option<&'a [Word]> {
    let (start, rest) = words.split_at_checked(phrase.len())?;
    start.iter().zip(phrase).all(|(word, keyword)| word.is(keyword)).then_some(rest)
}

/// Refuses what has the form of a sentence, and makes no sense.
fn check_sense(
    words: &[Word],
    form: &FormRow,
    deed: &Deed,
    (place, with): (&Place, &[crate::sentence::With]),
) -> Result<(), Stuck> {
    let stuck =
        |problem: &str| Err(Stuck { words: raw(words), ..Stuck::at(words.first(), problem) });
    match deed {
        Deed::EverythingElse => {
            if form.effect == Effect::Allow || *place != Place::Unsaid || !with.is_empty() {
                return stuck("everything else can be refused or be for a person to decide");
            }
        }
        Deed::Use(tools) => {
            if form.effect == Effect::Allow && tools.iter().any(|it| it.tool.is_none()) {
                return stuck("name the tools: a server may get more of them");
            }
            if !with.is_empty() || *place != Place::Unsaid {
                return stuck(
                    "a tool is used with all that it does; to limit it to a place, name what it does there: `The agent may read files in DIR with TOOL of SERVER`",
                );
            }
        }
        Deed::UseWithoutResources => {
            if *place != Place::Unsaid || with.iter().any(|it| it.tool.is_some()) {
                return stuck("tools without resources have no place; only a server can be named");
            }
        }
        Deed::Verbs(verbs) => {
            if verbs.contains(&Verb::Run) && (1 < verbs.len() || !with.is_empty()) {
                return stuck(
                    "running commands is a sentence of its own, and always with the shell",
                );
            }
            let names_repository = |it: &HostPlace| matches!(it, HostPlace::Pattern(pattern) if pattern.names_repository());
            if let Place::Hosts(hosts) = place
                && hosts.iter().any(names_repository)
                && verbs.as_slice() != [Verb::Remote]
            {
                return stuck("a page cannot be named, only its host");
            }
            if *place == Place::Unnamed && kind_of(verbs) != Some(PlaceKind::Directory) {
                return stuck("only files and repositories can be used without naming a place");
            }
        }
    }
    let is_place = matches!(place, Place::Directories(_) | Place::Hosts(_) | Place::Names(_));
    if form.is_only && !is_place {
        return stuck("`may only` needs a place");
    }
    Ok(())
}

/// Splits the words after *because* off.
fn split_reason(words: &[Word]) -> (&[Word], Option<String>) {
    match words.iter().position(|it| it.is("because")) {
        Some(at) => {
            let (before, after) = words.split_at_checked(at).unwrap_or((words, &[]));
            let reason = raw(after.get(1..).unwrap_or_default());
            let before = match before {
                [before @ .., comma] if comma.is(",") => before,
                before => before,
            };
            (before, (!reason.is_empty()).then_some(reason))
        }
        None => (words, None),
    }
}

/// Writes words as they were.
pub(crate) fn raw(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        let is_mark = !word.is_quoted && word.text.chars().all(|it| ",:?".contains(it));
        if !text.is_empty() && !is_mark {
            text.push(' ');
        }
        match word.is_quoted {
            true => text.extend(["`", &word.text, "`"]),
            false => text.push_str(&word.text),
        }
    }
    text
}

/// Returns the pattern of the web.
pub(crate) fn web() -> Option<ic_policy::DomainPattern> {
    place::any_host()
}
