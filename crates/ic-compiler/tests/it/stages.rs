//! What becomes of good, bad and mended answers, and what is paid for them.

use ic_compiler::{AskError, CompilerError, Mind};
use ic_model::{ModelError, Prices};
use ic_testkit::scripted_model::Line;
use tokio_util::sync::CancellationToken;

use crate::{World, handwritten, ruling, scenarios, sentences, texts};

const FREE: &str = "The agent may read files in ~/notes.\nFeel free to look at my papers.\n";
const PAPERS: &str = "The agent may read files in ~/papers";

fn good() -> [String; 2] {
    [
        sentences(&[&[PAPERS]]),
        scenarios(&[
            ("read_file", "~/papers/a.txt", "allow"),
            ("read_file", "~/papers-old/a.txt", "deny"),
        ]),
    ]
}

#[tokio::test]
async fn free_statements_become_plain_sentences_and_are_not_paid_for_twice() {
    let [sentences, scenarios] = good();
    let world = World::new(&[&sentences, &scenarios]);
    let (made, spent) = world.compile(FREE).await;
    let made = made.unwrap();
    assert_eq!(texts(&made), ["The agent may read files in ~/notes", PAPERS]);
    assert_eq!(made.proposals[0].statement.line, 2);
    assert_eq!(made.constitution.sentences[1].line, 2);
    assert_eq!(made.cases.len(), 2);
    assert_eq!((spent.n_asked, spent.usage.total()), (2, 220));
    let (again, spent) = world.compile(FREE).await;
    assert_eq!((spent.n_asked, spent.n_known), (0, 2));
    assert_eq!(texts(&again.unwrap()), texts(&made));
    // The same without any model at all.
    let nobody = Mind { name: "scripted", model: None, prices: Prices::FREE };
    let (again, spent) = world.compile_with(FREE, nobody, &CancellationToken::new()).await;
    assert_eq!(texts(&again.unwrap()), texts(&made));
    assert_eq!(spent.n_asked, 0);
    let exchanges = world.heard.1.lock().unwrap().len();
    assert_eq!(exchanges, 2, "every exchange is kept, and no other");
}

#[tokio::test]
async fn plain_constitutions_need_no_model() {
    let world = World::new(&[]);
    let (made, spent) = world.compile("The agent may read files in ~/notes.").await;
    assert_eq!((made.unwrap().proposals.len(), spent.n_asked), (0, 0));
}

#[tokio::test]
async fn without_a_model_the_stage_that_needs_one_is_named() {
    let world = World::new(&[]);
    let nobody = Mind { name: "scripted", model: None, prices: Prices::FREE };
    let (made, _) = world.compile_with(FREE, nobody, &CancellationToken::new()).await;
    let said = made.unwrap_err().to_string();
    assert!(said.contains("`sentences` for built-in servers needs a model"), "{said}");
}

