//! A constitution as lines: what is commentary, what is a statement, and where each statement begins.
//!
//! Only headings, block quotes, HTML comments and code blocks are commentary. What looks like a restriction
//! in commentary is a mistake until it is marked, so that nobody believes that it holds.

mod abbreviation;
mod head;
mod restriction;

use crate::fault::Fault;
use crate::grammar::{AGENTS, VERBS};
use crate::word::{self, Word};
use abbreviation::{Dot, close};
use restriction::Found;
pub(crate) use restriction::in_reason;

/// The most bytes of a constitution.
pub const BYTES_MAX: usize = 4 << 20;

/// The most words of a statement.
pub const WORDS_MAX: usize = 10_000;

/// The words of one statement, without the mark at its end.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) words: Vec<Word>,
    /// The line on which its own words begin, without those of an introduction.
    pub(crate) line: usize,
}

/// Rules that have no plain form, as the JSON that stands in a block marked `rules`.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Whether they are asked after the sentences, and not before.
    pub(crate) is_after: bool,
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// What a constitution consists of.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) statements: Vec<Statement>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) faults: Vec<Fault>,
}

/// What a line was, as far as it changes what Markdown makes of the next one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Before {
    /// Nothing that goes on.
    #[default]
    Nothing,
    /// Text outside of a list, at this line.
    Text(usize),
    Other,
}

