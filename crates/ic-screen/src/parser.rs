//! Bytes of a program, taken apart into characters, controls and sequences.
//!
//! What any of them does is not known here, and none is kept longer than it takes to reach its end. A string
//! (OSC, DCS, APC, PM, SOS) is read to its end however long it is; of an OSC the first bytes are kept.

/// How many parameters of a sequence are looked at; one with more is not understood.
pub const PARAMETERS_MAX: usize = 24;
/// How much of an OSC is kept, which is more than any that is understood has.
const COMMAND_BYTES_MAX: usize = 64;

const ESCAPE: u8 = 0x1b;

/// Whoever is told what the bytes are.
pub trait Sink {
    /// Printable characters of ASCII.
    fn ascii(&mut self, run: &[u8]);
    /// Another character, which may be a control of the second kind.
    fn character(&mut self, character: char);
    /// A control of the first kind.
    fn control(&mut self, byte: u8);
    /// ESC, with a byte between or 0, and its end.
    fn escape(&mut self, between: u8, end: u8);
    /// A control sequence.
    fn sequence(&mut self, sequence: &Sequence, end: u8);
    /// A sequence of more than can be understood.
    fn overlong(&mut self);
    /// An operating system command; what is kept of it.
    fn command(&mut self, text: &[u8]);
    /// Another string, by the byte that introduced it.
    fn string(&mut self, introducer: u8);
    /// Bytes that are no UTF-8.
    fn not_utf8(&mut self);
}

/// A control sequence without its end.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sequence {
    /// One of `<=>?`, or 0.
    pub prefix: u8,
    /// What stands before its end, or 0.
    pub between: u8,
    parameters: [u16; PARAMETERS_MAX],
    /// Which of them belong to the one before (after a colon).
    is_part: u32,
    n_parameters: usize,
    is_overlong: bool,
}

/// Takes bytes apart that come in any pieces.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    state: State,
    /// The sequence that has begun.
    sequence: Sequence,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Ground,
    /// Within a character: what it is so far, how many bytes are missing, the least that it may be.
    Utf8(u32, u8, u32),
    /// After ESC, with a byte between or 0.
    Escape(u8),
    /// After ESC with more than one byte between: to be dropped with its end.
    LongEscape,
    /// Within a control sequence, which is kept beside.
    Sequence,
    /// Within an OSC.
    Command(Vec<u8>),
    /// Within another string.
    String(u8),
}

impl Sequence {
    /// Returns a parameter, or what stands for it if it is missing or 0.
    pub fn or(&self, at: usize, usual: u16) -> u16 {
        match self.get(at) {
            0 => usual,
            value => value,
        }
    }

    /// Returns a parameter; 0 if it is missing.
    pub fn get(&self, at: usize) -> u16 {
        self.parameters.get(at).copied().filter(|_| at < self.n_parameters).unwrap_or(0)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.n_parameters
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n_parameters == 0
    }

    /// Returns whether a parameter belongs to the one before.
    pub fn is_part(&self, at: usize) -> bool {
        at < 32 && self.is_part & (1 << at) != 0
    }

    fn digit(&mut self, digit: u8) {
        if self.n_parameters == 0 {
            self.n_parameters = 1;
        }
        if let Some(last) = self.parameters.get_mut(self.n_parameters - 1) {
            *last = last.saturating_mul(10).saturating_add(digit.into());
        }
    }

    fn next(&mut self, is_part: bool) {
        if self.n_parameters == 0 {
            self.n_parameters = 1;
        }
        if PARAMETERS_MAX <= self.n_parameters {
            self.is_overlong = true;
            return;
        }
        if is_part {
            self.is_part |= 1 << self.n_parameters;
        }
        self.n_parameters += 1;
    }
}

