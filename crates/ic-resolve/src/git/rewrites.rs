//! `url.<base>.insteadOf`: the longest beginning of a URL that a config replaces, found without trying all.
//!
//! An agent can write thousands of these, and thousands of URLs for them. Nothing is read here.

use super::config::Setting;

/// How many bases may stand for one beginning; git takes one of them, and each of them is judged.
const BASES_MAX: usize = 16;

/// The replaced beginnings of one kind, sorted, each with the longest other one that it begins with.
#[derive(Debug, Default)]
pub(super) struct Rewrites(Vec<Beginning>);

#[derive(Debug)]
struct Beginning {
    text: String,
    /// What stands in its place.
    bases: Vec<String>,
    /// The longest shorter one that this one begins with.
    shorter: Option<usize>,
}

impl Rewrites {
    /// Gathers the rewrites of `config` whose key is `key`.
    pub(super) fn of(config: &[Setting], key: &str) -> Result<Self, String> {
        let of_key = config.iter().filter(|it| it.section == "url" && it.key == key);
        let mut pairs: Vec<(&str, &str)> =
            of_key.filter_map(|it| Some((it.value.as_str(), it.subsection.as_deref()?))).collect();
        // Stable, so that the bases of one beginning keep their order.
        pairs.sort_by_key(|(text, _)| *text);
        let mut all: Vec<Beginning> = Vec::new();
        // The beginnings that the last one begins with, itself on top.
        let mut open: Vec<usize> = Vec::new();
        for (text, base) in pairs {
            if let Some(last) = all.last_mut().filter(|last| last.text == text) {
                if last.bases.len() == BASES_MAX {
                    return Err(format!("it rewrites one URL in more than {BASES_MAX} ways"));
                }
                last.bases.push(base.to_owned());
                continue;
            }
            let is_open = |at: &usize| all.get(*at).is_some_and(|it| text.starts_with(&it.text));
            while open.last().is_some_and(|at| !is_open(at)) {
                open.pop();
            }
            let shorter = open.last().copied();
            open.push(all.len());
            let (text, bases) = (text.to_owned(), vec![base.to_owned()]);
            all.push(Beginning { text, bases, shorter });
        }
        Ok(Self(all))
    }

    /// Applies the longest beginning that `url` begins with; with each of its bases.
    pub(super) fn apply(&self, url: &str) -> Vec<String> {
        let Some(found) = self.longest(url) else { return Vec::new() };
        let rest = url.get(found.text.len()..).unwrap_or_default();
        found.bases.iter().map(|base| format!("{base}{rest}")).collect()
    }

    fn longest(&self, url: &str) -> Option<&Beginning> {
        // INVARIANT: whatever `url` begins with, the last text that is not after it begins with too.
        let at = self.0.partition_point(|it| it.text.as_str() <= url).checked_sub(1)?;
        let mut candidate = self.0.get(at)?;
        let pairs = candidate.text.bytes().zip(url.bytes());
        let n_common = pairs.take_while(|(a, b)| a == b).count();
        while n_common < candidate.text.len() {
            candidate = self.0.get(candidate.shorter?)?;
        }
        Some(candidate)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn setting(base: &str, value: &str) -> Setting {
        Setting {
            section: "url".to_owned(),
            subsection: Some(base.into()),
            key: "insteadof".to_owned(),
            value: value.to_owned(),
        }
    }

    /// What git does, by trying all of them.
    fn by_trying(config: &[Setting], url: &str) -> Vec<String> {
        let matching = || config.iter().filter(|it| url.starts_with(&it.value));
        let longest = matching().map(|it| it.value.len()).max();
        matching()
            .filter(|it| Some(it.value.len()) == longest)
            .map(|it| {
                let rest = url.strip_prefix(it.value.as_str()).unwrap();
                format!("{}{rest}", it.subsection.as_deref().unwrap())
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_lookup_finds_what_trying_all_finds(
            values in prop::collection::vec("[aü:]{0,4}", 0..16),
            urls in prop::collection::vec("[aü:]{0,6}", 1..8),
        ) {
            let config: Vec<Setting> =
                values.iter().enumerate().map(|(at, it)| setting(&format!("b{at}"), it)).collect();
            let rewrites = Rewrites::of(&config, "insteadof").unwrap();
            for url in urls {
                prop_assert_eq!(rewrites.apply(&url), by_trying(&config, &url));
            }
        }
    }

    #[test]
    fn a_config_with_too_many_ways_is_not_believed() {
        let ways = |n: usize| {
            let config: Vec<Setting> = (0..n).map(|at| setting(&format!("b{at}"), "x")).collect();
            Rewrites::of(&config, "insteadof").map(|it| it.apply("xy").len())
        };
        assert_eq!(ways(BASES_MAX), Ok(BASES_MAX));
        assert!(ways(BASES_MAX + 1).is_err());
    }
}
