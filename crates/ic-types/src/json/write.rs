//! The writers: compact JSON as it was read, and the canonical form that digests are made of.

use std::fmt::Write as _;

use super::{Json, Number, Object};

/// Writes `value` compactly, keys in their order and numbers as written.
pub(super) fn compact(out: &mut String, value: &Json) {
    write_value(out, value, Form::Compact);
}

/// Writes `object` likewise.
pub(super) fn compact_object(out: &mut String, object: &Object) {
    write_entries(out, object.iter(), Form::Compact);
}

/// Writes `value` in the canonical form of RFC 8785.
pub(super) fn canonical(out: &mut String, value: &Json) {
    write_value(out, value, Form::Canonical);
}

/// Writes `object` likewise.
pub(super) fn canonical_object(out: &mut String, object: &Object) {
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_by(|(a, _), (b, _)| utf16_order(a, b));
    write_entries(out, entries, Form::Canonical);
}

/// Writes `text` in quotes, with the escapes that it needs.
pub(super) fn string(out: &mut String, text: &str) {
    write_string(out, text);
}

#[derive(Clone, Copy)]
enum Form {
    Compact,
    Canonical,
}

fn write_value(out: &mut String, value: &Json, form: Form) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => match form {
            Form::Compact => out.push_str(number.as_str()),
            Form::Canonical => out.push_str(&canonical_number(number)),
        },
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            write_list(out, ['[', ']'], items, |out, item| write_value(out, item, form));
        }
        Json::Object(object) => match form {
            Form::Compact => write_entries(out, object.iter(), form),
            Form::Canonical => canonical_object(out, object),
        },
    }
}

fn write_entries<'a>(
    out: &mut String,
    entries: impl IntoIterator<Item = (&'a str, &'a Json)>,
    form: Form,
) {
    write_list(out, ['{', '}'], entries, |out, (key, value)| {
        write_string(out, key);
        out.push(':');
        write_value(out, value, form);
    });
}

/// Compares by UTF-16 units; for ASCII, which most keys are, that is by bytes.
fn utf16_order(a: &str, b: &str) -> std::cmp::Ordering {
    match a.is_ascii() && b.is_ascii() {
        true => a.cmp(b),
        false => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

fn write_list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write_item: impl Fn(&mut String, T),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index != 0 {
            out.push(',');
        }
        write_item(out, item);
    }
    out.push(close);
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    let needs_escape = |c: char| matches!(c, '"' | '\\' | '\0'..='\x1f');
    while let Some((plain, c, after)) = rest.find(needs_escape).and_then(|at| {
        let (plain, special) = rest.split_at_checked(at)?;
        let mut chars = special.chars();
        Some((plain, chars.next()?, chars.as_str()))
    }) {
        out.push_str(plain);
        write_escape(out, c);
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

fn write_escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => {
            // Writing to a string cannot fail.
            write!(out, "\\u{:04x}", u32::from(c)).ok();
        }
    }
}

/// Writes a number as ECMAScript would, or as it stands where a double cannot hold it.
pub(super) fn canonical_number(number: &Number) -> String {
    let written = number.as_str();
    // Short whole numbers, which is most of them, are canonical as they stand.
    let is_whole = written.len() <= 15 && written.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole {
        return written.to_owned();
    }
    let Ok(double) = written.parse::<f64>() else { return written.to_owned() };
    let shortest = Decimal::of_double(double);
    if shortest.as_ref() != Some(&Decimal::of_text(written)) {
        return written.to_owned();
    }
    shortest.map_or_else(|| written.to_owned(), |decimal| decimal.to_ecmascript())
}

/// A decimal number: `0.DIGITS × 10^point`, with no zero at either end of the digits.
#[derive(Debug, Eq, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    point: i64,
}

/// A length as a signed number; no document is so long that this would cut it.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

impl Decimal {
    fn of_double(double: f64) -> Option<Self> {
        double.is_finite().then(|| Self::of_text(&format!("{double:e}")))
    }

    fn of_text(text: &str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // An exponent that no i64 holds belongs to a number that no double holds either.
        let exponent: i64 = exponent.parse().unwrap_or(i64::from(i32::MAX));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let n_leading = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { is_negative: false, digits, point: 0 };
        }
        let point = exponent.saturating_add(signed(whole.len())).saturating_sub(signed(n_leading));
        Self { is_negative, digits, point }
    }

    /// Writes the number as `Number.prototype.toString` does.
    fn to_ecmascript(&self) -> String {
        let (digits, n_digits) = (&self.digits, signed(self.digits.len()));
        if digits.is_empty() {
            return "0".to_owned();
        }
        let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
        let sign = if self.is_negative { "-" } else { "" };
        let (head, tail) =
            match usize::try_from(self.point).ok().and_then(|at| digits.split_at_checked(at)) {
                Some((head, tail)) => (head, tail),
                None => (digits.as_str(), ""),
            };
        match self.point {
            point if n_digits <= point && point <= 21 => {
                format!("{sign}{digits}{}", zeros(point - n_digits))
            }
            point if 0 < point && point <= 21 => format!("{sign}{head}.{tail}"),
            point if -6 < point && point <= 0 => format!("{sign}0.{}{digits}", zeros(-point)),
            point => {
                let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
                let dot = if rest.is_empty() { "" } else { "." };
                let exponent = point - 1;
                let plus = if exponent < 0 { "" } else { "+" };
                format!("{sign}{first}{dot}{rest}e{plus}{exponent}")
            }
        }
    }
}
