//! Every order of a closed list of events, up to a depth, against what must hold for an answer.
//!
//! What must hold is stated over the log of what happened, and knows nothing of how the gate works.
//! `GATE_DEPTH` sets the depth; without it, it is as deep as a few seconds allow.

use super::*;
use crate::key::{Decoder, Key};

/// How deep every order is tried.
const DEPTH_USUAL: usize = 5;
/// How many random orders are tried, and how long each is.
const WALKS: u64 = 20_000;
const WALK_LENGTH: usize = 60;
/// Not `QUIET`: less than this is no quiet, whatever the constant says.
const MS_MIN: u64 = 700;

/// Something that happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Act {
    /// Time passes while the program waits.
    Wait(u64),
    /// Time passes while the program is busy, and reads nothing.
    Stall(u64),
    /// Another question takes the place of what stands there; it fits.
    Ask,
    /// The same, but it takes two pages.
    AskLong,
    /// It fits, but only because something was left out.
    AskShortened,
    /// The question is not what it was.
    Change,
    /// Nobody answered in time.
    Expire,
    /// The window is smaller, so that any question takes two pages.
    Smaller,
    /// It is as large as before.
    Larger,
    /// Something else is printed.
    Print,
    /// What stands there is drawn again.
    Redraw,
    /// Something is read.
    Read(&'static str),
}

/// A report of a terminal but for its last byte, which is the letter that approves.
const HEAD: &str = "\x1b[?2026;2$";
const FOCUS: &str = "\x1b[I";

/// `y` answers, Enter alone shows the next page, and the line `/` is the command that answers.
const ACTS: [Act; 20] = [
    Act::Wait(300),
    Act::Wait(800),
    Act::Stall(800),
    Act::Ask,
    Act::AskLong,
    Act::AskShortened,
    Act::Change,
    Act::Expire,
    Act::Smaller,
    Act::Larger,
    Act::Print,
    Act::Redraw,
    Act::Read("y"),
    Act::Read("yy"),
    Act::Read("/"),
    Act::Read("\r"),
    Act::Read("/\r"),
    Act::Read("m\r/\r"),
    Act::Read(HEAD),
    Act::Read(FOCUS),
];

/// What a question is: which one, and in which wording.
type Question = (u32, u32);

/// What happened, for whoever checks.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Fact {
    /// Rows of a question stand on the screen; in a layout that is new, or as before.
    Drawn {
        question: Question,
        page: Page,
        is_new: bool,
    },
    /// Something else stands below it.
    Printed,
    /// Nothing is asked.
    Gone,
    Read(&'static str),
}

/// A caller of the gate, as small as one can be.
#[derive(Clone)]
struct Caller {
    gate: Gate<Question>,
    decoder: Decoder,
    now_ms: u64,
    typed: String,
    /// Where in the log the first key of what is typed was read.
    began: usize,
    asked: Option<Question>,
    /// Rows of the question, of which two fit a screen, or one if it is small.
    n_rows: usize,
    /// Whether those rows leave something of the question out.
    is_shortened: bool,
    is_small: bool,
    from: usize,
    n_questions: u32,
    log: Vec<(u64, Fact)>,
    /// Answers that were given: by a key or by a command.
    n_keys: usize,
    n_commands: usize,
    n_paged: usize,
}

