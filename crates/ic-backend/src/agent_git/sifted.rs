//! The part of the user's objects that an agent's git has where the policy hides something in the tree.
//!
//! ```text
//! session/agent-git/sifted/   config, patterns, index: ours; objects/info/alternates ─▶ <top>/.git/objects
//!                             visible/  what no hidden place ever had, packed; the agent's git borrows from it
//!                             made      what it was made of, and what came of it
//! ```
//!
//! A script sifts in a cage in which nothing of the agent runs. What is left out has a stand-in under its number
//! (`refs/replace`), so that the agent's git goes on; its files are marked as not checked out. Names and numbers of
//! hidden files are no secret here, since trees hold them.
//!
//! SECURITY: a blob is left out unless an open place has it as well. That a commit of the agent's puts one at an
//! open place is what our git server asks about (`ic-servers`, `closed.rs`), before it is in the user's repository.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ic_confine::{Access, Placed, Seen};
use ic_home::{FileError, file};
use ic_resolve::{Disk as _, RealDisk};
use ic_types::{CanonicalPath, Digest};

use super::{AgentGit, GitState};

/// The longest answer of the script.
pub(crate) const SIFTED_BYTES_MAX: u64 = 64 << 20;
/// How many hidden contents get a stand-in.
const HIDDEN_MAX: usize = 200_000;

/// Sifts the user's objects. Its arguments are the top of the tree, the directory of ours, and the hidden places
/// as git takes paths; it reads the numbers of what the agent may start from.
pub const SIFT: &str = r#"
cd "$1" || exit 3
ours=$2; top=$1; shift 2
export GIT_DIR="$ours" GIT_WORK_TREE="$top" GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 LC_ALL=C
cat > /tmp/wants
sed 's/$/^{commit}/' /tmp/wants | git cat-file --batch-check='%(objectname)' > /tmp/peeled || exit 4
paste -d' ' /tmp/wants /tmp/peeled | grep -v ' missing$' | cut -d' ' -f1 | sort -u > /tmp/tips
sieve=$(git hash-object -w --stdin < "$ours/patterns") || exit 5
instead=$(echo 'hidden by the policy of IronCurtain' | git hash-object -w --stdin) || exit 5
: > /tmp/all
if test -s /tmp/tips; then
  git rev-list --objects --filter="sparse:oid=$sieve" --filter-print-omitted --stdin < /tmp/tips > /tmp/all || exit 6
fi
git ls-files --stage | sort > /tmp/staged || exit 7
: > /tmp/closed
if test $# -gt 0; then git ls-files --stage -- "$@" | sort > /tmp/closed || exit 7; fi
ids() { grep -v '^160000' | cut -d' ' -f2 | sort -u; }
comm -23 /tmp/staged /tmp/closed | ids > /tmp/open
{ grep -v '^~' /tmp/all; cat /tmp/open; echo "$instead"; } > /tmp/visible
rm -rf "$ours/new"; mkdir -p "$ours/new/pack" "$ours/new/info" || exit 8
git pack-objects --delta-base-offset --quiet "$ours/new/pack/pack" < /tmp/visible > /dev/null || exit 9
rm -rf "$ours/visible"; mv "$ours/new" "$ours/visible" || exit 10
echo "instead $instead"
sed 's/^/tip /' /tmp/tips
cut -d' ' -f1 /tmp/visible | sort -u > /tmp/seen
{ sed -n 's/^~//p' /tmp/all; ids < /tmp/closed; } | sort -u | comm -23 - /tmp/seen | sed 's/^/hidden /'
"#;

/// What an agent's git has of the user's objects, and what not.
#[derive(Clone, Debug)]
pub struct Sieve {
    top: CanonicalPath,
    directory: PathBuf,
    /// The hidden places, from the top of the tree.
    places: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Sifted {
    /// What stands in for each hidden content.
    instead: String,
    /// Commits, and tags of commits.
    tips: BTreeSet<String>,
    hidden: BTreeSet<String>,
}

impl Sieve {
    /// Returns the directory that the script writes.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns what the cage of the script shows besides.
    pub(crate) fn seen(&self) -> [Seen; 2] {
        let seen = |path: PathBuf, access| Seen { path, access };
        let git = self.top.as_path().join(".git");
        [seen(git, Access::Read), seen(self.directory.clone(), Access::Write)]
    }

    /// Returns the hidden places as git takes paths.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.places.iter().map(|place| format!(":(top,literal){place}"))
    }

