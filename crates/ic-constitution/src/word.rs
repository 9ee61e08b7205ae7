//! Words of a constitution, each with its place in the text.
//!
//! Knows no grammar: quotes keep words together, a mark at the end of a word is a word of its own, and
//! letters that cannot be seen are never part of one.

/// A word, or a mark of punctuation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// The same in lower case, by which keywords are known.
    pub low: String,
    /// Whether it was quoted, so that it is never a keyword.
    pub is_quoted: bool,
    /// The line, counted from 1.
    pub line: usize,
    /// The column of its first character, counted from 1.
    pub column: usize,
}

/// Why a line cannot be cut into words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreadable {
    /// The column.
    pub column: usize,
    /// What stands there.
    pub words: String,
    /// Why it cannot be read.
    pub problem: String,
}

impl Word {
    /// Returns whether this is the keyword `keyword`.
    pub fn is(&self, keyword: &str) -> bool {
        !self.is_quoted && self.low == keyword
    }

    /// Returns whether this is one of the keywords.
    pub fn is_one_of(&self, keywords: &[&str]) -> bool {
        !self.is_quoted && keywords.contains(&self.low.as_str())
    }

    /// Returns whether it ends a sentence.
    pub fn is_end(&self) -> bool {
        self.is_one_of(&[".", "!", ";"])
    }
}

/// The most bytes of a word without quotes, which are those of a path.
const BYTES_MAX: usize = 4096;

/// Cuts a line into words; `at` is the column at which it begins.
pub fn words(text: &str, line: usize, at: usize) -> Result<Vec<Word>, Unreadable> {
    let chars: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut position = 0;
    while let Some(&first) = chars.get(position) {
        let column = at + position;
        if let Some(problem) = hidden(first) {
            return Err(Unreadable { column, words: first.escape_unicode().to_string(), problem });
        }
        if is_space(first) {
            position += 1;
        } else if let Some(close) = closing(first) {
            let inside: String =
                chars.iter().skip(position + 1).take_while(|it| **it != close).collect();
            let n = inside.chars().count();
            if chars.get(position + 1 + n).is_none() || inside.trim().is_empty() {
                let problem = "the quote is not closed, or holds nothing".to_owned();
                return Err(Unreadable { column, words: first.to_string(), problem });
            }
            if let Some(problem) = inside.chars().find_map(|it| hidden(it).or(blank(it))) {
                return Err(Unreadable { column, words: "…".to_owned(), problem });
            }
            if inside.trim() != inside {
                let problem = "a name in quotes begins and ends with something that can be seen";
                return Err(Unreadable { column, words: inside, problem: problem.to_owned() });
            }
            words.push(Word::new(inside, true, line, column));
            position += n + 2;
        } else {
            let is_part = |it: &&char| !is_space(**it) && closing(**it).is_none();
            let word: String = chars.iter().skip(position).take_while(is_part).collect();
            if let Some(problem) = word.chars().find_map(|it| hidden(it).or(blank(it))) {
                return Err(Unreadable { column, words: word.escape_debug().to_string(), problem });
            }
            if BYTES_MAX < word.len() {
                let problem = format!("a word has at most {BYTES_MAX} bytes");
                return Err(Unreadable { column, words: "…".to_owned(), problem });
            }
            position += word.chars().count();
            push(&mut words, &word, line, column);
        }
    }
    Ok(words)
}

/// Marks at the end of a word that are words of their own.
const MARKS: [char; 6] = ['.', ',', ';', ':', '!', '?'];

/// Adds a word and the marks around it.
fn push(words: &mut Vec<Word>, word: &str, line: usize, column: usize) {
    // A bracket that is opened or closed elsewhere is no part of a name.
    if let Some(rest) =
        word.strip_prefix('(').filter(|rest| !rest.contains(')') || rest.ends_with(')'))
    {
        words.push(Word::new("(".to_owned(), false, line, column));
        return push(words, rest, line, column + 1);
    }
    let inner = word.trim_end_matches(MARKS);
    if let Some(rest) = inner.strip_suffix(')').filter(|rest| !rest.contains('(')) {
        push(words, rest, line, column);
        let at = column + rest.chars().count();
        words.push(Word::new(")".to_owned(), false, line, at));
        let marks = word.get(inner.len()..).unwrap_or_default();
        if !marks.is_empty() {
            push(words, marks, line, at + 1);
        }
        return;
    }
    let plain = without_emphasis(word);
    let mut marks: String = plain.chars().rev().take_while(|it| MARKS.contains(it)).collect();
    // SECURITY: without its dots, `~/a/..` would be another directory, and a *never* for it hold elsewhere.
    if plain.trim_end_matches(MARKS).ends_with('/') && marks.ends_with("..") {
        marks.truncate(marks.len() - 2);
    }
    let stem: String = plain.chars().take(plain.chars().count() - marks.chars().count()).collect();
    let stem = without_emphasis(&stem).to_owned();
    if !stem.is_empty() {
        words.push(Word::new(stem.replace(['\u{2019}', '\u{2018}'], "'"), false, line, column));
    }
    let at = column + word.chars().count() - marks.chars().count();
    for (offset, mark) in marks.chars().rev().enumerate() {
        words.push(Word::new(mark.to_string(), false, line, at + offset));
    }
}

/// Takes the stars of Markdown away; `*` and `*.host` keep theirs.
fn without_emphasis(word: &str) -> &str {
    let word = word.strip_prefix("**").unwrap_or(word);
    let word = word.strip_suffix("**").unwrap_or(word);
    match word.strip_prefix('*').and_then(|it| it.strip_suffix('*')) {
        Some(inner) if !inner.is_empty() && !inner.contains('*') => inner,
        Some(_) | None => word,
    }
}

fn is_space(it: char) -> bool {
    it == ' ' || it == '\t' || it == '\u{a0}'
}

fn closing(it: char) -> Option<char> {
    match it {
        '`' | '"' => Some(it),
        '\u{201c}' => Some('\u{201d}'),
        _ => None,
    }
}

/// Says why a character has no place in a name: it looks like a space, and is none of ours.
fn blank(it: char) -> Option<String> {
    let is_blank = it != ' ' && it.is_whitespace()
        || matches!(
            it,
            '\u{2800}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'
                ..='\u{fe0f}'
        );
    let code = u32::from(it);
    is_blank.then(|| format!("the character U+{code:04X} looks like a space; delete it"))
}

/// Says why a character has no place in a constitution.
pub(crate) fn hidden(it: char) -> Option<String> {
    let is_hidden = it.is_control() && it != '\t'
        || matches!(it,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}');
    let code = u32::from(it);
    is_hidden.then(|| format!("the character U+{code:04X} cannot be seen; delete it"))
}

impl Word {
    fn new(text: String, is_quoted: bool, line: usize, column: usize) -> Self {
        let low = text.to_ascii_lowercase();
        Self { text, low, is_quoted, line, column }
    }
}
