//! What a session keeps of its turns, and what it tells while they run.

use ic_agent::Limits;
use ic_home::{Clock as _, SystemClock};
use ic_session::{Conversation as _, SessionHandle as _, TurnUsage};

use super::model::{Scripted, Step, run, say};
use super::world::{Options, USUAL, World, kind, never};

#[tokio::test]
async fn turns_are_numbered_and_have_their_usage_and_their_time() {
    let world = World::new().await;
    let model = Scripted::new([say("one"), run("2"), say("two"), say("three")]);
    let (session, _ears) = world.open(&model, USUAL).await;
    let before = SystemClock.now();
    for message in ["first", "second", "third"] {
        session.send_message(message, never()).await.unwrap();
    }
    let after = SystemClock.now();
    let history = session.history();
    let kept: Vec<_> = history
        .iter()
        .map(|it| (it.turn_number, &*it.user_message, &*it.assistant_response))
        .collect();
    assert_eq!(kept, [(1, "first", "one"), (2, "second", "two"), (3, "third", "three")]);
    let usage = |n_steps: u64| TurnUsage {
        prompt: 10 * n_steps,
        completion: 5 * n_steps,
        total: 15 * n_steps,
    };
    assert_eq!(
        history.iter().map(|it| it.usage).collect::<Vec<_>>(),
        [usage(1), usage(2), usage(1)]
    );
    let times: Vec<_> = history.iter().map(|it| it.timestamp).collect();
    assert!(before <= times[0] && times.is_sorted() && times[2] <= after, "{times:?}");
    assert_eq!(session.info().turn_count, 3);
    assert_eq!(
        model.last_prompt(),
        [
            "person: first",
            "model: one",
            "person: second",
            "model uses execute_code",
            "result: 2",
            "model: two",
            "person: third"
        ]
    );
    // The budget is that of the last turn.
    assert_eq!(session.budget().usage.total(), 15);
    session.close().await.unwrap();
    assert_eq!(session.history(), history, "what was said stays after the end");
}

#[tokio::test]
async fn what_happens_is_told_in_order() {
    let world = World::new().await;
    let code = "filesystem.write_file({path: 'a.txt', content: 'a'}); \
                try { filesystem.read_text_file({path: '/proc/../etc/shadow'}) } catch (e) {} \
                'both'";
    let model = Scripted::new([Step::Run(vec![code.to_owned()]), say("that was it")]);
    let limits = Limits { steps_max: Some(3), warn_percent: Some(60), ..Limits::OFF };
    let wait = ic_session::Wait::WhileAttended;
    let (session, mut ears) = world.open(&model, Options { limits, wait, ..USUAL }).await;
    session.send_message("do it", never()).await.unwrap();
    session.close().await.unwrap();
    let heard = ears.rest();
    let heard: Vec<_> = heard.iter().map(String::as_str).collect();
    assert_eq!(
        heard,
        [
            "status ready",
            "status processing",
            "diagnostic tool_call",
            "filesystem.write_file done",
            "filesystem.read_text_file refused",
            "diagnostic step_finish",
            "text that was ",
            "text it",
            "diagnostic agent_text",
            "diagnostic step_finish",
            "diagnostic budget_warning",
            "budget",
            "answer that was it",
            "status ready",
            "status closed",
        ]
    );
    let diagnostics: Vec<String> = session.diagnostics().iter().map(kind).collect();
    let told: Vec<_> = heard.iter().filter_map(|it| it.strip_prefix("diagnostic ")).collect();
    assert_eq!(diagnostics, told, "they are kept as they were told");
    let tally = session.news().tally();
    assert_eq!((tally.calls, tally.refusals, tally.unanswered), (1, 1, 1));
    world.check_nothing_left();
}

#[tokio::test]
async fn the_model_is_told_why_a_call_was_refused() {
    let world = World::new().await;
    let model = Scripted::new([run("filesystem.read_text_file({path: '~/.ssh/id_rsa'})")]);
    let (session, _ears) = world.open(&model, USUAL).await;
    session.send_message("read my key", never()).await.unwrap();
    let prompt = model.last_prompt();
    let result = prompt.iter().rfind(|it| it.starts_with("error: Denied: ")).unwrap();
    assert!(result.contains("protected"), "{result}");
    assert!(prompt.iter().any(|it| it.contains("Do not retry what was denied")), "{prompt:?}");
    session.close().await.unwrap();
}

#[tokio::test]
async fn whoever_listens_late_hears_what_comes_then() {
    let world = World::new().await;
    let (session, _ears) = world.open(&Scripted::new([]), USUAL).await;
    session.send_message("one", never()).await.unwrap();
    let mut late = session.events();
    session.close().await.unwrap();
    assert_eq!(super::world::word(&late.recv().await.unwrap()), "status closed");
}
