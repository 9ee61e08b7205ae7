//! What was put back, and a person may keep: asked about, bound to its bytes, installed or not.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use ic_escalation::{Board, Pending, Presence, Receipt, Registry, Reply};
use ic_home::{Clock as _, Home, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_testkit::Proxy;
use ic_types::AbsolutePath;
use serde_json::{Value, json};

use super::super::{Rig, hidden};
use super::{program, session, workspace};
use crate::proxy::until;

/// Somebody at the desk of a rig's home.
pub(super) struct Approver {
    home: Home,
    board: Board,
    _presence: Presence,
}

impl Approver {
    pub(super) fn at(rig: &Rig) -> Self {
        let home = Home::new(AbsolutePath::new(rig.place.path("home/.ironcurtain")).unwrap());
        home.prepare().unwrap();
        let presence = Presence::take(&home).unwrap();
        Self { home, board: Board::default(), _presence: presence }
    }

    /// Waits for the one question.
    #[track_caller]
    pub(super) fn question(&mut self) -> Pending {
        let mut found = Vec::new();
        until("a question", || {
            let live = Registry::of(&self.home).live().unwrap();
            found = self.board.look(&live.sessions, SystemClock.now()).pending;
            found.len() == 1
        });
        found.remove(0)
    }
}

#[track_caller]
pub(super) fn answer(question: &Pending, reply: &Reply, expected: Decision) {
    let told = question.answer(reply, DecidedBy::Cli, SystemClock.now()).unwrap();
    assert_eq!(told.receipt, Receipt::Accepted(expected));
}

fn rig(more: &Value) -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    rig.peeker(more)
}

fn ask(proxy: &mut Proxy, rig: &Rig, attack: &str) -> String {
    proxy.ask_call("peeker__run", &json!({"where": hidden(&program(rig, attack))}))
}

#[track_caller]
fn works_again(proxy: &mut Proxy, rig: &Rig, attack: &str) -> String {
    let call = json!({"where": hidden(&program(rig, attack))});
    let mut said = String::new();
    until("the server works", || {
        said = proxy.call("peeker__run", &call).text();
        !said.contains("not available") && !said.contains("is started anew")
    });
    said
}

const PLANT: &str = "open('.envrc', 'w').write('planted\\n')";

#[test]
fn what_is_approved_is_installed_and_read_only_from_then_on() {
    let rig = rig(&json!({"contained": true}));
    let mut approver = Approver::at(&rig);
    let mut proxy = session(&rig);
    let id = ask(&mut proxy, &rig, PLANT);
    let question = approver.question();
    let request = question.request().clone();
    assert_eq!(request.rule, "structural-host-executes");
    assert_eq!(request.tool.as_str(), "ironcurtain/keep");
    let shown: Value = serde_json::from_str(&request.to_json().to_string()).unwrap();
    let file = &shown["arguments"]["files"][0];
    assert_eq!(file["path"], json!(rig.text("ws/.envrc")));
    assert!(file["diff"].as_str().unwrap().contains("\n+planted"), "{file}");
    assert!(!rig.place.path("ws/.envrc").exists(), "it is put back before anybody is asked");
    answer(&question, &Reply::Approve(None), Decision::Approved);
    let text = proxy.answer(&id).text();
    assert!(text.contains("Kept, because it was approved"), "{text}");
    assert_eq!(rig.read("ws/.envrc"), "planted\n");
    let said = works_again(&mut proxy, &rig, "open('.envrc', 'w').write('more')");
    assert!(said.contains("Read-only file system"), "{said}");
    proxy.finish();
    assert_eq!(rig.read("ws/.envrc"), "planted\n");
    let kept: Vec<Value> = ["intent", "escalation", "outcome"]
        .into_iter()
        .flat_map(|kind| rig.records(kind))
        .filter(|it| it["tool"] == "ironcurtain/keep")
        .collect();
    let is_allowed = |it: &&Value| it["kind"] == "intent" && it["verdict"] == "allow";
    assert_eq!(kept.iter().find(is_allowed).unwrap()["decidedBy"], json!("cli"));
    assert!(kept.iter().any(|it| it["arguments"]["event"] == "answered"), "{kept:?}");
    assert!(kept.iter().any(|it| it["kind"] == "outcome"), "{kept:?}");
    let found = rig.records("session").into_iter();
    let found = found.filter(|it| it["arguments"]["event"] == "host-executes-put-back").count();
    assert_eq!(found, 1);
    assert_eq!(rig.place.run(["audit", "verify"]).code, 0);
}

