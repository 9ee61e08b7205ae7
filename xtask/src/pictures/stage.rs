//! A shell at a pseudo-terminal with an empty home, and what an emulator shows of it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::scenes::{Scene, Step};
use super::steady::Steady;
use crate::terminal::Terminal;

/// How long a scene waits for one thing, on a busy machine too.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a screen has to stay as it is before it is kept.
const CALM: Duration = Duration::from_secs(1);
/// The shell's prompt.
const PROMPT: &str = "$ ";

/// What the screen showed at one moment.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) rows: Vec<Vec<Run>>,
    /// For how many tenths of a second it is shown.
    pub(super) tenths: u32,
}

/// A piece of a row in one style.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) style: Style,
}

/// How a piece of text looks.
#[expect(clippy::struct_excessive_bools, reason = "a terminal has these four, in any combination")]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Style {
    /// One of the sixteen colours of a terminal.
    pub(super) colour: Option<u8>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
}

/// Plays a scene with `binary` and returns the frames that it keeps.
pub(super) fn play(scene: &Scene, binary: &Path) -> anyhow::Result<Vec<Frame>> {
    // As long as what stands for it in the picture, so that lines break at the same places.
    let home = tempfile::Builder::new().prefix(".").rand_bytes(3).tempdir_in("/tmp")?;
    for (directory, file, text) in
        [(".ssh", "id_ed25519", "not a key\n"), ("notes", "plan.txt", "Water the plants.\n")]
    {
        std::fs::create_dir(home.path().join(directory))?;
        std::fs::write(home.path().join(directory).join(file), text)?;
    }
    let steady = Steady::new(home.path())?;
    let mut stage = Stage::open(scene, binary, home.path())?;
    let mut frames = Vec::new();
    for step in scene.steps {
        match step {
            Step::Type(text) => stage.terminal.type_in(text)?,
            Step::Expect(text) => {
                stage.until(text, |rows| rows.iter().any(|it| it.contains(text)))?;
            }
            Step::Prompt => {
                stage.until("the prompt", |rows| {
                    rows.last().is_some_and(|it| it == PROMPT.trim_end())
                })?;
            }
            Step::Keep(tenths) => frames.push(stage.frame(&steady, *tenths)?),
        }
    }
    Ok(frames)
}

struct Stage {
    terminal: Terminal,
}

impl Stage {
    fn open(scene: &Scene, binary: &Path, home: &Path) -> anyhow::Result<Self> {
        let beside = binary.parent().map(|it| it.display().to_string()).unwrap_or_default();
        let mut shell = Terminal::command("bash");
        shell
            .args(["--norc", "--noprofile"])
            .env_clear()
            .env("HOME", home)
            .env("PATH", format!("{beside}:/usr/local/bin:/usr/bin:/bin"))
            .env("PS1", PROMPT)
            .env("TERM", "xterm-256color")
            .env("HISTFILE", "/dev/null")
            .env("LANG", "C.UTF-8")
            .current_dir(home);
        Ok(Self { terminal: Terminal::open(shell, scene.rows, scene.columns)? })
    }

    /// Waits until the screen is as it should be.
    fn until(&self, what: &str, is: impl Fn(&[String]) -> bool) -> anyhow::Result<()> {
        let began = Instant::now();
        while !is(&self.terminal.rows()) {
            if began.elapsed() > PATIENCE {
                let rows = self.terminal.rows().join("\n");
                bail!("waited for {what} in vain; the screen shows:\n{rows}");
            }
            self.terminal.wait_for_change(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits until the screen has stopped changing, and keeps it.
    fn frame(&self, steady: &Steady, tenths: u32) -> anyhow::Result<Frame> {
        let (began, mut last, mut since) = (Instant::now(), self.terminal.rows(), Instant::now());
        while since.elapsed() < CALM {
            if began.elapsed() > PATIENCE {
                bail!("the screen never stands still:\n{}", last.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(20));
            let rows: Vec<String> =
                self.terminal.rows().iter().map(|it| steady.apply(it)).collect();
            if rows != last {
                (last, since) = (rows, Instant::now());
            }
        }
        let mut rows: Vec<Vec<Run>> = self
            .terminal
            .look(|screen| (0..screen.size().0).map(|row| runs(screen, row, steady)).collect());
        while rows.last().is_some_and(Vec::is_empty) {
            rows.pop();
        }
        Ok(Frame { rows, tenths })
    }
}

/// Cuts a row of the screen into pieces of one style each.
fn runs(screen: &vt100::Screen, row: u16, steady: &Steady) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1 {
        let Some(cell) = screen.cell(row, column).filter(|it| !it.is_wide_continuation()) else {
            continue;
        };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let style = style(cell);
        match runs.last_mut() {
            Some(run) if run.style == style => run.text.push_str(text),
            _ => runs.push(Run { text: text.to_owned(), style }),
        }
    }
    if let Some(last) = runs.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    runs.retain(|it| !it.text.is_empty());
    for run in &mut runs {
        run.text = steady.apply(&run.text);
    }
    runs
}

fn style(cell: &vt100::Cell) -> Style {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(index @ 0..16) => Some(index),
        _ => None,
    };
    Style {
        colour,
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
    }
}
