//! The agent with the offline model: a message, a script, an answer.

use std::sync::{Arc, Mutex};

use ic_agent::{
    Agent, History, Limits, Parts, Running, Surroundings, ToolOutcome, Toolbox, TurnClock,
    execute_code, system_prompt,
};
use ic_model::{OfflineModel, Prices, ToolSpec};
use ic_types::Json;
use tokio_util::sync::CancellationToken;

use crate::rig::{PausedClock, Seen};

/// Remembers the script, and says what it was told to say.
struct Sandbox {
    said: &'static str,
    scripts: Mutex<Vec<String>>,
}

impl Toolbox for Sandbox {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![execute_code()]
    }

    fn run<'a>(&'a self, _: &'a str, input: &'a Json, _: &'a CancellationToken) -> Running<'a> {
        Box::pin(async move {
            self.scripts.lock().unwrap().push(input.to_string());
            Ok(ToolOutcome::done(self.said))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_offline_model_works_through_the_one_tool() {
    let said = r#"ironcurtain-offline {"clause":0,"ok":true,"text":"the text"}"#;
    let sandbox = Arc::new(Sandbox { said, scripts: Mutex::default() });
    let parts = Parts {
        model: Arc::new(OfflineModel),
        toolbox: Arc::clone(&sandbox) as _,
        clock: TurnClock::new(Arc::new(PausedClock::new())),
        system: system_prompt(Surroundings {
            sandbox: "/sandbox",
            servers: &[],
            rules: &[],
            notes: &[],
        }),
        limits: Limits::OFF,
        prices: Prices::FREE,
    };
    let mut agent = Agent::new(parts, History::new()).unwrap();
    let (seen, cancel) = (Seen::default(), CancellationToken::new());
    let answer = agent.turn("read notes.txt", &seen, &cancel).await.unwrap();
    assert!(answer.text.starts_with("`notes.txt`:\nthe text\n"), "{}", answer.text);
    assert_eq!(answer.usage.total(), 0);
    let scripts = sandbox.scripts.lock().unwrap().clone();
    assert!(scripts.len() == 1 && scripts[0].contains("filesystem.read_text_file"));
    let answer = agent.turn("and now sing", &seen, &cancel).await.unwrap();
    assert!(answer.text.contains("- sing"), "{}", answer.text);
    assert_eq!(sandbox.scripts.lock().unwrap().len(), 1);
}
