//! Screens of every size, in colour and without, and hostile text on them.

use std::time::{Duration, Instant};

use ic_types::Timestamp;

use super::*;
use crate::rows::{GrantRow, HistoryRow, RequestRow, SessionRow};
use crate::sent::sent;

const NOW: Timestamp = Timestamp::from_unix_ms(1_794_700_800_000);

fn later(seconds: u64) -> Timestamp {
    Timestamp::from_unix_ms(NOW.unix_ms() + seconds * 1_000)
}

fn before(seconds: u64) -> Timestamp {
    Timestamp::from_unix_ms(NOW.unix_ms() - seconds * 1_000)
}

fn session(name: &str, kind: &str, label: &str, age: u64) -> SessionRow {
    SessionRow {
        name: name.to_owned(),
        kind: kind.to_owned(),
        label: label.to_owned(),
        policy: Some("default".to_owned()),
        started_at: before(age),
        spent: (kind == "built-in").then(|| "12400 tokens, $0.0312".to_owned()),
    }
}

fn request(number: u64, session: &str, summary: &str, left: u64) -> RequestRow {
    let (session, summary) = (session.to_owned(), summary.to_owned());
    RequestRow { number, session, summary, server: None, expires_at: later(left), group: number }
}

/// What a morning looks like.
fn morning() -> Dashboard {
    let mut dashboard = Dashboard::default();
    dashboard.set_sessions(vec![
        session("calm-heron", "built-in", "built-in: sort my letters", 4_000),
        session("wide-otter", "proxy", "claude-code: interactive", 310),
        session("keen-finch", "agent", "codex: fix the login bug", 42),
    ]);
    let write = "filesystem wants to call write_file: write-path \"/home/ada/letters/bob.txt\"";
    dashboard.set_requests(vec![
        request(12, "calm-heron", write, 262),
        request(
            13,
            "wide-otter",
            "git wants to call git_push: write-remote \"github.com/ada/site\"",
            190,
        ),
        request(
            15,
            "keen-finch",
            "fetch wants to call fetch: fetch-url \"https://example.org/a\"",
            21,
        ),
    ]);
    for (number, ending, ink) in
        [(9, "denied (listener)", Ink::Bad), (11, "approved (listener)", Ink::Good)]
    {
        dashboard.ended(HistoryRow {
            at: before(600 - number),
            number,
            session: "wide-otter".to_owned(),
            summary: "filesystem wants to call delete_file: delete-path \"/home/ada/old\""
                .to_owned(),
            ending: ending.to_owned(),
            ink,
        });
    }
    dashboard.set_grants(vec![GrantRow {
        id: "ab12cd34".to_owned(),
        lines: vec![
            "ab12cd34 calm-heron: filesystem may call read_text_file; ends in 58 min 3 s"
                .to_owned(),
            "  read-path: directory \"/home/ada/letters\"".to_owned(),
        ],
    }]);
    dashboard
}

fn question() -> Vec<Line> {
    [
        (Ink::Question, "Approval request:"),
        (Ink::Plain, "#12 calm-heron: filesystem wants to call write_file"),
        (Ink::Plain, "  because: \"Writing outside of the sandbox needs approval.\""),
        (Ink::Plain, "  rule: \"ask-outside\""),
        (Ink::Plain, "  write-path (asks):"),
        (
            Ink::Plain,
            "    \"/home/ada/letters/bob.txt\" (holds 120 bytes, changed 2026-11-15 00:00:00 UTC)",
        ),
        (Ink::Plain, "  change:"),
        (Ink::Bad, "    -Dear Bob,"),
        (Ink::Good, "    +Dear Robert,"),
        (Ink::Plain, "  expires: at 00:04:22 UTC (in 4 min 22 s when shown)"),
        (Ink::Plain, "  id: 0a1b2c3d-0000-4000-8000-000000000000"),
    ]
    .iter()
    .map(|(ink, text)| Line::new(*ink, text))
    .collect()
}

fn drawn(dashboard: &Dashboard, standing: Standing<'_>, columns: usize, rows: usize) -> Drawing {
    let places = Places::of(Size { columns, rows }, 2);
    draw(&Scene { dashboard, standing, now: NOW }, &places)
}

