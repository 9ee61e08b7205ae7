//! Links that a new working tree gets, and that lead out of it: at another depth they lead elsewhere.

use std::path::{Component, Path};

use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;

/// The mode of a link.
const LINK: &str = "120000";
/// How many links are looked at; with more, each may lead anywhere.
const LINKS_MAX: usize = 200;
/// The longest index that is looked for.
const INDEX_BYTES_MAX: usize = 256 << 20;

/// Returns the links among the files of a new working tree that lead out of it.
pub(super) fn leading_out(run: &Run<'_>, entries: &[Entry]) -> Result<Vec<Entry>, Fault> {
    let links: Vec<&Entry> = entries.iter().filter(|it| it.mode == LINK).collect();
    if run.repository.link().is_none()
        || links.is_empty()
        || run.repository.read_index(INDEX_BYTES_MAX)?.is_some()
    {
        return Ok(Vec::new());
    }
    let mut strays = Vec::new();
    for (n, link) in links.into_iter().enumerate() {
        let leads_out = LINKS_MAX <= n || {
            let target = Rehearsal::look(run, &["cat-file", "blob", &link.id])?;
            leaves(&link.path, &target)
        };
        strays.extend(leads_out.then(|| link.clone()));
    }
    Ok(strays)
}

/// Returns whether a link at `path` leads above the top of the tree by its own words; an absolute one leads
/// to the same place from everywhere.
fn leaves(path: &str, target: &str) -> bool {
    let mut depth = Path::new(path).components().count().saturating_sub(1);
    for component in Path::new(target).components() {
        match component {
            Component::RootDir | Component::Prefix(_) => return false,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leaves_the_tree_by_going_above_its_top() {
        for (path, target, does) in [
            ("l", "..", true),
            ("l", "x/../..", true),
            ("a/l", "../../x", true),
            ("a/l", "../x", false),
            ("l", "x", false),
            ("l", "/etc", false),
            ("a/b/l", "./../../x", false),
        ] {
            assert_eq!(leaves(path, target), does, "{path} {target}");
        }
    }
}
