//! The home and the configuration under attack: keys in the environment, many processes, killed
//! ones, full and read-only disks, odd names, files of strangers.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ic_testkit::Place;
use serde_json::Value;

use crate::place;

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");
const KEY: &str = "sk-ant-this-must-not-be-seen";
const NOBODY: u32 = 65_534;
/// As Linux on x86-64 has it.
const O_NONBLOCK: i32 = 0o4000;

/// The binary with a written-out environment and the home at `root`.
fn command(root: &Path) -> Command {
    of(BINARY, root)
}

fn of(program: &str, root: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", root.parent().unwrap())
        .env("IRONCURTAIN_HOME", root)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the binary and returns its exit code and what it printed on both streams.
#[track_caller]
fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

#[track_caller]
fn assert_set(root: &Path, value: &str) {
    let (code, text) = run(command(root).args(["config", "get", "budget.maxSteps"]));
    assert_eq!((code, text.as_str()), (0, format!("{value}\n").as_str()));
}

fn config(root: &Path) -> Value {
    serde_json::from_slice(&fs::read(root.join("config.json")).unwrap()).unwrap()
}

fn temporary_files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).unwrap().map(|it| it.unwrap().path());
    entries.filter(|path| path.to_str().is_some_and(|path| path.contains("tmp."))).collect()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

// === keys in the environment ===

/// Starts a command that waits for a pipe, and returns when it does.
///
/// The pipe's other end can be opened only when it does, so no time is guessed.
fn start_waiting(place: &Place, variables: &[(&str, &str)]) -> (Child, fs::File) {
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = command(&place.path("home/.ironcurtain"))
        .args(["policy", "check", "--requests"])
        .arg(&pipe)
        .envs(variables.iter().copied())
        .spawn()
        .unwrap();
    loop {
        let open = fs::OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&pipe);
        match open {
            Ok(writer) => return (child, writer),
            Err(_) => assert!(child.try_wait().unwrap().is_none(), "it ended before it waited"),
        }
    }
}

#[test]
fn keys_are_in_no_environment_once_the_program_runs() {
    let place = place();
    let keys = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ];
    let longest = "k".repeat(4096);
    let variables = [(keys[0], KEY), (keys[1], &longest), (keys[2], &longest), ("LANG", "C")];
    let (mut child, writer) = start_waiting(&place, &variables);
    let proc = |name: &str| fs::read(format!("/proc/{}/{name}", child.id())).unwrap();
    let environ = String::from_utf8(proc("environ")).unwrap();
    for name in keys {
        assert!(!environ.contains(name), "{environ}");
    }
    assert!(!environ.contains(KEY) && !environ.contains(&longest), "{environ}");
    assert!(environ.contains("LANG=C\0"), "the rest of it is there: {environ}");
    // What a child would inherit is this same block; the command line shows no key either.
    let cmdline = String::from_utf8(proc("cmdline")).unwrap();
    assert!(cmdline.starts_with(BINARY) && cmdline.contains("\0policy\0check\0"), "{cmdline}");
    assert_eq!(proc("comm"), b"ironcurtain\n");

    // The pipe that the keys came through is empty, and nobody can write to it any more.
    let descriptor =
        environ.split('\0').find_map(|it| it.strip_prefix("IRONCURTAIN_KEYS_FD=")).unwrap();
    let mut pipe = fs::File::open(format!("/proc/{}/fd/{descriptor}", child.id())).unwrap();
    let mut left = Vec::new();
    pipe.read_to_end(&mut left).unwrap();
    assert_eq!(left, b"");
    drop(writer);
    assert!(child.wait().unwrap().success());
}

