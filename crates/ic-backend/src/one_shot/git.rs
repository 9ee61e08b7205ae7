//! What our git server sees when it is started for one call: the judged directories themselves.
//!
//! What git may do in them is not said here, and neither is whom it reaches: that is handed in.

use ic_confine::Access;
use ic_egress::Allowed;
use ic_policy::Bounds;
use ic_resolve::{Disk, Kind};
use ic_servers::filesystem::{Rights, ViewDirectory, ViewPath};

use super::{Judged, OneShot, OneShotFault, PATHS_MAX, for_changing, view_of_call};
use crate::cage::{is_showable, kind, protecting};
use crate::reach::Talk;

impl OneShot {
    /// Works out what our git server needs to serve a call about `judged`: the directories themselves.
    ///
    /// Git changes what is in a repository by itself, and so is shown it to be written; a file that was
    /// judged besides lies in one of the directories, or the server refuses it.
    pub fn plan_git(
        judged: &[Judged],
        bounds: &Bounds,
        disk: &dyn Disk,
    ) -> Result<Self, OneShotFault> {
        let (mut directories, mut read, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for it in judged {
            match kind(&it.path, disk) {
                Some(Kind::Directory) if !is_showable(&it.path) => {
                    return Err(OneShotFault::Root(it.path.clone()));
                }
                Some(Kind::Directory) => {}
                Some(Kind::Link) => return Err(OneShotFault::Changed(it.path.clone())),
                Some(Kind::File | Kind::Other) | None => continue,
            }
            // SECURITY: what is judged is not protected; that may have changed since.
            if protecting(&it.path, bounds).is_some() {
                return Err(OneShotFault::Protected(it.path.clone()));
            }
            match it.access() {
                Access::Read => read.push(it.path.clone()),
                Access::Write => written.push(it.path.clone()),
            }
            directories.push(ViewDirectory { path: it.path.clone(), rights: it.rights });
        }
        if PATHS_MAX < directories.len() {
            return Err(OneShotFault::TooMany);
        }
        // By this the server knows that its view is the judgement of one call.
        let only = directories
            .iter()
            .map(|it| ViewPath { path: it.path.clone(), rights: it.rights })
            .collect();
        let view = view_of_call(directories, only, &bounds.protected);
        Ok(Self { read, written, has_scratch: true, ..Self::showing_nothing(view) })
    }

    /// Works out what our git server needs to serve a call that reaches another machine.
    pub fn plan_far(
        judged: &[Judged],
        bounds: &Bounds,
        disk: &dyn Disk,
        (reach, talk): (Allowed, Talk),
    ) -> Result<Self, OneShotFault> {
        let plan = Self::plan_making(judged, bounds, disk)?;
        Ok(Self { reach: Some(reach), unix_sockets: talk == Talk::Ssh, ..plan })
    }

    /// Works out what our git server needs to serve a call that may make a directory: a clone, or a
    /// further working tree.
    ///
    /// A directory that is to be made is held by the nearest one above, of which nothing else is
    /// reached by the server. What is read or deleted is there already, or is not shown.
    pub fn plan_making(
        judged: &[Judged],
        bounds: &Bounds,
        disk: &dyn Disk,
    ) -> Result<Self, OneShotFault> {
        let mut plan = Self::plan_git(judged, bounds, disk)?;
        // SECURITY: all of the directory above can then be written in the cage; so only for what is made.
        let made = judged.iter().filter(|it| it.rights == Rights::WRITE);
        for it in made.filter(|it| kind(&it.path, disk).is_none()) {
            let above = for_changing(&it.path, bounds, disk)?;
            plan.written.push(above.clone());
            plan.view.directories.push(ViewDirectory { path: above, rights: it.rights });
            // SECURITY: the directory above is held for this one entry.
            let only = ViewPath { path: it.path.clone(), rights: Rights::READ.and(it.rights) };
            plan.view.only.get_or_insert_default().push(only);
        }
        // To read what was cloned, and to make a repository in an empty directory.
        for directory in &mut plan.view.directories {
            directory.rights = directory.rights.and(Rights::READ);
        }
        for it in plan.view.only.iter_mut().flatten() {
            it.rights = it.rights.and(Rights::READ);
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bounds, disk, judged, path};
    use super::*;
    use ic_servers::filesystem::Links;

    #[test]
    fn git_is_shown_the_judged_directories_and_no_more() {
        let plan = |paths: &[(&str, Rights)]| {
            let plan = OneShot::plan_git(&judged(paths), &bounds(), &disk());
            plan.map_err(|fault| fault.to_string())
        };
        let changed = Rights::READ.and(Rights::WRITE);
        let shot = plan(&[("/h/docs", changed), ("/h/docs/a.txt", Rights::READ)]).unwrap();
        assert_eq!((shot.written.as_slice(), shot.read.len()), (&[path("/h/docs")][..], 0));
        let directories: Vec<_> =
            shot.view.directories.iter().map(|it| (it.path.clone(), it.rights)).collect();
        assert_eq!(directories, [(path("/h/docs"), changed)]);
        assert_eq!(shot.view.leave_out, bounds().protected);
        assert!(shot.has_scratch && shot.view.links == Links::Refuse);
        let shot = plan(&[("/h/docs", Rights::READ)]).unwrap();
        assert_eq!((shot.read.as_slice(), shot.written.len()), (&[path("/h/docs")][..], 0));
        // A file beside the repository is not shown, and neither is what is not there.
        let shot = plan(&[("/h/docs/a.txt", Rights::READ), ("/h/gone", changed)]).unwrap();
        assert!(shot.view.directories.is_empty() && shot.read.is_empty());
        for (it, part) in [
            ("/", "the root of this machine"),
            ("/h/docs/link", "changed since it was judged"),
            ("/h/.ssh", "protected"),
        ] {
            let fault = plan(&[(it, changed)]).expect_err(it);
            assert!(fault.contains(part), "{it}: {fault}");
        }
    }

    #[test]
    fn the_directory_above_is_shown_for_what_is_made_and_for_nothing_else() {
        let written = |paths: &[(&str, Rights)]| -> Vec<String> {
            let plan = OneShot::plan_making(&judged(paths), &bounds(), &disk()).unwrap();
            let only = plan.view.only.unwrap();
            assert!(!only.iter().any(|it| it.path == path("/h")), "{paths:?}");
            plan.written.iter().map(ToString::to_string).collect()
        };
        let changed = Rights::READ.and(Rights::WRITE);
        assert_eq!(written(&[("/h/docs", changed), ("/h/new", Rights::WRITE)]), ["/h/docs", "/h"]);
        let removed = Rights::READ.and(Rights::DELETE);
        for rights in [Rights::READ, Rights::DELETE, removed, changed, Rights::ALL] {
            assert_eq!(written(&[("/h/gone", rights)]), [""; 0], "{rights}");
        }
    }
}
