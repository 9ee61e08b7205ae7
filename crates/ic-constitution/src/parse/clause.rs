//! What stands in a sentence besides its form: verbs and their objects, places, servers and tools.

mod hosts;
mod objects;
mod remotes;
mod with;

use super::place::{directory_of, host_of, list_of, look_alike, looks_like_place};
use super::{after, raw};
use crate::grammar::{DETERMINERS, PlaceKind, VERBS, Verb};
use crate::sentence::{Deed, Directory, NamePlace, Place, With, kind_of};
use crate::word::Word;

/// Where understanding ended, and why.
#[derive(Clone, Debug)]
pub(crate) struct Stuck {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) words: String,
    pub(crate) problem: String,
}

impl Stuck {
    pub(crate) fn at(word: Option<&Word>, problem: impl Into<String>) -> Self {
        let (line, column) = word.map_or((1, 1), |word| (word.line, word.column));
        let words = word.map_or_else(String::new, |word| word.text.clone());
        Self { line, column, words, problem: problem.into() }
    }
}

/// Words before a place.
const PREPOSITIONS: [&str; 16] = [
    "in", "inside", "within", "under", "beneath", "below", "into", "from", "to", "at", "on", "of",
    "called", "named", "for", "owned",
];
/// Returns whether a word only leads to a place.
pub(crate) fn is_of_place(word: &Word) -> bool {
    word.is_one_of(&PREPOSITIONS) || word.is_one_of(&PLACE_NOUNS)
}

/// Nouns that may stand before a place, or after the name of a directory.
const PLACE_NOUNS: [&str; 14] = [
    "directory",
    "directories",
    "folder",
    "folders",
    "repository",
    "repositories",
    "host",
    "hosts",
    "address",
    "addresses",
    "remotes",
    "names",
    "website",
    "people",
];
const NOT_UNDERSTOOD: &str = "these words are not understood";
const WITH: [&str; 4] = ["with", "using", "through", "via"];

/// Reads the words of a sentence from left to right.
pub(crate) struct Clauses<'a> {
    words: &'a [Word],
    last: Option<&'a Word>,
    /// The verbs about remotes that were read.
    remotes: Vec<&'a Word>,
    /// What was read as object, and may mean less than all values of a verb.
    objects: Vec<&'a Word>,
    /// Whether a place was any host.
    names_any_host: bool,
}

impl<'a> Clauses<'a> {
    /// Begins with `words`; where nothing follows, `before` is where it is missed.
    pub(crate) fn new(words: &'a [Word], before: Option<&'a Word>) -> Self {
        Self {
            words,
            last: words.last().or(before),
            remotes: Vec::new(),
            objects: Vec::new(),
            names_any_host: false,
        }
    }

    fn skip(&mut self, n: usize) {
        self.words = self.words.get(n..).unwrap_or_default();
    }

    fn take(&mut self, phrase: &[&str]) -> bool {
        match after(self.words, phrase) {
            Some(rest) => {
                self.words = rest;
                true
            }
            None => false,
        }
    }

    fn take_one_of(&mut self, keywords: &[&str]) -> bool {
        let is_one = self.words.first().is_some_and(|word| word.is_one_of(keywords));
        if is_one {
            self.skip(1);
        }
        is_one
    }

    fn stuck(&self, problem: impl Into<String>) -> Stuck {
        let stuck = Stuck::at(self.words.first().or(self.last), problem);
        Stuck { words: if self.words.is_empty() { stuck.words } else { raw(self.words) }, ..stuck }
    }

    /// Reads what the sentence is about.
    pub(crate) fn deed(&mut self, is_subject: bool) -> Result<Deed, Stuck> {
        if is_subject
            && (self.take(&["everything", "else"])
                || self.take(&["anything", "else"])
                || self.take(&["whatever", "no", "other", "sentence", "covers"]))
        {
            return Ok(Deed::EverythingElse);
        }
        while self.take_one_of(&DETERMINERS) {}
        let using =
            self.words.first().is_some_and(|it| it.is_one_of(&["use", "using", "call", "calling"]));
        if using && self.verb().is_none() {
            self.skip(1);
            while self.take_one_of(&DETERMINERS) {}
            if self.take(&["tools", "without", "resources"]) {
                return Ok(Deed::UseWithoutResources);
            }
            if self.take(&["tools", "of"]) || self.take(&["tools", "from"]) {
                return Ok(Deed::Use(self.servers()?));
            }
            self.take_one_of(&["tool", "tools"]);
            let tools = self.with()?;
            if tools.iter().any(|it| it.tool.is_none()) {
                return Err(self.stuck("name the tool and its server: `use TOOL of SERVER`"));
            }
            return Ok(Deed::Use(tools));
        }
        self.verbs().map(Deed::Verbs)
    }

    fn servers(&mut self) -> Result<Vec<With>, Stuck> {
        let servers = self.with()?;
        match servers.iter().all(|it| it.tool.is_none()) {
            true => Ok(servers),
            false => Err(self.stuck("name servers here")),
        }
    }

