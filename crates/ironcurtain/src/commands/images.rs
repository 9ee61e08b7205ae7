//! `ironcurtain images`: the images that agents in containers run on.
//!
//! They are made by the engine, and known by the label that they have; how is known in `ic_container::images`.

use ic_container::images;
use ic_home::config::{Config, ConfigFile, Layers};
use ic_home::{Environment, Home};
use ic_types::{Json, Object};

use crate::commands::Exit;
use crate::commands::start::runtime;
use crate::containers::{Found, refused};
use crate::error::Failure;
use crate::screen::Screen;

/// How many characters of an id people are shown.
const ID_LEN: usize = 19;

/// What to do with images.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ImagesCommand {
    /// Build the image for agents in containers, from `docker.baseImage` and `docker.packages`
    ///
    /// `start --backend docker` does it by itself when the image is missing.
    Build,
    /// List the images that were built
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the images that were built, but for the one of the present settings
    Prune {
        /// Remove that one, too
        #[arg(long)]
        all: bool,
    },
}

/// Runs the command.
pub(crate) fn run(
    command: &ImagesCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let file = ConfigFile::read(&home)?;
    let config = Config::load(&Layers { flags: &[], environment, file: &file })?;
    runtime()?.block_on(async {
        let found = Found::any(environment).await?;
        match *command {
            ImagesCommand::Build => {
                let image = found.image(&config.docker, screen).await?;
                screen.strangers_line(&format!("{} {}", short(&image.id), image.name))?;
                Ok(Exit::Success)
            }
            ImagesCommand::List { json } => {
                list(&found, &config, json, screen).await?;
                Ok(Exit::Success)
            }
            ImagesCommand::Prune { all } => prune(&found, &config, all, screen).await,
        }
    })
}

async fn list(
    found: &Found,
    config: &Config,
    is_json: bool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let current = found.current(&config.docker).await?;
    let mut rows = Vec::new();
    for listed in images::list(&*found.engine).await.map_err(|it| refused(&it))? {
        let is_current = current.as_ref().is_some_and(|it| it.id == listed.id);
        if is_json {
            let mut row = Object::new();
            row.insert("id", listed.id);
            row.insert("names", listed.names.into_iter().map(Json::from).collect::<Vec<_>>());
            row.insert("bytes", listed.n_bytes);
            row.insert("createdAt", listed.created);
            row.insert("inUse", is_current);
            rows.push(Json::Object(row));
            continue;
        }
        let names = listed.names.join(", ");
        let mib = listed.n_bytes >> 20;
        let note = if is_current { "  (of the present settings)" } else { "" };
        screen.strangers_line(&format!("{}  {mib:>6} MiB  {names}{note}", short(&listed.id)))?;
    }
    if is_json {
        screen.json(&Json::Array(rows).to_string())?;
    }
    Ok(())
}

async fn prune(
    found: &Found,
    config: &Config,
    all: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let kept = if all { None } else { found.current(&config.docker).await? };
    let pruned = images::prune(&*found.engine, kept.as_ref()).await.map_err(|it| refused(&it))?;
    let (removed, failed) = pruned;
    for listed in &removed {
        screen.strangers_line(&format!(
            "removed {}  {}",
            short(&listed.id),
            listed.names.join(", ")
        ))?;
    }
    for (listed, error) in &failed {
        screen.warning(&format!("{} is left: {}", short(&listed.id), ic_types::chain(error)));
    }
    Ok(if failed.is_empty() { Exit::Success } else { Exit::Failed })
}

fn short(id: &str) -> &str {
    id.get(..ID_LEN).unwrap_or(id)
}
