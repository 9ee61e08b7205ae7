//! Answers that are none: each is a denial, and is said to be one.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use ic_types::{Json, Object};

use crate::world::{Ask, Place, approval, response, summary};

const MINUTE: Duration = Duration::from_mins(1);

/// Puts a question, lets `answer` do something about it, and says what became of it.
async fn outcome(answer: impl FnOnce(&Place, &Ask)) -> String {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    answer(&place, &ask);
    let summary = summary(&waiting.outcome().await);
    assert!(!place.request_path(&ask).exists() || !summary.starts_with("malformed"));
    summary
}

async fn check(change: impl FnOnce(&mut Object), expected: &str) {
    let outcome = outcome(|place, ask| {
        let Json::Object(mut object) = response("approved", ask) else { panic!() };
        change(&mut object);
        place.respond(ask, Json::Object(object).to_string().as_bytes());
    });
    assert_eq!(outcome.await, expected);
}

async fn check_bytes(bytes: impl Fn(&Ask) -> Vec<u8>, expected: &str) {
    let outcome = outcome(|place, ask| place.respond(ask, &bytes(ask))).await;
    assert!(outcome.starts_with(expected), "{outcome} is not {expected}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_one_only_if_it_is_complete() {
    check(|_| {}, "Approved by cli").await;
    for key in ["decision", "digest", "decidedBy", "decidedAt"] {
        let expected = format!("malformed: the response is malformed: `{key}` is missing");
        check(|object| drop(object.remove(key)), &expected).await;
        for wrong in [Json::Null, Json::Bool(true), Json::from(1_u64), Json::Array(Vec::new())] {
            let place = Place::open();
            let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
            let Json::Object(mut object) = response("approved", &ask) else { panic!() };
            object.insert(key, wrong);
            place.respond(&ask, Json::Object(object).to_string().as_bytes());
            let outcome = summary(&waiting.outcome().await);
            let expected = format!("malformed: the response is malformed: `{key}` is not ");
            assert!(outcome.starts_with(&expected), "{outcome}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_are_not_ours_are_refused() {
    let decision = "malformed: the response is malformed: `decision` is not `approved` or `denied`";
    for word in ["Approved", "approve", "yes", "", "expired", "withdrawn", "approved "] {
        check(|object| object.insert("decision", word), decision).await;
    }
    for word in ["policy", "Cli", "", "agent"] {
        let expected = "malformed: the response is malformed: `decidedBy` is not `repl`, `pty`, \
                        `listener`, `cli`, `grant` or `auto`";
        check(|object| object.insert("decidedBy", word), expected).await;
    }
    let time = "malformed: the response is malformed: `decidedAt` is not a time";
    check(|object| object.insert("decidedAt", "now"), time).await;
    let unknown = "malformed: the response is malformed: there is no `extra`";
    check(|object| object.insert("extra", "x"), unknown).await;
    for by in ["repl", "pty", "listener", "cli", "grant", "auto"] {
        check(|object| object.insert("decidedBy", by), &format!("Approved by {by}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_of_something_else_is_a_denial() {
    let other = "malformed: the response approves another request";
    let digest = ic_types::Digest::of(b"other").to_string();
    check(|object| object.insert("digest", digest.as_str()), other).await;
    // Replayed: a whole approval of an equal call that was asked about before.
    check_bytes(|_| approval(&Ask::write("/d/a")), other).await;
    let text = "malformed: the response is malformed: `digest` is not a digest";
    check(|object| object.insert("digest", "*"), text).await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_obeyed_whatever_its_digest() {
    check(|object| object.insert("decision", "denied"), "Denied by cli").await;
    let digest = ic_types::Digest::of(b"other").to_string();
    let change = |object: &mut Object| {
        object.insert("decision", "denied");
        object.insert("digest", digest.as_str());
    };
    check(change, "Denied by cli").await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_document_are_refused() {
    let malformed = "malformed: the response is malformed: it is not ";
    for bytes in [
        &b""[..],
        b" ",
        b"approved",
        b"true",
        b"[]",
        b"\"approved\"",
        b"{",
        b"\xff\xfe",
        b"{}{}",
        b"{\"decision\":\"approved\"",
        b"\xef\xbb\xbf{}",
    ] {
        check_bytes(|_| bytes.to_vec(), malformed).await;
    }
    let twice = |ask: &Ask| {
        let text = String::from_utf8(approval(ask)).unwrap();
        text.replacen('{', r#"{"decision":"denied","#, 1).into_bytes()
    };
    check_bytes(twice, malformed).await;
    let deep = |_: &Ask| "[".repeat(100).into_bytes();
    check_bytes(deep, malformed).await;
    let long = |ask: &Ask| [approval(ask), vec![b' '; 1 << 20]].concat();
    check_bytes(long, "malformed: the response cannot be used: is longer than").await;
    let almost = |ask: &Ask| [approval(ask), vec![b' '; 1 << 10]].concat();
    check_bytes(almost, "Approved by cli").await;
}

#[tokio::test(start_paused = true)]
async fn only_a_file_of_ours_is_an_answer() {
    let good = |place: &Place, ask: &Ask| {
        let path = place.root.path().join("good");
        fs::write(&path, approval(ask)).unwrap();
        path
    };
    let link = outcome(|place, ask| symlink(good(place, ask), place.response_path(ask)).unwrap());
    assert_eq!(
        link.await,
        "malformed: the response cannot be used: is a link, and is not followed"
    );
    let dangling = outcome(|place, ask| symlink("nothing", place.response_path(ask)).unwrap());
    assert!(dangling.await.starts_with("malformed: "));
    let directory = outcome(|place, ask| fs::create_dir(place.response_path(ask)).unwrap());
    assert_eq!(directory.await, "malformed: the response cannot be used: is not a regular file");
    let pipe = outcome(|place, ask| {
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, place.response_path(ask), mode).unwrap();
    });
    assert_eq!(pipe.await, "malformed: the response cannot be used: is not a regular file");
    let socket = outcome(|place, ask| {
        drop(std::os::unix::net::UnixListener::bind(place.response_path(ask)).unwrap());
    });
    assert!(socket.await.starts_with("malformed: "));
    if rustix::process::geteuid().is_root() {
        let foreign = outcome(|place, ask| {
            let path = good(place, ask);
            std::os::unix::fs::chown(&path, Some(65532), None).unwrap();
            fs::rename(path, place.response_path(ask)).unwrap();
        });
        let foreign = foreign.await;
        assert!(foreign.contains("belongs to another user"), "{foreign}");
    } else {
        eprintln!("SKIPPED: only root can give a file to another user");
    }
}

/// Whoever approves may have been shown something else than was asked.
#[tokio::test(start_paused = true)]
async fn an_approval_of_a_question_that_was_tampered_with_is_a_denial() {
    let changed = outcome(|place, ask| {
        let text = fs::read_to_string(place.request_path(ask)).unwrap();
        fs::write(place.request_path(ask), text.replace("/d/a", "/d/b")).unwrap();
        place.respond(ask, &approval(ask));
    });
    let expected = "malformed: the request was changed after it was made";
    assert_eq!(changed.await, expected);
    let removed = outcome(|place, ask| {
        fs::remove_file(place.request_path(ask)).unwrap();
        place.respond(ask, &approval(ask));
    });
    assert_eq!(removed.await, expected);
    let denied = outcome(|place, ask| {
        fs::remove_file(place.request_path(ask)).unwrap();
        place.respond(ask, &response("denied", ask).to_string().into_bytes());
    });
    assert_eq!(denied.await, "Denied by cli", "a denial is obeyed all the same");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_no_question_is_left_alone() {
    let place = Place::open();
    let (ask, waiting) = place.raise(&Ask::write("/d/a"), MINUTE);
    for name in ["response-.json", "response-x", "response-..json", "response-a b.json"] {
        fs::write(place.directory().join(name), approval(&ask)).unwrap();
    }
    let stranger = Ask::write("/d/a");
    place.respond(&stranger, &approval(&stranger));
    assert_eq!(summary(&waiting.outcome().await), "expired");
}
