//! Links that a working tree gets, and that lead out of it: what the user's own programs write there, or remove,
//! they write or remove elsewhere. In a new tree, at another depth, even the user's own links do.

use std::path::{Component, Path};

use ic_resolve::path::is_of_system;

use super::fault::Fault;
use super::rehearsal::{Entry, Rehearsal};
use super::run::Run;
use super::takeover::{Terms, keep_changed};

/// The mode of a link.
pub(super) const LINK: &str = "120000";
/// How many links are looked at; with more, each may lead anywhere.
const LINKS_MAX: usize = 200;
/// The longest index that is looked for.
const INDEX_BYTES_MAX: usize = 256 << 20;

/// Returns the links among the files of a working tree that lead out of it, and did not when the session began.
pub(super) fn leading_out(
    run: &Run<'_>,
    terms: &Terms,
    entries: &[Entry],
) -> Result<Vec<Entry>, Fault> {
    let mut links: Vec<&Entry> = entries.iter().filter(|it| is_brought(it)).collect();
    links.sort();
    links.dedup();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let is_linked = run.repository.link().is_some();
    let is_new_tree = is_linked && run.repository.read_index(INDEX_BYTES_MAX)?.is_none();
    let top = run.repository.top.as_path();
    let mut strays = Vec::new();
    for (n, link) in links.into_iter().enumerate() {
        let leads_out = LINKS_MAX <= n || {
            let target = target(run, link)?;
            leaves(&link.path, &target) || (!is_new_tree && leads_elsewhere(top, &target))
        };
        strays.extend(leads_out.then(|| link.clone()));
    }
    if !is_new_tree {
        keep_changed(run, terms, &mut strays)?;
    }
    Ok(strays)
}

/// Returns where a link of git's leads.
pub(super) fn target(run: &Run<'_>, link: &Entry) -> Result<String, Fault> {
    // The sides of a conflict have a number after the object's.
    let id = link.id.split(' ').next().unwrap_or_default();
    Rehearsal::look(run, &["cat-file", "blob", id])
}

/// Returns whether it is a link that git has; one that it reads from the disk is there already.
fn is_brought(entry: &Entry) -> bool {
    entry.mode == LINK && entry.id.contains(|c| c != '0')
}

/// Returns whether a link leads above the top of the tree by its own words.
pub(super) fn leaves(path: &str, target: &str) -> bool {
    let mut depth = Path::new(path).components().count().saturating_sub(1);
    let mut has_gone_down = false;
    for component in Path::new(target).components() {
        match component {
            // It leads to the same place from everywhere.
            Component::RootDir | Component::Prefix(_) => return false,
            Component::CurDir => {}
            Component::Normal(_) => has_gone_down = true,
            // SECURITY: what is before it may be a link too, and then this leads elsewhere.
            Component::ParentDir if has_gone_down => return true,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
        }
    }
    false
}

/// Returns whether a link names a place outside of the tree from the root, other than one of the system.
fn leads_elsewhere(top: &Path, target: &str) -> bool {
    let target = Path::new(target);
    let goes_up = target.components().any(|it| it == Component::ParentDir);
    let is_known = !goes_up && (target.starts_with(top) || is_of_system(target));
    target.is_absolute() && !is_known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leaves_the_tree_by_going_above_its_top() {
        for (path, target, does) in [
            ("l", "..", true),
            ("l", "x/../..", true),
            ("a/b/l", "x/../y", true),
            ("a/l", "../../x", true),
            ("a/l", "../x", false),
            ("l", "x", false),
            ("l", "/etc", false),
            ("a/b/l", "./../../x", false),
        ] {
            assert_eq!(leaves(path, target), does, "{path} {target}");
        }
    }

    #[test]
    fn a_link_from_the_root_leads_elsewhere_unless_it_stays_or_leads_to_the_system() {
        for (target, does) in [
            ("/home/u/docs", true),
            ("/w/tree", false),
            ("/w/tree/x", false),
            ("/w/trees", true),
            ("/w/tree/../x", true),
            ("/usr/bin/python3", false),
            ("/usr/../home/u", true),
            ("/nix/store/x", false),
            ("docs", false),
        ] {
            assert_eq!(leads_elsewhere(Path::new("/w/tree"), target), does, "{target}");
        }
    }
}
