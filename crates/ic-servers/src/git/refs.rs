//! Refs on their way between a quarantine and a repository: read strictly, named by us, moved by number.
//!
//! What a remote calls its branches is text of a stranger. A name that is none to git, or looks like an
//! option, is left where it is.

use std::collections::BTreeMap;

use ic_resolve::git::config::Setting;

use super::fault::Fault;
use super::names::RefName;
use super::run::Run;

/// The most refs of a remote that are dealt with.
const REFS_MAX: usize = 20_000;

/// Branches and tags, with the numbers of what they point to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Refs {
    pub(super) branches: BTreeMap<String, String>,
    pub(super) tags: BTreeMap<String, String>,
    /// How many had names that are not used here.
    pub(super) n_odd: usize,
}

/// What is written for each ref.
pub(super) const FORMAT: &str = "--format=%(objectname) %(refname)";

impl Refs {
    /// Reads lines of a number and a name.
    pub(super) fn parse(lines: &str) -> Result<Self, Fault> {
        let mut refs = Self::default();
        for line in lines.lines().take(REFS_MAX) {
            let Some((id, name)) = line.split_once(' ') else { continue };
            if !is_number(id) {
                continue;
            }
            let (place, name) =
                match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
                    (Some(name), _) => (&mut refs.branches, name),
                    (None, Some(name)) => (&mut refs.tags, name),
                    (None, None) => continue,
                };
            match RefName::new(name) {
                Ok(_) => {
                    place.insert(name.to_owned(), id.to_owned());
                }
                Err(_) => refs.n_odd += 1,
            }
        }
        match REFS_MAX < lines.lines().count() {
            true => {
                Err(Fault::Not(format!("the remote has more than {REFS_MAX} branches and tags")))
            }
            false => Ok(refs),
        }
    }
}