impl Caller {
    fn new() -> Self {
        Self {
            gate: Gate::shut(),
            decoder: Decoder::default(),
            now_ms: 10_000,
            typed: String::new(),
            began: 0,
            asked: None,
            n_rows: 1,
            is_shortened: false,
            is_small: false,
            from: 0,
            n_questions: 0,
            log: Vec::new(),
            n_keys: 0,
            n_commands: 0,
            n_paged: 0,
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    fn page(&self) -> Page {
        let room = if self.is_small { 1 } else { 2 };
        Page { from: self.from, to: (self.from + room).min(self.n_rows), of: self.n_rows }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Wait(ms) => {
                self.now_ms += ms;
                if self.decoder.is_waiting() && self.decoder.give_up().is_some() {
                    self.gate.arrives(Arrival::Mixed, self.now());
                }
                if self.gate.opens_at().is_some_and(|at| at <= self.now()) {
                    self.gate.open(self.now());
                }
            }
            Act::Stall(ms) => self.now_ms += ms,
            Act::Ask | Act::AskLong | Act::AskShortened => {
                self.n_questions += 1;
                self.n_rows = if act == Act::AskLong { 3 } else { 2 };
                self.is_shortened = act == Act::AskShortened;
                self.asked = Some((self.n_questions, 0));
                self.draw_anew();
            }
            Act::Change => {
                if let Some((_, wording)) = &mut self.asked {
                    *wording += 1;
                    self.is_shortened = false;
                    self.draw_anew();
                }
            }
            Act::Expire => self.end(),
            Act::Smaller | Act::Larger => {
                self.is_small = act == Act::Smaller;
                self.draw_anew();
            }
            Act::Print => {
                self.gate.disturbed();
                self.log.push((self.now_ms, Fact::Printed));
            }
            Act::Redraw => {
                if let Some(question) = self.asked {
                    self.gate.drawn_again(self.now());
                    self.drawn(question, false);
                }
            }
            Act::Read(text) => self.read(text),
        }
    }

    fn draw_anew(&mut self) {
        self.from = 0;
        if let Some(question) = self.asked {
            match self.is_shortened {
                true => self.gate.stands_shortened(question, self.page(), self.now()),
                false => self.gate.stands(question, self.page(), self.now()),
            }
            self.drawn(question, true);
        }
    }

    fn drawn(&mut self, question: Question, is_new: bool) {
        let page = self.page();
        self.log.push((self.now_ms, Fact::Drawn { question, page, is_new }));
    }

    fn end(&mut self) {
        self.asked = None;
        self.gate.withdrawn();
        self.log.push((self.now_ms, Fact::Gone));
    }

    fn read(&mut self, text: &'static str) {
        self.log.push((self.now_ms, Fact::Read(text)));
        let piece = self.decoder.read(text.as_bytes());
        let arrival = if piece.is_alone { Arrival::Alone } else { Arrival::Mixed };
        self.gate.arrives(arrival, self.now());
        let mut n_ends = 0;
        for (n_keys, key) in piece.keys.into_iter().enumerate() {
            n_ends += usize::from(key == Key::Enter);
            match key {
                // A careless caller: that it was alone is for the gate to see.
                Key::Char('y') if self.typed.is_empty() => {
                    if let Ok(question) = self.gate.key(Reach::Whole).copied() {
                        self.n_keys += 1;
                        self.check_key(question);
                        self.end();
                    }
                }
                Key::Enter if self.typed.is_empty() => self.next_page(),
                Key::Enter => {
                    let is_command = self.typed == "/";
                    self.typed.clear();
                    let answered = self.gate.line_ends(Reach::Whole).copied();
                    if let (Ok(question), true) = (answered, is_command) {
                        self.n_commands += 1;
                        self.check_command(question, n_ends);
                        self.end();
                    }
                }
                Key::Char(c) => {
                    if self.typed.is_empty() {
                        self.began = self.log.len() - 1;
                        self.gate.line_begins(n_keys);
                    }
                    self.typed.push(c);
                }
                _ => {}
            }
        }
    }

    fn next_page(&mut self) {
        let page = self.page();
        if page.to < page.of
            && let Ok(question) = self.gate.key(Reach::Page).copied()
        {
            self.n_paged += 1;
            self.from = page.to;
            self.gate.paged(self.page(), self.now());
            self.drawn(question, false);
        }
    }
}

// === What must hold ===

impl Caller {
    /// A key answers: everything that has to be true of the log that ends with it.
    #[track_caller]
    fn check_key(&self, question: Question) {
        let n_before = self.log.len() - 1;
        let Some((at, Fact::Read(text))) = self.log.last() else { panic!("{:#?}", self.log) };
        assert_eq!(*text, "y", "one key, read alone: {:#?}", self.log);
        assert!(
            !is_within_report(&self.log[..n_before]),
            "a late end of a report: {:#?}",
            self.log
        );
        self.check_stood(n_before, *at, question);
    }

