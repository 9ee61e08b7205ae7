//! Follows every link of a built site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;

/// Pages that repeat others for printing and frames, and are not written by us.
const SKIPPED: [&str; 3] = ["print.html", "toc.html", "404.html"];

/// Checks that every link in the pages beneath `book` leads somewhere; returns how many there are.
pub(super) fn check(book: &Path) -> anyhow::Result<usize> {
    let mut pages = BTreeMap::new();
    read(book, &mut pages)?;
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path, values(text, "id=\"").collect())).collect();
    let (mut n_links, mut faults) = (0, Vec::new());
    for (page, text) in &pages {
        for link in values(text, "href=\"").chain(values(text, "src=\"")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            n_links += 1;
            let target = match path {
                "" => page.clone(),
                path => plain(&page.parent().unwrap_or(book).join(path)),
            };
            let has_heading = heading.is_empty()
                || ids.get(&target).is_none_or(|ids| ids.contains(heading.trim()));
            if !target.is_file() || !has_heading {
                faults.push(format!("{}: {link}", page.display()));
            }
        }
    }
    ensure!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
    ensure!(0 < n_links, "the site has no links");
    Ok(n_links)
}

fn read(directory: &Path, pages: &mut BTreeMap<PathBuf, String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_skipped = SKIPPED.iter().any(|it| path.ends_with(it));
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension().is_some_and(|it| it == "html") && !is_skipped {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// Returns what stands between `begin` and the next quote, wherever it does.
fn values<'a>(text: &'a str, begin: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(|it| it.split('"').next())
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_found() -> anyhow::Result<()> {
        let book = tempfile::tempdir()?;
        let write = |name: &str, text: &str| fs::write(book.path().join(name), text);
        write("a.html", "<a href=\"b.html#x\">b</a> <a href=\"https://example.org/\">c</a>")?;
        write("b.html", "<h1 id=\"x\">B</h1>")?;
        assert_eq!(check(book.path())?, 1);
        write("b.html", "<h1 id=\"y\">B</h1>")?;
        assert!(check(book.path()).is_err());
        write("a.html", "<a href=\"gone.html\">b</a>")?;
        assert!(check(book.path()).is_err());
        Ok(())
    }
}
