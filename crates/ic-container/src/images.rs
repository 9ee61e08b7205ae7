//! The image that agents run on: the user's base image with packages, made once and known by its recipe.
//!
//! ```text
//! base image (by id) + packages ─▶ recipe ─hash─▶ ironcurtain-base:HASH ─ there? used : built, visibly
//! ```
//!
//! Steps of a build run code of the base image and of its packages, with the network that they come from; nothing
//! of an agent is there yet. Programs of agents are not in the image: a container sees them read-only.

use std::fmt::Write as _;

use hyper::body::Bytes;
use ic_types::Object;
use sha2::{Digest as _, Sha256};

use crate::engine::{Build, Engine, EngineError};
use crate::words::{text, texts};

/// What our images are called.
const NAME: &str = "ironcurtain-base";
/// The label that our images have; its value is the hash of their recipe.
const RECIPE: &str = "ironcurtain.recipe";
const BLOCK: usize = 512;

/// An image that is there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    /// Its id, which names nothing else.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// One of our images, as it is listed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub names: Vec<String>,
    /// How large it is.
    pub n_bytes: u64,
    /// Since when it is there, in seconds since 1970.
    pub created: u64,
}

/// An image that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageFault {
    /// The engine does not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The base image cannot be fetched.
    #[error("the base image `{name}` is not on this machine and cannot be fetched")]
    NoBase {
        /// The image.
        name: String,
        /// Why not.
        source: EngineError,
    },
    /// The image has places of its own that can be written.
    #[error("the image `{name}` declares volumes (`VOLUME`): {}", places.join(", "))]
    Volumes {
        /// The image.
        name: String,
        /// The places.
        places: Vec<String>,
    },
    /// The image is gone right after it was built.
    #[error("the image `{0}` was built and is not there")]
    Gone(String),
}

impl ImageFault {
    /// Returns what a person can do about it.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.remedy(),
            Self::NoBase { .. } => Some(
                "fetch or import it into the engine yourself, or name another one: `ironcurtain config set \
                 docker.baseImage IMAGE`"
                    .to_owned(),
            ),
            Self::Volumes { .. } => Some("name an image without volumes in `docker.baseImage`".to_owned()),
            Self::Gone(_) => None,
        }
    }
}

