//! What a person typed at a program's own interface: from keys to the message that they sent.
//!
//! Which key does what in that interface is the program's secret, so code reads only what all of them do alike:
//! letters, Backspace at the end, and Enter. Where anything else was pressed, a model may put the message
//! together, and each of its words has then to stand among the keys, in their order. No model is known here.

use crate::verb::is_doubtful;

/// How many lines before the last one may be its beginning; a model is shown these, too.
const LINES_BEFORE: usize = 4;
/// How many strokes of a line are looked at; a longer one was hardly typed for one call.
const STROKES_MAX: usize = 4_000;
/// Enter as a terminal sends it that reports all keys, without its Escape.
const ENTER: [&str; 3] = ["[13u", "[13;1u", "[13;1:1u"];

/// Some of what came from the keyboard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Keys {
    /// Keys, as bytes.
    Typed(Vec<u8>),
    /// A paste; what it said does not matter.
    Pasted,
}

/// What keys mean for the message of the person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sent {
    /// A line that code can read.
    Line(String),
    /// One that it cannot.
    Unclear(Unclear),
    /// None yet; but what was said before may not be what the person means now.
    Nothing,
}

/// Keys whose message only the program knows that they were pressed at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unclear {
    lines: Vec<Vec<Stroke>>,
}

/// One key.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Stroke {
    Char(char),
    Backspace,
    Enter,
    Pasted,
    /// Another one, with its name.
    Other(String),
}

/// Reads what `new` sends, which is the end of `all`; `None` if that is a line that is still being typed.
///
/// SECURITY: only the program knows which other keys send a message: Control and a letter, a key of the keypad.
/// So every key that is not a letter ends the earlier message at once.
pub fn heard(new: &Keys, all: &[Keys]) -> Option<Sent> {
    let Keys::Typed(bytes) = new else { return Some(Sent::Nothing) };
    let strokes = strokes(bytes);
    let is_letter = |it: &Stroke| matches!(it, Stroke::Char(_) | Stroke::Backspace);
    match strokes.contains(&Stroke::Enter) {
        true => sent(all),
        false => (!strokes.iter().all(is_letter)).then_some(Sent::Nothing),
    }
}

/// Reads what was sent last; `None` if nothing was.
fn sent(keys: &[Keys]) -> Option<Sent> {
    let mut lines = lines(keys);
    // What follows the last Enter was not sent.
    lines.pop();
    let (last, before) = lines.split_last()?;
    let is_begun = before.iter().rev().take(LINES_BEFORE).all(|it| is_surely_sent(it));
    if let Some(text) = plain(last).filter(|_| is_begun) {
        return Some(Sent::Line(text));
    }
    let from = lines.len().saturating_sub(1 + LINES_BEFORE);
    Some(Sent::Unclear(Unclear { lines: lines.split_off(from) }))
}

impl Unclear {
    /// Returns whether any part of it was pasted.
    pub fn has_paste(&self) -> bool {
        self.lines.iter().any(|it| it.contains(&Stroke::Pasted))
    }

    /// Writes the keys for the model that puts the message together.
    pub fn shown(&self) -> String {
        let mut shown = String::new();
        for line in &self.lines {
            for stroke in line {
                match stroke {
                    Stroke::Char('<') => shown.push_str("<less-than>"),
                    Stroke::Char(c) => shown.push(*c),
                    Stroke::Backspace => shown.push_str("<Backspace>"),
                    Stroke::Enter => shown.push_str("<Enter>"),
                    Stroke::Pasted => shown.push_str("<a paste>"),
                    Stroke::Other(name) => shown.extend(["<", name, ">"]),
                }
            }
            shown.push_str("<Enter>\n");
        }
        shown
    }

    /// Returns whether `text` can be what these keys came to.
    ///
    /// SECURITY: the model that put it together may lie. It says no more than how many of the last lines are the
    /// message: every word of these was typed as it stands, by itself, in this order, and none is left out. A
    /// word that turns a request around must not stand in any other line.
    pub fn could_be(&self, text: &str) -> bool {
        let said: Vec<&str> = text.split_whitespace().collect();
        let lines: Vec<String> = self.lines.iter().map(|it| typed(it)).collect();
        let is_key = |word: &str| word.chars().all(|c| c == '\0');
        let is_from = |first: usize| {
            let words = lines.iter().skip(first).flat_map(|it| it.split_whitespace());
            words.filter(|it| !is_key(it)).eq(said.iter().copied())
        };
        let heard = words(text);
        let all = lines.iter().flat_map(|it| words(it));
        (0..lines.len()).any(is_from)
            && all.into_iter().all(|it| !is_doubtful(&it) || heard.contains(&it))
    }
}

