//! Bytes of a keyboard, told apart: what goes to the program, what is for us, what the terminal reports.
//!
//! ```text
//! keys, mouse, focus ─▶ the program        Control-]            ─▶ the question
//! what is pasted     ─▶ the program        Control-\ twice      ─▶ the end
//! reports            ─▶ us alone           Control-\, then d    ─▶ detach
//! ```
//!
//! Keys go on as they came, because the terminal is in the modes that the program has set. Time is handed in:
//! how long it is since some moment that the caller chose.

mod sequence;

use std::time::Duration;

use self::sequence::{Meaning, meaning};

/// How long a sequence is waited for whose beginning came alone.
const SEQUENCE_WAIT: Duration = Duration::from_millis(25);
/// How long the second of two keys may take.
pub const TWICE_WITHIN: Duration = Duration::from_secs(1);
/// How long a sequence may be; a longer one is none.
const SEQUENCE_BYTES_MAX: usize = 256;
const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Something that came from the keyboard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Keys, as the terminal sent them.
    Typed(Vec<u8>),
    /// A paste begins.
    PasteBegins,
    /// What was pasted.
    Pasted(Vec<u8>),
    /// A paste has ended.
    PasteEnds,
    /// What the mouse did, and in which row, counted from 1.
    Mouse(Vec<u8>, usize),
    /// The window is looked at, or is not any more.
    Focus(Vec<u8>),
    /// What the terminal says of itself; never for the program.
    Report(Report),
    /// Control-]: the question.
    Decide,
    /// Control-\ twice: the end.
    End,
    /// Control-\ and d: leave, and let it go on.
    Detach,
}

/// What a terminal says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Report {
    /// It has the keyboard protocol of kitty.
    HasKeyboard,
    /// The colour of its text.
    TextColour(u8, u8, u8),
    /// The colour behind its text.
    GroundColour(u8, u8, u8),
    /// Something that nobody here asked for.
    Other,
}

/// Tells apart what comes from a keyboard, in any pieces.
#[derive(Debug, Default)]
pub struct Input {
    state: State,
    /// A sequence that has begun.
    pending: Vec<u8>,
    /// How much of it has gone to the program already.
    n_sent: usize,
    /// When its last byte came.
    since: Duration,
    /// Control-\, which waits for what is typed next.
    prefix: Option<(Vec<u8>, Duration)>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After ESC O.
    Single,
    Sequence,
    /// Within a string (OSC and its like), and whether ESC came.
    String(bool),
    Paste,
}

impl Input {
    /// Takes what was read.
    pub fn read(&mut self, bytes: &[u8], now: Duration) -> Vec<Piece> {
        let mut pieces = self.wait(now);
        self.since = now;
        for byte in bytes {
            self.byte(*byte, now, &mut pieces);
        }
        if self.state == State::Paste {
            self.paste_so_far(&mut pieces);
        }
        pieces
    }

    /// Returns when [`wait`](Self::wait) is to be called.
    pub fn waits_until(&self) -> Option<Duration> {
        let is_begun = !matches!(self.state, State::Ground | State::Paste);
        let is_unsent = is_begun && self.n_sent < self.pending.len();
        let sequence = is_unsent.then_some(self.since + SEQUENCE_WAIT);
        let prefix = self.prefix.as_ref().map(|(_, at)| *at + TWICE_WITHIN);
        [sequence, prefix].into_iter().flatten().min()
    }