/// Returns the image of agents, and builds it if it is not there; `tell` hears of each step of that.
pub async fn ready(
    engine: &dyn Engine,
    (base, packages): (&str, &[String]),
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Image, ImageFault> {
    let base = base_image(engine, base, tell).await?;
    if packages.is_empty() {
        return Ok(base);
    }
    let recipe = recipe(&base.id, packages);
    let hash = hash(&recipe);
    let name = format!("{NAME}:{}", hash.get(..16).unwrap_or(&hash));
    if let Some(found) = ours(engine, &name, &hash).await? {
        return Ok(found);
    }
    tell(&format!("building {name} from {} with {}", base.name, packages.join(", ")));
    let mut labels = Object::new();
    labels.insert(RECIPE, hash.as_str());
    let networks = engine.networks().await?;
    // An engine without a network of its own has the machine's.
    let network = (!networks.iter().any(|it| it == "bridge")).then_some("host");
    let archive = archive("Dockerfile", recipe.as_bytes());
    engine.build(Build { tag: &name, labels: &labels, network, archive }, tell).await?;
    ours(engine, &name, &hash).await?.ok_or(ImageFault::Gone(name))
}

/// Returns our images.
pub async fn list(engine: &dyn Engine) -> Result<Vec<Listed>, EngineError> {
    let number = |it: &Object, key| {
        crate::words::number(it, &[key]).and_then(|it| u64::try_from(it).ok()).unwrap_or(0)
    };
    let all = engine.images(RECIPE).await?;
    let listed = all.iter().filter_map(|it| {
        let id = text(it, &["Id"])?.to_owned();
        let names = texts(it, &["RepoTags"]).unwrap_or_default();
        Some(Listed { id, names, n_bytes: number(it, "Size"), created: number(it, "Created") })
    });
    Ok(listed.collect())
}

/// Removes our images, but for the one that is called `kept`; returns what was removed, and what could not be.
pub async fn prune(
    engine: &dyn Engine,
    kept: Option<&Image>,
) -> Result<(Vec<Listed>, Vec<(Listed, EngineError)>), EngineError> {
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    for listed in list(engine).await? {
        if kept.is_some_and(|kept| kept.id == listed.id) {
            continue;
        }
        match engine.remove_image(&listed.id).await {
            Ok(()) => removed.push(listed),
            // A container uses it.
            Err(error) => failed.push((listed, error)),
        }
    }
    Ok((removed, failed))
}

/// Returns the image that is there for these settings already.
pub async fn current(
    engine: &dyn Engine,
    (base, packages): (&str, &[String]),
) -> Result<Option<Image>, EngineError> {
    let Some(found) = engine.image(base).await? else { return Ok(None) };
    let id = text(&found, &["Id"]).unwrap_or_default().to_owned();
    if packages.is_empty() {
        return Ok(Some(Image { id, name: base.to_owned() }));
    }
    let hash = hash(&recipe(&id, packages));
    let name = format!("{NAME}:{}", hash.get(..16).unwrap_or(&hash));
    ours(engine, &name, &hash).await
}

async fn base_image(
    engine: &dyn Engine,
    name: &str,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Image, ImageFault> {
    let mut found = engine.image(name).await?;
    if found.is_none() {
        tell(&format!("fetching {name}"));
        let pulled = engine.pull(name, tell).await;
        pulled.map_err(|source| ImageFault::NoBase { name: name.to_owned(), source })?;
        found = engine.image(name).await?;
    }
    let found = found.ok_or_else(|| ImageFault::Gone(name.to_owned()))?;
    if let Some(ic_types::Json::Object(volumes)) = crate::words::at(&found, &["Config", "Volumes"])
        && !volumes.is_empty()
    {
        let places = volumes.keys().map(str::to_owned).collect();
        return Err(ImageFault::Volumes { name: name.to_owned(), places });
    }
    let id = text(&found, &["Id"]).unwrap_or_default().to_owned();
    Ok(Image { id, name: name.to_owned() })
}

/// Returns the image of that name if it was made by this recipe.
async fn ours(engine: &dyn Engine, name: &str, hash: &str) -> Result<Option<Image>, EngineError> {
    let found = engine.image(name).await?;
    // SECURITY: anybody may call an image so; what counts is the label, and the id that is used from here on.
    let found = found.filter(|it| text(it, &["Config", "Labels", RECIPE]) == Some(hash));
    let image = found.and_then(|it| text(&it, &["Id"]).map(str::to_owned));
    Ok(image.map(|id| Image { id, name: name.to_owned() }))
}

/// Writes the recipe; everything that the image depends on is in it.
fn recipe(base: &str, packages: &[String]) -> String {
    let packages = packages.join(" ");
    let mut recipe = format!("FROM {base}\nUSER root\nRUN set -e; ");
    let ways = [
        (
            "apt-get",
            "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends",
            "rm -rf /var/lib/apt/lists/*",
        ),
        ("apk", "apk add --no-cache", "true"),
        ("dnf", "dnf install -y", "dnf clean all"),
    ];
    for (program, install, after) in ways {
        let _ = write!(
            recipe,
            "if command -v {program} >/dev/null; then {install} {packages} && {after}; el"
        );
    }
    recipe.push_str("se echo 'there is no apt-get, apk or dnf in this image' >&2; exit 1; fi\n");
    // Programs that give other rights have no use here, and no right to.
    recipe.push_str("RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} +\n");
    recipe
}

pub(crate) fn hash(recipe: &str) -> String {
    Sha256::digest(recipe.as_bytes()).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Writes an archive (ustar) with one file.
fn archive(name: &str, bytes: &[u8]) -> Bytes {
    let mut head = vec![0_u8; BLOCK];
    let mut put = |at: usize, text: &[u8]| {
        if let Some(place) = head.get_mut(at..at + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", bytes.len()).as_bytes());
    put(136, b"00000000000\0");
    // The sum is taken with blanks in its place.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = head.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    head.extend_from_slice(bytes);
    let padded = head.len().next_multiple_of(BLOCK) + 2 * BLOCK;
    head.resize(padded, 0);
    head.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_holds_all_that_the_image_depends_on() {
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let one = recipe("sha256:1", &words(&["git", "g++"]));
        assert!(
            one.starts_with("FROM sha256:1\n")
                && one.contains("apt-get install -y --no-install-recommends git g++ &&"),
            "{one}"
        );
        assert!(one.contains("; elif command -v apk") && one.contains("; else echo"), "{one}");
        let others =
            [recipe("sha256:2", &words(&["git", "g++"])), recipe("sha256:1", &words(&["git"]))];
        assert!(others.iter().all(|it| hash(it) != hash(&one)));
    }

    #[test]
    fn an_archive_is_what_tar_reads() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.tar");
        ic_home::file::replace(&path, &archive("Dockerfile", b"FROM x\n")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "it reads what we wrote")]
        let output = std::process::Command::new("tar").arg("-xOf").arg(&path).output().unwrap();
        assert_eq!(
            (output.status.success(), output.stdout.as_slice()),
            (true, &b"FROM x\n"[..]),
            "{output:?}"
        );
    }
}
