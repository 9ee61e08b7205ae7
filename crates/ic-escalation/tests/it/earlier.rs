//! What was asked before: what a request changes since, and what a grant would have approved.

use ic_escalation::{Covered, Earlier, Offer, Request, Terms, offer};
use ic_policy::Decision;
use ic_types::{Json, Timestamp};

use crate::world::Ask;

const NOW: Timestamp = Timestamp::from_unix_ms(0);

/// A request to write a file.
fn write(path: &str, content: &str) -> Request {
    let ask = Ask::write(path).with(|it| {
        it.parts.sent.insert("content", content);
    });
    ask.question(NOW).request().clone()
}

/// The same as somebody else has it.
fn of_session(mut request: Request, session: &str) -> Request {
    request.session = session.parse().unwrap();
    request
}

#[test]
fn a_request_is_compared_with_the_last_one_that_was_answered() {
    let mut earlier = Earlier::default();
    let (first, second) = (write("/d/a", "hello"), write("/d/b", "hello"));
    earlier.note(1, &first);
    earlier.note(2, &second);
    let next = write("/d/b", "bye");
    assert_eq!(earlier.changed(&next), Vec::<String>::new(), "nothing was answered");
    earlier.answered(&first, Decision::Approved);
    let lines = [
        "  since #1, which you approved:",
        "    \"path\" was \"/d/a\"",
        "    \"content\" was \"hello\"",
    ];
    assert_eq!(earlier.changed(&next), lines);
    earlier.answered(&second, Decision::Denied);
    let lines = ["  since #2, which you denied:", "    \"content\" was \"hello\""];
    assert_eq!(earlier.changed(&next), lines);
    let again = write("/d/b", "hello");
    assert_eq!(earlier.changed(&again), ["  the same call as #2, which you denied"]);
    let mut elsewhere = again.clone();
    elsewhere.resolved.insert("write-path", "/elsewhere");
    let lines =
        ["  the same arguments as #2, which you denied; what they are about has changed since"];
    assert_eq!(earlier.changed(&elsewhere), lines);
    // Not with itself, another tool or another session.
    assert_eq!(
        earlier.changed(&second),
        ["  since #1, which you approved:", "    \"path\" was \"/d/a\""]
    );
    let mut other = again.clone();
    other.tool = "delete_file".parse().unwrap();
    assert!(earlier.changed(&other).is_empty());
    assert!(earlier.changed(&of_session(again, "other")).is_empty());
}

#[test]
fn what_comes_and_goes_is_named_and_nothing_hides_in_it() {
    let mut earlier = Earlier::default();
    let mut first = write("/d/a", "x");
    first.arguments.insert("mode\u{1b}[2J", "a\u{202e}b");
    first.arguments.insert("long", "w".repeat(10_000));
    earlier.note(1, &first);
    earlier.answered(&first, Decision::Approved);
    let mut next = write("/d/a", "x");
    next.arguments.insert("force", true);
    next.arguments.insert("long", "w".repeat(10_001));
    let lines = [
        "  since #1, which you approved:",
        "    \"force\" was not there",
        "    \"long\" was another long text",
        "    \"mode\\u001b[2J\" is left out; it was \"a\\u{202e}b\"",
    ];
    assert_eq!(earlier.changed(&next), lines);
    for at in 0..20 {
        next.arguments.insert(format!("n{at}").as_str(), Json::Null);
    }
    let lines = earlier.changed(&next);
    assert_eq!(
        (lines.len(), lines.last().unwrap().as_str()),
        (10, "    and 15 more arguments differ")
    );
}

#[test]
fn a_grant_says_how_much_it_would_have_approved() {
    let mut earlier = Earlier::default();
    let asked = write("/d/e/a", "x");
    let wishes = |request: &Request| -> Vec<offer::Wish> {
        let terms = Terms::new(NOW, offer::LIFETIME, None).unwrap();
        let choices = Offer::of_request(request).unwrap().choices();
        choices.into_iter().map(|it| it.with(terms)).collect()
    };
    let offered = wishes(&asked);
    let covered = |earlier: &Earlier| {
        let of = |wish| earlier.covered(wish, &asked.escalation, &asked.session);
        offered.iter().map(of).collect::<Vec<_>>()
    };
    earlier.note(1, &asked);
    assert_eq!(covered(&earlier), [None, None], "there is no other");
    let others = [write("/d/e/a", "y"), write("/d/e/f/b", "x"), write("/d/c", "x")];
    for (number, other) in (2..).zip(&others) {
        earlier.note(number, other);
    }
    // An argument that is no content stays as it was; and another session is another session.
    let mut flagged = write("/d/e/a", "x");
    flagged.grantable.as_mut().unwrap().only.push("only with \"mode\": 7".to_owned());
    earlier.note(5, &flagged);
    earlier.note(6, &of_session(write("/d/e/a", "x"), "other"));
    let is = |covered| Some(Covered { covered, of: 4 });
    assert_eq!(covered(&earlier), [is(1), is(2)]);
}

/// Nothing grows for ever, and what made room does not come back.
#[test]
fn only_the_last_are_kept() {
    let mut earlier = Earlier::default();
    let requests: Vec<Request> = (0..30).map(|at| write(&format!("/d/{at}"), "x")).collect();
    for _ in 0..2 {
        for (number, request) in (1..).zip(&requests) {
            earlier.note(number, request);
        }
    }
    let asked = write("/d/a", "x");
    let terms = Terms::new(NOW, offer::LIFETIME, None).unwrap();
    let wish = Offer::of_request(&asked).unwrap().choices().pop().unwrap().with(terms);
    let covered = |earlier: &Earlier| earlier.covered(&wish, &asked.escalation, &asked.session);
    assert_eq!(covered(&earlier), Some(Covered { covered: 20, of: 20 }));
    for at in 0..100 {
        earlier.note(1, &of_session(asked.clone(), &format!("s{at}")));
    }
    assert_eq!(covered(&earlier), None, "a hundred other sessions asked since");
}
