//! The git directory that an agent's own git works in: one of the session's own, shown in the place of `.git`.
//!
//! ```text
//! session/agent-git/   git/      config, HEAD, index, refs: the agent's; objects/info/alternates ─▶ user-objects
//!                      base      what HEAD and the refs of the user were when both sides last agreed
//!                      index     the user's index then
//! cage                 <top>/.git               ◀─ git/            written
//!                      <top>/.git/user-objects  ◀─ <top>/.git/objects, read-only
//! ```
//!
//! SECURITY: the host runs no git in that directory and follows nothing that is in it: what is new is listed and
//! packed in the cage (`agent_git/collected.rs`), and taken over by our git server. The host writes there while
//! nothing of the agent runs, files at its top alone, by renaming.

mod collected;
mod sifted;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ic_confine::{Access, Placed};
use ic_home::{FileError, file};
use ic_judge::Judge;
use ic_resolve::git::{CONFIG_BYTES_MAX, Repository, config};
use ic_resolve::{Disk, Kind, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath, Object};

pub use collected::{COLLECT, Collected};
pub use sifted::{SIFT, Sieve, Sifted};

use sifted::Visible;

/// The longest index that is handed out.
const INDEX_BYTES_MAX: usize = 16 << 20;
/// Where the user's objects are, in the agent's git directory.
const USER_OBJECTS: &str = "user-objects";
const DIRECTORIES: [&str; 8] = [
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/tags",
    "info",
    USER_OBJECTS,
];
/// Settings that say how files are kept, and nothing else.
const SETTINGS: [(&str, &str); 9] = [
    ("core", "autocrlf"),
    ("core", "eol"),
    ("core", "filemode"),
    ("core", "ignorecase"),
    ("core", "precomposeunicode"),
    ("core", "symlinks"),
    ("extensions", "objectformat"),
    ("user", "email"),
    ("user", "name"),
];
/// Files of the user's home that say who they are.
const OF_USER: [&str; 2] = [".config/git/config", ".gitconfig"];

/// The repository of a workspace, and the agent's own git directory for it.
#[derive(Clone, Debug)]
pub struct AgentGit {
    top: CanonicalPath,
    directory: PathBuf,
    settings: String,
    /// What it has instead of the user's objects, where something in the tree is hidden.
    visible: Option<Visible>,
    /// Whose its files are to be, if not ours.
    owner: Option<(u32, u32)>,
}

/// How the repository of the user is, or was.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GitState {
    /// The full name of a branch, or a number.
    head: String,
    refs: BTreeMap<String, String>,
    index: Option<Vec<u8>>,
}

/// What the agent's git directory needs before a turn.
#[derive(Debug)]
pub struct Fresh {
    /// Lines for `git update-ref --stdin`, in the cage.
    pub updates: String,
    /// Whether the index was written.
    pub has_new_index: bool,
}

impl GitState {
    /// Returns what git need not pack, as words for `git rev-list`.
    pub fn known(&self) -> String {
        let ids: BTreeSet<&String> = self.refs.values().collect();
        let mut known = String::new();
        for id in ids {
            let _ = writeln!(known, "^{id}");
        }
        known
    }

    /// Returns its refs as git packs them.
    fn listed(&self) -> String {
        let mut listed = String::new();
        for (name, id) in &self.refs {
            let _ = writeln!(listed, "{id} {name}");
        }
        listed
    }

    /// Returns the names of its refs.
    pub fn names(&self) -> BTreeSet<String> {
        self.refs.keys().cloned().collect()
    }
}

impl AgentGit {
    /// Finds the repository of a session's workspace; none if it is not a plain one of the workspace itself.
    pub fn of(judge: &Judge, directory: &Path, disk: &dyn Disk) -> Option<Self> {
        let sandbox = judge.bounds.sandbox.as_ref();
        let top = &sandbox.filter(|it| it.kind.is_used_by_host())?.path;
        let git = disk.look(&top.as_path().join(".git")).ok().flatten()?;
        if git.kind != Kind::Directory {
            return None;
        }
        let repository = Repository::open(disk, top).ok()?;
        // SECURITY: objects that are elsewhere are not shown, and what is not plain is not believed.
        let odd = ["objects/info/alternates", "commondir", "config.worktree"];
        let is_odd = |name: &&str| !matches!(disk.look(&inside(top, name)), Ok(None));
        if odd.iter().any(is_odd) {
            return None;
        }
        let settings = settings(&repository, &judge.home, disk);
        let (top, directory) = (top.clone(), directory.to_owned());
        Some(Self { top, directory, settings, visible: None, owner: None })
    }

