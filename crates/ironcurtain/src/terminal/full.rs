//! A terminal that is drawn as a whole: the one dialog of questions, in a part of a dashboard.
//!
//! Has a screen of its own, so what stood there before comes back at the end, on every way out. What the
//! dashboard shows besides the question is not known here.

use std::os::fd::OwnedFd;

use ic_listener::{Dashboard, Drawing, Places, Scene, Standing, draw, sent::sent};
use ic_terminal::gate::Arrival;
use ic_terminal::{Decoder, Ink, Key, Line, Piece, Size, Span};
use ic_types::Timestamp;
use rustix::process::{Signal, getpid, getsid, kill_process};
use tokio::time::Instant;

use super::banner::{Asking, Banner, Place};
use super::console::{BELL, ESCAPE_WAIT};
use super::paint::{Paint, Tone};
use super::pen::{is_read, size_and_fit};
use super::raw::{self, RawMode};
use super::stage::{Echo, Room, Row, Stage};
use super::tty::Tty;
use crate::error::Failure;
use crate::own_policy::always::Always;
use crate::screen::Screen;

/// A terminal with a dashboard on it.
pub(crate) struct FullScreen<'a> {
    terminal: Tty,
    raw: Option<RawMode>,
    banner: Banner,
    stage: FullStage<'a>,
    decoder: Decoder,
    escape_at: Option<Instant>,
    /// What stands on the screen; `None` if everything is to be drawn.
    shown: Option<Drawing>,
    /// For which size that was drawn.
    size: Size,
    is_painted: bool,
    /// Whether the question is seen: no panel in its place, and no filter that hides it.
    is_question_open: bool,
}

/// The part of the screen where questions are shown.
struct FullStage<'a> {
    screen: &'a mut Screen,
    terminal: OwnedFd,
    room: Room,
    said: Vec<(Tone, String)>,
}

impl<'a> FullScreen<'a> {
    /// Takes the terminal.
    pub(crate) fn take(
        terminal: Tty,
        paint: Paint,
        always: Always,
        screen: &'a mut Screen,
    ) -> Result<Self, Failure> {
        let unusable = |source| Failure::environment("cannot use the terminal").with_source(source);
        let handle = terminal.handle().map_err(unusable)?;
        let raw = RawMode::enter(&handle).map_err(unusable)?;
        raw::full_screen();
        let (size, _) = size_and_fit(&handle);
        let mut banner = Banner::new();
        banner.offer_always(Some(always));
        let room = Room { columns: None, rows: 0 };
        Ok(Self {
            terminal,
            raw: Some(raw),
            banner,
            stage: FullStage { screen, terminal: handle, room, said: Vec::new() },
            decoder: Decoder::with_mouse(),
            escape_at: None,
            shown: None,
            size,
            is_painted: paint == Paint::Colours,
            is_question_open: true,
        })
    }

    /// Gives the terminal back.
    pub(crate) fn leave(&mut self) {
        self.raw = None;
    }

    /// Gives the terminal to the program that started us, until it lets us go on.
    pub(crate) fn suspend(&mut self) {
        // A session leader is not stopped by this signal if nobody could let it go on, as in a window that runs
        // nothing else; the terminal would stay as it is for a shell.
        if getsid(None) == Ok(getpid()) {
            return;
        }
        self.clear();
        raw::restore();
        kill_process(getpid(), Signal::TSTP).ok();
    }

    /// Takes the terminal again, in which somebody else may have written.
    pub(crate) fn on_continued(&mut self) {
        if self.raw.is_some() {
            // A terminal that cannot be taken again is one that cannot be read either.
            RawMode::again(&self.stage.terminal).ok();
            raw::full_screen();
        }
        self.clear();
    }

    /// Draws everything anew.
    pub(crate) fn clear(&mut self) {
        self.banner.disturbed();
        self.shown = None;
    }

    /// Lets the banner do something, and returns what is to be said about it.
    pub(crate) fn with(
        &mut self,
        questions: &dyn Asking,
        act: impl FnOnce(&mut Banner, &mut Place<'_>),
    ) -> Vec<(Tone, String)> {
        act(&mut self.banner, &mut Place { questions, stage: &mut self.stage });
        std::mem::take(&mut self.stage.said)
    }

    /// Returns the question that stands there, or is about to.
    pub(crate) fn banner(&mut self) -> &mut Banner {
        &mut self.banner
    }

    /// Returns where what is not for this terminal goes.
    pub(crate) fn screen(&mut self) -> &mut Screen {
        self.stage.screen
    }

    /// Waits for the next bytes; none if the terminal has gone.
    pub(crate) async fn bytes(&mut self) -> Vec<u8> {
        self.terminal.bytes().await
    }

    /// Returns when an Escape is taken for a key.
    pub(crate) fn escape_at(&self) -> Option<Instant> {
        self.escape_at
    }

    /// Returns when the banner has something to do, with nothing happening before.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.banner.wakes_at().filter(|_| self.is_question_open)
    }

