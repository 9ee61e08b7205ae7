//! Git over the network through the real proxy: clones, commits and pushes to hosts on loopback.
//!
//! The hosts are real: git's own backend behind TLS, `sshd`, `ssh-agent`. What the user has is in a home
//! of the test's: a git configuration with a credential helper that writes down what it is asked.

mod attacks;
mod bound;
mod by_agent;
mod https;
mod offline;
mod planted;
mod ssh;
mod typed;

use std::borrow::Borrow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ic_testkit::git_host::{HttpsHost, git, make_repository};
use ic_testkit::proxy::{Message, records};
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use crate::place;

/// The password that the https host takes.
const PASSWORD: &str = "correct-horse-battery-staple";

/// A place with an https host, repositories and a policy that allows everything.
struct World {
    place: Place,
    host: HttpsHost,
    repositories: PathBuf,
}

impl World {
    fn new() -> Self {
        Self::at(place())
    }

    fn at(place: Place) -> Self {
        Self::leading(place, "")
    }

    /// A world whose host leads elsewhere where it is asked to.
    fn leading(place: Place, lead: &str) -> Self {
        let repositories = place.dir("repositories");
        make_repository(&repositories.join("app.git"), "a.txt", "one\n");
        let host = HttpsHost::start(&place, &repositories, PASSWORD, lead);
        let world = Self { place, host, repositories };
        world.trust_host("");
        world.write_policy(&[&format!("127.0.0.1:{}", world.host.port)]);
        world
    }

    /// Writes the user's git configuration: whom to trust, and what else is said.
    fn trust_host(&self, more: &str) {
        let certificate = self.host.certificate.display();
        self.place.write("home/.gitconfig", format!("[http]\n\tsslCAInfo = {certificate}\n{more}"));
    }

    /// Gives the user a credential helper that answers with `password`, and writes down what it hears.
    fn with_helper(&self, password: &str) {
        let log = self.helper_log();
        let script = format!(
            "#!/bin/sh\n{{ echo \"== $1\"; cat; }} >> '{}'\n\
             if [ \"$1\" = get ]; then echo username=ada; echo 'password={password}'; fi\n",
            log.display()
        );
        let helper = self.place.write("helper", script);
        std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.trust_host(&format!("[credential]\n\thelper = {}\n", helper.display()));
    }

    fn helper_log(&self) -> PathBuf {
        self.place.path("helper.log")
    }

    /// Returns what the helper was asked.
    fn helped(&self) -> String {
        std::fs::read_to_string(self.helper_log()).unwrap_or_default()
    }

    /// Writes a policy that allows everything, and names some hosts.
    fn write_policy(&self, named: &[&str]) {
        self.write_policy_that("allow", named);
    }

    /// Writes a policy that allows everything but dealing with some hosts, about which it does `what`.
    fn write_policy_that(&self, what: &str, named: &[&str]) {
        let annotations = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../ic-policy/policies/tool-annotations.json");
        self.place.write("policy/tool-annotations.json", std::fs::read(annotations).unwrap());
        let domains = json!({"domains": {"roles": ["git-remote-url"], "allowed": named}});
        let rules = json!([
            {"name": "named", "if": domains, "then": what, "reason": "a test"},
            {"name": "anything", "if": {}, "then": "allow", "reason": "a test"},
        ]);
        self.place.write("policy/compiled-policy.json", json!({"rules": rules}).to_string());
    }

    fn proxy(&self, more: &[&str]) -> Proxy {
        let policy = self.place.path("policy");
        let words = [&["--policy", policy.to_str().unwrap()], more].concat();
        let mut proxy = Proxy::start(&self.place, &words);
        proxy.initialize();
        proxy
    }

    /// Returns the number that a branch of a repository of the host points to.
    fn tip(&self, repository: &str, branch: &str) -> String {
        git(&self.repositories.join(repository), &["rev-parse", branch])
    }

    /// Commits to a repository of the host, as somebody else would.
    fn commit_elsewhere(&self, repository: &str, file: &str) {
        let work = tempfile::tempdir().unwrap();
        let bare = self.repositories.join(repository);
        git(work.path(), &["clone", "-q", bare.to_str().unwrap(), "."]);
        std::fs::write(work.path().join(file), "theirs\n").unwrap();
        git(work.path(), &["add", "."]);
        git(work.path(), &["commit", "-q", "-m", "theirs"]);
        git(work.path(), &["push", "-q", "origin", "main"]);
    }
}

fn call(proxy: &mut Proxy, tool: &str, arguments: impl Borrow<Value>) -> Message {
    proxy.call(&format!("git__{tool}"), arguments.borrow())
}

/// Clones `url` to `to`, commits and pushes; returns what the push said.
fn clone_commit_push(proxy: &mut Proxy, url: &str, to: &str) -> String {
    let cloned = call(proxy, "git_clone", json!({"url": url, "localPath": to})).good();
    assert!(cloned.contains("`main` is checked out"), "{cloned}");
    let read = proxy.call("filesystem__read_text_file", &json!({"path": format!("{to}/a.txt")}));
    assert!(read.good().contains("one"));
    let written = json!({"path": format!("{to}/b.txt"), "content": "ours\n"});
    proxy.call("filesystem__write_file", &written).good();
    call(proxy, "git_add", json!({"path": to, "files": ["b.txt"]})).good();
    call(proxy, "git_commit", json!({"path": to, "message": "ours"})).good();
    call(proxy, "git_push", json!({"path": to, "setUpstream": true})).good()
}

/// Checks that a text is nowhere in what a session wrote down or said.
fn assert_unseen(world: &World, proxy: &mut Proxy, text: &str) {
    let said = proxy.all_stderr();
    assert!(!said.contains(text), "{said}");
    let log = serde_json::to_string(&records(&world.place)).unwrap();
    assert!(!log.contains(text), "{log}");
    let home = world.place.path("home/.ironcurtain");
    let found = std::process::Command::new("grep").args(["-rlF", "--", text]).arg(&home).output();
    let found = String::from_utf8_lossy(&found.unwrap().stdout).into_owned();
    assert_eq!(found, "", "written down");
}

/// Returns the records about what was lent, or not.
fn lendings(world: &World, event: &str) -> Vec<Value> {
    let all = records(&world.place).into_iter();
    all.filter(|it| it["arguments"]["event"] == event).collect()
}
