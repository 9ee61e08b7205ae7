//! MCP servers in cages, through the real binary: what they see, what is served by a server that is
//! started for one call, and what is said where nothing can be confined.
//!
//! The cages themselves are tried elsewhere; here it is about which cage a server gets. The server that
//! is not ours is `tests/servers/peeker.py`.

mod desk;
mod modes;
mod network;
mod one_shots;
mod planted;
mod rewritten;
mod strangers;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ic_testkit::proxy::records;
use ic_testkit::{Place, Proxy};
use serde_json::{Map, Value, json};

use crate::place;
use crate::servers::RUNGS;

/// A place with a policy, and servers in its servers file.
struct Rig {
    place: Place,
    /// Where the program is that runs the binary, if something stands in between.
    _wrapper: Option<tempfile::TempDir>,
    rules: Vec<Value>,
    servers: Map<String, Value>,
}

impl Rig {
    /// A rig with our filesystem server, for which a policy allows everything anywhere.
    fn new() -> Self {
        Self::at(place())
    }

    fn at(place: Place) -> Self {
        let anything = json!({"name": "anything", "if": {}, "then": "allow", "reason": "a test"});
        let mut servers = Map::new();
        servers.insert("filesystem".to_owned(), json!({"builtin": "filesystem"}));
        Self { place, _wrapper: None, rules: vec![anything], servers }
    }

    /// A rig where one rung is left, or `nothing`.
    fn with_only(left: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let wrapper = directory.path().join("ironcurtain");
        let filter = script("confined/uncageable.py");
        let words =
            format!("'{}' {left} '{}'", filter.display(), env!("CARGO_BIN_EXE_ironcurtain"));
        std::fs::write(&wrapper, format!("#!/bin/sh\nexec python3 {words} \"$@\"\n")).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { _wrapper: Some(directory), ..Self::at(Place::new(wrapper)) }
    }

    /// A rig for each rung that works here; those that do not are passed over loudly.
    fn on_every_rung() -> Vec<(&'static str, Self)> {
        let mut rigs = Vec::new();
        for rung in RUNGS {
            let rig = if rung == "namespaces" { Self::new() } else { Self::with_only(rung) };
            let list = rig.place.run(["servers", "list"]);
            if list.stdout.contains(&format!("confinement {rung}.")) {
                rigs.push((rung, rig));
            } else {
                assert!(std::env::var_os("CI").is_none(), "in CI every rung works: {list:?}");
                eprintln!("SKIPPED: the rung {rung} does not work here");
            }
        }
        rigs
    }

    /// Opens a directory of the place to some roles by a rule.
    fn opened(mut self, within: &str, roles: &[&str]) -> Self {
        let condition = json!({"paths": {"roles": roles, "within": self.place.path(within)}});
        let rule = json!({"name": format!("open {within}"), "if": condition, "then": "allow",
            "reason": "a test"});
        self.rules.insert(0, rule);
        self
    }

    /// Denies all that is about a directory of the place.
    fn closed(self, within: &str) -> Self {
        self.ruled(within, "deny")
    }

    /// Asks about all that is about a directory of the place.
    fn asking(self, within: &str) -> Self {
        self.ruled(within, "escalate")
    }

    fn ruled(mut self, within: &str, then: &str) -> Self {
        let roles = ["read-path", "write-path", "delete-path"];
        for role in roles {
            let condition = json!({"paths": {"roles": [role], "within": self.place.path(within)}});
            let rule = json!({"name": format!("{then} {within}"), "if": condition, "then": then,
                "reason": "a test"});
            self.rules.insert(0, rule);
        }
        self
    }

    /// Configures what is to happen where servers cannot be confined.
    fn in_mode(self, mode: &str) -> Self {
        self.place.configure("confinement", mode);
        self
    }

    /// Lets rules name every place that they open.
    fn by_place(mut self, within: &str) -> Self {
        self.rules.clear();
        let places = json!({"roles": ["read-path", "write-path", "delete-path"], "within": self.place.path(within)});
        for condition in [json!({"server": ["peeker"]}), json!({"paths": places})] {
            let rule = json!({"name": format!("open {condition}"), "if": condition, "then": "allow", "reason": "a test"});
            self.rules.push(rule);
        }
        self
    }

    /// Adds the server that tries whatever it is told to, with `more` in its entry.
    fn peeker(mut self, more: &Value) -> Self {
        let script = script("servers/peeker.py");
        let mut entry = json!({"command": "python3", "args": ["-S", "-B", script]});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        // It has to see itself.
        if entry.get("sandbox") != Some(&json!(false)) {
            let paths = &mut entry["sandbox"]["filesystem"]["allowRead"];
            let mut all = paths.as_array().cloned().unwrap_or_default();
            all.push(json!(script));
            *paths = json!(all);
        }
        self.servers.insert("peeker".to_owned(), entry);
        self
    }

