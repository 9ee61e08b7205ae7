//! What a server is given: its arguments, its environment, its directory, three descriptors.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use ic_confine::{Child, ChildSpec, Confinement, StartError};
use rustix::io::FdFlags;

use super::{Lines, PATH, Process, launcher, run, script, spec, start};

#[tokio::test]
async fn arguments_arrive_unchanged() {
    let odd = [
        "",
        " ",
        "two words",
        "it's \"quoted\"",
        "line\nbreak",
        "$(touch /tmp/owned)",
        "`id`",
        "; exit 1",
        "a&b|c>d",
        "--",
        "-x",
        "__launch",
        "*",
        "~",
        "\\",
        "$HOME",
        "Ünï",
    ];
    let print = "for argument; do printf '%s\\0' \"$argument\"; done";
    let arguments = ["-c", print, "sh"].iter().chain(&odd).copied().collect::<Vec<_>>();
    let (stdout, stderr, code) = run(&spec("sh", &arguments)).await;
    assert_eq!(stdout.strip_suffix('\0').expect("an end").split('\0').collect::<Vec<_>>(), odd);
    assert_eq!((stderr.as_str(), code), ("", Some(0)));
}

#[tokio::test]
async fn arguments_need_not_be_text() {
    let odd = OsString::from_vec(vec![0xff, 0xfe, b'/', 0x80]);
    let mut child = script("printf %s \"$1\" | od -An -tx1");
    child.arguments.extend(["sh".into(), odd]);
    assert_eq!(run(&child).await.0.trim(), "ff fe 2f 80");
}

