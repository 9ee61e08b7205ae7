//! `start --repo URL`: a repository that a person names, cloned before the first message.

use std::net::TcpListener;

use ic_testkit::provider::{KEY, Reply, Said};
use ic_testkit::{Output, ScriptedProvider};
use rustix::process::Signal;

use super::*;
use crate::start::started::Started;

/// Starts a session that clones `url` first.
fn start(world: &World, url: &str, task: &str) -> Output {
    let policy = world.place.path("policy");
    let words = ["start", "--policy", policy.to_str().unwrap(), "--repo", url, task];
    world.place.run(words)
}

/// A world whose policy asks a person about every dealing with the host.
fn asking() -> World {
    let world = World::new();
    world.write_policy_that("escalate", &[&format!("127.0.0.1:{}", world.host.port)]);
    world
}

/// Returns the sandbox of the one session.
fn sandbox(world: &World) -> PathBuf {
    let [session] = &world.place.sessions()[..] else { panic!("there is not one session") };
    session.join("sandbox")
}

fn clones(world: &World, kind: &str) -> Vec<Value> {
    let all = records(&world.place).into_iter();
    all.filter(|it| it["kind"] == kind && it["tool"] == "git_clone").collect()
}

#[test]
fn a_repository_is_there_before_the_first_message() {
    let world = asking();
    world.with_helper(PASSWORD);
    let url = world.host.url("auth", "app.git");
    let task = "read a.txt then write \"two\" to b.txt then commit \"second\"";
    let output = start(&world, &url, task);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("one"), "{output:?}");
    assert!(output.stderr.contains(&format!("cloning {url} into the sandbox")), "{output:?}");
    assert!(output.stderr.contains("`main` is checked out"), "{output:?}");
    let sandbox = sandbox(&world);
    assert_eq!(git(&sandbox, &["log", "-1", "--format=%s"]), "second");
    assert_eq!(git(&sandbox, &["remote", "get-url", "origin"]), url);
    // The person's word is in the record: that the policy asked, and who answered.
    let intents = clones(&world, "intent");
    let [_, intent] = &intents[..] else { panic!("asked about, and forwarded: {intents:#?}") };
    assert_eq!(intent["verdict"], "allow");
    assert_eq!((&intent["decidedBy"], &intent["rule"]), (&json!("user"), &json!("named")));
    let escalations = clones(&world, "escalation");
    let answered: Vec<&Value> =
        escalations.iter().filter(|it| it["arguments"]["event"] == "answered").collect();
    let [answered] = &answered[..] else { panic!("{escalations:#?}") };
    assert_eq!(answered["decidedBy"], "user");
    assert_eq!(answered["arguments"]["decision"], "approved");
    // The password was lent, and is nowhere.
    assert!(lendings(&world, "lent").iter().any(|it| it["arguments"]["aid"] == "credential"));
    let log = serde_json::to_string(&records(&world.place)).unwrap();
    for seen in [&log, &output.stdout, &output.stderr] {
        assert!(!seen.contains(PASSWORD), "{seen}");
    }
    assert_eq!(world.place.run(["audit", "verify"]).code, 0);
}

#[test]
fn what_the_policy_allows_anyway_is_cloned_too() {
    let world = World::new();
    let output = start(&world, &world.host.url("open", "app.git"), "read a.txt");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("one"), "{output:?}");
    assert_eq!(clones(&world, "intent")[0]["decidedBy"], "policy");
}

#[test]
fn a_conversation_begins_with_the_repository() {
    let world = asking();
    let (url, policy) = (world.host.url("open", "app.git"), world.place.path("policy"));
    let words = ["start", "--policy", policy.to_str().unwrap(), "--repo", &url];
    let output = world.place.run_with_input(words, b"git status\nread a.txt\n");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("main") && output.stdout.contains("one"), "{output:?}");
}

/// What the repository says about itself is there once it is cloned, and is told to the model then.
#[test]
fn notes_of_a_cloned_repository_are_sent() {
    let provider = ScriptedProvider::start([Reply::Says(Said::text("read"))]);
    let variables = [("ANTHROPIC_BASE_URL", provider.url()), ("ANTHROPIC_API_KEY", KEY.to_owned())];
    let place = variables.iter().fold(place(), |it, (name, value)| it.with_variable(name, value));
    let world = World::at(place);
    make_repository(&world.repositories.join("noted.git"), "AGENTS.md", "Use tabs here.\n");
    let output = start(&world, &world.host.url("open", "noted.git"), "hello");
    assert_eq!(output.code, 0, "{output:?}");
    let place = |text: &str| output.stderr.find(text).unwrap_or_else(|| panic!("{output:?}"));
    assert!(place("is checked out") < place("AGENTS.md is sent to the model"), "{output:?}");
    let sent = provider.requests()[0].body.to_string();
    assert!(sent.contains("Use tabs here."), "{sent}");
}

