//! Attacks on the socket of a proxy: other users, other processes, and what lies in its place.

#![expect(clippy::disallowed_methods, reason = "a test puts things in place and looks at them")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};

use super::*;

fn directory(mode: u32) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(mode)).unwrap();
    let path = directory.path().join("proxy.sock");
    (directory, path)
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[track_caller]
fn check_refused(bound: Result<Socket, SocketError>, part: &str) {
    let error = bound.expect_err("it is refused").to_string();
    assert!(error.contains(part), "{error}");
}

#[tokio::test]
async fn a_socket_and_the_directory_that_is_made_for_it_are_the_users_alone() {
    let (_directory, path) = directory(0o755);
    let path = path.parent().unwrap().join("new/proxy.sock");
    let socket = Socket::bind(&path).await.unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let client = StdStream::connect(&path).unwrap();
    socket.accept().await;
    drop((client, socket));
    assert!(std::fs::symlink_metadata(&path).is_err(), "its name is removed");
}

#[tokio::test]
async fn a_directory_in_which_others_could_replace_the_socket_is_refused() {
    for (mode, is_refused) in [(0o777, true), (0o770, true), (0o1777, false), (0o755, false)] {
        let (_directory, path) = directory(mode);
        match (Socket::bind(&path).await, is_refused) {
            (Ok(_), false) => {}
            (bound, true) => check_refused(bound, "others may write"),
            (Err(error), false) => panic!("{mode:o}: {error}"),
        }
    }
}

#[tokio::test]
async fn what_a_process_left_is_replaced_and_what_lives_is_not() {
    let (_directory, path) = directory(0o700);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let first = Socket::bind(&path).await.expect("nobody answered there");
    check_refused(Socket::bind(&path).await, "a process that runs");
    StdStream::connect(&path).unwrap();
    first.accept().await;
}

#[tokio::test]
async fn whatever_else_has_the_name_stays() {
    let (directory, path) = directory(0o700);
    std::fs::write(&path, "a letter").unwrap();
    check_refused(Socket::bind(&path).await, "not a socket of yours");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter");
    std::fs::remove_file(&path).unwrap();
    // A link to a socket that nobody listens on would otherwise be a way to remove it.
    let other = directory.path().join("other.sock");
    drop(std::os::unix::net::UnixListener::bind(&other).unwrap());
    symlink(&other, &path).unwrap();
    check_refused(Socket::bind(&path).await, "not a socket of yours");
    assert!(std::fs::symlink_metadata(&other).is_ok());
}

#[tokio::test]
async fn of_many_that_start_at_once_one_listens() {
    let (_directory, path) = directory(0o700);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let path = path.clone();
        starting.spawn(async move { Socket::bind(&path).await });
    }
    let bound = starting.join_all().await;
    let n_listening = bound.iter().filter(|bound| bound.is_ok()).count();
    assert_eq!(n_listening, 1);
    StdStream::connect(&path).expect("and its name still leads to it");
}

#[tokio::test]
async fn a_name_that_is_somebody_elses_by_then_is_not_removed() {
    let (_directory, path) = directory(0o700);
    let socket = Socket::bind(&path).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    drop(socket);
    assert!(std::fs::symlink_metadata(&path).is_ok());
}

#[tokio::test]
async fn a_path_that_is_too_long_for_an_address_is_none_for_us() {
    let (directory, _) = directory(0o700);
    let deep = directory.path().join("d".repeat(120));
    Socket::bind(&deep.join("proxy.sock")).await.unwrap();
    check_refused(Socket::bind(&directory.path().join("n".repeat(120))).await, "cannot listen");
    check_refused(Socket::bind(Path::new("/")).await, "not a valid socket path");
}

#[test]
fn only_the_same_user_is_let_in() {
    for (peer, us, is_in) in [(1000, 1000, true), (0, 1000, false), (1001, 1000, false)] {
        assert_eq!(is_let_in(peer, us), is_in, "{peer} to {us}");
    }
}

/// Whoever connects without end keeps out itself, and nobody who comes after one of its clients has gone.
#[tokio::test]
async fn one_process_has_only_so_many_connections() {
    let (_directory, path) = directory(0o700);
    let socket = Socket::bind(&path).await.unwrap();
    let connect = || StdStream::connect(&path).unwrap();
    let mut held = Vec::new();
    for _ in 0..PER_PROCESS_MAX {
        let client = connect();
        held.push((client, socket.accept().await));
    }
    let mut turned_away = connect();
    let accepting = tokio::time::timeout(Duration::from_millis(200), socket.accept());
    assert!(accepting.await.is_err(), "one more was let in");
    turned_away.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let n_bytes = io::Read::read(&mut turned_away, &mut [0]).expect("it is closed");
    assert_eq!(n_bytes, 0);
    // One that goes makes room.
    held.pop();
    let _client = connect();
    let _accepted = socket.accept().await;
    // Another process has its own; the system says which it is.
    let one = Arc::new(OwnedFd::from(connect()));
    assert!(Seat::take(&socket.connected, Some(1), &one).is_some());
    let ours = Some(std::process::id().cast_signed());
    assert!(Seat::take(&socket.connected, ours, &one).is_none());
    // One that has gone does not count, whatever still runs for it.
    drop(held.last_mut().map(|(client, _)| client.shutdown(std::net::Shutdown::Both)));
    assert!(Seat::take(&socket.connected, ours, &one).is_some());
    held.clear();
    assert_eq!(locked(&socket.connected).len(), 1, "what is gone is forgotten");
}
