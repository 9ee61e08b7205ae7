//! Words and breaks put together: one space between words, lines that begin with what they lie in.
//!
//! Breaks and marks are written when the next word comes, so that what holds nothing leaves nothing.
//! Knows no HTML, and stops at a limit.

/// The most that is written; a page can be made to say more than it holds.
const BYTES_MAX: usize = 4 << 20;
/// How deep quotes and lists are shown to lie in each other.
const PREFIXES_MAX: usize = 8;

/// What lines begin with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Prefix {
    Quote,
    Indent,
}

#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    /// How many line ends come before the next word.
    breaks: usize,
    /// Whether a space comes before it.
    is_spaced: bool,
    /// What comes before it, at the beginning of a line: a bullet, or the signs of a heading.
    marker: Option<String>,
    /// What was opened, and has nothing in it yet.
    opened: Vec<&'static str>,
    prefixes: Vec<Prefix>,
    /// How many of them held since the last word: what an empty line begins with.
    n_held: usize,
    /// Quotes and items that are too deep to be shown as such.
    n_deeper: usize,
    /// The lists: the number of the next item, if they are numbered.
    lists: Vec<Option<usize>>,
    n_verbatim: usize,
    /// Whether a fence was begun just now, whose first line end is not part of it.
    is_fence_new: bool,
    tables: Vec<Table>,
}

