//! What follows an Escape: a sequence that is a key, the beginning of a paste, or nothing that we know.

use super::{Key, Mouse};

/// The longest sequence that is looked at; of a longer one the rest is dropped too.
const BYTES_MAX: usize = 64;
/// The longest report that is waited for; after that, what comes is taken for keys again.
const REPORT_BYTES_MAX: usize = 64 << 10;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// A sequence of which more may come.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    kind: Kind,
    bytes: Vec<u8>,
    n_bytes: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// `ESC [`: parameters, then a final byte.
    Csi,
    /// `ESC O`: one byte.
    Ss3,
    /// `ESC [ M` or `ESC [ [`: so many bytes of any value, of a mouse or of a console's own keys.
    Raw { n_left: usize },
    /// A text of the terminal's, up to its end; whether the byte before was an Escape.
    Report { is_escaped: bool },
}

/// What a byte makes of a sequence.
#[derive(Debug)]
pub(super) enum Step {
    /// It goes on.
    More(Sequence),
    /// It is a key, or none that we know.
    Key(Option<Key>),
    /// A paste begins.
    Paste,
    /// It was broken off, and another begins.
    Escape,
}

impl Sequence {
    pub(super) fn new(introducer: u8) -> Self {
        let kind = match introducer {
            b'[' => Kind::Csi,
            b'O' => Kind::Ss3,
            _ => Kind::Report { is_escaped: false },
        };
        Self { kind, bytes: Vec::new(), n_bytes: 0 }
    }

    /// Returns whether it is a text that goes on up to its own end.
    pub(super) fn is_report(&self) -> bool {
        matches!(self.kind, Kind::Report { .. })
    }

    pub(super) fn byte(mut self, byte: u8) -> Step {
        self.n_bytes += 1;
        match self.kind {
            Kind::Report { is_escaped } => {
                let is_over = byte == BELL || (is_escaped && byte == b'\\');
                if is_over || REPORT_BYTES_MAX < self.n_bytes {
                    return Step::Key(None);
                }
                self.kind = Kind::Report { is_escaped: byte == ESCAPE };
                Step::More(self)
            }
            Kind::Raw { n_left: 0 | 1 } => Step::Key(None),
            Kind::Raw { n_left } => {
                self.kind = Kind::Raw { n_left: n_left - 1 };
                Step::More(self)
            }
            Kind::Csi | Kind::Ss3 if byte == ESCAPE => Step::Escape,
            Kind::Ss3 => Step::Key(by_letter(byte, Modifiers::default())),
            Kind::Csi => match byte {
                0x20..=0x3f => {
                    if self.bytes.len() < BYTES_MAX {
                        self.bytes.push(byte);
                    }
                    Step::More(self)
                }
                0x40..=0x7e => self.csi(byte),
                // A control within a sequence breaks it off.
                _ => Step::Key(None),
            },
        }
    }

    fn csi(mut self, last: u8) -> Step {
        match (last, self.bytes.is_empty()) {
            (b'M', true) => {
                self.kind = Kind::Raw { n_left: 3 };
                return Step::More(self);
            }
            (b'[', true) => {
                self.kind = Kind::Raw { n_left: 1 };
                return Step::More(self);
            }
            (b'M' | b'm', false) if self.bytes.starts_with(b"<") => {
                return Step::Key(mouse(&self.bytes, last));
            }
            // A mouse; Enter is `ESC O M`.
            (b'M', false) => return Step::Key(None),
            _ => {}
        }
        let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
        let mut numbers = text.split(';').map(|it| it.parse::<u32>().unwrap_or(0));
        let first = numbers.next().unwrap_or(0);
        let modifiers = Modifiers::of(numbers.next().unwrap_or(0));
        match (last, first) {
            (b'~', 200) => Step::Paste,
            (b'~', 27) => Step::Key(by_code(numbers.next().unwrap_or(0), modifiers)),
            (b'~', _) => Step::Key(by_number(first, modifiers)),
            (b'u', _) => Step::Key(by_code(first, modifiers)),
            _ => Step::Key(by_letter(last, modifiers)),
        }
    }
}

/// Reads `<button;column;row`, which end with `m` when a button is let go.
///
/// Whatever else was held down or moved is nothing that we know.
fn mouse(bytes: &[u8], last: u8) -> Option<Key> {
    let text = std::str::from_utf8(bytes).ok()?.strip_prefix('<')?;
    let mut numbers = text.split(';').map(str::parse::<u16>);
    let mut number = || numbers.next()?.ok();
    let (button, column, row) = (number()?, number()?, number()?);
    let what = match (button, last) {
        (0, b'M') => Mouse::Press,
        (64, b'M') => Mouse::WheelUp,
        (65, b'M') => Mouse::WheelDown,
        _ => return None,
    };
    let is_over = numbers.next().is_none();
    is_over.then_some(Key::Mouse(what, (column.checked_sub(1)?, row.checked_sub(1)?)))
}

/// What was held down with a key.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl Modifiers {
    /// Reads the number that terminals send, which is one more than its bits.
    fn of(number: u32) -> Self {
        let bits = number.saturating_sub(1);
        Self { shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 }
    }

    fn is_word(self) -> bool {
        self.alt || self.ctrl
    }
}

fn by_letter(letter: u8, modifiers: Modifiers) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if modifiers.is_word() => Key::WordRight,
        b'C' => Key::Right,
        b'D' if modifiers.is_word() => Key::WordLeft,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

fn by_number(number: u32, modifiers: Modifiers) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Home,
        4 | 8 => Key::End,
        3 if modifiers.is_word() => Key::Alt('d'),
        3 => Key::Delete,
        _ => return None,
    })
}

/// Reads a key that is sent as the number of its character.
fn by_code(code: u32, modifiers: Modifiers) -> Option<Key> {
    let Modifiers { shift, alt, ctrl } = modifiers;
    Some(match char::from_u32(code)? {
        '\r' if shift || alt || ctrl => Key::LineBreak,
        '\r' => Key::Enter,
        '\t' if shift => Key::BackTab,
        '\t' => Key::Tab,
        '\x1b' => Key::Escape,
        '\x7f' | '\x08' if alt || ctrl => Key::WordBackspace,
        '\x7f' | '\x08' => Key::Backspace,
        c if c.is_control() => return None,
        c if ctrl && (c.is_ascii_alphabetic() || "@[\\]^_".contains(c)) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        // Nobody knows what any other character means with Control.
        _ if ctrl => return None,
        c if alt => Key::Alt(c),
        c => Key::Char(c),
    })
}
