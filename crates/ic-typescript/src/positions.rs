//! Where things stood before the types were taken out, and where they stand now.
//!
//! A place that no token begins at is taken for the last one that does before it on its line; what
//! stands on a line that we made ourselves has no place.

/// A place in a source, as editors count: both from 1, columns in UTF-16 units.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Leads from places in the code to places in the source.
///
/// Invariant: sorted by the places in the code.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Positions(Vec<(Place, Place)>);

impl Positions {
    /// Takes pairs of places, the one in the code first.
    pub(crate) fn new(mut pairs: Vec<(Place, Place)>) -> Self {
        pairs.sort_by_key(|(code, _)| *code);
        Self(pairs)
    }

    /// Returns where what is at `place` in the code stood in the source.
    pub fn original(&self, place: Place) -> Option<Place> {
        let after = self.0.partition_point(|(code, _)| *code <= place);
        let (code, source) = self.0.get(after.checked_sub(1)?)?;
        (code.line == place.line).then_some(*source)
    }
}

impl Place {
    /// Returns the place of the byte at `offset`.
    pub(crate) fn of_offset(source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().encode_utf16().count() + 1;
        Self {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}