    /// Returns what git checks out, as it reads that: everything but what is hidden, and `kept`.
    pub fn patterns(&self, kept: &[PathBuf]) -> String {
        let mut text = "/*\n".to_owned();
        let kept =
            kept.iter().filter_map(|path| path.strip_prefix(self.top.as_path()).ok()?.to_str());
        for place in self.places.iter().map(String::as_str).chain(kept) {
            text.push_str("!/");
            for character in place.chars() {
                if r"\*?[!# ".contains(character) {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('\n');
        }
        text
    }

    fn digest(&self, now: &GitState, base: Option<&GitState>) -> String {
        let listed = base.map(GitState::listed).unwrap_or_default();
        let index = now.index.as_deref().unwrap_or_default();
        let (patterns, refs) = (self.patterns(&[]), now.listed());
        let parts =
            [patterns.as_bytes(), now.head.as_bytes(), refs.as_bytes(), listed.as_bytes(), index];
        Digest::of_parts(parts).to_string()
    }

    /// Returns what came of it the last time, if that was made of the same.
    pub fn last(&self, now: &GitState, base: Option<&GitState>) -> Option<Sifted> {
        let text = file::read_own(self.directory.join("made"), SIFTED_BYTES_MAX).ok().flatten()?;
        let text = String::from_utf8(text).ok()?;
        let (digest, said) = text.split_once('\n')?;
        (digest == self.digest(now, base)).then(|| Sifted::read(said).ok()).flatten()
    }

    /// Makes the directory ready for the script, and returns what that reads.
    pub fn prepare(
        &self,
        git: &AgentGit,
        now: &GitState,
        base: Option<&GitState>,
    ) -> Result<String, FileError> {
        file::create_dir(&git.directory)?;
        file::create_dir(&self.directory)?;
        for name in ["objects", "objects/info", "objects/pack", "refs"] {
            file::create_dir(self.directory.join(name))?;
        }
        let objects = self.top.as_path().join(".git/objects");
        let alternates = format!("{}\n", objects.display());
        let patterns = self.patterns(&[]);
        let shallow = git.shallow();
        let files: [(&str, &[u8]); 6] = [
            ("HEAD", b"ref: refs/heads/none\n"),
            ("config", git.settings.as_bytes()),
            ("objects/info/alternates", alternates.as_bytes()),
            ("patterns", patterns.as_bytes()),
            ("index", now.index.as_deref().unwrap_or_default()),
            ("shallow", &shallow),
        ];
        for (name, bytes) in files {
            match (name, bytes) {
                ("index" | "shallow", []) => file::remove(self.directory.join(name))?,
                _ => file::replace(self.directory.join(name), bytes)?,
            }
        }
        file::remove(self.directory.join("made"))?;
        let all = [Some(now), base];
        let ids: BTreeSet<&str> = all.into_iter().flatten().flat_map(GitState::ids).collect();
        Ok(ids.into_iter().fold(String::new(), |text, id| text + id + "\n"))
    }

    /// Notes what came of it.
    pub fn made(
        &self,
        said: &str,
        now: &GitState,
        base: Option<&GitState>,
    ) -> Result<(), FileError> {
        let text = format!("{}\n{said}", self.digest(now, base));
        file::replace(self.directory.join("made"), text.as_bytes())
    }
}

impl Sifted {
    /// Reads what the script wrote.
    pub fn read(said: &str) -> Result<Self, &'static str> {
        let mut sifted = Self::default();
        let is_number =
            |id: &str| [40, 64].contains(&id.len()) && id.bytes().all(|it| it.is_ascii_hexdigit());
        for line in said.lines() {
            let (word, id) = line.split_once(' ').ok_or("a line of it is odd")?;
            let id = Some(id).filter(|id| is_number(id)).ok_or("a number of it is odd")?.to_owned();
            match word {
                "instead" => sifted.instead = id,
                "tip" => drop(sifted.tips.insert(id)),
                "hidden" => drop(sifted.hidden.insert(id)),
                _ => return Err("a line of it is odd"),
            }
        }
        match () {
            () if sifted.instead.is_empty() => Err("it ends too early"),
            () if HIDDEN_MAX < sifted.hidden.len() => Err("too many contents are hidden"),
            () => Ok(sifted),
        }
    }

    /// Returns the number of what stands in for hidden contents, and theirs.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (String, &str)> {
        self.hidden.iter().map(|id| (format!("refs/replace/{id}"), self.instead.as_str()))
    }
}

