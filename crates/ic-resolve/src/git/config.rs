//! The text of a git config, read as git 2.47 does or not at all.
//!
//! Knows nothing of remotes, and follows no include.

use std::sync::Arc;

/// One setting: `[section "subsection"] key = value`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Setting {
    /// In lower case.
    pub section: String,
    /// As it is written, which counts; shared, since one long name may have very many settings.
    pub subsection: Option<Arc<str>>,
    /// In lower case.
    pub key: String,
    /// What it is set to, without quotes and escapes.
    pub value: String,
}

/// Parses the text of a git config; whatever git might read differently is an error.
pub fn parse(text: &str) -> Result<Vec<Setting>, String> {
    // As git does, everywhere in the file; what is left of returns is refused below.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
        return Err("it holds control characters".to_owned());
    }
    let mut parser = ConfigParser {
        chars: text.chars().peekable(),
        line: 1,
        section: None,
        settings: Vec::new(),
    };
    parser.parse().map_err(|reason| format!("line {}: {reason}", parser.line))?;
    Ok(parser.settings)
}

struct ConfigParser<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    section: Option<(String, Option<Arc<str>>)>,
    settings: Vec<Setting>,
}

impl ConfigParser<'_> {
    fn parse(&mut self) -> Result<(), String> {
        while let Some(c) = self.chars.peek().copied() {
            match c {
                '\n' | ' ' | '\t' => {
                    self.next();
                }
                '#' | ';' => self.skip_comment(),
                '[' => self.section()?,
                c if c.is_ascii_alphabetic() => self.setting()?,
                _ => return Err("expected a section or a setting".to_owned()),
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn skip_comment(&mut self) {
        while self.chars.peek().is_some_and(|c| *c != '\n') {
            self.next();
        }
    }

    /// `[section]`, `[section.subsection]` or `[section "subsection"]`.
    fn section(&mut self) -> Result<(), String> {
        self.next();
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        if name.is_empty() {
            return Err("a section needs a name".to_owned());
        }
        let name = name.to_ascii_lowercase();
        let subsection = match self.next() {
            Some(']') => {
                let (section, subsection) = match name.split_once('.') {
                    Some((section, subsection)) => (section, Some(Arc::from(subsection))),
                    None => (name.as_str(), None),
                };
                self.section = Some((section.to_owned(), subsection));
                return Ok(());
            }
            // Git joins such a name with what is in the quotes, so that the base of a rewrite would
            // be longer than the quotes show.
            Some(' ' | '\t') if name.contains('.') => {
                return Err("a section with a dot takes no quoted subsection".to_owned());
            }
            Some(' ' | '\t') => self.quoted_subsection()?,
            _ => return Err("a section's name is not closed".to_owned()),
        };
        self.section = Some((name, Some(Arc::from(subsection))));
        Ok(())
    }

    fn quoted_subsection(&mut self) -> Result<String, String> {
        self.take_while(|c| c == ' ' || c == '\t');
        if self.next() != Some('"') {
            return Err("a subsection stands in quotes".to_owned());
        }
        let mut subsection = String::new();
        loop {
            match self.next() {
                Some('"') => break,
                Some('\\') => match self.next() {
                    Some('\n') | None => return Err("a subsection is not closed".to_owned()),
                    Some(c) => subsection.push(c),
                },
                Some('\n') | None => return Err("a subsection is not closed".to_owned()),
                Some(c) => subsection.push(c),
            }
        }
        match self.next() {
            Some(']') => Ok(subsection),
            _ => Err("a section's name is not closed".to_owned()),
        }
    }

    fn setting(&mut self) -> Result<(), String> {
        let key = self.take_while(|c| c.is_ascii_alphanumeric() || c == '-').to_ascii_lowercase();
        let Some((section, subsection)) = self.section.clone() else {
            return Err("a setting comes before any section".to_owned());
        };
        self.take_while(|c| c == ' ' || c == '\t');
        let value = match self.chars.peek() {
            Some('=') => {
                self.next();
                self.value()?
            }
            // A key alone is `true`.
            Some('\n') | None => "true".to_owned(),
            Some(_) => return Err(format!("expected `=` after `{key}`")),
        };
        self.settings.push(Setting { section, subsection, key, value });
        Ok(())
    }

    fn value(&mut self) -> Result<String, String> {
        let mut value = String::new();
        // Where the value ends if only blanks follow.
        let mut end = 0;
        let mut in_quotes = false;
        loop {
            match self.next() {
                None | Some('\n') if in_quotes => return Err("a quote is not closed".to_owned()),
                None | Some('\n') => break,
                Some('#' | ';') if !in_quotes => {
                    self.skip_comment();
                    break;
                }
                // Git drops blanks until there is a value, also those after empty quotes.
                Some(' ' | '\t') if !in_quotes && value.is_empty() => continue,
                Some(c @ (' ' | '\t')) if !in_quotes => {
                    value.push(c);
                    continue;
                }
                Some('"') => in_quotes = !in_quotes,
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    escape => value.push(unescape(escape)?),
                },
                Some(c) => value.push(c),
            }
            end = value.len();
        }
        value.truncate(end);
        Ok(value)
    }

    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.chars.peek().copied().filter(|c| is_taken(*c)) {
            taken.push(c);
            self.next();
        }
        taken
    }
}

fn unescape(escape: Option<char>) -> Result<char, String> {
    match escape {
        Some('n') => Ok('\n'),
        Some('t') => Ok('\t'),
        Some('b') => Ok('\u{8}'),
        Some(c @ ('"' | '\\')) => Ok(c),
        Some(c) => Err(format!("`\\{}` is not an escape that git knows", c.escape_debug())),
        None => Err("the file ends in an escape".to_owned()),
    }
}
