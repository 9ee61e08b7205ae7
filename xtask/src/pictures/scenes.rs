//! What is typed, what it waits for, and which moments are kept.

/// One picture.
#[derive(Debug)]
pub(super) struct Scene {
    /// The name of its file, without the ending.
    pub(super) name: &'static str,
    /// What it shows, for people who cannot see it.
    pub(super) caption: &'static str,
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) steps: &'static [Step],
}

/// One step of a scene.
#[derive(Debug)]
pub(super) enum Step {
    /// Type these characters, as a person would.
    Type(&'static str),
    /// Wait until this stands on the screen.
    Expect(&'static str),
    /// Wait until the shell's prompt is back.
    Prompt,
    /// Keep what the screen shows, for this many tenths of a second.
    Keep(u32),
}

use Step::{Expect, Keep, Prompt, Type};

/// The pictures of the README.
pub(super) const SCENES: &[Scene] = &[Scene {
    name: "first-run",
    caption: "A terminal: the agent asks before it reads a file outside its sandbox, writes in its \
              sandbox without asking, and is refused the private ssh key.",
    columns: 94,
    rows: 29,
    steps: &[
        Prompt,
        Type(
            "ironcurtain start 'read ~/notes/plan.txt, write \"done\" to log.txt, read ~/.ssh/id_ed25519'",
        ),
        Keep(15),
        Type("\r"),
        Expect("y approve"),
        Keep(50),
        Type("y"),
        Prompt,
        Keep(90),
    ],
}];
