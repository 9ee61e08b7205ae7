//! What a body is: HTML, other text, or bytes that nobody reads.
//!
//! A host's word is taken only as far as the bytes do not say otherwise.

/// What a body is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Html,
    Text,
    Binary,
}

/// How many bytes are looked at.
const SEEN_BYTES_MAX: usize = 4096;

impl Kind {
    /// Judges a body by its content type and its first bytes.
    pub(super) fn of(content_type: Option<&str>, body: &[u8]) -> Self {
        let essence = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        let seen = body.get(..SEEN_BYTES_MAX.min(body.len())).unwrap_or_default();
        let said = match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            it if it.starts_with("text/") => Self::Text,
            it if it.ends_with("+json") || it.ends_with("+xml") || it.ends_with("+yaml") => {
                Self::Text
            }
            "application/json"
            | "application/xml"
            | "application/javascript"
            | "application/ecmascript"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/sql"
            | "application/x-sh"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/graphql"
            | "application/x-www-form-urlencoded"
            | "message/rfc822" => Self::Text,
            "" | "application/octet-stream" | "binary/octet-stream" | "unknown/unknown" => {
                if looks_like_html(seen) {
                    Self::Html
                } else {
                    Self::Text
                }
            }
            _ => Self::Binary,
        };
        match said {
            Self::Binary => Self::Binary,
            Self::Html | Self::Text if is_binary(seen) => Self::Binary,
            said => said,
        }
    }
}

/// Returns the charset that a content type names.
pub(super) fn charset(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    parameters.filter_map(|it| it.split_once('=')).find_map(|(name, value)| {
        let is_it = name.trim().eq_ignore_ascii_case("charset");
        is_it.then(|| value.trim().trim_matches(['"', '\'']))
    })
}

fn looks_like_html(seen: &[u8]) -> bool {
    let seen = seen.trim_ascii_start().to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html", b"<head", b"<body"].iter().any(|it| seen.starts_with(it))
}

/// Returns whether nobody would take `seen` for text.
fn is_binary(seen: &[u8]) -> bool {
    if seen.starts_with(b"\xff\xfe") || seen.starts_with(b"\xfe\xff") {
        return false;
    }
    let is_odd = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31);
    seen.contains(&0) || seen.len() < seen.iter().filter(is_odd).count() * 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_nobody_reads_are_not_shown_as_text() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (content_type, body, expected) in [
            (Some("text/html; charset=utf-8"), &b"<p>hi"[..], Kind::Html),
            (Some("TEXT/HTML"), b"", Kind::Html),
            (Some("application/json"), b"{}", Kind::Text),
            (Some("application/problem+json"), b"{}", Kind::Text),
            (Some("text/plain"), b"hi", Kind::Text),
            (None, b"hi", Kind::Text),
            (None, b"  <!DOCTYPE HTML><p>", Kind::Html),
            (Some("application/octet-stream"), b"hi", Kind::Text),
            (Some("text/plain"), b"\xff\xfeh\0i\0", Kind::Text),
            (Some("image/png"), png, Kind::Binary),
            (Some("application/pdf"), b"%PDF-1.7", Kind::Binary),
            // Lies.
            (Some("text/html"), png, Kind::Binary),
            (Some("application/json"), b"\x01\x02\x03\x04", Kind::Binary),
            (None, png, Kind::Binary),
        ] {
            let kind = Kind::of(content_type, body);
            assert_eq!(kind, expected, "{content_type:?} {}", body.escape_ascii());
        }
        assert_eq!(charset("text/html; a=b; Charset=\"UTF-8\""), Some("UTF-8"));
        assert_eq!(charset("text/html"), None);
    }
}
