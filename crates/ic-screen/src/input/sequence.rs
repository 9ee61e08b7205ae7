//! What a whole sequence of a keyboard means.

use super::Report;

/// What a sequence means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    /// A key for the program.
    Key,
    /// A key that was let go, or Control, Shift and their like.
    Modifier,
    PasteBegins,
    /// Control-\.
    Backslash,
    /// Control-].
    Bracket,
    /// A key that is for us was let go, or is held.
    Released,
    LetterD,
    Focus,
    /// The mouse, in a row counted from 1.
    Mouse(usize),
    Report(Report),
}

const CONTROL: u32 = 0b100;
/// Caps Lock and Num Lock, which change nothing.
const LOCKS: u32 = 0b1100_0000;

/// Returns what a sequence means: all of it, from ESC to its end.
pub(super) fn meaning(sequence: &[u8]) -> Meaning {
    let Some(end) = sequence.last() else { return Meaning::Key };
    let body = sequence.get(2..sequence.len() - 1).unwrap_or_default();
    match (body.first(), end) {
        (Some(b'<'), b'M' | b'm') => {
            let row = numbers(body.get(1..).unwrap_or_default()).nth(2);
            Meaning::Mouse(row.map_or(usize::MAX, |row| row.0 as usize))
        }
        (Some(b'?'), b'u') => Meaning::Report(Report::HasKeyboard),
        (None, b'I' | b'O') => Meaning::Focus,
        // Among them the mouse in a form that we never ask for.
        (Some(b'<'..=b'?'), _) | (None, b'M') | (_, b'n' | b't' | b'c') => {
            Meaning::Report(Report::Other)
        }
        (_, b'~') => {
            let (mut numbers, mut later) = (numbers(body), numbers(body).skip(1));
            match numbers.next() {
                Some((200, _)) => Meaning::PasteBegins,
                Some((201, _)) => Meaning::Report(Report::Other),
                // The keys that xterm tells with their modifiers: 27 ; modifiers ; key.
                Some((27, _)) => {
                    let (modifiers, key) = (later.next(), later.next());
                    key.map_or(Meaning::Key, |(key, _)| of_key(key, modifiers))
                }
                _ => Meaning::Key,
            }
        }
        (_, b'u') => {
            let mut numbers = numbers(body);
            let key = numbers.next();
            key.map_or(Meaning::Key, |(key, _)| of_key(key, numbers.next()))
        }
        _ => Meaning::Key,
    }
}

/// Returns what a key of the protocol of kitty means; of its modifiers the part is the kind of event.
fn of_key(key: u32, modifiers: Option<(u32, Option<u32>)>) -> Meaning {
    const RELEASE: u32 = 3;
    let (modifiers, event) = modifiers.unwrap_or((1, None));
    let held = modifiers.saturating_sub(1) & !LOCKS;
    let event = event.unwrap_or(1);
    match (key, held, event) {
        (92, CONTROL, 1) => Meaning::Backslash,
        (93, CONTROL, 1) => Meaning::Bracket,
        (92 | 93, CONTROL, _) => Meaning::Released,
        (_, _, RELEASE) | (57_358..=57_360 | 57_441..=57_454, _, _) => Meaning::Modifier,
        (100, 0, _) => Meaning::LetterD,
        _ => Meaning::Key,
    }
}

/// Returns the numbers between semicolons, each with the first of its parts.
fn numbers(body: &[u8]) -> impl Iterator<Item = (u32, Option<u32>)> {
    body.split(|byte| *byte == b';').map(|number| {
        let mut parts = number.split(|byte| *byte == b':');
        let value = |part: &[u8]| std::str::from_utf8(part).ok()?.parse().ok();
        let first = parts.next().and_then(value).unwrap_or(1);
        (first, parts.next().and_then(value))
    })
}

/// Reads a report of a colour: `ESC ] 10 ; rgb:RRRR/GGGG/BBBB`.
pub(super) fn colour(report: &[u8]) -> Option<Report> {
    let text = std::str::from_utf8(report.get(2..)?).ok()?;
    let (number, colour) = text.split_once(";rgb:")?;
    let mut parts = colour.split('/').map(|part| {
        let digits = part.get(..part.len().min(2))?;
        let value = u8::from_str_radix(digits, 16).ok()?;
        // One digit stands for two.
        Some(if part.len() == 1 { value * 17 } else { value })
    });
    let (r, g, b) = (parts.next()??, parts.next()??, parts.next()??);
    match number {
        "10" => Some(Report::TextColour(r, g, b)),
        "11" => Some(Report::GroundColour(r, g, b)),
        _ => None,
    }
}
