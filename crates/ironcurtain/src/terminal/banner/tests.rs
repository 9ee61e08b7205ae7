//! Tests of the banner: when it can be answered, and what an answer is to. Time stands still here.

#![expect(clippy::disallowed_methods, reason = "tests: questions and answers are files")]

use std::path::Path;

use ic_escalation::SessionEntry;
use ic_home::{Clock as _, Process, SystemClock};
use ic_session::Questions;
use ic_terminal::gate::{Arrival, NotYet, Reach};
use ic_types::Digest;
use tempfile::TempDir;

use super::*;
use crate::terminal::stage::Room;

/// A session whose questions are files, and everything that was said about them.
struct Scene {
    root: TempDir,
    questions: Questions,
    said: Said,
    banner: Banner,
    n_asked: usize,
}

struct Said {
    lines: Vec<String>,
    room: Room,
    echo: Echo,
}

impl Stage for Said {
    fn room(&self) -> Room {
        self.room
    }

    fn echo(&self) -> Echo {
        self.echo
    }

    fn draw(&mut self, rows: &[Row]) {
        self.lines.extend(rows.iter().map(|row| row.text.clone()));
    }

    fn leave(&mut self, _: &[Row]) {}

    fn say(&mut self, _: Tone, text: &str) {
        self.lines.push(text.to_owned());
    }

    fn is_read(&mut self) -> bool {
        true
    }

    fn ask(&mut self, text: &str) {
        self.lines.push(format!("? {text}"));
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
        let room = Room { columns: None, rows: 100 };
        let said = Said { lines: Vec::new(), room, echo: Echo::Below };
        Self { root, questions, said, banner: Banner::new(), n_asked: 0 }
    }

    /// Puts a question there.
    fn put(&mut self, id: &str, rule: &str, path: &str) {
        self.put_of(id, ("write_file", "write-path"), rule, path);
    }

