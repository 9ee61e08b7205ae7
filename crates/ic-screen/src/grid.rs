//! Rows of cells: written, erased, shifted, scrolled, made larger and smaller.
//!
//! Where the cursor is and what is in force is not known here. What does not exist is not written to.

use std::collections::VecDeque;

use crate::cell::{Cell, Style};

/// Rows of equal width.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    rows: VecDeque<Row>,
    columns: usize,
}

/// A row of cells.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// From where on all cells are as at the beginning.
    n_used: usize,
}

impl Row {
    fn new(columns: usize) -> Self {
        Self { cells: vec![Cell::default(); columns], n_used: 0 }
    }

    fn erase(&mut self, style: Style) {
        if style == Style::default() {
            let n_used = std::mem::replace(&mut self.n_used, 0);
            return self.cells.iter_mut().take(n_used).for_each(|cell| *cell = Cell::default());
        }
        self.cells.fill(Cell::blank(style));
        self.n_used = self.cells.len();
    }

    /// Leaves nothing of a wide character that would have one half on either side of a place.
    fn split_at(&mut self, column: usize) {
        if self.cells.get(column).is_none_or(|cell| cell.width() != 0) {
            return;
        }
        for at in [column.checked_sub(1), Some(column)].into_iter().flatten() {
            if let Some(cell) = self.cells.get_mut(at) {
                *cell = Cell::blank(cell.style());
            }
        }
    }

    fn uses(&mut self, to: usize) {
        self.n_used = self.n_used.max(to.min(self.cells.len()));
    }
}

impl Grid {
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        Self { rows: std::iter::repeat_n(Row::new(columns), rows).collect(), columns }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    pub(crate) fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.rows.iter_mut().flat_map(|row| row.cells.iter_mut())
    }

    /// Returns a cell, if it exists.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<&Cell> {
        self.rows.get(row)?.cells.get(column)
    }

    /// Writes a run of ASCII, which has room in the row.
    pub(crate) fn write(&mut self, row: usize, column: usize, run: &[u8], style: Style) {
        let Some(row) = self.rows.get_mut(row) else { return };
        row.split_at(column);
        row.split_at(column + run.len());
        row.uses(column + run.len());
        for (cell, byte) in row.cells.iter_mut().skip(column).zip(run) {
            *cell = Cell::ascii(*byte, style);
        }
    }

    /// Puts a cell somewhere, and its second place behind it.
    pub(crate) fn put(&mut self, row: usize, column: usize, cell: Cell) {
        let width = usize::from(cell.width());
        let Some(row) = self.rows.get_mut(row) else { return };
        row.split_at(column);
        row.split_at(column + width);
        row.uses(column + width);
        if let Some(place) = row.cells.get_mut(column) {
            *place = cell;
        }
        if width == 2
            && let Some(place) = row.cells.get_mut(column + 1)
        {
            *place = Cell::second(cell.style());
        }
    }

    /// Erases places of a row.
    pub(crate) fn erase(&mut self, row: usize, from: usize, to: usize, style: Style) {
        if from == 0 && self.columns <= to {
            if let Some(row) = self.rows.get_mut(row) {
                row.erase(style);
            }
            return;
        }
        let Some(row) = self.rows.get_mut(row) else { return };
        row.split_at(from);
        row.split_at(to);
        if style != Style::default() {
            row.uses(to);
        }
        let n_places = to.saturating_sub(from);
        for cell in row.cells.iter_mut().skip(from).take(n_places) {
            *cell = Cell::blank(style);
        }
    }

    /// Shifts what is behind a place to the right, and what does not fit away.
    pub(crate) fn insert(&mut self, row: usize, at: usize, n_places: usize, style: Style) {
        self.shift(row, at, n_places, style, true);
    }

    /// Takes places away, and shifts what is behind them to the left.
    pub(crate) fn delete(&mut self, row: usize, at: usize, n_places: usize, style: Style) {
        self.shift(row, at, n_places, style, false);
    }

    fn shift(&mut self, row: usize, at: usize, n_places: usize, style: Style, is_right: bool) {
        let n_places = n_places.min(self.columns.saturating_sub(at));
        let edge = if is_right { self.columns - n_places } else { at + n_places };
        let Some(row) = self.rows.get_mut(row) else { return };
        row.split_at(at);
        row.split_at(edge);
        row.uses(self.columns);
        let Some(tail) = row.cells.get_mut(at..) else { return };
        let n_kept = tail.len() - n_places;
        let (from, blank) = if is_right {
            tail.rotate_right(n_places);
            (0, n_places)
        } else {
            tail.rotate_left(n_places);
            (n_kept, n_places)
        };
        for cell in tail.iter_mut().skip(from).take(blank) {
            *cell = Cell::blank(style);
        }
    }

    /// Scrolls the rows of a region up; new ones are below.
    pub(crate) fn scroll_up(&mut self, top: usize, bottom: usize, n_rows: usize, style: Style) {
        let bottom = bottom.min(self.rows.len());
        if top == 0 && bottom == self.rows.len() {
            for _ in 0..n_rows.min(bottom) {
                let Some(mut row) = self.rows.pop_front() else { return };
                row.erase(style);
                self.rows.push_back(row);
            }
            return;
        }
        let Some(region) = self.rows.make_contiguous().get_mut(top..bottom) else { return };
        let n_rows = n_rows.min(region.len());
        region.rotate_left(n_rows);
        let n_kept = region.len() - n_rows;
        for row in region.iter_mut().skip(n_kept) {
            row.erase(style);
        }
    }

    /// Scrolls the rows of a region down; new ones are above.
    pub(crate) fn scroll_down(&mut self, top: usize, bottom: usize, n_rows: usize, style: Style) {
        let bottom = bottom.min(self.rows.len());
        let Some(region) = self.rows.make_contiguous().get_mut(top..bottom) else { return };
        let n_rows = n_rows.min(region.len());
        region.rotate_right(n_rows);
        for row in region.iter_mut().take(n_rows) {
            row.erase(style);
        }
    }

    /// Makes it another size; rows that are too many are taken from the top as far as the cursor is below.
    ///
    /// Returns by how many rows what is there went up.
    pub(crate) fn resize(&mut self, rows: usize, columns: usize, cursor_row: usize) -> usize {
        let n_up = (cursor_row + 1).saturating_sub(rows).min(self.rows.len());
        self.rows.drain(..n_up);
        self.rows.resize_with(rows, || Row::new(columns));
        for row in &mut self.rows {
            // A wide character at the edge must not lose its half.
            row.split_at(columns);
            row.cells.resize(columns, Cell::default());
            row.n_used = row.n_used.min(columns);
        }
        self.columns = columns;
        n_up
    }
}
