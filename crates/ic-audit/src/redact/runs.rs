//! Where runs of like characters end, each run walked once.
//!
//! Hostile text starts a thousand secrets in one long run. The end of the run is the same for all
//! of them, so it is remembered; this is what keeps the scan linear.

/// A set of characters that make up a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// Hexadecimal digits.
    Hex,
    /// Hexadecimal digits and `-`.
    HexDash,
    /// Capital letters and digits.
    Upper,
    /// Letters and digits.
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// The alphabet of base64url: letters, digits, `_` and `-`.
    Url64,
    /// Base64url and `.`.
    Dotted,
    /// Base64url and what separates the parts of a URL's path.
    Path,
    /// Every form of base64.
    Blob,
    /// A part of an unquoted value: ends at space, quote, `&` and `;`, and stops at `\\` and `<`.
    Value,
    /// The user in a URL, before `:` or `@`.
    User,
    /// What stands between `://` and the path.
    Authority,
    /// What stands before the next `@` of the same word.
    BeforeAt,
}

impl Class {
    const COUNT: usize = Self::BeforeAt as usize + 1;

    /// Returns whether `byte` belongs to a run of this class.
    pub(super) const fn holds(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::HexDash => byte.is_ascii_hexdigit() || byte == b'-',
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url64 => is_url64(byte),
            Self::Dotted => is_url64(byte) || byte == b'.',
            Self::Path => is_url64(byte) || matches!(byte, b'/' | b'@' | b'.'),
            Self::Blob => is_url64(byte) || matches!(byte, b'+' | b'/' | b'=' | b'.' | b'~'),
            Self::Value => !is_break(byte) && !matches!(byte, b'&' | b';' | b'\\' | b'<'),
            Self::User => {
                !is_break(byte) && !matches!(byte, b':' | b'@' | b'/' | b'?' | b'#' | b'[' | b'\\')
            }
            Self::Authority => !is_break(byte) && !matches!(byte, b'/' | b'?' | b'#' | b'\\'),
            Self::BeforeAt => !is_break(byte) && !matches!(byte, b'@' | b'\\'),
        }
    }
}

const fn is_url64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns whether `byte` ends every unquoted value.
const fn is_break(byte: u8) -> bool {
    byte <= b' ' || is_quote(byte)
}

/// Returns whether `byte` opens and closes quoted text.
pub(super) const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// The runs of one text.
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    /// The last run of each class, as start and end.
    known: [Option<(usize, usize)>; Class::COUNT],
}

impl<'a> Runs<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, known: [None; Class::COUNT] }
    }

    /// Returns where the run of `class` ends that contains `from`, or `from` if there is none.
    pub(super) fn end(&mut self, class: Class, from: usize) -> usize {
        let Some(known) = self.known.get_mut(class as usize) else { return from };
        match *known {
            Some((start, end)) if start <= from && from <= end => end,
            Some(_) | None => {
                let rest = self.bytes.get(from..).unwrap_or_default();
                let end = from + rest.iter().take_while(|byte| class.holds(**byte)).count();
                *known = Some((from, end));
                end
            }
        }
    }
}
