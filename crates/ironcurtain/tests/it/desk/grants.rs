//! An approval that outlives its call.

use std::path::Path;
use std::time::Duration;

use ic_escalation::{GrantsFile, Offer, Pending, Receipt, Reply, Revoked, Terms};
use ic_home::{Clock as _, SystemClock};
use ic_policy::Decision;
use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::{Desk, answer, deny};

/// Approves, and grants the narrowest or the widest of what is offered.
#[track_caller]
fn grant(question: &Pending, is_wide: bool, count: Option<u64>) {
    let mut choices = Offer::of_request(question.request()).unwrap().choices();
    let choice = if is_wide { choices.pop().unwrap() } else { choices.remove(0) };
    let terms = Terms::new(SystemClock.now(), Duration::from_hours(1), count).unwrap();
    let reply = Reply::Approve(Some(choice.with(terms)));
    answer(question, &reply, Receipt::Accepted(Decision::Approved));
}

impl Desk {
    fn grants(&self) -> GrantsFile {
        GrantsFile::at(self.directory().parent().unwrap().join("grants.json"))
    }

    /// Writes a file without anybody being asked.
    #[track_caller]
    fn check_granted(&mut self, proxy: &mut Proxy, name: &str, content: &str) {
        let id = self.ask_write(proxy, name, content);
        proxy.answer(&id).good();
        assert_eq!(self.pending().len(), 0);
        assert_eq!(self.read(name).unwrap(), content);
    }

    /// Tries to write a file, and says no when asked.
    #[track_caller]
    fn check_asked(&mut self, proxy: &mut Proxy, name: &str, content: &str) {
        let id = self.ask_write(proxy, name, content);
        deny(&self.question());
        assert!(proxy.answer(&id).bad().starts_with("ESCALATION DENIED: "));
    }
}

#[test]
fn what_was_granted_is_never_asked_again_and_its_sibling_is() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "0");
    let question = desk.question();
    assert!(desk.grants().read().unwrap().is_empty(), "not before the answer");
    grant(&question, false, None);
    proxy.answer(&id).good();
    let granted = desk.grants().read().unwrap();
    assert_eq!(granted.len(), 1);
    for n in 0..5 {
        desk.check_granted(&mut proxy, "a.txt", &n.to_string());
        desk.check_granted(&mut proxy, "a.txt", "the same");
    }
    desk.check_asked(&mut proxy, "b.txt", "0");
    let id = proxy.ask_call("filesystem__delete_file", &json!({"path": desk.path("a.txt")}));
    deny(&desk.question());
    proxy.answer(&id).bad();
    // Somebody takes it back.
    assert_eq!(desk.grants().revoke(&granted[0].id).unwrap(), Revoked::Gone);
    desk.check_asked(&mut proxy, "a.txt", "after it was taken back");
    proxy.finish();
    let events = desk.events("grant");
    assert_eq!(events[0], "added");
    assert_eq!(events[1..], vec!["used by grant"; 10]);
    let by_grant = desk.intents().into_iter().filter(|it| it == "allow by grant");
    assert_eq!(by_grant.count(), 10);
    desk.check_log();
}

#[test]
fn a_grant_of_a_directory_holds_in_it_and_not_beside_it() {
    let mut desk = Desk::new();
    desk.place.dir("home/Documents/d");
    desk.place.dir("home/Documents/e");
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "d/a.txt", "0");
    grant(&desk.question(), true, None);
    proxy.answer(&id).good();
    desk.check_granted(&mut proxy, "d/b.txt", "0");
    desk.check_asked(&mut proxy, "e/a.txt", "0");
    desk.check_asked(&mut proxy, "a.txt", "0");
    proxy.finish();
}

/// What waits already is answered too, as far as the grant goes and no further.
#[test]
fn a_grant_answers_calls_that_wait_already() {
    let mut desk = Desk::new();
    desk.place.dir("home/Documents/d");
    let mut proxy = desk.start();
    let mut ids = Vec::new();
    for name in ["d/a.txt", "d/b.txt", "d/c.txt", "e.txt"] {
        ids.push(desk.ask_write(&mut proxy, name, name));
        // One after the other, so that they are in order.
        let n_waiting = desk.questions(ids.len()).len();
        assert_eq!(n_waiting, ids.len());
    }
    let first = desk.questions(4).remove(0);
    grant(&first, true, Some(1));
    proxy.answer(&ids[0]).good();
    // The count is one, and one of the two is left to ask about.
    let left = desk.questions(2);
    let path = |it: &Pending| it.request().arguments.get("path").unwrap().to_string();
    assert!(left.iter().any(|it| path(it).contains("e.txt")), "beside the directory");
    let in_directory: Vec<&Pending> = left.iter().filter(|it| path(it).contains("/d/")).collect();
    assert_eq!(in_directory.len(), 1);
    for question in &left {
        deny(question);
    }
    let said = [1, 2, 3].map(|at| proxy.answer(&ids[at]).text());
    let n_denied = said.iter().filter(|it| it.starts_with("ESCALATION DENIED: ")).count();
    assert_eq!(n_denied, 2, "{said:?}");
    proxy.finish();
    assert_eq!(desk.events("grant"), ["added", "used by grant"]);
    let answered = desk.events("escalation").into_iter().filter(|it| it == "answered by grant");
    assert_eq!(answered.count(), 1);
    desk.check_log();
}

