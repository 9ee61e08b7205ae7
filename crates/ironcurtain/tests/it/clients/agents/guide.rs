//! What `docs/clients.md` tells people to write, so that agents are tried with just that.

use std::path::Path;

/// Returns the blocks of a language in the section of a client.
#[track_caller]
pub(crate) fn blocks(client: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let mut sections = guide.split("\n## ").filter(|it| it.starts_with(&format!("{client}\n")));
    let section = sections.next().unwrap_or_else(|| panic!("no section for {client}"));
    let start = format!("\n```{language}\n");
    let blocks = section.split(&start).skip(1).map(|it| it.split("\n```").next().unwrap());
    blocks.map(|it| format!("{it}\n")).collect()
}

/// Returns the only two blocks of a language in the section of a client.
#[track_caller]
pub(super) fn two_blocks(client: &str, language: &str) -> [String; 2] {
    let blocks = blocks(client, language);
    blocks.try_into().unwrap_or_else(|found| panic!("{client}: which {language}? {found:?}"))
}

/// Puts what a test needs in the place of what people write.
#[track_caller]
pub(super) fn put(text: &str, written: &str, instead: &str) -> String {
    assert_eq!(text.matches(written).count(), 1, "`{written}` should be there once: {text}");
    text.replace(written, instead)
}
