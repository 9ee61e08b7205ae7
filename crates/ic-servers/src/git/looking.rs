//! The tools that only look: status, diff, log, show, blame, reflog, and what a review needs.
//!
//! Nothing here changes a repository; git is told not even to refresh what it remembers of files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use super::arguments::Arguments;
use super::closed::RAW;
use super::deed::{Deed, Told};
use super::fault::Fault;
use super::names::{File, ObjectId, RefName};
use super::ruled;
use super::run::{Run, Said, failure};
use crate::filesystem::show;

/// What every tool that shows a difference says.
const DIFF: [&str; 4] = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
/// In which form dates are told; the time zone is UTC.
const DATE: &str = "--date=iso-local";
/// How many commits are shown if nobody says.
const COMMITS_DEFAULT: u64 = 50;

pub(super) fn status(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let untracked = match arguments.flag_unless_said("includeUntracked") {
        true => "--untracked-files=all",
        false => "--untracked-files=no",
    };
    let words = ["status", "--long", "--no-renames", untracked, "--ignore-submodules=all"];
    run.git(&words).map(|said| said.or(""))
}

pub(super) fn diff(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let files = File::all(&run.repository.top, &arguments.texts("paths"))?;
    let context = format!("--unified={}", arguments.whole("contextLines").unwrap_or(3));
    let revision = |name: &str| match arguments.text(name) {
        Some(text) => ObjectId::range(run, text).map(Some),
        None => Ok(None),
    };
    let (source, target) = (revision("source")?, revision("target")?);
    let form = match (arguments.flag("nameOnly"), arguments.flag("stat")) {
        (true, _) => Some("--name-only"),
        (false, true) => Some("--stat"),
        (false, false) => None,
    };
    let is_staged = arguments.flag("staged");
    let mut what = Vec::from(DIFF);
    what.extend(is_staged.then_some("--cached"));
    what.extend(source.as_deref());
    what.extend(target.as_deref());
    what.push("--");
    what.extend(files.iter().map(File::as_str));
    let told = form.unwrap_or(&context);
    let words = [&["diff", told], &what[..]].concat();
    let names = [&["diff"], &RAW[..], &what].concat();
    let sides = [source.as_deref(), target.as_deref()].into_iter().flatten();
    let tips: Vec<&str> = sides.flat_map(ends).collect();
    let deed = match form {
        Some(_) => Deed::Leaves,
        None => Deed::Tells(Told::Differences { names: &names, tips: &tips }),
    };
    let said = match arguments.flag("includeUntracked") && !is_staged {
        true => with_untracked(run, &deed, &words)?,
        false => run.git_for(&deed, &words)?,
    };
    Ok(said.or("no differences"))
}

/// Returns the commits of `a`, `a..b` or `a...b`, all of which are numbers.
fn ends(range: &str) -> impl Iterator<Item = &str> {
    range.split('.').filter(|it| !it.is_empty())
}

/// Asks with an index of ours in which the files that are not tracked are known as well.
fn with_untracked(run: &Run<'_>, deed: &Deed<'_>, words: &[&str]) -> Result<Said, Fault> {
    let private = run.scratch.private(run.repository)?;
    if let Some(index) = run.repository.read("index")? {
        private.write("index", &index)?;
    }
    // Git keeps an empty file for them, which is no business of the repository's.
    private.make("objects")?;
    let theirs = run.repository.common_path().join("objects");
    let variables = [
        ("GIT_INDEX_FILE", OsString::from(private.path.join("index"))),
        ("GIT_OBJECT_DIRECTORY", OsString::from(private.path.join("objects"))),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&theirs)),
    ];
    let ask = |words: &[&str]| run.ask_in(&private, &variables, words, b"");
    let done = |words: &[&str]| {
        let said = ask(words)?;
        match said.code == Some(0) || said.is_cut {
            true => Ok(said),
            false => Err(failure(words, &said)),
        }
    };
    done(&["add", "--intent-to-add", "--", "."])?;
    ruled::check_with(run, deed, &|words| ruled::whole(words, ask(words)?))?;
    done(words)
}

