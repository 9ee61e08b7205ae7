//! `cargo xtask reference`: writes the pages of docs/reference that the program itself describes.
//!
//! What the pages say is worked out in [`ic_testkit::reference`], so that a test can compare them too.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use ic_testkit::reference::{DIRECTORY, pages};

use crate::bench::build_debug_binary;

/// How to write the pages.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Write nothing; fail if a page in the repository is not what the program says today
    #[arg(long)]
    check: bool,
    /// Use this program instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Writes every page, or checks that those in the repository are current.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None => build_debug_binary()?,
    };
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let mut outdated = Vec::new();
    for page in pages(&binary, top) {
        let path = top.join(DIRECTORY).join(page.name);
        let is_current = std::fs::read_to_string(&path).is_ok_and(|text| text == page.text);
        if is_current {
            continue;
        }
        if options.check {
            outdated.push(page.name);
        } else {
            std::fs::write(&path, page.text)?;
            writeln!(out, "wrote {}", path.display())?;
        }
    }
    ensure!(
        outdated.is_empty(),
        "these pages are not current: {}; run `cargo xtask reference` and commit them",
        outdated.join(", ")
    );
    Ok(())
}