fn asking(rows: &[Line]) -> Standing<'_> {
    let asked = Some("y approve · n deny · g approve and grant · a always · s next · 2 more wait");
    Standing { numbers: &[12], rows, asked, hint: None }
}

/// Returns the rows of a drawing as a terminal shows them.
fn text(drawing: &Drawing) -> String {
    let (columns, rows) = (drawing.cells.area.width, drawing.cells.area.height);
    let mut emulator = vt100::Parser::new(rows, columns, 0);
    emulator.process(sent(None, drawing, true).as_bytes());
    let rows: Vec<String> =
        emulator.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n")
}

#[test]
fn a_screen_of_80_by_24() {
    insta::assert_snapshot!(text(&drawn(&morning(), asking(&question()), 80, 24)));
}

#[test]
fn a_screen_of_120_by_40() {
    insta::assert_snapshot!(text(&drawn(&morning(), asking(&question()), 120, 40)));
}

#[test]
fn a_screen_of_300_by_100() {
    insta::assert_snapshot!(text(&drawn(&morning(), asking(&question()), 300, 100)));
}

#[test]
fn colours_are_sent_where_they_are_wanted() {
    let drawing = drawn(&morning(), asking(&question()), 80, 24);
    insta::assert_snapshot!(sent(None, &drawing, true).replace('\x1b', "␛").replace("␛[", "\n␛["));
    let plain = sent(None, &drawing, false);
    assert!(
        !plain.split("\x1b[").any(|it| it.split_once('m').is_some_and(|(codes, _)| {
            codes != "0"
                && !codes.is_empty()
                && codes.bytes().all(|it| it.is_ascii_digit() || it == b';')
        })),
        "{plain:?}"
    );
}

#[test]
fn panels_at_80_by_24() {
    let mut dashboard = morning();
    let mut seen = String::new();
    for panel in [Panel::Help, Panel::Sessions, Panel::History, Panel::Grants] {
        dashboard.open(panel);
        seen += &text(&drawn(&dashboard, asking(&question()), 80, 24));
        seen += "\n";
    }
    dashboard.open(Panel::Question);
    dashboard.set_requests(Vec::new());
    seen += &text(&drawn(&dashboard, Standing::default(), 80, 24));
    insta::assert_snapshot!(seen);
}

#[test]
fn nothing_breaks_on_any_size() {
    let mut dashboard = morning();
    dashboard
        .set_requests((0..1_000).map(|it| request(it, "calm-heron", "日本 writes", it)).collect());
    let question = question();
    for columns in (1..=310).step_by(31) {
        for rows in (1..=45).step_by(3) {
            let drawing = drawn(&dashboard, asking(&question), columns, rows);
            assert_eq!(usize::from(drawing.cells.area.width), columns);
            assert!(drawing.listed.is_empty() || drawing.listed.contains(&12), "{columns}×{rows}");
        }
    }
}

/// A thousand requests of fifty sessions fit every size, and a frame of them is ready before the eye expects
/// the next one.
#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it takes and tells the time of frames"
)]
fn a_thousand_requests_are_drawn_at_every_size() {
    let mut dashboard = Dashboard::default();
    let name = |at: u64| format!("session-{}", at % 50);
    dashboard
        .set_sessions((0..50).map(|at| session(&name(at), "proxy", "claude-code", at)).collect());
    dashboard.set_requests(
        (0..1_000)
            .map(|at| request(at, &name(at), "write_file \"/home/ada/a.txt\"", 300))
            .collect(),
    );
    let question = question();
    // The goal is that of an optimised program; the other one is held to the same with more patience.
    let goal = Duration::from_millis(if cfg!(debug_assertions) { 320 } else { 16 });
    for (columns, rows) in [(80, 24), (120, 40), (300, 100)] {
        let places = Places::of(Size { columns, rows }, 2);
        let (mut times, mut before) = (Vec::new(), None);
        for second in 0..40 {
            let began = Instant::now();
            // Each has less time left, so that many rows change.
            let scene =
                Scene { dashboard: &dashboard, standing: asking(&question), now: later(second) };
            let drawing = draw(&scene, &places);
            assert!(!sent(before.as_ref(), &drawing, true).is_empty(), "{columns}×{rows}");
            times.push(began.elapsed());
            before = Some(drawing);
        }
        times.sort_unstable();
        let (half, p95) = (times[times.len() / 2], times[times.len() * 95 / 100]);
        eprintln!("{columns}×{rows}: p50 {half:?}, p95 {p95:?}");
        assert!(p95 < goal, "{columns}×{rows}: {times:?}");
    }
}

