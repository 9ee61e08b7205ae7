//! A provider that repeats the key that it was sent, wherever it can: nothing keeps it, shows it, runs it
//! or sends it on.

use ic_testkit::Output;
use ic_testkit::provider::script::{encrypted, signature};
use ic_testkit::provider::{Fault, Format, KEY, Reply, Said, frames};
use rustix::process::Signal;

use super::secrets::{holds_key, search};
use super::{World, for_all};

/// The key in base64, as it is and after a letter, and with escapes of a URL.
const SPELLED: [&str; 3] = [
    "c2stc2NyaXB0ZWQtMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3A=",
    "eHNrLXNjcmlwdGVkLTAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9w",
    "sk%2Dscripted%2D0123456789abcdefghijklmnop",
];

/// Checks that the key is in nothing that was shown, kept, or sent in a body.
#[track_caller]
fn check_unsaid(world: &World, output: &Output) {
    let format = world.format;
    assert!(!holds_key(&output.stdout), "{format}: {output:?}");
    assert!(!holds_key(&output.stderr), "{format}: {output:?}");
    assert!(3 < search(&world.desk.place), "{format}");
    for request in world.provider.requests() {
        let body = request.body.to_string();
        assert!(!holds_key(&body), "{format}: {body}");
    }
}

/// Sends a message as it is in its format, with one thing in it put in another's place.
fn with(format: Format, said: &Said, this: &str, that: &str) -> Reply {
    let events = frames::of(format, said, "m").concat();
    assert!(events.contains(this), "{format}: {events}");
    let events = events.replace(this, that);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
    Reply::Raw(format!("{head} {}\r\nconnection: close\r\n\r\n{events}", events.len()).into_bytes())
}

#[test]
fn a_key_in_an_answer_and_in_code_is_masked_before_anything_is_done_with_it() {
    for_all(|format| {
        let [plain, after, percent] = SPELLED;
        let code = format!(
            "filesystem.write_file({{path: 'told.txt', content: '{KEY} {plain} {after} {percent}'}});\n\
             console.log('printed {KEY}', ['sk-scripted-', '0123456789abcdefghijklmnop'].join(''))"
        );
        let script = [
            // Half of the key is in one event, and half in the next.
            Reply::Says(Said::code(&[&code]).saying(&format!("I know {KEY} it!"))),
            Reply::Says(Said::text(&format!("It is {KEY}, {plain}, {after}, {percent}."))),
            // It hangs, so that we can look around.
            Reply::HangsAfter(0, Said::text("x")),
        ];
        let world = World::new(format, script);
        let output = world.start("tell me my key");
        assert_eq!(output.code, 0, "{output:?}");
        assert_eq!(output.stdout.matches("<redacted:own-key>").count(), 4, "{output:?}");
        let written = world.desk.read("work/told.txt").unwrap();
        assert_eq!(written.matches("<redacted:own-key>").count(), 4, "{written}");
        assert!(world.request(2).contains("printed <redacted:own-key> <redacted:own-key>"));
        check_unsaid(&world, &output);
        let words = ["start", "--model", super::model(format), "--continue", "go on"];
        let started = crate::start::started::Started::new(&world.desk.place, &words);
        world.provider.until_asked(3);
        for pid in started.descendants().into_iter().chain([started.pid()]) {
            for file in ["environ", "cmdline"] {
                let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                assert!(!holds_key(&String::from_utf8_lossy(&bytes)), "{format}: {file} of {pid}");
            }
        }
        started.send(Signal::INT);
        check_unsaid(&world, &started.end());
        world.provider.check();
    });
}

