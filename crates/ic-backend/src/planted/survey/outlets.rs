//! Links that lead to where a server may write, and nobody looks: its own directories, those of other servers
//! and sessions, and what processes have open.
//!
//! SECURITY: a way counts by every place on it, not by its end alone. A link there can be turned later, and
//! `..` behind a directory there leads elsewhere once that is a link.

use std::os::unix::ffi::OsStrExt as _;

use ic_resolve::Disk;
use ic_resolve::path::Found;
use ic_types::CanonicalPath;

use crate::planted::Ground;

/// Returns whether the way that `link` begins comes by such a place; what was `found` on it, if anything.
pub(super) fn is_passed(
    ground: &Ground,
    disk: &dyn Disk,
    (link, found): (&CanonicalPath, Option<&Found>),
) -> bool {
    let on_way =
        found.into_iter().flat_map(|it| it.links.iter().chain([&it.path]).chain(&it.spelled));
    let mut links = [link].into_iter().chain(found.into_iter().flat_map(|it| &it.links));
    on_way.into_iter().any(|place| ground.is_elsewhere(place))
        || links.any(|link| spells_elsewhere(ground, disk, link))
}

/// Returns whether the text of a link comes by such a place, as it is written.
fn spells_elsewhere(ground: &Ground, disk: &dyn Disk, link: &CanonicalPath) -> bool {
    let (Ok(target), Some(parent)) = (disk.read_link(link.as_path()), link.parent()) else {
        return false;
    };
    let text = target.as_os_str().as_bytes();
    let mut at = if text.starts_with(b"/") { CanonicalPath::root() } else { parent };
    for name in text.split(|byte| *byte == b'/') {
        at = match name {
            b"" | b"." => continue,
            b".." => at.parent().unwrap_or_else(CanonicalPath::root),
            name => match at.join(std::ffi::OsStr::from_bytes(name)) {
                Ok(at) => at,
                Err(_) => return false,
            },
        };
        if ground.is_elsewhere(&at) {
            return true;
        }
    }
    false
}
