//! The history of a random repository, as `git fast-import` reads it.
//!
//! `main` is the user's; the branches `b0`, `b1` and so on are strangers', and split what they are after
//! over several commits.

use super::ATTRIBUTES;
use crate::attack::canary::Canary;
use crate::attack::dice::Dice;
use crate::attack::names;

/// What a commit does to a path.
#[derive(Clone, Debug)]
pub enum Change {
    /// Writes a file with a mode of git's.
    Write(&'static str, String),
    /// Removes it.
    Delete,
}

/// The user's programs: they say nothing and do nothing.
pub(super) const USERS: [(&str, &str); 8] = [
    ("tools/fsm.sh", "#!/bin/sh\n# keep\nexit 1\n"),
    ("tools/x.sh", "#!/bin/sh\n# keep\nexit 0\n"),
    ("tools/f.sh", "#!/bin/sh\n# keep\nexec cat\n"),
    ("tools/d.sh", "#!/bin/sh\n# keep\nexit 0\n"),
    ("tools/m.sh", "#!/bin/sh\n# keep\nexit 1\n"),
    ("tools/e.sh", "#!/bin/sh\n# keep\nexit 0\n"),
    ("tools/h.sh", "#!/bin/sh\n# keep\nexit 0\n"),
    ("tools/s.sh", "#!/bin/sh\n# keep\nexit 1\n"),
];

/// What else is in the user's first commit: path, text, and how often it is there.
pub(super) const FILES: [(&str, &str, usize); 9] = [
    ("README.md", "one\n# keep\nthree\n", 100),
    ("a.txt", "text\n# keep\n", 100),
    ("src/a.rs", "// keep\n# keep\n", 100),
    ("tools/attributes", "*.txt diff=d\n# keep\n", 100),
    (".gitconfig", "[user]\n\tname = Ada\n# keep\n", 50),
    (".gitattributes", ATTRIBUTES, 60),
    (".envrc", "export A=1\n# keep\n", 40),
    (".github/workflows/ci.yml", "on: push\n# keep\n", 40),
    (".vscode/settings.json", "{}\n# keep\n", 30),
];

/// Returns a history with `n_branches` branches of strangers.
pub(super) fn stream(dice: &mut Dice, n_branches: usize, canary: &Canary) -> Vec<u8> {
    let mut stream = String::new();
    let program = |text: &str| Change::Write("100755", text.to_owned());
    let mut first: Vec<(String, Change)> =
        USERS.iter().map(|(path, text)| ((*path).to_owned(), program(text))).collect();
    first.push((".githooks/pre-commit".to_owned(), program("#!/bin/sh\n# keep\nexit 0\n")));
    for (path, text, percent) in FILES {
        if dice.chance(percent) {
            first.push((path.to_owned(), Change::Write("100644", text.to_owned())));
        }
    }
    commit(&mut stream, "main", None, &first);
    let mut onto = "main".to_owned();
    for number in 0..n_branches {
        let branch = format!("b{number}");
        let is_harmless = dice.chance(40);
        for nth in 0..dice.between(1, 3) {
            let changes: Vec<_> =
                (0..dice.between(1, 3)).map(|_| change(dice, canary, is_harmless)).collect();
            // A branch that is there goes on by itself.
            let from = (nth == 0).then_some(onto.as_str());
            commit(&mut stream, &branch, from, &changes);
        }
        onto = if dice.chance(30) { branch } else { "main".to_owned() };
    }
    // One more of the user's, so that merges and rebases have something to do.
    let edited = "one\n# keep\nthree, again\n".to_owned();
    let last = [("README.md".to_owned(), Change::Write("100644", edited))];
    commit(&mut stream, "main", None, &last);
    stream.into_bytes()
}

fn change(dice: &mut Dice, canary: &Canary, is_harmless: bool) -> (String, Change) {
    if is_harmless {
        let name = names::harmless(dice);
        let text = names::content(dice, &name, canary);
        let mode = *dice.pick(&["100755", "100644"]);
        return (name, Change::Write(mode, text));
    }
    if dice.chance(12) {
        let targets =
            [".git", ".git/hooks", "../outside", ".githooks", "tools", "sub", "d", "../.git"];
        let name = *dice.pick(&[
            "l",
            "d/l",
            "link",
            "x",
            "sub/l",
            ".envrc",
            ".vscode",
            "tools/link",
            "hooklink",
            "my dir",
        ]);
        return (name.to_owned(), Change::Write("120000", (*dice.pick(&targets)).to_owned()));
    }
    let name = names::in_a_commit(dice);
    if dice.chance(8) {
        return (name, Change::Delete);
    }
    let text = names::content(dice, &name, canary);
    (name, Change::Write(if dice.chance(50) { "100755" } else { "100644" }, text))
}

fn commit(stream: &mut String, branch: &str, from: Option<&str>, changes: &[(String, Change)]) {
    use std::fmt::Write as _;
    let message = format!("on {branch}");
    let _ = write!(
        stream,
        "commit refs/heads/{branch}\ncommitter Ada <ada@a.example> 1700000000 +0000\ndata {}\n{message}\n",
        message.len()
    );
    if let Some(from) = from {
        let _ = writeln!(stream, "from refs/heads/{from}");
    }
    for (path, change) in changes {
        match change {
            Change::Delete => {
                let _ = writeln!(stream, "D {path}");
            }
            Change::Write(mode, text) => {
                let _ = write!(stream, "M {mode} inline {path}\ndata {}\n{text}\n", text.len());
            }
        }
    }
    stream.push('\n');
}
