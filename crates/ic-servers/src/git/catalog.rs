//! The tools of the git server as they are offered: names, descriptions, schemas.
//!
//! The schemas are those that the built-in policies annotate; a test compares them. Which function a
//! tool is, is said elsewhere.

use ic_types::{Json, JsonLimits, Object};

use crate::tools::{Effect, Tool, World};

/// The schemas of all tools, by name.
const SCHEMAS: &str = include_str!("schemas.json");

const JSON_LIMITS: JsonLimits =
    JsonLimits { bytes_max: 1 << 20, depth_max: 16, values_max: 1 << 14 };

/// What each tool is called, what it does, and to what.
const TOOLS: [(&str, &str, Effect, World); 28] = [
    (
        "git_add",
        "Stages files for the next commit. `files` are paths from the top of the repository, taken literally; [\".\"] is everything.",
        Effect::Ensures,
        World::Closed,
    ),
    (
        "git_blame",
        "Shows for each line of a file which commit changed it last, when, and whose it is.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_branch",
        "Lists branches, or makes, renames or deletes one. The branch that is checked out is not deleted.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_changelog_analyze",
        "Returns the tags and the latest commits, as material for a review of a change log. The review is yours.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_checkout",
        "Switches to a branch, a tag or a commit, makes a branch, or brings back single files (`paths`) as they were there.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_cherry_pick",
        "Applies commits to the current branch. Conflicts stay in the files; resolve them, add the files, and continue or abort.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_clean",
        "Deletes files that are not tracked. Needs `force`, or `dryRun` to see what would go.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_clear_working_dir",
        "Forgets the directory that was set with `git_set_working_dir`.",
        Effect::Ensures,
        World::Closed,
    ),
    (
        "git_clone",
        "Copies a repository of another machine, by https or ssh. Submodules, LFS and hooks are left out.",
        Effect::Changes,
        World::Open,
    ),
    (
        "git_commit",
        "Records what is staged, after staging `filesToStage`. Hooks do not run, and nothing is signed.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_diff",
        "Shows the differences between the working tree, what is staged, and commits, as a unified diff, as names or as numbers.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_fetch",
        "Brings commits from another machine into the branches of a remote (`origin/main`), and tags. Your own branches stay as they are.",
        Effect::Ensures,
        World::Open,
    ),
    (
        "git_init",
        "Makes an empty repository in a directory that has none. Nothing is copied from templates.",
        Effect::Ensures,
        World::Closed,
    ),
    (
        "git_log",
        "Shows commits, newest first: of a branch or a range, by author, text, date or file.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_merge",
        "Merges a branch into the current one. Conflicts stay in the files; resolve them, add the files and commit, or abort.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_pull",
        "Brings commits from another machine and merges them into the current branch, or rebases it on them.",
        Effect::Changes,
        World::Open,
    ),
    (
        "git_push",
        "Sends a branch to another machine. Needs `confirmed` to overwrite or delete there; `forceWithLease` overwrites only what you fetched.",
        Effect::Changes,
        World::Open,
    ),
    (
        "git_rebase",
        "Puts the commits of a branch on another base. After a conflict: continue, skip or abort. Not interactive.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_reflog",
        "Lists where a branch or HEAD pointed before, newest first.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_remote",
        "Lists the remotes of a repository, or adds, renames, removes one or sets its URL. Nothing is contacted.",
        Effect::Replaces,
        World::Closed,
    ),
    (
        "git_reset",
        "Moves the branch to a commit: soft keeps all, mixed unstages, hard discards changes. With `paths` only unstages these.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_set_working_dir",
        "Sets the repository for later calls that name no `path`; makes one there if that is wanted.",
        Effect::Ensures,
        World::Closed,
    ),
    (
        "git_show",
        "Shows a commit, tag, tree or file. For a file as it was at a commit give `object` and `filePath`.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_stash",
        "Puts changes aside and brings them back, lists what was put aside, or drops it.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_status",
        "Shows the branch, what is staged, what is changed and what is not tracked.",
        Effect::Reads,
        World::Closed,
    ),
    (
        "git_tag",
        "Lists tags, makes one (annotated if it has a message), or deletes one. Nothing is signed.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_worktree",
        "Lists the working trees of a repository, adds one (on `branch`, which is made from `commitish` if it is not there), moves or removes one, or forgets those that are gone. The other tools work in each of them.",
        Effect::Changes,
        World::Closed,
    ),
    (
        "git_wrapup_instructions",
        "Returns advice on how to finish a piece of work with git.",
        Effect::Reads,
        World::Closed,
    ),
];

/// Returns every tool.
pub fn tools() -> Vec<Tool> {
    let schemas = match Json::parse(SCHEMAS.as_bytes(), JSON_LIMITS) {
        Ok(Json::Object(schemas)) => schemas,
        // A test lists all of them.
        Ok(_) | Err(_) => Object::new(),
    };
    let tools = TOOLS.iter().filter_map(|(name, description, effect, world)| {
        let Some(Json::Object(schema)) = schemas.get(name) else { return None };
        let (effect, world, input_schema) = (*effect, *world, schema.clone());
        Some(Tool { name, description, input_schema, effect, world })
    });
    tools.collect()
}
