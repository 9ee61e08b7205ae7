//! Tests of the banner: when it can be answered, and what an answer is to. Time stands still here.

#![expect(clippy::disallowed_methods, reason = "tests: questions and answers are files")]

use std::path::Path;

use ic_escalation::SessionEntry;
use ic_home::Process;
use ic_types::Digest;
use tempfile::TempDir;

use super::*;

/// A session whose questions are files, and everything that was said about them.
struct Scene {
    root: TempDir,
    questions: Questions,
    said: Said,
    banner: Banner,
    n_asked: usize,
}

#[derive(Default)]
struct Said(Vec<String>);

impl Stage for Said {
    fn rows(&self, lines: &[String]) -> Vec<String> {
        lines.to_vec()
    }

    fn height(&self) -> usize {
        100
    }

    fn row(&mut self, row: &str) {
        self.0.push(row.to_owned());
    }

    fn say(&mut self, _: Tone, text: &str) {
        self.0.push(text.to_owned());
    }

    fn ask(&mut self, text: &str) {
        self.0.push(format!("? {text}"));
    }
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let questions = Questions::of(SessionEntry {
            session: "s".parse().unwrap(),
            name: "work".parse().unwrap(),
            kind: "built-in".to_owned(),
            label: "built-in: interactive".to_owned(),
            escalation_dir: root.path().to_owned(),
            started_at: SystemClock.now(),
            process: Process::this().unwrap(),
        });
        Self { root, questions, said: Said::default(), banner: Banner::default(), n_asked: 0 }
    }

    /// Puts a question there.
    fn put(&mut self, id: &str, rule: &str, path: &str) {
        self.n_asked += 1;
        let second = self.n_asked;
        let digest = Digest::of(id.as_bytes());
        let text = format!(
            r#"{{"escalationId":"{id}","sessionId":"s","serverName":"filesystem","toolName":"write_file",
                "arguments":{{"path":"{path}"}},"reason":"r","rule":"{rule}",
                "causes":[{{"rule":"{rule}","reason":"r","roles":["write-path"]}}],
                "escalatedRoles":["write-path"],"resolved":{{"write-path":[{{"path":"{path}"}}]}},
                "digest":"{digest}","createdAt":"2026-11-15T00:00:{second:02}Z",
                "expiresAt":"2999-11-15T00:00:00Z"}}"#
        );
        std::fs::write(self.root.path().join(format!("request-{id}.json")), text).unwrap();
    }

    fn act(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut place = Place { questions: &self.questions, stage: &mut self.said };
        act(&mut self.banner, &mut place);
    }

    fn typed(&mut self, line: &str) {
        self.act(|banner, place| banner.typed(line, place));
    }

    /// Lets the person read, and asks.
    async fn ask(&mut self) {
        let at = self.banner.asks_at().expect("something is to be read");
        tokio::time::sleep_until(at).await;
        self.act(Banner::ask);
    }

    /// Returns the questions that were answered, and how.
    fn answered(&self) -> Vec<String> {
        answers(self.root.path())
    }

    fn said(&self, text: &str) -> bool {
        self.said.0.iter().any(|it| it.contains(text))
    }
}

fn answers(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap().map(|it| it.unwrap().path());
    let mut answers: Vec<String> = names
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let id = name.strip_prefix("response-")?.strip_suffix(".json")?.to_owned();
            let text = std::fs::read_to_string(&path).ok()?;
            Some(format!("{id} {}", if text.contains("approved") { "yes" } else { "no" }))
        })
        .collect();
    answers.sort();
    answers
}

/// Not `READING_MIN`: a moment that is shorter than this is none, whatever the constant says.
const MOMENT: Duration = Duration::from_millis(500);