#[tokio::test]
async fn a_server_is_called_what_was_written() {
    let Child { stdin, stdout, process, .. } = start(&script("echo $$; read line"));
    let server = Lines::of(stdout).processes(1).await.remove(0);
    let command = fs::read(format!("/proc/{}/cmdline", server.pid)).expect("it runs");
    assert_eq!(command, b"sh\0-c\0echo $$; read line\0");
    drop((stdin, process));
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_written() {
    assert_ne!(std::env::vars_os().count(), 0, "we have something to give away");
    let written = [
        ("PATH", PATH),
        ("EMPTY", ""),
        ("+", "plus"),
        ("a b", "c d"),
        ("EQUALS", "x=y=z"),
        ("LINES", "one\ntwo"),
        ("SECRET", "sk-written-for-it"),
    ];
    let written = written.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut child = spec("env", &["-0"]);
    child.environment = written.to_vec();
    let (stdout, stderr, code) = run(&child).await;
    let expected = written.map(|(name, value)| {
        [name, value].join(OsStr::new("=")).into_string().expect("written as text")
    });
    let given = stdout.split_terminator('\0').map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(given, BTreeSet::from(expected));
    assert_eq!((stderr.as_str(), code), ("", Some(0)));
}

#[tokio::test]
async fn an_empty_environment_stays_empty() {
    let mut child = spec("/usr/bin/env", &[]);
    child.environment.clear();
    assert_eq!(run(&child).await, (String::new(), String::new(), Some(0)));
}

/// What the loader is told would otherwise run in the guard, which is not going to be confined.
#[tokio::test]
async fn the_loader_obeys_a_server_only_in_the_server() {
    let mut child = spec("env", &[]);
    child.environment.push(("LD_PRELOAD".into(), "/nowhere/planted.so".into()));
    let (stdout, stderr, code) = run(&child).await;
    assert!(stdout.lines().any(|line| line == "LD_PRELOAD=/nowhere/planted.so"), "{stdout}");
    // The loader complains once for each program that it loads with this variable.
    assert!(stderr.matches("planted.so").count() <= 1, "{stderr}");
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn a_server_has_three_descriptors() {
    // What whoever started us might have left open: a file, a directory, a pipe, a socket.
    let file = rustix::fd::OwnedFd::from(fs::File::open("/etc/passwd").expect("a file"));
    let directory = rustix::fd::OwnedFd::from(fs::File::open("/").expect("a directory"));
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let (socket, _peer) = UnixStream::pair().expect("sockets");
    let left_open = [file, directory, reader, writer, socket.into()];
    for descriptor in &left_open {
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty()).expect("ours");
    }

    let text = "echo $$; read line";
    let mut plain = std::process::Command::new("sh")
        .args(["-c", text])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a shell");
    let n_plain = descriptors(&plain.id().to_string()).len();
    plain.kill().expect("ours");
    plain.wait().expect("ours");
    assert!(3 + left_open.len() <= n_plain, "a plain child gets {n_plain}");

    let Child { stdin, stdout, process, .. } = start(&script(text));
    let server = Lines::of(stdout).processes(1).await.remove(0);
    let given = descriptors(&server.pid.to_string());
    assert_eq!(given, BTreeSet::from(["0", "1", "2"].map(str::to_owned)));
    drop((stdin, process));
}

fn descriptors(pid: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a number"))
        .collect()
}

#[tokio::test]
async fn a_server_is_in_its_directory() {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().canonicalize().expect("it exists").join("with space");
    fs::create_dir(&directory).expect("a directory");
    let mut child = spec("pwd", &["-P"]);
    child.directory = Some(directory.clone());
    assert_eq!(run(&child).await.0, format!("{}\n", directory.display()));

    // And a path with a slash starts there, wherever we are.
    tool(&directory, "#!/bin/sh\necho \"$0\"\n");
    let child = ChildSpec { directory: Some(directory.clone()), ..spec("./tool", &[]) };
    assert_eq!(run(&child).await.0, format!("{}/./tool\n", directory.display()));
}

/// The keys that are pressed at our terminal are for us, and what is sent to the server's group is
/// not for its guard.
#[tokio::test]
async fn a_server_has_its_own_session_and_group() {
    let Child { stdin, stdout, process, .. } = start(&script("echo $$; read line"));
    let server = Lines::of(stdout).processes(1).await.remove(0);
    let guard = process.id().to_string();
    let own = server.pid.to_string();
    assert_eq!(server.status()[1..5], [guard.as_str(), &own, &guard, "0"]);
    assert_eq!(process.confinement(), Confinement::None);
    assert_eq!(process.confinement().to_string(), "none");
    drop((stdin, process));
}

#[track_caller]
fn check_refused(spec: &ChildSpec, expected: &str) {
    let error = launcher().start(spec).expect_err("it cannot start");
    let remedy = error.remedy().expect("somebody can do something");
    assert_eq!(format!("{error} ({remedy})"), expected);
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_with_a_remedy() {
    check_refused(
        &spec("no-such-server", &[]),
        &format!(
            "there is no program `no-such-server` in `{PATH}` (install it, write its whole path, or \
             add its directory to the `PATH` in its environment)"
        ),
    );
    check_refused(
        &spec("/no/such/server", &[]),
        "there is no program `/no/such/server` (install it, or correct the path)",
    );
    check_refused(
        &spec("/etc/passwd", &[]),
        "the program `/etc/passwd` is not executable (run `chmod +x /etc/passwd` if it is meant to \
         be run)",
    );
    check_refused(
        &spec("/usr", &[]),
        "`/usr` is not a program: it is not a file (write the path of the program itself)",
    );
    check_refused(
        &ChildSpec { environment: Vec::new(), ..spec("sh", &[]) },
        "cannot look for the program `sh`: its environment has no `PATH` (write the whole path of \
         the program, or give its environment a `PATH`)",
    );
    check_refused(
        &ChildSpec { directory: Some("here".into()), ..spec("sh", &[]) },
        "the working directory `here` is not an absolute path (write the whole path of the \
         directory)",
    );
    for directory in ["/no/such/place", "/etc/passwd"] {
        check_refused(
            &ChildSpec { directory: Some(directory.into()), ..spec("sh", &[]) },
            &format!(
                "cannot use the working directory `{directory}` (make the directory, or name one \
                 that you may enter)"
            ),
        );
    }
    check_refused(
        &spec("sh", &["-c", "a\0b"]),
        "argument 2 contains a NUL byte (take the NUL byte out)",
    );
}

#[tokio::test]
async fn variables_that_would_smuggle_others_are_refused() {
    for (name, value) in [("", "x"), ("A=B", "x"), ("=", "x"), ("A\0B=C", "x"), ("A", "x\0B=C")] {
        let mut child = spec("sh", &[]);
        child.environment.push((name.into(), value.into()));
        let error = launcher().start(&child).expect_err("it cannot start");
        assert!(matches!(&error, StartError::Variable { name: told } if *told == *name), "{error}");
    }
}

#[test]
fn without_a_runtime_nothing_is_started() {
    let error = launcher().start(&spec("sh", &[])).expect_err("there is no runtime");
    assert!(matches!(error, StartError::NoRuntime { .. }), "{error}");
}

#[tokio::test]
async fn a_script_without_its_interpreter_says_so() {
    let place = tempfile::tempdir().expect("a directory");
    let tool = tool(place.path(), "#!/no/such/interpreter\n");
    let expected = format!(
        "ironcurtain: cannot run `{}`: the file is there, but the interpreter that its first line \
         names is not, or its loader, or its cage does not show them\n",
        tool.display()
    );
    assert_eq!(run(&spec(tool, &[])).await, (String::new(), expected, Some(127)));
}

/// The C library would hand such a file to a shell.
#[tokio::test]
async fn no_shell_runs_what_the_system_does_not() {
    let place = tempfile::tempdir().expect("a directory");
    for text in ["touch owned\n", "", "\n#!/bin/sh\n", "#", " #!/bin/sh\ntouch owned\n", "\x7fEL"] {
        let tool = tool(place.path(), text);
        let child = ChildSpec { directory: Some(place.path().into()), ..spec(tool.clone(), &[]) };
        check_refused(
            &child,
            &format!(
                "`{}` is neither a script nor a program for this system (begin a script with `#!` \
                 and its interpreter, or name the interpreter as the program and the file as its \
                 argument)",
                tool.display()
            ),
        );
    }
    // Nor if somebody gets past the first check.
    let tool = tool(place.path(), "touch owned\n");
    let own = std::process::id().to_string();
    let output = crate::place().run([
        "__launch",
        "become",
        &own,
        "free",
        "tool",
        tool.to_str().expect("UTF-8"),
    ]);
    assert_eq!((output.code, output.stdout.as_str()), (126, ""));
    assert!(output.stderr.contains("is neither a script nor a program"), "{}", output.stderr);
    assert!(!place.path().join("owned").exists(), "it was run");
}

fn tool(directory: &Path, text: &str) -> PathBuf {
    let tool = directory.join("tool");
    fs::write(&tool, text).expect("a file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    tool
}

#[tokio::test]
async fn a_server_outlives_the_thread_that_started_it() {
    let runtime = tokio::runtime::Handle::current();
    let started = std::thread::spawn(move || {
        let _entered = runtime.enter();
        start(&script("echo $$; read line; echo still here"))
    });
    let Child { stdin, stdout, mut process, .. } = started.join().expect("it starts");
    let mut lines = Lines::of(stdout);
    let server: Vec<Process> = lines.processes(1).await;
    super::assert_all_run(&server);
    drop(stdin);
    assert_eq!(lines.next().await.as_deref(), Some("still here"));
    assert_eq!(process.wait().await.expect("ours").code(), Some(0));
}
