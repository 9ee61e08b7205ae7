//! One place of a screen: what stands there, and how it looks.
//!
//! What a terminal is sent for it is not known here.

use std::collections::HashMap;
use std::sync::Arc;

use unicode_width::UnicodeWidthChar as _;

/// How many different clusters of characters a screen can hold at a time.
const CLUSTERS_MAX: usize = 4096;
/// How many characters stand in one place at most, one over the other.
const CLUSTER_CHARS_MAX: usize = 16;

/// A colour.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Usual,
    /// One of the terminal's 256.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// How what stands in a place looks.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Style {
    /// The colour of the character.
    pub ink: Colour,
    /// The colour behind it.
    pub ground: Colour,
    /// The colour of the line under it.
    pub line: Colour,
    /// Bold, dim and so on, as a set of [`Style`]'s constants.
    pub flags: u8,
    /// Which line is under it: 0 for none, then single, double, curly, dotted, dashed.
    pub underline: u8,
}

/// A place on a screen.
///
/// Invariant: it holds a character that can be shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cell {
    /// What stands there.
    symbol: char,
    /// Which further characters stand over it; 0 for none.
    cluster: u16,
    /// How many places it takes: 1 or 2, and 0 for the second place of one that takes two.
    width: u8,
    style: Style,
}

/// The further characters of places in which several stand.
///
/// Shared with the frames that were made of a screen; a number means the same until the table is renewed.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    texts: Arc<Vec<Box<str>>>,
    /// What stands in a place once another character stands over it, too.
    known: HashMap<(u16, char), u16>,
    /// How often it was renewed.
    pub(crate) generation: u64,
}

impl Style {
    /// Bold.
    pub const BOLD: u8 = 1;
    /// Dim.
    pub const DIM: u8 = 1 << 1;
    /// Italic.
    pub const ITALIC: u8 = 1 << 2;
    /// Blinking.
    pub const BLINK: u8 = 1 << 3;
    /// Colours swapped.
    pub const REVERSE: u8 = 1 << 4;
    /// Not shown.
    pub const HIDDEN: u8 = 1 << 5;
    /// Struck through.
    pub const STRUCK: u8 = 1 << 6;
    /// With a line above.
    pub const OVERLINE: u8 = 1 << 7;

    /// Returns how an erased place looks where this style is in force.
    pub(crate) fn erased(self) -> Self {
        Self { ground: self.ground, ..Self::default() }
    }
}

impl Default for Cell {
    fn default() -> Self {
        Self::blank(Style::default())
    }
}

impl Cell {
    /// An empty place.
    pub(crate) const fn blank(style: Style) -> Self {
        Self { symbol: ' ', cluster: 0, width: 1, style }
    }

    /// A place with a printable character of ASCII.
    ///
    /// Anything else is a space there.
    pub(crate) fn ascii(byte: u8, style: Style) -> Self {
        let symbol = if matches!(byte, 0x20..=0x7e) { char::from(byte) } else { ' ' };
        Self { symbol, cluster: 0, width: 1, style }
    }

    /// A place with a character, if it can be shown and takes a place.
    pub(crate) fn of(symbol: char, style: Style) -> Option<Self> {
        let width = match symbol {
            // Latin, and what boxes are drawn with, of which there is most.
            ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{2500}'..='\u{25fc}' => 1,
            _ if is_showable(symbol) => symbol.width().unwrap_or(0),
            _ => 0,
        };
        match width {
            0 => None,
            width => {
                Some(Self { symbol, cluster: 0, width: if width == 1 { 1 } else { 2 }, style })
            }
        }
    }

    /// The second place of a character that takes two.
    pub(crate) const fn second(style: Style) -> Self {
        Self { symbol: ' ', cluster: 0, width: 0, style }
    }

    /// Returns what stands there.
    pub fn symbol(&self) -> char {
        self.symbol
    }

    /// Returns how many places it takes; 0 for the second place of one that takes two.
    pub fn width(&self) -> u8 {
        self.width
    }

    /// Returns how it looks.
    pub fn style(&self) -> Style {
        self.style
    }

    pub(crate) fn cluster(&self) -> u16 {
        self.cluster
    }

    /// Puts further characters over it.
    pub(crate) fn with_cluster(self, cluster: u16, is_wide: bool) -> Self {
        Self { cluster, width: if is_wide { 2 } else { self.width }, ..self }
    }
}

/// Returns whether a character may stand on a screen: no control, and nothing that changes the direction of
/// the text around it, so that what we draw beside it stands where we put it.
pub(crate) fn is_showable(symbol: char) -> bool {
    !symbol.is_control()
        && !matches!(symbol,
            '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' | '\u{180e}' | '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns whether a character stands over the one before it and takes no place.
pub(crate) fn is_mark(symbol: char) -> bool {
    is_showable(symbol) && symbol.width().unwrap_or(0) == 0
}

/// Returns whether it makes another shade of the emoji before it.
pub(crate) fn is_skin(symbol: char) -> bool {
    matches!(symbol, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Joins the emoji before and after it.
pub(crate) const JOINER: char = '\u{200d}';
/// Asks for the emoji of a character, which is wide.
pub(crate) const AS_EMOJI: char = '\u{fe0f}';

impl Clusters {
    /// Returns the further characters of a place.
    pub fn text(&self, cell: &Cell) -> &str {
        let at = usize::from(cell.cluster).checked_sub(1);
        at.and_then(|at| self.texts.get(at)).map_or("", |text| &**text)
    }

    /// Returns the number for what stands over a character once `mark` does too; `None` if there is no room.
    pub(crate) fn adding(&mut self, cell: &Cell, mark: char) -> Option<u16> {
        self.following(cell.cluster, mark)
    }

    fn following(&mut self, before: u16, mark: char) -> Option<u16> {
        if let Some(known) = self.known.get(&(before, mark)) {
            return Some(*known);
        }
        let at = usize::from(before).checked_sub(1);
        let text = at.and_then(|at| self.texts.get(at)).map_or("", |text| &**text);
        if CLUSTER_CHARS_MAX <= text.chars().count() + 1 || self.is_full() {
            return None;
        }
        let mut longer = String::with_capacity(text.len() + 4);
        longer.push_str(text);
        longer.push(mark);
        let texts = Arc::make_mut(&mut self.texts);
        texts.push(longer.into_boxed_str());
        let number = u16::try_from(texts.len()).ok()?;
        self.known.insert((before, mark), number);
        Some(number)
    }

    /// Returns whether no further cluster has room.
    pub(crate) fn is_full(&self) -> bool {
        CLUSTERS_MAX <= self.texts.len()
    }

    /// Keeps those that still stand somewhere, under other numbers.
    pub(crate) fn renew<'a>(&mut self, cells: impl Iterator<Item = &'a mut Cell>) {
        let mut renewed = Self { generation: self.generation + 1, ..Self::default() };
        let mut moved: HashMap<u16, u16> = HashMap::new();
        for cell in cells.filter(|cell| cell.cluster != 0) {
            let number = moved.entry(cell.cluster).or_insert_with(|| {
                // INVARIANT: each beginning of it had a number before, so all of them have room again.
                let marks = self.text(cell).chars();
                marks.fold(0, |before, mark| renewed.following(before, mark).unwrap_or(before))
            });
            cell.cluster = *number;
        }
        *self = renewed;
    }
}
