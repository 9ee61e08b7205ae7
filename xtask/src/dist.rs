//! `cargo xtask dist`: what people can download, made so that two builds are equal to the byte.
//!
//! ```text
//! build (static program) ─▶ stage (files of the tarball) ─┬─▶ tarball
//!                             notices, SBOM, man pages    ├─▶ Debian package
//!                                                         └─▶ container image
//!                                                              SHA256SUMS, install.sh
//! ```
//!
//! Nothing is signed or uploaded here. `tar`, `gzip` and `dpkg-deb` are the system's.

mod archive;
mod build;
mod deb;
mod image;
mod notices;
mod stage;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use self::build::Plan;

/// How to make a release.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The profile to build with; anything but `release` is for trying this command out
    #[arg(long, default_value = "release")]
    profile: String,
    /// Where the files go [default: `dist` in the target directory]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Build everything a second time, from nothing and in another directory, and compare
    #[arg(long)]
    twice: bool,
}

/// Makes the release, and prints what was made.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let target = top.join("target/static");
    let directory = options.out.clone().unwrap_or_else(|| top.join("target/dist"));
    let plan = Plan::new(top, &options.profile)?;
    let made = make(&plan, &target, &directory, out)?;
    if options.twice {
        let (other_target, other) =
            (top.join("target/static-again"), top.join("target/dist-again"));
        remove(&other_target)?;
        make(&plan, &other_target, &other, out)?;
        for file in &made {
            let (one, two) = (digest(&directory.join(file))?, digest(&other.join(file))?);
            ensure!(one == two, "{file} differs between two builds: {one} and {two}");
        }
        writeln!(out, "two builds from nothing are equal to the byte")?;
    }
    Ok(())
}

/// Makes all files in `directory`, and returns their names.
fn make(
    plan: &Plan,
    target: &Path,
    directory: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<Vec<String>> {
    writeln!(out, "building a static program into {} (some minutes)", target.display())?;
    let build = plan.build(target)?;
    remove(directory)?;
    std::fs::create_dir_all(directory)?;
    let staged = stage::stage(&build, &directory.join(build.name()))?;
    let mut made = vec![
        archive::tarball(&build, &staged, directory)?,
        deb::package(&build, &staged, directory)?,
        image::image(&build, directory)?,
    ];
    let installer = "install.sh".to_owned();
    std::fs::copy(build.top.join("scripts/install.sh"), directory.join(&installer))?;
    made.push(installer);
    std::fs::remove_dir_all(&staged)?;
    let mut sums = Vec::new();
    for file in &made {
        writeln!(sums, "{}  {file}", digest(&directory.join(file))?)?;
    }
    std::fs::write(directory.join("SHA256SUMS"), sums)?;
    made.push("SHA256SUMS".to_owned());
    for file in &made {
        let n_bytes = std::fs::metadata(directory.join(file))?.len();
        writeln!(out, "{:>12} {}", n_bytes, directory.join(file).display())?;
    }
    Ok(made)
}

fn remove(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
fn digest(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(ic_types::Digest::of(&bytes).to_string())
}