    /// Finds the longest verb here, and its length.
    fn verb(&self) -> Option<(Verb, usize)> {
        let phrases = VERBS
            .iter()
            .flat_map(|row| row.phrases.iter().map(move |phrases| (row.verb, phrases)))
            .flat_map(|(verb, (base, gerund))| [(verb, *base), (verb, *gerund)]);
        let letter = self.words.first()?.low.chars().next();
        // Most phrases begin with another letter.
        let likely = phrases.filter(|(_, phrase)| phrase.chars().next() == letter);
        let found = likely.filter_map(|(verb, phrase)| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            (after(self.words, &phrase).is_some() || self.is_third_person(&phrase))
                .then_some((verb, phrase.len()))
        });
        found.max_by_key(|(_, length)| *length)
    }

    /// Returns whether the phrase is here as in "it never deletes".
    fn is_third_person(&self, phrase: &[&str]) -> bool {
        let (Some((first, rest)), Some((verb, words))) =
            (self.words.split_first(), phrase.split_first())
        else {
            return false;
        };
        let stem = first.low.strip_suffix('s').filter(|_| !first.is_quoted).unwrap_or_default();
        let is_it = stem == *verb || stem.strip_suffix('e') == Some(verb);
        is_it && after(rest, words).is_some()
    }

    fn verbs(&mut self) -> Result<Vec<Verb>, Stuck> {
        let mut verbs: Vec<Verb> = Vec::new();
        // The verbs whose object is still to come: "read and write files".
        loop {
            let Some((verb, length)) = self.verb() else {
                return Err(self.stuck("this is not something that the table of verbs knows; `ironcurtain policy grammar` prints it"));
            };
            if verb == Verb::Remote {
                self.remotes.extend(self.words.first());
            }
            self.skip_verb(length);
            if !verbs.contains(&verb) {
                verbs.push(verb);
            }
            self.objects(verb);
            // "push to or pull from HOST"
            let is_hanging = self.words.first().is_some_and(|it| it.is_one_of(&["to", "from"]))
                && self.words.get(1).is_some_and(|it| it.is_one_of(&["and", "or", ","]));
            if is_hanging {
                self.skip(1);
            }
            let here = self.words;
            if !self.connective() {
                return Ok(verbs);
            }
            if self.verb().is_none() {
                self.words = here;
                return Ok(verbs);
            }
        }
    }

    /// Passes over `,`, `and`, `or`, and their like.
    fn connective(&mut self) -> bool {
        let comma = self.take_one_of(&[","]);
        let word = self.take_one_of(&["and", "or"]);
        comma || word
    }

    /// Passes over nouns that add nothing to `verb`.
    fn objects(&mut self, verb: Verb) {
        let objects = verb.row().objects;
        let mut is_first = true;
        loop {
            let here = self.words;
            if !is_first && !self.connective() {
                break;
            }
            let before = self.words;
            while self.take_one_of(&DETERMINERS) {}
            let n_before = before.len() - self.words.len();
            let found = objects.iter().filter_map(|noun| {
                let noun: Vec<&str> = noun.split(' ').collect();
                after(self.words, &noun).map(|_| noun.len())
            });
            let Some(length) = found.max() else {
                self.words = here;
                break;
            };
            self.words = before;
            self.skip_objects(n_before + length);
            is_first = false;
        }
        // "commit in repositories in DIR", "deal with remotes": a noun that only says what kind of place.
        let is_kind = self.words.first().is_some_and(|it| it.is_one_of(&["in", "of", "to", "from"]))
                && self.words.get(1).is_some_and(|it| {
                    it.is_one_of(&["repository", "repositories", "files", "directories", "folders"])
                })
                // SECURITY: by itself, "in the repository" is a place that is not named, and not every place.
                && self.words.get(2).is_some_and(|it| {
                    it.is_one_of(&PREPOSITIONS) || it.is_one_of(&["anywhere", "everywhere", "without"])
                });
        if is_kind {
            self.skip(2);
        }
    }

    /// Reads places, servers and tools, until nothing is left.
    pub(crate) fn rest(&mut self, deed: &Deed) -> Result<(Place, Vec<With>), Stuck> {
        let (mut place, mut with) = (Place::Unsaid, Vec::new());
        let kind = match deed {
            Deed::Verbs(verbs) => kind_of(verbs),
            Deed::Use(_) | Deed::UseWithoutResources | Deed::EverythingElse => {
                Some(PlaceKind::Nothing)
            }
        };
        while let Some(word) = self.words.first() {
            if word.is_one_of(&WITH) {
                self.skip(1);
                if !with.is_empty() {
                    return Err(self.stuck("say `with` once, and join servers by `and`"));
                }
                with = self.with()?;
                continue;
            }
            let found = self.place(kind).map_err(|stuck| match &place {
                Place::Directories(_) if stuck.problem == NOT_UNDERSTOOD => Stuck {
                    problem: format!("{NOT_UNDERSTOOD}; a path with spaces is put in backticks"),
                    ..stuck
                },
                _ => stuck,
            })?;
            if place != Place::Unsaid {
                return Err(stuck_two(&place, &found, word));
            }
            place = found;
        }
        Ok((place, with))
    }

    fn place(&mut self, kind: Option<PlaceKind>) -> Result<Place, Stuck> {
        if self.take(&["without", "naming", "place"])
            || self.take(&["without", "naming", "directory"])
        {
            return Ok(Place::Unnamed);
        }
        let has_preposition = self.preposition();
        if self.take(&["anywhere", "else"])
            || self.take(&["everywhere", "else"])
            || self.take(&["elsewhere"])
        {
            return Ok(Place::Elsewhere);
        }
        if self.take(&["anywhere"]) || self.take(&["everywhere"]) {
            return Ok(Place::Anywhere);
        }
        let is_bare = self.words.first().is_some_and(looks_like_place);
        if !has_preposition && !is_bare {
            return Err(self.stuck(NOT_UNDERSTOOD));
        }
        let Some(kind) = kind else {
            return Err(self
                .stuck("these verbs have different kinds of places; write one sentence for each"));
        };
        match kind {
            PlaceKind::Directory => self.items(Self::directory).map(Place::Directories),
            PlaceKind::Host => self.items(Self::host).map(Place::Hosts),
            PlaceKind::Name => self.items(|it| it.name(false)).map(Place::Names),
            PlaceKind::Address => self.items(|it| it.name(true)).map(Place::Names),
            PlaceKind::Nothing => Err(self.stuck("this has no place")),
        }
    }

    fn preposition(&mut self) -> bool {
        let found = self.take_one_of(&PREPOSITIONS);
        if found {
            self.take_one_of(&["by"]);
        }
        found
    }

    /// Reads one thing, and those that are joined to it.
    fn items<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Stuck>) -> Result<Vec<T>, Stuck> {
        let mut items = vec![read(self)?];
        loop {
            let here = self.words;
            if !self.connective() {
                return Ok(items);
            }
            self.preposition();
            match read(self) {
                Ok(item) => items.push(item),
                Err(stuck) => {
                    self.words = here;
                    return Err(stuck);
                }
            }
        }
    }

    /// Passes over determiners and nouns before a name.
    fn nouns(&mut self) {
        while self.take_one_of(&DETERMINERS) {}
        let is_noun = |it: &Word| it.is_one_of(&PLACE_NOUNS);
        if self.words.first().is_some_and(is_noun) && self.words.get(1).is_some() {
            self.skip(1);
            self.preposition();
        }
        while self.take_one_of(&DETERMINERS) {}
    }

    fn directory(&mut self) -> Result<Directory, Stuck> {
        self.nouns();
        let Some(word) = self.words.first() else {
            return Err(self.stuck("a directory is missing"));
        };
        if let Some(problem) = look_alike(word) {
            return Err(Stuck::at(Some(word), problem));
        }
        let directory = directory_of(word).ok_or_else(|| {
            let problem = if word.text.starts_with('@') {
                "directories cannot be in a list"
            } else if host_of(word).is_some() && !word.is_quoted {
                "files are in directories, and this is not one: begin it with `~/` or `/`"
            } else {
                "a directory begins with `~/` or `/`, or is the sandbox, the workspace, Downloads, Documents or the like"
            };
            Stuck::at(Some(word), problem)
        })?;
        let directory = directory.map_err(|problem| Stuck::at(Some(word), problem))?;
        self.skip(1);
        self.take_one_of(&["directory", "folder", "directories", "folders"]);
        Ok(directory)
    }

    fn name(&mut self, is_address: bool) -> Result<NamePlace, Stuck> {
        self.nouns();
        let Some(word) = self.words.first() else { return Err(self.stuck("a name is missing")) };
        let list = list_of(word);
        let problem = match (is_address, &list) {
            (_, Some(_)) => None,
            (true, None) if word.text.contains('*') || word.text.starts_with('@') => Some(
                "an address is written as a whole; many of them are put into a list: `@colleagues`",
            ),
            (true, None) => {
                (!is_address_of(&word.text)).then_some("an address is written as `ann@example.com`")
            }
            (false, None) if word.text.starts_with('@') => {
                Some("this would be the name of a list; write lists without quotes")
            }
            (false, None) => {
                let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./@".contains(it);
                let is_fit = word.is_quoted || word.text.chars().all(is_plain);
                (!is_fit).then_some("put names in backticks")
            }
        };
        if let Some(problem) = problem {
            return Err(Stuck::at(Some(word), problem));
        }
        self.skip(1);
        Ok(list.map_or_else(|| NamePlace::Name(word.text.clone()), NamePlace::List))
    }
}

/// Returns whether a text is one address: somebody, at a host.
fn is_address_of(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || ".-_+".contains(it);
    let fits = |part: &str| !part.is_empty() && part.chars().all(is_part);
    text.split_once('@').is_some_and(|(who, host)| fits(who) && fits(host) && host.contains('.'))
}

fn stuck_two(one: &Place, other: &Place, word: &Word) -> Stuck {
    let is_one_kind = std::mem::discriminant(one) == std::mem::discriminant(other);
    Stuck::at(
        Some(word),
        match is_one_kind {
            true => "join places by `and`",
            false => "a sentence has one kind of place; write one sentence for each",
        },
    )
}
