//! The tarball: sorted, owned by nobody in particular, with one time for all files.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::build::Build;

/// Packs the staged files, and returns the name of the archive.
pub(super) fn tarball(build: &Build, staged: &Path, directory: &Path) -> anyhow::Result<String> {
    let name = format!("{}.tar.gz", build.name());
    let parent = staged.parent().context("what is staged lies in a directory")?;
    let tar = directory.join(format!("{}.tar", build.name()));
    let status = Command::new("tar")
        .args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{}", build.time), "-cf"])
        .arg(&tar)
        .arg("-C")
        .arg(parent)
        .arg(build.name())
        .status()?;
    ensure!(status.success(), "tar failed");
    compress(&tar)?;
    Ok(name)
}

/// Replaces a file by its compressed form, in which neither name nor time is noted.
pub(super) fn compress(path: &Path) -> anyhow::Result<()> {
    let status = Command::new("gzip").args(["-9", "-n", "-f"]).arg(path).status()?;
    ensure!(status.success(), "gzip failed");
    Ok(())
}
