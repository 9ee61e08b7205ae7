//! Every link between the documents leads to a file, and to a heading if it names one.

use super::Finding;
use super::tree::{SourceFile, Tree};
use crate::markdown::{headings, links};

/// The contents of the site, whose links begin at the top of the repository.
const SUMMARY: &str = "docs/site/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.files().filter(|file| file.has_extension("md"));
    documents.flat_map(|file| check_file(file, tree)).collect()
}

fn check_file(file: &SourceFile, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, link) in links(&file.text) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let from = if file.path == SUMMARY { "" } else { file.path.as_str() };
        let target = if path.is_empty() { file.path.clone() } else { beside(from, path) };
        if let Some(why) = fault(&target, heading, tree) {
            findings.push(Finding::new(&file.path, number, format!("the link `{link}` {why}.")));
        }
    }
    findings
}

fn fault(target: &str, heading: &str, tree: &Tree) -> Option<&'static str> {
    let inside = format!("{target}/");
    let Some(file) = tree.file(target) else {
        let is_directory = tree.files().any(|it| it.path.starts_with(&inside));
        return (!is_directory).then_some("leads nowhere");
    };
    let is_there = heading.is_empty()
        || !file.has_extension("md")
        || headings(&file.text).iter().any(|it| it == heading);
    (!is_there).then_some("names a heading that is not there")
}

/// Returns a path relative to the workspace, of one that is relative to a file.
fn beside(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_findings;

    #[test]
    fn a_link_leads_to_a_file_and_to_a_heading() {
        let page = "[a](b.md#two-words) [b](../c.md) [c](https://example.org/x) [d](#here)\n\
                    ## Here\n[e](b.md#nowhere) [f](gone.md) `[g](gone.md)` [h](../docs)\n";
        let tree =
            Tree::of(&[("docs/a.md", page), ("docs/b.md", "# Two *words*\n"), ("c.md", "text\n")]);
        assert_findings(
            &check(&tree),
            &[
                "docs/a.md:3: the link `b.md#nowhere` names a heading that is not there.",
                "docs/a.md:3: the link `gone.md` leads nowhere.",
            ],
        );
    }
}
