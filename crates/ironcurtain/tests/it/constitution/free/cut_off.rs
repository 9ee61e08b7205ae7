//! A run that ends while a model is asked: nothing is replaced, and what was paid for is not paid for again.

use ic_testkit::provider::{Reply, Said};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{FREE, World, good, reply, sentences};
use crate::start::started::Started;

/// The stages of a run in which a sentence turns out to be wrong, in their order.
fn stages() -> [Value; 4] {
    let wrong = sentences(&["The agent may read files in ~/paper."]);
    let blame = json!({"rulings": [{"id": 1, "blame": "sentence", "why": "it is another name",
        "statements": [1]}]});
    let [right, scenarios] = good();
    [wrong, scenarios, blame, right]
}

/// What a model never ends to say.
fn hangs(answer: &Value) -> Reply {
    Reply::HangsAfter(2, Said::tool("use_1", "answer", answer.clone()))
}

#[test]
fn a_run_that_is_interrupted_at_any_stage_goes_on_there() {
    check((Signal::INT, 130));
}

#[test]
fn a_run_that_is_killed_at_any_stage_goes_on_there() {
    check((Signal::KILL, 137));
}

#[track_caller]
fn check((signal, code): (Signal, i32)) {
    let stages = stages();
    for (n_before, unfinished) in stages.iter().enumerate() {
        let (before, after) = stages.split_at(n_before);
        let world = World::new(FREE, before);
        world.provider.push([hangs(unfinished)]);
        let words = ["compile-policy", "--constitution", "mine.md", "--output", "made", "--yes"];
        let started = Started::new(&world.place, &words);
        world.provider.until_asked(n_before + 1);
        started.send(signal);
        let cut = started.end();
        assert_eq!(cut.code, code, "at stage {n_before}: {cut:?}");
        assert!(world.rules().is_none(), "at stage {n_before}");
        if signal == Signal::INT {
            assert!(cut.stderr.contains("nothing was changed"), "at stage {n_before}: {cut:?}");
        }
        // What was not heard to its end is asked again, and nothing else.
        world.provider.push(after.iter().map(reply));
        let made = world.compile(&["--yes"]);
        assert_eq!(made.code, 0, "at stage {n_before}: {made:?}");
        assert_eq!(world.provider.n_requests(), stages.len() + 1, "at stage {n_before}");
        assert_eq!(world.provider.left(), 0, "at stage {n_before}");
        assert_eq!((world.check("read_file", "~/papers/a"), world.rules().is_some()), (0, true));
    }
}