    /// Puts a question about a tool there, whose path has a role.
    fn put_of(&mut self, id: &str, (tool, role): (&str, &str), rule: &str, path: &str) {
        self.n_asked += 1;
        let second = self.n_asked;
        let digest = Digest::of(id.as_bytes());
        let text = format!(
            r#"{{"escalationId":"{id}","sessionId":"s","serverName":"filesystem","toolName":"{tool}",
                "arguments":{{"path":"{path}"}},"reason":"r","rule":"{rule}",
                "causes":[{{"rule":"{rule}","reason":"r","roles":["{role}"]}}],
                "escalatedRoles":["{role}"],"resolved":{{"{role}":[{{"path":"{path}"}}]}},
                "digest":"{digest}","createdAt":"2026-11-15T00:00:{second:02}Z",
                "expiresAt":"2999-11-15T00:00:00Z","grantable":{{"only":[],"exact":[]}}}}"#
        );
        std::fs::write(self.root.path().join(format!("request-{id}.json")), text).unwrap();
    }

    fn act(&mut self, act: impl FnOnce(&mut Banner, &mut Place<'_>)) {
        let mut place = Place { questions: &self.questions, stage: &mut self.said };
        act(&mut self.banner, &mut place);
        // As whoever has a banner does before they wait.
        self.banner.fit(&mut place);
        self.banner.drawn();
    }

    fn typed(&mut self, line: &str) {
        self.banner.arrives(Arrival::Alone);
        self.act(|banner, place| banner.typed(line, place));
    }

    /// Lets the person read, and asks.
    async fn ask(&mut self) {
        while !self.is_open() {
            let at = self.banner.wakes_at().expect("something is to be read");
            tokio::time::sleep_until(at).await;
            self.act(Banner::wake);
        }
    }

    fn is_open(&self) -> bool {
        self.banner.gate.is_open()
    }

    /// Returns the questions that were answered, and how.
    fn answered(&self) -> Vec<String> {
        answers(self.root.path())
    }

    fn said(&self, text: &str) -> bool {
        self.said.lines.iter().any(|it| it.contains(text))
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

/// Not `QUIET`: a moment that is shorter than this is none, whatever the constant says.
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
    assert!(!scene.is_open() && scene.answered().is_empty());
    scene.ask().await;
    assert!(MOMENT <= shown.elapsed(), "{:?}", shown.elapsed());
    assert!(scene.is_open());
    // What is shown in full, and what can be granted, is read anew.
    for word in ["d", "g"] {
        let shown = Instant::now();
        scene.typed(word);
        scene.typed("y");
        scene.typed("1");
        assert!(!scene.is_open() && scene.answered().is_empty(), "{word}");
        scene.ask().await;
        assert!(MOMENT <= shown.elapsed(), "{word}: {:?}", shown.elapsed());
    }
    scene.typed("none");
    scene.ask().await;
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
        assert!(scene.banner.wakes_at().is_some_and(|at| Instant::now() < at));
        assert!(!scene.is_open());
        scene.typed("y");
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
    assert!(
        scene.said("3 calls need approval; you answer them together:"),
        "{:?}",
        scene.said.lines
    );
    assert!(
        scene.said(r#"and 2 calls like it, 3 files under "/d/src/":"#),
        "{:?}",
        scene.said.lines
    );
    for name in ["/d/src/a.rs", "/d/src/b.rs", "/d/src/c.rs"] {
        assert!(scene.said(name), "{name}: {:?}", scene.said.lines);
    }
    // One that comes later was not shown, and is not answered.
    scene.put("e", "ask", "/d/src/e.rs");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.said(
        "? y approve all 3 · n deny all 3 · g approve #1 and grant · o one by one · s next (then Enter) · 1 more wait"
    ));
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes", "b yes", "c yes"]);
    assert!(scene.said("Escalation approved. (3 calls)"));
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a yes", "b yes", "c yes", "e no"]);
}

/// Calls of several tools that wait for one reason are one question, each of them in full.
#[tokio::test(start_paused = true)]
async fn what_waits_for_one_reason_is_answered_together_whichever_the_tool() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.put_of("b", ("create_directory", "write-path"), "ask", "/d/b");
    scene.put("c", "ask", "/d/c");
    // Another rule, another effect, and what is like nothing else, each alone.
    scene.put_of("e", ("create_directory", "write-path"), "other", "/d/e");
    scene.put_of("f", ("delete_file", "delete-path"), "ask", "/d/f");
    scene.put_of("h", ("ironcurtain__request_approval", "write-path"), "structural-plan", "/d/h");
    scene.put_of("i", ("ironcurtain__request_approval", "write-path"), "structural-plan", "/d/i");
    scene.act(Banner::recheck);
    assert!(scene.said("3 calls need approval; you answer them together:"));
    for text in [
        "wants to call write_file",
        "and 1 call like it, 2 files under \"/d/\":",
        "wants to call create_directory",
        "\"/d/b\"",
    ] {
        assert!(scene.said(text), "{text}: {:?}", scene.said.lines);
    }
    assert!(!["/d/e", "/d/f", "/d/h"].iter().any(|path| scene.said(path)));
    for word in ["y", "n", "y", "n", "y"] {
        scene.ask().await;
        scene.typed(word);
    }
    let answered = ["a yes", "b yes", "c yes", "e no", "f yes", "h no", "i yes"];
    assert_eq!(scene.answered(), answered);
}

/// What a call loses of a file stands only where it is shown in full.
#[tokio::test(start_paused = true)]
async fn a_call_that_writes_over_a_file_is_shown_in_full_beside_others() {
    let mut scene = Scene::new();
    for id in ["a", "b", "c"] {
        scene.put(id, "ask", &format!("/d/{id}"));
    }
    let request = scene.root.path().join("request-c.json");
    let text = std::fs::read_to_string(&request).unwrap();
    let there = r#"{"path":"/d/c","kind":"file","bytes":4,"modified":"1.000000000"}"#;
    std::fs::write(&request, text.replace(r#"[{"path":"/d/c"}]"#, &format!("[{there}]"))).unwrap();
    scene.act(Banner::recheck);
    assert!(scene.said("3 calls need approval; you answer them together:"));
    assert!(scene.said("and 1 call like it, 2 files under \"/d/\":"), "{:?}", scene.said.lines);
    assert!(scene.said("may change \"/d/c\""), "{:?}", scene.said.lines);
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes", "b yes", "c yes"]);
}

/// Each call of another shape takes a dozen lines, so there are ten at the most.
#[tokio::test(start_paused = true)]
async fn a_group_of_many_shapes_is_short_enough_to_be_read() {
    let mut scene = Scene::new();
    for number in 10..25 {
        let tool = format!("tool_{number}");
        let (id, path) = (format!("q{number}"), format!("/d/{number}"));
        scene.put_of(&id, (&tool, "write-path"), "ask", &path);
    }
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.said("10 calls need approval; you answer them together:"));
    assert!(scene.said("/d/19") && !scene.said("/d/20"), "{:?}", scene.said.lines);
    scene.typed("n");
    assert_eq!(scene.answered().len(), 10);
    scene.ask().await;
    assert!(scene.said("5 calls need approval; you answer them together:"));
}

/// What is grouped can be taken apart, and stays so; what comes later is grouped as before.
#[tokio::test(start_paused = true)]
async fn a_group_is_answered_one_by_one_if_the_person_wants() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(!scene.banner.takes('o'));
    scene.typed("o");
    assert!(scene.said("(this is one call)"), "{:?}", scene.said.lines);
    std::fs::remove_file(scene.root.path().join("request-a.json")).unwrap();
    for name in ["b", "c", "e"] {
        scene.put(name, "ask", &format!("/d/{name}"));
    }
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.banner.takes('o') && scene.said("· o one by one"), "{:?}", scene.said.lines);
    scene.typed("o");
    scene.typed("y");
    assert!(scene.answered().is_empty(), "the first of them is to be read first");
    for name in ["f", "h"] {
        scene.put(name, "ask", &format!("/d/{name}"));
    }
    scene.act(Banner::recheck);
    for (word, n_answers) in [("n", 1), ("y", 2), ("n", 3)] {
        scene.ask().await;
        assert!(!scene.banner.takes('o'), "{:?}", scene.said.lines);
        scene.typed(word);
        assert_eq!(scene.answered().len(), n_answers);
    }
    assert_eq!(scene.answered(), ["b no", "c yes", "e no"]);
    scene.ask().await;
    assert!(scene.said("? y approve both · n deny both · "), "{:?}", scene.said.lines);
    scene.typed("y");
    assert_eq!(scene.answered(), ["b no", "c yes", "e no", "f yes", "h yes"]);
}

