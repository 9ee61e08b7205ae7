//! What the agent's own git has that is new, as a program in its cage lists and packs it.
//!
//! SECURITY: the agent can make it say anything. It is read strictly, and our git server checks all of it.

use std::collections::BTreeMap;

use ic_servers::git::PACK_BYTES_MAX;

/// The shell script that lists and packs it; its first argument is the top of the tree, and it reads what the
/// user has, as words for `git rev-list`.
pub const COLLECT: &str = r#"
cd "$1" || exit 3
export GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1
g="git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false"
$g rev-parse --git-dir > /dev/null || exit 4
there() { $g cat-file --batch-check='%(objectname)' | grep -v ' missing$'; }
# What is hidden from this git is not there, and nothing new leads to it.
tr -d '^' | there | sed 's/^/^/' > /tmp/known
head=$($g symbolic-ref -q HEAD || $g rev-parse --verify -q HEAD) || exit 5
printf 'head %s\n' "$head"
for it in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_START; do
  if test -e ".git/$it"; then echo 'under way'; break; fi
done
$g for-each-ref --format='ref %(objectname) %(refname)' refs/heads refs/tags || exit 6
$g ls-files --stage -z > /tmp/index || exit 7
if $g rev-parse --verify -q HEAD > /dev/null; then
  $g diff-index --cached --quiet HEAD || echo 'staged'
else
  test -s /tmp/index && echo 'staged'
fi
{ $g for-each-ref --format='%(objectname)' refs/heads refs/tags
  $g rev-parse --verify -q HEAD
  $g ls-files --stage | grep -v '^160000' | cut -d' ' -f2 | sort -u | there
  cat /tmp/known
} | $g pack-objects --revs --local --missing=allow-any --stdout --quiet > /tmp/pack || exit 8
printf 'index %d\n' "$(wc -c < /tmp/index)"
cat /tmp/index
printf 'pack %d\n' "$(wc -c < /tmp/pack)"
cat /tmp/pack
"#;

/// How many refs are taken over.
const REFS_MAX: usize = 2000;
/// The longest list of files.
const INDEX_BYTES_MAX: usize = 32 << 20;
/// Where a pack says how many objects it has.
const N_OBJECTS: std::ops::Range<usize> = 8..12;

/// What the agent's own git has.
#[derive(Debug, Default)]
pub struct Collected {
    /// The full name of a branch, or a number.
    pub(super) head: String,
    /// Whether a rebase, a merge or the like is under way.
    pub(super) is_under_way: bool,
    /// Branches and tags.
    pub(super) refs: BTreeMap<String, String>,
    /// Whether the index has something else than HEAD.
    pub(super) has_staged: bool,
    /// What the index has, as git lists it; none if that is not text.
    pub(super) index: Option<String>,
    pub(super) pack: Vec<u8>,
}

impl Collected {
    /// The most that is read of it.
    pub const BYTES_MAX: usize = PACK_BYTES_MAX + INDEX_BYTES_MAX + (1 << 20);

    /// Returns whether a rebase, a merge or the like is under way.
    pub fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Reads what the script wrote; says what is wrong with it.
    pub fn read(mut output: &[u8]) -> Result<Self, &'static str> {
        let mut collected = Self::default();
        loop {
            let end = output.iter().position(|byte| *byte == b'\n').ok_or("it ends too early")?;
            let (line, rest) = output.split_at_checked(end).ok_or("it ends too early")?;
            output = rest.get(1..).unwrap_or_default();
            let line = std::str::from_utf8(line).map_err(|_| "a line of it is not text")?;
            let mut take = |n_bytes: &str, bytes_max: usize| {
                let n_bytes: usize = n_bytes.parse().map_err(|_| "a length of it is odd")?;
                if bytes_max < n_bytes {
                    return Err("it is too large");
                }
                let (part, rest) = output.split_at_checked(n_bytes).ok_or("it ends too early")?;
                output = rest;
                Ok(part)
            };
            match line.split_once(' ') {
                Some(("head", head)) => head.clone_into(&mut collected.head),
                Some(("under", "way")) => collected.is_under_way = true,
                Some(("ref", it)) => {
                    let (id, name) = it.split_once(' ').ok_or("a ref of it is odd")?;
                    if REFS_MAX <= collected.refs.len() {
                        return Err("it has too many branches and tags");
                    }
                    collected.refs.insert(name.to_owned(), id.to_owned());
                }
                Some(("index", n_bytes)) => {
                    let listed = take(n_bytes, INDEX_BYTES_MAX)?.to_vec();
                    collected.index = String::from_utf8(listed).ok();
                    let listed = collected.index.iter().flat_map(|it| it.split('\0'));
                    let mut abouts = listed.filter_map(|line| line.split_once('\t'));
                    // A number that tells the sides of a conflict apart.
                    collected.is_under_way |= abouts.any(|(about, _)| !about.ends_with(" 0"));
                }
                Some(("pack", n_bytes)) => {
                    let pack = take(n_bytes, PACK_BYTES_MAX)?;
                    if pack.get(N_OBJECTS).is_some_and(|it| it != [0; 4]) {
                        collected.pack = pack.to_vec();
                    }
                    return Ok(collected);
                }
                None if line == "staged" => collected.has_staged = true,
                _ => return Err("a line of it is odd"),
            }
        }
    }
}
