//! Stack traces of the engine, made traces of what the agent wrote.
//!
//! Lines that are not the script's are left out. The text is the script's own and may say anything;
//! nothing depends on it.

use ic_typescript::{Place, Positions};

/// What the engine calls the script.
pub(super) const SCRIPT: &str = "script.ts";
/// Lines that stand before the script in what the engine gets.
pub(super) const LINES_BEFORE: u32 = 1;
/// The most lines of a trace.
const LINES_MAX: usize = 16;

/// A trace, and the place where it begins.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Trace {
    pub(super) text: String,
    pub(super) place: Option<Place>,
}

impl Trace {
    /// Takes the engine's trace.
    pub(super) fn new(stack: &str, positions: &Positions) -> Self {
        let mut trace = Self::default();
        for line in stack.lines().filter_map(|line| mapped(line, positions)).take(LINES_MAX) {
            let (line, place) = line;
            trace.place = trace.place.or(Some(place));
            if !trace.text.is_empty() {
                trace.text.push('\n');
            }
            trace.text.push_str(&line);
        }
        trace
    }
}

/// Returns a line with its place in the source.
fn mapped(line: &str, positions: &Positions) -> Option<(String, Place)> {
    let (before, rest) = line.split_once(&format!("{SCRIPT}:"))?;
    let n_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (row, rest) = rest.split_at(n_digits(rest));
    let rest = rest.strip_prefix(':')?;
    let (column, after) = rest.split_at(n_digits(rest));
    let row: u32 = row.parse().ok()?;
    let place = Place { line: row.checked_sub(LINES_BEFORE)?, column: column.parse().ok()? };
    let place = positions.original(place)?;
    // The function that the script is wrapped in is not the agent's.
    let before = before.replace("at <anonymous> (", "at (");
    Some((format!("{before}{SCRIPT}:{}:{}{after}", place.line, place.column), place))
}
