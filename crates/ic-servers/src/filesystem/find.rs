//! What a walk returns: the tree of a directory, or the paths that match a pattern.

use std::ops::ControlFlow;
use std::path::Path;

use ic_resolve::Kind;
use ic_types::Json;

use super::arguments::Arguments;
use super::fault::Fault;
use super::patterns::Patterns;
use super::reach::Reach;
use super::show;
use super::view::Rights;
use super::walk::{Found, Notes, OUTPUT_BYTES_MAX, OutputFull, Visit, walk};
use crate::tools::{Cancel, Content, ToolResult};

/// Returns all that is beneath a directory, as JSON.
pub(super) fn tree(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let root = reach.reach(arguments.text("path")?, Rights::READ)?;
    let exclude = Patterns::new("excludePatterns", &arguments.texts("excludePatterns")?)?;
    let mut tree = Tree { json: String::from("["), depth: 0, is_first: true };
    let notes = walk(reach, &root, &exclude, cancel, &mut tree)?;
    tree.json.push(']');
    let mut content = vec![Content::Text(tree.json)];
    // In a part of its own, so that the first one stays JSON.
    content.extend(note(&notes).map(Content::Text));
    Ok(ToolResult::done(content))
}

/// Returns the paths beneath a directory that match a pattern.
pub(super) fn search(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let pattern = Patterns::new("pattern", &[arguments.text("pattern")?])?;
    let exclude = Patterns::new("excludePatterns", &arguments.texts("excludePatterns")?)?;
    let root = reach.reach(arguments.text("path")?, Rights::READ)?;
    let mut search = Search { root: root.path.as_path(), pattern, lines: String::new() };
    let notes = walk(reach, &root, &exclude, cancel, &mut search)?;
    let mut text = match search.lines {
        lines if lines.is_empty() => String::from("No matches found"),
        mut lines => {
            lines.pop();
            lines
        }
    };
    if let Some(note) = note(&notes) {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    Ok(ToolResult::text(text))
}

fn note(notes: &Notes) -> Option<String> {
    Some(notes.to_string()).filter(|note| !note.is_empty())
}

struct Tree {
    json: String,
    depth: usize,
    /// Nothing was written yet in this directory.
    is_first: bool,
}

impl Visit for Tree {
    fn entry(&mut self, found: &Found<'_>) -> ControlFlow<OutputFull> {
        // JSON carries any text, and only what is no text needs to be shown otherwise.
        let name = match found.name.to_str() {
            Some(name) => name.to_owned(),
            None => show::name(found.name),
        };
        let mut entry = String::from(if self.is_first { "{\"name\":" } else { ",{\"name\":" });
        Json::write_text(&mut entry, &name);
        entry.push_str(match found.kind {
            Kind::File => ",\"type\":\"file\"}",
            Kind::Directory => ",\"type\":\"directory\",\"children\":[",
            Kind::Link => ",\"type\":\"link\"}",
            Kind::Other => ",\"type\":\"other\"}",
        });
        // What is open has to be closed, too.
        if OUTPUT_BYTES_MAX < self.json.len() + entry.len() + 2 * (self.depth + 2) {
            return ControlFlow::Break(OutputFull);
        }
        self.json.push_str(&entry);
        self.is_first = found.kind == Kind::Directory;
        self.depth += usize::from(found.kind == Kind::Directory);
        ControlFlow::Continue(())
    }

    fn leave(&mut self) {
        self.json.push_str("]}");
        self.depth = self.depth.saturating_sub(1);
        self.is_first = false;
    }
}

struct Search<'a> {
    root: &'a Path,
    pattern: Patterns,
    lines: String,
}

impl Visit for Search<'_> {
    fn entry(&mut self, found: &Found<'_>) -> ControlFlow<OutputFull> {
        if self.pattern.matches(found.name, found.relative) {
            let path = show::path(&self.root.join(found.relative));
            if OUTPUT_BYTES_MAX < self.lines.len() + path.len() + 1 {
                return ControlFlow::Break(OutputFull);
            }
            self.lines.push_str(&path);
            self.lines.push('\n');
        }
        ControlFlow::Continue(())
    }

    fn leave(&mut self) {}
}