    /// A command answers, with the end of a line that was the `n_ends`th in its reading: its first key came
    /// as an answer could have come, and nothing has changed since.
    #[track_caller]
    fn check_command(&self, question: Question, n_ends: usize) {
        assert_eq!(n_ends, 1, "behind the end of a line: {:#?}", self.log);
        let began = self.began;
        self.check_stood(began, self.log[began].0, question);
        let is_change = |(_, fact): &(u64, Fact)| !matches!(fact, Fact::Read(_));
        assert!(!self.log[began..].iter().any(is_change), "not as it was: {:#?}", self.log);
    }

    /// At `at_ms`, after the first `n_facts` of the log, the question stood there to be answered.
    #[track_caller]
    fn check_stood(&self, n_facts: usize, at_ms: u64, question: Question) {
        let log = &self.log[..n_facts];
        let is_screen = |(_, fact): &(u64, Fact)| !matches!(fact, Fact::Read(_));
        let Some((drawn_ms, Fact::Drawn { question: stood, page, .. })) =
            log.iter().rev().find(|it| is_screen(it))
        else {
            panic!("nothing stood there alone: {:#?}", self.log);
        };
        assert_eq!(*stood, question, "another one stood there: {:#?}", self.log);
        assert!(!self.is_shortened, "something was left out of it: {:#?}", self.log);
        assert!(MS_MIN <= at_ms - drawn_ms, "it had just come: {:#?}", self.log);
        let read = |(_, fact): &&(u64, Fact)| matches!(fact, Fact::Read(_));
        if let Some((read_ms, _)) = log.iter().rev().find(read) {
            assert!(MS_MIN <= at_ms - read_ms, "typed right before: {:#?}", self.log);
        }
        // Every row was on the screen since it was laid out like this, and the last one is.
        let laid_out =
            log.iter().rposition(|(_, it)| matches!(it, Fact::Drawn { is_new: true, .. })).unwrap();
        let is_seen = |row: usize| {
            log[laid_out..].iter().any(|(_, fact)| match fact {
                Fact::Drawn { page, .. } => (page.from..page.to).contains(&row),
                _ => false,
            })
        };
        assert!(page.to == page.of && (0..page.of).all(is_seen), "not all seen: {:#?}", self.log);
    }
}

/// Returns whether what was read ends within a report of the terminal.
fn is_within_report(log: &[(u64, Fact)]) -> bool {
    let (mut is_within, mut is_escape) = (false, false);
    for (_, fact) in log {
        let Fact::Read(text) = fact else { continue };
        for byte in text.bytes() {
            match byte {
                0x1b => (is_within, is_escape) = (true, true),
                b'[' if is_escape => is_escape = false,
                0x40..=0x7e | b'\r' => is_within = false,
                _ => {}
            }
        }
    }
    is_within
}

// === The tests ===

fn explore(caller: &Caller, depth: usize, n_answers: &mut [usize; 3]) {
    // Only what is read can be an answer, so the last act of an order is a reading.
    for act in ACTS.into_iter().filter(|act| 1 < depth || matches!(act, Act::Read(_))) {
        let mut next = caller.clone();
        next.act(act);
        let before = [caller.n_keys, caller.n_commands, caller.n_paged];
        let after = [next.n_keys, next.n_commands, next.n_paged];
        for (count, (after, before)) in n_answers.iter_mut().zip(after.into_iter().zip(before)) {
            *count += after - before;
        }
        if 1 < depth {
            explore(&next, depth - 1, n_answers);
        }
    }
}

#[test]
fn no_order_of_events_answers_what_was_not_read() {
    #[expect(clippy::disallowed_methods, reason = "tests: a longer run can be asked for")]
    let depth = std::env::var("GATE_DEPTH").ok().and_then(|it| it.parse().ok());
    let mut n_answers = [0; 3];
    explore(&Caller::new(), depth.unwrap_or(DEPTH_USUAL), &mut n_answers);
    // What never answers at all would be safe too.
    assert!(n_answers.iter().all(|count| 0 < *count), "{n_answers:?}");
}

/// Longer than every order can be tried.
#[test]
fn no_long_walk_answers_what_was_not_read() {
    let mut n_answers = [0; 3];
    for seed in 0..WALKS {
        let (mut caller, mut random) =
            (Caller::new(), seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..WALK_LENGTH {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let n_acts = u64::try_from(ACTS.len()).unwrap();
            caller.act(ACTS[usize::try_from(random % n_acts).unwrap()]);
        }
        for (count, more) in
            n_answers.iter_mut().zip([caller.n_keys, caller.n_commands, caller.n_paged])
        {
            *count += more;
        }
    }
    assert!(n_answers.iter().all(|count| 100 < *count), "{n_answers:?}");
}

/// Plays acts, and returns how many keys and how many commands have answered.
fn play(acts: &[Act]) -> (usize, usize) {
    let mut caller = Caller::new();
    for act in acts {
        caller.act(*act);
    }
    (caller.n_keys, caller.n_commands)
}

#[test]
fn what_a_person_means_as_an_answer_is_one() {
    use Act::{Ask, AskLong, AskShortened, Change, Print, Read, Redraw, Smaller, Wait};
    assert_eq!(play(&[Ask, Wait(800), Read("y")]), (1, 0));
    assert_eq!(play(&[Ask, Wait(300), Read("y"), Wait(800), Read("y")]), (1, 0));
    assert_eq!(play(&[Ask, Wait(800), Read("/"), Wait(300), Read("\r")]), (0, 1));
    assert_eq!(play(&[Ask, Wait(800), Read("/\r")]), (0, 1));
    assert_eq!(play(&[AskLong, Wait(800), Read("\r"), Wait(800), Read("y")]), (1, 0));
    assert_eq!(play(&[Ask, Print, Redraw, Wait(800), Read("y")]), (1, 0));
    assert_eq!(play(&[AskShortened, Wait(800), Read("y"), Change, Wait(800), Read("y")]), (1, 0));
    assert_eq!(play(&[Ask, Smaller, Wait(800), Read("\r"), Wait(800), Read("y")]), (1, 0));
    assert_eq!(
        play(&[Ask, Wait(800), Read(HEAD), Wait(800), Read("y"), Wait(800), Read("y")]),
        (1, 0)
    );
}

#[test]
fn why_something_is_no_answer() {
    let (second, whole) = (Duration::from_secs(1), Page { from: 0, to: 1, of: 1 });
    let mut gate = Gate::shut();
    gate.arrives(Arrival::Alone, second);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::NoQuestion));
    gate.stands("a", whole, 2 * second);
    gate.arrives(Arrival::Alone, 2 * second);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::JustShown));
    gate.arrives(Arrival::Alone, 2 * second + QUIET / 2);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::JustShown));
    gate.arrives(Arrival::Alone, 2 * second + QUIET);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::TypedBefore));
    assert!(gate.open(4 * second));
    gate.arrives(Arrival::Mixed, 4 * second);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::NotAlone));
    assert!(!gate.open(4 * second) && gate.open(5 * second));
    gate.arrives(Arrival::Alone, 5 * second);
    gate.line_begins(0);
    gate.drawn_again(5 * second);
    assert_eq!(gate.line_ends(Reach::Whole), Err(NotYet::BegunBefore));
    gate.stands("b", Page { of: 2, ..whole }, 6 * second);
    assert!(gate.open(7 * second));
    gate.arrives(Arrival::Alone, 7 * second);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::NotShownWhole));
    // One reading answers once.
    assert_eq!(gate.key(Reach::Page), Err(NotYet::TypedBefore));
    assert!(gate.open(8 * second));
    gate.arrives(Arrival::Alone, 8 * second);
    assert_eq!(gate.key(Reach::Page), Ok(&"b"));
    // What is left out was not read, however often what is left is drawn.
    gate.stands_shortened("c", whole, 9 * second);
    gate.drawn_again(10 * second);
    assert!(gate.open(11 * second));
    gate.arrives(Arrival::Alone, 11 * second);
    gate.line_begins(0);
    assert_eq!(gate.key(Reach::Whole), Err(NotYet::Shortened));
    assert_eq!(gate.line_ends(Reach::Whole), Err(NotYet::Shortened));
    assert!(gate.open(12 * second));
    gate.arrives(Arrival::Alone, 12 * second);
    assert_eq!(gate.key(Reach::Page), Ok(&"c"));
}
