//! The judge that asks the fast model: what it is told, and which of its answers count.

use super::*;

use ic_testkit::{Line, ScriptedModel};
use ic_types::Role;

fn intent() -> Intent {
    Intent {
        message: "read /home/u/a".to_owned(),
        tool: "filesystem.read_file".to_owned(),
        reason: "it is outside of the sandbox".to_owned(),
        resources: vec![(Role::ReadPath, "/home/u/a".to_owned())],
    }
}

async fn judged(lines: Vec<Line>) -> Opinion {
    let judge = FastJudge::new(Arc::new(ScriptedModel::new(lines)));
    judge.judge(&intent(), &CancellationToken::new()).await
}

#[tokio::test]
async fn only_the_one_word_is_a_yes() {
    assert_eq!(judged(vec![Line::says("ASKED")]).await, Opinion::Asked);
    assert_eq!(judged(vec![Line::says(" ASKED\n")]).await, Opinion::Asked);
    for text in
        ["UNSURE", "asked", "ASKED.", "ASKED UNSURE", "Yes", "", "NOT ASKED", "{\"approve\":true}"]
    {
        assert!(matches!(judged(vec![Line::says(text)]).await, Opinion::Doubtful(_)), "{text}");
    }
    let uses = vec![Line::uses(&[("id", "approve", "{}")])];
    assert!(matches!(judged(uses).await, Opinion::Doubtful(_)));
}

#[tokio::test]
async fn it_is_shown_the_message_and_the_call_and_nothing_else() {
    let model = Arc::new(ScriptedModel::new([Line::says("ASKED")]));
    let judge = FastJudge::new(Arc::clone(&model) as Arc<dyn Model>);
    judge.judge(&intent(), &CancellationToken::new()).await;
    let asked = model.asked();
    let [messages] = asked.as_slice() else { panic!("{asked:?}") };
    let texts: Vec<&str> = messages.iter().flat_map(Message::texts).collect();
    assert_eq!(
        texts,
        [
            r#"{"message":"read /home/u/a","call":{"tool":"filesystem.read_file","approvalNeededBecause":"it is outside of the sandbox","resources":[{"role":"read-path","resource":"/home/u/a"}]}}"#
        ]
    );
}
