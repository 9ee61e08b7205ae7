//! The words of the program and of its documents are those that good engineers use.
//!
//! A list of phrases that read like a riddle, each with what to write instead. Looked for in the strings of
//! the product and in the documents for users; comments, tests and the history of decisions are left alone.

use super::Finding;
use super::text::mentions;
use super::tree::{SourceFile, Tree};
use crate::markdown::prose;

/// Each phrase, and what to write instead.
const PHRASES: [(&str, &str); 29] = [
    ("whoever", "say who: you, the user, the server"),
    ("whom nobody", "`nobody was available`"),
    ("nobody is there", "`no approver is connected`"),
    ("somebody is there", "`an approver is connected`"),
    ("needs a person", "`needs approval`"),
    ("need a person", "`need approval`"),
    ("needed a person", "`needed approval`"),
    ("waits for a person", "`waits for approval`"),
    ("wait for a person", "`wait for approval`"),
    ("needs nobody", "`needs no approval`"),
    ("is none", "say what it is not"),
    ("are none", "say what they are not"),
    ("of ours", "`IronCurtain's`, or leave it out"),
    ("is no text", "`is not text`"),
    ("is no object", "`is not an object`"),
    ("is no file", "`is not a file`"),
    ("is no regular file", "`is not a regular file`"),
    ("is no directory", "`is not a directory`"),
    ("is no JSON", "`is not valid JSON`"),
    ("are no JSON", "`are not valid JSON`"),
    ("is no URL", "`is not a URL`"),
    ("is no UTF-8", "`is not UTF-8`"),
    ("model serves", "`model is used`"),
    ("holds no", "`contains no`, or say what it is not"),
    ("makes no sense", "`is not valid`"),
    ("we wrote", "`IronCurtain wrote`"),
    ("we write", "`IronCurtain writes`"),
    ("we do not know", "`unknown`, or `IronCurtain does not support`"),
    ("was not lent", "say what was not given"),
];
/// What makes a phrase plain English again.
const USUAL: [&str; 4] =
    ["there is no directory", "there is no file", "there is no text", "there is none"];

/// The documents for users; a name with `/` at its end is a directory.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "SECURITY.md",
    "docs/guide/",
    "docs/reference/",
    "docs/clients.md",
    "docs/mcp.md",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let is_document = |it: &str| file.path == it || it.ends_with('/') && file.path.starts_with(it);
    let is_product = file.path.starts_with("crates/")
        && !file.path.starts_with("crates/ic-testkit/")
        && file.has_extension("rs")
        && !file.is_test();
    let texts: Vec<(usize, String)> = if is_product {
        strings(&code(file))
    } else if file.has_extension("md") && DOCUMENTS.iter().any(|it| is_document(it)) {
        // A generated page shows help texts in blocks of code.
        match file.path.starts_with("docs/reference/") {
            true => file.lines().map(|(number, line)| (number, line.to_owned())).collect(),
            false => prose(&file.text).map(|(number, line)| (number, line.to_owned())).collect(),
        }
    } else {
        Vec::new()
    };
    let found = texts.iter().filter_map(|(number, text)| {
        let (phrase, instead) = phrase_in(text)?;
        Some(Finding::new(&file.path, *number, format!("`{phrase}`: write {instead}.")))
    });
    found.collect()
}

fn phrase_in(text: &str) -> Option<(&'static str, &'static str)> {
    let mut text = text.to_lowercase();
    for usual in USUAL {
        text = text.replace(usual, "");
    }
    PHRASES.into_iter().find(|(phrase, _)| mentions(&text, &phrase.to_lowercase()))
}

/// Returns the code of a file without comments and tests, at the same lines.
fn code(file: &SourceFile) -> String {
    let mut text = String::new();
    let mut at = 1;
    for (number, line) in file.code_without_tests() {
        while at < number {
            text.push('\n');
            at += 1;
        }
        text.push_str(line);
    }
    text
}

/// Returns the texts between quotes, joined where a line ends in a backslash, each with its first line.
fn strings(code: &str) -> Vec<(usize, String)> {
    let (mut strings, mut line) = (Vec::new(), 1);
    let mut characters = code.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        match c {
            '\n' => line += 1,
            // A quote as a character.
            '"' if before == '\'' && characters.peek() == Some(&'\'') => {}
            '"' => {
                let (begin, mut text) = (line, String::new());
                while let Some(c) = characters.next().filter(|c| *c != '"') {
                    line += usize::from(c == '\n');
                    if c != '\\' {
                        text.push(c);
                        continue;
                    }
                    let escaped = characters.next();
                    if escaped == Some('\n') {
                        line += 1;
                        while characters.next_if(|it| it.is_whitespace()).is_some() {}
                    }
                }
                strings.push((begin, text));
            }
            _ => {}
        }
        before = c;
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_riddle_is_found_in_strings_and_documents() {
        let code = "//! Whoever reads this.\nlet quote = '\"';\nlet a = \"the call needs a \\\n    \
                    person\";\nlet b = \"there is no directory\";\nlet whoever = 1;\n";
        let page = "It is fine.\n`x` is no JSON\n";
        let tree = Tree::of(&[
            ("crates/ironcurtain/src/a.rs", code),
            ("crates/ironcurtain/tests/it/a.rs", "let a = \"whoever\";"),
            ("docs/guide/a.md", page),
            ("docs/decisions/a.md", "whoever"),
        ]);
        assert_findings(
            &check(&tree),
            &[
                "crates/ironcurtain/src/a.rs:3: `needs a person`: write `needs approval`.",
                "docs/guide/a.md:2: `is no JSON`: write `is not valid JSON`.",
            ],
        );
    }
}
