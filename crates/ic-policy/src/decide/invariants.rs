//! What no rule overrides: values that cannot be used, protected paths, what the host executes, hosts
//! that a server is not meant to reach.
//!
//! Each check adds its findings; in which order they are asked is said one level up.

use ic_types::{CanonicalPath, Role};

use super::Asked;
use crate::bounds::Containment;
use crate::call::{PathValue, RoleValues, Value};
use crate::finding::{Finding, Structural};

const LIST_ALLOWED_DIRECTORIES: &str = "list_allowed_directories";

/// How many files that the host executes are named; one is enough to ask.
const EXECUTED_MAX: usize = 64;

/// A protected path that a value concerns, and where it stands as seen from the value.
enum Protected<'a> {
    /// At the value or above it.
    Above(&'a CanonicalPath),
    /// Beneath the value, which would be removed with it.
    Beneath(&'a CanonicalPath),
}

impl Asked<'_> {
    pub(super) fn check_values(&self, findings: &mut Vec<Finding>) {
        for invalid in &self.call.parts().invalid {
            let detail = format!("`{}`: {}", invalid.place.escape_debug(), invalid.reason);
            findings.push(Finding {
                role: Some(invalid.role),
                ..Finding::structural(Structural::InvalidValue, detail)
            });
        }
        for argument in &self.call.parts().unknown_arguments {
            let detail = format!("the annotation names no argument `{}`", argument.escape_debug());
            findings.push(Finding::structural(Structural::UnknownArgument, detail));
        }
    }

    /// Protected paths first, of all roles; then what the host executes; then paths without a role.
    pub(super) fn check_paths(&self, findings: &mut Vec<Finding>) {
        for (role, value) in self.values() {
            if let Some(protected) = self.protected_by(role, value) {
                let detail = match protected {
                    Protected::Above(above) => {
                        format!("`{value}` is protected, as is all of `{above}`")
                    }
                    Protected::Beneath(beneath) => {
                        format!("`{value}` contains the protected path `{beneath}`")
                    }
                };
                findings.push(Finding {
                    role: Some(role),
                    ..Finding::structural(Structural::ProtectedPath, detail)
                });
            }
        }
        self.check_executed(findings);
        for unannotated in &self.call.parts().unannotated_paths {
            if names_of(&unannotated.path).any(|name| self.bounds.protects(name).is_some()) {
                let (argument, path) =
                    (unannotated.argument.escape_debug(), &unannotated.path.path);
                let detail = format!("the argument `{argument}` names the protected path `{path}`");
                findings.push(Finding::structural(Structural::UnannotatedPath, detail));
            }
        }
    }

    /// What the host executes as the disk shows it, then by its name; the first few are named.
    fn check_executed(&self, findings: &mut Vec<Finding>) {
        let by_name = self.values().filter_map(|(role, value)| {
            let path = value.path().filter(|_| role.changes_path())?;
            let name = names_of(path).find(|name| self.bounds.host_executes(name))?;
            let detail = match *name == path.path {
                true => format!("`{name}`: programs of this machine run it or take orders from it"),
                false => format!(
                    "`{value}` changes `{name}`, which programs of this machine run or take orders \
                     from"
                ),
            };
            Some((role, detail))
        });
        // In the cage of a command what the host executes is read-only, and new names are looked for.
        let is_kept = self.keeps_view();
        let by_disk = self.call.parts().executed.iter().filter(|_| !is_kept);
        let by_disk = by_disk.map(|it| (it.role, format!("`{}`: {}", it.path, it.why)));
        for (role, detail) in by_disk.chain(by_name).take(EXECUTED_MAX) {
            findings.push(Finding {
                role: Some(role),
                ..Finding::structural(Structural::HostExecutes, detail)
            });
        }
    }

    fn protected_by(&self, role: Role, value: &Value) -> Option<Protected<'_>> {
        match value {
            Value::Path(path) => {
                let above = names_of(path).find_map(|name| self.bounds.protects(name));
                // In the cage of a command what is protected is empty.
                let is_removed = role == Role::DeletePath && !self.keeps_view();
                let beneath = || match is_removed {
                    true => self.bounds.protected_beneath(&path.path),
                    false => None,
                };
                above.map(Protected::Above).or_else(|| beneath().map(Protected::Beneath))
            }
            Value::LocalRemote(path) => self.bounds.protects(path).map(Protected::Above),
            Value::Url(_) | Value::Text(_) => None,
        }
    }

    pub(super) fn is_introspection(&self) -> bool {
        self.containment == Containment::ContainedFilesystem
            && self.call.tool().as_str() == LIST_ALLOWED_DIRECTORIES
            && self.call.asked().arguments.is_empty()
    }

    pub(super) fn check_domains(&self, findings: &mut Vec<Finding>) {
        let Some(traits) = self.bounds.servers.get(self.call.server()) else { return };
        for (role, value) in self.values() {
            let Some(destination) = value.destination() else { continue };
            if !traits.allowed_domains.iter().all(|set| set.contains(destination)) {
                let server = self.call.server();
                let detail = format!(
                    "`{destination}` is not among the allowed domains of the server `{server}`"
                );
                findings.push(Finding {
                    role: Some(role),
                    ..Finding::structural(Structural::DomainEscalate, detail)
                });
            }
        }
    }

    /// A remote that nobody can name may be anything. A rule that escalates is named before this.
    pub(super) fn check_remote_found(&self, findings: &mut Vec<Finding>) {
        let is_bare =
            |entry: &&RoleValues| entry.role == Role::GitRemoteUrl && entry.values.is_empty();
        if self.call.roles().iter().any(|entry| is_bare(&entry)) {
            let detail = "no remote was found, so the destination is unknown";
            findings.push(Finding {
                role: Some(Role::GitRemoteUrl),
                ..Finding::structural(Structural::DomainEscalate, detail)
            });
        }
    }
}

/// Returns a path and the other names that lead to it.
fn names_of(value: &PathValue) -> impl Iterator<Item = &CanonicalPath> {
    std::iter::once(&value.path).chain(&value.also)
}