    /// Says why a workspace that belongs to a repository has no git directory of the session's own.
    pub fn why_not(judge: &Judge, disk: &dyn Disk) -> Option<String> {
        let sandbox = judge.bounds.sandbox.as_ref()?;
        let top = &sandbox.kind.is_used_by_host().then_some(sandbox)?.path;
        let git = |path: &CanonicalPath| {
            disk.look(&path.as_path().join(".git")).ok().flatten().map(|it| it.kind)
        };
        let Some(kind) = git(top) else {
            let above = top.ancestors().skip(1).find(|above| git(above).is_some())?;
            return Some(format!("the repository `{above}` lies above the workspace"));
        };
        let why = match kind {
            Kind::File => {
                "its repository is elsewhere, as that of a linked working tree or a submodule is"
            }
            Kind::Link => "its `.git` is a link",
            Kind::Directory | Kind::Other => {
                "its repository has objects elsewhere, or a configuration that is not plain"
            }
        };
        Some(why.to_owned())
    }

    /// Returns the same, with files that belong to somebody else.
    #[must_use]
    pub fn owned_by(self, owner: Option<(u32, u32)>) -> Self {
        Self { owner, ..self }
    }

    /// Gives a file at the top of the agent's git directory, or one that was just made, to whom it belongs to.
    fn give(&self, name: &str) -> Result<(), FileError> {
        match self.owner {
            // SECURITY: nothing of the agent's is followed: further down only before it ran for the first time.
            Some(owner) => file::give(self.shadow().join(name), owner),
            None => Ok(()),
        }
    }

    /// Returns the directory that holds `.git`.
    pub fn top(&self) -> &CanonicalPath {
        &self.top
    }

    /// Returns whether there is a git directory of the session already.
    pub fn is_made(&self) -> bool {
        matches!(RealDisk.look(&self.base_file()), Ok(Some(_)))
    }

    /// Returns what stands in the place of the user's `.git`.
    pub fn placed(&self) -> Vec<Placed> {
        let at = self.top.as_path().join(".git");
        let borrowed = at.join(USER_OBJECTS);
        let objects = match &self.visible {
            Some(visible) => visible.placed(borrowed),
            None => Placed { from: at.join("objects"), at: borrowed, access: Access::Read },
        };
        vec![Placed { from: self.shadow(), at, access: Access::Write }, objects]
    }

    /// Returns where the history of a shallow clone ends.
    fn shallow(&self) -> Vec<u8> {
        let read = RealDisk.read_file(&inside(&self.top, "shallow"), CONFIG_BYTES_MAX);
        read.ok().flatten().unwrap_or_default()
    }

    fn shadow(&self) -> PathBuf {
        self.directory.join("git")
    }

    fn base_file(&self) -> PathBuf {
        self.directory.join("base")
    }

    /// Looks at the repository of the user.
    pub fn look(&self) -> Result<GitState, String> {
        let repository =
            Repository::open(&RealDisk, &self.top).map_err(|error| error.to_string())?;
        let read = |name: &str, bytes_max| RealDisk.read_file(&inside(&self.top, name), bytes_max);
        let head = read("HEAD", 4096).map_err(|error| error.to_string())?.unwrap_or_default();
        let head = String::from_utf8_lossy(&head).trim_end().to_owned();
        let head = head.strip_prefix("ref: ").map_or(head.clone(), ToOwned::to_owned);
        let index = match RealDisk.look(&inside(&self.top, "index")) {
            Ok(None) => None,
            _ => Some(
                read("index", INDEX_BYTES_MAX)
                    .ok()
                    .flatten()
                    .ok_or("its index is too large, or cannot be read")?,
            ),
        };
        let mut state = GitState { head, refs: repository.refs(&RealDisk)?, index };
        if let Some(visible) = &self.visible {
            visible.limit(&mut state);
        }
        Ok(state)
    }