/// That a session ends says nothing against what was answered just before.
#[test]
fn what_was_answered_is_not_pushed_away_by_what_is_mentioned() {
    let mut dashboard = morning();
    let last = |dashboard: &Dashboard| {
        let seen = text(&drawn(dashboard, Standing::default(), 80, 24));
        seen.lines().last().unwrap_or_default().to_owned()
    };
    dashboard.mention("session work started");
    assert_eq!(last(&dashboard), "session work started");
    dashboard.say(Ink::Quiet, "Escalation approved.");
    assert_eq!(last(&dashboard), "Escalation approved.");
    dashboard.mention("session work ended");
    dashboard.mention("session play ended");
    assert_eq!(last(&dashboard), "Escalation approved. · session play ended");
}

/// What questions cost stands where nothing else does, and above the history.
#[test]
fn what_requests_cost_is_said() {
    let mut dashboard = Dashboard::default();
    let line = "last 24 hours: 4.9 approval requests per 100 calls (21 of 428), 1 expired";
    let said = "In the last 24 hours: 4.9 approval requests per 100 calls (21 of 428), 1 expired.";
    assert!(!text(&drawn(&dashboard, Standing::default(), 120, 30)).contains("24 hours"));
    dashboard.set_economy(line);
    for size in [(80, 24), (120, 40), (300, 100)] {
        let seen = text(&drawn(&dashboard, Standing::default(), size.0, size.1));
        let unfolded = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unfolded.contains("approval requests per 100 calls (21 of 428),"), "{seen}");
    }
    dashboard.open(Panel::History);
    let seen = text(&drawn(&dashboard, asking(&question()), 100, 30));
    assert!(seen.contains(said), "{seen}");
}

/// A complaint is longer than a row, and what matters may stand at its end.
#[test]
fn what_is_wrong_can_be_read_to_its_end() {
    let mut dashboard = morning();
    let why =
        format!("cannot read `/home/ada/{}/entry.json`: it is not valid JSON", "x".repeat(90));
    dashboard.complain(&why);
    dashboard.open(Panel::Sessions);
    let seen = text(&drawn(&dashboard, asking(&question()), 80, 24));
    let unfolded = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unfolded.contains("What is wrong:") && unfolded.contains("it is not valid JSON"),
        "{seen}"
    );
}

/// Rows that begin alike differ at their ends.
#[test]
fn a_row_that_is_too_long_loses_its_middle() {
    let mut dashboard = Dashboard::default();
    let row = |number: u64, name: &str| RequestRow {
        server: Some("filesystem".to_owned()),
        ..request(number, "calm-heron", &format!("write_file \"/home/ada/site/source/{name}\""), 60)
    };
    dashboard.set_requests(vec![row(1, "menu.rs"), row(2, "page.rs")]);
    let seen = text(&drawn(&dashboard, Standing::default(), 120, 40));
    assert!(seen.contains("#1 calm-heron 1:00 write_file …/source/menu.rs\""), "{seen}");
    assert!(seen.contains("page.rs\"") && !seen.contains("(filesystem)"), "{seen}");
    let seen = text(&drawn(&dashboard, Standing::default(), 300, 40));
    assert!(seen.contains("/home/ada/site/source/menu.rs\" (filesystem)"), "{seen}");
    dashboard.set_filter("filesystem");
    assert_eq!(dashboard.requests().count(), 2);
}

