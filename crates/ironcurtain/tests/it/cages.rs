//! Cages as the binary makes them, on every rung, for root and for an ordinary user: what can be
//! reached from inside, what can be used, and that nothing outlives anybody.
//!
//! All processes, sockets and files are real. Where a rung does not work these tests say so and pass
//! it over, except in CI, where they fail.

mod agents;
mod attacks;
mod doors;
mod ends;
mod limits;
mod one_shots;
mod views;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_confine::{Access, CageSpec, Child, ChildSpec, Hold, Launcher, Limits, Network, Rung, Seen};
use rustix::process::{Gid, Uid};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// After this an event will not come any more.
const DEADLINE: Duration = Duration::from_mins(1);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// An ordinary user that every system has.
const NOBODY: u32 = 65534;

/// Who asks for a cage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Who {
    /// Whoever runs the tests.
    Us,
    /// An ordinary user.
    Nobody,
}

/// Where a cage is made: a rung, a user, and directories of the host.
struct Ground {
    rung: Rung,
    who: Who,
    /// A directory of the host with a home and more in it.
    place: TempDir,
    launcher: Launcher,
}

/// Runs `test` for every rung and user that there is.
fn on_every_ground<F: Future<Output = ()>>(test: impl Fn(Ground) -> F + Sync) {
    let who = match rustix::process::geteuid().is_root() {
        true => vec![Who::Us, Who::Nobody],
        false => vec![Who::Us],
    };
    for rung in Rung::ALL {
        for who in &who {
            on(rung, *who, &test);
        }
    }
}

/// Runs `test` for every rung for which `is_meant` holds.
fn on_rungs<F: Future<Output = ()>>(
    is_meant: impl Fn(Rung) -> bool,
    test: impl Fn(Ground) -> F + Sync,
) {
    for rung in Rung::ALL.into_iter().filter(|rung| is_meant(*rung)) {
        on(rung, Who::Us, &test);
    }
}

fn on<F: Future<Output = ()>>(rung: Rung, who: Who, test: &(impl Fn(Ground) -> F + Sync)) {
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let ground = Ground::new(rung, who);
            if who == Who::Nobody {
                become_nobody();
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                if ground.works().await {
                    eprintln!("on {rung} as {who:?}");
                    test(ground).await;
                }
            });
        });
        running.join().unwrap_or_else(|failure| std::panic::resume_unwind(failure));
    });
}

/// Makes this thread, and what it starts, an ordinary user's.
fn become_nobody() {
    let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[]).expect("root may");
    rustix::thread::set_thread_res_gid(gid, gid, gid).expect("root may");
    rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root may");
}

impl Ground {
    fn new(rung: Rung, who: Who) -> Self {
        let place = tempfile::Builder::new().prefix("cage").tempdir_in("/var/tmp").unwrap();
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.path(), everybody).unwrap();
        // Where it is built, perhaps nobody else may look.
        let binary = place.path().join("ironcurtain");
        std::fs::copy(env!("CARGO_BIN_EXE_ironcurtain"), &binary).unwrap();
        let attacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cages");
        for script in ["attack.py", "one_shot.py"] {
            std::fs::copy(attacks.join(script), place.path().join(script)).unwrap();
        }
        for name in [".", "home", "scratch", "seen", "seen/read", "seen/write", "other"] {
            std::fs::create_dir_all(place.path().join(name)).unwrap();
            if who == Who::Nobody {
                std::os::unix::fs::chown(place.path().join(name), Some(NOBODY), Some(NOBODY))
                    .unwrap();
            }
        }
        Self { rung, who, launcher: Launcher::at(binary), place }
    }

    /// Returns whether this rung works, and says so if it does not.
    async fn works(&self) -> bool {
        match self.launcher.try_rung(self.rung, &self.path("other")).await {
            Ok(()) => true,
            Err(fault) => {
                // A machine may lack what a rung needs; but a cage that is made and does not hold is
                // our mistake on every machine.
                assert!(!fault.reason.starts_with("a caged child could"), "{fault:?}");
                assert!(std::env::var_os("CI").is_none(), "in CI every rung works: {fault:?}");
                eprintln!("SKIPPED: {} as {:?} does not work here: {fault:?}", self.rung, self.who);
                false
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn seen(&self, name: &str, access: Access) -> Seen {
        Seen { path: self.path(name), access }
    }

    /// A cage in which nothing of the host is.
    fn cage(&self) -> CageSpec {
        CageSpec {
            seen: Vec::new(),
            hidden: Vec::new(),
            absent: Vec::new(),
            placed: Vec::new(),
            links: Vec::new(),
            follows_links: true,
            home: self.path("home"),
            scratch: Some(self.path("scratch")),
            network: Network::None,
            unix_sockets: false,
            opens_beneath: false,
            relaxed: Vec::new(),
            limits: Limits::SERVER,
            user: None,
        }
    }

    fn spec(&self, cage: CageSpec, program: &str, arguments: &[&str]) -> ChildSpec {
        ChildSpec {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: vec![("PATH".into(), PATH.into())],
            directory: None,
            grace: Duration::from_secs(10),
            hold: Hold::Caged(self.rung, cage),
        }
    }

    /// Runs a script in a cage; returns what it wrote and its exit code.
    async fn sh(&self, cage: CageSpec, script: &str) -> (String, String, Option<i32>) {
        let script = script.replace("PLACE", &self.place.path().display().to_string());
        self.run(&self.spec(cage, "/bin/sh", &["-c", &script])).await
    }

    async fn run(&self, spec: &ChildSpec) -> (String, String, Option<i32>) {
        let Child { stdin, stdout, stderr, mut process, doors: _doors, .. } =
            self.launcher.start(spec).expect("it starts");
        drop(stdin);
        let (stdout, stderr) = tokio::join!(text(stdout), text(stderr));
        (stdout, stderr, soon(process.wait()).await.expect("a child of ours").code())
    }
}

async fn text(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    soon(stream.read_to_end(&mut bytes)).await.expect("output");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("it happens before the deadline")
}
