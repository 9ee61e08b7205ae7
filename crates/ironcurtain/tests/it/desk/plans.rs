//! Plans: an agent asks once about several calls; what is approved is those calls and nothing like them.

use ic_testkit::Proxy;
use ic_testkit::proxy::Message;
use serde_json::{Value, json};

use super::{Desk, approve, details};

const PLAN: &str = "ironcurtain__request_approval";

impl Desk {
    /// Returns a call that writes a file in Documents, as it stands in a plan.
    fn planned(&self, name: &str, content: &str) -> Value {
        json!({"tool": "filesystem.write_file", "arguments": self.write_call(name, content)})
    }

    /// Gets a plan of these calls approved.
    #[track_caller]
    fn approved(&mut self, proxy: &mut Proxy, calls: &[Value]) {
        let id = proxy.ask_call(PLAN, &json!({"calls": calls}));
        approve(&self.question());
        let told = proxy.answer(&id).good();
        assert!(told.starts_with("APPROVED: "), "{told}");
    }
}

fn shown(question: &ic_escalation::Pending, view: ic_escalation::display::View) -> String {
    let now = question.request().created_at;
    ic_escalation::display::show(question.request(), view, None, now).join("\n")
}

#[test]
fn what_is_approved_together_is_made_without_another_question() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let calls = [desk.planned("a.txt", "one"), desk.planned("b.txt", "two"), {
        let path = desk.path("c.txt");
        json!({"tool": "filesystem__read_file", "arguments": {"path": path}})
    }];
    desk.place.write("home/Documents/c.txt", "free");
    let id = proxy.ask_call(PLAN, &json!({"calls": calls}));
    let question = desk.question();
    let seen = shown(&question, ic_escalation::display::View::Short);
    let home = desk.place.path("home");
    let seen = seen.replace(home.to_str().unwrap(), "~");
    let (head, _) = seen.split_once("  expires:").unwrap();
    insta::assert_snapshot!(head, @r#"
    The agent asks about 3 calls before it makes them (request_approval)
      because: "the agent asks about 3 calls before it makes them; approved, each of them may be made once, exactly as shown, within 10 minutes"
      rule: "structural-plan"
      1. filesystem.write_file
        because: "The call writes outside the sandbox and Downloads"
        rule: "escalate-writing-files-anywhere-else"
        write-path:
          "~/Documents/a.txt"
        arguments:
          "path": "~/Documents/a.txt"
          "content": "one"
      2. filesystem.write_file
        because: "The call writes outside the sandbox and Downloads"
        rule: "escalate-writing-files-anywhere-else"
        write-path:
          "~/Documents/b.txt"
        arguments:
          "path": "~/Documents/b.txt"
          "content": "two"
      3. filesystem.read_file
        needs no approval
        read-path:
          "~/Documents/c.txt"
        arguments:
          "path": "~/Documents/c.txt"
    "#);
    approve(&question);
    let told = proxy.answer(&id).good();
    assert!(told.starts_with("APPROVED: the 2 calls that need approval"), "{told}");
    for (name, content) in [("b.txt", "two"), ("a.txt", "one")] {
        let id = desk.ask_write(&mut proxy, name, content);
        proxy.answer(&id).good();
        assert_eq!(desk.read(name).as_deref(), Some(content));
    }
    assert!(desk.pending().is_empty());
    proxy.finish();
    assert_eq!(
        desk.events("escalation"),
        ["raised", "answered by cli", "planned by plan", "planned by plan"]
    );
    desk.check_log();
}

/// One byte of a path, another file, another text, the same once more: each is a question of its own.
#[test]
fn what_differs_in_anything_is_asked_about() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let calls = [desk.planned("a.txt", "one")];
    desk.approved(&mut proxy, &calls);
    for (name, content) in
        [("a.txt2", "one"), ("A.txt", "one"), ("a.txt", "one "), ("sub/a.txt", "one")]
    {
        let id = desk.ask_write(&mut proxy, name, content);
        super::deny(&desk.question());
        proxy.answer(&id).bad();
    }
    // Where a file has come to lie there meanwhile, it is another call.
    desk.place.write("home/Documents/a.txt", "mine");
    let id = desk.ask_write(&mut proxy, "a.txt", "one");
    super::deny(&desk.question());
    proxy.answer(&id).bad();
    assert_eq!(desk.read("a.txt").as_deref(), Some("mine"));
    proxy.finish();
    desk.check_log();
}

#[test]
fn what_is_denied_structural_or_a_push_cannot_be_in_a_plan() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    proxy.call("git__git_init", &json!({"path": "."})).good();
    let home = |name: &str| desk.place.path("home").join(name).to_str().unwrap().to_owned();
    let write = |path: String| json!({"tool": "filesystem.write_file", "arguments": {"path": path, "content": "x"}});
    let push = json!({"tool": "git.git_push", "arguments": {"path": ".", "remote": "https://example.com/o/r"}});
    let many: Vec<Value> = (0..21).map(|n| desk.planned(&format!("{n}.txt"), "x")).collect();
    for (call, expected) in [
        (vec![write(home(".ssh/config"))], "structural-protected-path"),
        (vec![desk.planned("a.txt", "x"), write(home(".bashrc"))], "structural-host-executes"),
        (vec![push], ""),
        (many, "structural-invalid-arguments"),
        (vec![json!({"tool": PLAN, "arguments": {"calls": []}})], "structural-unknown-tool"),
    ] {
        let answer: Message = proxy.call(PLAN, &json!({"calls": call}));
        let said = answer.bad();
        assert!(said.contains("call ") || said.starts_with("INVALID ARGUMENTS: "), "{said}");
        let told = details(&answer);
        assert_eq!(
            (&told["decision"], &told["retryUseful"]),
            (&json!("deny"), &json!(false)),
            "{told}"
        );
        if !expected.is_empty() {
            assert_eq!(told["rule"], expected, "{told}");
        }
        assert!(desk.pending().is_empty(), "{said}");
    }
    proxy.finish();
    desk.check_log();
}

/// A policy that changes what a tool may do, or an end of the session, leaves nothing of a plan.
#[test]
fn a_plan_ends_with_its_session() {
    let mut desk = Desk::new();
    let mut proxy = desk.start_with(&["--session", "first"]);
    let calls = [desk.planned("a.txt", "one")];
    desk.approved(&mut proxy, &calls);
    proxy.finish();
    let mut proxy = desk.start_with(&["--session", "second"]);
    let id = desk.ask_write(&mut proxy, "a.txt", "one");
    super::deny(&desk.question());
    proxy.answer(&id).bad();
    proxy.finish();
}

/// In the code sandbox it is a function like any other, and approves nothing by itself.
#[test]
fn a_script_can_ask_and_cannot_answer() {
    let desk = Desk::empty();
    let path = desk.path("a.txt");
    let script = format!(
        "const call = {{tool: 'filesystem.write_file', arguments: {{path: '{path}', content: 'x'}}}};
         try {{ ironcurtain.request_approval({{calls: [call]}}); console.log('approved'); }}
         catch (error) {{ console.log(String(error)); }}
         try {{ filesystem.write_file(call.arguments); console.log('written'); }}
         catch (error) {{ console.log(String(error)); }}"
    );
    desk.place.write("plan.ts", script);
    let seen = desk.place.run(["run", desk.place.path("plan.ts").to_str().unwrap()]);
    assert_eq!(seen.stdout.matches("ESCALATION REQUIRED").count(), 2, "{seen:?}");
    assert!(desk.read("a.txt").is_none());
}