#[test]
fn without_keys_the_program_starts_once() {
    let place = place();
    let (mut child, writer) = start_waiting(&place, &[("ANTHROPIC_API_KEY", "")]);
    let environ = fs::read_to_string(format!("/proc/{}/environ", child.id())).unwrap();
    assert!(!environ.contains("IRONCURTAIN_KEYS_FD"), "{environ}");
    drop(writer);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_key_of_the_environment_is_in_force_and_never_printed() {
    let place = place().with_variable("ANTHROPIC_API_KEY", KEY);
    let set = place.run_with_input(["config", "set", "apiKey", "-"], b"sk-from-the-file\n");
    assert_eq!(set.code, 0, "{set:?}");
    assert_eq!(set.stderr, "warning: ANTHROPIC_API_KEY is set, and overrides the file\n");
    let output = place.run(["config", "explain", "apiKey"]);
    assert_eq!(
        output.stdout.replace(place.root().to_str().unwrap(), ""),
        "apiKey: <set>\n  key for Anthropic\n  \
         allowed: a key of 1 to 4096 printable ASCII characters without spaces\n \
         - flag: <not set>\n\
         => environment: ANTHROPIC_API_KEY: <set>\n \
         - file: /home/.ironcurtain/config.json: <set>\n \
         - default: none\n"
    );
    let stored = config(&place.path("home/.ironcurtain"));
    assert_eq!(stored["apiKey"], "sk-from-the-file", "the variable is not written to the file");
}

#[test]
fn an_environment_that_cannot_be_trusted_ends_the_program() {
    let place = place();
    let root = place.path("home/.ironcurtain");
    let list = |variables: &[(&str, &OsStr)]| {
        run(command(&root).args(["config", "list"]).envs(variables.iter().copied()))
    };
    let long = "k".repeat(4097);
    for (key, reason) in [
        (OsStr::new("two words"), "only printable ASCII characters without spaces may appear"),
        (OsStr::new("line\nbreak"), "only printable ASCII characters without spaces may appear"),
        (OsStr::from_bytes(b"\xff"), "only printable ASCII characters without spaces may appear"),
        (OsStr::new(&long), "it is longer than 4096 bytes"),
    ] {
        let (code, text) = list(&[("OPENAI_API_KEY", key)]);
        let expected = format!(
            "error: OPENAI_API_KEY does not hold a key: {reason}\n\nhint: correct the variable, or unset it\n"
        );
        assert_eq!((code, text), (1, expected));
    }
    for (variables, reason) in [
        (&[("IRONCURTAIN_KEYS_FD", "9"), ("OPENAI_API_KEY", KEY)][..], "is for the program itself"),
        (&[("IRONCURTAIN_KEYS_FD", "x")], "is not a descriptor"),
        (&[("IRONCURTAIN_KEYS_FD", "../../../etc/passwd")], "is not a descriptor"),
        (&[("IRONCURTAIN_KEYS_FD", "999")], "No such file"),
        (&[("IRONCURTAIN_KEYS_FD", "0")], "is not a descriptor that IronCurtain made"),
    ] {
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, OsStr::new(*value))).collect();
        let (code, text) = list(&variables);
        assert!(code == 1 && text.contains(reason) && !text.contains(KEY), "{code} {text}");
    }
}

#[test]
fn nothing_in_the_working_directory_configures_anything() {
    let place = place();
    for name in [".env", "config.json", ".ironcurtain/config.json", ".envrc"] {
        place.write(
            name,
            "ANTHROPIC_BASE_URL=https://evil.example\n{\"version\":1,\"confinement\":\"off\"}",
        );
    }
    assert_eq!(place.run(["config", "get", "baseUrls.anthropic"]).stdout, "null\n");
    assert_eq!(place.run(["config", "get", "confinement"]).stdout, "enforce\n");
}

// === many processes, killed processes ===

