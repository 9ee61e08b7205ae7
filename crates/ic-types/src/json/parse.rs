//! The parser: recursive descent over bytes, with a depth limit instead of trust in the stack.

use std::collections::HashSet;

use super::{Json, JsonError, JsonFault, JsonLimits, Number, Object};

/// An object with more keys than this looks for duplicates in a set instead of in a list.
const KEYS_SCANNED_MAX: usize = 16;

/// Parses a whole document.
pub(super) fn document(bytes: &[u8], limits: JsonLimits) -> Result<Json, JsonError> {
    let mut parser = Parser {
        bytes,
        at: 0,
        depth_left: limits.depth_max,
        values_left: limits.values_max,
        limits,
    };
    if limits.bytes_max < bytes.len() {
        return Err(parser.error(JsonFault::TooLong(limits.bytes_max)));
    }
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.error(JsonFault::Expected("the end of the document"))),
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    depth_left: usize,
    values_left: usize,
    limits: JsonLimits,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Json, JsonError> {
        self.values_left = match self.values_left.checked_sub(1) {
            Some(left) => left,
            None => return Err(self.error(JsonFault::TooMany(self.limits.values_max))),
        };
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'n') => self.literal("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.error(JsonFault::Expected("a value"))),
            None => Err(self.error(JsonFault::End)),
        }
    }

    /// Runs `parse` one level deeper.
    fn nested(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Json, JsonError>,
    ) -> Result<Json, JsonError> {
        self.depth_left = match self.depth_left.checked_sub(1) {
            Some(left) => left,
            None => return Err(self.error(JsonFault::TooDeep(self.limits.depth_max))),
        };
        self.at += 1;
        let value = parse(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, JsonError> {
        let mut entries: Vec<(String, Json)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Json::Object(Object(entries)));
        }
        loop {
            self.skip_space();
            let key_at = self.at;
            let key = self.string()?;
            let is_duplicate = if entries.len() < KEYS_SCANNED_MAX {
                entries.iter().any(|(name, _)| *name == key)
            } else {
                if seen.is_empty() {
                    seen.extend(entries.iter().map(|(name, _)| name.clone()));
                }
                !seen.insert(key.clone())
            };
            if is_duplicate {
                self.at = key_at;
                return Err(self.error(JsonFault::DuplicateKey(key)));
            }
            self.skip_space();
            self.expect(b':', "`:`")?;
            let value = self.value()?;
            entries.push((key, value));
            self.skip_space();
            if self.take(b'}') {
                return Ok(Json::Object(Object(entries)));
            }
            self.expect(b',', "`,` or `}`")?;
        }
    }

    fn array(&mut self) -> Result<Json, JsonError> {
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            self.expect(b',', "`,` or `]`")?;
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.expect(b'"', "a string")?;
        let mut text = String::new();
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest.iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count();
            let run = rest.get(..plain).unwrap_or_default();
            match std::str::from_utf8(run) {
                Ok(run) => text.push_str(run),
                Err(error) => {
                    self.at += error.valid_up_to();
                    return Err(self.error(JsonFault::Utf8));
                }
            }
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => {
                    return Err(self.error(JsonFault::Expected("an escaped control character")));
                }
                None => return Err(self.error(JsonFault::End)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let byte = self.peek().ok_or_else(|| self.error(JsonFault::End))?;
        self.at += 1;
        let unescaped = match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(start),
            _ => {
                self.at = start;
                return Err(self.error(JsonFault::Expected("an escape of JSON")));
            }
        };
        Ok(unescaped)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        let high = self.hex4()?;
        let code = match high {
            0xd800..=0xdbff if self.take(b'\\') && self.take(b'u') => match self.hex4()? {
                low @ 0xdc00..=0xdfff => 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00),
                _ => high,
            },
            _ => high,
        };
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            self.error(JsonFault::LoneSurrogate)
        })
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit =
                digit.ok_or_else(|| self.error(JsonFault::Expected("four hexadecimal digits")))?;
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        let text = std::str::from_utf8(digits).map_err(|_| self.error(JsonFault::Utf8))?;
        Ok(Json::Number(Number(text.into())))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.error(JsonFault::Expected("a digit")));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn literal(&mut self, word: &'static str, value: Json) -> Result<Json, JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.error(JsonFault::Expected("a value")));
        }
        self.at += word.len();
        Ok(value)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, name: &'static str) -> Result<(), JsonError> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.error(match self.peek() {
            Some(_) => JsonFault::Expected(name),
            None => JsonFault::End,
        }))
    }

    fn error(&self, fault: JsonFault) -> JsonError {
        let before = self.bytes.get(..self.at).unwrap_or(self.bytes);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        JsonError {
            fault,
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: self.at.saturating_sub(line_start) + 1,
        }
    }
}