    /// Makes the git directory, or brings it up to date with what the user did since both sides agreed; nothing
    /// of the agent may run.
    ///
    /// If a rebase or merge of the agent's is under way, HEAD and the index stay as they are.
    pub fn refresh(&self, now: &GitState, is_under_way: bool) -> Result<Fresh, FileError> {
        let shadow = self.shadow();
        let Some(base) = self.base() else {
            self.make(now)?;
            self.agree(now)?;
            return Ok(Fresh { updates: String::new(), has_new_index: true });
        };
        let mut updates = self.stand_ins()?;
        for (name, id) in &now.refs {
            if base.refs.get(name) != Some(id) {
                let _ = writeln!(updates, "update {name} {id}");
            }
        }
        for name in base.refs.keys().filter(|name| !now.refs.contains_key(*name)) {
            let _ = writeln!(updates, "delete {name}");
        }
        if base.head != now.head && !is_under_way {
            file::replace(shadow.join("HEAD"), head_text(&now.head).as_bytes())?;
            self.give("HEAD")?;
        }
        let has_new_index = base.index != now.index && !is_under_way;
        if has_new_index {
            file::replace(shadow.join("index"), now.index.as_deref().unwrap_or_default())?;
            self.give("index")?;
        }
        self.agree(now)?;
        Ok(Fresh { updates, has_new_index })
    }

    /// Notes that both sides agree on this.
    pub fn agree(&self, now: &GitState) -> Result<(), FileError> {
        let text = format!("{}\n{}", now.head, now.listed());
        match &now.index {
            Some(index) => file::replace(self.directory.join("index"), index)?,
            None => file::remove(self.directory.join("index"))?,
        }
        file::replace(self.base_file(), text.as_bytes())
    }

    /// Returns what both sides agreed on last.
    pub fn base(&self) -> Option<GitState> {
        let text = file::read_own(self.base_file(), 64 << 20).ok().flatten()?;
        let text = String::from_utf8(text).ok()?;
        let (head, refs) = text.split_once('\n')?;
        let refs = refs.lines().filter_map(|line| line.split_once(' '));
        let refs = refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect();
        let index = file::read_own(self.directory.join("index"), INDEX_BYTES_MAX as u64);
        Some(GitState { head: head.to_owned(), refs, index: index.ok().flatten() })
    }

    fn make(&self, now: &GitState) -> Result<(), FileError> {
        let shadow = self.shadow();
        file::create_dir(&self.directory)?;
        file::create_dir(&shadow)?;
        for name in DIRECTORIES {
            file::create_dir(shadow.join(name))?;
            self.give(name)?;
        }
        let mut refs = now.listed();
        for line in self.stand_ins()?.lines() {
            if let Some((name, id)) = line.strip_prefix("update ").and_then(|it| it.split_once(' '))
            {
                let _ = writeln!(refs, "{id} {name}");
            }
        }
        let settings = match self.visible {
            Some(_) => Visible::settings(&self.settings),
            None => self.settings.clone(),
        };
        let exclude = RealDisk.read_file(&inside(&self.top, "info/exclude"), CONFIG_BYTES_MAX);
        let exclude = exclude.ok().flatten().unwrap_or_default();
        // Taken from `objects`.
        let alternates = format!("../{USER_OBJECTS}\n");
        let mut files: Vec<(&str, &[u8])> = vec![
            ("config", settings.as_bytes()),
            ("packed-refs", refs.as_bytes()),
            ("objects/info/alternates", alternates.as_bytes()),
            ("info/exclude", &exclude),
        ];
        let head = head_text(&now.head);
        files.push(("HEAD", head.as_bytes()));
        files.extend(now.index.as_deref().map(|index| ("index", index)));
        let shallow = self.shallow();
        files.extend((!shallow.is_empty()).then_some(("shallow", shallow.as_slice())));
        for (name, bytes) in files {
            file::replace(shadow.join(name), bytes)?;
            self.give(name)?;
        }
        self.give("")
    }

