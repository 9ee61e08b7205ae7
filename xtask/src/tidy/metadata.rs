//! What cargo knows about the packages: members of the workspace, and what they bring in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail};

/// The packages of the build.
#[derive(Debug)]
pub(super) struct Metadata {
    /// The directory of the workspace.
    pub(super) root: PathBuf,
    /// Our own crates.
    pub(super) members: Vec<Member>,
    /// Everybody else's.
    pub(super) strangers: Vec<Stranger>,
}

/// A crate of the workspace.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Its `Cargo.toml`, relative to the workspace.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// A package that is not ours.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) name: String,
    pub(super) licence: Option<String>,
    pub(super) source: Option<String>,
}

/// One line of a manifest's dependencies.
#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The registry, if it is not the default one.
    pub(super) registry: Option<String>,
}

/// When a dependency is needed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Metadata {
    /// Asks cargo about the workspace around the current directory.
    pub(super) fn read() -> anyhow::Result<Self> {
        // The network is the second choice, so that a second run needs none.
        let offline = ask_cargo(&["--offline"])?;
        let answer = if offline.status.success() { offline } else { ask_cargo(&[])? };
        if !answer.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&answer.stderr).trim());
        }
        Self::parse(&answer.stdout)
    }

    fn parse(json: &[u8]) -> anyhow::Result<Self> {
        let answer: wire::Metadata =
            serde_json::from_slice(json).context("cannot read the answer of cargo metadata")?;
        let (members, strangers): (Vec<_>, Vec<_>) =
            answer.packages.into_iter().partition(|it| answer.workspace_members.contains(&it.id));
        Ok(Self {
            members: members.into_iter().map(|it| it.into_member(&answer.workspace_root)).collect(),
            strangers: strangers.into_iter().map(wire::Package::into_stranger).collect(),
            root: answer.workspace_root,
        })
    }
}

fn ask_cargo(options: &[&str]) -> anyhow::Result<Output> {
    Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(options)
        .output()
        .context("cannot start cargo")
}

/// The answer as cargo writes it.
mod wire {
    use super::{Dependency as Domain, Kind, Member, Path, PathBuf, Stranger};

    #[derive(serde::Deserialize)]
    pub(super) struct Metadata {
        pub(super) packages: Vec<Package>,
        pub(super) workspace_members: Vec<String>,
        pub(super) workspace_root: PathBuf,
    }

    #[derive(serde::Deserialize)]
    pub(super) struct Package {
        name: String,
        pub(super) id: String,
        license: Option<String>,
        source: Option<String>,
        manifest_path: PathBuf,
        dependencies: Vec<Dependency>,
    }

    #[derive(serde::Deserialize)]
    struct Dependency {
        name: String,
        kind: Option<WireKind>,
        registry: Option<String>,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum WireKind {
        Build,
        Dev,
    }

    impl Package {
        pub(super) fn into_member(self, root: &Path) -> Member {
            let manifest = self.manifest_path.strip_prefix(root).unwrap_or(&self.manifest_path);
            Member {
                manifest: manifest.display().to_string(),
                name: self.name,
                dependencies: self.dependencies.into_iter().map(Domain::from).collect(),
            }
        }

        pub(super) fn into_stranger(self) -> Stranger {
            Stranger { name: self.name, licence: self.license, source: self.source }
        }
    }

    impl From<Dependency> for Domain {
        fn from(wire: Dependency) -> Self {
            let kind = match wire.kind {
                None => Kind::Normal,
                Some(WireKind::Build) => Kind::Build,
                Some(WireKind::Dev) => Kind::Dev,
            };
            Self { name: wire.name, kind, registry: wire.registry }
        }
    }
}

#[cfg(test)]
impl Metadata {
    /// Makes a workspace of the crates in `members`, each with what it depends on.
    pub(super) fn of_members(members: &[(&str, &[(&str, Kind)])]) -> Self {
        let dependency = |(name, kind): &(&str, Kind)| Dependency {
            name: (*name).to_owned(),
            kind: *kind,
            registry: None,
        };
        let member = |(name, dependencies): &(&str, &[(&str, Kind)])| Member {
            name: (*name).to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            dependencies: dependencies.iter().map(dependency).collect(),
        };
        Self {
            root: PathBuf::new(),
            members: members.iter().map(member).collect(),
            strangers: vec![],
        }
    }

    /// Makes a build of one package that is not ours.
    pub(super) fn of_stranger(name: &str, licence: Option<&str>, source: Option<&str>) -> Self {
        let stranger = Stranger {
            name: name.to_owned(),
            licence: licence.map(ToOwned::to_owned),
            source: source.map(ToOwned::to_owned),
        };
        Self { root: PathBuf::new(), members: vec![], strangers: vec![stranger] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_strangers_are_told_apart() {
        let json = br#"{
            "packages": [
                {"name": "ours", "id": "a", "license": null, "source": null,
                 "manifest_path": "/w/crates/ours/Cargo.toml",
                 "dependencies": [{"name": "theirs", "kind": "dev", "registry": null}]},
                {"name": "theirs", "id": "b", "license": "MIT", "source": "registry+x",
                 "manifest_path": "/r/theirs/Cargo.toml", "dependencies": []}
            ],
            "workspace_members": ["a"],
            "workspace_root": "/w"
        }"#;
        let metadata = Metadata::parse(json).unwrap();
        assert_eq!(metadata.members[0].manifest, "crates/ours/Cargo.toml");
        assert_eq!(metadata.members[0].dependencies[0].kind, Kind::Dev);
        assert_eq!(metadata.strangers[0].licence.as_deref(), Some("MIT"));
    }
}