/// What stands on the screen is exactly what is said to stand there.
#[test]
fn the_numbers_that_are_listed_are_those_that_are_seen() {
    let mut dashboard = Dashboard::default();
    dashboard.set_requests((100..200).map(|it| request(it, "s", "writes", 60)).collect());
    for (columns, rows) in [(80, 24), (80, 40), (120, 40), (300, 100), (30, 16), (80, 10)] {
        for number in [100, 150, 199] {
            let standing = Standing { numbers: &[number], ..Standing::default() };
            let drawing = drawn(&dashboard, standing, columns, rows);
            let seen = text(&drawing);
            let seen: Vec<u64> = (100..200)
                .filter(|it| {
                    seen.contains(&format!("  #{it} s")) || seen.contains(&format!("▸ #{it} s"))
                })
                .collect();
            assert_eq!(drawing.listed, seen, "{columns}×{rows} at {number}");
        }
    }
}

/// Every naughty string in every place: the terminal gets no sequence but ours, and shows it somewhere.
#[test]
fn hostile_text_is_visible_and_harmless() {
    let mut hostile: Vec<String> = [
        "\x1b[2J\x1b[1;1Hy approve",
        "\x1b]52;c;AAAA\x07",
        "\u{9b}2J",
        "a\u{202e}txt.exe\u{202c}",
        "zero\u{200b}width\u{feff}",
        "\u{2066}isolate",
        "tab\there",
        "line\nbreak\r\n",
        "日本語のとても長い名前",
        "e\u{301}\u{301}\u{301}\u{301}",
        "👩‍👩‍👧‍👦 family",
        "\u{17d8}\u{17d8}",
        "\0",
    ]
    .map(str::to_owned)
    .into();
    hostile.push("w".repeat(20_000));
    hostile.push("日".repeat(10_000));
    let corpus = ic_fuzz::shared::inputs("naughty_strings");
    hostile.extend(corpus.iter().map(|it| String::from_utf8_lossy(it).into_owned()));
    for text in &hostile {
        check_hostile(text);
    }
}

#[track_caller]
fn check_hostile(text: &str) {
    let mut dashboard = Dashboard::default();
    dashboard.set_sessions(vec![SessionRow {
        name: text.to_owned(),
        kind: text.to_owned(),
        label: text.to_owned(),
        policy: Some(text.to_owned()),
        started_at: NOW,
        spent: Some(text.to_owned()),
    }]);
    dashboard.set_requests(vec![request(1, text, text, 60)]);
    dashboard.ended(HistoryRow {
        at: NOW,
        number: 1,
        session: text.to_owned(),
        summary: text.to_owned(),
        ending: text.to_owned(),
        ink: Ink::Bad,
    });
    dashboard.set_grants(vec![GrantRow { id: text.to_owned(), lines: vec![text.to_owned()] }]);
    dashboard.set_filter("");
    dashboard.say(Ink::Bad, text);
    let rows = Line::plain(text).fold(80, &Span::new(Ink::Plain, "  "));
    let standing = Standing { numbers: &[1], rows: &rows, asked: Some(text), hint: None };
    // The wide screen has all lists and the question at once; the panels are the same on every screen.
    let screens = [
        (Panel::Question, 120, 30),
        (Panel::Sessions, 60, 16),
        (Panel::History, 60, 16),
        (Panel::Grants, 60, 16),
    ];
    for (panel, columns, rows) in screens {
        dashboard.open(panel);
        let sent = sent(None, &drawn(&dashboard, standing, columns, rows), true);
        for sequence in sent.split('\x1b').skip(1) {
            let is_ours = sequence.strip_prefix('[').is_some_and(|it| {
                let end = it.find(|c: char| c.is_ascii_alphabetic());
                let end = end.and_then(|end| it.get(end..=end));
                end.is_some_and(|end| ["H", "m", "h", "l", "J"].contains(&end))
            });
            assert!(is_ours, "{text:?}: {sequence:?}");
        }
        let rest = sent.replace('\x1b', "");
        let bad = rest.chars().find(|c| {
                c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
                    && !text.contains('\u{200d}')
            });
        assert_eq!(bad, None, "{text:?}");
    }
}