/// What was left out to make it short was not read.
#[tokio::test(start_paused = true)]
async fn what_is_shortened_is_not_approved_before_all_of_it_was_shown() {
    let mut scene = Scene::new();
    scene.said.room.rows = 20;
    scene.put("a", &"long".repeat(2000), "/d/a");
    scene.act(Banner::recheck);
    for word in ["y", "g", "a"] {
        scene.ask().await;
        scene.typed(word);
        let hint = format!("(press d first, then {word}: parts of the request were left out)");
        assert!(scene.said(&hint), "{word}: {:?}", scene.said.lines);
        assert!(scene.answered().is_empty() && !scene.banner.is_choosing());
    }
    // A command of a conversation is not taken either.
    scene.ask().await;
    scene.banner.arrives(Arrival::Alone);
    scene.banner.line_begins(0);
    assert_eq!(scene.banner.line_ends(Reach::Whole).err(), Some(NotYet::Shortened));
    scene.said.room.columns = Some(80);
    scene.act(|_, _| ());
    scene.ask().await;
    scene.typed("d");
    scene.ask().await;
    // All of it is more than a page, and each page has to be shown.
    scene.typed("y");
    assert!(scene.answered().is_empty());
    let mut n_pages = 1;
    while scene.banner.shown.as_ref().is_some_and(Shown::has_more) {
        scene.ask().await;
        scene.typed("");
        n_pages += 1;
        assert!(n_pages < 100 && scene.answered().is_empty());
    }
    assert!(3 < n_pages);
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes"]);
    // It can be denied as it is.
    scene.put("b", &"long".repeat(2000), "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a yes", "b no"]);
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
    assert!(
        scene.said("Choose a grant; call #1 is approved with it, and so is each of the others that it covers:"),
        "{:?}",
        scene.said.lines
    );
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
    assert!(is_there && scene.banner.shows(2) && !scene.is_open());
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

/// Whatever happens to the screen: it is drawn again, from where it has to be read.
#[tokio::test(start_paused = true)]
async fn what_does_not_stand_there_whole_is_not_approved() {
    for echo in [Echo::Below, Echo::Apart] {
        // What is asked stands below it, on a row of its own.
        let rows = |n_rows: usize| n_rows + usize::from(echo == Echo::Below);
        let denies = if echo == Echo::Below { "n and Enter denies." } else { "n denies." };
        let mut scene = Scene::new();
        scene.said.echo = echo;
        scene.put("a", "ask", "/d/a");
        scene.act(Banner::recheck);
        scene.ask().await;
        // Something else stands below it.
        scene.banner.disturbed();
        scene.typed("y");
        assert!(scene.answered().is_empty() && !scene.is_open());
        scene.ask().await;
        // The window is smaller, and then larger.
        scene.said.room.rows = rows(4);
        scene.act(|_, _| ());
        scene.ask().await;
        let more = format!("? 7 more rows: Enter shows them, {denies}");
        assert!(scene.said(&more), "{:?}", scene.said.lines);
        scene.typed("y");
        assert!(scene.answered().is_empty());
        scene.ask().await;
        scene.typed("");
        scene.typed("y");
        assert!(scene.answered().is_empty());
        scene.ask().await;
        let more = format!("? 3 more rows: Enter shows them, {denies}");
        assert!(scene.said(&more), "{:?}", scene.said.lines);
        scene.typed("");
        scene.ask().await;
        scene.said.room.rows = 0;
        scene.typed("y");
        scene.act(|_, _| ());
        scene.ask().await;
        scene.typed("y");
        scene.typed("");
        assert!(scene.answered().is_empty(), "nothing of it is seen");
        scene.said.room.rows = rows(11);
        scene.act(|_, _| ());
        scene.ask().await;
        scene.typed("y");
        assert_eq!(scene.answered(), ["a yes"]);
    }
}