/// For a task and for a conversation alike: both have this banner.
#[tokio::test(start_paused = true)]
async fn nothing_can_be_answered_before_it_could_be_read() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    let shown = Instant::now();
    scene.act(Banner::recheck);
    for word in ["y", "g", "1"] {
        scene.typed(word);
    }
    assert!(!scene.banner.takes_keys() && scene.answered().is_empty());
    scene.ask().await;
    assert!(MOMENT <= shown.elapsed(), "{:?}", shown.elapsed());
    assert!(scene.banner.takes_keys());
    // What is shown in full, and what can be granted, is read anew.
    for word in ["d", "g"] {
        let shown = Instant::now();
        scene.typed(word);
        scene.typed("y");
        scene.typed("1");
        assert!(!scene.banner.takes_keys() && scene.answered().is_empty(), "{word}");
        scene.ask().await;
        assert!(MOMENT <= shown.elapsed(), "{word}: {:?}", shown.elapsed());
    }
    scene.typed("none");
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_comes_too_early_answers_nothing_and_begins_the_moment_anew() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    // Somebody types, a letter every 400 ms: there is no moment in which one of them answers.
    for _ in 0..20 {
        tokio::time::advance(Duration::from_millis(400)).await;
        assert!(scene.banner.asks_at().is_some_and(|at| Instant::now() < at));
        assert!(!scene.banner.takes_keys());
        scene.banner.hurried();
    }
    assert!(scene.answered().is_empty());
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a no"]);
}

#[tokio::test(start_paused = true)]
async fn questions_that_differ_in_little_are_answered_together() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.put(name, "ask", &format!("/d/src/{name}.rs"));
    }
    scene.act(Banner::recheck);
    assert!(scene.said("3 calls wait for you, to be answered together:"), "{:?}", scene.said.0);
    assert!(scene.said(r#"and 2 calls like it, 3 files under "/d/src/":"#), "{:?}", scene.said.0);
    for name in ["/d/src/a.rs", "/d/src/b.rs", "/d/src/c.rs"] {
        assert!(scene.said(name), "{name}: {:?}", scene.said.0);
    }
    // One that comes later was not shown, and is not answered.
    scene.put("e", "ask", "/d/src/e.rs");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.said("? y approve · n deny · g approve and grant · d details · 1 more wait"));
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes", "b yes", "c yes"]);
    assert!(scene.said("Escalation approved. (3 calls)"));
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a yes", "b yes", "c yes", "e no"]);
}

#[tokio::test(start_paused = true)]
async fn what_servers_ask_is_asked_one_by_one() {
    let mut scene = Scene::new();
    for name in ["a", "b"] {
        scene.put(name, "structural-server-request", "/d/a");
    }
    scene.act(Banner::recheck);
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes"]);
}

#[tokio::test(start_paused = true)]
async fn what_differs_in_more_is_asked_alone() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.put("b", "other", "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes"]);
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a yes", "b no"]);
}

/// When one of a group is over, what stands there is no longer what is asked about.
#[tokio::test(start_paused = true)]
async fn a_group_of_which_one_is_over_is_shown_anew() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.put("b", "ask", "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    std::fs::remove_file(scene.root.path().join("request-a.json")).unwrap();
    scene.act(|banner, place| banner.ended(&"a".parse().unwrap(), "It is over.", place));
    scene.typed("y");
    assert!(scene.answered().is_empty(), "what is left is to be read first");
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["b yes"]);
}

/// A grant is for the call that it was chosen for; the others of its group are asked about.
#[tokio::test(start_paused = true)]
async fn a_grant_answers_the_first_of_a_group_alone() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.put("b", "ask", "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    scene.typed("g");
    assert!(scene.said("Call #1 alone is forwarded, and"), "{:?}", scene.said.0);
    scene.ask().await;
    scene.typed("1");
    assert_eq!(scene.answered(), ["a yes"]);
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a yes", "b no"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_named_by_its_number() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.put("b", "other", "/d/b");
    scene.put("c", "third", "/d/c");
    scene.act(Banner::recheck);
    scene.ask().await;
    let mut is_there = true;
    scene.act(|banner, place| is_there = banner.bring(7, place));
    assert!(!is_there);
    // It stands there first, and is not answered before it was read.
    scene.act(|banner, place| is_there = banner.bring(2, place));
    assert!(is_there && scene.banner.shows(2) && !scene.banner.takes_keys());
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["b yes"]);
    // A denial needs no reading.
    scene.act(|banner, place| is_there = banner.deny(3, place));
    assert_eq!(scene.answered(), ["b yes", "c no"]);
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a no", "b yes", "c no"]);
}
