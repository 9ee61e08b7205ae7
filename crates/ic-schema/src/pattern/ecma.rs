//! From ECMAScript's regular expressions to those of the `regex` crate.
//!
//! The two look alike and differ in what `.`, `\d`, `\w`, `\s` and `\b` mean, in what may stand in a
//! class, and in how much nonsense is forgiven. Here every sign is read as ECMA-262 reads it (without
//! flags, and by code points) and written so that it cannot be read otherwise. What cannot be said,
//! or what dialects read differently, is refused with a reason. Groups do not capture, because
//! nobody asks for what was captured.

use std::fmt::Write as _;
use std::str::Chars;

const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Z_a-z";
const SPACE: &str =
    r"\t\n\x0B\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const NOT_LINE_END: &str = r"[^\n\r\x{2028}\x{2029}]";

const LOOK_AROUND: &str = "look-around cannot be checked";
const BACK_REFERENCE: &str = "back-references cannot be checked";
const GROUP: &str = "a group of its kind cannot be checked";
const ESCAPE: &str = "it has an escape that is not known";
const REPETITION: &str = "it repeats in a way that is not known";
const PROPERTIES: &str = "it names too many kinds of characters";
const CLASS: &str = "a class in it is not closed, or has a range that ends before it begins";

/// How many `\p{...}` a pattern may have, each of which is a list of hundreds of ranges.
const N_PROPERTIES_MAX: u32 = 16;

/// Writes `pattern` for the `regex` crate, or says why that cannot be done.
pub(super) fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut translation = Translation {
        rest: pattern.chars(),
        out: String::new(),
        n_properties_left: N_PROPERTIES_MAX,
    };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'a> {
    rest: Chars<'a>,
    out: String,
    n_properties_left: u32,
}

/// What stands for one character.
enum Atom {
    Char(char),
    /// What stands for one of many, as it is written inside of a class.
    Set(String),
}