/// A table under way.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    n_rows: usize,
    n_cells: usize,
    is_in_cell: bool,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            breaks: 0,
            is_spaced: false,
            marker: None,
            opened: Vec::new(),
            prefixes: Vec::new(),
            n_held: 0,
            n_deeper: 0,
            lists: Vec::new(),
            n_verbatim: 0,
            is_fence_new: false,
            tables: Vec::new(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        BYTES_MAX <= self.text.len()
    }

    pub(super) fn is_verbatim(&self) -> bool {
        self.n_verbatim != 0
    }

    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }

    /// Writes text: as it is where it stands in a fence, word by word elsewhere.
    pub(super) fn text(&mut self, text: &str) {
        if self.is_verbatim() {
            return self.verbatim(text);
        }
        if text.starts_with(char::is_whitespace) {
            self.is_spaced = true;
        }
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            self.raw(word);
            self.is_spaced = words.peek().is_some();
        }
        if text.ends_with(char::is_whitespace) {
            self.is_spaced = true;
        }
    }

    fn verbatim(&mut self, text: &str) {
        let is_new = std::mem::take(&mut self.is_fence_new);
        let text = text.strip_prefix('\n').filter(|_| is_new).unwrap_or(text);
        for (n, line) in text.split('\n').enumerate() {
            if n != 0 {
                self.breaks += 1;
            }
            if !line.is_empty() {
                self.is_spaced = false;
                self.raw(line);
            }
        }
    }

    /// Writes a word, after what has to come before it.
    pub(super) fn raw(&mut self, word: &str) {
        if self.is_full() {
            return;
        }
        let is_first = self.text.is_empty();
        if is_first || self.breaks != 0 {
            self.begin_line(is_first);
        } else if self.is_spaced && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.is_spaced = false;
        for opened in std::mem::take(&mut self.opened) {
            self.text.push_str(opened);
        }
        self.text.push_str(word);
    }

    fn begin_line(&mut self, is_first: bool) {
        let n_breaks = std::mem::take(&mut self.breaks);
        let marker = self.marker.take();
        if !is_first {
            for n in 0..n_breaks.min(64) {
                if n != 0 {
                    let prefix = self.prefix(self.prefixes.len() - self.n_held);
                    self.text.push_str(prefix.trim_end());
                }
                self.text.push('\n');
            }
        }
        let is_item = marker.as_ref().is_some_and(|marker| !marker.starts_with('#'));
        let prefix = self.prefix(usize::from(is_item && self.n_deeper == 0));
        self.n_held = self.prefixes.len();
        self.text.push_str(&prefix);
        self.text.push_str(&marker.unwrap_or_default());
    }

    /// Returns what a line begins with, but for the innermost ones.
    fn prefix(&self, n_less: usize) -> String {
        let n_kept = self.prefixes.len().saturating_sub(n_less);
        let written = |prefix: &Prefix| match prefix {
            Prefix::Quote => "> ",
            Prefix::Indent => "  ",
        };
        self.prefixes.iter().take(n_kept).map(written).collect()
    }

    /// Ends a block: the next word stands so many lines further down, at least.
    pub(super) fn block(&mut self, n_lines: usize) {
        if self.tables.last().is_some_and(|table| table.is_in_cell) {
            self.is_spaced = true;
        } else if self.marker.is_none() {
            self.breaks = self.breaks.max(n_lines);
        }
    }

    pub(super) fn line_break(&mut self) {
        match self.breaks {
            0 => self.block(1),
            _ => self.block(2),
        }
    }

    /// Marks the next line.
    pub(super) fn mark(&mut self, marker: &str) {
        let is_in_cell = self.tables.last().is_some_and(|table| table.is_in_cell);
        if self.marker.is_none() && !is_in_cell {
            self.marker = Some(marker.to_owned());
        }
    }

    /// Takes a mark back that nothing came after.
    pub(super) fn unmark(&mut self) {
        self.marker = None;
    }

    /// Opens something that is written only if there is a word in it.
    pub(super) fn open(&mut self, sign: &'static str) {
        self.opened.push(sign);
    }

    /// Closes what was opened last, if there was a word in it.
    pub(super) fn close(&mut self, sign: &str) {
        if self.opened.pop().is_none() && !self.is_full() {
            self.text.push_str(sign);
        }
    }

    pub(super) fn begin_list(&mut self, is_numbered: bool) {
        self.block(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(is_numbered.then_some(1));
    }

    pub(super) fn end_list(&mut self) {
        self.lists.pop();
        self.block(if self.lists.is_empty() { 2 } else { 1 });
    }

    pub(super) fn next_marker(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number += 1;
                marker
            }
            Some(None) | None => "- ".to_owned(),
        }
    }

    pub(super) fn begin_item(&mut self, marker: &str) {
        if self.tables.last().is_some_and(|table| table.is_in_cell) {
            self.is_spaced = true;
        } else if !marker.is_empty() {
            self.marker = Some(marker.to_owned());
        }
        self.push(Prefix::Indent);
    }

    pub(super) fn end_item(&mut self) {
        self.marker = None;
        self.pop();
        self.block(1);
    }

    pub(super) fn begin_quote(&mut self, is_shown: bool) {
        self.block(2);
        self.push(if is_shown { Prefix::Quote } else { Prefix::Indent });
    }

    pub(super) fn end_quote(&mut self, _is_shown: bool) {
        self.pop();
        self.block(2);
    }

    fn push(&mut self, prefix: Prefix) {
        match self.prefixes.len() < PREFIXES_MAX {
            true => self.prefixes.push(prefix),
            false => self.n_deeper += 1,
        }
    }

    fn pop(&mut self) {
        match self.n_deeper {
            0 => drop(self.prefixes.pop()),
            _ => self.n_deeper -= 1,
        }
        self.n_held = self.n_held.min(self.prefixes.len());
    }

    pub(super) fn begin_fence(&mut self, is_shown: bool) {
        self.block(2);
        if is_shown && self.n_verbatim == 0 {
            self.raw("```");
            self.breaks = 1;
        }
        self.n_verbatim += 1;
        self.is_fence_new = true;
    }

    pub(super) fn end_fence(&mut self, is_shown: bool) {
        self.n_verbatim -= 1;
        if is_shown && self.n_verbatim == 0 {
            self.breaks = 1;
            self.raw("```");
        }
        self.breaks = self.breaks.min(2);
        self.block(2);
    }

    pub(super) fn begin_table(&mut self) {
        // A table in a cell is there for the looks of the page: its rows are lines as well.
        self.tables.push(Table::default());
        self.block(2);
    }

    pub(super) fn end_table(&mut self) {
        self.tables.pop();
        self.block(2);
    }

    pub(super) fn begin_row(&mut self) {
        self.block(1);
        if let Some(table) = self.tables.last_mut() {
            table.n_cells = 0;
        }
    }

    pub(super) fn begin_cell(&mut self, is_markdown: bool) {
        let Some(table) = self.tables.last_mut() else { return };
        table.n_cells += 1;
        table.is_in_cell = true;
        let is_first = table.n_cells == 1;
        match (is_first, is_markdown) {
            (true, true) => self.raw("| "),
            (true, false) => {}
            (false, _) => {
                self.is_spaced = true;
                self.raw("| ");
            }
        }
    }

    pub(super) fn end_cell(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.is_in_cell = false;
        }
    }

    pub(super) fn end_row(&mut self, is_markdown: bool) {
        let Some(table) = self.tables.last_mut() else { return };
        let (n_cells, is_head) = (table.n_cells, table.n_rows == 0);
        table.n_rows += 1;
        if n_cells == 0 {
            return;
        }
        if is_markdown {
            self.is_spaced = true;
            self.raw("|");
            if is_head {
                self.breaks = self.breaks.max(1);
                self.raw(&format!("|{}", " --- |".repeat(n_cells.min(64))));
            }
        }
        self.block(1);
    }
}
