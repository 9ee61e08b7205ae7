//! The state of the dashboard: what is known, what is typed, and which panel is open.
//!
//! Which request stands there as a question, and whether a key answers it, is not decided here: the caller
//! offers each key to the question first.

use std::collections::VecDeque;

use ic_terminal::{Editor, Ink, Key, Mouse};
use ic_types::Timestamp;

use crate::command::Command;
use crate::draw::{Drawing, Spot};
use crate::rows::{GrantRow, HistoryRow, RequestRow, SessionRow};
use ratatui_core::layout::Rect;

/// How many complaints are kept.
const COMPLAINTS_MAX: usize = 50;
/// How many requests that are over are kept.
pub const HISTORY_MAX: usize = 1_000;

/// What stands in the largest part of the screen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Panel {
    /// The question that waits for an answer.
    #[default]
    Question,
    /// The sessions, with everything that is known of them.
    Sessions,
    /// How requests ended.
    History,
    /// The grants in force.
    Grants,
    /// Keys and commands.
    Help,
}

/// What a key asks the caller to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Act {
    /// Nothing but drawing.
    Draw,
    /// Show this request as the question.
    Bring(u64),
    /// A command line was begun: the next lines of the question's gate belong to it.
    Begin,
    /// Do a command; these requests stood on the screen when it was begun.
    Do(Command, Vec<u64>),
    /// Give the terminal to the program that started us.
    Suspend,
    /// Draw everything anew.
    Clear,
    /// End.
    Quit,
}

/// What is known and what is open.
#[derive(Debug, Default)]
pub struct Dashboard {
    sessions: Vec<SessionRow>,
    requests: Vec<RequestRow>,
    history: VecDeque<HistoryRow>,
    grants: Vec<GrantRow>,
    /// What requests cost of late, in one line, once it was counted.
    economy: Option<String>,
    panel: Panel,
    /// The first row of the panel that is seen, where it is not the question.
    scroll: usize,
    filter: String,
    typing: Option<Typing>,
    said: Option<(Ink, String)>,
    /// What was mentioned since, which is of less weight.
    mentioned: Option<String>,
    /// What is wrong, the newest first.
    complaints: VecDeque<String>,
    /// The requests that stand on the screen.
    listed: Vec<u64>,
    /// What stands where, for a mouse.
    spots: Vec<(Rect, Spot)>,
}

/// A command line.
#[derive(Debug)]
struct Typing {
    editor: Editor,
    listed: Vec<u64>,
}

/// What is known.
impl Dashboard {
    /// Takes in which sessions run.
    pub fn set_sessions(&mut self, sessions: Vec<SessionRow>) {
        self.sessions = sessions;
    }

    /// Takes in which requests wait.
    ///
    /// Those that are asked about together are listed together: otherwise what lies between them could not be
    /// chosen by moving up and down.
    pub fn set_requests(&mut self, mut requests: Vec<RequestRow>) {
        requests.sort_by_key(|it| (it.group, it.number));
        self.requests = requests;
    }

    /// Takes in which grants are in force, the newest last.
    pub fn set_grants(&mut self, grants: Vec<GrantRow>) {
        self.grants = grants;
    }

    /// Takes in what requests cost of late.
    pub fn set_economy(&mut self, line: &str) {
        self.economy = Some(line.to_owned());
    }

    /// Takes in that a request is over.
    ///
    /// What its session did not accept is over once, as the session says: not as it was answered.
    pub fn ended(&mut self, row: HistoryRow) {
        self.history.retain(|it| (it.number, &it.session) != (row.number, &row.session));
        self.history.push_front(row);
        self.history.truncate(HISTORY_MAX);
    }

    /// Says something, until something else is said or looked for.
    pub fn say(&mut self, ink: Ink, text: &str) {
        self.said = Some((ink, text.to_owned()));
        self.mentioned = None;
    }

    /// Forgets what was said.
    pub fn forget_said(&mut self) {
        (self.said, self.mentioned) = (None, None);
    }

    /// Mentions something beside what was said last.
    pub fn mention(&mut self, text: &str) {
        self.mentioned = Some(text.to_owned());
    }

    /// Says what is wrong, and keeps it for whoever wants to read all of it.
    pub fn complain(&mut self, text: &str) {
        self.say(Ink::Bad, text);
        self.complaints.push_front(text.to_owned());
        self.complaints.truncate(COMPLAINTS_MAX);
    }

    /// Takes note of what stands on the screen now.
    pub fn drawn(&mut self, drawing: &Drawing) {
        drawing.listed.clone_into(&mut self.listed);
        drawing.spots.clone_into(&mut self.spots);
    }