impl Parser {
    /// Takes bytes, and tells what they are.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl Sink) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if matches!(self.state, State::Ground) {
                let n_plain = bytes.iter().take_while(|it| matches!(it, 0x20..=0x7e)).count();
                if 0 < n_plain {
                    let (plain, rest) = bytes.split_at(n_plain);
                    sink.ascii(plain);
                    bytes = rest;
                    continue;
                }
                if let Some((character, n_bytes)) = whole_character(bytes) {
                    sink.character(character);
                    bytes = bytes.get(n_bytes..).unwrap_or_default();
                    continue;
                }
            }
            self.byte(byte, sink);
            bytes = rest;
        }
    }

    fn byte(&mut self, byte: u8, sink: &mut impl Sink) {
        match std::mem::take(&mut self.state) {
            State::Ground => self.ground(byte, sink),
            State::Utf8(value, n_missing, least) => {
                if byte & 0xc0 != 0x80 {
                    // What was begun is no character; this may begin another.
                    sink.not_utf8();
                    return self.ground(byte, sink);
                }
                let value = value << 6 | u32::from(byte & 0x3f);
                if 1 < n_missing {
                    self.state = State::Utf8(value, n_missing - 1, least);
                    return;
                }
                match char::from_u32(value).filter(|_| least <= value) {
                    Some(character) => sink.character(character),
                    None => sink.not_utf8(),
                }
            }
            State::Escape(between) => self.escape(between, byte, sink),
            State::LongEscape => match byte {
                0x20..=0x2f => self.state = State::LongEscape,
                0x30..=0x7e => sink.overlong(),
                _ => self.interrupted(byte, sink),
            },
            State::Sequence => self.sequence(byte, sink),
            State::Command(mut text) => match byte {
                0x07 | 0x18 | 0x1a => sink.command(&text),
                ESCAPE => {
                    // The end is ESC \, whose second byte does nothing by itself.
                    sink.command(&text);
                    self.state = State::Escape(0);
                }
                _ => {
                    if text.len() < COMMAND_BYTES_MAX {
                        text.push(byte);
                    }
                    self.state = State::Command(text);
                }
            },
            State::String(introducer) => match byte {
                0x18 | 0x1a => sink.string(introducer),
                ESCAPE => {
                    sink.string(introducer);
                    self.state = State::Escape(0);
                }
                _ => self.state = State::String(introducer),
            },
        }
    }

    fn ground(&mut self, byte: u8, sink: &mut impl Sink) {
        let begun = |value: u8, n_missing, least| State::Utf8(value.into(), n_missing, least);
        match byte {
            ESCAPE => self.state = State::Escape(0),
            0x20..=0x7e => sink.ascii(&[byte]),
            0..=0x1f | 0x7f => sink.control(byte),
            0xc2..=0xdf => self.state = begun(byte & 0x1f, 1, 0x80),
            0xe0..=0xef => self.state = begun(byte & 0x0f, 2, 0x800),
            0xf0..=0xf4 => self.state = begun(byte & 0x07, 3, 0x1_0000),
            // SECURITY: 8-bit controls are none here, as in a terminal that speaks UTF-8.
            _ => sink.not_utf8(),
        }
    }

    fn escape(&mut self, between: u8, byte: u8, sink: &mut impl Sink) {
        match (between, byte) {
            (0, b'[') => {
                self.sequence = Sequence::default();
                self.state = State::Sequence;
            }
            (0, b']') => self.state = State::Command(Vec::new()),
            (0, b'P' | b'X' | b'^' | b'_') => self.state = State::String(byte),
            // The end of a string, which has ended by now.
            (0, b'\\') => {}
            (0, 0x20..=0x2f) => self.state = State::Escape(byte),
            (_, 0x20..=0x2f) => self.state = State::LongEscape,
            (_, 0x30..=0x7e) => sink.escape(between, byte),
            _ => self.interrupted(byte, sink),
        }
    }

    fn sequence(&mut self, byte: u8, sink: &mut impl Sink) {
        let sequence = &mut self.sequence;
        match byte {
            b'0'..=b'9' if sequence.between == 0 => sequence.digit(byte - b'0'),
            b';' if sequence.between == 0 => sequence.next(false),
            b':' if sequence.between == 0 => sequence.next(true),
            b'<'..=b'?' if sequence.is_empty() && sequence.prefix == 0 && sequence.between == 0 => {
                sequence.prefix = byte;
            }
            0x20..=0x2f if sequence.between == 0 => sequence.between = byte,
            0x20..=0x3f => sequence.is_overlong = true,
            0x40..=0x7e if sequence.is_overlong => return sink.overlong(),
            0x40..=0x7e => return sink.sequence(sequence, byte),
            // As in a terminal, these happen at once, and the sequence goes on.
            0x08..=0x0d => sink.control(byte),
            _ => return self.interrupted(byte, sink),
        }
        self.state = State::Sequence;
    }

    /// Drops what was begun, and goes on with a byte that does not belong to it.
    fn interrupted(&mut self, byte: u8, sink: &mut impl Sink) {
        sink.overlong();
        match byte {
            // They cancel, and nothing else.
            0x18 | 0x1a => {}
            _ => self.ground(byte, sink),
        }
    }
}

/// Reads a character of two to four bytes that is there as a whole; anything else goes byte by byte.
fn whole_character(bytes: &[u8]) -> Option<(char, usize)> {
    let part = |at: usize| {
        let byte = *bytes.get(at)?;
        (byte & 0xc0 == 0x80).then_some(u32::from(byte & 0x3f))
    };
    let first = *bytes.first()?;
    let (value, least, n_bytes) = match first {
        0xc2..=0xdf => (u32::from(first & 0x1f) << 6 | part(1)?, 0x80, 2),
        0xe0..=0xef => (u32::from(first & 0x0f) << 12 | part(1)? << 6 | part(2)?, 0x800, 3),
        0xf0..=0xf4 => {
            let value = u32::from(first & 0x07) << 18 | part(1)? << 12 | part(2)? << 6 | part(3)?;
            (value, 0x1_0000, 4)
        }
        _ => return None,
    };
    Some((char::from_u32(value).filter(|_| least <= value)?, n_bytes))
}
