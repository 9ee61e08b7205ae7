//! Times sessions of the built-in agent: until they are ready, one task each, and what they take while
//! nobody uses them. Servers and workers are real and caged; the model is the offline one.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_agent::Limits;
use ic_audit::{Redactor, SyncMode};
use ic_confine::{Confinement, Launcher};
use ic_home::{Home, SystemClock};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_model::{OfflineModel, Prices};
use ic_policy::{Builtin, Policy, SandboxKind};
use ic_resolve::{Places, RealDisk, Resolver, bounds};
use ic_session::{
    AtTerminal, BuiltIn, Conversation as _, Description, Held, Journal, Mind, News, Opening,
    SessionDirectory, SessionHandle as _, SessionKind, Wait, Workbench,
};
use ic_store::{Conversation, Saving};
use ic_types::AbsolutePath;
use tokio_util::sync::CancellationToken;

use super::sandbox::{Memory, memory};
use super::{Samples, build_binary, shown};

const MANY: usize = 200;
const TASK: &str = "list the files";

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(many(out, &binary))
}

async fn many(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let world = World::new(binary).await?;
    let first = world.open().await?;
    ask(&first).await?;
    let before = tree()?;
    let mut ready = Samples::default();
    let mut sessions = vec![first];
    for _ in 1..MANY {
        let start = Instant::now();
        sessions.push(world.open().await?);
        ready.0.push(start.elapsed());
    }
    let mut asked = Samples::default();
    for session in &sessions {
        asked.0.push(ask(session).await?);
    }
    let mut again = Samples::default();
    for session in &sessions {
        again.0.push(ask(session).await?);
    }
    let after = tree()?;
    let each = |kilobytes: u64| kilobytes / (MANY as u64 - 1);
    writeln!(
        out,
        "\n{MANY} sessions in one process: open and ready p50 {}, p99 {}; a task with one call p50 {} \
         the first time, {} the second.\nAn idle session takes {} kB beyond the first, with its \
         servers and its spare worker in {} processes.",
        shown(ready.percentile(50)),
        shown(ready.percentile(99)),
        shown(asked.percentile(50)),
        shown(again.percentile(50)),
        each(after.memory.proportional.saturating_sub(before.memory.proportional)),
        (after.n_processes - before.n_processes) / (MANY - 1),
    )?;
    let start = Instant::now();
    for session in &sessions {
        session.close().await?;
    }
    writeln!(out, "All of them are closed one after the other within {}.", shown(start.elapsed()))?;
    ensure!(tree()?.n_processes == 1, "processes are left");
    Ok(())
}

async fn ask(session: &BuiltIn) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let answer = session.send_message(TASK, CancellationToken::new()).await?;
    ensure!(answer.contains("empty"), "an odd answer: {answer}");
    Ok(start.elapsed())
}

/// A home, and what starts the processes of its sessions.
struct World {
    place: tempfile::TempDir,
    home: Home,
    launcher: Launcher,
    confinement: Confinement,
}

impl World {
    async fn new(binary: &Path) -> anyhow::Result<Self> {
        let place = tempfile::tempdir()?;
        let home = Home::new(AbsolutePath::new(place.path().join("home"))?);
        home.prepare()?;
        let launcher = Launcher::at(binary);
        let probe = tempfile::tempdir()?;
        let rung = launcher.strongest(probe.path()).await.ok().context("no cage works here")?;
        Ok(Self { place, home, launcher, confinement: Confinement::Cage(rung) })
    }

    async fn open(&self) -> anyhow::Result<BuiltIn> {
        let directory = SessionDirectory::create(&self.home, None, SessionKind::BuiltIn, "bench")?;
        let news = Arc::new(News::new(Journal::open(&directory.log())?));
        let sandbox = directory.sandbox().display().to_string();
        let opening = Opening {
            named_policy: None,
            home: &self.home,
            description: Description {
                kind: SessionKind::BuiltIn,
                agent: "bench",
                about: None,
                task: Some(TASK),
                workspace: None,
            },
            judge: self.judge(&directory)?,
            directory,
            policy: "built-in `default`",
            servers: ServersFile::builtin(),
            held: Held { confinement: self.confinement, mode: "enforce", exceptions: Vec::new() },
            redactor: Arc::new(Redactor::new([])),
            sync: SyncMode::Group,
            record_bytes_max: ic_audit::BYTES_MAX,
            launcher: self.launcher.clone(),
            variables: Vec::new(),
            keyring: ic_backend::Keyring::default(),
            certificates: None,
            shown: Vec::new(),
            notify: None,
            packages: None,
            discretion: ic_session::Discretion::default(),
            wait: Wait::WhileAttended,
            at_terminal: AtTerminal::default(),
            timeout: Duration::from_secs(1),
            witness: Arc::clone(&news) as _,
        };
        let ground = opening.open()?;
        let (id, clock) = (&ground.directory.id, Arc::new(SystemClock));
        let found = Conversation::find(&self.home, id, Saving::Always, clock)?;
        let workbench = Workbench::new(ground, news, self.launcher.clone(), self.confinement);
        let (model, prices, limits) = (Arc::new(OfflineModel), Prices::FREE, Limits::OFF);
        Ok(BuiltIn::open(
            workbench,
            Mind { model, prices, limits, sandbox, notes: Vec::new() },
            found,
        )
        .await?)
    }

    fn judge(&self, directory: &SessionDirectory) -> anyhow::Result<Judge> {
        let home = AbsolutePath::new(self.place.path())?;
        let sandbox = AbsolutePath::new(directory.sandbox())?;
        let places = Places {
            home: home.clone(),
            sandbox: Some((sandbox, SandboxKind::Session)),
            protected: vec![AbsolutePath::new(self.home.root())?],
        };
        let bounds =
            bounds::gather(&RealDisk, &places, ServersFile::builtin().traits(Confinement::None))?;
        let resolver =
            Resolver { disk: &RealDisk, home: &home, sandbox: None, orders: None, seen_as: None };
        let locate = |text: &str| resolver.locate(text).map_err(|fault| fault.to_string());
        let policy = Policy::load(&Builtin::Default.sources(), &locate)?;
        Ok(Judge {
            policy,
            bounds,
            orders: ic_resolve::Orders::of_user(&home),
            heads: ic_judge::heads::Heads::default(),
            earlier: Vec::new(),
            seen_as: None,
            home,
        })
    }
}

/// This process with all that it started.
struct Tree {
    memory: Memory,
    n_processes: usize,
}

fn tree() -> anyhow::Result<Tree> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|it| it.parse::<u32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(|it| it.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut tree = Tree { memory: Memory::default(), n_processes: 0 };
    let mut left = vec![std::process::id()];
    while let Some(pid) = left.pop() {
        left.extend(children.remove(&pid).unwrap_or_default());
        // One may end while we look.
        let Ok(one) = memory(pid) else { continue };
        tree.memory.proportional += one.proportional;
        tree.n_processes += 1;
    }
    Ok(tree)
}
