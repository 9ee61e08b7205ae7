//! What `docs/clients.md` tells people to write, so that agents are tried with just that.

use std::path::Path;

/// Returns the only block of a language in the section of a client.
#[track_caller]
pub(super) fn block(client: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let mut sections = guide.split("\n## ").filter(|it| it.starts_with(&format!("{client}\n")));
    let section = sections.next().unwrap_or_else(|| panic!("no section for {client}"));
    let start = format!("\n```{language}\n");
    let mut blocks = section.split(&start).skip(1).map(|it| it.split("\n```").next().unwrap());
    let block = blocks.next().unwrap_or_else(|| panic!("no {language} for {client}"));
    assert_eq!(blocks.next(), None, "{client}: which {language} is meant?");
    format!("{block}\n")
}

/// Puts what a test needs in the place of what people write.
#[track_caller]
pub(super) fn put(text: &str, written: &str, instead: &str) -> String {
    assert_eq!(text.matches(written).count(), 1, "`{written}` should be there once: {text}");
    text.replace(written, instead)
}