#[tokio::test]
async fn malformed_answers_are_mended_twice_and_no_more() {
    let [sentences, scenarios] = good();
    let world = World::new(&["I would say yes.", r#"{"statements":7}"#, &sentences, &scenarios]);
    let (made, spent) = world.compile(FREE).await;
    assert_eq!(texts(&made.unwrap()).len(), 2);
    assert_eq!(spent.n_asked, 4);
    let asked = format!("{:?}", world.model.asked()[2]);
    assert!(asked.contains("This cannot be used"), "{asked}");
    let world = World::new(&["no", "no", "no", &sentences]);
    let (made, spent) = world.compile(FREE).await;
    let is_unusable = matches!(made, Err(CompilerError::Ask(AskError::Unusable { .. })));
    assert!(is_unusable, "{made:?}");
    assert_eq!(spent.n_asked, 3);
}

#[tokio::test]
async fn a_sentence_that_is_not_plain_is_asked_for_again() {
    let [sentences_, scenarios_] = good();
    let vague = sentences(&[&["The agent may read whatever looks like a paper."]]);
    let world = World::new(&[&vague, &sentences_, &scenarios_]);
    let (made, _) = world.compile(FREE).await;
    assert_eq!(texts(&made.unwrap())[1], PAPERS);
    let asked = format!("{:?}", world.model.asked()[1]);
    assert!(asked.contains("statement 1") && asked.contains("whatever"), "{asked}");
}

#[tokio::test]
async fn a_wrong_sentence_is_proposed_anew() {
    let wrong = sentences(&[&["The agent may read files in ~/paper."]]);
    let [right, scenarios] = good();
    let blame = ruling(1, "sentence", r#","statements":[1]"#);
    let world = World::new(&[&wrong, &scenarios, &blame, &right]);
    let (made, spent) = world.compile(FREE).await;
    let made = made.unwrap();
    assert_eq!(texts(&made)[1], PAPERS);
    assert_eq!((spent.n_asked, made.corrections.len()), (4, 0));
    let (again, spent) = world.compile(FREE).await;
    assert_eq!((texts(&again.unwrap()), spent.n_asked), (texts(&made), 0));
}

#[tokio::test]
async fn a_wrong_scenario_is_corrected() {
    let [sentences, _] = good();
    let wrong = scenarios(&[("write_file", "~/papers/a.txt", "allow")]);
    let blame = ruling(1, "scenario", r#","expected":"deny""#);
    let world = World::new(&[&sentences, &wrong, &blame]);
    let (made, _) = world.compile(FREE).await;
    let made = made.unwrap();
    assert_eq!(made.cases[0].scenario.expected, "deny");
    assert_eq!(made.corrections.len(), 1);
}

#[tokio::test]
async fn both_channels_fire_in_one_round() {
    let wrong = sentences(&[&["The agent may read files in ~/paper."]]);
    let mixed = scenarios(&[("read_file", "~/papers/a", "escalate")]);
    let both = ruling(1, "both", r#","statements":[1],"expected":"allow""#);
    let [right, _] = good();
    let world = World::new(&[&wrong, &mixed, &both, &right]);
    let (made, spent) = world.compile(FREE).await;
    let made = made.unwrap();
    assert_eq!(
        (texts(&made)[1].as_str(), made.cases[0].scenario.expected.as_str()),
        (PAPERS, "allow")
    );
    assert_eq!(spent.n_asked, 4);
}

#[tokio::test]
async fn oscillation_is_stopped_after_three_rounds() {
    let narrow = sentences(&[&["The agent may read files in ~/paper."]]);
    let other = sentences(&[&["The agent may read files in ~/papers-old."]]);
    let [_, scenarios_] = good();
    let one = ruling(1, "sentence", r#","statements":[1]"#);
    let two = r#"{"rulings":[{"id":1,"blame":"sentence","statements":[1],"why":"a"},{"id":2,"blame":"sentence","statements":[1],"why":"b"}]}"#;
    let two = two.to_owned();
    // The third round asks what the first one asked, so that is known.
    let script = [&narrow, &scenarios_, &one, &other, &two, &narrow];
    let script: Vec<&str> = script.iter().map(|it| it.as_str()).collect();
    let world = World::new(&script);
    let (made, spent) = world.compile(FREE).await;
    let Err(CompilerError::NotVerified { n_rounds, failures, .. }) = made else {
        panic!("{made:?}")
    };
    assert_eq!((n_rounds, failures.len()), (3, 2));
    assert_eq!((spent.n_asked, spent.n_known), (6, 2));
}

#[tokio::test]
async fn without_repair_the_first_failure_ends_it() {
    let wrong = sentences(&[&["The agent may read files in ~/paper."]]);
    let [_, scenarios] = good();
    let world = World { may_repair: false, ..World::new(&[&wrong, &scenarios]) };
    let (made, spent) = world.compile(FREE).await;
    assert!(matches!(made, Err(CompilerError::NotVerified { n_rounds: 0, .. })));
    assert_eq!(spent.n_asked, 2);
}

#[tokio::test]
async fn a_judge_cannot_change_what_a_person_wrote() {
    let wrong = sentences(&[&["The agent may read files in ~/paper."]]);
    let none = scenarios(&[]);
    let attack = ruling(1, "scenario", r#","expected":"deny""#);
    let mine = handwritten("read_file", "~/papers/a.txt", "allow");
    let world = World {
        handwritten: vec![mine],
        ..World::new(&[&wrong, &none, &attack, &attack, &attack])
    };
    let (made, _) = world.compile(FREE).await;
    let said = made.unwrap_err().to_string();
    assert!(said.contains("a person wrote this scenario"), "{said}");
}

#[tokio::test]
async fn servers_that_were_added_are_pre_filtered_and_skipped() {
    let [sentences, scenarios] = good();
    let world = World::new(&[&sentences, &scenarios, r#"{"ids":[]}"#]).with_mail();
    let (made, spent) = world.compile(FREE).await;
    assert_eq!(made.unwrap().skipped, ["mail"]);
    assert_eq!(spent.n_asked, 3);
    assert!(world.heard.0.lock().unwrap().iter().any(|it| it.contains("Skipped")));
}

#[tokio::test]
async fn a_statement_that_nobody_understands_fails() {
    let nothing = r#"{"statements":[{"id":1,"sentences":[],"note":"no idea"}]}"#;
    let world = World::new(&[nothing, &scenarios(&[])]);
    let (made, _) = world.compile(FREE).await;
    let Err(CompilerError::NotUnderstood(left)) = made else { panic!("{made:?}") };
    assert_eq!((left[0].statement.line, left[0].notes[0].as_str()), (2, "no idea"));
}

#[tokio::test]
async fn a_run_that_was_cut_off_anywhere_goes_on_where_it_was() {
    let wrong = sentences(&[&["The agent may read files in ~/paper."]]);
    let [right, scenarios] = good();
    let blame = ruling(1, "sentence", r#","statements":[1]"#);
    let script = [wrong, scenarios, blame, right];
    for n_before in 0..script.len() {
        let heard: Vec<&str> = script.iter().take(n_before).map(String::as_str).collect();
        let world = World::new(&heard);
        world.model.push([Line::Fails(ModelError::Network("gone".to_owned()))]);
        let (cut, spent) = world.compile(FREE).await;
        assert!(matches!(cut, Err(CompilerError::Ask(AskError::Model { .. }))), "{cut:?}");
        assert_eq!(spent.n_asked, n_before);
        world.model.push(script.iter().skip(n_before).map(|it| crate::says(it)));
        let (made, spent) = world.compile(FREE).await;
        assert_eq!(texts(&made.unwrap())[1], PAPERS, "after {n_before}");
        assert_eq!((spent.n_known, spent.n_asked), (n_before, script.len() - n_before));
    }
}

#[tokio::test]
async fn only_the_server_that_is_wanted_is_asked_about() {
    let [sentences_, scenarios_] = good();
    let world = World { only: Some("mail"), ..World::new(&[&sentences_, &scenarios_]).with_mail() };
    let (made, spent) = world.compile(FREE).await;
    let is_left_alone = matches!(made, Err(CompilerError::Ask(AskError::NotWanted { .. })));
    assert!(is_left_alone && spent.n_asked == 0, "{made:?}");
}
