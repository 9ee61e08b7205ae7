//! A number with its noun, for people: `1 file`, `2 files`.

use std::fmt::Display;

/// Says how many there are of something.
///
/// ```
/// use ic_types::counted;
///
/// assert_eq!(counted(1, "entry", "entries"), "1 entry");
/// assert_eq!(counted(0, "entry", "entries"), "0 entries");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    let noun = if n == N::from(1) { one } else { many };
    format!("{n} {noun}")
}
