//! After anything that can happen, the history is one that a provider takes; the rig checks it.

use ic_model::{AssistantBlock, ModelError, Prices, StopReason};
use ic_testkit::{Line, ScriptedModel};
use proptest::prelude::*;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::rig::Rig;

fn any_line() -> impl Strategy<Value = Line> {
    let names = vec!["echo", "fail", "deny", "quiet", "slow", "hang", "late", "stop", "nope"];
    let one_use = (0_u32..4, prop::sample::select(names), prop::bool::weighted(0.9));
    let uses = prop::collection::vec(one_use, 1..4).prop_map(|uses| {
        let uses: Vec<(String, &str, &str)> = uses
            .iter()
            .map(|(id, name, fits)| (id.to_string(), *name, if *fits { "{}" } else { "[]" }))
            .collect();
        let uses: Vec<_> =
            uses.iter().map(|(id, name, input)| (id.as_str(), *name, *input)).collect();
        Line::uses(&uses)
    });
    prop_oneof![
        6 => uses,
        2 => Just(Line::says("text")),
        1 => Just(Line::blocks(Vec::new(), StopReason::EndTurn)),
        1 => Just(Line::blocks(vec![AssistantBlock::Text("  ".into())], StopReason::MaxTokens)),
        1 => Just(Line::Fails(ModelError::Overloaded)),
        1 => Just(Line::Hangs("half".into())),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_history_stays_a_conversation(
        turns in prop::collection::vec(prop::collection::vec(any_line(), 0..6), 1..6)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let limits = ic_agent::Limits {
                steps_max: Some(5),
                duration_max: Some(Duration::from_secs(100)),
                ..ic_agent::Limits::OFF
            };
            let mut rig = Rig::with(limits, Prices::FREE, ScriptedModel::new([]));
            for lines in turns {
                rig.model.push(lines);
                rig.model.push([Line::says("at last")]);
                let before = rig.history();
                let ended = rig.turn("message").await;
                let after = rig.history();
                match ended {
                    Ok(answer) => assert!(after.last().unwrap().ends_with(&answer.text)),
                    Err(_) if after == before => {}
                    Err(_) => {
                        assert!(after.last().unwrap().starts_with("U: "));
                        assert!(after.last().unwrap().ends_with("(note)"));
                        assert!(after.len() > before.len());
                    }
                }
                if rig.cancel.is_cancelled() {
                    // The next turn has a token of its own, as in a session.
                    rig.cancel = CancellationToken::new();
                    rig.tools.stops(&rig.cancel);
                }
            }
        });
    }
}