#[test]
fn what_is_denied_or_not_answered_stays_put_back() {
    for (how, expected) in [
        ("denied", "keeping it was denied"),
        ("expired", "no answer in time"),
        ("nobody", "no approver was connected"),
    ] {
        let rig = rig(&json!({"contained": true}));
        if how == "expired" {
            let words = ["config", "set", "escalationTimeoutSeconds", "1"];
            assert_eq!(rig.place.run(words).code, 0);
        }
        let mut approver = (how != "nobody").then(|| Approver::at(&rig));
        let mut proxy = session(&rig);
        let id = ask(&mut proxy, &rig, PLANT);
        if let (Some(approver), "denied") = (&mut approver, how) {
            answer(&approver.question(), &Reply::Deny, Decision::Denied);
        }
        let text = proxy.answer(&id).text();
        assert!(text.contains(&format!("It stays put back: {expected}")), "{how}: {text}");
        proxy.finish();
        assert!(!rig.place.path("ws/.envrc").exists(), "{how}");
        let kept = rig.place.sessions().remove(0).join("quarantine/0-.envrc");
        assert_eq!(fs::read_to_string(kept).unwrap(), "planted\n", "{how}");
    }
}

/// Nothing that happens to the quarantine, or to the place, changes what was agreed to.
#[test]
fn what_is_installed_is_what_was_shown_and_only_where_nothing_changed() {
    let rig1 = rig(&json!({"contained": true}));
    let mut approver = Approver::at(&rig1);
    let mut proxy = session(&rig1);
    let id = ask(&mut proxy, &rig1, PLANT);
    let question = approver.question();
    let kept = rig1.place.sessions().remove(0).join("quarantine/0-.envrc");
    fs::write(&kept, "something else").unwrap();
    answer(&question, &Reply::Approve(None), Decision::Approved);
    proxy.answer(&id);
    proxy.finish();
    assert_eq!(rig1.read("ws/.envrc"), "planted\n");

    let rig2 = rig(&json!({"contained": true}));
    let mut approver = Approver::at(&rig2);
    let mut proxy = session(&rig2);
    let id = ask(&mut proxy, &rig2, PLANT);
    let question = approver.question();
    rig2.place.write("ws/.envrc", "the user's");
    answer(&question, &Reply::Approve(None), Decision::Approved);
    // It is not what was asked about any more, and is asked about as it is.
    answer(&approver.question(), &Reply::Approve(None), Decision::Approved);
    let text = proxy.answer(&id).text();
    assert!(text.contains("something else is there by now"), "{text}");
    proxy.finish();
    assert_eq!(rig2.read("ws/.envrc"), "the user's");
}

#[test]
fn directories_are_kept_whole_and_links_are_not() {
    let rig = rig(&json!({"contained": true}));
    let mut approver = Approver::at(&rig);
    let mut proxy = session(&rig);
    let attack =
        "os.makedirs('.husky/_'); hook('.husky/_/pre-commit'); os.symlink('/etc/passwd', '.npmrc')";
    let id = ask(&mut proxy, &rig, attack);
    let question = approver.question();
    let shown = question.request().to_json().to_string();
    assert!(shown.contains("/ws/.husky/_/pre-commit") && !shown.contains(".npmrc"), "{shown}");
    answer(&question, &Reply::Approve(None), Decision::Approved);
    let text = proxy.answer(&id).text();
    let part = format!("`{}` cannot be kept", rig.text("ws/.npmrc"));
    assert!(text.contains("Kept, because it was approved") && text.contains(&part), "{text}");
    proxy.finish();
    let hook = fs::metadata(rig.place.path("ws/.husky/_/pre-commit")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o7777, 0o755);
    assert!(fs::symlink_metadata(rig.place.path("ws/.npmrc")).is_err());
    assert!(fs::symlink_metadata(rig.place.path("ws/.ironcurtain-keep")).is_err());
}

/// A second name for a file would be a way to change it after it was approved.
#[test]
fn what_is_kept_has_no_other_name() {
    let rig = rig(&json!({"contained": true}));
    let mut approver = Approver::at(&rig);
    let mut proxy = session(&rig);
    let id =
        ask(&mut proxy, &rig, "open('plain', 'w').write('shown\\n'); os.link('plain', '.envrc')");
    let question = approver.question();
    let kept = rig.place.sessions().remove(0).join("quarantine/0-.envrc");
    assert_eq!(fs::metadata(kept).unwrap().nlink(), 1);
    answer(&question, &Reply::Approve(None), Decision::Approved);
    proxy.answer(&id);
    works_again(&mut proxy, &rig, "open('plain', 'w').write('changed')");
    proxy.finish();
    assert_eq!(
        (rig.read("ws/plain").as_str(), rig.read("ws/.envrc").as_str()),
        ("changed", "shown\n")
    );
}

/// What the policy forbids is not asked about.
#[test]
fn what_the_policy_denies_is_not_asked_about() {
    let rig = Rig::new().closed("ws");
    workspace(&rig);
    let write = json!({"sandbox": {"filesystem": {"allowWrite": [rig.text("ws")]}}});
    let rig = rig.peeker(&write);
    let _approver = Approver::at(&rig);
    let mut proxy = rig.start();
    let id = ask(&mut proxy, &rig, PLANT);
    let text = proxy.answer(&id).text();
    assert!(text.contains("It stays put back: the policy denies it"), "{text}");
    proxy.finish();
    assert!(!rig.place.path("ws/.envrc").exists());
}
