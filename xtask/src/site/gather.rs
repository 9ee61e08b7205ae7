//! The source of the site: the documents of the repository, at the same places, with links that fit a site.
//!
//! A page is called `index.md` there instead of `README.md`. A link to a directory leads to a list of what is in
//! it, and a link to another file to a copy that a browser shows as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::markdown::links;

const BOOK: &str = "docs/site/book.toml";
const SUMMARY: &str = "docs/site/SUMMARY.md";

/// What is to be copied.
#[derive(Debug, Default)]
struct Site {
    /// Pages by their path in the site.
    pages: BTreeMap<PathBuf, String>,
    /// Files that are shown as they are, by their path in the repository.
    files: BTreeSet<PathBuf>,
    /// Pages that the summary does not name.
    further: Vec<PathBuf>,
}

/// Writes the source of the site to `site`, and returns how many pages it has.
pub(super) fn gather(top: &Path, site: &Path) -> anyhow::Result<usize> {
    let summary = fs::read_to_string(top.join(SUMMARY))?;
    let mut gathered = Site::default();
    let listed: Vec<PathBuf> = links(&summary).into_iter().map(|(_, it)| it.into()).collect();
    let mut waiting: Vec<PathBuf> = listed.clone();
    while let Some(path) = waiting.pop() {
        let place = place(&path);
        if gathered.pages.contains_key(&place) {
            continue;
        }
        if !listed.contains(&path) {
            gathered.further.push(path.clone());
        }
        let text = match top.join(&path).is_dir() {
            true => list(top, &path)?,
            false => fs::read_to_string(top.join(&path)).with_context(|| shown(&path))?,
        };
        let text = gathered.fit(top, &path, &text, &mut waiting)?;
        gathered.pages.insert(place, text);
    }
    let source = site.join("src");
    fs::create_dir_all(&source)?;
    fs::copy(top.join(BOOK), site.join("book.toml"))?;
    fs::write(source.join("SUMMARY.md"), gathered.summary(&summary)?)?;
    for (path, text) in &gathered.pages {
        write(&source.join(path), text.as_bytes())?;
    }
    for path in &gathered.files {
        write(&source.join(as_text(path)), &fs::read(top.join(path))?)?;
    }
    Ok(gathered.pages.len())
}

impl Site {
    /// Changes the links of a page, and notes what they lead to.
    fn fit(
        &mut self,
        top: &Path,
        page: &Path,
        text: &str,
        waiting: &mut Vec<PathBuf>,
    ) -> anyhow::Result<String> {
        // A list of a directory lies in it, every other page beside its like.
        let directory = match top.join(page).is_dir() {
            true => page.to_owned(),
            false => page.parent().map(Path::to_owned).unwrap_or_default(),
        };
        let found: BTreeSet<&str> = links(text).into_iter().map(|(_, it)| it).collect();
        let mut fitted = text.to_owned();
        for link in found {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") || link.starts_with("mailto:") || path.is_empty() {
                continue;
            }
            let target = plain(&directory.join(path));
            let there = top.join(&target);
            let is_page = there.is_dir() || target.extension().is_some_and(|it| it == "md");
            let to = match (there.exists(), is_page) {
                (false, _) => bail!("{}: `{link}` leads nowhere", page.display()),
                (true, true) => {
                    waiting.push(target.clone());
                    place_of(&target, there.is_dir())
                }
                (true, false) => {
                    self.files.insert(target.clone());
                    as_text(&target)
                }
            };
            let up = "../".repeat(directory.components().count());
            let heading = if heading.is_empty() { String::new() } else { format!("#{heading}") };
            let new = format!("]({up}{}{heading})", to.display());
            fitted = fitted.replace(&format!("]({link})"), &new);
        }
        Ok(fitted)
    }

    /// The summary, with the pages that it does not name at its end.
    fn summary(&self, summary: &str) -> anyhow::Result<String> {
        let mut summary = summary.replace("README.md", "index.md");
        let mut further: Vec<PathBuf> = self.further.iter().map(|it| place(it)).collect();
        further.sort();
        summary.push_str("\n# Further\n\n");
        for path in further {
            let title = self.pages.get(&path).and_then(|it| it.lines().find_map(title));
            let title = title.map_or_else(|| path.display().to_string(), str::to_owned);
            writeln!(summary, "- [{title}]({})", path.display())?;
        }
        Ok(summary)
    }
}

fn title(line: &str) -> Option<&str> {
    line.strip_prefix("# ")
}

/// Where a page or the list of a directory lies in the site.
fn place(path: &Path) -> PathBuf {
    place_of(path, path.extension().is_none())
}

fn place_of(path: &Path, is_directory: bool) -> PathBuf {
    if is_directory {
        return path.join("index.md");
    }
    match path.file_name() {
        Some(name) if name == "README.md" => path.with_file_name("index.md"),
        _ => path.to_owned(),
    }
}

/// What a browser shows as text, or as a picture.
fn as_text(path: &Path) -> PathBuf {
    match path.extension() {
        Some(extension) if extension == "svg" => path.to_owned(),
        _ => PathBuf::from(format!("{}.txt", path.display())),
    }
}

fn list(top: &Path, directory: &Path) -> anyhow::Result<String> {
    let entries = fs::read_dir(top.join(directory))?;
    let mut names = entries
        .map(|it| Ok(it?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    let mut page = format!("# {}\n\n", directory.display());
    for name in names {
        writeln!(page, "- [{name}]({name})")?;
    }
    Ok(page)
}

/// Returns the path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().context("a file has a directory")?)?;
    Ok(fs::write(path, bytes)?)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_fit_the_site() -> anyhow::Result<()> {
        let top = tempfile::tempdir()?;
        for (path, text) in [
            ("README.md", "[a](docs/a.md#x) [b](src/b.rs) [c](more)\n"),
            ("docs/a.md", "# A\n[r](../README.md)\n"),
            ("src/b.rs", "fn b() {}\n"),
            ("more/c.json", "{}\n"),
            (BOOK, ""),
            (SUMMARY, "# Summary\n\n[R](README.md)\n"),
        ] {
            write(&top.path().join(path), text.as_bytes())?;
        }
        let site = top.path().join("target/site");
        gather(top.path(), &site)?;
        let read = |path: &str| fs::read_to_string(site.join("src").join(path));
        assert_eq!(read("index.md")?, "[a](docs/a.md#x) [b](src/b.rs.txt) [c](more/index.md)\n");
        assert_eq!(read("docs/a.md")?, "# A\n[r](../index.md)\n");
        assert!(read("SUMMARY.md")?.contains("- [A](docs/a.md)\n"));
        assert_eq!(read("src/b.rs.txt")?, "fn b() {}\n");
        assert_eq!(read("more/index.md")?, "# more\n\n- [c.json](../more/c.json.txt)\n");
        Ok(())
    }
}
