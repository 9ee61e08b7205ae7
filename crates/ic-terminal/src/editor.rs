//! A message while it is typed: cells, a cursor among them, and what keys do to both.
//!
//! A cell is what a person takes for one character, or a long paste, which is shown folded and is one
//! thing to move over and remove. How it looks is for [`layout`](crate::layout).

mod cells;

use cells::is_word;
pub use cells::{Cell, cells_of};

use crate::key::Key;

/// How many states can be gone back to.
const UNDO_MAX: usize = 200;

/// A message while it is typed.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    cells: Vec<Cell>,
    cursor: usize,
    /// What was removed last, to be put elsewhere.
    killed: Vec<Cell>,
    undo: Vec<(Vec<Cell>, usize)>,
    last: Last,
    /// Whether anything in it did not come from keys, one by one.
    has_foreign: bool,
}

/// What was done last, as far as it matters for what comes next.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Last {
    /// Part of a word was typed: more of it is undone together with it.
    Typed,
    /// Something was killed: what is killed next is put beside it.
    Killed,
    #[default]
    Other,
}

/// What a key asks whoever holds the editor for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Press {
    /// Nothing: the key was for the editor.
    Taken,
    /// The message is to be sent.
    Send,
    /// What stands before the cursor is to be completed.
    Complete,
    /// An older message is wanted.
    Older,
    /// A newer message is wanted.
    Newer,
    /// The key means nothing here.
    Unknown,
}

impl Editor {
    /// Returns the message as it would be sent.
    pub fn text(&self) -> String {
        self.cells.iter().map(Cell::text).collect()
    }

    /// Returns whether something was pasted or put in since it was last empty or taken.
    ///
    /// What was removed again counts all the same: nobody keeps track of which characters were whose.
    pub fn has_foreign(&self) -> bool {
        self.has_foreign
    }

    /// Returns what stands before the cursor.
    pub fn text_before_cursor(&self) -> String {
        self.cells.iter().take(self.cursor).map(Cell::text).collect()
    }

    /// Returns whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the cells, in order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns how many cells stand before the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Puts `text` in the place of everything, with the cursor at its end.
    pub fn replace(&mut self, text: &str) {
        self.remember();
        self.has_foreign = true;
        self.cells = cells_of(text);
        self.cursor = self.cells.len();
    }

    /// Takes the message out; what remains is as new, but for what was killed.
    pub fn take(&mut self) -> String {
        let text = self.text();
        *self = Self { killed: std::mem::take(&mut self.killed), ..Self::default() };
        text
    }

    /// Puts `text` in the place of the last `n_chars` characters before the cursor.
    pub fn complete(&mut self, n_chars: usize, text: &str) {
        self.remember();
        self.has_foreign = true;
        let mut left = n_chars;
        while 0 < left && 0 < self.cursor {
            self.cursor -= 1;
            left = left.saturating_sub(self.cells.remove(self.cursor).text().chars().count());
        }
        self.insert(cells_of(text));
    }

    /// Does what a key means.
    pub fn press(&mut self, key: &Key) -> Press {
        let last = std::mem::take(&mut self.last);
        match key {
            Key::Char(c) => self.type_in(*c, last),
            Key::Paste(text) => {
                self.remember();
                self.has_foreign = true;
                self.insert(Cell::of_paste(text));
            }
            Key::LineBreak => {
                self.remember();
                self.insert(cells_of("\n"));
            }
            Key::Enter if self.is_continued() => {
                self.remember();
                self.cells.pop();
                self.cursor = self.cells.len();
                self.insert(cells_of("\n"));
            }
            Key::Enter => return Press::Send,
            Key::Tab => return Press::Complete,
            Key::Up if self.line_start() == 0 => return Press::Older,
            Key::Down if self.line_end() == self.cells.len() => return Press::Newer,
            Key::Ctrl('p') => return Press::Older,
            Key::Ctrl('n') => return Press::Newer,
            Key::Up
            | Key::Down
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::WordLeft
            | Key::WordRight
            | Key::Ctrl('a' | 'e' | 'b' | 'f')
            | Key::Alt('b' | 'f' | '<' | '>') => self.step(key),
            Key::Ctrl('k' | 'u' | 'w') | Key::Alt('d') | Key::WordBackspace => self.kill(key, last),
            Key::Backspace | Key::Ctrl('h') => self.remove(self.cursor.checked_sub(1)),
            Key::Delete | Key::Ctrl('d') => self.remove(Some(self.cursor)),
            Key::Ctrl('y') => {
                self.remember();
                self.has_foreign = true;
                self.insert(self.killed.clone());
            }
            Key::Ctrl('t') => self.transpose(),
            Key::Ctrl('_') => self.undo(),
            _ => return Press::Unknown,
        }
        Press::Taken
    }

    fn type_in(&mut self, c: char, last: Last) {
        if last != Last::Typed || c.is_whitespace() {
            self.remember();
        }
        self.last = Last::Typed;
        // A mark belongs to the letter before it.
        if let Some(before) = self.cursor.checked_sub(1).and_then(|at| self.cells.get_mut(at))
            && before.join(c)
        {
            return;
        }
        self.insert(vec![Cell::of_char(c)]);
    }

    fn insert(&mut self, cells: Vec<Cell>) {
        let at = self.cursor.min(self.cells.len());
        self.cursor = at + cells.len();
        self.cells.splice(at..at, cells);
    }

