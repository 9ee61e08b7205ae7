//! A message taken apart into words, quoted texts, fenced blocks and breaks.
//!
//! What stands in quotes or in a block is kept byte for byte and never looked into. Nothing here knows
//! what a word means.

use std::iter::Peekable;
use std::str::CharIndices;

/// A piece of a message, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a piece of a message is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A word outside of quotes, with its form in lower case.
    Word { text: &'a str, lower: String },
    /// A text in quotes, without them.
    Quoted(&'a str),
    /// A fenced block, with the language that its fence names, in lower case.
    Block { language: String, text: &'a str },
    /// The end of a line.
    Line,
    /// The end of a sentence, a comma or a semicolon.
    Stop,
}

/// Why a message cannot be taken apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tangle {
    /// A quote is opened and not closed.
    OpenQuote,
    /// A fenced block is opened and not closed.
    OpenBlock,
    /// A quote is closed that was not opened, or in the middle of a word.
    StrayQuote,
}

/// Words are compared with words of the grammar, which are short.
const WORD_COMPARED_BYTES_MAX: usize = 32;
/// A run of marks that makes a fence.
const FENCE_LEN_MIN: usize = 3;
/// The longest line of a fence that opens a block; a longer one opens nothing.
const INFO_BYTES_MAX: usize = 100;

/// Takes `message` apart, in one pass.
pub(super) fn take_apart(message: &str) -> Result<Vec<Token<'_>>, Tangle> {
    let mut scanner =
        Scanner { message, chars: message.char_indices().peekable(), tokens: Vec::new() };
    while let Some((at, c)) = scanner.chars.peek().copied() {
        scanner.take(at, c)?;
    }
    Ok(scanner.tokens)
}

