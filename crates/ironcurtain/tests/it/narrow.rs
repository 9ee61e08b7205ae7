//! Lists at a narrow terminal: no row is wider than it, and rows end between words.

use crate::approvals::world::{BINARY, Rig};

/// How wide the terminal is.
const COLUMNS: usize = 60;
/// What stands before the rest of a line.
const FOLDED: &str = "  |";

#[test]
fn at_sixty_columns_lists_break_between_words() {
    let rig = Rig::new();
    let task = "write \"x\" to a.txt and read ~/.ssh/id_ed25519";
    assert_ne!(rig.run(&["start", "--name", "one", task]).stdout, "");
    for words in
        ["doctor", "servers list", "policy show", "config list", "sessions list", "audit show"]
    {
        let command = format!("stty cols {COLUMNS} rows 24; exec env NO_COLOR=1 {BINARY} {words}");
        let seen = rig.in_terminal(&["sh", "-c", &command]).end().stdout;
        let rows: Vec<&str> = seen.lines().collect();
        assert!(rows.iter().any(|row| row.starts_with(FOLDED)), "{words} has no long line: {seen}");
        for pair in rows.windows(2) {
            let [row, next] = pair else { continue };
            assert!(row.chars().count() <= COLUMNS, "{words}: {row:?}");
            // Only a word that fits no row is broken: then the row is full.
            let is_broken = next.strip_prefix(FOLDED).is_some_and(|it| !it.starts_with(' '));
            let last = row.rsplit(' ').next().unwrap_or_default();
            assert!(!is_broken || COLUMNS / 2 < last.chars().count(), "{words}: {row:?} {next:?}");
        }
    }
}
