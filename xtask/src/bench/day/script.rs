//! The script of the day: tasks made of steps, and the calls that each step stands for.
//!
//! It is data. Nothing is called here, and what is asked about is for the policy to say.

use std::collections::BTreeSet;

use ic_testkit::agents::{CLAUDE_CODE, CODEX, OPENCODE, Row};
use serde_json::{Value, json};

/// Who does a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agent {
    /// A client of the proxy, whose session lasts all day.
    Client,
    /// The built-in agent, in a session for this task alone.
    BuiltIn,
    /// A real agent in its cage, likewise; it runs commands with its own shell.
    Real(&'static Row),
}

/// A task of the day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) title: &'static str,
    pub(super) agent: Agent,
    pub(super) steps: &'static [Step],
}

/// A step of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// Takes a look at the repository.
    Look,
    /// Adds a function to a module, with its test first.
    Change(&'static str, &'static str),
    /// Runs all tests, and commits everything with this message.
    Commit(&'static str),
    /// Makes a branch and switches to it.
    Branch(&'static str),
    Switch(&'static str),
    Merge(&'static str),
    Pull,
    /// Pushes a branch.
    Push(&'static str),
    /// Fetches pages at once, each of a host by its number.
    Pages(&'static [(usize, &'static str)]),
    /// Adds a dependency.
    Install(&'static str),
    /// Installs everything anew.
    Ci,
    /// Changes the workflow.
    Workflow,
    /// Changes the settings of the editor.
    Settings,
    /// Reads a file in the home.
    ReadOutside(&'static str),
    /// Changes a file in the home.
    WriteOutside(&'static str),
    TestAll,
}

/// What a call, or a question, is about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Kind {
    Files,
    Tests,
    History,
    Branches,
    Pull,
    Push,
    Page,
    Packages,
    HostRuns,
    Outside,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) server: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// What its result has to contain.
    pub(super) says: &'static str,
}

/// Where the day takes place.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) repository: String,
    pub(super) home: String,
    /// The hosts of documentation.
    pub(super) hosts: Vec<String>,
}

/// What is replaced by more of the same, in sources and tests.
pub(super) const MORE: &str = "// More to come.\n";
/// What the workflow says before and after the day.
pub(super) const WORKFLOW: [&str; 2] = ["node-version: 20", "node-version: 22"];
/// What the settings of the editor say before and after the day.
pub(super) const SETTINGS: [&str; 2] = ["\"editor.tabSize\": 4", "\"editor.tabSize\": 2"];
/// What the notes outside the workspace say before and after the day.
pub(super) const NOTES: [&str; 2] = ["- [ ] add a CI job", "- [x] add a CI job"];

use Step::{
    Branch, Change, Ci, Commit, Install, Look, Merge, Pages, Pull, Push, ReadOutside, Settings,
    Switch, TestAll, Workflow, WriteOutside,
};

/// The day.
pub(super) const DAY: [Task; 8] = [
    Task {
        title: "catch up, and mend what was reported",
        agent: Agent::Real(&CLAUDE_CODE),
        steps: &[
            Pull,
            Look,
            ReadOutside("notes/today.md"),
            TestAll,
            Change("parse", "trim"),
            Commit("Trim what is parsed"),
        ],
    },
    Task {
        title: "parse amounts, on a branch",
        agent: Agent::Client,
        steps: &[
            Branch("parse-amounts"),
            Look,
            Pages(&[(0, "/assert.html"), (0, "/test.html")]),
            Change("parse", "sign"),
            Change("parse", "digits"),
            Commit("Parse signs and digits"),
            Pages(&[(0, "/string.html")]),
            Change("parse", "groups"),
            Change("parse", "currency"),
            Commit("Parse groups and currencies"),
            Push("parse-amounts"),
        ],
    },
    Task {
        title: "write the report",
        agent: Agent::BuiltIn,
        steps: &[
            Switch("main"),
            Look,
            Change("report", "title"),
            Change("report", "total"),
            Commit("Report titles and totals"),
            Pages(&[(1, "/intl.html")]),
            Change("report", "lines"),
            Change("report", "footer"),
            Commit("Report lines and a footer"),
        ],
    },
    Task {
        title: "merge the branch",
        agent: Agent::Real(&CODEX),
        steps: &[Merge("parse-amounts"), TestAll, Push("main")],
    },
    Task {
        title: "format money with two packages",
        agent: Agent::Client,
        steps: &[
            Look,
            Pages(&[(2, "/money-format.html"), (2, "/table-layout.html")]),
            Install("money-format"),
            Change("money", "format"),
            Change("money", "round"),
            Commit("Format money"),
            Install("table-layout"),
            Change("report", "table"),
            Change("report", "width"),
            Commit("Report as a table"),
            Push("main"),
        ],
    },
    Task {
        title: "mend the build",
        agent: Agent::Client,
        steps: &[
            Branch("ci"),
            Pages(&[(3, "/workflows.html"), (3, "/setup-node.html"), (1, "/settings.html")]),
            Workflow,
            Commit("Build with the current Node.js"),
            Settings,
            Ci,
            Commit("Indent by two"),
            Switch("main"),
            Merge("ci"),
            Push("main"),
        ],
    },
    Task {
        title: "dates, on a branch",
        agent: Agent::Real(&OPENCODE),
        steps: &[
            Branch("dates"),
            Look,
            Pages(&[(0, "/date.html")]),
            Change("dates", "day"),
            Change("dates", "month"),
            Commit("Read days and months"),
            Change("dates", "year"),
            Change("dates", "week"),
            Change("dates", "quarter"),
            Commit("Read years, weeks and quarters"),
        ],
    },
    Task {
        title: "merge, round off, and write down what was done",
        agent: Agent::Real(&CLAUDE_CODE),
        steps: &[
            Switch("main"),
            Merge("dates"),
            Look,
            ReadOutside("shared/conventions.md"),
            Change("money", "sum"),
            Change("money", "tax"),
            Change("report", "dates"),
            Commit("Sum up with tax"),
            Change("parse", "line"),
            Change("parse", "file"),
            Change("report", "errors"),
            Commit("Parse files, and report errors"),
            WriteOutside("notes/today.md"),
            Pull,
            Push("main"),
        ],
    },
];

impl Step {
    /// Returns the calls that the step stands for; those that are together are made at once.
    pub(super) fn calls(self, places: &Places) -> Vec<Vec<Call>> {
        if let Pages(pages) = self {
            return vec![pages.iter().map(|page| fetch(*page, places)).collect()];
        }
        let calls = match self {
            Look => look(places),
            Change(module, function) => change(module, function, places),
            Commit(message) => commit(message, places),
            Branch(name) => {
                vec![branches(
                    "git_checkout",
                    json!({"target": name, "createBranch": true}),
                    places,
                )]
            }
            Switch(name) => vec![branches("git_checkout", json!({"target": name}), places)],
            Merge(name) => {
                let arguments = json!({"branch": name, "noFastForward": true,
                    "message": format!("Merge {name}")});
                vec![branches("git_merge", arguments, places)]
            }
            Pull => {
                let arguments =
                    json!({"remote": "origin", "branch": "main", "fastForwardOnly": true});
                vec![git(Kind::Pull, "git_pull", arguments, places)]
            }
            Push(branch) => {
                let arguments = json!({"remote": "origin", "branch": branch});
                vec![git(Kind::Push, "git_push", arguments, places)]
            }
            Install(package) => {
                vec![npm(&format!("install {package}"))]
            }
            Ci => vec![npm("ci")],
            Workflow => host_runs(".github/workflows", "ci.yml", WORKFLOW, places),
            Settings => host_runs(".vscode", "settings.json", SETTINGS, places),
            ReadOutside(name) => vec![outside(name, "read_text_file", json!({}), places)],
            WriteOutside(name) => vec![outside(name, "edit_file", edits(NOTES), places)],
            TestAll => vec![test("test/", "exit code 0")],
            Pages(_) => Vec::new(),
        };
        calls.into_iter().map(|call| vec![call]).collect()
    }
}

fn look(places: &Places) -> Vec<Call> {
    vec![
        file("directory_tree", "", json!({"excludePatterns": ["node_modules", ".git"]}), places),
        file("read_text_file", "README.md", json!({}), places),
        git(Kind::History, "git_log", json!({"oneline": true, "maxCount": 20}), places),
        git(Kind::History, "git_branch", json!({"operation": "list"}), places),
        git(Kind::History, "git_status", json!({}), places),
    ]
}

/// Looks for the place, writes a test that fails, makes it pass, tidies up and tests again.
fn change(module: &str, function: &str, places: &Places) -> Vec<Call> {
    let (source, tests) = (format!("src/{module}.js"), format!("test/{module}.test.js"));
    let tested = format!(
        "test('{function}', () => assert.equal({module}.{function}('x'), '{function}: x'));\n{MORE}"
    );
    let made = format!("exports.{function} = (text) => `{function}: ${{text}}`;\n{MORE}");
    let begin = format!("exports.{function} = ");
    let told = format!("// Says `{function}` and what it was given.\n{begin}");
    let read = |path: &str| file("read_text_file", path, json!({}), places);
    vec![
        file("search_files", "", json!({"pattern": format!("**/{module}*")}), places),
        read(&source),
        read(&tests),
        file("edit_file", &tests, edits([MORE, &tested]), places),
        test(&tests, "exit code 1"),
        file("edit_file", &source, edits([MORE, &made]), places),
        test(&tests, "exit code 0"),
        git(Kind::History, "git_diff", json!({}), places),
        read(&source),
        file("edit_file", &source, edits([&begin, &told]), places),
        test(&tests, "exit code 0"),
    ]
}

fn commit(message: &str, places: &Places) -> Vec<Call> {
    let history = |tool, arguments| git(Kind::History, tool, arguments, places);
    vec![
        test("test/", "exit code 0"),
        history("git_status", json!({})),
        history("git_diff", json!({"stat": true})),
        history("git_add", json!({"files": ["."]})),
        history("git_diff", json!({"staged": true})),
        history("git_commit", json!({"message": message})),
        history("git_log", json!({"maxCount": 1})),
    ]
}

fn host_runs(directory: &str, name: &str, change: [&str; 2], places: &Places) -> Vec<Call> {
    let path = format!("{directory}/{name}");
    let edit = file("edit_file", &path, edits(change), places);
    vec![
        file("list_directory", directory, json!({}), places),
        file("read_text_file", &path, json!({}), places),
        Call { kind: Kind::HostRuns, ..edit },
    ]
}

fn fetch((host, path): (usize, &str), places: &Places) -> Call {
    let host = places.hosts.get(host).map_or("", String::as_str);
    let arguments = json!({"url": format!("{host}{path}")});
    Call { kind: Kind::Page, server: "fetch", tool: "http_fetch", arguments, says: "documented" }
}

fn outside(name: &str, tool: &'static str, arguments: Value, places: &Places) -> Call {
    let path = format!("{}/{name}", places.home);
    let arguments = with("path", path, arguments);
    Call { kind: Kind::Outside, server: "filesystem", tool, arguments, says: "" }
}

fn file(tool: &'static str, path: &str, arguments: Value, places: &Places) -> Call {
    let path = format!("{}/{path}", places.repository);
    let arguments = with("path", path.trim_end_matches('/').to_owned(), arguments);
    Call { kind: Kind::Files, server: "filesystem", tool, arguments, says: "" }
}

fn git(kind: Kind, tool: &'static str, arguments: Value, places: &Places) -> Call {
    let arguments = with("path", places.repository.clone(), arguments);
    Call { kind, server: "git", tool, arguments, says: "" }
}

fn branches(tool: &'static str, arguments: Value, places: &Places) -> Call {
    git(Kind::Branches, tool, arguments, places)
}

fn test(what: &str, says: &'static str) -> Call {
    run(Kind::Tests, &format!("node --test {what}"), says)
}

fn npm(what: &str) -> Call {
    let command = format!("npm {what} --no-audit --no-fund --loglevel=error");
    run(Kind::Packages, &command, "exit code 0")
}

fn run(kind: Kind, command: &str, says: &'static str) -> Call {
    let arguments = json!({"command": command, "cwd": ".", "timeoutSeconds": 120});
    Call { kind, server: "shell", tool: "run_command", arguments, says }
}

fn edits([old, new]: [&str; 2]) -> Value {
    json!({"edits": [{"oldText": old, "newText": new}]})
}

fn with(key: &str, value: String, mut arguments: Value) -> Value {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert(key.to_owned(), value.into());
    }
    arguments
}

impl Kind {
    /// All of them, in the order of the table.
    pub(super) const ALL: [Self; 10] = [
        Self::Files,
        Self::Tests,
        Self::History,
        Self::Branches,
        Self::Pull,
        Self::Push,
        Self::Page,
        Self::Packages,
        Self::HostRuns,
        Self::Outside,
    ];

    /// Returns what the table calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "reading, searching and editing in the workspace",
            Self::Tests => "test runs",
            Self::History => "status, diff, add, commit, log",
            Self::Branches => "branches: made, switched, merged",
            Self::Pull => "pulls",
            Self::Push => "pushes",
            Self::Page => "pages of documentation",
            Self::Packages => "dependencies, and `npm ci`",
            Self::HostRuns => "the workflow and `.vscode/settings.json`",
            Self::Outside => "files outside the workspace",
        }
    }
}

