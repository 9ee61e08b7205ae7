//! What is planned has one place, the end of CHANGELOG.md; every other document and comment speaks of what is.
//!
//! Words such as "later", "will" and "yet" mostly say in which order things happen when the program runs. What
//! is looked for are the phrases in which they speak of the program itself.

use super::Finding;
use super::text::mentions;
use super::tree::{SourceFile, Tree};
use crate::markdown::prose;

/// The document with the list of plans.
const CHANGELOG: &str = "CHANGELOG.md";

/// Each phrase, in two parts, so that this file does not contain it.
const PHRASES: [(&str, &str); 26] = [
    ("not implemented", " yet"),
    ("not supported", " yet"),
    ("not part of this", " yet"),
    ("not use", " yet"),
    ("not used", " yet"),
    ("not written", " yet"),
    ("no support", " yet"),
    ("not yet", " implemented"),
    ("not yet", " supported"),
    ("not yet", " used"),
    ("will be", " added"),
    ("will be", " supported"),
    ("will be", " implemented"),
    ("will be", " replaced"),
    ("will be", " built"),
    ("will be", " written"),
    ("will", " follow"),
    ("a later", " version"),
    ("a later", " release"),
    ("later", " versions"),
    ("a later", " step"),
    ("a later", " issue"),
    ("a future", " version"),
    ("future", " versions"),
    ("coming", " soon"),
    ("when they are", " needed"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let texts: Vec<(usize, &str)> = if file.path == CHANGELOG {
        Vec::new()
    } else if file.has_extension("md") {
        prose(&file.text).collect()
    } else if file.has_extension("rs") {
        file.lines().filter_map(|(number, line)| Some((number, comment(line)?))).collect()
    } else {
        Vec::new()
    };
    let found = texts.into_iter().filter_map(|(number, text)| {
        let text = text.to_lowercase();
        let is_in = |(first, rest): &&(&str, &str)| mentions(&text, &format!("{first}{rest}"));
        let (first, rest) = PHRASES.iter().find(is_in)?;
        let sentence = format!("`{first}{rest}`: what is planned stands in {CHANGELOG} alone.");
        Some(Finding::new(&file.path, number, sentence))
    });
    found.collect()
}

/// The comment of a line, if the line is one; what stands behind code is short, and about that code.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_plan_is_found_in_documents_and_comments_and_an_order_of_things_is_not() {
        let plan = concat!("This is not supported", " yet.");
        let text =
            format!("# Page\n\n{plan}\nWhat you add later counts. The file is not there yet.\n");
        let code = format!("//! A file.\n\n/// {plan}\nfn f() {{}} // read later\n");
        let tree = Tree::of(&[
            ("docs/a.md", &text),
            ("src/b.rs", &code),
            ("CHANGELOG.md", &text),
            ("c.txt", &text),
        ]);
        assert_findings(
            &check(&tree),
            &[
                concat!(
                    "docs/a.md:3: `not supported",
                    " yet`: what is planned stands in CHANGELOG.md alone."
                ),
                concat!(
                    "src/b.rs:3: `not supported",
                    " yet`: what is planned stands in CHANGELOG.md alone."
                ),
            ],
        );
    }
}
