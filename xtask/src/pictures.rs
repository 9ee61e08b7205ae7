//! `cargo xtask pictures`: the README's pictures of a terminal, made from real runs of the real binary.
//!
//! A scene is typed into a shell at a pseudo-terminal (`stage`); what an emulator shows at chosen moments
//! becomes one animated SVG (`svg`). Whatever differs from run to run (ids, times, the temporary home)
//! is replaced by fixed text (`steady`), so a picture changes only when the program's words do.
//!
//! Nothing here decides what the program prints: a scene can only type, wait and look.

mod scenes;
mod stage;
mod steady;
mod svg;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use self::scenes::SCENES;
use crate::bench::build_debug_binary;

/// Where the pictures are kept, from the top of the repository.
const DIRECTORY: &str = "docs/pictures";

/// How to make the pictures.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Write nothing; fail if a picture in the repository is not what the program shows today
    #[arg(long)]
    check: bool,
    /// Use this program instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Makes every picture, or checks that those in the repository are current.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None => build_debug_binary()?,
    };
    let directory = top_of_the_repository()?.join(DIRECTORY);
    let mut outdated = Vec::new();
    for scene in SCENES {
        let frames =
            stage::play(scene, &binary).with_context(|| format!("scene {}", scene.name))?;
        let picture = svg::render(scene, &frames);
        let path = directory.join(format!("{}.svg", scene.name));
        if options.check {
            if std::fs::read_to_string(&path).ok().as_deref() != Some(picture.as_str()) {
                outdated.push(path.display().to_string());
            }
        } else {
            std::fs::create_dir_all(&directory)?;
            std::fs::write(&path, picture)?;
            writeln!(out, "wrote {}", path.display())?;
        }
    }
    ensure!(
        outdated.is_empty(),
        "these pictures are not current: {}; run `cargo xtask pictures`, look at them and commit them",
        outdated.join(", ")
    );
    Ok(())
}

fn top_of_the_repository() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")
}