    /// Returns the sessions that the filter lets through, or one of whose requests it lets through.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionRow> {
        self.sessions.iter().filter(|it| {
            let policy = it.policy.as_deref().unwrap_or_default();
            self.passes(&[&it.name, &it.kind, &it.label, policy])
                || self.requests().any(|request| request.session == it.name)
        })
    }

    /// Says why no session is listed.
    pub fn why_no_session(&self) -> &'static str {
        match self.sessions.is_empty() {
            true => "No session runs.",
            false => "The filter hides the sessions that run.",
        }
    }

    /// Returns the requests that the filter lets through.
    pub fn requests(&self) -> impl Iterator<Item = &RequestRow> {
        let number = |it: &RequestRow| format!("#{}", it.number);
        self.requests.iter().filter(move |it| {
            let server = it.server.as_deref().unwrap_or_default();
            self.filter.is_empty() || self.passes(&[&number(it), &it.session, &it.summary, server])
        })
    }

    /// Returns until when the first of `numbers` can be answered.
    pub fn expires_first(&self, numbers: &[u64]) -> Option<Timestamp> {
        let standing = self.requests.iter().filter(|it| numbers.contains(&it.number));
        standing.map(|it| it.expires_at).min()
    }

    /// Returns whether the filter hides any of the requests that stand there as a question.
    ///
    /// What is left of them then is another question.
    pub fn hides(&self, standing: &[u64]) -> bool {
        let is_listed = |number: &u64| self.requests().any(|it| it.number == *number);
        !self.filter.is_empty() && !standing.iter().all(is_listed)
    }

    /// Returns whether the question that stands there is seen; only then do keys answer it.
    pub fn shows_question(&self, standing: &[u64]) -> bool {
        self.panel == Panel::Question && !self.hides(standing)
    }

    /// Returns the requests that are over and that the filter lets through, the newest first.
    pub fn history(&self) -> impl Iterator<Item = &HistoryRow> {
        self.history.iter().filter(|it| self.passes(&[&it.session, &it.summary, &it.ending]))
    }

    /// Returns the grants in force, the newest last.
    pub fn grants(&self) -> &[GrantRow] {
        &self.grants
    }

    /// Says what requests cost of late, if that is known.
    pub fn economy(&self) -> Option<String> {
        self.economy.as_ref().map(|line| format!("In the {line}."))
    }

    /// Returns how many sessions run and how many requests wait, whatever the filter.
    pub fn counts(&self) -> (usize, usize) {
        (self.sessions.len(), self.requests.len())
    }

    /// Returns how many requests of a session wait.
    pub fn n_waiting(&self, session: &str) -> usize {
        self.requests.iter().filter(|it| it.session == session).count()
    }

    /// Returns what is wrong, the newest first.
    pub fn complaints(&self) -> impl ExactSizeIterator<Item = &str> {
        self.complaints.iter().map(String::as_str)
    }

    /// Returns what was said last.
    pub fn said(&self) -> Option<(Ink, &str)> {
        self.said.as_ref().map(|(ink, text)| (*ink, text.as_str()))
    }

    /// Returns what was mentioned since.
    pub fn mentioned(&self) -> Option<&str> {
        self.mentioned.as_deref()
    }

    /// Returns what is listed only.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns which panel is open, and its first row that is seen.
    pub fn panel(&self) -> (Panel, usize) {
        (self.panel, self.scroll)
    }

    /// Returns what is typed, if something is.
    pub fn typed(&self) -> Option<&Editor> {
        self.typing.as_ref().map(|it| &it.editor)
    }

    fn passes(&self, texts: &[&str]) -> bool {
        let wanted = self.filter.to_lowercase();
        wanted.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }
}

/// What is typed.
impl Dashboard {
    /// Opens a panel at its beginning.
    pub fn open(&mut self, panel: Panel) {
        (self.panel, self.scroll) = (panel, 0);
    }

    /// Lists only what contains `text`.
    pub fn set_filter(&mut self, text: &str) {
        text.clone_into(&mut self.filter);
        self.scroll = 0;
    }

    /// Takes in a key that answers no question; `standing` are the requests that stand there as one.
    ///
    /// `is_alone` says that nothing else was read with it: quitting by the rest of something else would be
    /// an accident.
    pub fn press(&mut self, key: &Key, is_alone: bool, standing: &[u64]) -> Act {
        match key {
            Key::Ctrl('c' | 'd') if self.typing.is_none() => return Act::Quit,
            Key::Ctrl('z') => return Act::Suspend,
            Key::Ctrl('l') => return Act::Clear,
            _ => {}
        }
        if self.typing.is_some() {
            return self.type_in(key, is_alone);
        }
        let is_looking = matches!(key, Key::Tab | Key::Escape | Key::Up | Key::Down)
            || matches!(key, Key::Char('?' | 'h'));
        if is_looking {
            self.forget_said();
        }
        match key {
            Key::Char('/') => {
                let mut editor = Editor::default();
                editor.press(key);
                self.typing = Some(Typing { editor, listed: self.listed.clone() });
                self.forget_said();
                return Act::Begin;
            }
            Key::Char('q') if is_alone => return Act::Quit,
            Key::Char('?') => self.toggle(Panel::Help),
            Key::Char('h') => self.toggle(Panel::History),
            Key::Escape if self.panel != Panel::Question => self.open(Panel::Question),
            Key::Escape => self.set_filter(""),
            Key::Tab => self.open(self.panel.next()),
            Key::Up | Key::Down if self.panel == Panel::Question => {
                if let Some(number) = self.neighbour(standing, *key == Key::Down) {
                    return Act::Bring(number);
                }
            }
            Key::Up => self.scroll = self.scroll.saturating_sub(1),
            Key::Down => self.scroll = self.scroll.saturating_add(1),
            Key::Home => self.scroll = 0,
            Key::Mouse(what, at) => return self.on_mouse(*what, *at, standing),
            _ => {}
        }
        Act::Draw
    }

