//! What a caged agent did with its own git, taken over into the repository of the user.
//!
//! ```text
//! agent's cage: pack, refs, index (text of a stranger) ─▶ host ─▶ here
//!   quarantine: index-pack --strict, every tip whole ─▶ packs brought over ─▶ what counts? (`takeover`)
//!     └ nothing, or just that was agreed to ─▶ refs, HEAD and an index written anew
//! ```
//!
//! SECURITY: git never sees the agent's own git directory, neither its config nor its alternates. Objects that
//! nothing leads to are brought over before anybody is asked, since only git can say what is in them; refs, HEAD
//! and the index move afterwards, and only from where they were when the agent got its copy.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ic_confine::{Excess, InnerLimits, InnerSpec, run_inner};
use ic_types::{Json, Object};

use super::carried::{self, TakenIn};
use super::closed::RAW;
use super::deed::{Bringing, Deed, Way};
use super::fault::Fault;
use super::names::{File, RefName};
use super::quarantine::Quarantine;
use super::refs::{self, is_number};
use super::rehearsal::{Entry, Rehearsal};
use super::run::{COMPLAINT_BYTES_MAX, Does, Run, SETTINGS, Said, TIME_MAX, failure};
use super::strays;
use super::takeover::{Outcome, Takeover, counted, keep_changed, path_of};
use crate::tools::Caller;

/// The member of a call's `_meta` in which the host says what an agent did with its own git.
pub const INCOMING: &str = "ironcurtain/incoming";
/// The most that is taken over at once, as git packs it.
pub const PACK_BYTES_MAX: usize = 40 << 20;
/// How many branches and tags are moved at once, and how many files an index has.
const REFS_MAX: usize = 2000;
const FILES_MAX: usize = 200_000;
/// The most that git says of all files.
const LIST_BYTES_MAX: usize = 64 << 20;
/// Kinds of files that an index may have: files, programs, links and other repositories.
const MODES: [&str; 4] = ["100644", "100755", "120000", "160000"];

/// What an agent did with its own git.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    pack: Vec<u8>,
    moves: Vec<Move>,
    /// What HEAD was and is: the full name of a branch, or a number.
    head: Option<(String, String)>,
    /// What the index has, as git lists it, and the index that it was made of.
    index: Option<(Vec<Entry>, Vec<u8>)>,
}

/// A branch or tag that was made, moved or removed; the full name, and the numbers that it had and has.
#[derive(Debug)]
struct Move {
    name: String,
    old: Option<String>,
    new: Option<String>,
}

impl Incoming {
    /// Reads what the caller hands over, if it does.
    pub(super) fn of(caller: Caller<'_>) -> Option<Result<Self, Fault>> {
        match caller.meta()?.get(INCOMING)? {
            Json::Object(incoming) => Some(Self::read(incoming)),
            _ => Some(Err(odd("it is not an object"))),
        }
    }

    fn read(incoming: &Object) -> Result<Self, Fault> {
        let bytes = |name: &str| match incoming.get(name).and_then(Json::as_str) {
            Some(text) => BASE64.decode(text).map_err(|_| odd("it is not encoded")),
            None => Ok(Vec::new()),
        };
        let text = |name: &str| incoming.get(name).and_then(Json::as_str).map(ToOwned::to_owned);
        let pack = bytes("pack")?;
        if PACK_BYTES_MAX < pack.len() {
            return Err(odd("it is too large"));
        }
        let mut moves = Vec::new();
        for line in text("refs").unwrap_or_default().lines() {
            moves.push(Move::read(line)?);
        }
        if REFS_MAX < moves.len() {
            return Err(odd("it moves too many branches and tags"));
        }
        let head = match (text("headBefore"), text("head")) {
            (Some(old), Some(new)) => {
                check_head(&new)?;
                Some((old, new))
            }
            _ => None,
        };
        let index = match text("index") {
            Some(listed) => Some((entries(&listed)?, bytes("indexBefore")?)),
            None => None,
        };
        Ok(Self { pack, moves, head, index })
    }
}

impl Move {
    /// Reads `<old or -> <new or -> <name>`.
    fn read(line: &str) -> Result<Self, Fault> {
        let mut words = line.splitn(3, ' ');
        let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Err(odd("a line of it is not a ref"));
        };
        let number = |text: &str| match text {
            "-" => Ok(None),
            text if is_number(text) => Ok(Some(text.to_owned())),
            _ => Err(odd("a ref has no number")),
        };
        let short = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"));
        RefName::new(short.ok_or_else(|| odd("a ref is neither a branch nor a tag"))?)?;
        Ok(Self { name: name.to_owned(), old: number(old)?, new: number(new)? })
    }
}