    fn remove(&mut self, at: Option<usize>) {
        if let Some(at) = at.filter(|at| *at < self.cells.len()) {
            self.remember();
            self.cells.remove(at);
            self.cursor = at;
        }
    }

    fn step(&mut self, key: &Key) {
        self.cursor = match key {
            Key::Left | Key::Ctrl('b') => self.cursor.saturating_sub(1),
            Key::Right | Key::Ctrl('f') => (self.cursor + 1).min(self.cells.len()),
            Key::Home | Key::Ctrl('a') => self.line_start(),
            Key::End | Key::Ctrl('e') => self.line_end(),
            Key::WordLeft | Key::Alt('b') => self.word_start(),
            Key::WordRight | Key::Alt('f') => self.word_end(),
            Key::Alt('<') => 0,
            Key::Alt('>') => self.cells.len(),
            Key::Up => self.line_above(),
            Key::Down => self.line_below(),
            _ => self.cursor,
        };
    }

    /// Removes a part, and keeps it to be put elsewhere.
    fn kill(&mut self, key: &Key, last: Last) {
        let (from, to) = match key {
            // At the end of a line, the end itself.
            Key::Ctrl('k') if self.cursor == self.line_end() => {
                (self.cursor, (self.cursor + 1).min(self.cells.len()))
            }
            Key::Ctrl('k') => (self.cursor, self.line_end()),
            Key::Ctrl('u') => (self.line_start(), self.cursor),
            Key::Ctrl('w') => (self.space_start(), self.cursor),
            Key::WordBackspace => (self.word_start(), self.cursor),
            _ => (self.cursor, self.word_end()),
        };
        self.last = Last::Killed;
        if from == to {
            return;
        }
        self.remember();
        let is_forward = from == self.cursor;
        let killed: Vec<Cell> = self.cells.drain(from..to).collect();
        self.cursor = from;
        self.killed = match (last == Last::Killed, is_forward) {
            (true, true) => [std::mem::take(&mut self.killed), killed].concat(),
            (true, false) => [killed, std::mem::take(&mut self.killed)].concat(),
            (false, _) => killed,
        };
    }

    /// Exchanges the two cells around the cursor.
    fn transpose(&mut self) {
        let at = self.cursor.min(self.cells.len().saturating_sub(1));
        if 0 < at && at < self.cells.len() {
            self.remember();
            self.cells.swap(at - 1, at);
            self.cursor = at + 1;
        }
    }

    fn remember(&mut self) {
        if UNDO_MAX <= self.undo.len() {
            self.undo.remove(0);
        }
        self.undo.push((self.cells.clone(), self.cursor));
    }

    fn undo(&mut self) {
        if let Some((cells, cursor)) = self.undo.pop() {
            self.cells = cells;
            self.cursor = cursor;
        }
    }

    /// Returns whether the message ends with a backslash that was typed to go on in the next line.
    fn is_continued(&self) -> bool {
        let is_backslash = |cell: &&Cell| cell.text() == "\\" && !cell.is_folded();
        self.cursor == self.cells.len()
            && self.cells.iter().rev().take_while(is_backslash).count() % 2 == 1
    }
}

/// Where things begin and end.
impl Editor {
    fn is_line_end(&self, at: usize) -> bool {
        self.cells.get(at).is_none_or(|cell| cell.text() == "\n")
    }

    fn line_start(&self) -> usize {
        (0..self.cursor).rev().find(|at| self.is_line_end(*at)).map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        (self.cursor..self.cells.len()).find(|at| self.is_line_end(*at)).unwrap_or(self.cells.len())
    }

    fn line_above(&self) -> usize {
        let start = self.line_start();
        let Some(end_above) = start.checked_sub(1) else { return self.cursor };
        let start_above =
            (0..end_above).rev().find(|at| self.is_line_end(*at)).map_or(0, |at| at + 1);
        (start_above + (self.cursor - start)).min(end_above)
    }

    fn line_below(&self) -> usize {
        let (start, end) = (self.line_start(), self.line_end());
        if end == self.cells.len() {
            return self.cursor;
        }
        let below = end + 1;
        let end_below = (below..self.cells.len()).find(|at| self.is_line_end(*at));
        (below + (self.cursor - start)).min(end_below.unwrap_or(self.cells.len()))
    }

    fn word_start(&self) -> usize {
        let is_word = |at: usize| self.cells.get(at).is_some_and(is_word);
        let end = (0..self.cursor).rev().find(|at| is_word(*at));
        let Some(end) = end else { return 0 };
        (0..end).rev().find(|at| !is_word(*at)).map_or(0, |at| at + 1)
    }

    fn word_end(&self) -> usize {
        let is_word = |at: usize| self.cells.get(at).is_some_and(is_word);
        let start = (self.cursor..self.cells.len()).find(|at| is_word(*at));
        let Some(start) = start else { return self.cells.len() };
        (start..self.cells.len()).find(|at| !is_word(*at)).unwrap_or(self.cells.len())
    }

    /// Returns where the word before the cursor begins, with spaces alone between words.
    fn space_start(&self) -> usize {
        let is_space = |at: usize| self.cells.get(at).is_some_and(|it| it.text().trim().is_empty());
        let Some(end) = (0..self.cursor).rev().find(|at| !is_space(*at)) else { return 0 };
        (0..end).rev().find(|at| is_space(*at)).map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests;