/// Returns all steps of the day.
pub(super) fn steps() -> impl Iterator<Item = Step> {
    DAY.iter().flat_map(|task| task.steps.iter().copied())
}

/// A part that the day has to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) n: usize,
    pub(super) least: usize,
}

/// Returns what the day has to contain, and how much of it there is.
pub(super) fn parts(places: &Places) -> Vec<Part> {
    let calls: Vec<Call> = steps().flat_map(|it| it.calls(places)).flatten().collect();
    let n_steps = |is: fn(&Step) -> bool| steps().filter(is).count();
    let named = |kind, key: &str| -> BTreeSet<String> {
        let calls = calls.iter().filter(|it| it.kind == kind);
        calls.filter_map(|it| it.arguments.get(key)?.as_str().map(str::to_owned)).collect()
    };
    let pages = named(Kind::Page, "url");
    let hosts: BTreeSet<&str> = pages.iter().filter_map(|it| it.split('/').nth(2)).collect();
    let part = |name, n, least| Part { name, n, least };
    vec![
        part("calls", calls.len(), 400),
        part("commits", n_steps(|it| matches!(it, Commit(_))), 12),
        part("switches of branches", n_steps(|it| matches!(it, Switch(_))), 3),
        part("merges", n_steps(|it| matches!(it, Merge(_))), 1),
        part("new dependencies", n_steps(|it| matches!(it, Install(_))), 2),
        part("changes of the workflow", n_steps(|it| *it == Workflow), 1),
        part("changes of `.vscode/settings.json`", n_steps(|it| *it == Settings), 1),
        part("pushes", n_steps(|it| matches!(it, Push(_))), 4),
        part("pages", pages.len(), 10),
        part("hosts of pages", hosts.len(), 4),
        part("test runs", calls.iter().filter(|it| it.kind == Kind::Tests).count(), 60),
        part("`npm ci`", n_steps(|it| *it == Ci), 1),
        part("files outside the workspace", named(Kind::Outside, "path").len(), 2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_is_what_it_has_to_be() {
        let places = Places {
            repository: "/r".to_owned(),
            home: "/h".to_owned(),
            hosts: (0..4).map(|n| format!("http://host{n}")).collect(),
        };
        let parts = parts(&places);
        assert!(parts.iter().all(|it| it.least <= it.n), "{parts:?}");
    }
}
