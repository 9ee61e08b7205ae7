//! The names of what the host executes, written down once more, by hand.
//!
//! A second list on purpose: a name that falls out of the product's list is noticed here. Git's own files
//! are not in it; for those the user's git is asked.

/// Names that count wherever they are.
const NAMES: [&str; 34] = [
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".envrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    ".overcommit.yml",
    ".aider.conf.yml",
    ".mcp.json",
    ".npmrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".tool-versions",
    ".nvim.lua",
    ".exrc",
    ".pylintrc",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".husky",
    ".claude",
    ".cursor",
    ".codex",
    ".opencode",
    ".gemini",
    ".windsurf",
    ".kiro",
    ".roo",
    ".mise",
];

/// Pairs that count wherever they are.
const PAIRS: [(&str, &str); 3] = [(".cargo", "config"), (".cargo", "config.toml"), (".hg", "hgrc")];

/// Names that count at the top of a repository.
const CI_NAMES: [&str; 6] = [
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Beneath these only git's own files count.
const DEPENDENCIES: [&str; 5] = ["node_modules", "site-packages", ".venv", "vendor", "target"];

/// Returns whether the host executes what is at `path`, in a workspace with repositories at `tops`.
///
/// Both are relative to the workspace, with `""` for the workspace itself.
pub fn is_listed(path: &str, tops: &[String]) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        if DEPENDENCIES.contains(part) {
            return false;
        }
        let next = parts.get(at + 1).copied().unwrap_or_default();
        if NAMES.contains(part) || PAIRS.contains(&(part, next)) {
            return true;
        }
        let above = parts.get(..at).unwrap_or_default().join("/");
        let is_ci = CI_NAMES.contains(part)
            || (*part == ".github" && ["workflows", "actions"].contains(&next));
        if is_ci && tops.contains(&above) {
            return true;
        }
    }
    false
}

/// Returns whether a part of `path` is git's own directory or pointer.
pub fn is_gits_own(path: &str) -> bool {
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_at_any_depth_and_ci_at_the_top_of_a_repository() {
        let tops = [String::new(), "sub".to_owned()];
        for path in [
            ".envrc",
            "a/b/.envrc",
            "a/.vscode/tasks.json",
            ".cargo/config",
            ".github/workflows/ci.yml",
            "sub/.github/workflows/ci.yml",
            "sub/Jenkinsfile",
        ] {
            assert!(is_listed(path, &tops), "{path}");
        }
        for path in [
            "envrc",
            "a/.github/workflows/ci.yml",
            "docs/Jenkinsfile",
            "node_modules/x/.npmrc",
            "vendor/y/.gitattributes",
            ".github/README.md",
            ".cargo/x",
        ] {
            assert!(!is_listed(path, &tops), "{path}");
        }
        assert!(
            is_gits_own("a/.git/config") && is_gits_own(".git") && !is_gits_own("a/.gitignore")
        );
    }
}
