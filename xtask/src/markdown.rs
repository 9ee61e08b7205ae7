//! What the tools need to know of Markdown: links and headings, outside of code.

/// Returns the targets of links, each with the number of its line.
pub(crate) fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let is_prose =
            |at: usize| line.get(..at).is_some_and(|it| it.matches('`').count() % 2 == 0);
        for (at, _) in line.match_indices("](").filter(|(at, _)| is_prose(*at)) {
            let rest = line.get(at + 2..).unwrap_or_default();
            if let Some((target, _)) = rest.split_once(')') {
                links.push((number, target));
            }
        }
    }
    links
}

/// Returns the names by which headings are linked to.
pub(crate) fn headings(text: &str) -> Vec<String> {
    let titles = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    titles.map(slug).collect()
}

/// Returns the lines that are not code, with their numbers.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// Makes the name of a heading, as the usual programs do.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_get_the_usual_names() {
        let text = "# One, two\n```\n# code\n```\n## `mcp-servers.json`\n#no heading\n";
        assert_eq!(headings(text), ["one-two", "mcp-serversjson"]);
    }

    #[test]
    fn links_in_code_do_not_count() {
        let text = "[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n![g](h.svg)\n";
        assert_eq!(links(text), [(1, "b.md"), (5, "h.svg")]);
    }
}