#[test]
fn a_grant_for_so_many_calls_ends_with_the_last() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "0");
    grant(&desk.question(), false, Some(2));
    proxy.answer(&id).good();
    desk.check_granted(&mut proxy, "a.txt", "1");
    desk.check_granted(&mut proxy, "a.txt", "2");
    desk.check_asked(&mut proxy, "a.txt", "3");
    proxy.finish();
}

/// A grant ends with the process, and a file that says otherwise grants nothing.
#[test]
fn a_grant_of_an_earlier_run_holds_no_more() {
    let mut desk = Desk::new();
    let mut proxy = desk.start_with(&["--session", "work"]);
    let id = desk.ask_write(&mut proxy, "a.txt", "0");
    grant(&desk.question(), false, None);
    proxy.answer(&id).good();
    let file = desk.grants().path().to_owned();
    let written = std::fs::read(&file).unwrap();
    proxy.finish();
    let mut proxy = desk.start_with(&["--session", "work"]);
    std::fs::write(&file, written).unwrap();
    desk.check_asked(&mut proxy, "a.txt", "1");
    proxy.finish();
}

/// What was asked about has changed, so the call has no permit, and nothing is granted.
#[test]
fn a_grant_comes_into_force_with_the_permit_and_not_before() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let id = desk.ask_write(&mut proxy, "a.txt", "0");
    let question = desk.question();
    desk.place.write("home/Documents/a.txt", "changed");
    grant(&question, false, None);
    let again = desk.question();
    assert_ne!(again.request().escalation, question.request().escalation);
    assert!(desk.grants().read().unwrap().is_empty());
    deny(&again);
    proxy.answer(&id).bad();
    assert!(desk.grants().read().unwrap().is_empty());
    proxy.finish();
    assert_eq!(desk.events("grant"), Vec::<String>::new());
}

/// A server of somebody else's that pays: the amount means nothing to the policy, and everything to the
/// person who saw it.
#[test]
fn a_grant_for_one_amount_covers_no_other() {
    let mut desk = Desk::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let directory = desk.place.dir("bank");
    let arguments = json!({"to": ["write-path"], "amount": ["none"], "note": ["none"]});
    let annotations =
        json!({"servers": {"bank": {"tools": [{"toolName": "pay", "args": arguments}]}}});
    desk.place.write("policy/tool-annotations.json", annotations.to_string());
    let rules =
        json!({"rules": [{"name": "ask", "then": "escalate", "reason": "money", "if": {}}]});
    desk.place.write("policy/compiled-policy.json", rules.to_string());
    let cage = json!({"filesystem": {"allowRead": [scripts], "allowWrite": [directory]}});
    let words = [scripts.join("bank.py"), directory].map(|it| it.display().to_string());
    let words: Vec<&str> =
        ["-S", "-B"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let entry =
        json!({"bank": {"command": crate::proxy::python(), "args": words, "sandbox": cage}});
    let servers = desk.place.write("servers.json", entry.to_string()).display().to_string();
    let policy = desk.place.path("policy").display().to_string();
    let mut proxy = desk.start_with(&["--policy", &policy, "--servers", &servers]);
    let to = desk.place.path("bank/account").display().to_string();
    let pay = |proxy: &mut Proxy, amount: Value, note: &str| {
        proxy.ask_call("bank__pay", &json!({"to": to, "amount": amount, "note": note}))
    };
    let id = pay(&mut proxy, json!(1.00), "rent");
    grant(&desk.question(), true, None);
    proxy.answer(&id).good();
    // The same once more needs nobody.
    let id = pay(&mut proxy, json!(1.00), "rent");
    proxy.answer(&id).good();
    assert_eq!(desk.pending().len(), 0);
    for (amount, note) in [
        (json!(99_999.00), "rent"),
        (json!(1.01), "rent"),
        (json!(-1.00), "rent"),
        (json!("1.00"), "rent"),
        (json!([1.00]), "rent"),
        (json!(1.00), "bribe"),
    ] {
        let id = pay(&mut proxy, amount.clone(), note);
        deny(&desk.question());
        let refused = proxy.answer(&id);
        assert!(refused.bad().starts_with("ESCALATION DENIED: "), "{amount} {note}");
    }
    proxy.finish();
    let received = std::fs::read_to_string(desk.place.path("bank/received")).unwrap();
    assert!(!received.contains("99999") && !received.contains("bribe"), "{received}");
    assert_eq!(received.matches("\"tools/call\"").count(), 2, "{received}");
}