/// Answers with a key where it cannot be masked; the answer is refused, and the session goes on.
#[track_caller]
fn check_refused(format: Format, reply: Reply, at: &str) {
    let world = World::new(format, [reply, Reply::Says(Said::text("better"))]);
    let words = ["start", "--model", super::model(format), "--workspace", "work"];
    let output = world.desk.place.run_with_input(words, b"hello\nagain\n");
    assert_eq!((output.code, output.stdout.as_str()), (0, "better\n"), "{format}: {output:?}");
    let expected = format!("holds one of your keys {at}");
    assert!(output.stderr.contains(&expected), "{format}: {output:?}");
    assert!(output.stderr.contains("change the key at the provider"), "{format}: {output:?}");
    check_unsaid(&world, &output);
    world.provider.check();
}

#[test]
fn a_key_in_a_signed_thought_is_refused_since_it_may_not_be_changed() {
    for_all(|format| {
        let thought = "I think.";
        let said = Said::code(&["1"]).thinking(thought);
        let reply = match format {
            Format::Anthropic => with(format, &said, &signature(thought), KEY),
            Format::Responses => with(format, &said, &encrypted(thought), SPELLED[1]),
            Format::Gemini => with(format, &said, &signature(thought), SPELLED[0]),
            // Half of it is in one event, and half in the next.
            Format::Chat => Reply::Says(Said::code(&["1"]).thinking(KEY)),
        };
        check_refused(format, reply, "in a block that has to stay as it came");
    });
    let said = Said::text("x").thinking(&format!("The key is {KEY}, I think."));
    check_refused(Format::Anthropic, Reply::Says(said), "in a block that has to stay as it came");
}

#[test]
fn a_key_as_the_id_or_the_name_of_a_tool_is_refused() {
    for_all(|format| {
        let said = |id: &str, name: &str| {
            let mut said = Said::code(&["1"]);
            for used in &mut said.uses {
                id.clone_into(&mut used.id);
                name.clone_into(&mut used.name);
            }
            Reply::Says(said)
        };
        check_refused(format, said("a", KEY), "in the name of a tool");
        // Gemini has no ids here; those that there are get made by us.
        if format != Format::Gemini {
            check_refused(format, said(KEY, "execute_code"), "in the id of a tool use");
        }
    });
}

#[test]
fn a_key_as_the_name_of_the_model_that_answered_is_kept_nowhere() {
    for_all(|format| {
        let said = Said::text("hello").thinking("Hm.");
        let world = World::new(format, [with(format, &said, r#""m""#, &format!(r#""{KEY}""#))]);
        // Anthropic, OpenAI, compatible servers and Google all say who answered.
        let output = world.start("hello");
        assert_eq!((output.code, output.stdout.as_str()), (0, "hello\n"), "{format}: {output:?}");
        check_unsaid(&world, &output);
    });
}

#[test]
fn a_provider_that_repeats_the_key_in_an_error_is_masked() {
    for_all(|format| {
        let words = format!("what is {KEY} or {} supposed to mean?", SPELLED[0]);
        let fault = || Fault::Rejected(words.clone());
        for reply in [Reply::Fails(fault()), Reply::FailsAfter(2, Said::text("x"), fault())] {
            let world = World::new(format, [reply]);
            let output = world.start("hello");
            assert_eq!(output.code, 1, "{format}: {output:?}");
            let masked = output.stderr.matches("<redacted:").count();
            assert_eq!(masked, 2, "{format}: {output:?}");
            assert!(output.stderr.contains("supposed to mean?"), "{format}: {output:?}");
            check_unsaid(&world, &output);
        }
    });
}

#[test]
fn a_key_that_a_person_pastes_is_kept_and_sent_nowhere() {
    for_all(|format| {
        let world = World::new(format, [Reply::Says(Said::text("Never show me that."))]);
        let words = ["start", "--model", super::model(format), "--workspace", "work"];
        let typed = format!("is {KEY} a good key?\n/history\n");
        let output = world.desk.place.run_with_input(words, typed.as_bytes());
        assert_eq!(output.code, 0, "{format}: {output:?}");
        assert!(world.request(1).contains("is <redacted:own-key> a good key?"), "{format}");
        assert!(output.stderr.contains("1. is <redacted:own-key> a good key?"), "{output:?}");
        check_unsaid(&world, &output);
    });
}
