//! Bytes of a terminal, read as keys.
//!
//! What a key does is not known here. Whatever is no key that somebody pressed — reports of the
//! terminal, sequences that nobody knows — is read to its end and dropped.

mod sequence;

use sequence::Sequence;

/// The most that is taken of one paste.
pub const PASTE_BYTES_MAX: usize = 8 << 20;
const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Something that was done at the keyboard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A letter with Control, in lower case, or one of `@[\]^_`.
    Ctrl(char),
    /// A character with Alt, or after Escape.
    Alt(char),
    /// Enter.
    Enter,
    /// Enter with Alt, Shift or Control: a line break that sends nothing.
    LineBreak,
    /// Tab.
    Tab,
    /// Tab with Shift.
    BackTab,
    /// The key that removes what is before the cursor.
    Backspace,
    /// The same with Alt or Control: a whole word.
    WordBackspace,
    /// The key that removes what is under the cursor.
    Delete,
    /// A step.
    Left,
    /// A step.
    Right,
    /// A step.
    Up,
    /// A step.
    Down,
    /// A word.
    WordLeft,
    /// A word.
    WordRight,
    /// The beginning of the line.
    Home,
    /// The end of the line.
    End,
    /// Escape alone.
    Escape,
    /// What was pasted, with `\n` as the only end of a line.
    Paste(String),
    /// A paste of more than [`PASTE_BYTES_MAX`], of which nothing is kept.
    PasteTooLong,
    /// What was done with a mouse, at a column and row of the screen from zero; only where it was
    /// [asked for](Decoder::with_mouse).
    Mouse(Mouse, (u16, u16)),
}

/// What was done with a mouse.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mouse {
    /// The main button was pressed.
    Press,
    /// The wheel was turned.
    WheelUp,
    /// The wheel was turned.
    WheelDown,
}

/// What one reading of the terminal brought.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Piece {
    /// The keys that it completed, in order.
    pub keys: Vec<Key>,
    /// Whether it was exactly one key and nothing else: no report, no part of anything.
    pub is_alone: bool,
}

/// Reads keys out of bytes that come in any pieces.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    state: State,
    /// Whether a sequence was waited for in vain; its end may still come.
    is_late: bool,
    /// Whether what comes next may be the rest of a report that was waited for in vain.
    is_doubtful: bool,
    /// Whether the last thing was an Escape that was taken for a key because nothing followed.
    was_escape: bool,
    /// How many things were read that are no keys.
    n_dropped: usize,
    /// What becomes of reports of a mouse.
    mouse: MouseReports,
}

/// What becomes of reports of a mouse.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum MouseReports {
    #[default]
    Dropped,
    Taken,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Ground,
    /// A character whose bytes are not all there.
    Utf8(Vec<u8>),
    /// After Escape.
    Escape,
    Sequence(Sequence),
    /// Within a paste.
    Paste(Vec<u8>),
    /// Within a paste that is too long; what is kept are the last bytes, to find its end.
    LongPaste(Vec<u8>),
}

impl Decoder {
    /// Takes reports of a mouse too, in the form that `ESC [ ? 1006 h` asks for.
    pub fn with_mouse() -> Self {
        Self { mouse: MouseReports::Taken, ..Self::default() }
    }

    /// Takes the bytes of one reading.
    ///
    /// SECURITY: a report of the terminal may end with the letter that approves, and that letter may
    /// come late. It is not a key that somebody pressed, so nothing of it is ever [alone](Piece).
    pub fn read(&mut self, bytes: &[u8]) -> Piece {
        let (was_between, n_dropped) = (self.is_between(), self.n_dropped);
        let keys = self.feed(bytes);
        let is_all = self.is_between() && self.n_dropped == n_dropped;
        Piece { is_alone: was_between && is_all && keys.len() == 1, keys }
    }

    /// Returns whether what comes next is surely no part of what came before.
    fn is_between(&self) -> bool {
        matches!(self.state, State::Ground) && !self.is_doubtful
    }

