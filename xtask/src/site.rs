//! `cargo xtask site`: guide, reference and the other documents as one searchable site.
//!
//! The pages are gathered as they lie in the repository (`gather`), mdbook makes a site of them, and every
//! link of the site is followed (`follow`). mdbook is a tool and no dependency: it is installed with pinned
//! versions into the target directory when it is needed first, so that nothing else has to build it.

mod follow;
mod gather;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// The version of mdbook; its own lock file pins what it is built of.
const MDBOOK: &str = "0.4.52";

/// Builds the site, and fails at a warning or a link that leads nowhere.
pub fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let target = target_directory()?;
    let mdbook = tool(&target, out)?;
    let site = target.join("site");
    if site.exists() {
        std::fs::remove_dir_all(&site)?;
    }
    let n_pages = gather::gather(top, &site)?;
    let built = Command::new(mdbook).arg("build").arg(&site).env("RUST_LOG", "warn").output()?;
    let said = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success(), "mdbook failed:\n{said}");
    ensure!(said.trim().is_empty(), "mdbook has something to say:\n{said}");
    let book = site.join("book");
    let n_links = follow::check(&book)?;
    let index = book.join("index.html");
    writeln!(out, "{n_pages} pages, {n_links} links: {}", index.display())?;
    Ok(())
}

/// Returns the program, and installs it if it is not there.
fn tool(target: &Path, out: &mut dyn Write) -> anyhow::Result<PathBuf> {
    let root = target.join("tools").join(format!("mdbook-{MDBOOK}"));
    let program = root.join("bin/mdbook");
    if program.is_file() {
        return Ok(program);
    }
    writeln!(out, "installing mdbook {MDBOOK} into {} (some minutes, once)", root.display())?;
    let status = Command::new("cargo")
        .args(["install", "--quiet", "--locked", "--version", &format!("={MDBOOK}")])
        .args(["--no-default-features", "--features", "search", "--root"])
        .arg(&root)
        .arg("mdbook")
        .status()?;
    ensure!(status.success(), "mdbook {MDBOOK} cannot be installed");
    Ok(program)
}

/// This very program lies in a directory of the target directory.
fn target_directory() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("a target directory")?;
    Ok(target.to_owned())
}