    /// Lets a script agree that a server is what it is.
    fn trust(&self, server: &str) {
        let servers = self.text("servers.json");
        self.place.let_scripts_answer();
        let done = self.place.run(["servers", "trust", server, "--yes", "--servers", &servers]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// Writes the policy and the servers file, and starts a proxy.
    fn start(&self) -> Proxy {
        let mut proxy = self.start_silent();
        proxy.initialize();
        proxy
    }

    fn start_silent(&self) -> Proxy {
        self.start_in(&[])
    }

    /// Starts a proxy with further words on its command line.
    fn start_in(&self, words: &[&str]) -> Proxy {
        self.start_with_tools("none", &json!([]), words)
    }

    /// Starts a proxy whose policy knows the tools of a further server.
    fn start_with_tools(&self, further: &str, more: &Value, words: &[&str]) -> Proxy {
        let roles = |roles: &[&str]| json!(roles);
        let path = json!({"path": roles(&["read-path"])});
        let changed = json!({"path": roles(&["read-path", "write-path"]), "edits": ["none"],
            "dryRun": ["none"]});
        let tool = |name: &str, args: &Value| json!({"toolName": name, "args": args});
        let files = [
            tool("read_text_file", &path),
            tool("read_multiple_files", &json!({"paths": ["read-path"]})),
            tool("list_directory", &path),
            tool("directory_tree", &path),
            tool("write_file", &json!({"path": ["write-path"], "content": ["none"]})),
            tool("edit_file", &changed),
            tool("create_directory", &json!({"path": ["write-path"]})),
            tool("delete_file", &json!({"path": ["delete-path"]})),
            tool(
                "move_file",
                &json!({"source": ["read-path", "delete-path"],
                "destination": ["write-path"]}),
            ),
            tool("list_allowed_directories", &json!({})),
        ];
        let text = json!({"text": ["none"], "where": ["none"], "path": ["none"]});
        let with = |role: &str| {
            let mut args = text.clone();
            args["path"] = json!([role]);
            args
        };
        let peeker = [
            tool("peek", &text),
            tool("poke", &text),
            tool("read", &with("read-path")),
            tool("write", &with("write-path")),
            tool("fail", &text),
            tool("fetch", &json!({"url": ["none"]})),
            tool("environment", &json!({})),
            tool("run", &text),
            tool("end", &json!({})),
        ];
        let write = |name: &str, value: &Value| self.place.write(name, value.to_string());
        write("policy/compiled-policy.json", &json!({"rules": self.rules}));
        let mut tools = json!({"filesystem": {"tools": files}, "peeker": {"tools": peeker}});
        if further != "none" {
            tools[further] = json!({"tools": more});
        }
        write("policy/tool-annotations.json", &json!({"servers": tools}));
        let servers = write("servers.json", &Value::from(self.servers.clone()));
        let policy = self.place.path("policy");
        let arguments =
            ["--policy", policy.to_str().unwrap(), "--servers", servers.to_str().unwrap()];
        Proxy::start(&self.place, &[&arguments, words].concat())
    }

    fn text(&self, relative: &str) -> String {
        self.place.path(relative).to_str().unwrap().to_owned()
    }

    fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.place.path(relative)).unwrap()
    }

    /// Returns the sandbox of the only session.
    fn sandbox(&self) -> PathBuf {
        self.place.sessions().remove(0).join("sandbox")
    }

    /// Returns the records of a kind, oldest first.
    fn records(&self, kind: &str) -> Vec<Value> {
        let mut records = records(&self.place);
        records.retain(|it| it["kind"] == kind);
        records
    }

    /// Returns the first record of the session.
    fn opened_record(&self) -> Value {
        let mut records = self.records("session");
        records.retain(|it| it["arguments"]["event"] == "opened");
        records.remove(0)["arguments"].take()
    }
}

/// Returns a place for each rung that works here, with what has to be kept as long as it is used.
pub(crate) fn places_on_every_rung() -> Vec<(&'static str, Place, Option<tempfile::TempDir>)> {
    let rigs = Rig::on_every_rung().into_iter();
    rigs.map(|(rung, Rig { place, _wrapper: kept, .. })| (rung, place, kept)).collect()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Checks that a record says that a call was served in a cage.
#[track_caller]
fn assert_caged(record: &Value) {
    let confined = record["confined"].as_str().unwrap_or("nothing");
    assert!(RUNGS.contains(&confined), "{record}");
}

/// Counts the processes with `text` on their command line.
fn running(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let words = processes.map(|it| std::fs::read(it.path().join("cmdline")).unwrap_or_default());
    words.filter(|words| String::from_utf8_lossy(words).contains(text)).count()
}

/// Writes a path so that nobody but the server takes it for one.
fn hidden(path: &str) -> String {
    path.bytes().map(|byte| format!("{byte:02x}")).collect()
}