    /// Returns lines for `git update-ref` that let something stand in for what is hidden, as far as nothing does.
    fn stand_ins(&self) -> Result<String, FileError> {
        let Some(visible) = &self.visible else { return Ok(String::new()) };
        let (path, mut updates) = (self.directory.join("stand-ins"), String::new());
        let known = file::read_own(&path, sifted::SIFTED_BYTES_MAX)?.unwrap_or_default();
        let mut known = String::from_utf8(known).unwrap_or_default();
        let before: BTreeSet<String> = known.lines().map(ToOwned::to_owned).collect();
        for (name, instead) in visible.sifted.replaced() {
            if !before.contains(&name) {
                let _ = writeln!(updates, "update {name} {instead}");
                known.extend([name.as_str(), "\n"]);
            }
        }
        file::replace(path, known.as_bytes())?;
        Ok(updates)
    }

    /// Returns the call by which the user's repository gets what the agent did with its own git: its arguments,
    /// and what goes along; nothing if there is nothing new.
    ///
    /// Refs that the user had and the agent removed stay, except for those in `ours`, which came from the agent.
    pub fn offer(
        &self,
        collected: &Collected,
        ours: &BTreeSet<String>,
    ) -> Option<(Object, Object)> {
        let base = self.base()?;
        let mut lines = Vec::new();
        let mut told = Vec::new();
        let short = |id: &str| id.get(..7).unwrap_or(id).to_owned();
        for (name, id) in &collected.refs {
            let old = base.refs.get(name);
            if old != Some(id) {
                lines.push(format!("{} {id} {name}", old.map_or("-", String::as_str)));
                let was = old.map_or_else(|| "new".to_owned(), |old| short(old));
                told.push(format!("{name} {was}..{}", short(id)));
            }
        }
        for (name, old) in &base.refs {
            if !collected.refs.contains_key(name) && ours.contains(name) {
                lines.push(format!("{old} - {name}"));
                told.push(format!("{name} removed"));
            }
        }
        let mut incoming = Object::new();
        if !lines.is_empty() {
            incoming.insert("refs", lines.join("\n"));
        }
        if !collected.is_under_way {
            if collected.head != base.head {
                told.push(format!("HEAD {}", collected.head));
            }
            incoming.insert("headBefore", base.head.as_str());
            incoming.insert("head", collected.head.as_str());
            if let Some(index) = &collected.index {
                incoming.insert("index", index.as_str());
                let before = base.index.unwrap_or_default();
                incoming.insert("indexBefore", BASE64.encode(before));
            }
        }
        if told.is_empty() && !collected.has_staged {
            return None;
        }
        incoming.insert("pack", BASE64.encode(&collected.pack));
        let what = match told.is_empty() {
            true => "what is staged".to_owned(),
            false => told.join(", "),
        };
        let mut arguments = Object::new();
        arguments.insert("path", self.top.to_string());
        arguments.insert("message", format!("Take over from the agent's own git: {what}"));
        Some((arguments, incoming))
    }
}

fn inside(top: &CanonicalPath, name: &str) -> PathBuf {
    top.as_path().join(".git").join(name)
}

fn head_text(head: &str) -> String {
    match head.starts_with("refs/") {
        true => format!("ref: {head}\n"),
        false => format!("{head}\n"),
    }
}

/// Returns the config of the agent's git: how files are kept, and who the user is.
fn settings(repository: &Repository, home: &AbsolutePath, disk: &dyn Disk) -> String {
    let mut known: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut note = |setting: &config::Setting| {
        let is_known =
            |it: &&(&str, &str)| **it == (setting.section.as_str(), setting.key.as_str());
        if let (Some(name), None) = (SETTINGS.iter().find(is_known), &setting.subsection) {
            known.insert(*name, setting.value.clone());
        }
    };
    for name in OF_USER {
        let text = disk.read_file(&home.as_path().join(name), CONFIG_BYTES_MAX).ok().flatten();
        let text = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
        for setting in config::parse(&text).unwrap_or_default() {
            // Their own home says who they are, and nothing about this repository.
            if setting.section == "user" {
                note(&setting);
            }
        }
    }
    repository.config().iter().for_each(note);
    let format = u8::from(known.contains_key(&("extensions", "objectformat")));
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {format}\n\tbare = false\n\tlogAllRefUpdates = true\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
    );
    for ((section, key), value) in known {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "[{section}]\n\t{key} = \"{value}\"");
    }
    text
}
