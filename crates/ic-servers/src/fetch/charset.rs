//! Bytes made text, whatever they claim to be.
//!
//! A mark at the beginning is believed first, then bytes that can hardly be anything but UTF-8, then the
//! header, then what an HTML page says of itself. Text always comes out; what cannot be read is marked as
//! that.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How much of a page is searched for what it says of itself.
const SEARCHED_BYTES_MAX: usize = 1024;

/// Makes text of `bytes`; `label` is what the header says.
pub(super) fn decode(bytes: &[u8], label: Option<&str>, is_html: bool) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let bytes = bytes.get(mark..).unwrap_or_default();
        return encoding.decode_without_bom_handling(bytes).0.into_owned();
    }
    // Other encodings make such bytes by chance only, and labels lie more often than that.
    if let (false, Ok(text)) = (bytes.is_ascii(), str::from_utf8(bytes)) {
        return text.to_owned();
    }
    let said = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let said = said.or_else(|| if is_html { of_page(bytes) } else { None });
    let Some(said) = said else { return guess(bytes) };
    said.decode_without_bom_handling(bytes).0.into_owned()
}

fn guess(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // A page that was cut may end within a character.
        Err(error) if error.error_len().is_none() => UTF_8.decode(bytes).0.into_owned(),
        Err(_) => WINDOWS_1252.decode(bytes).0.into_owned(),
    }
}

/// Finds `charset=` in the `meta` of a page.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..SEARCHED_BYTES_MAX.min(bytes.len()))?.to_ascii_lowercase();
    let mut rest = head.as_slice();
    loop {
        let at = rest.windows(5).position(|it| it == b"<meta")?;
        rest = rest.get(at + 5..)?;
        let end = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
        let tag = rest.get(..end)?;
        if let Some(at) = tag.windows(7).position(|it| it == b"charset") {
            let value = tag.get(at + 7..)?.trim_ascii_start().strip_prefix(b"=");
            let value = value.unwrap_or_default().trim_ascii_start();
            let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'');
            let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
            let is_end = |byte: &u8| is_quote(byte) || matches!(byte, b' ' | b';' | b'/' | b'\t');
            let label = value.split(is_end).next().unwrap_or_default();
            return match Encoding::for_label(label) {
                // A page that can be read to here is not in either.
                Some(it) if !it.is_ascii_compatible() => Some(UTF_8),
                found => found,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], label: Option<&str>, expected: &str) {
        assert_eq!(decode(bytes, label, true), expected, "{} {label:?}", bytes.escape_ascii());
    }

    #[test]
    fn text_comes_out_whatever_is_claimed() {
        let utf8 = "Grüße — 世界".as_bytes();
        check(utf8, None, "Grüße — 世界");
        check(utf8, Some("utf-8"), "Grüße — 世界");
        check(b"Gr\xfc\xdfe", Some("iso-8859-1"), "Grüße");
        check(b"Gr\xfc\xdfe", None, "Grüße");
        check(b"\x82\xa0", Some("Shift_JIS"), "あ");
        check(b"\xff\xfeh\0i\0", Some("utf-8"), "hi");
        check(b"\xef\xbb\xbfhi", Some("utf-16"), "hi");
        // What the header does not say, the page may.
        check(b"<meta charset='koi8-r'>\xd0\xd2", None, "<meta charset='koi8-r'>пр");
        check(
            b"<META http-equiv=x content=\"text/html; charset=windows-1251\">\xcf",
            None,
            "<META http-equiv=x content=\"text/html; charset=windows-1251\">П",
        );
        // Lies.
        check(utf8, Some("shift_jis"), "Grüße — 世界");
        check(utf8, Some("iso-8859-1"), "Grüße — 世界");
        check(utf8, Some("x-unheard-of"), "Grüße — 世界");
        check(b"<meta charset=utf-16>hi", None, "<meta charset=utf-16>hi");
        check(b"Gr\xfc\xdfe", Some("utf-8"), "Gr\u{fffd}\u{fffd}e");
        check("世界".as_bytes().get(..5).unwrap(), None, "世\u{fffd}");
        check(b"\x1b$B", Some("iso-2022-kr"), "\u{fffd}");
    }
}