/// What is on the screen is the question as it is now, or it is no question to be answered.
#[tokio::test(start_paused = true)]
async fn a_question_that_has_changed_is_read_anew() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    scene.ask().await;
    scene.put("a", "ask", "/d/other");
    scene.act(Banner::recheck);
    assert!(scene.said("/d/other"), "{:?}", scene.said.lines);
    scene.typed("y");
    assert!(scene.answered().is_empty());
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a no"]);
}

/// Whoever types through a question sees it once more when they have done, and why nothing was taken.
#[tokio::test(start_paused = true)]
async fn typing_through_a_question_draws_it_again_once() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    for _ in 0..10 {
        scene.typed("y");
    }
    scene.ask().await;
    let n_drawn = scene.said.lines.iter().filter(|it| it.starts_with("#1 ")).count();
    assert_eq!(n_drawn, 2, "{:?}", scene.said.lines);
    let hint = "(press y again: it had only just appeared)";
    assert_eq!(
        scene.said.lines.iter().filter(|it| *it == hint).count(),
        1,
        "{:?}",
        scene.said.lines
    );
    scene.typed("y");
    assert_eq!(scene.answered(), ["a yes"]);
}

/// The next one is shown, and nothing is answered by that.
#[tokio::test(start_paused = true)]
async fn another_question_can_be_looked_at_first() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(!scene.banner.takes('s') && scene.banner.takes('y'));
    scene.typed("s");
    assert!(scene.said("(nothing else waits)"), "{:?}", scene.said.lines);
    scene.put("b", "other", "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.banner.takes('s'));
    scene.typed("s");
    assert!(scene.banner.shows(2) && !scene.is_open() && scene.answered().is_empty());
    scene.ask().await;
    scene.typed("y");
    assert_eq!(scene.answered(), ["b yes"]);
    scene.ask().await;
    scene.typed("n");
    assert_eq!(scene.answered(), ["a no", "b yes"]);
}

#[tokio::test(start_paused = true)]
async fn details_are_offered_only_where_there_are_more() {
    let mut scene = Scene::new();
    scene.put("a", "ask", "/d/a");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(!scene.said("d details"), "{:?}", scene.said.lines);
    scene.typed("d");
    assert!(scene.said("(everything is shown already)"), "{:?}", scene.said.lines);
    scene.ask().await;
    scene.typed("n");
    scene.put("b", &"long".repeat(200), "/d/b");
    scene.act(Banner::recheck);
    scene.ask().await;
    assert!(scene.said("· d details"), "{:?}", scene.said.lines);
    scene.said.lines.clear();
    scene.typed("d");
    assert!(scene.said(&"long".repeat(200)));
    scene.ask().await;
    assert!(!scene.said("d details"), "{:?}", scene.said.lines);
}

#[test]
fn only_a_change_has_colours() {
    let lines = [
        "#1 work: filesystem wants to call write_file",
        "  arguments:",
        "    +not a change",
        "  change:",
        "    --- a",
        "    @@ -1,1 +1,1 @@",
        "    -old",
        "    +new",
        "     same",
        "    … 3 more lines are not shown …",
        "  expires: now",
        "    -no change either",
    ];
    let rows = painted(lines.map(str::to_owned).to_vec());
    let inks: Vec<Ink> = rows.iter().map(|row| row.ink).collect();
    let plain = Ink::Plain;
    let expected = [
        plain,
        plain,
        plain,
        plain,
        Ink::Bad,
        Ink::Quiet,
        Ink::Bad,
        Ink::Good,
        plain,
        plain,
        plain,
        plain,
    ];
    assert_eq!(inks, expected);
}
