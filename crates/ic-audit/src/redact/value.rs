//! What a value looks like: a reference to a secret, a word, code, or something a machine made.
//!
//! All of this looks at the beginning of a value only, so that judging is cheap however long it is.

use super::names::classify;
use super::scan::MARK;

/// How much of a value is looked at.
const LEN_LOOKED_AT: usize = 96;

/// Values that say what a secret is like and are none.
const PLAIN_WORDS: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "auth",
    "authentication",
    "authorization",
    "be",
    "bool",
    "boolean",
    "by",
    "bytes",
    "can",
    "changed",
    "char",
    "credentials",
    "empty",
    "enter",
    "error",
    "example",
    "expired",
    "failed",
    "false",
    "field",
    "file",
    "for",
    "from",
    "has",
    "hidden",
    "if",
    "in",
    "incorrect",
    "int",
    "integer",
    "invalid",
    "is",
    "it",
    "mismatch",
    "missing",
    "must",
    "my",
    "new",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "number",
    "object",
    "of",
    "ok",
    "on",
    "option",
    "optional",
    "or",
    "passwd",
    "password",
    "placeholder",
    "please",
    "prompt",
    "pwd",
    "redacted",
    "required",
    "reset",
    "secret",
    "see",
    "set",
    "should",
    "str",
    "string",
    "text",
    "that",
    "the",
    "this",
    "to",
    "todo",
    "token",
    "tokens",
    "too",
    "true",
    "type",
    "undefined",
    "unknown",
    "unset",
    "use",
    "user",
    "value",
    "vec",
    "was",
    "will",
    "with",
    "wrong",
    "yes",
    "your",
];

/// Types of programs that end in a digit.
const NUMBER_TYPES: &[&str] =
    &["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "int32", "int64"];

/// Objects of programs in which a secret is looked up.
const CODE_ROOTS: &[&str] = &[
    "app", "args", "cfg", "conf", "config", "context", "ctx", "env", "input", "opts", "options",
    "os", "params", "process", "props", "req", "request", "secrets", "self", "settings", "state",
    "this", "vars",
];

/// Returns whether `value` only stands for a secret: `$NAME`, `{{name}}`, `<name>`, `****`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let [first, .., last] = value else { return true };
    let is_all = |text: &[u8], fits: fn(u8) -> bool| {
        text.len() <= LEN_LOOKED_AT && text.iter().all(|byte| fits(*byte))
    };
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_label = |byte: u8| byte.is_ascii_alphabetic() || b" _-.:".contains(&byte);
    let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b"<-:>".contains(&byte);
    let inner = value.get(1..value.len() - 1).unwrap_or_default();
    match (first, last) {
        _ if value.starts_with(b"{{") || value.starts_with(b"${{") => true,
        _ if value.starts_with(MARK.as_bytes()) => *last == b'>' && is_all(value, is_mark),
        (b'$', b'}') => value.starts_with(b"${"),
        (b'$', b')') => value.starts_with(b"$("),
        (b'$', _) => value.get(1..).is_some_and(|name| is_all(name, is_name)),
        (b'{', b'}') | (b'<', b'>') | (b'[', b']') | (b'(', b')') => is_all(inner, is_label),
        (b'%', b'%') | (b'@', b'@') => is_all(inner, is_name),
        (b'*' | b'x' | b'X' | b'.' | b'-' | b'_' | b'#', _) => value.iter().all(|b| b == first),
        _ => value == b"%s",
    }
}

/// Returns whether `value` is a word that describes, such as `required` or `String`.
pub(super) fn is_plain_word(value: &[u8]) -> bool {
    let word = letters(value);
    let is_whole = value.iter().skip(word.len()).all(u8::is_ascii_punctuation);
    is_whole && PLAIN_WORDS.iter().any(|plain| word.eq_ignore_ascii_case(plain.as_bytes()))
}

/// Returns whether `value` is an expression that looks a secret up: `self.token`, `input(...`.
pub(super) fn is_code(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"&").unwrap_or(value);
    if let [b'*', b'm' | b'c', ..] = value {
        return value == b"*mut" || value == b"*const";
    }
    let n_root = value.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'_').count();
    let (Some(root), Some(rest)) = (value.get(..n_root), value.get(n_root..)) else { return false };
    match rest {
        _ if NUMBER_TYPES.iter().any(|number| value == number.as_bytes()) => true,
        _ if root.is_empty() => false,
        [b'(' | b'[', ..] | [b':', b':', ..] | [b'-', b'>', ..] => true,
        [b'<', b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => {
            root.first().is_some_and(u8::is_ascii_uppercase)
        }
        [b'.', b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => {
            let head = value.get(..LEN_LOOKED_AT).unwrap_or(value);
            CODE_ROOTS.iter().any(|code| root == code.as_bytes()) || classify(head).is_some()
        }
        _ => false,
    }
}

/// Returns whether `value` looks made by a machine.
pub(super) fn is_random(value: &[u8]) -> bool {
    const LEN_MIN: usize = 12;
    let head = value.get(..LEN_LOOKED_AT).unwrap_or(value);
    LEN_MIN <= value.len()
        && value.first() != Some(&b'/')
        && head.iter().all(|b| b.is_ascii_alphanumeric() || b"_-~+/=".contains(b))
        && head.iter().any(u8::is_ascii_digit)
        && head.iter().any(u8::is_ascii_alphabetic)
}

/// Returns whether `value` is an absolute path, on any system.
pub(super) fn is_path(value: &[u8]) -> bool {
    matches!(value, [b'/' | b'~', ..] | [b'A'..=b'Z' | b'a'..=b'z', b':', b'\\' | b'/', ..])
}

/// Returns the letters that `value` begins with.
pub(super) fn letters(value: &[u8]) -> &[u8] {
    let n_letters =
        value.iter().take(LEN_LOOKED_AT).take_while(|b| b.is_ascii_alphabetic()).count();
    value.get(..n_letters).unwrap_or_default()
}