/// What a line is.
enum Line<'a> {
    Blank,
    Commentary,
    /// A bullet, and what follows it.
    Bullet(usize, &'a str),
    /// Text that belongs to what stands before it.
    Text(usize, &'a str),
}

const MARK: &str = "<!-- note -->";

/// Reads the statements of a constitution.
pub(crate) fn read(text: &str) -> Document {
    let mut reader = Reader::default();
    if BYTES_MAX < text.len() {
        reader.fault(1, 1, "…", "a constitution has at most 4 MiB");
        return Document { faults: reader.faults, ..Document::default() };
    }
    let (text, odd) = head::without_head(text);
    for (line, words, problem) in odd {
        reader.fault(line, 1, words, problem);
    }
    let plain = reader.without_comments(&text);
    for (position, line) in plain.iter().enumerate() {
        reader.line(line, position + 1);
    }
    reader.end_block();
    if let Some(line) = reader.fence.take().map(|fence| fence.line) {
        reader.fault(line, 1, "```", "the code block is not closed");
    }
    reader.faults.sort_by_key(|fault| (fault.line, fault.column));
    Document { statements: reader.statements, blocks: reader.blocks, faults: reader.faults }
}

struct Fence {
    mark: String,
    line: usize,
    is_marked: bool,
    /// What was read so far, with its lines, if it is commentary.
    said: Vec<(usize, String)>,
    /// For a block of rules: whether they are asked after the sentences, and what was read so far.
    rules: Option<(bool, String)>,
}

#[derive(Default)]
struct Reader {
    statements: Vec<Statement>,
    blocks: Vec<Block>,
    faults: Vec<Fault>,
    /// The words of the paragraph or bullet that is being read.
    pending: Vec<Word>,
    /// The words that a list takes from its introduction.
    introduction: Option<Vec<Word>>,
    is_in_list: bool,
    fence: Option<Fence>,
    /// Whether the last line, or the block that goes on, is marked as a note.
    is_marked: bool,
    /// What the line before was.
    before: Before,
    /// The line of a block quote that restricts something and is not marked yet.
    quotes: Vec<(usize, String)>,
}

impl Reader {
    fn fault(&mut self, line: usize, column: usize, words: &str, problem: &str) {
        let (words, problem) = (words.to_owned(), problem.to_owned());
        self.faults.push(Fault { line, column, words, problem, offers: Vec::new() });
    }

    /// Takes HTML comments out, and keeps the mark of a note where one stood; lines stay lines.
    fn without_comments(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut open: Option<(usize, String)> = None;
        let mut fence: Option<String> = None;
        for (position, line) in text.lines().enumerate() {
            let number = position + 1;
            if open.is_none() {
                let trimmed = line.trim_start();
                match &fence {
                    Some(mark) if trimmed.trim_end() == mark => fence = None,
                    None if fence_mark(trimmed).is_some() => fence = fence_mark(trimmed),
                    Some(_) | None => {}
                }
                if fence.is_some() {
                    lines.push(line.to_owned());
                    continue;
                }
            }
            let mut kept = String::new();
            let mut rest = line;
            loop {
                if let Some((start, mut said)) = open.take() {
                    let Some((inside, after)) = rest.split_once("-->") else {
                        said.push_str(rest);
                        said.push('\n');
                        open = Some((start, said));
                        break;
                    };
                    said.push_str(inside);
                    self.comment(start, &said);
                    if said.trim().eq_ignore_ascii_case("note") {
                        kept.push_str(MARK);
                    }
                    rest = after;
                } else if let Some((before, after)) = rest.split_once("<!--") {
                    kept.push_str(before);
                    open = Some((number, String::new()));
                    rest = after;
                } else {
                    kept.push_str(rest);
                    break;
                }
            }
            lines.push(kept);
        }
        if let Some((start, _)) = open {
            self.fault(start, 1, "<!--", "the comment is not closed");
        }
        lines
    }

    /// Checks a comment; one that begins with `note` is marked by that.
    fn comment(&mut self, line: usize, said: &str) {
        let is_note = said.trim_start().to_ascii_lowercase().starts_with("note");
        if !is_note {
            let lines = said.lines().enumerate().map(|(offset, text)| (line + offset, text));
            self.commentary(lines, "a comment");
        }
    }

    /// Refuses commentary that looks like a restriction, however it is broken into lines.
    fn commentary<'t>(&mut self, lines: impl Iterator<Item = (usize, &'t str)>, what: &str) {
        for found in restriction::in_commentary(lines) {
            match found {
                Found::Restriction { line, words } => {
                    let problem = format!(
                        "{what} is not compiled, and this reads like a restriction; write it as a sentence, or \
                         mark it with {MARK}"
                    );
                    self.fault(line, 1, &words, &problem);
                }
                Found::Hidden { line, column, character, problem } => {
                    self.fault(line, column, &character, &problem);
                }
            }
        }
    }

    fn line(&mut self, text: &str, number: usize) {
        let trimmed = text.trim();
        if let Some(fence) = self.fence.take() {
            return self.fenced(fence, text, number);
        }
        let is_mark = trimmed.contains(MARK);
        let bare = trimmed.replace(MARK, "");
        if let Some(mark) = fence_mark(trimmed) {
            self.end_block();
            let rules = self.rules_of(trimmed, number);
            let (is_marked, said) = (self.is_marked, Vec::new());
            self.fence = Some(Fence { mark, line: number, is_marked, said, rules });
            self.is_marked = false;
            return;
        }
        if bare.trim().is_empty() && is_mark {
            self.end_sentence();
            self.is_marked = true;
            return;
        }
        if let Some(quote) = bare.trim_start().strip_prefix('>') {
            self.end_sentence();
            self.is_marked |= is_mark;
            self.quotes.push((number, quote.to_owned()));
            return;
        }
        self.end_quote();
        let before = std::mem::take(&mut self.before);
        match classify(&bare) {
            Line::Blank => {
                self.end_sentence();
                self.check_underline(&bare, before);
                return;
            }
            Line::Commentary => {
                self.end_block();
                let is_marked = self.is_marked || is_mark;
                if !is_marked {
                    self.commentary(std::iter::once((number, bare.as_str())), "a heading");
                }
            }
            Line::Bullet(column, rest) => {
                self.end_sentence();
                self.check_code(text, number, before);
                self.check_box(&bare, number);
                self.is_in_list = true;
                self.before = Before::Other;
                self.text(rest, number, column + indent(text));
            }
            Line::Text(column, rest) => {
                // A line that is not indented after a bullet is not part of the list.
                if self.is_in_list && indent(text) == 0 {
                    self.end_block();
                }
                self.check_code(text, number, before);
                self.before = if self.is_in_list { Before::Other } else { Before::Text(number) };
                self.text(rest, number, column + indent(text));
            }
        }
        self.is_marked = false;
    }

    /// Takes a line of a code block, or its end.
    fn fenced(&mut self, mut fence: Fence, text: &str, number: usize) {
        let trimmed = text.trim();
        let is_end = trimmed == fence.mark;
        match &mut fence.rules {
            Some((is_after, rules)) if is_end => {
                let (is_after, text) = (*is_after, std::mem::take(rules));
                self.blocks.push(Block { is_after, text, line: fence.line });
            }
            Some((_, rules)) => rules.extend([text, "\n"]),
            None if fence.is_marked => {}
            None if is_end => {
                let lines = fence.said.iter().map(|(line, text)| (*line, text.as_str()));
                self.commentary(lines, "a code block");
            }
            None => fence.said.push((number, trimmed.to_owned())),
        }
        self.fence = (!is_end).then_some(fence);
    }

    /// Refuses a sentence that Markdown shows as a heading, which is commentary.
    fn check_underline(&mut self, line: &str, before: Before) {
        let is_underline = line.trim().starts_with(['-', '=']);
        if let Before::Text(number) = before
            && is_underline
        {
            let problem = "the line beneath makes this a heading, and headings are not compiled; put an empty line between";
            self.fault(number, 1, line.trim(), problem);
        }
    }

    /// Refuses a sentence that Markdown shows as code, which is commentary.
    fn check_code(&mut self, line: &str, number: usize, before: Before) {
        const CODE: usize = 4;
        let n_blanks = line.chars().take_while(|it| *it == ' ').count();
        let is_deep = CODE <= n_blanks || line.chars().nth(n_blanks) == Some('\t');
        let is_first = before == Before::Nothing && self.pending.is_empty();
        if is_deep && is_first && !self.is_in_list && self.introduction.is_none() {
            let problem = "four blanks at the beginning make this a code block, which is not compiled; delete them";
            self.fault(number, 1, line.trim(), problem);
        }
    }

    /// Refuses a box that is not ticked: it does not say whether the sentence holds.
    fn check_box(&mut self, line: &str, number: usize) {
        let item = line.trim().split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
        if item.starts_with("[ ]") || item.starts_with("[]") {
            let problem = "this box is not ticked, and a sentence always holds; delete the box, or put the sentence into a comment";
            self.fault(number, 1, "[ ]", problem);
        }
    }

    /// Returns whether a code block holds rules, and then where they stand.
    fn rules_of(&mut self, fence: &str, line: usize) -> Option<(bool, String)> {
        let words = fence.trim_start_matches(['`', '~']).trim().to_ascii_lowercase();
        match words.as_str() {
            "rules before" => Some((false, String::new())),
            "rules after" => Some((true, String::new())),
            words if words == "rules" || words.starts_with("rules ") => {
                self.fault(line, 1, fence, "write `rules before` or `rules after`: the rules are asked before or after the sentences");
                None
            }
            _ => None,
        }
    }

    fn text(&mut self, text: &str, line: usize, column: usize) {
        let words = match word::words(text, line, column) {
            Ok(words) => words,
            Err(unreadable) => {
                let word::Unreadable { column, words, problem } = unreadable;
                return self.fault(line, column, &words, &problem);
            }
        };
        if begins_sentence(&words) {
            self.end_sentence();
        }
        for (at, word) in words.iter().enumerate() {
            let rest = words.get(at + 1..).unwrap_or_default();
            if !word.is_end() {
                self.pending.push(word.clone());
                continue;
            }
            match abbreviation::ended_by(word, &self.pending, rest) {
                Dot::Sentence => self.end_sentence(),
                Dot::Abbreviation => self.pending.last_mut().into_iter().for_each(close),
                Dot::Unclear => {
                    let last = self.pending.last().map_or_else(String::new, |it| it.text.clone());
                    self.fault(word.line, word.column, &format!("{last}."), abbreviation::UNCLEAR);
                    self.end_sentence();
                }
            }
        }
        if self.pending.last().is_some_and(|word| word.is(":")) && !self.is_in_list {
            self.pending.pop();
            self.end_introduction();
            self.introduction = Some(std::mem::take(&mut self.pending));
        }
    }

    /// Ends the sentence that is being read.
    fn end_sentence(&mut self) {
        let mut words = std::mem::take(&mut self.pending);
        // The commas of a list stand between its items, not in them.
        if self.is_in_list && words.last().is_some_and(|word| word.is(",")) {
            words.pop();
        }
        let Some(line) = words.first().map(|word| word.line) else { return };
        if let Some(introduction) = self.introduction.as_ref().filter(|_| self.is_in_list) {
            words = introduction.iter().cloned().chain(words).collect();
        }
        self.state(words, line);
    }

    /// Takes a statement, unless reading it would take too long.
    fn state(&mut self, words: Vec<Word>, line: usize) {
        if words.len() <= WORDS_MAX {
            return self.statements.push(Statement { words, line });
        }
        let problem = format!(
            "a sentence has at most {WORDS_MAX} words; put the values into a list: `@name`"
        );
        self.fault(line, 1, "…", &problem);
    }

    /// Ends the block quote that is being read.
    fn end_quote(&mut self) {
        let quotes = std::mem::take(&mut self.quotes);
        if quotes.is_empty() {
            return;
        }
        if !self.is_marked {
            let lines = quotes.iter().map(|(line, text)| (*line, text.as_str()));
            self.commentary(lines, "a block quote");
        }
        self.is_marked = false;
    }

    /// Ends whatever is being read, with its list.
    fn end_block(&mut self) {
        self.end_sentence();
        self.end_quote();
        self.end_introduction();
        self.is_in_list = false;
    }

    /// Ends the introduction of a list; one beneath which nothing was listed has to be a sentence by itself.
    fn end_introduction(&mut self) {
        if let Some(words) = self.introduction.take().filter(|_| !self.is_in_list) {
            let line = words.first().map_or(1, |word| word.line);
            self.state(words, line);
        }
    }
}

