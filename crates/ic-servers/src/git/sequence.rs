//! What a rebase or cherry-pick under way has written down, checked before git goes on with it.
//!
//! SECURITY: among the steps of a rebase there can be `exec`, which runs a line of shell, and beside
//! them the name of a way to merge, which is the name of a program. The agent can write all of it.
//! What is written after this check is not seen here; while git runs nothing but git is run, where
//! the system can hold that.

use super::fault::Fault;
use super::repository::names;
use super::run::Run;

/// The steps that git writes down by itself when nobody edits, and that run nothing.
const STEPS: [&str; 20] = [
    "pick", "p", "drop", "d", "noop", "edit", "e", "fixup", "f", "squash", "s", "reword", "r",
    "label", "l", "reset", "t", "merge", "m", "revert",
];
/// The ways to merge that are part of git itself.
///
/// SECURITY: not `subtree`, which puts files at other places than where they are in any commit.
const STRATEGIES: [&str; 4] = ["ort", "recursive", "ours", "recursive-ours"];
/// Files with steps.
const TODOS: [&str; 3] =
    ["rebase-merge/git-rebase-todo", "rebase-merge/git-rebase-todo.backup", "sequencer/todo"];
/// What only somebody else writes there.
const NEVER: [&str; 5] = [
    "rebase-merge/gpg_sign_opt",
    "rebase-merge/strategy_opts",
    "rebase-merge/autostash",
    "sequencer/opts",
    "rebase-apply/rebasing",
];

/// Checks what is under way.
pub(super) fn check(run: &Run<'_>) -> Result<(), Fault> {
    let repository = run.repository;
    let refused = |reason: String| Fault::Refused { path: repository.top.clone(), reason };
    if repository.look("rebase-apply")?.is_some() {
        let reason = "`.git/rebase-apply` is of another way to rebase; the user can continue it";
        return Err(refused(reason.to_owned()));
    }
    for directory in ["rebase-merge", "sequencer"] {
        for name in names(repository, directory)? {
            let name = format!("{directory}/{name}");
            let is_opts = name == "sequencer/opts";
            if NEVER.contains(&name.as_str())
                && !(is_opts && is_harmless(repository.read(&name)?.as_deref()))
            {
                return Err(refused(format!("`.git/{name}` can run a program")));
            }
        }
    }
    for name in TODOS {
        let text = repository.read(name)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if let Some(step) = text.lines().find_map(odd_step) {
            let step = step.escape_debug().to_string();
            return Err(refused(format!("`.git/{name}` has the step `{step}`")));
        }
    }
    if let Some(strategy) = repository.read("rebase-merge/strategy")? {
        let strategy = String::from_utf8_lossy(&strategy);
        if !STRATEGIES.contains(&strategy.trim()) {
            return Err(refused(
                "`.git/rebase-merge/strategy` is not one that we go on with".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Returns the step of a line if it is none that we know.
fn odd_step(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let step = line.split([' ', '\t']).next().unwrap_or_default();
    (!line.is_empty() && !line.starts_with('#') && !STEPS.contains(&step)).then_some(step)
}

/// Returns whether the options of a cherry-pick name no program.
fn is_harmless(text: Option<&[u8]>) -> bool {
    let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
    let Ok(settings) = ic_resolve::git::config::parse(&text) else { return false };
    settings.iter().all(|setting| match setting.key.as_str() {
        "strategy" => STRATEGIES.contains(&setting.value.as_str()),
        "gpg-sign" | "strategy-option" | "edit" => false,
        _ => setting.section == "options",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_that_run_nothing_are_taken() {
        for line in ["", "# exec x", "pick 1 a", "p 1", "  drop 1", "merge -C 1 x # y", "noop"] {
            assert_eq!(odd_step(line), None, "{line}");
        }
        for line in
            ["exec touch x", "x touch x", "\texec\tx", "break", "update-ref refs/x", "EXEC x"]
        {
            assert!(odd_step(line).is_some(), "{line}");
        }
    }
}
