//! Who an agent is in its cage, where root runs this program.
//!
//! How one user comes to stand for another is known in `ic-confine`.

use ic_confine::{Access, CageSpec, CageUser};
use rustix::fs::Mode;

use crate::agent_cage::AgentCageParts;

/// Returns who the processes of the cage are, if we are root: whoever owns the workspace, or nobody of this machine.
///
/// SECURITY: root without capabilities still owns root's files, and could read and change them wherever they are
/// shown.
pub(crate) fn cage_user(spec: &CageSpec, parts: &AgentCageParts<'_>) -> Option<CageUser> {
    /// A user that no machine has.
    const NOBODY: u32 = 65_532;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let sandbox = parts.judge.bounds.sandbox.as_ref();
    let stat = sandbox.and_then(|it| rustix::fs::stat(it.path.as_path()).ok());
    let owner = stat.map(|it| (it.st_uid, it.st_gid)).filter(|it| it.0 != 0 && it.1 != 0);
    let (user, group) = owner.unwrap_or((NOBODY, NOBODY));
    let written = spec.seen.iter().filter(|seen| seen.access == Access::Write);
    let written = written.map(|seen| seen.path.clone());
    // Files of the session that are made for the agent are nobody else's to read.
    let private = parts.programs.iter().map(|path| path.as_path().to_owned()).filter(|path| {
        rustix::fs::stat(path).is_ok_and(|it| !Mode::from_raw_mode(it.st_mode).contains(Mode::ROTH))
    });
    Some(CageUser { user, group, owns: written.chain(private).collect() })
}