struct Scanner<'a> {
    message: &'a str,
    chars: Peekable<CharIndices<'a>>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn take(&mut self, at: usize, c: char) -> Result<(), Tangle> {
        match c {
            '\n' => self.take_line_end(at),
            c if c.is_whitespace() => {
                self.chars.next();
            }
            ',' | ';' => self.take_mark(at, Kind::Stop),
            '`' | '~' if self.run(at, c) >= FENCE_LEN_MIN && self.take_block(at, c)? => {}
            '`' => self.take_code_span(at)?,
            '"' => self.take_quoted(at, &['"'])?,
            '\'' => self.take_quoted(at, &['\''])?,
            '“' => self.take_quoted(at, &['”'])?,
            '‘' => self.take_quoted(at, &['’'])?,
            '„' => self.take_quoted(at, &['“', '”'])?,
            '«' => self.take_quoted(at, &['»'])?,
            '”' | '»' => return Err(Tangle::StrayQuote),
            _ => self.take_word(at)?,
        }
        Ok(())
    }

    /// Takes the end of a line; empty lines after it add nothing.
    fn take_line_end(&mut self, at: usize) {
        match self.tokens.last() {
            Some(Token { kind: Kind::Line, .. }) => {
                self.chars.next();
            }
            Some(_) | None => self.take_mark(at, Kind::Line),
        }
    }

    fn take_mark(&mut self, at: usize, kind: Kind<'a>) {
        self.chars.next();
        self.push(kind, at, at + 1);
    }

    /// Takes a text up to one of `closing`.
    ///
    /// An apostrophe is also the mark that closes a quote; it closes one only at the end of a word.
    fn take_quoted(&mut self, at: usize, closing: &[char]) -> Result<(), Tangle> {
        let opening = self.chars.next().map_or(0, |(_, c)| c.len_utf8());
        while let Some((end, c)) = self.chars.next() {
            if !closing.contains(&c) {
                continue;
            }
            if !self.is_at_boundary() {
                match c {
                    '\'' | '’' => continue,
                    _ => return Err(Tangle::StrayQuote),
                }
            }
            let text = self.message.get(at + opening..end).unwrap_or_default();
            self.push(Kind::Quoted(text), at, end + c.len_utf8());
            return Ok(());
        }
        Err(Tangle::OpenQuote)
    }

    /// Takes a text between two equal runs of backticks.
    fn take_code_span(&mut self, at: usize) -> Result<(), Tangle> {
        let len = self.run(at, '`');
        self.skip_to(at + len);
        while let Some((end, c)) = self.chars.peek().copied() {
            if c != '`' {
                self.chars.next();
                continue;
            }
            let closing = self.run(end, '`');
            self.skip_to(end + closing);
            if closing != len {
                continue;
            }
            if !self.is_at_boundary() {
                return Err(Tangle::StrayQuote);
            }
            let text = self.message.get(at + len..end).unwrap_or_default();
            self.push(Kind::Quoted(text), at, end + closing);
            return Ok(());
        }
        Err(Tangle::OpenQuote)
    }

    /// Takes a fenced block, if there is one here; a fence ends its line.
    fn take_block(&mut self, at: usize, mark: char) -> Result<bool, Tangle> {
        let len = self.run(at, mark);
        let after = self.message.get(at + len..).unwrap_or_default();
        let info_len = after.bytes().take(INFO_BYTES_MAX).position(|byte| byte == b'\n');
        let Some(info) = info_len.and_then(|len| after.get(..len)) else { return Ok(false) };
        let language = info.trim();
        if language.contains(|c: char| c.is_whitespace() || c == mark) {
            return Ok(false);
        }
        let start = at + len + info.len() + 1;
        let mut line_start = start;
        let rest = self.message.get(start..).unwrap_or_default();
        for line in rest.split_inclusive('\n') {
            if let Some(end) = closing_fence(line, mark, len) {
                let text = self.message.get(start..line_start).unwrap_or_default();
                let language = language.to_ascii_lowercase();
                self.push(Kind::Block { language, text }, at, line_start + end);
                self.skip_to(line_start + end);
                return Ok(true);
            }
            line_start += line.len();
        }
        Err(Tangle::OpenBlock)
    }

    fn take_word(&mut self, at: usize) -> Result<(), Tangle> {
        let (mut end, mut is_address) = (at, false);
        while let Some((here, c)) = self.chars.peek().copied() {
            let is_end = match c {
                // A semicolon may be a part of an address.
                ';' => {
                    let so_far = || self.message.get(at..here).unwrap_or_default();
                    is_address = is_address || so_far().contains("://");
                    !is_address || self.is_last_before_boundary(here, c)
                }
                '"' | '“' | '`' | '”' | '»' => return Err(Tangle::StrayQuote),
                c => c.is_whitespace(),
            };
            if is_end {
                break;
            }
            self.chars.next();
            end = here + c.len_utf8();
        }
        let raw = self.message.get(at..end).unwrap_or_default();
        let (text, is_end_of_sentence) = without_punctuation(raw);
        if !text.is_empty() {
            let is_short = text.len() <= WORD_COMPARED_BYTES_MAX;
            let lower =
                if is_short { text.to_lowercase().replace('’', "'") } else { String::new() };
            self.push(Kind::Word { text, lower }, at, at + text.len());
        }
        if is_end_of_sentence {
            self.push(Kind::Stop, at + text.len(), end);
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind<'a>, start: usize, end: usize) {
        self.tokens.push(Token { kind, start, end });
    }

    /// Returns how many times `mark`, which is one byte long, stands at `at` in a row.
    fn run(&self, at: usize, mark: char) -> usize {
        let rest = self.message.get(at..).unwrap_or_default();
        rest.len() - rest.trim_start_matches(mark).len()
    }

    fn skip_to(&mut self, at: usize) {
        while self.chars.next_if(|(here, _)| *here < at).is_some() {}
    }

    /// Returns whether a word could end before the next character.
    fn is_at_boundary(&mut self) -> bool {
        self.chars.peek().is_none_or(|(_, c)| is_boundary(*c))
    }

    fn is_last_before_boundary(&self, at: usize, c: char) -> bool {
        let rest = self.message.get(at + c.len_utf8()..).unwrap_or_default();
        rest.chars().next().is_none_or(is_boundary)
    }
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | ')')
}

/// Returns where a closing fence ends in `line`, if it is one.
///
/// Behind it may stand where the text of the block belongs: ```` ``` to notes.txt ````.
fn closing_fence(line: &str, mark: char, len_min: usize) -> Option<usize> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let fence = line.get(indent..)?;
    let len = fence.len() - fence.trim_start_matches(mark).len();
    if len < len_min {
        return None;
    }
    let behind = fence.get(len..)?;
    let first = behind.split_whitespace().next();
    let is_gap = behind.starts_with(char::is_whitespace) || behind.is_empty();
    let is_closing = is_gap && matches!(first, None | Some("to" | "into" | "in" | "as"));
    is_closing.then_some(indent + len)
}

/// Returns a word without the punctuation at its end, and whether a sentence or a part of one ends.
///
/// `.` and `..` are names of directories, also at the end of a path.
fn without_punctuation(raw: &str) -> (&str, bool) {
    let mut text = raw;
    let mut is_end = false;
    while let Some(c) = text.chars().next_back() {
        let is_dots =
            text.ends_with("/..") || text.ends_with("/.") || text.chars().all(|c| c == '.');
        let is_punctuation = matches!(c, '!' | '?' | ':' | ',') || c == '.' && !is_dots;
        let Some(shorter) = text.strip_suffix(c).filter(|_| is_punctuation) else { break };
        is_end |= c != ':';
        text = shorter;
    }
    (text, is_end)
}

#[cfg(test)]
mod tests;
