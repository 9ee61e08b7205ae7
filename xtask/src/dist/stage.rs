//! The files of a release, as they lie below the directory that it is installed into.

use std::path::{Path, PathBuf};

use super::build::Build;
use super::notices;

/// Puts all files into `directory`, and returns it.
pub(super) fn stage(build: &Build, directory: &Path) -> anyhow::Result<PathBuf> {
    let place = |path: &str| -> anyhow::Result<PathBuf> {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(path)
    };
    std::fs::copy(&build.program, place("bin/ironcurtain")?)?;
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/ironcurtain"),
        ("zsh", "share/zsh/site-functions/_ironcurtain"),
        ("fish", "share/fish/vendor_completions.d/ironcurtain.fish"),
    ] {
        std::fs::write(place(path)?, build.ask(&["completions", shell])?)?;
    }
    for words in commands(build)? {
        let name = ["ironcurtain".to_owned()].into_iter().chain(words.clone());
        let name = name.collect::<Vec<_>>().join("-");
        let asked: Vec<&str> =
            ["man"].into_iter().chain(words.iter().map(String::as_str)).collect();
        std::fs::write(place(&format!("share/man/man1/{name}.1"))?, build.ask(&asked)?)?;
    }
    for document in ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"] {
        let path = place(&format!("share/doc/ironcurtain/{document}"))?;
        std::fs::copy(build.top.join(document), path)?;
    }
    let strangers = notices::strangers(&build.top)?;
    let notices = notices::notices(&strangers)?;
    std::fs::write(place("share/doc/ironcurtain/THIRD-PARTY-NOTICES.txt")?, notices)?;
    let bill = notices::bill(build, &strangers)?;
    std::fs::write(place("share/doc/ironcurtain/ironcurtain.cdx.json")?, bill)?;
    Ok(directory.to_owned())
}

/// Returns every command that has help of its own, the program itself first.
fn commands(build: &Build) -> anyhow::Result<Vec<Vec<String>>> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let mut asked: Vec<&str> = words.iter().map(String::as_str).collect();
        asked.push("--help");
        let help = build.ask(&asked)?;
        for name in beneath(&help).filter(|name| *name != "help") {
            open.push([&words[..], &[name.to_owned()]].concat());
        }
        found.push(words);
    }
    found.sort();
    Ok(found)
}

/// Returns the names under a heading of commands.
fn beneath(help: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    help.lines().filter_map(move |line| {
        if !line.starts_with(' ') && !line.is_empty() {
            is_inside = line.ends_with("ommands:");
        }
        let name = line.strip_prefix("  ").filter(|it| !it.starts_with(' '))?;
        is_inside.then(|| name.split(&[' ', ',']).next())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_help() {
        let help = "Does things\n\nUsage: x [COMMAND]\n\nCommands:\n  one    First\n         more of it\n  two, t  Second\n\nOptions:\n  -h, --help  Print help\n";
        assert_eq!(beneath(help).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(beneath("Options:\n  -h  Print\n").count(), 0);
    }
}
