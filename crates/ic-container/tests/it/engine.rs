//! The engine of the tests, and containers for them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ic_container::{Api, Container, ContainerLimits, Engine, Mount, Owner, Running, User};
use ic_home::Process;
use tokio::io::AsyncReadExt as _;

/// The user of the containers.
pub(crate) const USER: (u32, u32) = (54_321, 54_322);

/// Returns the engine; `None`, loudly, where there is none.
pub(crate) fn engine() -> Option<Arc<dyn Engine>> {
    #[expect(clippy::disallowed_methods, reason = "a test is configured by its environment")]
    let variable = |name: &str| std::env::var(name).ok();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/container-engine");
    let brought_up = || {
        #[expect(clippy::disallowed_methods, reason = "the script knows where its engine is")]
        let output = Command::new(script).arg("host").output().unwrap();
        let host = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        output.status.success().then_some(host)
    };
    let Some(host) = variable("DOCKER_HOST").or_else(brought_up) else {
        assert_ne!(variable("CI").as_deref(), Some("true"), "there is no container engine");
        say(b"SKIPPED: there is no container engine; `scripts/container-engine start` brings one up\n");
        return None;
    };
    let socket = host.strip_prefix("unix://").expect("the tests need a local engine").to_owned();
    Some(Arc::new(Api::new(socket)))
}

fn say(text: &[u8]) {
    std::io::Write::write_all(&mut std::io::stderr(), text).unwrap();
}

pub(crate) fn limits() -> ContainerLimits {
    let (memory_bytes, scratch_bytes) = (256 << 20, 32 << 20);
    ContainerLimits { memory_bytes, tasks: 64, cpus: 1.5, scratch_bytes, descriptors: 1024 }
}

/// Returns a container that runs a shell script.
pub(crate) fn container(script: &str, mounts: Vec<Mount>) -> Container {
    let home = PathBuf::from("/home/somebody/.ironcurtain").display().to_string();
    let (session, agent) = ("s-1".to_owned(), "codex".to_owned());
    Container {
        image: "ironcurtain-test-base".to_owned(),
        owner: Owner { session, process: Process::this().unwrap(), home, agent },
        user: User::new(USER.0, USER.1).unwrap(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        directory: "/tmp".to_owned(),
        mounts,
        limits: limits(),
        is_at_terminal: false,
    }
}

/// A name that no other test has.
pub(crate) fn name(of: &str) -> String {
    format!("ironcurtain-test-{of}-{}", std::process::id())
}

/// Runs a container to its end; returns its code, what it wrote and what it complained about.
pub(crate) async fn run(
    engine: &Arc<dyn Engine>,
    container: &Container,
    of: &str,
) -> (i32, String, String) {
    let (mut running, mut streams) = Running::start(engine, container, &name(of)).await.unwrap();
    drop(streams.stdin);
    let (mut out, mut complaint) = (Vec::new(), Vec::new());
    let (read, complained) = tokio::join!(
        streams.stdout.read_to_end(&mut out),
        streams.stderr.read_to_end(&mut complaint)
    );
    read.unwrap();
    complained.unwrap();
    let ended = running.wait().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (ended.code, text(out), text(complaint))
}

/// Returns a directory that the user of the containers can use.
pub(crate) fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    open(place.path());
    place
}

pub(crate) fn open(path: &Path) {
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path, all).unwrap();
}
