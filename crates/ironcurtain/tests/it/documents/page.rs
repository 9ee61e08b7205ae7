//! A page of Markdown as what a reader types, one thing after the other.

use std::path::Path;

const COMMENT: &str = "<!-- test: ";
const NOT_RUN: &str = "not run: ";

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) items: Vec<Item>,
}

/// One thing that a page says to do.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Item {
    /// A command that the reader types.
    Command(String),
    /// A command that is typed in the test alone.
    Hidden(String),
    /// A block that is kept as a file.
    File { name: String, text: String },
}

impl Page {
    #[track_caller]
    pub(super) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        Self { items: items(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display())) }
    }
}

fn items(text: &str) -> Result<Vec<Item>, String> {
    let (mut items, mut lines) = (Vec::new(), text.lines());
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(comment) = line.strip_prefix(COMMENT) {
            let comment = comment.strip_suffix(" -->").ok_or("a comment without an end")?;
            match comment.strip_prefix("file ") {
                Some(name) => file = Some(name.to_owned()),
                None => items.push(Item::Hidden(comment.to_owned())),
            }
        }
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|it| it.trim() != "```").collect();
        let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
        let typed = commands(&block);
        match (kind, rest, file.take()) {
            (_, _, Some(name)) => items.push(Item::File { name, text: block.join("\n") + "\n" }),
            ("console", "", None) if typed.is_empty() => {
                return Err(format!("no command in {block:?}"));
            }
            ("console", "", None) => items.extend(typed.into_iter().map(Item::Command)),
            ("console", rest, None) => {
                let reason = rest.strip_prefix(NOT_RUN).filter(|it| !it.trim().is_empty());
                reason.ok_or_else(|| format!("{rest:?} is not a reason"))?;
            }
            _ if typed.is_empty() => {}
            _ => return Err(format!("{typed:?} is not in a `console` block")),
        }
    }
    Ok(items)
}

/// Returns what stands behind `$ `, with lines joined that end in a backslash.
fn commands(block: &[&str]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let mut command = command.to_owned();
        while command.ends_with('\\') {
            command.pop();
            command.push_str(lines.next().map_or("", |it| it.trim_start()));
        }
        commands.push(command);
    }
    commands
}

#[test]
fn a_page_is_read_in_order() {
    let text = "# A\n\n<!-- test: mkdir a -->\n\n```console\n$ one\nsaid\n$ two \\\n    three\n```\n\
                ```console not run: a key\n$ four\n```\n<!-- test: file a.ts -->\n\n```ts\nx\n```\n";
    let text_of = |it: &str| it.to_owned();
    assert_eq!(
        items(text).unwrap(),
        [
            Item::Hidden(text_of("mkdir a")),
            Item::Command(text_of("one")),
            Item::Command(text_of("two three")),
            Item::File { name: text_of("a.ts"), text: text_of("x\n") },
        ]
    );
    for wrong in
        ["```\n$ one\n```\n", "```console not run: \n$ one\n```\n", "```console\none\n```\n"]
    {
        assert!(items(wrong).is_err(), "{wrong}");
    }
}
