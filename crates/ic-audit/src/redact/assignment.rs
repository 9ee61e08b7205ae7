//! Secrets that are known by the name they are given: `password=…`, `"apiKey": "…"`, headers.
//!
//! In prose and in programs these names stand before other things than secrets. How much is
//! believed depends on how the value is tied to the name, see [`Tie`].

use super::names::{Manner, classify};
use super::runs::{Class, is_quote};
use super::scan::{Evidence, MARK, Scan};
use super::value::{is_code, is_path, is_plain_word, is_random, is_reference, letters};

/// How a value is tied to its name, the surest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tie {
    /// In quotes.
    Quoted,
    /// By `=` without spaces, or as the text of an XML element.
    Tight,
    /// By `:`.
    Colon,
    /// By `=` with spaces.
    Spaced,
    /// After an option of a command.
    Flag,
}

/// A value, and how it is tied to the name before it.
struct Bound {
    start: usize,
    tie: Tie,
}

/// How far to look back for the beginning of a name.
const NAME_LEN_MAX: usize = 32;
/// How many spaces may stand at each side of a separator.
const N_SPACES_MAX: usize = 8;
/// How many backslashes and `<` a value may hold.
const N_PARTS_MAX: usize = 8;
/// How many brackets and stops at the end of a value belong to the sentence around it.
const N_TRAILING_MAX: usize = 4;
/// Nothing shorter is a token.
const TOKEN_LEN_MIN: usize = 6;

/// Schemes of the header whose credentials are one word.
const SCHEMES: &[&str] = &["basic", "bearer", "token", "apikey", "bot", "key", "negotiate", "ntlm"];
/// Schemes whose credentials are many.
const LIST_SCHEMES: &[&str] = &["digest", "hawk", "hmac", "oauth", "signature", "aws4-hmac-sha256"];

