//! The screen: where everything stands, and what stands there.
//!
//! ```text
//! below 120 columns            from 120 columns
//! ┌ header ──────────┐         ┌ header ──────────────────┐
//! │ sessions         │         │ sessions │ question      │
//! │ requests         │         │ requests │ or a panel    │
//! │ question / panel │         │ history  │               │
//! │ its keys         │         │          │ its keys      │
//! └ line ────────────┘         └ line ────────────────────┘
//! ```

mod panels;
mod places;

use ic_terminal::{Frame, Ink, Line, Size, Span};
use ic_types::{Timestamp, counted};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use crate::dashboard::{Dashboard, Panel};
use crate::rows::{countdown, lasting};
pub use places::Places;

/// The question that stands there, as the dialog shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing<'a> {
    /// The requests that are asked about.
    pub numbers: &'a [u64],
    /// The rows of the page that stands there, which fit.
    pub rows: &'a [Line],
    /// What can be typed, or that it is to be read first.
    pub asked: Option<&'a str>,
    /// Why what was typed did not count.
    pub hint: Option<&'a str>,
}

/// Everything that is to be seen at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is known and what is open.
    pub dashboard: &'a Dashboard,
    /// The question.
    pub standing: Standing<'a>,
    /// The moment.
    pub now: Timestamp,
}

/// A screen as it is to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Drawing {
    /// Every cell of it.
    pub cells: Buffer,
    /// Where the cursor stands, if it is seen: column and row.
    pub cursor: Option<(u16, u16)>,
    /// The requests whose rows stand there.
    pub listed: Vec<u64>,
    /// What a mouse finds where; the first place that holds a cell counts.
    pub spots: Vec<(Rect, Spot)>,
}

/// What can be pressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spot {
    /// The row of a request.
    Request(u64),
    /// The list of requests, besides its rows.
    Requests,
    /// The sessions.
    Sessions,
    /// How requests ended.
    History,
}

/// Draws a scene on a screen of that size; `places` says what stands where.
pub fn draw(scene: &Scene<'_>, places: &Places) -> Drawing {
    let (n_sessions, n_requests) =
        (scene.dashboard.sessions().count(), scene.dashboard.requests().count());
    let places = &places.shared_by(n_sessions, n_requests);
    let mut drawing = Drawing {
        cells: Buffer::empty(places.screen),
        cursor: None,
        listed: Vec::new(),
        spots: Vec::new(),
    };
    drawing.header(scene, places.header);
    drawing.sessions(scene, places.sessions);
    drawing.requests(scene, places.requests);
    drawing.history(scene, places.history);
    drawing.main(scene, places);
    drawing.line(scene, places.line);
    let others = [
        (places.requests, Spot::Requests),
        (places.sessions, Spot::Sessions),
        (places.history, Spot::History),
    ];
    drawing.spots.extend(others);
    drawing
}

impl Drawing {
    fn header(&mut self, scene: &Scene<'_>, place: Rect) {
        let (n_sessions, n_requests) = scene.dashboard.counts();
        let waiting = match n_requests {
            0 => Line::new(Ink::Quiet, "nothing waits"),
            1 => Line::new(Ink::Question, "1 request waits"),
            n => Line::new(Ink::Question, &format!("{n} requests wait")),
        };
        let sessions = match n_sessions {
            1 => "1 session runs".to_owned(),
            n => format!("{n} sessions run"),
        };
        let mut line = waiting
            .behind(&Span::new(Ink::Plain, " · "))
            .behind(&Span::new(Ink::Strong, "IronCurtain"))
            .and(Ink::Plain, &format!(" · {sessions}"));
        if !scene.dashboard.filter().is_empty() {
            line = line.and(Ink::Emphasis, &format!(" · only \"{}\"", scene.dashboard.filter()));
        }
        let n_complaints = scene.dashboard.complaints().len();
        if 0 < n_complaints {
            let problems = counted(n_complaints as u64, "problem", "problems");
            line = line.and(Ink::Bad, &format!(" · {problems} (Tab)"));
        }
        let keys = Line::new(Ink::Quiet, "? help · q quit");
        let used = u16::try_from(keys.width()).unwrap_or(u16::MAX);
        let left = place.width.saturating_sub(used.saturating_add(1));
        self.put(Rect { width: left, ..place }, 0, &line);
        self.put(Rect { x: place.x + left + 1, width: used.min(place.width), ..place }, 0, &keys);
    }

    fn sessions(&mut self, scene: &Scene<'_>, place: Rect) {
        let dashboard = scene.dashboard;
        if place.height == 1 {
            // No room for a list: their names in one row.
            let names = dashboard.sessions().map(|it| match dashboard.n_waiting(&it.name) {
                0 => it.name.clone(),
                n => format!("{} ({n})", it.name),
            });
            let names = names.collect::<Vec<_>>().join(" · ");
            let names = if names.is_empty() { "none".to_owned() } else { names };
            return self.put(
                place,
                0,
                &Line::new(Ink::Quiet, "Sessions: ").and(Ink::Plain, &names),
            );
        }
        let rows: Vec<Line> =
            dashboard.sessions().map(|it| panels::session(dashboard, it, scene.now)).collect();
        self.list("Sessions", &rows, 0, dashboard.why_no_session(), place);
    }