pub(super) fn is_number(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Which branches of a remote are followed, and under which names: `src` to `dst`, each after
/// `refs/heads/` and `refs/remotes/<remote>/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Following(Vec<(String, String)>);

impl Following {
    /// Reads which branches of the remote `name` the config says are followed; all if it says nothing.
    pub(super) fn of(settings: &[Setting], name: &str) -> Self {
        let specs = settings.iter().filter(|it| {
            it.section == "remote" && it.subsection.as_deref() == Some(name) && it.key == "fetch"
        });
        let place = format!("refs/remotes/{name}/");
        let pairs = specs.filter_map(|it| {
            let spec = it.value.strip_prefix('+').unwrap_or(&it.value);
            let (src, dst) = spec.split_once(':')?;
            let (src, dst) = (src.strip_prefix("refs/heads/")?, dst.strip_prefix(&place)?);
            let is_side = |side: &str| match side.split_once('*') {
                Some((before, after)) => {
                    !after.contains('*') && RefName::new(&format!("{before}x{after}")).is_ok()
                }
                None => RefName::new(side).is_ok(),
            };
            let fits = is_side(src) && is_side(dst) && src.contains('*') == dst.contains('*');
            fits.then(|| (src.to_owned(), dst.to_owned()))
        });
        let pairs: Vec<_> = pairs.collect();
        match pairs.is_empty() {
            true => Self::all(),
            false => Self(pairs),
        }
    }

    /// Follows every branch under its own name.
    pub(super) fn all() -> Self {
        Self(vec![("*".to_owned(), "*".to_owned())])
    }

    /// Follows one branch under its own name.
    pub(super) fn one(branch: &RefName) -> Self {
        Self(vec![(branch.as_str().to_owned(), branch.as_str().to_owned())])
    }

    /// Returns what git is asked to bring into a quarantine.
    pub(super) fn refspecs(&self) -> Vec<String> {
        let spec = |(src, _): &(String, String)| format!("+refs/heads/{src}:refs/heads/{src}");
        self.0.iter().map(spec).collect()
    }

    /// Returns under which name a branch of the remote is known here, if it is.
    pub(super) fn name_of(&self, branch: &str) -> Option<String> {
        self.0.iter().find_map(|(src, dst)| {
            let name = match (src.split_once('*'), dst.split_once('*')) {
                (Some((before, after)), Some((dst_before, dst_after))) => {
                    let middle = branch.strip_prefix(before)?.strip_suffix(after)?;
                    format!("{dst_before}{middle}{dst_after}")
                }
                _ if src == branch => dst.clone(),
                _ => return None,
            };
            RefName::new(&name).is_ok().then_some(name)
        })
    }

    /// Returns whether every branch is followed, so that one that is not there is gone.
    pub(super) fn is_all(&self) -> bool {
        self.0.iter().any(|(src, dst)| src == "*" && dst == "*")
    }
}

/// Returns the refs of a repository in `places`, with their numbers.
pub(super) fn known(run: &Run<'_>, places: &[&str]) -> Result<BTreeMap<String, String>, Fault> {
    let mut words = vec!["for-each-ref", FORMAT];
    words.extend(places);
    let said = run.git(&words)?;
    if said.is_cut {
        return Err(Fault::Not("the repository has too many branches and tags".to_owned()));
    }
    let pairs = said.output.lines().filter_map(|line| {
        let (id, name) = line.split_once(' ')?;
        is_number(id).then(|| (name.to_owned(), id.to_owned()))
    });
    Ok(pairs.collect())
}

/// Carries out lines for `git update-ref --stdin`, all or none of them.
pub(super) fn update(run: &Run<'_>, lines: &[String], reason: &str) -> Result<(), Fault> {
    if lines.is_empty() {
        return Ok(());
    }
    let text = format!("{}\n", lines.join("\n"));
    run.git_with(&["update-ref", "--no-deref", "-m", reason, "--stdin"], text.as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_resolve::git::config::parse;

    #[test]
    fn names_that_are_none_stay_behind() {
        let id = "a".repeat(40);
        let names = [
            "refs/heads/main",
            "refs/heads/-x",
            "refs/heads/--upload-pack=touch",
            "refs/tags/v1",
            "refs/heads/a..b",
            "refs/notes/x",
        ];
        let lines: Vec<String> = names.iter().map(|name| format!("{id} {name}")).collect();
        let refs = Refs::parse(&format!("{}\nx refs/heads/y\n", lines.join("\n"))).unwrap();
        assert_eq!(refs.branches.keys().collect::<Vec<_>>(), ["main"]);
        assert_eq!(refs.tags.keys().collect::<Vec<_>>(), ["v1"]);
        assert_eq!(refs.n_odd, 3);
    }

    #[test]
    fn branches_are_followed_as_the_config_says_and_nowhere_else() {
        let following = |specs: &str| {
            let lines: Vec<String> = specs.lines().map(|it| format!("fetch = {it}")).collect();
            let config = format!("[remote \"o\"]\n{}\n", lines.join("\n"));
            Following::of(&parse(&config).unwrap(), "o")
        };
        for (specs, branch, expected) in [
            ("", "a/b", Some("a/b")),
            ("+refs/heads/*:refs/remotes/o/*", "a/b", Some("a/b")),
            ("refs/heads/main:refs/remotes/o/main", "main", Some("main")),
            ("refs/heads/main:refs/remotes/o/main", "dev", None),
            ("+refs/heads/r/*:refs/remotes/o/s/*", "r/1", Some("s/1")),
            // What would be written elsewhere is not followed, as if nothing had been said.
            ("+refs/heads/*:refs/heads/*", "main", Some("main")),
            ("+refs/heads/*:refs/remotes/other/*", "main", Some("main")),
            ("+refs/heads/*:refs/remotes/o/../../heads/*", "main", Some("main")),
        ] {
            assert_eq!(following(specs).name_of(branch).as_deref(), expected, "{specs} {branch}");
        }
        assert_eq!(following("").refspecs(), ["+refs/heads/*:refs/heads/*"]);
        assert!(following("").is_all());
        assert!(!following("refs/heads/main:refs/remotes/o/main").is_all());
    }
}
