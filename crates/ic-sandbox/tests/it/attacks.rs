//! Native code in a worker that has tightened itself: nothing works but asking.
//!
//! The attacker is C, loaded into the real worker in a real cage; it is compiled with the compiler
//! that the engine was compiled with.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ic_confine::{Access, CageSpec, Child, ChildSpec, Hold, Launcher, Rung, Seen};
use tokio::io::AsyncReadExt as _;

use crate::ground::{PROGRAM, soon, works};

fn compile(place: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/attack.c");
    let library = place.join("attack.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .args([library.as_os_str(), source.as_os_str()])
        .status()
        .expect("a compiler");
    assert!(status.success(), "the attacker does not compile");
    library
}

/// Runs a worker that is taken over; returns what it wrote and its exit code.
async fn attack(hold: Hold, library: &Path, variable: &str) -> (String, Option<i32>) {
    let spec = ChildSpec {
        program: PathBuf::from("/proc/self/exe"),
        arguments: ["code-worker", "134217728", "60"].map(Into::into).to_vec(),
        environment: vec![("LD_PRELOAD".into(), library.into()), (variable.into(), "1".into())],
        directory: None,
        grace: Duration::ZERO,
        hold,
    };
    let child = Launcher::at(PROGRAM).start(&spec).expect("it starts");
    let Child { stdin: _stdin, mut stdout, mut stderr, mut process, .. } = child;
    let (mut said, mut complained) = (String::new(), String::new());
    let (one, other) = soon(async {
        tokio::join!(stdout.read_to_string(&mut said), stderr.read_to_string(&mut complained))
    })
    .await;
    one.and(other).expect("text");
    let code = soon(process.wait()).await.expect("an end").code();
    (said + &complained, code)
}

#[track_caller]
fn check(said: &str, code: Option<i32>, what: &str) {
    let lines: Vec<_> = said.lines().collect();
    assert!(90 < lines.len(), "{what}: {code:?} {said}");
    for line in lines {
        match line.strip_prefix("+ ") {
            Some(line) => assert!(line.ends_with(": worked"), "{what}: {line}"),
            None => assert!(line.ends_with(": refused"), "{what}: {line}"),
        }
    }
    assert_eq!(code, Some(0), "{what}");
}

fn caged(rung: Rung, place: &Path, library: &Path) -> Hold {
    let seen = vec![Seen { path: library.to_owned(), access: Access::Read }];
    Hold::Caged(rung, CageSpec { seen, ..ic_sandbox::cage(place.to_owned()) })
}

#[tokio::test]
async fn a_worker_that_is_taken_over_can_only_ask() {
    let place = tempfile::Builder::new().prefix("worker").tempdir_in("/var/tmp").expect("a place");
    let library = compile(place.path());
    // Tightening does not depend on the cage that stands before it.
    let (said, code) = attack(Hold::Free, &library, "X").await;
    check(&said, code, "without a cage");
    for rung in Rung::ALL {
        if works(rung).await {
            let hold = caged(rung, place.path(), &library);
            let (said, code) = attack(hold.clone(), &library, "X").await;
            check(&said, code, rung.as_str());
            let (said, code) = attack(hold, &library, "ANOTHER_MACHINE").await;
            let is_refused = said == "call of another machine: refused\n";
            // 128 and the number of SIGSYS.
            assert!(
                is_refused || said.is_empty() && code == Some(128 + 31),
                "{rung}: {code:?} {said}"
            );
        }
    }
}