fn odd(why: &str) -> Fault {
    Fault::Not(format!("what the agent did with its own git cannot be taken over: {why}"))
}

/// Fails unless HEAD names a branch, or is a number.
fn check_head(head: &str) -> Result<(), Fault> {
    match head.strip_prefix("refs/heads/") {
        Some(branch) => RefName::new(branch).map(drop),
        None if is_number(head) => Ok(()),
        None => Err(odd("HEAD is neither a branch nor a commit")),
    }
}

/// Reads an index as git lists it, of which nothing is in conflict.
fn entries(listed: &str) -> Result<Vec<Entry>, Fault> {
    let entries: Vec<Entry> = Entry::parse_index(listed).collect();
    if FILES_MAX < entries.len() {
        return Err(odd("its index has too many files"));
    }
    let is_plain = |it: &Entry| MODES.contains(&it.mode.as_str()) && is_number(&it.id);
    match entries.iter().all(is_plain) {
        true => Ok(entries),
        false => Err(odd("its index has a file that is in conflict, or unknown to git")),
    }
}

/// Takes it over, and says what moved.
pub(super) fn take_over(run: &Run<'_>, incoming: &Incoming) -> Result<String, Fault> {
    let reading = Run { does: Does::Read, terms: None, ..*run };
    let known = refs::known(&reading, &["refs"])?;
    let moves = Moves::of(incoming, &known);
    if !incoming.pack.is_empty() {
        bring(&reading, incoming, &known, &moves)?;
    }
    check(run, &reading, incoming, &moves)?;
    apply(run, incoming, moves)
}

/// What is moved, and what is left because it moved here meanwhile.
struct Moves<'a> {
    wanted: Vec<&'a Move>,
    left: Vec<&'a str>,
}

impl<'a> Moves<'a> {
    fn of(incoming: &'a Incoming, known: &BTreeMap<String, String>) -> Self {
        let (mut wanted, mut left) = (Vec::new(), Vec::new());
        for it in &incoming.moves {
            let now = known.get(&it.name);
            match () {
                () if now == it.new.as_ref() => {}
                () if now == it.old.as_ref() => wanted.push(it),
                () => left.push(it.name.as_str()),
            }
        }
        Self { wanted, left }
    }

    /// Returns the numbers that refs get.
    fn tips(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().filter_map(|it| it.new.as_deref())
    }
}

/// Has git check what came in a repository of ours, and brings it over.
fn bring(
    run: &Run<'_>,
    incoming: &Incoming,
    known: &BTreeMap<String, String>,
    moves: &Moves<'_>,
) -> Result<(), Fault> {
    let mut ids: Vec<String> = known.values().cloned().collect();
    ids.sort_unstable();
    ids.dedup();
    let quarantine = Quarantine::of(run.scratch, run.repository, &ids)?;
    let words = ["index-pack", "--strict", "--stdin"];
    in_quarantine(run, &quarantine, &words, &incoming.pack)?;
    // SECURITY: a ref to something of which a part is missing would break the user's repository.
    let head = incoming.head.iter().map(|(_, new)| new.as_str()).filter(|it| is_number(it));
    let blobs = incoming.index.iter().flat_map(|(entries, _)| entries);
    let blobs = blobs.filter(|it| it.mode != "160000").map(|it| it.id.as_str());
    let mut asked = String::new();
    for id in moves.tips().chain(head).chain(blobs).collect::<BTreeSet<_>>() {
        let _ = writeln!(asked, "{id}");
    }
    asked.push_str("--not\n--all\n");
    let words = ["rev-list", "--objects", "--quiet", "--stdin"];
    in_quarantine(run, &quarantine, &words, asked.as_bytes())?;
    run.repository.check_again()?;
    quarantine.bring_over(run.repository.common())
}

