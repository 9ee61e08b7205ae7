//! Names and paths as a model reads them: one line each, whatever bytes they hold.
//!
//! A name with a line break could otherwise pass for two entries of a listing. What needs it is put
//! in quotes with escapes, and so is what begins with a quote, so that no two names look the same.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Shows a path.
pub(crate) fn path(path: &Path) -> String {
    name(path.as_os_str())
}

/// Shows a name.
pub(crate) fn name(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        Some(_) | None => quoted(name.as_bytes()),
    }
}

/// Shows a text that was sent to us.
pub(crate) fn text(text: &str) -> String {
    name(OsStr::new(text))
}

/// Shows a number of bytes as people do.
pub(crate) fn size(n_bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n_bytes < 1024 {
        return format!("{n_bytes} B");
    }
    // In tenths, rounded down, so that nothing overflows and no fraction is lost on the way.
    let mut tenths = u128::from(n_bytes) * 10 / 1024;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while 10 * 1024 <= tenths
        && let Some(next) = units.next()
    {
        tenths /= 1024;
        unit = Some(next);
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, unit.copied().unwrap_or_default())
}

fn is_plain(text: &str) -> bool {
    !text.starts_with('"') && !text.chars().any(is_break)
}

/// Control characters, and what Unicode takes for the end of a line.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn quoted(bytes: &[u8]) -> String {
    let mut shown = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => shown.extend(['\\', c]),
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                c if is_break(c) => shown.extend(c.escape_unicode()),
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            write!(shown, "\\x{byte:02x}").ok();
        }
    }
    shown.push('"');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_no_two_names_look_the_same() {
        for (bytes, expected) in [
            (b"plain name.txt".as_slice(), "plain name.txt"),
            ("ünï 日本".as_bytes(), "ünï 日本"),
            (b"back\\slash", "back\\slash"),
            (b"a\n[DIR] b", r#""a\n[DIR] b""#),
            (b"\x1b[31m", r#""\u{1b}[31m""#),
            (b"caf\xe9", r#""caf\xe9""#),
            (br#""a\nb""#, r#""\"a\\nb\"""#),
            ("a\u{2028}b".as_bytes(), r#""a\u{2028}b""#),
        ] {
            assert_eq!(name(OsStr::from_bytes(bytes)), expected);
        }
    }

    #[test]
    fn sizes_are_in_the_largest_unit_that_fits() {
        for (n_bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1023.9 KiB"),
            (1 << 20, "1.0 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(size(n_bytes), expected);
        }
    }
}