    fn type_in(&mut self, key: &Key, is_alone: bool) -> Act {
        let Some(typing) = &mut self.typing else { return Act::Draw };
        match key {
            // SECURITY: what comes in one piece was pasted, whatever the terminal says of it. The line stands
            // there, and Enter by itself does it.
            Key::Enter if !is_alone && typing.answers() => {}
            Key::Enter => {
                let (line, listed) = (typing.editor.text(), std::mem::take(&mut typing.listed));
                self.typing = None;
                match Command::parse(&line) {
                    Ok(command) => return Act::Do(command, listed),
                    Err(mistake) => self.say(Ink::Bad, &mistake),
                }
            }
            Key::Escape | Key::Ctrl('c' | 'd') => self.typing = None,
            // A line break would hide the rest of the line.
            Key::LineBreak | Key::Tab | Key::BackTab | Key::PasteTooLong | Key::Mouse(..) => {}
            Key::Paste(text) => {
                for c in text.chars().filter(|c| !c.is_control()).take(LINE_CHARS_MAX) {
                    typing.editor.press(&Key::Char(c));
                }
            }
            Key::Char(_) if LINE_CHARS_MAX <= typing.editor.cells().len() => {}
            key => {
                typing.editor.press(key);
                if typing.editor.is_empty() {
                    self.typing = None;
                }
            }
        }
        Act::Draw
    }

    /// Chooses what is pressed, and scrolls; a mouse answers nothing.
    fn on_mouse(&mut self, what: Mouse, at: (u16, u16), standing: &[u64]) -> Act {
        let spot = self.spots.iter().find(|(place, _)| place.contains(at.into()));
        let is_listed = matches!(spot, Some((_, Spot::Request(_) | Spot::Requests)));
        match (what, spot.map(|(_, spot)| *spot)) {
            (Mouse::Press, Some(Spot::Request(number))) => {
                self.open(Panel::Question);
                return Act::Bring(number);
            }
            (Mouse::Press, Some(Spot::Sessions)) => self.toggle(Panel::Sessions),
            (Mouse::Press, Some(Spot::History)) => self.toggle(Panel::History),
            (Mouse::WheelUp | Mouse::WheelDown, _) if is_listed => {
                let is_down = what == Mouse::WheelDown;
                return self.neighbour(standing, is_down).map_or(Act::Draw, Act::Bring);
            }
            (Mouse::WheelUp, _) => self.scroll = self.scroll.saturating_sub(WHEEL_ROWS),
            (Mouse::WheelDown, _) if self.panel != Panel::Question => {
                self.scroll = self.scroll.saturating_add(WHEEL_ROWS);
            }
            (Mouse::Press, Some(Spot::Requests) | None) | (Mouse::WheelDown, _) => {}
        }
        Act::Draw
    }

    fn toggle(&mut self, panel: Panel) {
        self.open(if self.panel == panel { Panel::Question } else { panel });
    }

    /// Returns the request above or below those that stand there.
    fn neighbour(&self, standing: &[u64], is_down: bool) -> Option<u64> {
        let numbers: Vec<u64> = self.requests().map(|it| it.number).collect();
        let mut places = numbers.iter().enumerate().filter(|(_, it)| standing.contains(it));
        let place = if is_down { places.next_back() } else { places.next() };
        let Some((at, _)) = place else { return numbers.first().copied() };
        let next = if is_down { at.checked_add(1) } else { at.checked_sub(1) };
        next.and_then(|it| numbers.get(it)).copied()
    }
}

impl Typing {
    /// Returns whether the line is a command that answers a request.
    fn answers(&self) -> bool {
        Command::parse(&self.editor.text()).is_ok_and(|it| it.answers())
    }
}

/// How many rows a turn of a wheel scrolls.
const WHEEL_ROWS: usize = 3;
/// The longest command line.
const LINE_CHARS_MAX: usize = 200;

impl Panel {
    fn next(self) -> Self {
        match self {
            Self::Question => Self::Sessions,
            Self::Sessions => Self::History,
            Self::History => Self::Grants,
            Self::Grants | Self::Help => Self::Question,
        }
    }
}

#[cfg(test)]
mod tests;
