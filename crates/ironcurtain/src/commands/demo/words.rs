//! What the tour says, and which commands it runs.

use ic_types::visible;

/// One step of the tour.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) title: &'static str,
    /// What the user reads first.
    pub(super) lines: Vec<String>,
    pub(super) script: Vec<Line>,
}

/// One thing that a step does.
#[derive(Debug)]
pub(super) enum Line {
    /// Run this command.
    Command(Vec<String>),
    /// Change a byte of the log behind the program's back.
    Tamper,
}

/// What is said when the log was changed.
pub(super) const TAMPERED: [&str; 3] = [
    "",
    "Now the tour changes one letter of that log, as a program with something to hide might.",
    "The log is checked again:",
];

/// The last words.
pub(super) const FAREWELL: [&str; 7] = [
    "",
    "That was the tour. Where to go next:",
    "  ironcurtain start                        talk with the agent",
    "  ironcurtain start --workspace DIR TASK   let it work in a directory of yours",
    "  ironcurtain clients install codex        use the agent you already have",
    "  ironcurtain policy show                  see the rules",
    "The guide has a page for each task: docs/guide/README.md",
];

/// The first words.
pub(super) fn welcome(place: &str) -> Vec<String> {
    [
        "A tour of two minutes: real commands, the real policy and the real log.",
        "The model is the built-in offline one, so no key and no network are needed.",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("Everything is kept in {}, which is removed at the end.", visible(place))])
    .collect()
}

/// Returns the steps, for notes that are in the directory `notes`.
pub(super) fn steps(notes: &str) -> Vec<Step> {
    let start =
        |task: String| Line::Command(words(&["start", "--model", "offline", "--continue"], task));
    vec![
        Step {
            title: "allowed, and refused",
            lines: lines(&[
                "Each session has a sandbox, an empty directory in which the agent is free.",
                "Your ssh keys are closed to every agent, under every policy.",
                "Watch the marks: ✓ means carried out, ✗ means refused.",
            ]),
            script: vec![Line::Command(words(
                &["start", "--model", "offline", "--name", "tour"],
                "write \"hello\" to hello.txt, read hello.txt, read ~/.ssh/id_ed25519".to_owned(),
            ))],
        },
        Step {
            title: "you approve",
            lines: lines(&[
                "The agent wants to read a file outside its sandbox, so IronCurtain asks you.",
                "The request shows exactly what would be sent. Press y to approve this one call.",
            ]),
            script: vec![start(format!("read {notes}/monday.txt"))],
        },
        Step {
            title: "you deny",
            lines: lines(&[
                "Now it wants to delete that file. Press n to deny the call.",
                "The agent is told that you denied it, and asking again at once is refused too.",
            ]),
            script: vec![start(format!("delete {notes}/monday.txt"))],
        },
        Step {
            title: "you grant",
            lines: lines(&[
                "Three files, one request: press g, then choose the directory.",
                "The grant covers similar calls for an hour at most, and ends with the session.",
            ]),
            script: vec![start(format!(
                "read {notes}/tuesday.txt, read {notes}/wednesday.txt, read {notes}/thursday.txt"
            ))],
        },
        Step {
            title: "the log",
            lines: lines(&[
                "Every call was recorded before it was carried out, with your answers.",
                "Each record holds the hash of the one before it.",
            ]),
            script: vec![
                Line::Command(lines(&["audit", "show"])),
                Line::Command(lines(&["audit", "verify"])),
                Line::Tamper,
                Line::Command(lines(&["audit", "verify"])),
            ],
        },
    ]
}

/// Returns a command as it would be typed into a shell.
pub(super) fn typed(words: &[String]) -> String {
    let mut shown = String::from("$ ironcurtain");
    for word in words {
        match word.contains([' ', '"', '~']) {
            true => shown.extend([" '", word, "'"]),
            false => shown.extend([" ", word]),
        }
    }
    visible(&shown)
}

fn words(flags: &[&str], task: String) -> Vec<String> {
    lines(flags).into_iter().chain([task]).collect()
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_of_the_tour_is_one() {
        let mut n_commands = 0;
        for step in steps("/n") {
            for line in step.script {
                if let Line::Command(words) = line {
                    let words: Vec<_> = ["ironcurtain".to_owned()]
                        .into_iter()
                        .chain(words)
                        .map(std::ffi::OsString::from)
                        .collect();
                    assert!(Cli::read(&words).is_ok(), "{words:?}");
                    n_commands += 1;
                }
            }
        }
        assert_eq!(n_commands, 7);
    }

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        let words = ["start", "read ~/a"].map(str::to_owned);
        assert_eq!(typed(&words), "$ ironcurtain start 'read ~/a'");
    }
}
