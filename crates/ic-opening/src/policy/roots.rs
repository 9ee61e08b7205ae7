//! Where the directories of a policy's rules led when the user last confirmed it.
//!
//! A rule opens a directory by its name. If an agent can put a link at that name, the rule opens
//! whatever the link leads to; so a name that leads through a link where it did not before is an error,
//! and not another directory. Remembered in `roots.json` of the home, first when a policy is first used.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use ic_home::{Home, file};
use ic_resolve::path::{self, Last};
use ic_resolve::{PathFault, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The longest file of remembered roots.
const BYTES_MAX: u64 = 4 << 20;

/// The roots of one policy, as they are found while it is loaded.
#[derive(Debug, Default)]
pub struct Roots {
    found: RefCell<BTreeMap<String, Root>>,
}

/// What a rule's directory begins with if it is this session's sandbox or workspace.
const SANDBOX: &str = "${SANDBOX}";

/// A directory of a rule that cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum RootFault {
    /// The path cannot be resolved.
    #[error(transparent)]
    Path(#[from] PathFault),
    /// Something stands right behind `${SANDBOX}`.
    #[error("write `${{SANDBOX}}`, or `${{SANDBOX}}/` and a path in it, instead of `{0}`")]
    BesideSandbox(String),
    /// A link in the sandbox leads elsewhere.
    #[error("`{0}` leads through a link or out of the sandbox: name the directory itself")]
    LeavesSandbox(String),
}

/// A directory of a rule that is a link to somewhere else than when the user confirmed it.
#[derive(Clone, Debug)]
pub struct Moved {
    /// How rules name it.
    pub name: String,
    /// Where it led.
    pub then: String,
    /// Where it leads.
    pub now: String,
}

#[derive(Clone, Debug)]
struct Root {
    path: CanonicalPath,
    has_links: bool,
    /// The other names that the rule may mean once a link on the way is another thing.
    names: Vec<CanonicalPath>,
}

/// The file of remembered roots: by policy, then by the name in its rules.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Remembered {
    version: u32,
    policies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Roots {
    /// Finds the directory that a rule names, and notes it.
    ///
    /// `${SANDBOX}` is this session's `sandbox`, another one each time, and so is not remembered.
    pub fn locate(
        &self,
        text: &str,
        home: &AbsolutePath,
        sandbox: &CanonicalPath,
    ) -> Result<CanonicalPath, RootFault> {
        if let Some(rest) = text.strip_prefix(SANDBOX) {
            return beneath_sandbox(text, rest, sandbox);
        }
        let written = path::absolute(text, home, None)?;
        let found = path::follow(&RealDisk, &written, Last::Follow)?;
        // Links above the home are the system's: no agent makes those.
        let is_above = |link: &CanonicalPath| home.as_path().starts_with(link.as_path());
        let has_links = found.links.iter().any(|link| !is_above(link));
        let names = names_of(&found, is_above);
        let root = Root { path: found.path.clone(), has_links, names };
        self.found.borrow_mut().insert(text.to_owned(), root);
        Ok(found.path)
    }

    /// Returns the places that have other names, with these.
    pub fn names(&self) -> HashMap<CanonicalPath, Vec<CanonicalPath>> {
        let mut names: HashMap<CanonicalPath, Vec<CanonicalPath>> = HashMap::new();
        for root in self.found.borrow().values().filter(|root| !root.names.is_empty()) {
            names.entry(root.path.clone()).or_default().extend(root.names.iter().cloned());
        }
        names
    }

    /// Refuses a root that leads through a link to somewhere else than it did.
    pub fn check(&self, policy: &str, home: &Home) -> Result<(), Fault> {
        let Some(Moved { name, then, now }) = self.moved(policy, home)?.into_iter().next() else {
            return Ok(());
        };
        Err(Fault::config(format!(
            "`{name}`, which the policy opens, is a link to `{now}` now; it was `{then}` when you last \
             confirmed the policy"
        ))
        .with_hint(
            "remove the link; or if it is yours and the policy is to open what it leads to, run \
             `ironcurtain policy use` with the name of the policy, or `ironcurtain policy confirm`",
        ))
    }

    /// Returns the roots that lead through a link to somewhere else than they did.
    pub fn moved(&self, policy: &str, home: &Home) -> Result<Vec<Moved>, Fault> {
        let remembered = Remembered::read(home)?;
        let Some(before) = remembered.policies.get(policy) else { return Ok(Vec::new()) };
        let moved = |(name, root): (&String, &Root)| {
            let (then, now) = (before.get(name)?, root.path.to_string());
            let is_moved = root.has_links && *then != now;
            is_moved.then(|| Moved { name: name.clone(), then: then.clone(), now })
        };
        Ok(self.found.borrow().iter().filter_map(moved).collect())
    }

    /// Remembers the roots as they are now.
    pub fn remember(&self, policy: &str, home: &Home) -> Result<(), Fault> {
        let mut remembered = Remembered::read(home)?;
        let now = self.found.borrow();
        let now: BTreeMap<String, String> =
            now.iter().map(|(text, root)| (text.clone(), root.path.to_string())).collect();
        if remembered.policies.get(policy) == Some(&now) {
            return Ok(());
        }
        remembered.version = 1;
        remembered.policies.insert(policy.to_owned(), now);
        let text = serde_json::to_vec_pretty(&remembered).map_err(|error| {
            Fault::machine("cannot save the confirmed directories").with_source(error)
        })?;
        Ok(file::replace(home.roots(), &text)?)
    }

    /// Returns each name of a directory and where it leads.
    pub fn lines(&self) -> Vec<String> {
        let found = self.found.borrow();
        let is_spelled_so = |text: &String, path: &CanonicalPath| path.to_str() == Some(text);
        let others = found.iter().filter(|(text, root)| !is_spelled_so(text, &root.path));
        others.map(|(text, root)| format!("{text} is {}", root.path)).collect()
    }
}

/// Returns the names of a place as it is spelled beneath each link that leads to it, and of links that
/// are the whole of it.
fn names_of(found: &path::Found, is_above: impl Fn(&CanonicalPath) -> bool) -> Vec<CanonicalPath> {
    let is_whole = |link: &&CanonicalPath| !found.spelled.iter().any(|it| it.is_within(link));
    let whole = found.links.iter().filter(is_whole);
    let mut names: Vec<CanonicalPath> = whole.chain(&found.spelled).cloned().collect();
    let is_below = |name: &CanonicalPath| {
        !found.links.iter().any(|link| is_above(link) && name.is_within(link))
    };
    names.retain(|name| is_below(name) && *name != found.path);
    names.sort();
    names.dedup();
    names
}

/// Finds the directory that a rule names as the sandbox, or as something in it.
fn beneath_sandbox(
    text: &str,
    rest: &str,
    sandbox: &CanonicalPath,
) -> Result<CanonicalPath, RootFault> {
    if rest.is_empty() {
        return Ok(sandbox.clone());
    }
    let Some(relative) = rest.strip_prefix('/') else {
        return Err(RootFault::BesideSandbox(text.to_owned()));
    };
    let found = path::walk(&RealDisk, sandbox.clone(), relative.as_ref(), Last::Follow)?;
    // SECURITY: the agent makes links in the sandbox, and would choose what the rule is about.
    match found.links.is_empty() && found.path.is_within(sandbox) {
        true => Ok(found.path),
        false => Err(RootFault::LeavesSandbox(text.to_owned())),
    }
}

impl Remembered {
    fn read(home: &Home) -> Result<Self, Fault> {
        let Some(bytes) = file::read(home.roots(), BYTES_MAX)? else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            Fault::config(format!("`{}` cannot be read", home.roots().display()))
                .with_source(error)
                .with_hint("run `ironcurtain policy confirm` after you removed the file")
        })
    }
}
