//! What a call is about, as rights to paths: what a server has to see in order to serve it.
//!
//! Whether the call may be made is the verdict's business, and how a server sees something that of its cage.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ic_confine::Access;
use ic_policy::{Permit, ResolvedCall, Value};
use ic_servers::filesystem::{Links, Rights, View, ViewDirectory};
use ic_types::{CanonicalPath, Role};

/// A path that a call is about, and what is to be done with it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judged {
    /// The path.
    pub path: CanonicalPath,
    /// What is to be done with it.
    pub rights: Rights,
}

impl Judged {
    /// Returns the paths that were judged, each once, with the rights of its roles.
    pub fn of(call: &ResolvedCall) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        for values in call.roles() {
            let rights = rights(values.role);
            let paths = values.values.iter().filter_map(|value| match value {
                Value::Path(value) => Some(&value.path),
                Value::Url(_) | Value::LocalRemote(_) | Value::Text(_) => None,
            });
            for path in paths {
                let at = *places.entry(path.as_path().as_os_str().as_bytes()).or_insert(all.len());
                match all.get_mut(at) {
                    Some(judged) => judged.rights = judged.rights.and(rights),
                    None => all.push(Self { path: path.clone(), rights }),
                }
            }
        }
        if all.iter().any(|it| it.rights.delete) {
            leave_out_carried(&mut all);
        }
        all
    }

    /// Returns what was permitted, and the paths of it.
    pub fn of_permit(permit: Permit) -> (Permit, Vec<Self>) {
        let judged = Self::of(permit.call());
        (permit, judged)
    }

    /// Returns what a cage has to let through.
    pub fn access(&self) -> Access {
        access(self.rights)
    }
}

/// Leaves out what a moved directory takes along or brings: closed places in it are judged by their names,
/// but the server only works on the directory.
fn leave_out_carried(all: &mut Vec<Judged>) {
    let changed = all.iter().filter(|it| it.rights.write || it.rights.delete);
    let changed: HashSet<CanonicalPath> = changed.map(|it| it.path.clone()).collect();
    let is_carried = |it: &Judged| {
        it.rights == Rights::WRITE
            && it.path.ancestors().skip(1).any(|above| changed.contains(&above))
    };
    all.retain(|it| !is_carried(it));
}

/// Returns what a role does with its paths.
pub fn rights(role: Role) -> Rights {
    match role {
        Role::ReadPath => Rights::READ,
        Role::WritePath | Role::WriteHistory => Rights::WRITE,
        Role::DeletePath | Role::DeleteHistory => Rights::DELETE,
        Role::FetchUrl
        | Role::GitRemoteUrl
        | Role::GithubOwner
        | Role::GithubRepo
        | Role::ProxyDomain
        | Role::BranchName
        | Role::CommitMessage
        | Role::EmailAddress
        | Role::EmailBody
        | Role::SharePermission
        | Role::None => Rights::NONE,
    }
}

/// Returns what a cage has to let through for these rights.
pub fn access(rights: Rights) -> Access {
    match rights {
        Rights { write: false, delete: false, .. } => Access::Read,
        Rights { .. } => Access::Write,
    }
}

/// Returns what a built-in server sees: directories with the rights of their roles, and of those above
/// them, since whoever may do something in a directory may do it in all that is in it.
pub fn view(directories: &[(CanonicalPath, Vec<Role>)], leave_out: &[CanonicalPath]) -> View {
    let mut named: HashMap<&Path, Rights> = HashMap::new();
    for (path, roles) in directories {
        let rights = named.entry(path.as_path()).or_insert(Rights::NONE);
        *rights = roles.iter().copied().map(self::rights).fold(*rights, Rights::and);
    }
    let rights = |path: &CanonicalPath| {
        let above = path.as_path().ancestors().filter_map(|above| named.get(above));
        above.copied().fold(Rights::NONE, Rights::and)
    };
    let mut seen = HashSet::new();
    let directories = directories.iter().filter_map(|(path, _)| {
        let rights = rights(path);
        let is_seen = rights != Rights::NONE && is_text(path) && seen.insert(path.as_path());
        is_seen.then(|| ViewDirectory { path: path.clone(), rights })
    });
    View {
        directories: directories.collect(),
        leave_out: leave_out.iter().filter(|path| is_text(path)).cloned().collect(),
        only: None,
        // SECURITY: what was judged had no links in it; one that is there now was put there since.
        links: Links::Refuse,
    }
}

/// Returns whether a path can be written in JSON; one that cannot cannot be named in a call either.
pub fn is_text(path: &CanonicalPath) -> bool {
    path.to_str().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> CanonicalPath {
        CanonicalPath::new(text).unwrap()
    }

    #[test]
    fn a_rule_takes_nothing_from_what_the_sandbox_gives() {
        let all: Vec<Role> = Role::all().collect();
        let directories = [
            (path("/s"), all),
            (path("/s"), vec![Role::WritePath]),
            (path("/s/in"), vec![Role::ReadPath]),
            (path("/d"), vec![Role::ReadPath]),
            (path("/d/in"), vec![Role::WritePath]),
            (path("/d"), vec![Role::DeletePath]),
            (path("/din"), vec![Role::BranchName]),
        ];
        let seen = view(&directories, &[]).directories;
        let seen: Vec<_> = seen.iter().map(|it| (it.path.to_str().unwrap(), it.rights)).collect();
        let read_and_delete = Rights::READ.and(Rights::DELETE);
        assert_eq!(
            seen,
            [
                ("/s", Rights::ALL),
                ("/s/in", Rights::ALL),
                ("/d", read_and_delete),
                ("/d/in", read_and_delete.and(Rights::WRITE)),
            ]
        );
    }
}
