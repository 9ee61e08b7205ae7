//! Every way in which a provider gives no answer: people are told what it is and what to do, and nothing
//! is left behind.

use std::net::TcpListener;

use ic_testkit::provider::{Fault, Reply, Said, Stop};
use ic_testkit::{Output, ScriptedProvider};

use super::{World, for_all, variables};

/// What people are told of each class, and what to do.
const CLASSES: [(Fault, &str, &str); 5] = [
    (Fault::NoCredit, "has no credit left", "hint: look at the billing page"),
    (Fault::TooLong, "Context window exceeded. Please start a new session.", "hint: what was done"),
    (Fault::Overloaded("0"), "the provider is overloaded", "hint: it was tried several times"),
    (Fault::Failing("0"), "the provider failed (status 500)", "hint: it was tried several times"),
    (Fault::RateLimit("0"), "the provider limits the rate", "hint: it was tried several times"),
];

/// Checks that a task failed like this, and that nothing of it runs.
#[track_caller]
fn check(world: &World, output: &Output, message: &str, hint: &str) {
    let format = world.format;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{format}: {output:?}");
    let errors: Vec<&str> =
        output.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{format}: {output:?}");
    assert!(errors[0].contains(message), "{format}: {message}: {output:?}");
    assert!(output.stderr.contains(hint), "{format}: {hint}: {output:?}");
    world.desk.check_log();
    world.desk.check_nobody_listed();
}

#[test]
fn every_class_of_error_has_its_message_and_its_hint() {
    for_all(|format| {
        for (fault, message, hint) in CLASSES {
            let is_retried =
                matches!(fault, Fault::Overloaded(_) | Fault::Failing(_) | Fault::RateLimit(_));
            let n_asked = if is_retried { 5 } else { 1 };
            let world = World::new(format, vec![Reply::Fails(fault); 6]);
            check(&world, &world.start("hello"), message, hint);
            assert_eq!(world.provider.requests().len(), n_asked, "{format}: {message}");
        }
    });
}

#[test]
fn a_wrong_key_says_where_it_comes_from() {
    for_all(|format| {
        let (_, variable) = variables(format);
        let world = World::with_key(format, ScriptedProvider::start([]), "sk-wrong-key-1234567890");
        let output = world.start("hello");
        check(&world, &output, "does not accept the key", &format!("variable `{variable}`"));
        assert!(!output.stderr.contains("sk-wrong"), "{output:?}");
        assert!(output.stderr.contains("ironcurtain config set"), "{output:?}");
    });
}

#[test]
fn an_unknown_model_says_which_and_where() {
    for_all(|format| {
        let world = World::new(format, []);
        let model = format!("{format}:no-such-model");
        let words = ["start", "--model", &model, "--workspace", "work", "hello"];
        let output = world.desk.place.run(words);
        check(&world, &output, "has no model `no-such-model`", &world.provider.url());
    });
}

#[test]
fn a_model_that_declines_is_told_apart() {
    for_all(|format| {
        let refused = Said::text("").stopping(Stop::Refused);
        let world = World::new(format, [Reply::Says(refused)]);
        check(
            &world,
            &world.start("hello"),
            "the model declined to answer",
            "hint: say it in other",
        );
    });
}

#[test]
fn a_request_that_is_not_taken_repeats_the_providers_words_harmlessly() {
    for_all(|format| {
        let words = "tools are \u{1b}[31mnot\u{202e} supported".to_owned();
        let world = World::new(format, [Reply::Fails(Fault::Rejected(words))]);
        let output = world.start("hello");
        check(&world, &output, "rejected the request: tools are", "hint: this may be a model");
        assert!(!output.stderr.contains(['\u{1b}', '\u{202e}']), "{output:?}");
    });
}

#[test]
fn what_makes_no_sense_is_said_to_make_none() {
    let ok = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    for_all(|format| {
        for (raw, message) in [
            (format!("{ok}content-length: 17\r\n\r\ndata: {{\"a\":1,,}}\n\n"), "is not valid"),
            (format!("{ok}content-length: 7\r\n\r\ndata: \u{1}"), "broke off"),
            (format!("{ok}content-length: 0\r\n\r\n"), "broke off"),
            (
                "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
                    .to_owned(),
                "it sends us elsewhere",
            ),
        ] {
            // What breaks off before anything was said is asked for once more.
            let world = World::new(format, vec![Reply::Raw(raw.into_bytes()); 2]);
            check(&world, &world.start("hello"), message, "hint: ");
        }
    });
}

#[test]
fn nobody_there_and_nobody_to_trust_are_two_things() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = closed.local_addr().unwrap();
    drop(closed);
    let plain = ScriptedProvider::start([]);
    for (url, message, hint) in [
        (format!("http://{nobody}"), "the connection to the provider failed: ", "HTTPS_PROXY"),
        (format!("https://{}", plain.address()), "no secure connection", "SSL_CERT_FILE"),
    ] {
        let place = crate::place()
            .with_variable("ANTHROPIC_BASE_URL", &url)
            .with_variable("ANTHROPIC_API_KEY", "sk-some-key");
        place.dir("work");
        let output = place.run(["start", "--workspace", "work", "hello"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(message), "{message}: {output:?}");
        assert!(output.stderr.contains(hint), "{hint}: {output:?}");
    }
}

#[test]
fn whoever_waits_for_the_provider_is_told_and_answered() {
    for_all(|format| {
        let script = [
            Reply::CutsAfter(0, Said::text("lost")),
            Reply::FailsAfter(1, Said::text(""), Fault::Overloaded("")),
            Reply::Fails(Fault::Overloaded("0")),
            Reply::Fails(Fault::RateLimit("0.2")),
            Reply::Says(Said::text("here I am")),
        ];
        let world = World::new(format, script);
        let output = world.start("hello");
        assert_eq!((output.code, output.stdout.as_str()), (0, "here I am\n"), "{output:?}");
        for said in [
            "the provider is overloaded; trying again in 0 s",
            "the provider limits the rate of requests; trying again in 1 s",
        ] {
            assert!(output.stderr.contains(said), "{format}: {said}: {output:?}");
        }
    });
}

#[test]
fn a_session_goes_on_after_an_error_in_the_middle_of_a_turn() {
    for_all(|format| {
        // The first step is kept, and the turn that is cut says why.
        let write = "filesystem.write_file({path: 'a.txt', content: 'a'})";
        let script = [Reply::Says(Said::code(&[write])), Reply::Fails(Fault::TooLong)];
        let world = World::new(format, script);
        let output = world.start("write, and then more");
        check(&world, &output, "Context window exceeded.", "hint: what was done is done");
        assert_eq!(world.desk.read("work/a.txt").unwrap(), "a");
        let records = world.completions();
        assert_eq!(records.len(), 2, "{records:?}");
        assert_eq!(
            records[1]["arguments"]["error"],
            "Context window exceeded. Please start a new session."
        );
    });
}
