//! `start … --json`, and tasks of several words.

use ic_escalation::Reply;
use serde_json::Value;

use super::Desk;
use super::people::answer;
use super::started::Started;

/// Runs a task for a script, and returns the events and the exit code.
fn events(desk: &Desk, words: &[&str]) -> (Vec<Value>, i32) {
    let output = desk.place.run([&["start", "--workspace", "work", "--json"], words].concat());
    let lines = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), output.code)
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[test]
fn events_and_the_answer_come_line_by_line() {
    let desk = Desk::new().with(&[("work/a.txt", "one")]);
    let (events, code) = events(&desk, &["read", "a.txt"]);
    assert_eq!(code, 0);
    let names = names(&events);
    assert_eq!((names[0], *names.last().unwrap()), ("status", "status"), "{events:?}");
    assert_eq!(events[0]["status"], "processing");
    assert_eq!(events.last().unwrap()["status"], "closed");
    assert!(events[0]["session"].as_str().unwrap().len() > 20, "{events:?}");
    let of = |name: &str| events.iter().filter(|it| it["event"] == name).collect::<Vec<_>>();
    let calls = of("call");
    assert_eq!(calls.len(), 1, "{events:?}");
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["outcome"]),
        (&"read_text_file".into(), &"allowed".into())
    );
    let answers = of("answer");
    assert_eq!(answers.len(), 1);
    assert!(answers[0]["text"].as_str().unwrap().contains("one"), "{answers:?}");
    assert!(of("diagnostic").iter().any(|it| it["kind"] == "tool_call"), "{events:?}");
    let budget = of("budget");
    assert_eq!(budget[0]["spent"][1]["dimension"], "steps");
}

#[test]
fn questions_are_events_and_exit_codes_stay() {
    let desk = Desk::new();
    let path = desk.place.path("home/Documents/a.txt");
    let task = format!("write \"x\" to {}", path.display());
    let (events, code) = events(&desk, &[&task]);
    assert_eq!(code, 3, "nobody was there: {events:?}");
    // What the exit code is about is an event of its own.
    let call = events.iter().find(|it| it["event"] == "call").unwrap();
    assert_eq!((&call["server"], &call["tool"]), (&"filesystem".into(), &"write_file".into()));
    assert_eq!(call["outcome"], "refused");
    assert!(call["reason"].as_str().unwrap().starts_with("ESCALATION REQUIRED: "), "{call}");
    assert!(!names(&events).contains(&"escalation_raised"), "it was not asked");
    let words = ["start", "--workspace", "work", "--json", "--wait", &task];
    let mut started = Started::new(&desk.place, &words);
    // Its event is printed before this is.
    started.expect("A call is waiting for approval; ");
    let question = desk.question();
    answer(&question, &Reply::Deny);
    let output = started.end();
    assert_eq!(output.code, 0, "{output:?}");
    let events: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| events.iter().find(|it| it["event"] == name).unwrap();
    let (raised, resolved) = (of("escalation_raised"), of("escalation_resolved"));
    let id = question.request().escalation.as_str();
    assert_eq!((&raised["escalationId"], &resolved["escalationId"]), (&id.into(), &id.into()));
    assert_eq!((&raised["tool"], &raised["number"]), (&"write_file".into(), &1.into()));
    assert_eq!(resolved["ending"], "denied");
    assert!(!path.exists());
}

#[test]
fn json_needs_a_task_and_words_are_joined() {
    let desk = Desk::new().with(&[("work/a.txt", "one")]);
    let output = desk.place.run(["start", "--json"]);
    assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
    let output = desk.place.run(["start", "list", "the", "files", "--workspace", "work"]);
    assert!(output.code == 0 && output.stdout.contains("[FILE] a.txt"), "{output:?}");
    let said = "ironcurtain: to continue this session: ironcurtain start --continue\n";
    assert!(output.stderr.ends_with(said), "{output:?}");
    let output = desk.place.run(["start", "", " "]);
    assert_eq!(output.code, 2, "{output:?}");
}
