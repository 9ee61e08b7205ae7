//! Keys, commands, filters and what "all" means.

use ic_types::Timestamp;
use ratatui_core::buffer::Buffer;

use super::*;
use crate::command::Which;

fn request(number: u64, session: &str, summary: &str) -> RequestRow {
    let expires_at = Timestamp::from_unix_ms(60_000);
    let (session, summary) = (session.to_owned(), summary.to_owned());
    RequestRow { number, session, summary, server: None, expires_at, group: number }
}

fn dashboard(numbers: impl IntoIterator<Item = u64>) -> Dashboard {
    let mut dashboard = Dashboard::default();
    let requests: Vec<RequestRow> =
        numbers.into_iter().map(|it| request(it, "work", &format!("writes {it}"))).collect();
    dashboard.drawn(&listing(requests.iter().map(|it| it.number)));
    dashboard.set_requests(requests);
    dashboard
}

/// A screen on which these requests stand, one in each row from the fourth.
fn listing(numbers: impl IntoIterator<Item = u64>) -> Drawing {
    let listed: Vec<u64> = numbers.into_iter().collect();
    let row = |(y, number): (u16, &u64)| (Rect::new(0, y, 40, 1), Spot::Request(*number));
    let mut spots: Vec<_> = (3..).zip(&listed).map(row).collect();
    spots.push((Rect::new(0, 2, 40, 6), Spot::Requests));
    spots.push((Rect::new(0, 0, 40, 2), Spot::Sessions));
    Drawing { cells: Buffer::default(), cursor: None, listed, spots }
}

/// Types a line, and returns what comes of its end.
fn type_line(dashboard: &mut Dashboard, line: &str) -> Act {
    let mut act = Act::Draw;
    for (at, c) in line.chars().enumerate() {
        act = dashboard.press(&Key::Char(c), true, &[]);
        assert_eq!(act, if at == 0 { Act::Begin } else { Act::Draw }, "{c}");
    }
    assert_ne!(act, Act::Quit);
    dashboard.press(&Key::Enter, true, &[])
}

#[test]
fn all_is_what_stood_on_the_screen_when_the_command_was_begun() {
    let mut dashboard = dashboard([3, 4]);
    dashboard.press(&Key::Char('/'), true, &[]);
    // More come while it is typed, and are drawn.
    dashboard.set_requests((3..9).map(|it| request(it, "work", "more")).collect());
    dashboard.drawn(&listing(3..9));
    for c in "approve all".chars() {
        dashboard.press(&Key::Char(c), true, &[]);
    }
    let done = dashboard.press(&Key::Enter, true, &[]);
    assert_eq!(done, Act::Do(Command::Approve(Which::All), vec![3, 4]));
    // The next one is about what stands there then.
    let done = type_line(&mut dashboard, "/deny all");
    assert_eq!(done, Act::Do(Command::Deny(Which::All), (3..9).collect()));
}

#[test]
fn keys_move_between_requests_and_panels() {
    let mut dashboard = dashboard([3, 5, 8, 9]);
    for (key, standing, expected) in [
        (Key::Down, vec![3], Act::Bring(5)),
        (Key::Up, vec![5], Act::Bring(3)),
        (Key::Up, vec![3], Act::Draw),
        (Key::Down, vec![9], Act::Draw),
        // A group is left behind as a whole.
        (Key::Down, vec![3, 8], Act::Bring(9)),
        (Key::Down, vec![], Act::Bring(3)),
        (Key::Ctrl('z'), vec![3], Act::Suspend),
        (Key::Ctrl('l'), vec![3], Act::Clear),
        (Key::Ctrl('c'), vec![3], Act::Quit),
        (Key::Char('q'), vec![3], Act::Quit),
    ] {
        assert_eq!(dashboard.press(&key, true, &standing), expected, "{key:?} {standing:?}");
    }
    assert_eq!(dashboard.press(&Key::Char('q'), false, &[3]), Act::Draw, "not alone");
    let mut panels = Vec::new();
    for key in [Key::Tab, Key::Tab, Key::Tab, Key::Tab, Key::Char('?'), Key::Down, Key::Escape] {
        assert_eq!(dashboard.press(&key, true, &[3]), Act::Draw, "{key:?}");
        panels.push(dashboard.panel());
    }
    let expected = [
        (Panel::Sessions, 0),
        (Panel::History, 0),
        (Panel::Grants, 0),
        (Panel::Question, 0),
        (Panel::Help, 0),
        (Panel::Help, 1),
        (Panel::Question, 0),
    ];
    assert_eq!(panels, expected);
}

