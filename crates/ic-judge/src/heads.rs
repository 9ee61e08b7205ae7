//! Which commit was checked out in a repository when the session first had to do with it.
//!
//! A file that equals the one in that commit is the user's own, and bringing it back changes nothing.
//! Only tools that say what they would change move HEAD, so the first look is early enough.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use ic_policy::ResolvedCall;
use ic_resolve::git::{head_commit, linked, refs};
use ic_resolve::{Executes, NamedInTree, RealDisk};
use ic_types::{CanonicalPath, Json, Object, Role, ServerName, ToolName};

use crate::judge::Judge;
use ic_types::locked;

/// How many repositories are remembered.
const REPOSITORIES_MAX: usize = 256;
/// How many places that rules are about are told, of each role.
const RULED_MAX: usize = 1024;

/// How many new refs are told; of more nobody needs to know which they are.
const NEW_TIPS_MAX: usize = 2048;

/// The commits at which repositories were found.
#[derive(Debug, Default)]
pub struct Heads {
    seen: Mutex<HashMap<CanonicalPath, Found>>,
}

/// How a repository was found.
#[derive(Debug)]
struct Found {
    commit: Option<String>,
    /// What its refs named.
    tips: BTreeSet<String>,
}

impl Heads {
    /// Looks at a repository, if it was not looked at before.
    fn see(&self, top: &CanonicalPath) {
        let mut seen = locked(&self.seen);
        if seen.contains_key(top) || REPOSITORIES_MAX <= seen.len() {
            return;
        }
        // SECURITY: also that there is none. A branch that gets its first commit from a git tool would
        // otherwise be found at it, and what is in it would pass for the user's own.
        let commit = head_commit(&RealDisk, top);
        seen.insert(top.clone(), Found { commit, tips: refs::tips(&RealDisk, top) });
    }

    /// Returns what refs of the repository at `top` name by now, and none did when it was found.
    fn new_tips(&self, top: &CanonicalPath) -> Vec<Json> {
        let now = refs::tips(&RealDisk, top);
        let seen = locked(&self.seen);
        let is_new = |id: &&String| seen.get(top).is_some_and(|found| !found.tips.contains(*id));
        let new = now.iter().filter(is_new).take(NEW_TIPS_MAX);
        new.map(|id| Json::from(id.as_str())).collect()
    }
}

impl Judge {
    /// Returns what our git server is told about trees that a call takes over.
    pub fn terms(&self, call: &ResolvedCall, agreed: Option<&str>) -> Object {
        let named = call.sent().get("path").and_then(Json::as_str);
        let path = named.and_then(|path| CanonicalPath::new(path).ok());
        let sandbox = || self.bounds.sandbox.as_ref().map(|it| it.path.clone());
        let top = path.or_else(sandbox);
        let linked = top.as_ref().and_then(|top| linked::find(&RealDisk, top).ok().flatten());
        let main = linked.map(|pointer| pointer.repository);
        for top in top.iter().chain(&main) {
            self.heads.see(top);
        }
        let mut bases = Object::new();
        for (top, found) in &*locked(&self.heads.seen) {
            if let Some(commit) = &found.commit {
                bases.insert(top.to_string(), commit.as_str());
            }
        }
        let executes = Executes::new(&RealDisk, &self.home, Some(&self.orders), None);
        let NamedInTree { mut names, has_drivers } =
            top.as_ref().map_or_else(NamedInTree::default, |top| executes.named_in(top));
        // A tree that is made or moved gets what counts at its place, and what its configuration names there.
        let new = ["worktreePath", "newPath"].iter().filter_map(|name| {
            CanonicalPath::new(call.sent().get(name).and_then(Json::as_str)?).ok()
        });
        let new: Vec<CanonicalPath> = new.collect();
        for place in &new {
            names.extend(executes.named_in(place).names);
            names.extend(executes.meant(place, main.as_ref().or(top.as_ref())).texts());
        }
        // Links elsewhere that lead into the tree, from the home or from another part of it.
        let listed = self.bounds.home_executes.iter().map(|it| &it.path);
        let is_near = |path: &&CanonicalPath| top.iter().chain(&new).any(|top| path.is_within(top));
        let listed = listed.filter(is_near);
        names.extend(listed.map(ToString::to_string));
        let named: Vec<Json> = names.into_iter().map(Json::from).collect();
        let tops: Vec<&CanonicalPath> = top.iter().chain(&main).collect();
        let mut terms = Object::new();
        terms.insert("ruled", self.ruled((call.server(), call.tool()), &tops));
        terms.insert("bases", bases);
        terms.insert("named", named);
        let new_tips = main.as_ref().or(top.as_ref()).map(|top| self.heads.new_tips(top));
        terms.insert("newTips", new_tips.unwrap_or_default());
        terms.insert("drivers", has_drivers);
        if let Some(agreed) = agreed {
            terms.insert("agreed", agreed);
        }
        terms
    }

    /// Returns the places that rules deny or ask about, each with the role: those in a repository, and
    /// others, which may be in further working trees of it.
    ///
    /// What is above a repository, and what is everywhere, counts as its top.
    fn ruled(
        &self,
        names @ (server, _): (&ServerName, &ToolName),
        tops: &[&CanonicalPath],
    ) -> Vec<Json> {
        let json = |(role, path): (Role, &CanonicalPath)| {
            let mut object = Object::new();
            object.insert("role", role.as_str());
            object.insert("path", path.to_string());
            Json::Object(object)
        };
        let mut ruled = Vec::new();
        for role in [Role::ReadPath, Role::WritePath, Role::DeletePath] {
            let restricted = self.policy.restricted(server, role);
            let is_in = |place: &&CanonicalPath| tops.iter().any(|top| place.is_within(top));
            let (mut places, others): (Vec<&CanonicalPath>, Vec<&CanonicalPath>) =
                restricted.places().iter().partition(is_in);
            // Too many to tell: then everything counts.
            match places.len() {
                ..=RULED_MAX => places.extend(others.into_iter().take(RULED_MAX)),
                _ => places = tops.to_vec(),
            }
            // What is read is judged by the repository itself.
            let sandbox = self.bounds.sandbox.as_ref();
            let above = tops.iter().filter(|top| {
                role != Role::ReadPath && self.policy.restricts_all_of(names, role, (top, sandbox))
            });
            places.extend(above);
            ruled.extend(places.into_iter().map(|place| json((role, place))));
        }
        ruled
    }
}
