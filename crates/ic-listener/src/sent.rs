//! What a terminal is sent so that it shows a drawing: only the rows that differ from what stands there.
//!
//! Nothing is sent but text that passed [`Line`], places and inks.

use std::fmt::Write as _;

use ic_terminal::Line;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};

use crate::draw::Drawing;

/// The cursor is not seen on its way, and no row is left to the terminal to break.
const BEGIN: &str = "\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h";
const CLEAR: &str = "\x1b[0m\x1b[2J";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// Returns what makes a screen that shows `before` show `after`; with nothing before, all of it is sent.
///
/// Empty if nothing differs.
pub fn sent(before: Option<&Drawing>, after: &Drawing, is_painted: bool) -> String {
    if before.is_some_and(|it| it.cells == after.cells && it.cursor == after.cursor) {
        return String::new();
    }
    let mut sent = BEGIN.to_owned();
    let before = before.filter(|it| it.cells.area == after.cells.area);
    if before.is_none() {
        sent.push_str(CLEAR);
    }
    let (mut at, mut ink) = (None, String::new());
    for (y, row) in rows(&after.cells) {
        // Row by row: what half of a wide letter becomes when the other half is written over differs
        // between terminals, and a row that is sent whole leaves none behind.
        if before.is_some_and(|it| rows(&it.cells).nth(usize::from(y)) == Some((y, row))) {
            continue;
        }
        let mut x = 0;
        while let Some(cell) = row.get(usize::from(x)) {
            // A cell may be wider than the terminal thinks, so the place is said unless it surely follows.
            if at != Some((x, y)) {
                write!(sent, "\x1b[{};{}H", y + 1, x + 1).ok();
            }
            let wanted = if is_painted { code(cell) } else { String::new() };
            if wanted != ink {
                write!(sent, "\x1b[0{wanted}m").ok();
                ink = wanted;
            }
            sent.push_str(cell.symbol());
            at = (cell.symbol().is_ascii()).then_some((x + 1, y));
            x += width(cell);
        }
    }
    if !ink.is_empty() {
        sent.push_str("\x1b[0m");
    }
    sent.push_str(END);
    if let Some((x, y)) = after.cursor {
        write!(sent, "\x1b[{};{}H{SHOW_CURSOR}", y + 1, x + 1).ok();
    }
    sent
}

/// Returns the rows of a screen from the top, each with its cells.
fn rows(cells: &Buffer) -> impl Iterator<Item = (u16, &[Cell])> {
    (0..).zip(cells.content().chunks(usize::from(cells.area.width.max(1))))
}

/// Returns how many columns a cell takes; those that it covers stand behind it, empty.
fn width(cell: &Cell) -> u16 {
    if cell.symbol().is_ascii() {
        return 1;
    }
    u16::try_from(Line::plain(cell.symbol()).width()).unwrap_or(1).max(1)
}

/// Returns the numbers by which a terminal knows how a cell looks, each behind a semicolon.
fn code(cell: &Cell) -> String {
    let mut code = String::new();
    for (modifier, number) in
        [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::ITALIC, ";3")]
    {
        if cell.modifier.contains(modifier) {
            code.push_str(number);
        }
    }
    code.push_str(match cell.fg {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        Color::Cyan => ";36",
        _ => "",
    });
    code
}

#[cfg(test)]
mod tests;
