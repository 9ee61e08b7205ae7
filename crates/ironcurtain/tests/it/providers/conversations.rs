//! Conversations of several steps: tools, several at once, denials, and questions to a person.

use ic_escalation::Reply as Answer;
use ic_testkit::provider::{Format, Reply, Said};

use super::{World, for_all};
use crate::start::people::answer;

const WRITE: &str = "filesystem.write_file({path: 'a.txt', content: 'grün ✓'})";
const READ: &str = "console.log(filesystem.read_text_file({path: 'a.txt'}))";
const KEYS: &str = "filesystem.read_text_file({path: '~/.ssh/id_rsa'})";

fn document(name: &str) -> String {
    format!("filesystem.write_file({{path: '~/Documents/{name}', content: 'x'}})")
}

#[test]
fn a_conversation_goes_through_tools_denials_and_questions() {
    for_all(|format| {
        let script = [
            Said::code(&[WRITE, READ]).thinking("First I écrire.").saying("Let me look."),
            Said::code(&[KEYS]).thinking("Now the keys."),
            Said::code(&[&document("yes.txt")]),
            Said::code(&[&document("no.txt")]).thinking("One more."),
            Said::text("All is done: ✓"),
        ];
        let world = World::new(format, script.map(Reply::Says));
        let mut started = world.begin(&["--wait"], "do several things");
        started.expect("✓ allowed  filesystem.write_file");
        started.expect("✓ allowed  filesystem.read_text_file");
        started.expect("✗ refused  filesystem.read_text_file");
        started.expect("A call is waiting for approval; ");
        answer(&world.desk.question(), &Answer::Approve(None));
        started.expect("✓ approved filesystem.write_file");
        started.expect("A call is waiting for approval; ");
        answer(&world.desk.question(), &Answer::Deny);
        started.expect("✗ refused  filesystem.write_file");
        let output = started.end();
        assert_eq!((output.code, output.stdout.as_str()), (0, "All is done: ✓\n"), "{output:?}");
        world.provider.check();
        assert_eq!((world.provider.requests().len(), world.provider.left()), (5, 0), "{format}");
        assert_eq!(world.desk.read("work/a.txt").unwrap(), "grün ✓");
        assert!(world.desk.read("home/Documents/yes.txt").is_some());
        assert!(world.desk.read("home/Documents/no.txt").is_none());
        for (n, parts) in [
            (1, &["do several things", "execute_code", "work"][..]),
            (2, &["Let me look.", "grün ✓"]),
            (3, &["DENIED", "protected", "Do not retry"]),
            (5, &["ESCALATION DENIED"]),
        ] {
            let request = world.request(n);
            for part in parts {
                assert!(request.contains(part), "{format}: no `{part}` in {request}");
            }
        }
        if format == Format::Responses {
            // What the model said of its message goes back on it.
            assert!(world.request(2).contains(r#""phase":"commentary""#), "{}", world.request(2));
        }
        assert!(world.provider.n_connections() < 5, "{format}: connections are used again");
        let records = world.completions();
        assert_eq!(records.len(), 5, "{records:?}");
        world.desk.check_log();
    });
}

#[test]
fn thoughts_go_back_as_they_came() {
    for_all(|format| {
        let thought = "I think, \"quoted\", ümlaut, 😀 and so on.";
        let script =
            [Reply::Says(Said::code(&[WRITE]).thinking(thought)), Reply::Says(Said::text("done"))];
        let world = World::new(format, script);
        let output = world.start("think first");
        assert_eq!(output.code, 0, "{output:?}");
        // The provider checks signatures; and it has to find one.
        world.provider.check();
        let request = world.request(2);
        let signature = match format {
            Format::Anthropic | Format::Gemini => ic_testkit::provider::script::signature(thought),
            Format::Responses => ic_testkit::provider::script::encrypted(thought),
            Format::Chat => serde_json::to_string(thought).unwrap(),
        };
        assert!(request.contains(&signature), "{format}: {request}");
        assert!(!output.stdout.contains("I think"), "{output:?}");
    });
}

#[test]
fn what_was_said_before_is_marked_for_the_cache_once_per_request() {
    let script = (0..6).map(|_| Reply::Says(Said::code(&[READ])));
    let world = World::new(Format::Anthropic, script.chain([Reply::Says(Said::text("x"))]));
    world.desk.place.write("work/a.txt", "a");
    // Six times the same is taken for a loop, so it ends there.
    let output = world.start("go on");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("6 times in a row with the same result"), "{output:?}");
    world.provider.check();
    for (at, request) in world.provider.requests().iter().enumerate() {
        let n_marks = request.body.to_string().matches("cache_control").count();
        assert_eq!(n_marks, if at == 0 { 2 } else { 3 }, "{at}");
        let last = request.body["messages"].as_array().unwrap().last().unwrap();
        let last = last["content"].as_array().unwrap().last().unwrap();
        assert_eq!(last["cache_control"]["type"], "ephemeral", "{at}: {last}");
    }
}

#[test]
fn an_answer_that_has_no_room_is_told_as_far_as_it_goes() {
    for_all(|format| {
        let full = Said::text("This is only the beg").stopping(ic_testkit::provider::Stop::Full);
        let world = World::new(format, [Reply::Says(full)]);
        let output = world.start("tell me all");
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (0, "This is only the beg\n"),
            "{output:?}"
        );
    });
}

#[test]
fn a_session_that_goes_on_sends_what_was_said_as_it_was() {
    for_all(|format| {
        let thought = "Remember this, wörtlich.";
        let script = [
            Said::code(&[WRITE]).thinking(thought).saying("I write."),
            Said::text("The first answer."),
            Said::text("The second answer."),
        ];
        let world = World::new(format, script.map(Reply::Says));
        let output = world.start("The first question.");
        assert_eq!((output.code, output.stdout.as_str()), (0, "The first answer.\n"), "{output:?}");
        let words =
            ["start", "--model", super::model(format), "--continue", "The second question."];
        let output = world.desk.place.run(words);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (0, "The second answer.\n"),
            "{output:?}"
        );
        world.provider.check();
        let requests = world.provider.requests();
        let key = match format {
            Format::Anthropic | Format::Chat => "messages",
            Format::Responses => "input",
            Format::Gemini => "contents",
        };
        // Marks for the cache move on; everything else stays as it was.
        let said = |at: usize| -> Vec<String> {
            let said = requests[at].body[key].as_array().unwrap().iter();
            said.map(|it| it.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
                .collect()
        };
        let (before, after) = (said(1), said(2));
        assert_eq!(after[..before.len()], before, "{format}");
        let new = after[before.len()..].join("");
        assert!(new.contains("The first answer.") && new.contains("The second question."), "{new}");
    });
}
