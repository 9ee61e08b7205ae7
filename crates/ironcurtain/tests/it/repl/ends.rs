//! The ways out of a turn and of a conversation, and what is left behind.

use rustix::process::Signal;

use super::world::{Stage, document, rig};

/// A message whose turn runs until somebody ends it, or for two minutes.
const ENDLESS: &str = "\x1b[200~run this:\n```ts\nfor (;;) {}\n```\x1b[201~\r";

/// Brings a conversation to some moment; it may write to a path.
type Going = fn(&Stage, &str);

/// Waits until the turn runs.
fn running(stage: &Stage) -> &Stage {
    stage
        .until("the turn", |rows| rows.iter().rev().nth(1).is_some_and(|row| row.starts_with("… ")))
}

#[test]
fn control_c_cancels_the_turn_and_twice_ends_the_session() {
    let rig = rig();
    let mut stage = Stage::new(&rig);
    stage.type_in(ENDLESS);
    running(&stage).send("list the files").expect("Queued");
    running(&stage).send("/budget").expect("time: ");
    running(&stage).type_in("\x03");
    stage
        .expect("Cancelled. What was done is kept.")
        .expect("The queued message was dropped.")
        .prompt("");
    // The session goes on.
    stage.send("list the files").expect("✓ allowed  filesystem.list_directory").prompt("");
    stage.type_in("\x03").expect("Ctrl-C once more ends the session").prompt("");
    // Any other key, and it was not meant.
    stage.type_in("a\x03").prompt("").type_in("\x03").prompt("");
    stage.until("it is said twice", |rows| {
        rows.iter().filter(|row| row.starts_with("Ctrl-C once more")).count() == 2
    });
    stage.type_in("\x03");
    assert_eq!(stage.end(), 0);
    stage.expect("1 call made, 0 refused");
}

#[test]
fn control_c_at_a_question_withdraws_it() {
    let rig = rig();
    let mut stage = Stage::new(&rig);
    stage.send(&format!("write \"text\" to {}", document(&rig, "a.txt")));
    stage.asked().type_in("\x03").expect("The request was withdrawn.").prompt("");
    assert!(rig.pending().is_empty());
    stage.type_in("\x04");
    assert_eq!(stage.end(), 0);
    stage.expect("✗ cancelled filesystem.write_file").expect("0 calls made, 0 refused");
}

/// At the prompt, in a turn, and at a question; `end` looks at the terminal each time.
#[test]
fn a_conversation_gives_the_terminal_back() {
    let rig = rig();
    for (signals, code) in
        [(&[Signal::TERM][..], 130), (&[Signal::HUP], 130), (&[Signal::TERM; 2], 130)]
    {
        let mut stage = Stage::new(&rig);
        assert!(!stage.is_sane());
        for signal in signals {
            stage.signal(*signal);
        }
        assert_eq!(stage.end(), code, "{signals:?}");
        let mut stage = Stage::new(&rig);
        stage.send(&format!("write \"text\" to {}", document(&rig, "a.txt"))).asked();
        for signal in signals {
            stage.signal(*signal);
        }
        assert_eq!(stage.end(), code, "{signals:?} at a question");
    }
    let mut stage = Stage::new(&rig);
    stage.type_in(ENDLESS);
    running(&stage).type_in("\x04");
    assert_eq!(stage.end(), 0);
    let verified = rig.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// The real program, without a clock from one moment on: the standard library panics then.
#[test]
fn a_panic_gives_the_terminal_back() {
    let rig = rig();
    let library = rig.place.path("no_clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal/no_clock.c");
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([library.as_os_str(), source.as_ref()])
        .status()
        .expect("a compiler");
    assert!(compiled.success());
    let preload = format!("LD_PRELOAD={}", library.display());
    let moments: [(&str, Going); 3] = [
        ("at the prompt", |stage, _| {
            stage.type_in("half a mess").prompt("half a mess");
        }),
        ("in a turn", |stage, _| {
            running(stage.type_in(ENDLESS));
        }),
        ("at a question", |stage, path| {
            stage.send(&format!("write \"text\" to {path}")).asked();
        }),
    ];
    for (when, go) in moments {
        let now = rig.place.path(format!("now {when}"));
        let variables = ["NO_COLOR=1", &preload, &format!("NO_CLOCK_WHEN={}", now.display())];
        let mut stage = Stage::start(&rig, 80, 30, &variables, &["--workspace", "work"]);
        stage.prompt("");
        go(&stage, &document(&rig, "a.txt"));
        assert!(!stage.is_sane(), "{when}");
        std::fs::write(&now, "").unwrap();
        // Whatever is done next needs the clock.
        stage.type_in(" ");
        stage.until("a panic", |_| stage.sent().contains("panicked at"));
        if stage.goes_on() {
            // It does without whatever looked at the clock.
            stage.type_in("\x15\x04");
        }
        match stage.end() {
            0 | 101 => {}
            1 => {
                stage.expect("error: a fault of this program ended the session");
            }
            code => panic!("{when}: {code}"),
        }
    }
    let verified = rig.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn a_conversation_that_is_stopped_goes_on_where_it_was() {
    let rig = rig();
    let mut stage = Stage::new(&rig);
    stage.type_in("half a mess").prompt("half a mess");
    stage.type_in("\x1a");
    stage.until_sane();
    stage.signal(Signal::CONT);
    stage.until_raw();
    stage.type_in("age").prompt("half a message").type_in("\x03").prompt("").type_in("\x04");
    assert_eq!(stage.end(), 0);
}
