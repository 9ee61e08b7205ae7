//! The Debian package: the same files below `/usr`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::build::{Build, said};

/// Makes the package, and returns its name.
pub(super) fn package(build: &Build, staged: &Path, directory: &Path) -> anyhow::Result<String> {
    let root = directory.join("deb");
    std::fs::create_dir_all(root.join("DEBIAN"))?;
    let status = Command::new("cp").arg("-a").arg(staged).arg(root.join("usr")).status()?;
    ensure!(status.success(), "cp failed");
    for path in files(&root.join("usr/share/man"))? {
        super::archive::compress(&path)?;
    }
    // What Debian calls a licence file, and the one that we bring.
    std::fs::rename(
        root.join("usr/share/doc/ironcurtain/LICENSE"),
        root.join("usr/share/doc/ironcurtain/copyright"),
    )?;
    std::fs::write(root.join("DEBIAN/control"), control(build, installed_kib(&root)?))?;
    std::fs::write(root.join("DEBIAN/md5sums"), sums(&root)?)?;
    let name = format!("ironcurtain_{}_amd64.deb", build.version);
    let mut build_package = Command::new("dpkg-deb");
    build_package
        .args(["--root-owner-group", "-Zgzip", "--build"])
        .arg(&root)
        .arg(directory.join(&name))
        .env("SOURCE_DATE_EPOCH", build.time.to_string());
    // Times and modes go into the package as they are.
    let status = Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&root).status()?;
    ensure!(status.success(), "chmod failed");
    let time = format!("@{}", build.time);
    let mut touch = Command::new("find");
    touch.arg(&root).args(["-exec", "touch", "-h", "-d", &time, "{}", "+"]);
    said(&mut touch)?;
    said(&mut build_package)?;
    std::fs::remove_dir_all(&root)?;
    Ok(name)
}

fn control(build: &Build, kib: u64) -> String {
    let version = &build.version;
    format!(
        "Package: ironcurtain\nVersion: {version}\nArchitecture: amd64\nSection: utils\nPriority: optional\n\
         Maintainer: The IronCurtain developers <noreply@ironcurtain.invalid>\nInstalled-Size: {kib}\n\
         Recommends: git (>= 1:2.38), ca-certificates\nSuggests: bubblewrap\n\
         Description: run AI agents on real files without trusting them\n \
         Every call of an agent is judged by a deterministic policy, recorded in a\n \
         tamper-evident log, and carried out by servers that run in cages.\n"
    )
}

fn installed_kib(root: &Path) -> anyhow::Result<u64> {
    let mut n_bytes = 0;
    for path in files(&root.join("usr"))? {
        n_bytes += std::fs::metadata(path)?.len();
    }
    Ok(n_bytes.div_ceil(1024))
}

/// Returns what `dpkg --verify` compares with.
fn sums(root: &Path) -> anyhow::Result<String> {
    let mut list = Command::new("md5sum");
    for path in files(&root.join("usr"))? {
        list.arg(path.strip_prefix(root).context("a file of the package")?);
    }
    said(list.current_dir(root))
}

/// Returns all files beneath a directory, sorted.
fn files(directory: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}