impl GitState {
    /// Returns the numbers that it leads to.
    fn ids(&self) -> impl Iterator<Item = &str> {
        let head = (!self.head.starts_with("refs/")).then_some(self.head.as_str());
        self.refs.values().map(String::as_str).chain(head.filter(|it| !it.is_empty()))
    }
}

impl AgentGit {
    /// Returns the sieve for hidden places in the tree; none if git cannot be told of one of them.
    pub fn sieve(&self, hidden: &[CanonicalPath]) -> Option<Sieve> {
        let place = |path: &CanonicalPath| {
            let place = path.as_path().strip_prefix(self.top.as_path()).ok()?.to_str()?;
            Some(place.to_owned()).filter(|it| !it.is_empty() && !it.contains(char::is_control))
        };
        let places = hidden.iter().map(place).collect::<Option<Vec<_>>>()?;
        Some(Sieve { top: self.top.clone(), directory: self.directory.join("sifted"), places })
    }

    /// Returns whether the user's objects were sifted in this session before.
    pub fn was_sifted(&self) -> bool {
        matches!(RealDisk.look(&self.directory.join("sifted")), Ok(Some(_)))
    }

    /// Lets the agent's git have what is left of the user's objects; `now` is what it was made of.
    pub fn sift(&mut self, sieve: &Sieve, sifted: Sifted, (now, kept): (&GitState, &[PathBuf])) {
        let patterns = sieve.patterns(kept);
        let dropped = now.refs.values().filter(|id| !sifted.tips.contains(*id)).cloned().collect();
        let objects = sieve.directory.join("visible");
        self.visible = Some(Visible { objects, sifted, patterns, dropped });
    }

    /// Returns whether it has a part of the user's objects only, without what is hidden.
    pub(crate) fn is_sifted(&self) -> bool {
        self.visible.is_some()
    }

    /// Returns what git checks out, if that is not everything.
    pub fn patterns(&self) -> Option<&str> {
        self.visible.as_ref().map(|it| it.patterns.as_str())
    }
}

/// What an agent's git has instead of the user's objects.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    objects: PathBuf,
    pub(super) sifted: Sifted,
    patterns: String,
    /// Numbers of refs that lead to what was left out.
    dropped: BTreeSet<String>,
}

impl Visible {
    pub(super) fn placed(&self, at: PathBuf) -> Placed {
        Placed { from: self.objects.clone(), at, access: Access::Read }
    }

    /// Leaves out refs to what was left out.
    pub(super) fn limit(&self, state: &mut GitState) {
        state.refs.retain(|_, id| !self.dropped.contains(id));
    }

    /// Adds to the settings of the agent's git what goes with objects that are not there.
    pub(super) fn settings(settings: &str) -> String {
        let mut text =
            settings.replacen("repositoryformatversion = 0", "repositoryformatversion = 1", 1);
        let _ = write!(
            text,
            "[core]\n\tsparseCheckout = true\n[extensions]\n\tpartialClone = hidden\n\
             [remote \"hidden\"]\n\turl = /nonexistent/hidden\n\tpromisor = true\n"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(places: &[&str]) -> Sieve {
        let places = places.iter().map(|&it| it.to_owned()).collect();
        Sieve { top: CanonicalPath::new("/w").unwrap(), directory: "/s".into(), places }
    }

    #[test]
    fn names_are_no_patterns() {
        let sieve = sieve(&["a*b", "!c/[d]", "e \\"]);
        let patterns = sieve.patterns(&["/w/.envrc".into(), "/elsewhere".into()]);
        assert_eq!(patterns, "/*\n!/a\\*b\n!/\\!c/\\[d]\n!/e\\ \\\\\n!/.envrc\n");
        let words: Vec<String> = sieve.words().collect();
        assert_eq!(words[0], ":(top,literal)a*b");
    }

    #[test]
    fn only_what_the_script_says_is_read() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let sifted = Sifted::read(&format!("instead {a}\ntip {b}\nhidden {b}\n")).unwrap();
        assert_eq!(
            sifted.replaced().collect::<Vec<_>>(),
            [(format!("refs/replace/{b}"), a.as_str())]
        );
        let bad = ["", "tip", "instead x", "instead ../x"].map(ToOwned::to_owned);
        for said in bad.into_iter().chain([format!("tip {a}\n"), format!("instead {a}\nother {a}")])
        {
            assert!(Sifted::read(&said).is_err(), "{said}");
        }
    }
}