    fn requests(&mut self, scene: &Scene<'_>, place: Rect) {
        let Standing { numbers, .. } = scene.standing;
        let requests: Vec<_> = scene.dashboard.requests().collect();
        let room = usize::from(place.height.saturating_sub(1));
        let at = requests.iter().position(|it| numbers.contains(&it.number)).unwrap_or(0);
        // The one that stands there is in sight, and so are its neighbours.
        let from = at.saturating_sub(room / 2).min(requests.len().saturating_sub(room));
        let seen = requests.iter().skip(from).take(room);
        let rows = seen.clone().map(|it| {
            let is_shown = numbers.contains(&it.number);
            let mark = if is_shown { "▸ " } else { "  " };
            let left = it.expires_at.unix_ms().saturating_sub(scene.now.unix_ms());
            let hurry = if left < HURRY_MS { Ink::Bad } else { Ink::Quiet };
            let row = Line::new(Ink::Question, mark)
                .and(if is_shown { Ink::Strong } else { Ink::Plain }, &format!("#{} ", it.number))
                .and(Ink::Code, &it.session)
                .and(hurry, &format!(" {} ", countdown(it.expires_at, scene.now)));
            let left = usize::from(place.width).saturating_sub(row.width());
            let summary = it.summary_within(left.max(SUMMARY_COLUMNS_MIN));
            summary.pieces().fold(row, |row, (ink, text)| row.and(ink, text))
        });
        let rows: Vec<Line> = rows.collect();
        let shown: Vec<u64> = seen.map(|it| it.number).collect();
        let part = (from, requests.len());
        let empty = panels::nothing_listed(scene.dashboard);
        self.heading_and_rows("Requests", &rows, part, &empty, place);
        if 1 < place.height {
            let row = |y: u16| Rect { y, height: 1, ..place };
            let spots = (place.y + 1..place.bottom()).map(row);
            self.spots.extend(spots.zip(shown.iter().copied().map(Spot::Request)));
            self.listed = shown;
        }
    }

    fn history(&mut self, scene: &Scene<'_>, place: Rect) {
        let room = usize::from(place.height);
        let cost = scene.dashboard.economy().map(|it| Line::new(Ink::Quiet, &it));
        let ends = panels::ends(scene.dashboard).take(room);
        let rows: Vec<Line> = cost.into_iter().chain(ends).collect();
        self.list("History", &rows, 0, "", place);
    }

    /// Draws the question with its keys, or the panel that is open.
    fn main(&mut self, scene: &Scene<'_>, places: &Places) {
        let (panel, scroll) = scene.dashboard.panel();
        let columns = usize::from(places.main.width);
        let Standing { rows, asked, numbers, .. } =
            match scene.dashboard.hides(scene.standing.numbers) {
                true => Standing::default(),
                false => scene.standing,
            };
        if panel == Panel::Question {
            let title = match numbers {
                [] => "No request".to_owned(),
                [number] => format!("Request #{number}"),
                [first, ..] => format!("{} requests, from #{first}", numbers.len()),
            };
            // What the question itself says about that was true when it was shown.
            let title = match scene.dashboard.expires_first(numbers) {
                Some(at) => format!("{title} · time left: {}", countdown(at, scene.now)),
                None => title,
            };
            self.put(places.title, 0, &heading(&title, places.title.width));
            match numbers.is_empty() {
                true => self.rows(places.main, &panels::idle(scene.dashboard, columns)),
                false => self.rows(places.main, rows),
            }
            let keys = asked.map(|asked| {
                Line::new(Ink::Question, asked).fold(columns, &Span::new(Ink::Plain, "  "))
            });
            self.rows(places.keys, &keys.unwrap_or_default());
            return;
        }
        let (title, lines) = panels::of(panel, scene);
        let mark = Span::new(Ink::Plain, panels::mark(panel, columns));
        let rows: Vec<Line> = lines.iter().flat_map(|line| line.fold(columns, &mark)).collect();
        let room = usize::from(places.main.height);
        let from = scroll.min(rows.len().saturating_sub(room));
        let part = match rows.len() <= room {
            true => title.to_owned(),
            false => format!("{title} ({} of {} rows)", (from + room).min(rows.len()), rows.len()),
        };
        self.put(places.title, 0, &heading(&part, places.title.width));
        self.rows(places.main, rows.get(from..).unwrap_or_default());
        let waiting = match numbers.is_empty() {
            true => "Esc back · Tab next · Up and Down scroll".to_owned(),
            false => "Esc back to the request · Tab next · Up and Down scroll".to_owned(),
        };
        self.rows(places.keys, &[Line::new(Ink::Quiet, &waiting).cut(columns)]);
    }