/// What is asked about together is listed together, and so nothing is skipped that lies between.
#[test]
fn every_request_is_reached_however_they_are_grouped() {
    let mut dashboard = Dashboard::default();
    let groups = [(2, 2), (4, 4), (5, 5), (6, 4), (7, 7), (8, 4), (9, 9)];
    let row = |(number, group)| RequestRow { group, ..request(number, "work", "writes") };
    dashboard.set_requests(groups.map(row).to_vec());
    let members = |number: u64| {
        let group = groups.iter().find(|it| it.0 == number).unwrap().1;
        groups.iter().filter(|it| it.1 == group).map(|it| it.0).collect::<Vec<_>>()
    };
    let mut walk = |key: &Key, from: u64| {
        let (mut standing, mut seen) = (members(from), Vec::new());
        while let Act::Bring(number) = dashboard.press(key, true, &standing) {
            standing = members(number);
            seen.push(number);
        }
        seen
    };
    assert_eq!(walk(&Key::Down, 2), [4, 5, 7, 9]);
    assert_eq!(walk(&Key::Up, 9), [7, 5, 8, 2]);
}

#[test]
fn a_command_line_is_edited_and_left() {
    let mut dashboard = dashboard([1]);
    assert_eq!(type_line(&mut dashboard, "/quit"), Act::Do(Command::Quit, vec![1]));
    assert_eq!(type_line(&mut dashboard, "/qui"), Act::Draw);
    assert_eq!(dashboard.said(), Some((Ink::Bad, "There is no command /qui; ? lists them.")));
    for leave in [Key::Escape, Key::Ctrl('c'), Key::Backspace] {
        dashboard.press(&Key::Char('/'), true, &[]);
        assert!(dashboard.typed().is_some());
        assert_eq!(dashboard.press(&leave, true, &[]), Act::Draw, "{leave:?}");
        assert!(dashboard.typed().is_none(), "{leave:?}");
    }
    // What is pasted is one line, and sends nothing.
    dashboard.press(&Key::Char('/'), true, &[]);
    dashboard.press(&Key::Paste("approve all\n/quit\n".to_owned()), true, &[]);
    assert_eq!(dashboard.typed().map(Editor::text).as_deref(), Some("/approve all/quit"));
    for _ in 0..500 {
        dashboard.press(&Key::Char('x'), true, &[]);
    }
    assert_eq!(dashboard.typed().map(|it| it.cells().len()), Some(LINE_CHARS_MAX));
}

#[test]
fn a_filter_narrows_what_is_listed_and_nothing_else() {
    let mut dashboard = dashboard([]);
    dashboard.set_requests(vec![
        request(1, "work", "filesystem writes \"/d/A.txt\""),
        request(2, "play", "git pushes"),
        request(13, "play", "fetch gets"),
    ]);
    let numbers = |it: &Dashboard| it.requests().map(|it| it.number).collect::<Vec<_>>();
    for (filter, expected) in [
        ("", vec![1, 2, 13]),
        ("PLAY", vec![2, 13]),
        ("a.TXT", vec![1]),
        ("#1", vec![1, 13]),
        ("zz", vec![]),
    ] {
        dashboard.set_filter(filter);
        assert_eq!(numbers(&dashboard), expected, "{filter}");
        assert_eq!(dashboard.counts(), (0, 3), "the header counts all of them");
        for standing in [vec![], vec![1], vec![2], vec![1, 13]] {
            // A question of which a part is hidden is another question.
            let is_seen = standing.iter().all(|it| expected.contains(it));
            assert_eq!(dashboard.shows_question(&standing), is_seen, "{filter} {standing:?}");
        }
    }
    dashboard.press(&Key::Escape, true, &[]);
    assert_eq!(dashboard.filter(), "");
}