/// Runs git in the quarantine, where it may write and nowhere else.
fn in_quarantine(
    run: &Run<'_>,
    quarantine: &Quarantine<'_>,
    words: &[&str],
    input: &[u8],
) -> Result<Said, Fault> {
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let arguments = ["--no-pager"].into_iter().chain(settings).chain(words.iter().copied());
    let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
    let environment: Vec<(OsString, OsString)> = [
        ("GIT_DIR", quarantine.path().as_os_str()),
        ("GIT_CONFIG_NOSYSTEM", "1".as_ref()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".as_ref()),
        ("HOME", run.scratch.path().as_os_str()),
        ("PATH", super::run::PATH.as_ref()),
        ("LANG", "C.UTF-8".as_ref()),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    let spec = InnerSpec {
        program: run.program.file(),
        arguments: &arguments,
        environment: &environment,
        directory: quarantine.handle(),
        input,
        runs: run.program.runs(),
        writes: &[run.scratch.handle()],
        limits: InnerLimits {
            time_max: TIME_MAX,
            output_bytes_max: LIST_BYTES_MAX,
            complaint_bytes_max: COMPLAINT_BYTES_MAX,
            excess: Excess::PassOver,
            memory_bytes_max: None,
        },
    };
    let ran = run_inner(&spec, &|| run.cancel.is_cancelled()).map_err(|source| {
        let words = words.first().copied().unwrap_or_default().to_owned();
        Fault::Run { words, source }
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let said = Said {
        output: text(ran.output),
        complaint: text(ran.complaint),
        is_cut: ran.is_cut,
        code: ran.status.code(),
    };
    if said.code == Some(0) { Ok(said) } else { Err(failure(words, &said)) }
}

/// Lets it be taken over only if nothing that counts would change, or just that was agreed to.
fn check(
    run: &Run<'_>,
    reading: &Run<'_>,
    incoming: &Incoming,
    moves: &Moves<'_>,
) -> Result<(), Fault> {
    let Some(terms) = run.terms else { return Ok(()) };
    let mut tips: Vec<String> = Vec::new();
    for tip in moves.tips().chain(incoming.head.iter().map(|(_, new)| new.as_str())) {
        // Tags may name anything; what is no commit is in no tree.
        tips.extend(commit(reading, tip)?);
    }
    tips.sort();
    tips.dedup();
    let mut taken_in = TakenIn::default();
    if !tips.is_empty() {
        let mut words = vec!["log", "--format=", "-m", "--root"];
        words.extend(RAW);
        words.extend(tips.iter().map(String::as_str));
        words.extend(["--not", "--all", "--"]);
        taken_in.add(Entry::parse(&Rehearsal::look(reading, &words)?)?);
    }
    let mut files = taken_in.files.clone();
    let mut entries = Vec::new();
    if let Some((listed, _)) = &incoming.index {
        let now: BTreeSet<Entry> = index(reading)?.into_iter().collect();
        let then: BTreeSet<&str> = listed.iter().map(|it| it.path.as_str()).collect();
        entries.extend(listed.iter().filter(|it| !now.contains(it)).cloned());
        files.extend(entries.iter().cloned());
        taken_in.files.extend(entries.iter().cloned());
        let gone = now.iter().filter(|it| !then.contains(it.path.as_str()));
        for it in gone {
            taken_in.gone.push(it.path.clone());
            taken_in.before.push(it.clone());
            entries.push(Entry { mode: "000000".to_owned(), id: String::new(), ..it.clone() });
        }
        taken_in.left = Some(listed.iter().map(|it| (it.path.clone(), it.id.clone())).collect());
    }
    // SECURITY: a branch is checked out some day, so its files are asked about as if they came now.
    entries.extend(taken_in.files.iter().cloned());
    entries.sort();
    entries.dedup();
    let deed = Deed::Brings(Bringing { commits: tips, way: Way::Pick });
    let outcome =
        Outcome { entries: entries.clone(), strayed: files.clone(), ..Outcome::default() };
    let ruled = terms.ruled.changed(reading, terms, (&deed, &outcome))?;
    let mut found = strays::leading_out(reading, terms, &files)?;
    found.extend(carried::find(reading, terms, &deed, taken_in)?);
    let mut counted = counted(reading, terms, entries)?;
    keep_changed(reading, terms, &mut counted)?;
    counted.extend(found);
    counted.sort();
    counted.dedup();
    let names: BTreeSet<&str> = counted.iter().map(|entry| entry.path.as_str()).collect();
    let top = &run.repository.top;
    let paths = names.into_iter().filter_map(|name| path_of(top, name)).collect();
    let takeover = Takeover::new(&counted, paths, ruled)?;
    match takeover.is_nothing() || terms.is_agreed(&takeover) {
        true => Ok(()),
        false => Err(Fault::Takeover(takeover)),
    }
}

/// Returns the commit that something names, if it names one.
fn commit(run: &Run<'_>, name: &str) -> Result<Option<String>, Fault> {
    let name = format!("{name}^{{commit}}");
    let said = run.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], b"")?;
    Ok(Some(said.output.trim().to_owned()).filter(|id| is_number(id)))
}

/// Returns what the index has.
fn index(run: &Run<'_>) -> Result<Vec<Entry>, Fault> {
    let said = Rehearsal::look(run, &["ls-files", "--stage", "-z"])?;
    Ok(Entry::parse_index(&said).collect())
}

/// Moves refs, HEAD and the index, and says so.
fn apply(run: &Run<'_>, incoming: &Incoming, moves: Moves<'_>) -> Result<String, Fault> {
    let mut told = String::new();
    let mut lines = Vec::new();
    for Move { name, old, new } in moves.wanted {
        let short = |id: &Option<String>| {
            id.as_deref().and_then(|id| id.get(..7)).unwrap_or("nothing").to_owned()
        };
        let _ = writeln!(told, "{name}: {} -> {}", short(old), short(new));
        let zeros = |id: &str| "0".repeat(id.len());
        match (old, new) {
            (Some(old), Some(new)) => lines.push(format!("update {name} {new} {old}")),
            (None, Some(new)) => lines.push(format!("update {name} {new} {}", zeros(new))),
            (Some(old), None) => lines.push(format!("delete {name} {old}")),
            (None, None) => {}
        }
    }
    refs::update(run, &lines, "the agent's own git")?;
    for name in &moves.left {
        let _ = writeln!(told, "left alone: {name}, which moved here meanwhile");
    }
    if let Some((old, new)) = &incoming.head {
        let now = head(run)?;
        match () {
            () if now == *new => {}
            () if now != *old => {
                let _ = writeln!(told, "left alone: HEAD, which moved here meanwhile");
                return Ok(told);
            }
            () => set_head(run, new)?,
        }
        let _ = writeln!(told, "HEAD: {}", new.strip_prefix("refs/heads/").unwrap_or(new));
    }
    if let Some((listed, before)) = &incoming.index {
        match set_index(run, listed, before)? {
            true => told.push_str("the index was written anew\n"),
            false => told.push_str("left alone: the index, which changed here meanwhile\n"),
        }
    }
    if told.is_empty() {
        told.push_str("nothing new");
    }
    Ok(told.trim_end().to_owned())
}

/// Returns what HEAD is: the full name of a branch, or a number.
fn head(run: &Run<'_>) -> Result<String, Fault> {
    let text = run.repository.read("HEAD")?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    Ok(text.strip_prefix("ref: ").map_or(text.clone(), ToOwned::to_owned))
}

fn set_head(run: &Run<'_>, new: &str) -> Result<(), Fault> {
    let reason = "the agent's own git";
    match new.starts_with("refs/heads/") {
        true => run.git(&["symbolic-ref", "-m", reason, "HEAD", new]).map(drop),
        false => run.git(&["update-ref", "--no-deref", "-m", reason, "HEAD", new]).map(drop),
    }
}

/// Writes the index anew, unless it is not what it was; returns whether it was written.
fn set_index(run: &Run<'_>, listed: &[Entry], before: &[u8]) -> Result<bool, Fault> {
    let reading = Run { does: Does::Read, terms: None, ..*run };
    let private = run.scratch.private(run.repository)?;
    if !before.is_empty() {
        private.write("index-before", before)?;
    }
    let at = |name: &str| [("GIT_INDEX_FILE", OsString::from(private.path.join(name)))];
    let listing: (&[&str], &[u8]) = (&["ls-files", "--stage", "-z"], b"");
    let list = |variables: &[(&str, OsString)]| {
        let said = reading.ask_in_with(&private, variables, listing, LIST_BYTES_MAX)?;
        if said.code == Some(0) && !said.is_cut {
            Ok(said.output)
        } else {
            Err(failure(listing.0, &said))
        }
    };
    let now = list(&[])?;
    let mut wanted = String::new();
    for Entry { path, mode, id } in listed {
        File::new(&run.repository.top, path)?;
        let _ = write!(wanted, "{mode} {id} 0\t{path}\0");
    }
    if now == wanted {
        return Ok(true);
    }
    if list(&at("index-before"))? != now {
        return Ok(false);
    }
    let words = ["update-index", "-z", "--index-info"];
    let made = run.ask_in(&private, &at("index-anew"), &words, wanted.as_bytes())?;
    if made.code != Some(0) {
        return Err(failure(&words, &made));
    }
    // So that the user's git need not look into each file; whatever it complains about it finds again.
    run.ask_in(&private, &at("index-anew"), &["update-index", "-q", "--refresh"], b"")?;
    let bytes = private.read("index-anew", super::rehearsal::INDEX_BYTES_MAX)?;
    run.repository.replace_index(&bytes)?;
    Ok(true)
}