fn indent(text: &str) -> usize {
    text.chars().take_while(|it| it.is_whitespace()).count()
}

fn fence_mark(trimmed: &str) -> Option<String> {
    let first = trimmed.chars().next().filter(|it| *it == '`' || *it == '~')?;
    let mark: String = trimmed.chars().take_while(|it| *it == first).collect();
    // A path in backticks, or `~/`, is not a fence.
    (3 <= mark.len() && !trimmed.trim_start_matches(first).contains(first)).then_some(mark)
}

fn classify(line: &str) -> Line<'_> {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return Line::Blank;
    }
    let is_rule = 3 <= trimmed.len()
        && ["-", "=", "*", "_"]
            .iter()
            .any(|mark| trimmed.replace([' '], "").replace(mark, "").is_empty());
    let level = trimmed.chars().take_while(|it| *it == '#').count();
    let is_heading = (1..=6).contains(&level)
        && trimmed.chars().nth(level).is_none_or(|it| it == ' ' || it == '\t');
    if is_rule {
        return Line::Blank;
    }
    if is_heading {
        return Line::Commentary;
    }
    let Some((marker, rest)) = trimmed.split_once([' ', '\t']) else {
        return Line::Text(1, trimmed);
    };
    let number = marker.strip_suffix(['.', ')']);
    let is_number = number
        .is_some_and(|it| !it.is_empty() && it.len() < 4 && it.chars().all(|c| c.is_ascii_digit()));
    if matches!(marker, "-" | "*" | "+" | "\u{2022}") || is_number {
        let rest = rest.trim_start();
        let rest =
            ["[ ] ", "[x] ", "[X] "].iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest);
        let column = trimmed.chars().count() - rest.chars().count() + 1;
        return Line::Bullet(column, rest);
    }
    Line::Text(1, trimmed)
}

/// Returns whether a line begins a sentence, even if the one before it has no mark at its end.
fn begins_sentence(words: &[Word]) -> bool {
    let lows: Vec<&str> = words
        .iter()
        .filter(|it| !it.is("please") && !it.is("the"))
        .map(|it| it.low.as_str())
        .collect();
    let is_upper =
        words.first().is_some_and(|it| it.text.starts_with(|c: char| c.is_ascii_uppercase()));
    let first = lows.first().copied().unwrap_or_default();
    is_upper
        && (AGENTS.contains(&first)
            || matches!(first, "ask" | "never" | "do" | "don't" | "everything" | "anything")
            || VERBS.iter().any(|row| {
                row.phrases.iter().any(|(_, gerund)| gerund.split(' ').next() == Some(first))
            }))
}
