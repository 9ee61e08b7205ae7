//! The container image of the proxy: one layer that holds the program and nothing else.
//!
//! Written as `docker load` and `podman load` read it, so that no engine is needed to make it.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use serde_json::json;

use super::archive::compress;
use super::build::Build;
use super::digest;

/// The user of the container, who owns nothing.
const USER: &str = "65532:65532";

/// Makes the image, and returns the name of its archive.
pub(super) fn image(build: &Build, directory: &Path) -> anyhow::Result<String> {
    let root = directory.join("image");
    let layer = root.join("layer");
    for place in ["usr/bin", "data", "tmp", "etc"] {
        std::fs::create_dir_all(layer.join(place))?;
    }
    std::fs::copy(&build.program, layer.join("usr/bin/ironcurtain"))?;
    let user = "ironcurtain:x:65532:65532::/data:/sbin/nologin\n";
    std::fs::write(layer.join("etc/passwd"), format!("root:x:0:0::/:/sbin/nologin\n{user}"))?;
    std::fs::write(layer.join("etc/group"), "root:x:0:\nironcurtain:x:65532:\n")?;
    let owned: [(&str, &str, &[&str]); 2] =
        [("0", "u=rwX,go=rX", &["etc", "usr"]), ("65532", "u=rwx,go=", &["data", "tmp"])];
    let tar = root.join("layer.tar");
    for (owner, mode, places) in owned {
        pack(&layer, &tar, (owner, mode, build.time), places)?;
    }
    let layer_digest = digest(&tar)?;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "created": ic_types::Timestamp::from_unix_ms(build.time * 1000).to_string(),
        "config": {
            "User": USER,
            "Env": ["IRONCURTAIN_HOME=/data/ironcurtain", "HOME=/data", "PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/ironcurtain"],
            "Cmd": ["proxy"],
            "WorkingDir": "/data",
            "Labels": {"org.opencontainers.image.title": "ironcurtain",
                "org.opencontainers.image.version": build.version,
                "org.opencontainers.image.licenses": "Apache-2.0"},
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer_digest}")]},
        "history": [{"created_by": "cargo xtask dist"}],
    });
    std::fs::write(root.join("config.json"), config.to_string())?;
    let name = digest(&root.join("config.json"))?;
    std::fs::rename(root.join("config.json"), root.join(format!("{name}.json")))?;
    let tags = [format!("ironcurtain:{}", build.version)];
    let manifest =
        json!([{"Config": format!("{name}.json"), "RepoTags": tags, "Layers": ["layer.tar"]}]);
    std::fs::write(root.join("manifest.json"), manifest.to_string())?;
    let archive = directory.join(format!("{}-image.tar", build.name()));
    let members = ["layer.tar".to_owned(), format!("{name}.json"), "manifest.json".to_owned()];
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    pack(&root, &archive, ("0", "u=rw,go=r", build.time), &members)?;
    compress(&archive)?;
    std::fs::remove_dir_all(&root)?;
    Ok(format!("{}-image.tar.gz", build.name()))
}

/// Adds members to an archive, in order, with one owner and one time.
fn pack(
    top: &Path,
    archive: &Path,
    (owner, mode, time): (&str, &str, u64),
    members: &[&str],
) -> anyhow::Result<()> {
    let status = Command::new("tar")
        .args(["--sort=name", "--format=ustar", "--numeric-owner", &format!("--mtime=@{time}")])
        .args([&format!("--owner={owner}"), &format!("--group={owner}"), &format!("--mode={mode}")])
        .arg("-rf")
        .arg(archive)
        .arg("-C")
        .arg(top)
        .args(members)
        .status()?;
    ensure!(status.success(), "tar failed");
    Ok(())
}