    /// Takes bytes, and returns the keys that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        for byte in bytes {
            keys.extend(self.byte(*byte));
        }
        keys
    }

    /// Returns whether an Escape waits for what may follow it.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Escape | State::Sequence(_)) && !self.is_late
    }

    /// Gives up waiting: an Escape that nothing followed was pressed alone.
    ///
    /// The end of a sequence that has begun is still taken for its end whenever it comes. A report of
    /// any length is not, because a person may have pressed what begins one; until the end of a line
    /// nothing is [alone](Piece) then.
    pub fn give_up(&mut self) -> Option<Key> {
        match std::mem::take(&mut self.state) {
            State::Escape => {
                self.was_escape = true;
                Some(Key::Escape)
            }
            State::Sequence(sequence) if sequence.is_report() => {
                self.n_dropped += 1;
                self.is_doubtful = true;
                None
            }
            state @ State::Sequence(_) => {
                self.state = state;
                self.is_late = true;
                None
            }
            state @ (State::Ground | State::Utf8(_) | State::Paste(_) | State::LongPaste(_)) => {
                self.state = state;
                None
            }
        }
    }

    fn byte(&mut self, byte: u8) -> Option<Key> {
        let was_late = std::mem::take(&mut self.is_late);
        match std::mem::take(&mut self.state) {
            State::Ground => self.ground(byte),
            State::Utf8(mut bytes) => {
                if byte & 0xc0 != 0x80 {
                    // What came before was no character.
                    self.n_dropped += 1;
                    return self.ground(byte);
                }
                bytes.push(byte);
                self.utf8(bytes)
            }
            State::Escape => self.after_escape(byte),
            // Whoever presses Control-C means it, whatever was begun before.
            State::Sequence(_) if was_late && byte < 0x20 && byte != ESCAPE => {
                self.n_dropped += 1;
                self.ground(byte)
            }
            State::Sequence(sequence) => match sequence.byte(byte) {
                sequence::Step::More(sequence) => {
                    self.state = State::Sequence(sequence);
                    self.is_late = was_late;
                    None
                }
                sequence::Step::Paste => {
                    self.state = State::Paste(Vec::new());
                    None
                }
                sequence::Step::Key(Some(Key::Mouse(..)))
                    if self.mouse == MouseReports::Dropped =>
                {
                    self.or_dropped(None)
                }
                sequence::Step::Key(key) => self.or_dropped(key),
                sequence::Step::Escape => {
                    self.n_dropped += 1;
                    self.state = State::Escape;
                    None
                }
            },
            State::Paste(bytes) => self.paste(bytes, byte),
            State::LongPaste(mut last) => {
                last.push(byte);
                if last.ends_with(PASTE_END) {
                    return Some(Key::PasteTooLong);
                }
                if PASTE_END.len() <= last.len() {
                    last.remove(0);
                }
                self.state = State::LongPaste(last);
                None
            }
        }
    }

    fn ground(&mut self, byte: u8) -> Option<Key> {
        // What followed the Escape may be late.
        self.is_doubtful |= std::mem::take(&mut self.was_escape) && is_introducer(byte);
        match byte {
            ESCAPE => {
                self.state = State::Escape;
                None
            }
            b'\r' => {
                // No report holds the end of a line.
                self.is_doubtful = false;
                Some(Key::Enter)
            }
            // What a terminal sends for Control-J, and for Enter if it does not translate.
            b'\n' => Some(Key::LineBreak),
            b'\t' => Some(Key::Tab),
            0x7f | 0x08 => Some(Key::Backspace),
            0..=0x1f => Some(Key::Ctrl(char::from(byte | 0x40).to_ascii_lowercase())),
            0x20..=0x7e => Some(Key::Char(char::from(byte))),
            _ => self.utf8(vec![byte]),
        }
    }

    fn utf8(&mut self, bytes: Vec<u8>) -> Option<Key> {
        match std::str::from_utf8(&bytes) {
            // Controls of the second kind are no keys.
            Ok(text) => {
                self.or_dropped(text.chars().next().filter(|c| !c.is_control()).map(Key::Char))
            }
            Err(error) if error.error_len().is_none() => {
                self.state = State::Utf8(bytes);
                None
            }
            Err(_) => self.or_dropped(None),
        }
    }

    /// Counts what is no key.
    fn or_dropped(&mut self, key: Option<Key>) -> Option<Key> {
        self.n_dropped += usize::from(key.is_none());
        key
    }

    fn after_escape(&mut self, byte: u8) -> Option<Key> {
        match byte {
            byte if is_introducer(byte) => {
                self.state = State::Sequence(Sequence::new(byte));
                None
            }
            ESCAPE => {
                self.state = State::Escape;
                Some(Key::Escape)
            }
            b'\r' | b'\n' => Some(Key::LineBreak),
            0x7f | 0x08 => Some(Key::WordBackspace),
            0x20..=0x7e => Some(Key::Alt(char::from(byte))),
            _ => self.or_dropped(None),
        }
    }

    fn paste(&mut self, mut bytes: Vec<u8>, byte: u8) -> Option<Key> {
        bytes.push(byte);
        if bytes.ends_with(PASTE_END) {
            bytes.truncate(bytes.len() - PASTE_END.len());
            return Some(Key::Paste(pasted(&bytes)));
        }
        self.state = match bytes.len() <= PASTE_BYTES_MAX + PASTE_END.len() {
            true => State::Paste(bytes),
            false => State::LongPaste(bytes.split_off(bytes.len() - PASTE_END.len())),
        };
        None
    }
}

/// Returns whether an Escape and this byte begin a sequence.
fn is_introducer(byte: u8) -> bool {
    matches!(byte, b'[' | b'O' | b']' | b'P' | b'_' | b'^' | b'X')
}

fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests;