#[test]
fn twenty_processes_set_twenty_keys_and_lose_none() {
    let place = place();
    let root = place.path("home/.ironcurtain");
    let values = [
        ("agentModelId", "a"),
        ("policyModelId", "b"),
        ("fastModelId", "c"),
        ("apiKey", "k1"),
        ("openaiApiKey", "k2"),
        ("googleApiKey", "k3"),
        ("baseUrls.anthropic", "https://a.example"),
        ("baseUrls.openai", "https://o.example"),
        ("escalationTimeoutSeconds", "9"),
        ("protectedPaths", "[]"),
        ("session.autoSave", "false"),
        ("session.maxSessions", "8"),
        ("budget.maxTotalTokens", "7"),
        ("budget.maxSteps", "6"),
        ("budget.warnPercent", "5"),
        ("agent.cpus", "4"),
        ("agent.memoryMb", "333"),
        ("agent.budget.maxTotalTokens", "22"),
        ("agent.apiKeys.codex", "k4"),
        ("audit.sync", "each"),
    ];
    let children: Vec<Child> = values
        .iter()
        .map(|(key, value)| command(&root).args(["config", "set", key, value]).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let (code, list) = run(command(&root).args(["config", "list"]));
    assert_eq!((code, list.matches("(file)").count()), (0, 20), "{list}");
    assert_eq!(temporary_files(&root), [] as [PathBuf; 0]);
}

#[test]
fn a_process_that_is_killed_leaves_a_whole_file() {
    const ROUNDS: u64 = 100;
    let place = place();
    let root = place.path("home/.ironcurtain");
    let set = |steps: u64| {
        let steps = steps.to_string();
        command(&root).args(["config", "set", "budget.maxSteps", &steps]).spawn().unwrap()
    };
    // How long a whole life is, counted in turns of a loop: no clock, and no guess.
    let mut child = set(1);
    let mut n_turns = 0;
    while child.try_wait().unwrap().is_none() {
        n_turns += 1;
    }
    let (mut n_killed, mut n_left_over) = (0, 0);
    for round in 2..ROUNDS {
        let mut child = set(round);
        for _ in 0..n_turns * round / ROUNDS {
            child.try_wait().unwrap();
        }
        child.kill().unwrap();
        n_killed += u64::from(child.wait().unwrap().code().is_none());
        n_left_over += temporary_files(&root).len();
        let steps = config(&root)["budget"]["maxSteps"].as_u64().unwrap();
        assert!((1..=round).contains(&steps), "{steps} after {round}");
    }
    eprintln!("{n_killed} killed, {n_left_over} temporary files seen");
    assert!(0 < n_killed, "nobody was killed, so nothing was tested");
    assert!(set(99).wait().unwrap().success());
    assert_set(&root, "99");
    assert_eq!(temporary_files(&root), [] as [PathBuf; 0], "the next start sweeps");
}

// === disks ===

/// A small file system of its own, unmounted when dropped.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// Mounts one, if that is possible here.
    pub(crate) fn mount(at: PathBuf, options: &str) -> Option<Self> {
        let done = is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", options, "tmpfs"])
                .arg(&at)
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success());
        if !done {
            eprintln!("SKIPPED: no file system can be mounted here");
        }
        done.then_some(Self(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_and_changes_nothing() {
    let place = place();
    let Some(disk) = Disk::mount(place.dir("disk"), "size=64k,mode=0700") else { return };
    let root = disk.0.join("home");
    assert_eq!(run(command(&root).args(["config", "set", "budget.maxSteps", "5"])).0, 0);
    let before = fs::read(root.join("config.json")).unwrap();
    let mut filler = fs::File::create(disk.0.join("filler")).unwrap();
    while filler.write_all(&[0; 512]).is_ok() {}
    let (code, text) = run(command(&root).args(["config", "set", "budget.maxSteps", "6"]));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot write `") && text.contains("No space left on device"), "{text}");
    assert_eq!(fs::read(root.join("config.json")).unwrap(), before);
    assert_eq!(temporary_files(&root), [] as [PathBuf; 0]);
    let (code, text) =
        run(command(&disk.0.join("other")).args(["config", "set", "budget.maxSteps", "6"]));
    assert!(code == 1 && text.contains("No space left on device"), "{text}");
}

#[test]
fn a_write_that_is_cut_short_changes_nothing() {
    let place = place();
    let root = place.path("home/.ironcurtain");
    assert_eq!(run(command(&root).args(["config", "set", "budget.maxSteps", "5"])).0, 0);
    let before = fs::read(root.join("config.json")).unwrap();
    // No file may grow, and the signal that says so is ignored.
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {BINARY} config set budget.maxSteps 6");
    let (code, text) = run(of("bash", &root).args(["-c", &script]));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot write `") && text.contains("File too large"), "{text}");
    assert_eq!(fs::read(root.join("config.json")).unwrap(), before);
    assert_eq!(temporary_files(&root), [] as [PathBuf; 0]);
}

#[test]
fn a_read_only_disk_can_be_read_and_says_so_when_written_to() {
    let place = place();
    let Some(disk) = Disk::mount(place.dir("disk"), "size=64k,mode=0700") else { return };
    let root = disk.0.join("home");
    assert_eq!(run(command(&root).args(["config", "set", "budget.maxSteps", "5"])).0, 0);
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap();
    assert!(remount.success());
    assert_set(&root, "5");
    let (code, text) = run(command(&root).args(["config", "set", "budget.maxSteps", "6"]));
    assert!(code == 1 && text.contains("Read-only file system"), "{text}");
    assert_set(&root, "5");
}

/// The binary run by an ordinary user, who owns `place`.
fn as_user(place: &Place, root: &Path) -> Option<Command> {
    if !is_root() {
        return Some(command(root));
    }
    let mut command = of("setpriv", root);
    command.args([&format!("--reuid={NOBODY}"), "--clear-groups", BINARY]);
    let chown = Command::new("chown").args(["-R", &NOBODY.to_string()]).arg(place.root()).status();
    let works = chown.is_ok_and(|it| it.success())
        && of("setpriv", root)
            .args([&format!("--reuid={NOBODY}"), "--clear-groups", BINARY, "--version"])
            .output()
            .is_ok_and(|it| it.status.success());
    if !works {
        eprintln!("SKIPPED: root cannot become an ordinary user here");
    }
    works.then_some(command)
}

#[test]
fn rights_that_are_missing_are_named() {
    let place = place();
    let root = place.path("home/.ironcurtain");
    let chmod = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let Some(mut user) = as_user(&place, &root) else { return };
    let (code, text) = run(user.args(["config", "set", "budget.maxSteps", "5"]));
    assert_eq!((code, text.as_str()), (0, ""));

    // The home itself cannot be written to: its owner may change that, so we do.
    chmod(&root, 0o500);
    let mut user = as_user(&place, &root).unwrap();
    assert_eq!(run(user.args(["config", "set", "budget.maxSteps", "6"])), (0, String::new()));
    assert_eq!(fs::metadata(&root).unwrap().mode() & 0o777, 0o700);

    // The directory above cannot be written to, and there is no home yet.
    chmod(&place.path("home"), 0o500);
    let other = place.path("home/other");
    let mut user = as_user(&place, &other).unwrap();
    let (code, text) = run(user.args(["config", "set", "budget.maxSteps", "6"]));
    assert!(
        code == 1
            && text.contains("cannot create the directory")
            && text.contains("Permission denied"),
        "{text}"
    );
    chmod(&place.path("home"), 0o700);

    // A file that its owner may not read.
    chmod(&root.join("config.json"), 0o000);
    let mut user = as_user(&place, &root).unwrap();
    let (code, text) = run(user.args(["config", "get", "budget.maxSteps"]));
    assert!(
        code == 1 && text.contains("cannot read") && text.contains("Permission denied"),
        "{text}"
    );
}

#[test]
fn a_home_of_another_user_is_refused_with_a_remedy() {
    if !is_root() {
        eprintln!("SKIPPED: only root can make a home of another user");
        return;
    }
    let place = place();
    let root = place.dir("home/.ironcurtain");
    std::os::unix::fs::chown(&root, Some(NOBODY), None).unwrap();
    let (code, text) = run(command(&root).args(["config", "set", "budget.maxSteps", "6"]));
    assert!(
        code == 1 && text.contains("belongs to another user (id 65534, and we are 0)"),
        "{text}"
    );
    assert!(text.contains("hint: make it yours with chown"), "{text}");
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
}

// === odd places ===

#[test]
fn homes_with_odd_names_and_behind_links_work() {
    let place = place();
    symlink(place.dir("real"), place.path("link")).unwrap();
    let odd = [
        place.path("with spaces and 'quotes'"),
        place.path(OsString::from(OsStr::from_bytes(b"not\xfftext\n"))),
        place.path("link"),
        place.path("link/below"),
    ];
    for root in &odd {
        let set = run(command(root).args(["config", "set", "budget.maxSteps", "5"]));
        assert_eq!(set, (0, String::new()), "{}", root.display());
        assert_set(root, "5");
        let path = command(root).args(["config", "path"]).output().unwrap().stdout;
        let expected = [root.join("config.json").as_os_str().as_bytes(), b"\n"].concat();
        assert_eq!(path, expected, "byte by byte");
    }
    let shm = Path::new("/dev/shm");
    if shm.is_dir() {
        let elsewhere = shm.join(format!("ironcurtain-test-{}", std::process::id()));
        let set = run(command(&elsewhere).args(["config", "set", "budget.maxSteps", "5"]));
        assert_set(&elsewhere, "5");
        fs::remove_dir_all(&elsewhere).unwrap();
        assert_eq!(set, (0, String::new()));
    } else {
        eprintln!("SKIPPED: there is no /dev/shm");
    }
}

#[test]
fn a_home_that_is_gone_or_no_directory_is_said_so() {
    let place = place();
    let file = place.write("file", "");
    for (root, expected) in [
        (place.path("gone/home"), "the directory above it does not exist"),
        (file.clone(), "is not a directory"),
        (file.join("home"), "Not a directory"),
    ] {
        let (code, text) = run(command(&root).args(["config", "set", "budget.maxSteps", "5"]));
        assert!(code == 1 && text.contains(expected), "{}: {text}", root.display());
    }
    let script = format!(
        "mkdir here && cd here && rmdir ../here && IRONCURTAIN_HOME=relative exec {BINARY} config set budget.maxSteps 5"
    );
    let (code, text) =
        run(of("bash", &place.path("x")).current_dir(place.root()).args(["-c", &script]));
    assert!(
        code == 2 && text.contains("cannot use the path `relative`: it is not absolute"),
        "{code} {text}"
    );
}

#[test]
fn links_in_the_home_are_not_written_through() {
    let place = place();
    let root = place.path("home/.ironcurtain");
    assert_eq!(run(command(&root).args(["config", "set", "budget.maxSteps", "5"])).0, 0);
    let outside = place.write("outside.json", r#"{"version":1}"#);
    fs::remove_file(root.join("config.json")).unwrap();
    symlink(&outside, root.join("config.json")).unwrap();
    for words in [&["set", "budget.maxSteps", "6"][..], &["get", "budget.maxSteps"]] {
        let (code, text) = run(command(&root).arg("config").args(words));
        assert!(code == 1 && text.contains("is a link, and is not followed"), "{text}");
    }
    fs::remove_file(root.join("config.json")).unwrap();
    fs::remove_file(root.join("config.lock")).unwrap();
    let target = place.path("made-through-a-link");
    symlink(&target, root.join("config.lock")).unwrap();
    let (code, text) = run(command(&root).args(["config", "set", "budget.maxSteps", "6"]));
    assert!(code == 1 && text.contains("config.lock` is a link"), "{text}");
    assert!(!target.exists());
    assert_eq!(fs::read_to_string(outside).unwrap(), r#"{"version":1}"#);
}

#[test]
fn whatever_the_umask_the_home_is_private() {
    for umask in ["000", "077", "777"] {
        let place = place();
        let root = place.path("home/.ironcurtain");
        let script = format!("umask {umask}; exec {BINARY} config set budget.maxSteps 5");
        let set = run(of("bash", &root).args(["-c", &script]));
        assert_eq!(set, (0, String::new()), "{umask}");
        for (path, expected) in [
            ("", 0o700),
            ("keys", 0o700),
            ("sessions", 0o700),
            ("config.json", 0o600),
            ("config.lock", 0o600),
        ] {
            let mode = fs::metadata(root.join(path)).unwrap().mode() & 0o7777;
            assert_eq!(mode, expected, "{path} with umask {umask}");
        }
    }
}