#[test]
fn the_flag_approves_nothing_that_an_agent_asks_for() {
    let world = asking();
    let url = world.host.url("open", "app.git");
    // The very same URL, another one, and a push to what was cloned.
    let other = world.host.url("open", "other.git");
    make_repository(&world.repositories.join("other.git"), "c.txt", "three\n");
    for task in [format!("clone {url}"), format!("clone {other}"), "push to origin".to_owned()] {
        let n_before = records(&world.place).len();
        let output = start(&world, &url, &task);
        assert_eq!(output.code, 3, "{task}: {output:?}");
        let now = records(&world.place).split_off(n_before);
        let intents = now.iter().filter(|it| it["kind"] == "intent" && it["server"] == "git");
        let forwarded: Vec<&Value> = intents.filter(|it| it["verdict"] == "allow").collect();
        assert_eq!(forwarded.len(), 1, "{task}: {forwarded:#?}");
        let asked = now.iter().filter(|it| it["arguments"]["event"] == "notAsked").count();
        assert_eq!(asked, 1, "{task}: {now:#?}");
    }
}

#[test]
fn what_the_policy_denies_stays_denied() {
    let world = World::new();
    world.write_policy_that("deny", &[&format!("127.0.0.1:{}", world.host.port)]);
    let output = start(&world, &world.host.url("open", "app.git"), "list the files");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("the policy denies it (named): a test"), "{output:?}");
    assert!(output.stderr.contains("cannot overrule a denial"), "{output:?}");
    assert_eq!(output.stdout, "", "the agent did not begin");
    assert_eq!(world.host.requests(), "", "nobody was asked for it");
    assert_eq!(std::fs::read_dir(sandbox(&world)).unwrap().count(), 0);
    assert_eq!(clones(&world, "intent")[0]["decidedBy"], "policy");
    assert_eq!(world.place.run(["audit", "verify"]).code, 0);
}

#[test]
fn what_is_no_repository_of_another_machine_makes_no_session() {
    let place = place();
    for (url, said) in [
        ("", "it is empty"),
        ("app", "it names no host"),
        ("./app", "a place on this machine"),
        ("file:///srv/app.git", "a place on this machine"),
        ("http://git.example.com/o/r", "http:"),
        ("git://git.example.com/o/r", "git:"),
        ("ext::sh -c id", "ext::"),
        ("-oProxyCommand=id", "-"),
        ("https://", "no"),
    ] {
        let output = place.run(["start", &format!("--repo={url}"), "list the files"]);
        assert_eq!(output.code, 2, "{url}: {output:?}");
        assert!(output.stderr.contains(said), "{url}: {output:?}");
        assert!(output.stderr.contains("git@host:owner/repo"), "{url}: {output:?}");
    }
    let url = "https://git.example.com/o/r";
    for other in [&["--workspace", "."][..], &["--continue"], &["--resume", "x"]] {
        let output = place.run([&["start", "--repo", url], other, &["list the files"]].concat());
        assert_eq!(output.code, 2, "{other:?}: {output:?}");
        assert!(output.stderr.contains("cannot be used with"), "{other:?}: {output:?}");
    }
    assert!(!place.path("home/.ironcurtain/sessions").exists());
}

#[test]
fn a_host_that_does_not_give_it_is_said_to() {
    let world = asking();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hosts = [world.host.port, gone].map(|port| format!("127.0.0.1:{port}"));
    world.write_policy_that("escalate", &hosts.each_ref().map(String::as_str));
    for (url, said) in [
        (world.host.url("open", "none.git"), "cannot clone"),
        (world.host.url("auth", "app.git"), "wants a password"),
        (format!("https://127.0.0.1:{gone}/o/r.git"), "cannot clone"),
    ] {
        let output = start(&world, &url, "list the files");
        assert_eq!(output.code, 1, "{url}: {output:?}");
        assert!(output.stderr.contains(said), "{url}: {output:?}");
        assert_eq!(output.stdout, "", "{url}: the agent did not begin");
    }
}

#[test]
fn a_clone_can_be_cancelled() {
    let world = World::new();
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    world.write_policy_that("escalate", &[&format!("127.0.0.1:{port}")]);
    let (url, policy) = (format!("https://127.0.0.1:{port}/o/r.git"), world.place.path("policy"));
    let words = ["start", "--policy", policy.to_str().unwrap(), "--repo", &url, "list the files"];
    let mut started = Started::new(&world.place, &words);
    started.expect("cloning");
    let _connection = silent.accept().unwrap();
    started.send(Signal::INT);
    let output = started.end();
    assert_eq!(output.code, 130, "{output:?}");
    assert_eq!(output.stdout, "");
    assert_eq!(world.place.run(["audit", "verify"]).code, 0);
}
