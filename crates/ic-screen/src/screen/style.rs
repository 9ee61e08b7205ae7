//! How what is written from now on looks (SGR).

use super::Model;
use crate::cell::{Colour, Style};
use crate::dropped::Kind;
use crate::parser::Sequence;

impl Model {
    pub(super) fn on_style(&mut self, sequence: &Sequence) {
        if sequence.is_empty() {
            self.cursor.style = Style::default();
        }
        let mut at = 0;
        while at < sequence.len() {
            at += self.one_style(sequence, at).max(1);
        }
    }

    /// Takes one of them, and returns how many parameters it has.
    fn one_style(&mut self, sequence: &Sequence, at: usize) -> usize {
        let n_parts = (at + 1..sequence.len()).take_while(|it| sequence.is_part(*it)).count();
        let style = &mut self.cursor.style;
        let code = sequence.get(at);
        let index = |base: u16| u8::try_from(code.saturating_sub(base)).unwrap_or(0);
        match code {
            0 => *style = Style::default(),
            1 => style.flags |= Style::BOLD,
            2 => style.flags |= Style::DIM,
            3 => style.flags |= Style::ITALIC,
            4 => {
                let kind = if n_parts == 0 { 1 } else { sequence.get(at + 1).min(5) };
                style.underline = u8::try_from(kind).unwrap_or(1);
            }
            5 | 6 => style.flags |= Style::BLINK,
            7 => style.flags |= Style::REVERSE,
            8 => style.flags |= Style::HIDDEN,
            9 => style.flags |= Style::STRUCK,
            21 => style.underline = 2,
            22 => style.flags &= !(Style::BOLD | Style::DIM),
            23 => style.flags &= !Style::ITALIC,
            24 => style.underline = 0,
            25 => style.flags &= !Style::BLINK,
            27 => style.flags &= !Style::REVERSE,
            28 => style.flags &= !Style::HIDDEN,
            29 => style.flags &= !Style::STRUCK,
            30..=37 => style.ink = Colour::Indexed(index(30)),
            39 => style.ink = Colour::Usual,
            40..=47 => style.ground = Colour::Indexed(index(40)),
            49 => style.ground = Colour::Usual,
            53 => style.flags |= Style::OVERLINE,
            55 => style.flags &= !Style::OVERLINE,
            59 => style.line = Colour::Usual,
            90..=97 => style.ink = Colour::Indexed(index(90 - 8)),
            100..=107 => style.ground = Colour::Indexed(index(100 - 8)),
            38 | 48 | 58 => {
                let (colour, n_taken) = colour(sequence, at, n_parts);
                match (colour, code) {
                    (None, _) => self.dropped.count(Kind::Sequence),
                    (Some(colour), 38) => style.ink = colour,
                    (Some(colour), 48) => style.ground = colour,
                    (Some(colour), _) => style.line = colour,
                }
                return n_taken;
            }
            _ => self.dropped.count(Kind::Sequence),
        }
        1 + n_parts
    }
}

/// Reads a colour, in either of its two spellings; returns how many parameters it has.
fn colour(sequence: &Sequence, at: usize, n_parts: usize) -> (Option<Colour>, usize) {
    let value = |at: usize| u8::try_from(sequence.get(at)).ok();
    let rgb = |from: usize| Some(Colour::Rgb(value(from)?, value(from + 1)?, value(from + 2)?));
    let indexed = |at: usize| value(at).map(Colour::Indexed);
    match (sequence.get(at + 1), n_parts) {
        // Without parts the parameters that follow belong to it.
        (2, 0) => (rgb(at + 2), 5),
        (5, 0) => (indexed(at + 2), 3),
        (_, 0) => (None, sequence.len()),
        (5, _) => (indexed(at + 2), 1 + n_parts),
        // With or without the number of a colour space.
        (2, 4) => (rgb(at + 2), 1 + n_parts),
        (2, 5..) => (rgb(at + 3), 1 + n_parts),
        _ => (None, 1 + n_parts),
    }
}
