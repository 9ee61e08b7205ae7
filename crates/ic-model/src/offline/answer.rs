//! What the offline model says: what was read or done, what failed and why, or what it can do.
//!
//! Results of tools are repeated as they are; whoever shows an answer makes it visible first.

use ic_types::{Json, JsonLimits};

use super::request::Request;
use super::script::{MARK, Script};
use super::words::Tangle;

/// What came of one use of `execute_code`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came<'a> {
    pub(super) content: &'a str,
    pub(super) is_error: bool,
}

/// What came of one request.
enum Record {
    Done(String),
    Failed(String),
}

const SIGNED: &str = "(Answered by the offline model.)";

/// Tells what came of each request, in order; `came` has one for each script.
pub(super) fn told(requests: &[Request], scripts: &[Script], came: &[Came<'_>]) -> String {
    let mut records: Vec<Option<Record>> = requests.iter().map(|_| None).collect();
    let mut put = |place: usize, record| {
        if let Some(slot) = records.get_mut(place) {
            *slot = Some(record);
        }
    };
    for (script, came) in scripts.iter().zip(came) {
        match script {
            Script::Given { place, .. } => put(*place, came.as_record()),
            Script::Ours { places, .. } => {
                let mut told = came.records();
                for place in places {
                    let at = told.iter().position(|(clause, _)| clause == place);
                    let record = at.map(|at| told.swap_remove(at).1);
                    put(*place, record.unwrap_or_else(|| Record::Failed(came.without_record())));
                }
            }
        }
    }
    let parts = requests.iter().zip(records).map(|(request, record)| match record {
        Some(Record::Done(text)) => done(request, &text),
        Some(Record::Failed(reason)) => failed(request, &reason),
        None => failed(request, "it was not run"),
    });
    parts.chain([SIGNED.to_owned()]).collect::<Vec<_>>().join("\n\n")
}

/// Says which clauses were not understood, and what would be.
pub(super) fn unclear(clauses: &[String]) -> String {
    let named: Vec<String> = clauses.iter().map(|clause| format!("- {clause}")).collect();
    let named = named.join("\n");
    format!("I did nothing, because I do not understand this:\n{named}\n\n{}", help())
}

/// Says what is wrong with the quotes or blocks of a message.
pub(super) fn tangled(tangle: Tangle) -> String {
    let what = match tangle {
        Tangle::OpenQuote => "a quote is opened and not closed",
        Tangle::OpenBlock => "a fenced block is opened and not closed",
        Tangle::StrayQuote => {
            "there is a quote in the middle of a word; a text with quotes in it goes between other \
             quotes, or into a fenced block"
        }
    };
    format!("I did nothing, because I do not understand this: {what}.\n\n{}", help())
}

/// Says that a message is too much.
pub(super) fn too_much() -> String {
    format!("I did nothing, because this is too much for one message.\n\n{}", help())
}

/// Says that there is no tool to act with.
pub(super) fn helpless() -> String {
    "I am the offline model, and I have no tool to do this with.".to_owned()
}

/// Says what can be asked, and where a model that understands more comes from.
pub(super) fn help() -> String {
    HELP.to_owned()
}

const HELP: &str = r#"I am the offline model: no network, no understanding, and a few things that I can do.
Join them by "then", "and", ";" or new lines.

- list the files in docs · show the tree of docs
- read notes.txt
- write "some text" to notes.txt · append "more text" to notes.txt (a fenced block works as text too)
- move a.txt to b.txt · copy a.txt to b.txt · delete a.txt · create the directory docs
- search for "some text" in docs · search for "some text" in notes.txt
- fetch https://example.com
- git status in project · git log · git diff · commit "a message" in project · push to origin · clone https://example.com/project.git
- run a script: put TypeScript into a fenced block that is marked ts

A key for a model that understands everything else is set by ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY in the environment, or in the configuration (`ironcurtain config set apiKey -` reads one). The next session then asks that provider's model; `--model NAME` and `ironcurtain config set agentModelId NAME` choose another."#;

/// Says how long a text is.
fn bytes(text: &str) -> String {
    match text.len() {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    }
}

fn done(request: &Request, text: &str) -> String {
    match request {
        Request::List { dir } => with_text(&format!("In `{dir}`"), text),
        Request::Tree { dir } => with_text(&format!("The tree of `{dir}`"), text),
        Request::Read { path } => with_text(&format!("`{path}`"), text),
        Request::Write { path, text } => format!("I wrote {} to `{path}`.", bytes(text)),
        Request::Append { path, text } => format!("I appended {} to `{path}`.", bytes(text)),
        Request::Move { from, to } => format!("I moved `{from}` to `{to}`."),
        Request::Copy { from, to } => format!("I copied `{from}` to `{to}`."),
        Request::Delete { path } => format!("I deleted `{path}`."),
        Request::MakeDirectory { path } => format!("I created the directory `{path}`."),
        Request::Search { text: term, dir } => found(&format!("\"{term}\" in `{dir}`"), text),
        Request::FindFiles { pattern, dir } => found(&format!("`{pattern}` in `{dir}`"), text),
        Request::Fetch { url } => with_text(url, text),
        Request::GitStatus { dir } => with_text(&format!("The git status of `{dir}`"), text),
        Request::GitLog { dir } => with_text(&format!("The git log of `{dir}`"), text),
        Request::GitDiff { dir } => with_text(&format!("The git diff of `{dir}`"), text),
        Request::Commit { dir, .. } => {
            with_text(&format!("I committed all changes in `{dir}`"), text)
        }
        Request::Push { remote: Some(remote), .. } => {
            with_text(&format!("I pushed to `{remote}`"), text)
        }
        Request::Push { remote: None, .. } => with_text("I pushed", text),
        Request::Clone { url, dir } => with_text(&format!("I cloned {url} into `{dir}`"), text),
        Request::Run { .. } => with_text("I ran the script", text),
    }
}

fn failed(request: &Request, reason: &str) -> String {
    let what = match request {
        Request::List { dir } => format!("list `{dir}`"),
        Request::Tree { dir } => format!("show the tree of `{dir}`"),
        Request::Read { path } => format!("read `{path}`"),
        Request::Write { path, .. } => format!("write `{path}`"),
        Request::Append { path, .. } => format!("append to `{path}`"),
        Request::Move { from, to } => format!("move `{from}` to `{to}`"),
        Request::Copy { from, to } => format!("copy `{from}` to `{to}`"),
        Request::Delete { path } => format!("delete `{path}`"),
        Request::MakeDirectory { path } => format!("create the directory `{path}`"),
        Request::Search { dir, .. } | Request::FindFiles { dir, .. } => format!("search `{dir}`"),
        Request::Fetch { url } => format!("fetch {url}"),
        Request::GitStatus { dir } => format!("get the git status of `{dir}`"),
        Request::GitLog { dir } => format!("get the git log of `{dir}`"),
        Request::GitDiff { dir } => format!("get the git diff of `{dir}`"),
        Request::Commit { dir, .. } => format!("commit in `{dir}`"),
        Request::Push { .. } => "push".to_owned(),
        Request::Clone { url, .. } => format!("clone {url}"),
        Request::Run { .. } => "run the script".to_owned(),
    };
    format!("I could not {what}: {reason}")
}

fn with_text(what: &str, text: &str) -> String {
    if text.is_empty() { format!("{what}: (nothing)") } else { format!("{what}:\n{text}") }
}

fn found(what: &str, text: &str) -> String {
    if text.is_empty() {
        format!("I found nothing for {what}.")
    } else {
        format!("Found for {what}:\n{text}")
    }
}

impl Came<'_> {
    /// Takes the whole result for what came of one request.
    fn as_record(&self) -> Record {
        let content = self.content.to_owned();
        if self.is_error { Record::Failed(content) } else { Record::Done(content) }
    }

    /// Says what is known of a request that has no record.
    fn without_record(&self) -> String {
        if self.content.trim().is_empty() {
            return "the script ended without a word".to_owned();
        }
        if !self.is_error {
            return "the script said nothing about it".to_owned();
        }
        // What the script itself printed is told where it belongs.
        let lines = self.content.lines().filter(|line| !line.contains(MARK));
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }

    /// Reads the records that a script printed, a line each.
    ///
    /// A line that is damaged, such as the last one of a result that was cut, is none.
    fn records(&self) -> Vec<(usize, Record)> {
        self.content.lines().filter_map(record).collect()
    }
}

fn record(line: &str) -> Option<(usize, Record)> {
    let (_, json) = line.split_once(MARK)?;
    let Json::Object(object) = Json::parse(json.as_bytes(), JsonLimits::CALL).ok()? else {
        return None;
    };
    let Some(Json::Number(clause)) = object.get("clause") else { return None };
    let place = clause.as_str().parse().ok()?;
    let text = |key| object.get(key).and_then(Json::as_str).map(str::to_owned);
    let record = match object.get("ok")? {
        Json::Bool(true) => Record::Done(text("text")?),
        Json::Bool(false) => Record::Failed(text("error")?),
        Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            return None;
        }
    };
    Some((place, record))
}