/// Returns a path as an entry of a list that colons part.
fn quoted(path: &Path) -> OsString {
    let mut bytes = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    bytes.push(b'"');
    OsString::from_vec(bytes)
}

pub(super) fn log(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    if arguments.flag("showSignature") {
        return Err(Fault::Not(
            "signatures are not checked here: no program is run for it".to_owned(),
        ));
    }
    let option = |name: &str, text: &str| format!("--{name}={text}");
    let mut options = vec![option(
        "max-count",
        &arguments.whole("maxCount").unwrap_or(COMMITS_DEFAULT).to_string(),
    )];
    if let Some(skip) = arguments.whole("skip") {
        options.push(option("skip", &skip.to_string()));
    }
    for name in ["since", "until", "author", "grep"] {
        options.extend(arguments.text(name).map(|text| option(name, text)));
    }
    let forms = [("oneline", "--oneline"), ("stat", "--stat"), ("patch", "--patch")];
    let forms = forms.iter().filter(|(name, _)| arguments.flag(name)).map(|(_, word)| *word);
    let revisions = ObjectId::range(run, arguments.text("branch").unwrap_or("HEAD"))?;
    let file = arguments.text("filePath").map(|text| File::new(&run.repository.top, text));
    let file = file.transpose()?;
    let mut what = Vec::from(DIFF);
    what.extend(options.iter().map(String::as_str));
    what.extend([revisions.as_str(), "--"]);
    what.extend(file.as_ref().map(File::as_str));
    let words = [&["log", DATE], &forms.collect::<Vec<_>>()[..], &what].concat();
    let names = [&["log", "--format="], &RAW[..], &what].concat();
    let tips: Vec<&str> = ends(&revisions).collect();
    let deed = match arguments.flag("patch") {
        true => Deed::Tells(Told::Differences { names: &names, tips: &tips }),
        false => Deed::Leaves,
    };
    run.git_for(&deed, &words).map(|said| said.or("no commits"))
}

pub(super) fn show(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let object = arguments.needed("object")?;
    if let Some(file) = arguments.text("filePath") {
        let file = File::new(&run.repository.top, file)?;
        let commit = ObjectId::any(run, object)?;
        let found = ObjectId::any(run, &format!("{}:{}", commit.as_str(), file.as_str()))?;
        let deed = match (kind(run, &commit)?.as_str(), kind(run, &found)?.as_str()) {
            // The names in a directory.
            (_, "tree") => Deed::Leaves,
            ("commit", _) => Deed::Tells(Told::File { commit: &commit, file: &file, id: &found }),
            // Which directory a tree is, nobody can tell.
            (_, _) => Deed::Tells(Told::Object),
        };
        let words = ["cat-file", "-p", found.as_str()];
        return run.git_for(&deed, &words).map(|said| said.or("(empty)"));
    }
    let object = ObjectId::any(run, object)?;
    let is_stat = arguments.flag("stat");
    let mut words = vec!["show", DATE];
    words.extend(DIFF);
    words.extend(is_stat.then_some("--stat"));
    match arguments.text("format") {
        Some("raw") => words.push("--format=raw"),
        Some("json") => return show_json(run, &object),
        Some(_) | None => {}
    }
    words.extend([object.as_str(), "--"]);
    // A tag says more than what it leads to.
    let peeled = format!("{}^{{}}", object.as_str());
    let names = [&["show", "--format="], &RAW[..], &DIFF[..], &[&peeled, "--"]].concat();
    let tips = [object.as_str()];
    let deed = match (kind(run, &object)?.as_str(), is_stat) {
        ("commit", true) | ("tree", _) => Deed::Leaves,
        ("commit", false) => Deed::Tells(Told::Differences { names: &names, tips: &tips }),
        (_, _) => Deed::Tells(Told::Object),
    };
    run.git_for(&deed, &words).map(|said| said.or("(empty)"))
}

