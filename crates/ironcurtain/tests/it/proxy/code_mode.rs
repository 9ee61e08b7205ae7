//! `proxy --code-mode`: one tool that runs scripts, in which all tools are functions.

use ic_testkit::proxy::{Message, records};
use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use crate::place;
use crate::proxy::until;

const TOOL: &str = "ironcurtain__run_script";

fn start(place: &Place, words: &[&str]) -> Proxy {
    place.write("work/a.txt", "what was there");
    let mut proxy = Proxy::start(place, &[&["--code-mode", "--workspace", "work"], words].concat());
    proxy.initialize();
    proxy
}

fn run(proxy: &mut Proxy, script: &str) -> Message {
    proxy.call(TOOL, &json!({"script": script}))
}

#[test]
fn one_tool_is_offered_and_its_scripts_have_all_tools_as_functions() {
    let place = place();
    let mut proxy = start(&place, &[]);
    let listed = proxy.request("tools/list", &json!({})).result();
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, [TOOL]);
    assert!(run(&mut proxy, "help()").good().contains("filesystem"));
    let help = run(&mut proxy, "help('filesystem')").good();
    assert!(help.contains("read_text_file"), "{help}");
    let script = "const text: string = filesystem.read_text_file({path: 'a.txt'});
        filesystem.write_file({path: 'b.txt', content: text.toUpperCase()});
        console.log('copied'); text.length";
    let said = run(&mut proxy, script).good();
    assert_eq!(said, "copied\n14", "{said}");
    let made = std::fs::read_to_string(place.path("work/b.txt")).unwrap();
    assert_eq!(made, "WHAT WAS THERE");
    assert_eq!(run(&mut proxy, "let x = 1;").good(), "(the script printed and returned nothing)");
    proxy.finish();
    let calls: Vec<Value> = records(&place)
        .into_iter()
        .filter(|it| it["kind"] == "intent")
        .map(|it| json!([it["tool"], it["verdict"]]))
        .collect();
    assert_eq!(calls, [json!(["read_text_file", "allow"]), json!(["write_file", "allow"])]);
    assert_eq!(place.run(["audit", "verify"]).code, 0);
}

#[test]
fn calls_of_scripts_are_judged_and_no_other_tool_can_be_called() {
    let place = place();
    place.write("home/.ssh/id_ed25519", "a key of the user");
    let mut proxy = start(&place, &[]);
    let path = place.path("home/.ssh/id_ed25519").display().to_string();
    let script = format!("filesystem.read_text_file({{path: {}}})", json!(path));
    let denied = run(&mut proxy, &script).bad();
    assert!(denied.contains("DENIED: ") && !denied.contains("a key of the user"), "{denied}");
    // A script can go on after a denial.
    let caught = format!("try {{ {script} }} catch (error) {{ console.log('denied') }} 'went on'");
    assert_eq!(run(&mut proxy, &caught).good(), "denied\nwent on");
    let around = proxy.call("filesystem__read_text_file", &json!({"path": "a.txt"}));
    let (_, reason) = around.error();
    assert!(reason.contains(TOOL), "{reason}");
    assert!(run(&mut proxy, "while (true) {").bad().contains("line"));
    let missing = proxy.call(TOOL, &json!({"code": "1"})).bad();
    assert!(missing.contains("`script` is missing"), "{missing}");
    // There is nothing in it but tools.
    let outside = "[typeof require, typeof process, typeof XMLHttpRequest].join()";
    assert_eq!(run(&mut proxy, outside).good(), "undefined,undefined,undefined");
    proxy.finish();
    let denied = records(&place).into_iter().filter(|it| it["verdict"] == "deny");
    assert_eq!(denied.filter(|it| it["tool"] == "read_text_file").count(), 2);
}

#[test]
fn a_call_of_a_script_waits_for_approval_and_is_taken_back_with_it() {
    let place = place();
    place.let_scripts_answer();
    place.dir("home/Documents");
    let mut proxy = start(&place, &["--wait"]);
    let path = place.path("home/Documents/b.txt").display().to_string();
    let script =
        format!("filesystem.write_file({{path: {}, content: 'approved'}}); 'written'", json!(path));
    let pending = || -> Vec<Value> {
        let list = place.run(["approvals", "list", "--json"]);
        serde_json::from_str(&list.stdout).unwrap()
    };
    let asked = proxy.ask_call(TOOL, &json!({"script": script}));
    until("a question", || !pending().is_empty());
    let id = pending()[0]["escalationId"].as_str().unwrap().to_owned();
    assert_eq!(place.run(["approvals", "approve", &id]).code, 0);
    assert_eq!(proxy.answer(&asked).good(), "written");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "approved");
    // A script that is taken back asks nobody any more.
    let asked = proxy.ask_call(TOOL, &json!({"script": script.replace("approved", "again")}));
    until("another question", || !pending().is_empty());
    let request = serde_json::from_str::<Value>(&asked).unwrap_or(Value::String(asked));
    proxy.notify("notifications/cancelled", &json!({"requestId": request}));
    until("nobody is asked", || pending().is_empty());
    proxy.finish();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "approved");
    assert_eq!(place.run(["audit", "verify"]).code, 0);
}
