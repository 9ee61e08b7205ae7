//! What programs put before a text: a byte order mark, and front matter.
//!
//! Neither is a sentence, and neither is passed over: a line of front matter may be meant as a restriction.

/// What stands before the text: line, words and problem.
pub(super) type Odd = (usize, &'static str, &'static str);

const MARK: char = '\u{feff}';
const RULE: &str = "---";

/// Returns the text without what stands before it, on the same lines, and what that is.
pub(super) fn without_head(text: &str) -> (String, Vec<Odd>) {
    let mut odd = Vec::new();
    let mut rest = text.to_owned();
    if let Some(bare) = text.strip_prefix(MARK) {
        odd.push((
            1,
            "U+FEFF",
            "the file begins with a byte order mark, which cannot be seen; save it as UTF-8 without one",
        ));
        bare.clone_into(&mut rest);
    }
    if let Some(n_lines) = front_matter(&rest) {
        odd.push((
            1,
            RULE,
            "this is front matter, which is not compiled; delete it, or put it into a comment",
        ));
        let after = rest.split_inclusive('\n').skip(n_lines);
        rest = "\n".repeat(n_lines) + &after.collect::<String>();
    }
    (rest, odd)
}

/// Returns how many lines of front matter there are: `key: value` between two lines of dashes.
fn front_matter(text: &str) -> Option<usize> {
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some(RULE) {
        return None;
    }
    let is_key = |line: &str| {
        let key = line.split_once(':').map(|(key, _)| key);
        key.is_some_and(|it| {
            !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        })
    };
    let mut keys = 0;
    for (at, line) in lines.enumerate() {
        match line {
            RULE | "..." => return (0 < keys).then_some(at + 2),
            line if is_key(line) => keys += 1,
            // A value on lines of its own, a comment, or nothing.
            line if line.starts_with([' ', '\t', '-', '#']) || line.is_empty() => {}
            _ => return None,
        }
    }
    None
}