    /// Draws what is typed, or what was said last.
    fn line(&mut self, scene: &Scene<'_>, place: Rect) {
        if let Some(editor) = scene.dashboard.typed() {
            let prompt = Span::new(Ink::Strong, "> ");
            let frame = Frame::of(editor, &prompt, usize::from(place.width)).within(1);
            self.rows(place, &frame.rows);
            let column = u16::try_from(frame.cursor.1).unwrap_or(0);
            self.cursor = Some((place.x + column.min(place.width.saturating_sub(1)), place.y));
            return;
        }
        let mentioned = scene.dashboard.mentioned();
        let line = match (scene.standing.hint, scene.dashboard.said(), mentioned) {
            (Some(hint), _, _) => Line::new(Ink::Question, hint),
            (None, Some((ink, said)), None) => Line::new(ink, said),
            (None, Some((ink, said)), Some(more)) => {
                Line::new(ink, said).and(Ink::Quiet, &format!(" · {more}"))
            }
            (None, None, Some(more)) => Line::new(Ink::Quiet, more),
            (None, None, None) => Line::new(Ink::Quiet, "/ types a command"),
        };
        self.put(place, 0, &line);
    }

    fn list(&mut self, title: &str, rows: &[Line], from: usize, empty: &str, place: Rect) {
        self.heading_and_rows(title, rows, (from, rows.len()), empty, place);
    }

    /// Draws a heading that says how much there is, and rows below it.
    fn heading_and_rows(
        &mut self,
        title: &str,
        rows: &[Line],
        (from, of): (usize, usize),
        empty: &str,
        place: Rect,
    ) {
        if place.height == 0 {
            return;
        }
        let room = usize::from(place.height) - 1;
        let title = match of {
            of if room < of => {
                format!("{title} ({} to {} of {of})", from + 1, (from + room).min(of))
            }
            _ => title.to_owned(),
        };
        self.put(place, 0, &heading(&title, place.width));
        let below = Rect { y: place.y + 1, height: place.height - 1, ..place };
        match rows.is_empty() {
            true => self.rows(below, &[Line::new(Ink::Quiet, empty)]),
            false => self.rows(below, rows),
        }
    }

    fn rows(&mut self, place: Rect, rows: &[Line]) {
        for (at, line) in (0..place.height).zip(rows) {
            self.put(place, at, line);
        }
    }

    /// Puts a line into a row of `place`; what does not fit is cut.
    fn put(&mut self, place: Rect, row: u16, line: &Line) {
        let (y, end) = (place.y.saturating_add(row), place.right().min(self.cells.area.right()));
        if place.height <= row || self.cells.area.bottom() <= y {
            return;
        }
        let mut x = place.x;
        for (ink, text) in line.pieces() {
            let room = usize::from(end.saturating_sub(x));
            if room == 0 {
                break;
            }
            (x, _) = self.cells.set_stringn(x, y, text, room, style(ink));
        }
        // Whoever reads a row must see that it goes on.
        if usize::from(place.width) < line.width() && place.x < end {
            self.cells.set_stringn(end - 1, y, "…", 1, style(Ink::Quiet));
        }
    }
}

/// The least room in which leaving out the middle of a summary says more than its beginning.
const SUMMARY_COLUMNS_MIN: usize = 12;
/// Less time than this to answer is shown in another ink.
const HURRY_MS: u64 = 30_000;

fn heading(title: &str, width: u16) -> Line {
    let title = Line::new(Ink::Strong, &format!("── {title} "));
    let rest = usize::from(width).saturating_sub(title.width());
    title.and(Ink::Quiet, &"─".repeat(rest))
}

/// Returns how an ink looks.
fn style(ink: Ink) -> Style {
    let style = Style::new();
    match ink {
        Ink::Plain => style,
        Ink::Strong => style.add_modifier(Modifier::BOLD),
        Ink::Emphasis => style.add_modifier(Modifier::ITALIC),
        Ink::Code => style.fg(Color::Cyan),
        Ink::Quiet => style.add_modifier(Modifier::DIM),
        Ink::Good => style.fg(Color::Green),
        Ink::Bad => style.fg(Color::Red),
        Ink::Question => style.fg(Color::Yellow).add_modifier(Modifier::BOLD),
    }
}

/// Says how long ago something was.
fn ago(then: Timestamp, now: Timestamp) -> String {
    lasting(now.unix_ms().saturating_sub(then.unix_ms()))
}

/// Returns the size of a screen as cells have it.
fn screen(size: Size) -> Rect {
    let cells = |number: usize| u16::try_from(number).unwrap_or(u16::MAX).clamp(1, SIDE_MAX);
    Rect::new(0, 0, cells(size.columns), cells(size.rows))
}

/// The longest side of a screen that is drawn.
const SIDE_MAX: u16 = 2_000;

#[cfg(test)]
mod tests;
