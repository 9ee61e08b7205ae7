//! What `policy suggest` makes of a session in which a person answered, with an agent that tries to be
//! proposed more than it should get.

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::{Desk, approve, deny};

const N_CALLS: usize = 500;
const N_APPROVED: usize = 60;

/// A session may ask no more within a minute.
const N_ASKED_MAX: usize = 30;

/// Sessions one after another, and how often their person was asked.
struct Session {
    desk: Desk,
    proxy: Proxy,
    n_calls: usize,
    n_approved: usize,
    /// How often this session asked.
    n_asked: usize,
}

impl Session {
    fn new() -> Self {
        let desk = Desk::new();
        let proxy = desk.start();
        Self { desk, proxy, n_calls: 0, n_approved: 0, n_asked: 0 }
    }

    /// Returns a path in the user's home, in a directory that is there.
    fn at(&self, name: &str) -> String {
        let path = self.desk.place.path("home").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns a file in the user's home that is there.
    fn file(&self, name: &str) -> String {
        let path = self.at(name);
        std::fs::write(&path, "text").unwrap();
        path
    }

    /// Makes a call that needs a person, who approves it or does not.
    fn asked(&mut self, tool: &str, arguments: &Value, is_approved: bool) {
        if self.n_asked == N_ASKED_MAX {
            self.proxy.finish();
            self.proxy = self.desk.start();
            self.n_asked = 0;
        }
        self.n_asked += 1;
        let id = self.proxy.ask_call(&format!("filesystem__{tool}"), arguments);
        let question = self.desk.question();
        if is_approved {
            approve(&question);
        } else {
            deny(&question);
        }
        drop(self.proxy.answer(&id));
        self.n_calls += 1;
        self.n_approved += usize::from(is_approved);
    }

    fn read(&mut self, name: &str) {
        let path = self.file(name);
        self.asked("read_file", &json!({"path": path}), true);
    }

    fn write(&mut self, name: &str) {
        let path = self.at(name);
        self.asked("write_file", &json!({"path": path, "content": "x"}), true);
    }

    /// Makes calls that need nobody, until there are enough.
    fn fill(&mut self) {
        let path = self.file("Documents/plan.md");
        while self.n_calls < N_CALLS {
            self.proxy.call("filesystem__read_file", &json!({"path": path})).good();
            self.n_calls += 1;
        }
    }
}

#[test]
fn what_a_person_approved_is_proposed_and_nothing_more() {
    let mut session = Session::new();
    for at in 0..20 {
        session.read(&format!("notes/n{at}.md"));
    }
    for at in 0..12 {
        session.write(&format!("site/p{at}.html"));
    }
    // Everything from here on is an agent that collects approvals.
    session.desk.place.dir("home/.app");
    let hidden = session.desk.place.path("home/.app");
    session.desk.place.link("home/innocent", hidden);
    for at in 0..4 {
        session.read(&format!("refused/f{at}"));
        session.write(&format!("projects/p{at}/.envrc"));
        session.read(&format!("spread/d{at}/f"));
        let old = session.file(&format!("old/f{at}"));
        session.asked("delete_file", &json!({"path": old}), true);
    }
    for _ in 0..6 {
        session.read("single/same.txt");
    }
    for at in 0..3 {
        session.read(&format!("top{at}.txt"));
        session.read(&format!("innocent/f{at}"));
    }
    let secret = session.file("refused/deep/key");
    session.asked("read_file", &json!({"path": secret}), false);
    assert_eq!(session.n_approved, N_APPROVED);
    session.fill();
    let Session { desk, mut proxy, .. } = session;
    proxy.finish();

    let output = desk.place.run(["policy", "suggest", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    let proposals: Vec<(&Value, &Value, &Value)> = found["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["sentence"], &it["command"], &it["requestsSaved"]))
        .collect();
    assert_eq!(
        proposals,
        [
            (
                &json!("The agent may read files in ~/notes with read_file of filesystem."),
                &json!("ironcurtain policy allow filesystem.read_file --to read --in ~/notes"),
                &json!(20),
            ),
            (
                &json!("The agent may write files in ~/site with write_file of filesystem."),
                &json!("ironcurtain policy allow filesystem.write_file --to write --in ~/site"),
                &json!(12),
            ),
        ],
        "{found}"
    );
    check_not_proposed(&found);
    desk.check_log();
}

/// Checks what was approved often, and is not proposed.
#[track_caller]
fn check_not_proposed(found: &Value) {
    let not: Vec<String> = found["notProposed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{}: {}", it["what"].as_str().unwrap(), it["because"].as_str().unwrap()))
        .collect();
    for (place, because) in [
        ("in ~/single", "always the same file"),
        ("in ~/refused", "you refused"),
        ("in ~/old", "deletes files"),
        ("in ~/.app", "hidden"),
        ("in ~,", "too much"),
    ] {
        let is_it = |it: &&String| it.contains(place) && it.contains(because);
        assert!(not.iter().any(|it| is_it(&it)), "{place}: {found}");
    }
    assert_eq!(not.len(), 5, "{found}");
    assert_eq!(found["alwaysAsked"], 4, "{found}");
}