    /// Gives up what was waited for in vain.
    pub fn wait(&mut self, now: Duration) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.prefix.as_ref().is_some_and(|(_, at)| *at + TWICE_WITHIN <= now) {
            self.give_prefix(&mut pieces);
        }
        let is_begun = !matches!(self.state, State::Ground | State::Paste);
        if is_begun && self.n_sent < self.pending.len() && self.since + SEQUENCE_WAIT <= now {
            match self.state {
                // Escape alone, or a key with Alt that looks like the beginning of a sequence.
                State::Escape => self.give_up(&mut pieces),
                State::Single | State::Sequence | State::String(false)
                    if self.pending.len() <= 2 =>
                {
                    self.give_up(&mut pieces);
                }
                // The rest may come late, and may say that a paste begins.
                State::Single | State::Sequence => {
                    let unsent = self.pending.get(self.n_sent..).unwrap_or_default().to_vec();
                    self.n_sent = self.pending.len();
                    self.typed(unsent, &mut pieces);
                }
                // The rest of a report is waited for; the program gets none of it.
                State::String(_) | State::Ground | State::Paste => {}
            }
        }
        pieces
    }

    /// Sends what was begun as keys, and begins anew.
    fn give_up(&mut self, pieces: &mut Vec<Piece>) {
        let unsent = self.pending.split_off(self.n_sent.min(self.pending.len()));
        self.clear();
        self.typed(unsent, pieces);
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.n_sent = 0;
        self.state = State::Ground;
    }

    fn byte(&mut self, byte: u8, now: Duration, pieces: &mut Vec<Piece>) {
        match self.state {
            State::Ground => self.ground(byte, now, pieces),
            State::Paste => {
                self.pending.push(byte);
                if self.pending.ends_with(PASTE_END) {
                    self.pending.truncate(self.pending.len() - PASTE_END.len());
                    // Whatever it ends with, it is not the beginning of another end.
                    let pasted = std::mem::take(&mut self.pending);
                    if !pasted.is_empty() {
                        pieces.push(Piece::Pasted(pasted));
                    }
                    self.clear();
                    pieces.push(Piece::PasteEnds);
                }
            }
            State::Escape => {
                match byte {
                    ESCAPE => {
                        // One was pressed alone, and this may begin something.
                        self.give_up(pieces);
                        return self.ground(byte, now, pieces);
                    }
                    // These are for us wherever they stand.
                    0x1c | 0x1d => {
                        self.give_up(pieces);
                        return self.ground(byte, now, pieces);
                    }
                    b'[' => self.state = State::Sequence,
                    b'O' => self.state = State::Single,
                    b']' | b'P' | b'_' | b'^' | b'X' => self.state = State::String(false),
                    _ => {
                        self.pending.push(byte);
                        return self.give_up(pieces);
                    }
                }
                self.pending.push(byte);
            }
            State::Single if byte < 0x20 => {
                self.give_up(pieces);
                self.ground(byte, now, pieces);
            }
            State::Single => {
                self.pending.push(byte);
                self.give_up(pieces);
            }
            State::Sequence => self.sequence(byte, now, pieces),
            State::String(is_ending) => self.string(is_ending, byte, now, pieces),
        }
    }

    fn ground(&mut self, byte: u8, now: Duration, pieces: &mut Vec<Piece>) {
        match byte {
            ESCAPE => {
                self.pending.push(byte);
                self.state = State::Escape;
            }
            0x1c => self.backslash(vec![byte], now, pieces),
            0x1d => self.decide(pieces),
            b'd' if self.prefix.take().is_some() => pieces.push(Piece::Detach),
            _ => self.typed(vec![byte], pieces),
        }
    }

    fn sequence(&mut self, byte: u8, now: Duration, pieces: &mut Vec<Piece>) {
        // Something else was begun before this one ended.
        if !(0x20..=0x7e).contains(&byte) {
            self.give_up(pieces);
            return self.ground(byte, now, pieces);
        }
        self.pending.push(byte);
        // A function key of the Linux console is `ESC [ [ A`.
        let is_console = self.pending.len() == 3 && byte == b'[';
        if !(0x40..=0x7e).contains(&byte) || is_console {
            if SEQUENCE_BYTES_MAX < self.pending.len() {
                self.give_up(pieces);
            }
            return;
        }
        let sequence = std::mem::take(&mut self.pending);
        let n_sent = std::mem::replace(&mut self.n_sent, 0);
        self.state = State::Ground;
        let rest = || sequence.get(n_sent..).unwrap_or_default().to_vec();
        match meaning(&sequence) {
            // Does not come between two keys.
            Meaning::Modifier => pieces.push(Piece::Typed(rest())),
            Meaning::PasteBegins => {
                self.give_prefix(pieces);
                self.state = State::Paste;
                pieces.push(Piece::PasteBegins);
            }
            Meaning::Backslash => self.backslash(sequence, now, pieces),
            Meaning::Bracket => self.decide(pieces),
            // The end of a key that is for us.
            Meaning::Released => {}
            Meaning::LetterD if self.prefix.take().is_some() => pieces.push(Piece::Detach),
            Meaning::Key | Meaning::LetterD => self.typed(rest(), pieces),
            Meaning::Focus => pieces.push(Piece::Focus(sequence)),
            Meaning::Mouse(row) => pieces.push(Piece::Mouse(sequence, row)),
            Meaning::Report(report) => pieces.push(Piece::Report(report)),
        }
    }

    fn string(&mut self, is_ending: bool, byte: u8, now: Duration, pieces: &mut Vec<Piece>) {
        let is_over = byte == 0x07 || (is_ending && byte == b'\\');
        if is_over {
            let report = sequence::colour(&self.pending).unwrap_or(Report::Other);
            self.clear();
            return pieces.push(Piece::Report(report));
        }
        if is_ending || byte < 0x20 && byte != ESCAPE {
            // It is no report: whoever types something else meanwhile means it.
            self.clear();
            pieces.push(Piece::Report(Report::Other));
            if is_ending {
                self.pending.push(ESCAPE);
                self.state = State::Escape;
                return self.byte(byte, now, pieces);
            }
            return self.ground(byte, now, pieces);
        }
        self.state = State::String(byte == ESCAPE);
        if byte != ESCAPE {
            self.pending.push(byte);
        }
        if SEQUENCE_BYTES_MAX < self.pending.len() {
            self.clear();
            pieces.push(Piece::Report(Report::Other));
        }
    }

    fn decide(&mut self, pieces: &mut Vec<Piece>) {
        self.give_prefix(pieces);
        pieces.push(Piece::Decide);
    }

    fn backslash(&mut self, bytes: Vec<u8>, now: Duration, pieces: &mut Vec<Piece>) {
        match self.prefix.take() {
            Some(_) => pieces.push(Piece::End),
            None => self.prefix = Some((bytes, now)),
        }
    }

    /// Sends the key that waited, because it was meant for the program.
    fn give_prefix(&mut self, pieces: &mut Vec<Piece>) {
        if let Some((bytes, _)) = self.prefix.take() {
            pieces.push(Piece::Typed(bytes));
        }
    }

    fn typed(&mut self, bytes: Vec<u8>, pieces: &mut Vec<Piece>) {
        if bytes.is_empty() {
            return;
        }
        self.give_prefix(pieces);
        match pieces.last_mut() {
            Some(Piece::Typed(before)) => before.extend(bytes),
            _ => pieces.push(Piece::Typed(bytes)),
        }
    }

    /// Gives what was pasted, but for what may be the beginning of its end.
    fn paste_so_far(&mut self, pieces: &mut Vec<Piece>) {
        let n_kept = (1..PASTE_END.len())
            .rev()
            .find(|n| PASTE_END.get(..*n).is_some_and(|begun| self.pending.ends_with(begun)))
            .unwrap_or(0);
        let kept = self.pending.split_off(self.pending.len() - n_kept);
        let pasted = std::mem::replace(&mut self.pending, kept);
        if !pasted.is_empty() {
            pieces.push(Piece::Pasted(pasted));
        }
    }
}

#[cfg(test)]
mod tests;