/// Returns what was typed in a line as far as Backspace alone changed it; any other key is a NUL, which is a part of
/// the word beside it: only the program knows where that was put.
fn typed(line: &[Stroke]) -> String {
    let mut typed = String::new();
    for stroke in line {
        match stroke {
            Stroke::Char(c) if c.is_ascii() => typed.push(*c),
            Stroke::Backspace if typed.ends_with(|c| c != '\0') => drop(typed.pop()),
            Stroke::Char(_)
            | Stroke::Backspace
            | Stroke::Enter
            | Stroke::Pasted
            | Stroke::Other(_) => typed.push('\0'),
        }
    }
    typed
}

/// Cuts keys into lines; the last one has no Enter behind it.
fn lines(keys: &[Keys]) -> Vec<Vec<Stroke>> {
    let mut lines = vec![Vec::new()];
    for piece in keys {
        let strokes = match piece {
            Keys::Typed(bytes) => strokes(bytes),
            Keys::Pasted => vec![Stroke::Pasted],
        };
        for stroke in strokes {
            if stroke == Stroke::Enter {
                lines.push(Vec::new());
            } else if let Some(line) = lines.last_mut() {
                line.push(stroke);
            }
        }
    }
    lines
}

/// Returns what a line says if it was typed from left to right.
fn plain(line: &[Stroke]) -> Option<String> {
    let mut text = String::new();
    for stroke in line {
        match stroke {
            // Of other letters nobody knows how many one Backspace removes.
            Stroke::Char(c) if c.is_ascii() => text.push(*c),
            // With nothing before it, it removed what we do not know.
            Stroke::Backspace => drop(text.pop()?),
            Stroke::Char(_) | Stroke::Enter | Stroke::Pasted | Stroke::Other(_) => return None,
        }
    }
    (line.len() <= STROKES_MAX).then_some(text)
}

/// Returns whether Enter surely sent a line, so that the next one is another message.
///
/// SECURITY: else the next line may be the end of a sentence that begins with `do not`. Enter takes what a list
/// proposes for `@`, `/` and the like, goes on after a backslash, and may have gone to a question of the program.
fn is_surely_sent(line: &[Stroke]) -> bool {
    let Some(text) = plain(line) else { return false };
    let proposes = text.contains(['@', '$', '#', '\\']) || text.starts_with('/');
    !proposes && !words(&text).iter().any(|it| is_doubtful(it))
}

/// Reads bytes as keys.
fn strokes(bytes: &[u8]) -> Vec<Stroke> {
    let text = String::from_utf8_lossy(bytes);
    let mut strokes = Vec::new();
    let mut rest = text.as_ref();
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        strokes.push(match c {
            '\r' => Stroke::Enter,
            '\u{7f}' | '\u{8}' => Stroke::Backspace,
            '\u{1b}' => {
                length = sequence(rest);
                match rest.get(1..length).unwrap_or_default() {
                    sequence if ENTER.contains(&sequence) => Stroke::Enter,
                    sequence => Stroke::Other(name(sequence)),
                }
            }
            c if c.is_control() || c == char::REPLACEMENT_CHARACTER => {
                Stroke::Other(format!("U+{:04X}", u32::from(c)))
            }
            c => Stroke::Char(c),
        });
        rest = rest.get(length..).unwrap_or_default();
    }
    strokes
}

/// Returns how long the sequence is that begins with this Escape.
///
/// SECURITY: no control character is a part of it: an Enter that were taken for one would send nothing, and what
/// was said before would still count.
fn sequence(text: &str) -> usize {
    let rest = text.get(1..).unwrap_or_default();
    let length = match rest.chars().next() {
        Some('[') => {
            let inside = rest.chars().skip(1).take_while(|c| (' '..='?').contains(c)).count();
            let last = rest.chars().nth(1 + inside).filter(|c| ('@'..='~').contains(c));
            1 + inside + usize::from(last.is_some())
        }
        Some('O') => 1 + rest.chars().nth(1).filter(char::is_ascii_graphic).map_or(0, |_| 1),
        Some(c) if !c.is_control() => c.len_utf8(),
        Some(_) | None => 0,
    };
    1 + length
}

/// Names a key by what follows its Escape.
fn name(sequence: &str) -> String {
    let known = match sequence {
        "" => "Escape",
        "[A" | "OA" => "Up",
        "[B" | "OB" => "Down",
        "[C" | "OC" => "Right",
        "[D" | "OD" => "Left",
        "[H" | "OH" | "[1~" => "Home",
        "[F" | "OF" | "[4~" => "End",
        "[3~" => "Delete",
        other => {
            let is_plain = |c: char| c.is_ascii_graphic() && c != '>';
            return match other.chars().all(is_plain) {
                true => format!("Escape {other}"),
                false => "Escape …".to_owned(),
            };
        }
    };
    known.to_owned()
}

/// Returns the words of what was typed, in lower case.
fn words(text: &str) -> Vec<String> {
    let is_between = |c: char| !(c.is_alphanumeric() || c == '\'');
    text.split(is_between).filter(|it| !it.is_empty()).map(str::to_lowercase).collect()
}