impl Translation<'_> {
    fn run(&mut self) -> Result<(), &'static str> {
        while let Some(c) = self.rest.next() {
            match c {
                '^' | '$' | '|' | ')' | '*' | '+' | '?' => self.out.push(c),
                '.' => self.out.push_str(NOT_LINE_END),
                '(' => self.group()?,
                '[' => self.class()?,
                '{' => self.braces()?,
                '\\' => self.escape()?,
                c => self.literal(c),
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), &'static str> {
        self.out.push_str("(?:");
        if !self.take('?') {
            return Ok(());
        }
        let rest = self.rest.as_str();
        if ["=", "!", "<=", "<!"].iter().any(|sign| rest.starts_with(sign)) {
            return Err(LOOK_AROUND);
        }
        // Python writes a `P` before the name.
        let named = rest.strip_prefix('P').unwrap_or(rest).strip_prefix('<');
        let after = match (rest.strip_prefix(':'), named.and_then(|named| named.split_once('>'))) {
            (Some(after), _) => after,
            (None, Some((name, after))) if name.chars().all(is_name_sign) => after,
            (None, Some(_) | None) => return Err(GROUP),
        };
        self.rest = after.chars();
        Ok(())
    }

    /// Reads what follows `{`: a number of times, or just a brace.
    fn braces(&mut self) -> Result<(), &'static str> {
        let Some((inside, after)) = self.rest.as_str().split_once('}') else {
            self.literal('{');
            return Ok(());
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let is_count = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if is_count(least) && (most.is_empty() || is_count(most)) {
            write_to(&mut self.out, format_args!("{{{inside}}}"));
            self.rest = after.chars();
        } else if least.is_empty() && is_count(most) {
            // `{,5}` is five characters in one dialect and up to five times in another.
            return Err(REPETITION);
        } else {
            self.literal('{');
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        match self.rest.as_str().chars().next() {
            Some(c @ ('b' | 'B')) => {
                self.rest.next();
                write_to(&mut self.out, format_args!(r"(?-u:\{c})"));
            }
            Some('1'..='9' | 'k') => return Err(BACK_REFERENCE),
            Some(_) | None => match self.escaped()? {
                Atom::Char(c) => self.literal(c),
                Atom::Set(set) => write_to(&mut self.out, format_args!("[{set}]")),
            },
        }
        Ok(())
    }

    /// Reads what follows a backslash, inside of a class or outside.
    fn escaped(&mut self) -> Result<Atom, &'static str> {
        let c = self.rest.next().ok_or(ESCAPE)?;
        Ok(match c {
            'd' => Atom::Set(DIGITS.to_owned()),
            'w' => Atom::Set(WORD.to_owned()),
            's' => Atom::Set(SPACE.to_owned()),
            'D' => Atom::Set(format!("[^{DIGITS}]")),
            'W' => Atom::Set(format!("[^{WORD}]")),
            'S' => Atom::Set(format!("[^{SPACE}]")),
            'p' | 'P' => Atom::Set(format!(r"\{c}{{{}}}", self.property()?)),
            't' => Atom::Char('\t'),
            'n' => Atom::Char('\n'),
            'v' => Atom::Char('\u{B}'),
            'f' => Atom::Char('\u{C}'),
            'r' => Atom::Char('\r'),
            '0' if !self.rest.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                Atom::Char('\0')
            }
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Atom::Char(char::from(u8::try_from(letter).map_err(|_| ESCAPE)? % 32))
                }
                Some(_) | None => return Err(ESCAPE),
            },
            'x' => Atom::Char(char::from_u32(self.hex(2)?).ok_or(ESCAPE)?),
            'u' => Atom::Char(self.unicode()?),
            c if c.is_alphanumeric() || c == '_' => return Err(ESCAPE),
            c => Atom::Char(c),
        })
    }

    fn unicode(&mut self) -> Result<char, &'static str> {
        if self.take('{') {
            let (digits, after) = self.rest.as_str().split_once('}').ok_or(ESCAPE)?;
            self.rest = after.chars();
            let code = u32::from_str_radix(digits, 16).map_err(|_| ESCAPE)?;
            return char::from_u32(code).ok_or(ESCAPE);
        }
        let unit = self.hex(4)?;
        if !(0xD800..0xDC00).contains(&unit) {
            return char::from_u32(unit).ok_or(ESCAPE);
        }
        // The first half of a character: the other half follows.
        if !(self.take('\\') && self.take('u')) {
            return Err(ESCAPE);
        }
        let low = self.hex(4)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(ESCAPE);
        }
        char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)).ok_or(ESCAPE)
    }

    fn hex(&mut self, n_digits: usize) -> Result<u32, &'static str> {
        let mut code = 0;
        for _ in 0..n_digits {
            let digit = self.rest.next().and_then(|c| c.to_digit(16)).ok_or(ESCAPE)?;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    /// Reads the `{...}` of `\p{...}`.
    fn property(&mut self) -> Result<String, &'static str> {
        let rest = self.rest.as_str().strip_prefix('{').ok_or(ESCAPE)?;
        let (name, after) = rest.split_once('}').ok_or(ESCAPE)?;
        let is_known_sign = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'=';
        if name.is_empty() || !name.bytes().all(is_known_sign) {
            return Err(ESCAPE);
        }
        self.n_properties_left = self.n_properties_left.checked_sub(1).ok_or(PROPERTIES)?;
        self.rest = after.chars();
        Ok(name.to_owned())
    }

    /// Reads what follows `[`.
    fn class(&mut self) -> Result<(), &'static str> {
        let is_negated = self.take('^');
        self.out.push_str(if is_negated { "[^" } else { "[" });
        if self.take(']') {
            // What is one character and also another is nothing, and the opposite is everything.
            self.out.push_str(r"\x00&&\x01]");
            return Ok(());
        }
        while !self.take(']') {
            let first = self.class_atom()?;
            let rest = self.rest.as_str();
            if !rest.starts_with('-') || rest.starts_with("-]") {
                self.class_item(first);
                continue;
            }
            self.rest.next();
            match (first, self.class_atom()?) {
                (Atom::Char(from), Atom::Char(to)) if from <= to => {
                    self.literal(from);
                    self.out.push('-');
                    self.literal(to);
                }
                (Atom::Char(_), Atom::Char(_)) => return Err(CLASS),
                // A set has no end to start a range from, so the sign between is just a sign.
                (first, last) => {
                    for atom in [first, Atom::Char('-'), last] {
                        self.class_item(atom);
                    }
                }
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn class_atom(&mut self) -> Result<Atom, &'static str> {
        match self.rest.next() {
            Some('\\') if self.take('b') => Ok(Atom::Char('\u{8}')),
            Some('\\') => self.escaped(),
            Some(c) => Ok(Atom::Char(c)),
            None => Err(CLASS),
        }
    }

    fn class_item(&mut self, atom: Atom) {
        match atom {
            Atom::Char(c) => self.literal(c),
            Atom::Set(set) => self.out.push_str(&set),
        }
    }

    /// Writes a character that stands for itself, inside of a class or outside.
    fn literal(&mut self, c: char) {
        match c.is_ascii_alphanumeric() {
            true => self.out.push(c),
            false => write_to(&mut self.out, format_args!(r"\x{{{:X}}}", u32::from(c))),
        }
    }

    fn take(&mut self, c: char) -> bool {
        match self.rest.as_str().strip_prefix(c) {
            Some(after) => {
                self.rest = after.chars();
                true
            }
            None => false,
        }
    }
}

fn is_name_sign(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn write_to(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _: std::fmt::Result = out.write_fmt(text);
}
