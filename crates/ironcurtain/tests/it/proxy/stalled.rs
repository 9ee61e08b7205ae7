//! File systems that never answer: whoever asks about them is refused in time, and nobody else waits.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ic_testkit::proxy::Reads;
use ic_testkit::{Caller, Proxy};
use rustix::mount::{MountFlags, UnmountFlags};
use serde_json::{Value, json};

use super::rig;
use crate::place;

/// How long the disk may take to answer for one call.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// More than are looked at side by side.
const N_STUCK: usize = 6;

/// A mounted file system whose server reads no request.
struct Stalled {
    at: PathBuf,
    /// As long as it is open, whoever asks waits.
    _server: File,
}

impl Stalled {
    /// Mounts it; says so where that cannot be done.
    fn mount(at: PathBuf) -> Option<Self> {
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let server = match device {
            Ok(server) => server,
            Err(error) => return skipped(&format!("cannot open /dev/fuse: {error}")),
        };
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", server.as_raw_fd());
        let options = std::ffi::CString::new(options).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        match rustix::mount::mount("stalled", &at, "fuse", flags, Some(options.as_c_str())) {
            Ok(()) => Some(Self { at, _server: server }),
            Err(error) => skipped(&format!("cannot mount FUSE: {error}")),
        }
    }

    fn path(&self, name: &str) -> String {
        self.at.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.at, UnmountFlags::DETACH).unwrap();
    }
}

fn skipped<T>(why: &str) -> Option<T> {
    eprintln!("SKIPPED: nothing was tried with a file system that does not answer: {why}");
    None
}

/// Makes calls that are never answered by the disk, each by a client of its own, and others meanwhile.
///
/// Returns what the stuck calls were told.
fn while_stuck(
    socket: &Path,
    stuck: impl Fn(&mut Caller, usize) -> String + Sync,
    mut served: impl FnMut(&mut Caller, usize),
) -> Vec<String> {
    let is_done = AtomicBool::new(false);
    let mut other = Caller::begin(socket, "other");
    let clients: Vec<Caller> = (0..N_STUCK).map(|_| Caller::begin(socket, "stuck")).collect();
    std::thread::scope(|scope| {
        let (stuck, is_done) = (&stuck, &is_done);
        let waiting: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(at, mut client)| {
                scope.spawn(move || {
                    let began = Instant::now();
                    let told = stuck(&mut client, at);
                    is_done.store(true, Ordering::Release);
                    (told, began.elapsed())
                })
            })
            .collect();
        let (mut worst, mut n_served) = (Duration::ZERO, 0);
        while !is_done.load(Ordering::Acquire) {
            let began = Instant::now();
            other.request("ping", &json!({}));
            served(&mut other, n_served);
            worst = worst.max(began.elapsed());
            n_served += 1;
        }
        assert!(worst < ANSWER_MAX / 2, "a ping and a call took {worst:?} together");
        assert!(10 < n_served, "{n_served}");
        let told = waiting.into_iter().map(|it| it.join().unwrap()).map(|(told, took)| {
            assert!(ANSWER_MAX <= took && took < ANSWER_MAX * 3, "{took:?}: {told}");
            told
        });
        told.collect()
    })
}

#[track_caller]
fn assert_unanswered(told: &str) {
    assert!(told.contains("a file system did not answer within 10 seconds"), "{told}");
}

/// More of them than are looked at side by side keep nobody else from being served.
#[test]
fn a_path_on_a_file_system_that_never_answers_delays_its_own_call_alone() {
    let rig = rig();
    let mut arguments = rig.arguments();
    let socket = rig.place.path("sockets/proxy.sock");
    arguments.extend(["--socket".to_owned(), socket.to_str().unwrap().to_owned()]);
    let (there, at) = (rig.place.dir("allowed"), rig.place.dir("stalled"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let _proxy = Proxy::start_reading(&rig.place, &arguments, Reads::Everything);
    let path = |name: String| json!({ "path": there.join(name).to_str().unwrap() });
    // What the server needs to be started is not what is measured.
    Caller::begin(&socket, "first").call("rec__read", &path("first".to_owned())).good();
    let Some(stalled) = Stalled::mount(at) else { return };
    let told = while_stuck(
        &socket,
        |client, at| {
            client.call("rec__read", &json!({ "path": stalled.path(&format!("f{at}")) })).bad()
        },
        // What nobody has looked at before has to be asked of the disk, too.
        |client, at| drop(client.call("rec__read", &path(format!("f{at}"))).good()),
    );
    for told in told {
        assert_unanswered(&told);
    }
    drop(stalled);
    let is_stalled = |call: &Value| call.to_string().contains("stalled");
    assert!(!rig.received().iter().any(is_stalled), "{:?}", rig.received());
    rig.check_received();
}

/// Calls that change files wait for each other, and not for one that cannot even be looked at.
#[test]
fn a_write_to_a_file_system_that_never_answers_delays_no_other_write() {
    let place = place();
    let (socket, workspace) = (place.path("sockets/proxy.sock"), place.dir("workspace"));
    let at = place.dir("stalled");
    let words = ["--policy", "coding", "--workspace", workspace.to_str().unwrap(), "--socket"];
    let words = [&words[..], &[socket.to_str().unwrap()]].concat();
    let _proxy = Proxy::start_reading(&place, &words, Reads::Everything);
    let write = |path: &str| json!({"path": path, "content": "x"});
    let ours = |at: usize| workspace.join(format!("f{at}")).to_str().unwrap().to_owned();
    Caller::begin(&socket, "first").call("filesystem__write_file", &write(&ours(999))).good();
    let Some(stalled) = Stalled::mount(at) else { return };
    let told = while_stuck(
        &socket,
        |client, at| {
            let path = stalled.path(&format!("f{at}"));
            client.call("filesystem__write_file", &write(&path)).bad()
        },
        |client, at| drop(client.call("filesystem__write_file", &write(&ours(at))).good()),
    );
    for told in told {
        assert_unanswered(&told);
    }
    drop(stalled);
    assert!(workspace.join("f0").exists() && !place.path("stalled/f0").exists());
}
