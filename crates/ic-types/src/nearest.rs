//! Names that were mistyped: which of the known ones was probably meant.

/// Returns the candidate that is nearest to `name`, if one is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 3.min(name.len() / 2))
        .map(|(_, candidate)| candidate)
}

/// Counts the letters to change, add or drop on the way from `a` to `b`.
pub fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (at, from) in a.chars().enumerate() {
        let mut next = vec![at + 1];
        let mut left = at + 1;
        for ((to, above), before) in b.chars().zip(row.iter().skip(1)).zip(&row) {
            left = (before + usize::from(from != to)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_found_and_nothing_else() {
        let known = ["filesystem", "git", "fetch", "shell"];
        for (name, expected) in [
            ("filesytem", Some("filesystem")),
            ("FileSystem", Some("filesystem")),
            ("gti", None),
            ("gits", Some("git")),
            ("fetcher", Some("fetch")),
            ("memory", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
        assert_eq!(distance("abc", "axcd"), 2);
    }
}
