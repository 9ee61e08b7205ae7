//! The modes that a program sets and a terminal has to have too, so that its keys arrive as the program
//! expects them.

use super::{KEYBOARDS_MAX, Model, Saved};
use crate::dropped::Kind;
use crate::grid::Grid;
use crate::parser::Sequence;

/// Which modes are set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mode of its own")]
pub struct Modes {
    /// Whether the cursor is seen.
    pub is_cursor_seen: bool,
    /// How the cursor looks, 0 to 6.
    pub cursor_shape: u8,
    /// Whether the arrow keys send what applications expect.
    pub has_application_arrows: bool,
    /// Whether the keys of the number pad do.
    pub has_application_pad: bool,
    /// Whether what is pasted comes between marks.
    pub marks_pastes: bool,
    /// Whether the program is told when the window is looked at.
    pub tells_focus: bool,
    /// What it is told of the mouse.
    pub mouse: Mouse,
    /// Whether that is told in the one form that we pass on (1006).
    pub has_sgr_mouse: bool,
    /// What the keyboard protocol of kitty is to tell, as its flags; 0 for what every terminal tells.
    pub keyboard: u8,
}

/// What a program is told of the mouse.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Mouse {
    /// Nothing.
    #[default]
    Off,
    /// Buttons.
    Buttons,
    /// Buttons, and where it goes while one is held.
    Drags,
    /// Buttons, and where it goes.
    Moves,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            is_cursor_seen: true,
            cursor_shape: 0,
            has_application_arrows: false,
            has_application_pad: false,
            marks_pastes: false,
            tells_focus: false,
            mouse: Mouse::Off,
            has_sgr_mouse: false,
            keyboard: 0,
        }
    }
}

impl Modes {
    /// Returns what the terminal is to tell of the mouse: nothing where the program wants another form.
    pub fn mouse_told(&self) -> Mouse {
        if self.has_sgr_mouse { self.mouse } else { Mouse::Off }
    }
}

impl Model {
    /// Sets or resets a mode of DEC's.
    pub(super) fn set_mode(&mut self, mode: u16, is_set: bool) {
        let mouse = |mouse| if is_set { mouse } else { Mouse::Off };
        match mode {
            1 => self.modes.has_application_arrows = is_set,
            6 => {
                self.is_origin = is_set;
                self.go(0, 0);
            }
            7 => self.wraps = is_set,
            25 => self.modes.is_cursor_seen = is_set,
            47 | 1047 => self.switch(is_set, false),
            1048 if is_set => self.save(),
            1048 => self.restore(),
            1049 => self.switch(is_set, true),
            66 => self.modes.has_application_pad = is_set,
            1000 => self.modes.mouse = mouse(Mouse::Buttons),
            1002 => self.modes.mouse = mouse(Mouse::Drags),
            1003 => self.modes.mouse = mouse(Mouse::Moves),
            1004 => self.modes.tells_focus = is_set,
            1006 => self.modes.has_sgr_mouse = is_set,
            2004 => self.modes.marks_pastes = is_set,
            2026 => self.is_held = is_set,
            _ => self.dropped.count(Kind::Mode),
        }
    }

    /// Returns what is answered to the question whether a mode is set: 1 set, 2 reset, 0 unknown.
    pub(super) fn mode(&self, mode: u16) -> u8 {
        let is_set = match mode {
            1 => self.modes.has_application_arrows,
            6 => self.is_origin,
            7 => self.wraps,
            25 => self.modes.is_cursor_seen,
            66 => self.modes.has_application_pad,
            47 | 1047 | 1049 => self.main.is_some(),
            1000 => self.modes.mouse == Mouse::Buttons,
            1002 => self.modes.mouse == Mouse::Drags,
            1003 => self.modes.mouse == Mouse::Moves,
            1004 => self.modes.tells_focus,
            1006 => self.modes.has_sgr_mouse,
            2004 => self.modes.marks_pastes,
            2026 => self.is_held,
            _ => return 0,
        };
        if is_set { 1 } else { 2 }
    }

    /// Shows the other screen, or the main one again.
    fn switch(&mut self, is_other: bool, saves: bool) {
        if is_other {
            if saves {
                self.save();
            }
            if self.main.is_none() {
                let empty = Grid::new(self.size.rows, self.size.columns);
                let main = std::mem::replace(&mut self.grid, empty);
                self.main = Some((main, self.saved));
            }
        } else if let Some((main, saved)) = self.main.take() {
            self.grid = main;
            self.saved = saved;
            if saves {
                self.restore();
            }
        }
        self.last_at = None;
    }

    pub(super) fn save(&mut self) {
        let Self { cursor, is_origin, draws_lines, is_second_set, .. } = *self;
        self.saved = Saved { cursor, is_origin, draws_lines, is_second_set };
    }

    pub(super) fn restore(&mut self) {
        let Saved { cursor, is_origin, draws_lines, is_second_set } = self.saved;
        (self.cursor, self.is_origin) = (cursor, is_origin);
        (self.draws_lines, self.is_second_set) = (draws_lines, is_second_set);
        self.last_at = None;
    }

    /// Does what the keyboard protocol of kitty has; `prefix` says what.
    pub(super) fn on_keyboard(&mut self, sequence: &Sequence) {
        /// The flags there are.
        const FLAGS: u16 = 0b1_1111;
        let flags = u8::try_from(sequence.get(0) & FLAGS).unwrap_or(0);
        match sequence.prefix {
            b'?' if self.known.has_keyboard => {
                let keyboard = self.modes.keyboard;
                self.answer(format_args!("\x1b[?{keyboard}u"));
            }
            b'?' => self.dropped.count(Kind::Report),
            // SECURITY: where the terminal has no such protocol there is nothing to be set.
            _ if !self.known.has_keyboard => self.dropped.count(Kind::Mode),
            b'>' => {
                if KEYBOARDS_MAX <= self.keyboards.len() {
                    self.keyboards.remove(0);
                }
                self.keyboards.push(self.modes.keyboard);
                self.modes.keyboard = flags;
            }
            b'<' => {
                for _ in 0..usize::from(sequence.or(0, 1)).min(KEYBOARDS_MAX) {
                    self.modes.keyboard = self.keyboards.pop().unwrap_or(0);
                }
            }
            _ => {
                self.modes.keyboard = match sequence.or(1, 1) {
                    2 => self.modes.keyboard | flags,
                    3 => self.modes.keyboard & !flags,
                    _ => flags,
                };
            }
        }
    }
}