/// Returns what an object is, or what a tag leads to.
fn kind(run: &Run<'_>, object: &ObjectId) -> Result<String, Fault> {
    let peeled = format!("{}^{{}}", object.as_str());
    let said = run.git_for(&Deed::Leaves, &["cat-file", "-t", &peeled])?;
    Ok(said.output.trim().to_owned())
}

/// Tells of a commit in JSON.
fn show_json(run: &Run<'_>, object: &ObjectId) -> Result<String, Fault> {
    const FIELDS: [(&str, &str); 9] = [
        ("hash", "%H"),
        ("parents", "%P"),
        ("authorName", "%an"),
        ("authorEmail", "%ae"),
        ("authorDate", "%aI"),
        ("committerName", "%cn"),
        ("committerDate", "%cI"),
        ("subject", "%s"),
        ("body", "%b"),
    ];
    let format: Vec<&str> = FIELDS.iter().map(|(_, field)| *field).collect();
    let format = format!("--format={}", format.join("%x00"));
    let words = ["log", "-1", "--no-color", &format, object.as_str(), "--"];
    let said = run.git_for(&Deed::Leaves, &words)?;
    let mut json = ic_types::Object::new();
    for ((name, _), value) in FIELDS.iter().zip(said.output.trim_end_matches('\n').split('\0')) {
        json.insert(*name, value);
    }
    Ok(ic_types::Json::Object(json).to_string())
}

pub(super) fn blame(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let file = File::new(&run.repository.top, arguments.needed("file")?)?;
    let (start, end) = (arguments.whole("startLine"), arguments.whole("endLine"));
    let lines = match (start, end) {
        (None, None) => None,
        (start, None) => Some(format!("-L{},", start.unwrap_or(1))),
        (start, Some(end)) => Some(format!("-L{},{end}", start.unwrap_or(1))),
    };
    let mut words = vec!["blame", DATE];
    words.extend(lines.as_deref());
    if arguments.flag("ignoreWhitespace") {
        words.push("-w");
    }
    words.extend(["--", file.as_str()]);
    let deed = Deed::Tells(Told::Here(&file));
    run.git_for(&deed, &words).map(|said| said.or("(empty)"))
}

pub(super) fn reflog(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let count = format!("--max-count={}", arguments.whole("maxCount").unwrap_or(COMMITS_DEFAULT));
    let name = match arguments.text("ref") {
        None | Some("HEAD") => "HEAD".to_owned(),
        Some(text) => RefName::new(text)?.as_str().to_owned(),
    };
    let words = ["reflog", "show", DATE, "--no-color", &count, "--end-of-options", &name, "--"];
    run.git(&words).map(|said| said.or("no entries"))
}

pub(super) fn changelog(run: &Run<'_>, arguments: Arguments<'_>) -> Result<String, Fault> {
    let count = format!("--max-count={}", arguments.whole("maxCommits").unwrap_or(200));
    let mut revisions =
        ObjectId::commit(run, arguments.text("branch").unwrap_or("HEAD"))?.as_str().to_owned();
    if let Some(tag) = arguments.text("sinceTag") {
        revisions = format!("{}..{revisions}", ObjectId::commit(run, tag)?.as_str());
    }
    let tags = run.git(&["tag", "--list", "--sort=-creatordate"])?.or("(none)");
    let tags: Vec<&str> = tags.lines().take(50).collect();
    let words = ["log", DATE, "--no-color", "--format=%h %ad %an: %s", &count, &revisions, "--"];
    let commits = run.git_for(&Deed::Leaves, &words)?.or("(none)");
    Ok(format!(
        "Material for a review of: {}\n\nTags, newest first:\n{}\n\nCommits, newest first:\n{commits}",
        show::text(&arguments.texts("reviewTypes").join(", ")),
        tags.join("\n"),
    ))
}
