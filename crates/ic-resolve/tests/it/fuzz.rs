//! Mutated texts of git configs, held against the user's own git: what we take, it reads in the same way.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ic_fuzz::{Outcome, Target};
use ic_resolve::git::config::{self, Setting};

#[test]
fn fuzz_git_config() {
    Target::new("git-config")
        .seeds([
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.example/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "# comment\n[url \"ssh://a/\"] insteadOf = \"b \\\"c\\\\\" ; more\n[a.B.c]\nkey\n[branch \"x\"] merge=refs/heads/x\\\n  y\\t\n",
            "\u{feff}[Section]\r\nKey-1 = va\"l # u\"e  # c\r\n",
            "[remote \"a\\\"b\\\\c\"]\nurl=\n[includeIf \"gitdir:x\"]\npath = y\n",
        ])
        .words([
            "[", "]", "\"", "\\", "\\n", "\\b", "\\\n", "=", "#", ";", "\n", "\r\n", "\r", "\t", " ", "[a]", "[a \"b\"]", "[a.b]", "[a \"b\"",
            "key", "k = v", "\u{feff}", "\u{e4}", "\u{a0}", "\0", ".", "-", "1", "\"\"", "\"  \"",
        ])
        .bytes_max(400)
        .runs(1500)
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::refused("no text") };
    match config::parse(text) {
        Ok(settings) => {
            if !settings.is_empty() {
                assert_eq!(by_git(text), settings.iter().map(shown).collect::<Vec<_>>());
            }
            Outcome::accepted((
                settings.len().min(6),
                settings.iter().any(|it| it.subsection.is_some()),
            ))
        }
        Err(why) => {
            let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
            Outcome::refused(why.split('`').next().map(str::to_owned))
        }
    }
}

/// The settings as git lists them; a key alone has no value there.
fn by_git(text: &str) -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["config", "--file", "-", "--no-includes", "--list", "-z"]).env_clear();
    git.env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = git.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git refuses what we take: {said}");
    let listed = String::from_utf8(output.stdout).unwrap();
    listed
        .split_terminator('\0')
        .map(|it| if it.contains('\n') { it.to_owned() } else { format!("{it}\ntrue") })
        .collect()
}

fn shown(setting: &Setting) -> String {
    let Setting { section, subsection, key, value } = setting;
    match subsection {
        Some(subsection) => format!("{section}.{subsection}.{key}\n{value}"),
        None => format!("{section}.{key}\n{value}"),
    }
}