impl Scan<'_> {
    /// Looks at the value after a name that ends in `word`.
    pub(super) fn on_word(&mut self, word: &str, at: usize) {
        let end = at + word.len();
        let is_word = |found: &[u8]| found.eq_ignore_ascii_case(word.as_bytes());
        if !self.bytes.get(at..end).is_some_and(is_word) {
            return;
        }
        let Some(bound) = self.bound_value(at, end) else { return };
        if self.is_found(bound.start) {
            return;
        }
        let Some(name) = classify(self.slice(end.saturating_sub(NAME_LEN_MAX), end)) else {
            return;
        };
        let (start, manner) = (bound.start, name.manner);
        let span = match (manner, bound.tie) {
            (_, Tie::Quoted) => self.quoted(manner, start),
            (Manner::Authorization, _) => self.authorization(at, start),
            (Manner::Cookie, Tie::Colon) => self.cookie(at, start),
            (Manner::Query, Tie::Tight) => self.query_part(at, start),
            (Manner::Cookie | Manner::Query, Tie::Tight | Tie::Colon | Tie::Spaced | Tie::Flag) => {
                None
            }
            (
                Manner::Password | Manner::PasswordOrDirectory | Manner::Token | Manner::Doubtful,
                tie @ (Tie::Tight | Tie::Colon | Tie::Spaced | Tie::Flag),
            ) => self.unquoted(manner, tie, start),
        };
        if let Some((start, end)) = span {
            self.find(start, end, name.kind, Evidence::Context);
        }
    }

    /// Returns where the value begins that belongs to the name whose last word is `at..end`.
    fn bound_value(&self, at: usize, end: usize) -> Option<Bound> {
        let mut next = end + self.count(end, 2, |byte| byte.is_ascii_digit());
        let is_closed = self.byte(next).is_some_and(is_quote);
        next += usize::from(is_closed);
        next += usize::from(is_closed && self.byte(next) == Some(b']'));
        let n_before = self.count(next, N_SPACES_MAX, |byte| matches!(byte, b' ' | b'\t'));
        next += n_before;
        let n_separator = match (self.byte(next)?, self.byte(next + 1)) {
            (b':', Some(b':')) => return None,
            (b':' | b'=', _) => self.count(next, 3, |byte| matches!(byte, b':' | b'=' | b'>')),
            (b'>', _) if n_before == 0 && self.is_element(at) => {
                return Some(Bound { start: next + 1, tie: Tie::Tight });
            }
            _ if 0 < n_before && !is_closed && (self.is_flag(at) || self.is_login(at)) => 0,
            _ => return None,
        };
        let is_colon = n_separator == 1 && self.byte(next) == Some(b':');
        next += n_separator;
        let n_after = self.count(next, N_SPACES_MAX, |byte| matches!(byte, b' ' | b'\t'));
        let mut start = next + n_after;
        if is_colon && let Some(quoted) = self.typed_value(start) {
            start = quoted;
        }
        let tie = match n_separator {
            _ if self.byte(start).is_some_and(is_quote) => Tie::Quoted,
            0 => Tie::Flag,
            _ if is_colon => Tie::Colon,
            _ if n_before + n_after == 0 => Tie::Tight,
            _ => Tie::Spaced,
        };
        Some(Bound { start, tie })
    }

    /// Returns where the quoted value of `: type = "…"` or `: ["…"]` begins, with the type at `at`.
    fn typed_value(&self, at: usize) -> Option<usize> {
        const TYPE_LEN_MAX: usize = 32;
        let is_type = |byte: u8| byte.is_ascii_alphabetic() || b"_&'<>[]: ".contains(&byte);
        let n_type = self.count(at, TYPE_LEN_MAX, is_type);
        let value = match self.rest(at) {
            [b'[', quote, ..] if is_quote(*quote) => at + 1,
            _ if 0 < n_type && self.rest(at + n_type).starts_with(b"= ") => at + n_type + 2,
            _ => return None,
        };
        self.byte(value).is_some_and(is_quote).then_some(value)
    }

    /// Finds a value in quotes that open at `start`.
    fn quoted(&self, manner: Manner, start: usize) -> Option<(usize, usize)> {
        let quote = self.byte(start)?;
        let start = start + 1;
        let mut end = start;
        loop {
            match self.byte(end) {
                Some(b'\\') => end += 2,
                Some(byte) if byte != quote && byte != b'\n' => end += 1,
                // A text that was cut off has no closing quote.
                Some(_) | None => break,
            }
        }
        let end = end.min(self.bytes.len());
        let value = self.slice(start, end);
        let has_space = || value.iter().any(u8::is_ascii_whitespace);
        let is_secret = match manner {
            Manner::Password | Manner::Authorization | Manner::Cookie => true,
            Manner::PasswordOrDirectory => !is_path(value),
            Manner::Token => TOKEN_LEN_MIN <= value.len() && !has_space(),
            Manner::Doubtful => is_random(value),
            Manner::Query => false,
        };
        let is_plain = is_reference(value) || is_plain_word(value) && !has_space();
        (is_secret && !is_plain).then_some((start, end))
    }

    /// Finds a value without quotes.
    fn unquoted(&mut self, manner: Manner, tie: Tie, start: usize) -> Option<(usize, usize)> {
        let end = self.value_end(start);
        let value = self.slice(start, end);
        let is_type = tie == Tie::Colon && self.rest(end).starts_with(b" =");
        if is_type || is_reference(value) || is_plain_word(value) {
            return None;
        }
        let is_sure = match tie {
            Tie::Quoted | Tie::Tight => true,
            Tie::Colon | Tie::Spaced | Tie::Flag => false,
        };
        let is_secret = match manner {
            Manner::PasswordOrDirectory if is_path(value) => false,
            Manner::Password | Manner::PasswordOrDirectory => {
                !is_code(value) && (is_sure || !self.is_prose(tie, start, end))
            }
            Manner::Token if is_sure => TOKEN_LEN_MIN <= value.len() && !is_code(value),
            Manner::Token | Manner::Doubtful => is_random(value),
            Manner::Authorization | Manner::Cookie | Manner::Query => false,
        };
        is_secret.then_some((start, end))
    }

    /// Finds the credentials after the scheme of an `Authorization` header.
    fn authorization(&mut self, at: usize, start: usize) -> Option<(usize, usize)> {
        let scheme =
            self.rest(start).iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-');
        let scheme_end = start + scheme.take(NAME_LEN_MAX).count();
        let scheme = self.slice(start, scheme_end);
        let is_one_of =
            |list: &[&str]| list.iter().any(|s| scheme.eq_ignore_ascii_case(s.as_bytes()));
        let (is_scheme, is_list) = (is_one_of(SCHEMES), is_one_of(LIST_SCHEMES));
        let n_spaces = self.count(scheme_end, N_SPACES_MAX, |byte| byte == b' ');
        if n_spaces == 0 || !(is_scheme || is_list) {
            let end = self.value_end(start);
            return is_random(self.slice(start, end)).then_some((start, end));
        }
        let start = scheme_end + n_spaces;
        let end = self.value_end(start);
        let value = self.slice(start, end);
        if is_reference(value) || is_plain_word(value) || self.is_prose(Tie::Colon, start, end) {
            return None;
        }
        Some((start, if is_list { self.header_end(at, start) } else { end }))
    }

    /// Finds the values of a `Cookie` or `Set-Cookie` header.
    fn cookie(&mut self, at: usize, start: usize) -> Option<(usize, usize)> {
        let end = self.runs.end(Class::Value, start);
        let first = self.slice(start, end.min(start + 256));
        let is_pair = first.contains(&b'=') && !first.starts_with(b"=");
        (is_pair && !first.starts_with(MARK.as_bytes()))
            .then(|| (start, self.header_end(at, start)))
    }

    /// Finds the signature in the query of a URL.
    fn query_part(&mut self, at: usize, start: usize) -> Option<(usize, usize)> {
        const LEN_MIN: usize = 16;
        let before = at.checked_sub(1).and_then(|before| self.byte(before));
        let end = self.value_end(start);
        let is_long = LEN_MIN <= end - start && !is_reference(self.slice(start, end));
        (matches!(before, Some(b'?' | b'&' | b'-')) && is_long).then_some((start, end))
    }

    /// Returns where the unquoted value at `start` ends.
    fn value_end(&mut self, start: usize) -> usize {
        let mut end = self.runs.end(Class::Value, start);
        for _ in 0..N_PARTS_MAX {
            let is_part = match self.byte(end) {
                Some(b'\\') => !self.is_escape(end),
                Some(b'<') => !self.is_tag(end),
                Some(_) | None => false,
            };
            if !is_part {
                break;
            }
            end = self.runs.end(Class::Value, end + 1);
        }
        let value = self.slice(start, end);
        if is_reference(value) {
            return end;
        }
        let trailing = value.iter().rev().take(N_TRAILING_MAX);
        let n_trailing = trailing.take_while(|byte| b",.)]}>".contains(byte)).count();
        if n_trailing == value.len() { end } else { end - n_trailing }
    }

    /// Returns where the header that has its name at `at` and its value at `start` ends.
    fn header_end(&self, at: usize, start: usize) -> usize {
        let name = self.slice(0, at).iter().rev().take(NAME_LEN_MAX);
        let before = name.copied().find(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
        let quote = before.filter(|byte| is_quote(*byte));
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r') || Some(*byte) == quote;
        let line_end =
            self.rest(start).iter().position(ends).map_or(self.bytes.len(), |n| start + n);
        (start..line_end).find(|at| self.is_escape(*at)).unwrap_or(line_end)
    }

    /// Returns whether an escape begins at `at`.
    ///
    /// A value does not go on after an escaped line break or quote: it was quoted as a whole, and
    /// is found again in the decoded text.
    fn is_escape(&self, at: usize) -> bool {
        matches!(self.rest(at), [b'\\', b'n' | b'r' | b't' | b'u' | b'"' | b'\'' | b'\\', ..])
    }

    /// Returns whether a closing tag or a mark of ours begins at `at`.
    fn is_tag(&self, at: usize) -> bool {
        self.rest(at).starts_with(b"</") || self.rest(at).starts_with(MARK.as_bytes())
    }

    /// Returns whether the value reads like the next word of a sentence or of a program.
    fn is_prose(&self, tie: Tie, start: usize, end: usize) -> bool {
        let value = self.slice(start, end);
        let is_word = letters(value).len() == value.len();
        match (tie, self.byte(end), self.byte(end + 1)) {
            (Tie::Spaced, Some(byte), _) => is_word && !matches!(byte, b'\n' | b'\r'),
            (_, Some(b' '), Some(next)) => is_word && next.is_ascii_alphabetic(),
            _ => false,
        }
    }

    /// Returns whether the name around `at` is an option such as `--db-password`.
    fn is_flag(&self, at: usize) -> bool {
        let before = self.slice(at.saturating_sub(NAME_LEN_MAX), at);
        let n_name = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-');
        let n_name = n_name.count();
        before.get(before.len() - n_name..).is_some_and(|name| name.starts_with(b"--"))
    }

    /// Returns whether the name at `at` stands in a line of `.netrc`.
    fn is_login(&self, at: usize) -> bool {
        const LINE_LEN_MAX: usize = 64;
        self.slice(at.saturating_sub(LINE_LEN_MAX), at).windows(6).any(|word| word == b"login ")
    }

    /// Returns whether the name around `at` is that of an XML element.
    fn is_element(&self, at: usize) -> bool {
        let before = self.slice(at.saturating_sub(NAME_LEN_MAX), at);
        let end = before.iter().rev().find(|b| !b.is_ascii_alphanumeric() && !b"_-.:".contains(b));
        end == Some(&b'<')
    }

    /// Counts the bytes from `at` on that `fit`, up to `n_max`.
    fn count(&self, at: usize, n_max: usize, fit: impl Fn(u8) -> bool) -> usize {
        self.rest(at).iter().take(n_max).take_while(|byte| fit(**byte)).count()
    }
}