#[test]
fn history_is_limited() {
    let mut dashboard = Dashboard::default();
    for number in 0..HISTORY_MAX as u64 + 5 {
        dashboard.ended(HistoryRow {
            at: Timestamp::from_unix_ms(number),
            number,
            session: "work".to_owned(),
            summary: String::new(),
            ending: "denied".to_owned(),
            ink: Ink::Bad,
        });
    }
    assert_eq!(dashboard.history().count(), HISTORY_MAX);
    assert_eq!(dashboard.history().next().map(|it| it.number), Some(HISTORY_MAX as u64 + 4));
}

#[test]
fn a_mouse_chooses_and_scrolls_and_does_nothing_else() {
    let mut dashboard = dashboard([3, 5, 8]);
    let mut mouse = |what, at| {
        let act = dashboard.press(&Key::Mouse(what, at), true, &[5]);
        (act, dashboard.panel())
    };
    for (what, at, act, panel) in [
        (Mouse::Press, (7, 5), Act::Bring(8), (Panel::Question, 0)),
        // The heading of the list, the empty row below it, and where nothing is to be chosen.
        (Mouse::Press, (7, 2), Act::Draw, (Panel::Question, 0)),
        (Mouse::Press, (7, 6), Act::Draw, (Panel::Question, 0)),
        (Mouse::Press, (7, 20), Act::Draw, (Panel::Question, 0)),
        (Mouse::WheelDown, (7, 3), Act::Bring(8), (Panel::Question, 0)),
        (Mouse::WheelUp, (7, 2), Act::Bring(3), (Panel::Question, 0)),
        (Mouse::WheelDown, (7, 20), Act::Draw, (Panel::Question, 0)),
        (Mouse::Press, (1, 1), Act::Draw, (Panel::Sessions, 0)),
        (Mouse::WheelDown, (7, 20), Act::Draw, (Panel::Sessions, 3)),
        (Mouse::WheelUp, (7, 20), Act::Draw, (Panel::Sessions, 0)),
        (Mouse::Press, (0, 3), Act::Bring(3), (Panel::Question, 0)),
    ] {
        assert_eq!(mouse(what, at), (act, panel), "{what:?} at {at:?}");
    }
    // While something is typed it does nothing at all.
    dashboard.press(&Key::Char('/'), true, &[]);
    assert_eq!(dashboard.press(&Key::Mouse(Mouse::Press, (7, 5)), true, &[5]), Act::Draw);
    assert_eq!(dashboard.typed().map(Editor::text).as_deref(), Some("/"));
}

/// A line that comes in one piece is a paste where the terminal does not say so; the person's Enter does it.
#[test]
fn a_command_that_came_in_one_piece_answers_nothing() {
    for (line, command) in [
        ("/approve", Command::Approve(Which::Shown)),
        ("/approve 3", Command::Approve(Which::Number(3))),
        ("/approve+", Command::Grant(Which::Shown)),
        ("/deny all", Command::Deny(Which::All)),
    ] {
        let mut dashboard = dashboard([3]);
        for c in line.chars() {
            dashboard.press(&Key::Char(c), false, &[]);
        }
        assert_eq!(dashboard.press(&Key::Enter, false, &[]), Act::Draw, "{line}");
        assert!(dashboard.typed().is_some_and(|it| it.text() == line), "it stands there: {line}");
        let done = dashboard.press(&Key::Enter, true, &[]);
        assert_eq!(done, Act::Do(command, vec![3]));
    }
    // What answers nothing is done.
    let mut dashboard = dashboard([3]);
    for c in "/history".chars() {
        dashboard.press(&Key::Char(c), false, &[]);
    }
    assert_eq!(dashboard.press(&Key::Enter, false, &[]), Act::Do(Command::History, vec![3]));
}