    /// Takes what was read; `None` if the terminal has gone, and with it the person who sat there.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<Piece> {
        if bytes.is_empty() {
            return None;
        }
        if size_and_fit(&self.stage.terminal).0 != self.size {
            // SECURITY: it was read before the window was drawn anew.
            self.clear();
        }
        let piece = self.decoder.read(bytes);
        self.escape_at = self.decoder.is_waiting().then(|| Instant::now() + ESCAPE_WAIT);
        self.banner.arrives(if piece.is_alone { Arrival::Alone } else { Arrival::Mixed });
        Some(piece)
    }

    /// Takes an Escape for a key that nothing followed.
    pub(crate) fn on_escape_alone(&mut self) -> Option<Key> {
        self.escape_at = None;
        self.banner.arrives(Arrival::Mixed);
        self.decoder.give_up()
    }

    /// Returns what a key is typed as, if it may be an answer to the question that is seen.
    pub(crate) fn word_of(&self, key: &Key, is_alone: bool) -> Option<String> {
        self.banner.word_of(key, is_alone).filter(|_| self.is_question_open)
    }

    /// Returns whether something is to be chosen there, instead of a question to be answered.
    pub(crate) fn is_choosing(&self) -> bool {
        self.is_question_open && self.banner.is_choosing()
    }

    /// Draws the dashboard with the question in it.
    pub(crate) fn draw(
        &mut self,
        dashboard: &mut Dashboard,
        questions: &dyn Asking,
        now: Timestamp,
    ) {
        let (size, fits) = size_and_fit(&self.stage.terminal);
        if size != self.size {
            (self.size, self.shown) = (size, None);
        }
        self.is_question_open = dashboard.shows_question(&self.banner.numbers());
        let places = Places::of(size, self.keys_rows(size));
        let rows = if fits { usize::from(places.main.height) } else { 0 };
        self.stage.room = Room { columns: Some(usize::from(places.main.width)), rows };
        match self.is_question_open {
            true => {
                let place = &mut Place { questions, stage: &mut self.stage };
                self.banner.fit(place);
            }
            // SECURITY: what is not on the screen is not answered; it is drawn again when it is seen again.
            false => self.banner.disturbed(),
        }
        let drawing = self.drawing(dashboard, &places, now);
        let bytes = sent(self.shown.as_ref(), &drawing, self.is_painted);
        if !bytes.is_empty() {
            self.stage.screen.send(&bytes);
        }
        dashboard.drawn(&drawing);
        self.shown = Some(drawing);
        if self.is_question_open {
            self.banner.drawn();
        }
    }

    fn drawing(&self, dashboard: &Dashboard, places: &Places, now: Timestamp) -> Drawing {
        let rows: Vec<Line> = self.banner.rows().iter().map(Row::to_line).collect();
        // With something typed no letter is an answer, so nothing has to be waited for.
        let asked = match dashboard.typed() {
            Some(_) if self.banner.is_asking() => Some(self.banner.prompt()),
            _ => self.banner.asked(),
        };
        let numbers = self.banner.numbers();
        let standing = Standing {
            numbers: &numbers,
            rows: &rows,
            asked: asked.as_deref(),
            hint: self.banner.hint(),
        };
        draw(&Scene { dashboard, standing, now }, places)
    }

    /// Returns how many rows the keys of the question need, whatever it is that can be typed.
    fn keys_rows(&self, size: Size) -> usize {
        let columns = Places::main_columns(size);
        let mark = Span::new(Ink::Plain, "  ");
        let prompts = self.banner.longest_prompts();
        let rows = prompts.iter().map(|it| Line::new(Ink::Plain, it).fold(columns, &mark).len());
        rows.max().unwrap_or(2)
    }

    /// Calls the person: the bell, and a notification where the terminal has them.
    ///
    /// SECURITY: names nothing that an agent wrote.
    pub(crate) fn call(&mut self, number: u64) {
        let text = format!("IronCurtain: #{number} waits for approval");
        let calls = format!("{BELL}\x1b]9;{text}\x07\x1b]777;notify;IronCurtain;{text}\x07");
        self.stage.screen.send(&calls);
    }
}

/// Says in the title of the window how many requests wait.
pub(crate) fn title(n_waiting: usize) {
    raw::title(title_of(n_waiting).as_deref());
}

/// Returns the title of the window while so many requests wait.
pub(super) fn title_of(n_waiting: usize) -> Option<String> {
    match n_waiting {
        0 => None,
        1 => Some("(1) ironcurtain: a request waits".to_owned()),
        n => Some(format!("({n}) ironcurtain: {n} requests wait")),
    }
}

impl Stage for FullStage<'_> {
    fn room(&self) -> Room {
        self.room
    }

    fn echo(&self) -> Echo {
        Echo::Apart
    }

    /// A question is drawn with the rest of the screen.
    fn draw(&mut self, _: &[Row]) {}

    /// How it ended is found in the history.
    fn leave(&mut self, _: &[Row]) {}

    fn say(&mut self, tone: Tone, text: &str) {
        self.said.push((tone, text.to_owned()));
    }

    fn is_read(&mut self) -> bool {
        is_read(&self.terminal)
    }

    fn ask(&mut self, _: &str) {}
}
