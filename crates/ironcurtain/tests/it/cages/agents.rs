//! The cage of an agent: what a program in it sees, what it can do that a server cannot, and attacks from
//! inside, each of which succeeds outside first.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::time::Duration;

use ic_analysis::Inhabitant;
use ic_backend::{AgentCage, AgentCageParts, AgentGit, Caged, CagedProgram, DoorListener};
use ic_confine::{CageSpec, ChildSpec, EXIT_EXCESS, EXIT_FULL, Hold, Limits, Relaxation, Rung};
use ic_judge::Judge;
use ic_policy::artifact::Source;
use ic_policy::{Bounds, PolicySources, Sandbox, SandboxKind};
use ic_resolve::RealDisk;
use ic_types::{AbsolutePath, CanonicalPath};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{DEADLINE, Ground, PATH, on_rungs, soon, text};

const DOOR: u16 = 8137;
const TOKEN: &str = "canary-7d21f0ab";

/// Files of the host, beneath the place of the test.
const FILES: [&str; 12] = [
    "home/.ssh/id",
    "other/secret",
    "session/escalations/request.json",
    "work/a.txt",
    "work/keep/key",
    "work/secrets/x",
    "work/src/a",
    "work/deep/src/a",
    "work/.envrc",
    "work/.git/HEAD",
    "work/.git/config",
    "work/.git/hooks/pre-commit",
];

/// Everything that the host has while an attack lasts.
struct Host {
    _sockets: Vec<UnixListener>,
    port: std::net::TcpListener,
}

/// Makes the files, directories and sockets of the host anew.
fn furnish(ground: &Ground) -> Host {
    for name in ["home", "other", "session", "work", "state"] {
        std::fs::remove_dir_all(ground.path(name)).ok();
        std::fs::create_dir_all(ground.path(name)).unwrap();
    }
    for name in FILES {
        let path = ground.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, TOKEN).unwrap();
    }
    std::fs::write(ground.path("work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(ground.path("work/.git/config"), "[core]\n\tbare = false\n").unwrap();
    for name in ["work/.git/objects", "work/.git/refs"] {
        std::fs::create_dir_all(ground.path(name)).unwrap();
    }
    let abstract_name = format!("{TOKEN}-{}", ground.place.path().display());
    let sockets = vec![
        UnixListener::bind(ground.path("work/sock")).unwrap(),
        UnixListener::bind(ground.path("other/sock")).unwrap(),
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(abstract_name).unwrap()).unwrap(),
    ];
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    Host { _sockets: sockets, port }
}

/// A workspace with places that rules close, and something protected in it.
fn judge(ground: &Ground) -> Judge {
    let rule = |name: &str, roles: &[&str], within: &str| {
        json!({"name": name, "description": "", "principle": "", "reason": "", "then": "deny",
            "if": {"paths": {"roles": roles, "within": ground.path(within)}}})
    };
    let rules = json!({"rules": [
        rule("src", &["write-path", "delete-path"], "work/src"),
        rule("deep", &["write-path", "delete-path"], "work/deep/src"),
        rule("secrets", &["read-path"], "work/secrets"),
    ]})
    .to_string();
    let annotations = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../ic-policy/policies/tool-annotations.json");
    let annotations = std::fs::read(annotations).unwrap();
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: rules.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: &annotations },
        lists: None,
    };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    let path = |name: &str| CanonicalPath::new(ground.path(name)).unwrap();
    let home = AbsolutePath::new(ground.path("home")).unwrap();
    Judge {
        policy: ic_policy::Policy::load(&sources, &locate).unwrap(),
        bounds: Bounds {
            sandbox: Some(Sandbox { path: path("work"), kind: SandboxKind::Workspace }),
            protected: vec![path("work/keep"), path("home/.ssh"), path("session")],
            home_executes: Vec::new(),
            servers: std::collections::HashMap::new(),
        },
        orders: ic_resolve::Orders::of_user(&home),
        heads: ic_judge::heads::Heads::default(),
        earlier: Vec::new(),
        seen_as: None,
        home,
    }
}

fn plan(ground: &Ground, judge: &Judge, limits: Limits) -> AgentCage {
    let state = AbsolutePath::new(ground.path("state")).unwrap();
    let parts = AgentCageParts {
        inhabitant: Inhabitant::Agent,
        judge,
        shown: &[],
        programs: &[],
        state: Some(&state),
        private: &ground.path("scratch"),
        doors: &[DOOR],
        unix_sockets: false,
        limits,
    };
    AgentCage::plan(&parts, ground.rung, &RealDisk).unwrap()
}

fn program(ground: &Ground, code: &str) -> CagedProgram {
    CagedProgram {
        program: "/usr/bin/python3".into(),
        arguments: vec!["-c".into(), code.into(), ground.place.path().into()],
        environment: Vec::new(),
        directory: ground.path("work"),
        grace: Duration::from_secs(10),
    }
}

/// Runs `code` in an agent's cage; returns what it wrote and its exit code.
async fn python(ground: &Ground, cage: &AgentCage, code: &str) -> (String, String, Option<i32>) {
    let caged = cage.start(&ground.launcher, program(ground, code)).await.unwrap();
    let Caged { stdin, stdout, stderr, mut process, doors: _doors, .. } = caged;
    drop(stdin);
    let (stdout, stderr) = tokio::join!(text(stdout), text(stderr));
    (stdout, stderr, soon(process.wait()).await.unwrap().code())
}

/// Runs `code` without any cage.
async fn outside(ground: &Ground, code: &str) -> (String, String, Option<i32>) {
    let CagedProgram { program, arguments, directory, grace, .. } = program(ground, code);
    let environment = vec![
        ("PATH".into(), PATH.into()),
        ("HOME".into(), ground.path("state").into()),
        ("TMPDIR".into(), "/tmp".into()),
    ];
    let (directory, hold) = (Some(directory), Hold::Free);
    ground.run(&ChildSpec { program, arguments, environment, directory, grace, hold }).await
}

/// Everything that is tried; each line of the output is something that worked.
fn attack(host: &Host) -> String {
    let port = host.port.local_addr().unwrap().port();
    format!("PORT = {port}\nPID = {}\nTOKEN = '{TOKEN}'\n{ATTACK}", std::process::id())
}

const ATTACK: &str = r#"
import os, socket, sys
place = sys.argv[1]
work = place + "/work"

def attempt(name, action):
    try:
        action()
    except OSError:
        return
    print(name)

def read(path):
    with open(path) as file:
        if TOKEN not in file.read():
            raise OSError

def write(path):
    with open(path, "w") as file:
        file.write("agent")

def append(path):
    with open(path, "a") as file:
        file.write("\n[agent]\n")

def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as it:
        it.settimeout(5)
        it.connect(address)

def through_link():
    os.symlink(work + "/.git/config", work + "/link")
    append(work + "/link")

def hard_link():
    os.link(work + "/.git/config", work + "/hard")
    append(work + "/hard")

def replaced(path):
    write(path + ".new")
    os.rename(path + ".new", path)

attempt("a host file", lambda: read(place + "/other/secret"))
attempt("a key", lambda: read(place + "/home/.ssh/id"))
attempt("a request", lambda: read(place + "/session/escalations/request.json"))
attempt("an answer", lambda: write(place + "/session/escalations/response.json"))
attempt("a protected file", lambda: read(work + "/keep/key"))
attempt("a closed file", lambda: read(work + "/secrets/x"))
attempt("a new closed file", lambda: write(work + "/secrets/new"))
attempt("a file that is kept", lambda: write(work + "/src/a"))
attempt("a new file there", lambda: write(work + "/src/new"))
attempt("removing a file there", lambda: os.unlink(work + "/src/a"))
attempt("moving a kept directory", lambda: os.rename(work + "/src", work + "/moved"))
attempt("moving what holds one", lambda: os.rename(work + "/deep", work + "/deeper"))
attempt("moving a closed directory", lambda: os.rename(work + "/secrets", work + "/open"))
attempt("a hook", lambda: write(work + "/.git/hooks/pre-commit"))
attempt("a new hook", lambda: write(work + "/.git/hooks/post-checkout"))
attempt("the configuration of git", lambda: append(work + "/.git/config"))
attempt("it through a link", through_link)
attempt("it through a hard link", hard_link)
attempt("it by a rename", lambda: replaced(work + "/.git/config"))
attempt("moving git's files", lambda: os.rename(work + "/.git", work + "/git"))
attempt("a listed file", lambda: append(work + "/.envrc"))
attempt("a listed file by a rename", lambda: replaced(work + "/.envrc"))
attempt("a socket in the workspace", lambda: connect(socket.AF_UNIX, work + "/sock"))
attempt("a socket elsewhere", lambda: connect(socket.AF_UNIX, place + "/other/sock"))
attempt("an abstract socket", lambda: connect(socket.AF_UNIX, "\0" + TOKEN + "-" + place))
attempt("a port of the host", lambda: connect(socket.AF_INET, ("127.0.0.1", PORT)))
attempt("a process of the host", lambda: os.kill(PID, 0))
attempt("its environment", lambda: open(f"/proc/{PID}/environ", "rb").read())
attempt("its files", lambda: os.listdir(f"/proc/{PID}/fd"))
"#;

/// How many of them there are.
const ATTEMPTS: usize = 29;

#[test]
fn nothing_that_works_outside_works_in_an_agents_cage() {
    on_rungs(AgentCage::works_on, |ground| async move {
        let host = furnish(&ground);
        let (said, complained, code) = outside(&ground, &attack(&host)).await;
        assert_eq!((complained.as_str(), code), ("", Some(0)));
        let worked: Vec<&str> = said.lines().collect();
        assert_eq!(worked.len(), ATTEMPTS, "outside everything works: {worked:#?}");
        drop(host);

        let host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, Limits::AGENT);
        let before = contents(&ground);
        let (said, complained, code) = python(&ground, &cage, &attack(&host)).await;
        assert_eq!(
            (said.as_str(), complained.as_str(), code),
            ("", "", Some(0)),
            "{}",
            ground.rung
        );
        assert_eq!(contents(&ground), before, "{}", ground.rung);
    });
}

/// Returns what is in the files of the host.
fn contents(ground: &Ground) -> Vec<(PathBuf, String)> {
    let read =
        |name: &str| (ground.path(name), std::fs::read_to_string(ground.path(name)).unwrap());
    FILES.iter().map(|name| read(name)).collect()
}

#[test]
fn an_agent_works_in_its_cage() {
    let code = r##"
import os, socket, subprocess, sys
place = sys.argv[1]
work = place + "/work"
assert os.getcwd() == work
assert open(work + "/src/a").read()
with open(work + "/new.txt", "w") as file:
    file.write("written")
os.unlink(work + "/a.txt")
for directory in (work, "/tmp", os.environ["HOME"]):
    program = directory + "/program"
    with open(program, "w") as file:
        file.write("#!/bin/sh\necho ran\n")
    os.chmod(program, 0o755)
    assert subprocess.run([program], capture_output=True).stdout == b"ran\n", directory
assert os.environ["HOME"] == place + "/state"
memory = os.memfd_create("code")
one, other = socket.socketpair()
one.send(b"pair")
assert other.recv(4) == b"pair"
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname()).close()
try:
    socket.getaddrinfo("example.com", 443)
    raise SystemExit("a name was found")
except socket.gaierror:
    pass
with socket.create_connection(("127.0.0.1", 8137)) as door:
    door.sendall(b"hello\n")
    print(door.recv(100).decode())
"##;
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, Limits::AGENT);
        let caged = cage.start(&ground.launcher, program(&ground, code)).await.unwrap();
        let Caged { stdin, stdout, stderr, mut process, doors, .. } = caged;
        drop(stdin);
        let [(port, door)] = <[_; 1]>::try_from(doors).unwrap();
        assert_eq!(port, DOOR);
        let DoorListener::Tcp(door) = door else { panic!("{door:?}") };
        door.set_nonblocking(true).unwrap();
        let door = tokio::net::TcpListener::from_std(door).unwrap();
        let answering = async {
            let (mut stream, _) = soon(door.accept()).await.unwrap();
            let mut said = [0; 6];
            soon(stream.read_exact(&mut said)).await.unwrap();
            stream.write_all(b"from the host").await.unwrap();
            said
        };
        let (said, out, complained) = tokio::join!(answering, text(stdout), text(stderr));
        let code = soon(process.wait()).await.unwrap().code();
        assert_eq!((out.as_str(), complained.as_str(), code), ("from the host\n", "", Some(0)));
        assert_eq!(&said, b"hello\n");
        assert_eq!(std::fs::read_to_string(ground.path("work/new.txt")).unwrap(), "written");
        assert!(!ground.path("work/a.txt").exists());
        assert!(ground.path("state/program").exists(), "its home is kept");
    });
}

const ROOT: [&str; 13] = [
    "bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "proc", "sbin", "tmp",
    "usr",
];
const ETC: [&str; 25] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
    "timezone",
];
const DEVICES: [&str; 10] =
    ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"];
/// Tells everything that is there.
const LISTING: &str = r#"
import os, sys
place = sys.argv[1]
for path in ("/", "/etc", "/dev", "/tmp", "/var", "/var/tmp", place, place + "/work", place + "/state",
             place + "/work/keep", place + "/work/secrets", "/usr/local/etc"):
    try:
        names = sorted(os.listdir(path))
    except FileNotFoundError:
        names = ["missing"]
    print(path + ":", *names)
try:
    open("/usr/local/etc/gitconfig")
except OSError as error:
    print("optional:", type(error).__name__)
print("environment:", *sorted(os.environ))
print("processes:", *sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
print("uids:", open("/proc/self/uid_map").read().split()[2])
"#;

/// What a program sees of the machine is a list that somebody can read.
#[test]
fn an_agent_sees_nothing_that_is_not_on_the_list() {
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, Limits::AGENT);
        let (said, complained, code) = python(&ground, &cage, LISTING).await;
        assert_eq!((complained.as_str(), code), ("", Some(0)), "{}", ground.rung);
        let place = ground.place.path().display().to_string();
        let name = ground.place.path().file_name().unwrap().to_str().unwrap();
        let listed = |path: &str| -> Vec<&str> {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("{path}:")));
            line.unwrap_or_else(|| panic!("{path}: {said}")).split_whitespace().collect()
        };
        let beyond = |path: &str, known: &[&str]| -> Vec<String> {
            let names = listed(path).into_iter().filter(|name| !known.contains(name));
            names.map(str::to_owned).collect()
        };
        let launcher = if ground.rung == Rung::Bubblewrap { vec![".launcher"] } else { Vec::new() };
        let root: Vec<&str> = ROOT.into_iter().chain(["var"]).chain(launcher).collect();
        assert_eq!(beyond("/", &root), [""; 0], "{}", ground.rung);
        assert_eq!(beyond("/etc", &ETC), [""; 0], "{}", ground.rung);
        assert_eq!(beyond("/dev", &DEVICES), [""; 0], "{}", ground.rung);
        assert_eq!(beyond("/usr/local/etc", &["missing"]), [""; 0], "{}", ground.rung);
        // Git gives up if it may not look for its settings there.
        assert_eq!(listed("optional"), ["FileNotFoundError"], "{}", ground.rung);
        assert_eq!(listed("/tmp"), [""; 0]);
        assert_eq!((listed("/var"), listed("/var/tmp")), (vec!["tmp"], vec![name]));
        assert_eq!(listed(&place), ["state", "work"]);
        let work = [".envrc", ".git", "a.txt", "deep", "keep", "secrets", "sock", "src"];
        assert_eq!(listed(&format!("{place}/work")), work);
        for empty in ["state", "work/keep", "work/secrets"] {
            assert_eq!(listed(&format!("{place}/{empty}")), [""; 0], "{empty}");
        }
        let mut variables = listed("environment");
        variables.retain(|name| *name != "LC_CTYPE");
        assert_eq!(variables, ["HOME", "LANG", "PATH", "TMPDIR", "TZ"]);
        // The first of the cage, perhaps bubblewrap's own, and this one.
        assert!(listed("processes").len() <= 3, "{said}");
        assert_eq!(listed("uids"), ["1"]);
    });
}

/// Tells who it is, reads what only root may read, and writes.
const WHO: &str = r#"
import os, sys
place = sys.argv[1]
print(os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *os.getgroups())
for name in ("open", "secret"):
    try:
        print(name, open(place + "/other/tools/" + name).read())
    except OSError as error:
        print(name, type(error).__name__)
os.makedirs(place + "/work/made/deep")
open(place + "/work/made/deep/file", "w").write("x")
open(place + "/work/a.txt", "a").write("more")
open(os.environ["HOME"] + "/kept", "w").write("x")
open("/tmp/x", "w").write("x")
os.chmod(place + "/work/made/deep/file", 0o600)
"#;

/// Where root runs us, whoever owns the workspace is who the agent is, and never root.
#[test]
fn an_agent_is_never_root_and_what_it_makes_belongs_to_the_owner_of_the_workspace() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    on_rungs(AgentCage::works_on, |ground| async move {
        for (owner, expected) in [(0, "65532 65532 65532 65532"), (1234, "1234 1234 1234 1234")] {
            let _host = furnish(&ground);
            let shown = ground.path("other/tools");
            std::fs::create_dir_all(&shown).unwrap();
            std::fs::write(shown.join("open"), TOKEN).unwrap();
            std::fs::write(shown.join("secret"), TOKEN).unwrap();
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(shown.join("secret"), mode).unwrap();
            for name in ["work", "work/a.txt"] {
                std::os::unix::fs::chown(ground.path(name), Some(owner), Some(owner)).unwrap();
            }
            let (said, _, _) = outside(&ground, WHO).await;
            assert!(said.contains(&format!("secret {TOKEN}")), "outside it can be read: {said}");
            std::fs::remove_dir_all(ground.path("work/made")).unwrap();
            std::fs::remove_file(ground.path("state/kept")).unwrap();

            let judge = judge(&ground);
            let state = AbsolutePath::new(ground.path("state")).unwrap();
            let parts = AgentCageParts {
                inhabitant: Inhabitant::Agent,
                judge: &judge,
                shown: &[AbsolutePath::new(&shown).unwrap()],
                programs: &[],
                state: Some(&state),
                private: &ground.path("scratch"),
                doors: &[],
                unix_sockets: false,
                limits: Limits::AGENT,
            };
            let cage = AgentCage::plan(&parts, ground.rung, &RealDisk).unwrap();
            let (said, complained, code) = python(&ground, &cage, WHO).await;
            let expected = format!("{expected}\nopen {TOKEN}\nsecret PermissionError\n");
            assert_eq!((said.as_str(), complained.as_str(), code), (&*expected, "", Some(0)));
            for name in ["work/made", "work/made/deep", "work/made/deep/file", "work/a.txt"] {
                let metadata = std::fs::metadata(ground.path(name)).unwrap();
                assert_eq!((metadata.uid(), metadata.gid()), (owner, owner), "{name}");
            }
            assert_eq!(std::fs::metadata(ground.path("state/kept")).unwrap().uid(), 0);
        }
    });
}

/// What is hidden may be in a commit, so there is no history where something in the tree is hidden.
#[test]
fn where_something_is_hidden_the_agent_has_no_git() {
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let mut cage = plan(&ground, &judge, Limits::AGENT);
        let git = AgentGit::of(&judge, &ground.path("session/agent-git"), &RealDisk);
        assert!(!cage.with_git(&git.expect("it is a repository")));
        let code = "import os, sys\ntry:\n    print(os.listdir(sys.argv[1] + '/work/.git'))\n\
                    except PermissionError:\n    print('closed')";
        let (said, complained, _) = python(&ground, &cage, code).await;
        let is_empty = ["closed", "[]"].contains(&said.trim());
        assert!(is_empty && complained.is_empty(), "{}: {said}{complained}", ground.rung);
    });
}

/// What an agent may do and a server may not, one by one: with the relaxation it works, without it not.
#[test]
fn each_relaxation_is_needed_and_enough() {
    let run = "import subprocess, sys\nopen('x', 'w').write('#!/bin/sh\\n')\nimport os\nos.chmod('x', 0o755)\n\
               sys.exit(subprocess.run([os.getcwd() + '/x']).returncode)";
    let memory_file = "import os\nos.memfd_create('x')";
    // More than each process may have, and none of it used.
    let reserve =
        "import mmap\nmmap.mmap(-1, 6 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)";
    let cases = [
        (Relaxation::RunsWritten, run),
        (Relaxation::MemoryFiles, memory_file),
        (Relaxation::MemoryTogether, reserve),
    ];
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, Limits::AGENT);
        for (relaxation, code) in cases {
            for (relaxed, works) in [(vec![relaxation], true), (Vec::new(), false)] {
                let spec = CageSpec { relaxed, ..cage.spec().clone() };
                let program = program(&ground, code);
                let spec = ChildSpec {
                    program: program.program,
                    arguments: program.arguments,
                    environment: vec![("PATH".into(), PATH.into())],
                    directory: Some(program.directory),
                    grace: program.grace,
                    hold: Hold::Caged(ground.rung, spec),
                };
                let child = ground.launcher.start(&spec).unwrap();
                drop(child.stdin);
                let doors = soon(child.doors.unwrap().come()).await;
                let mut process = child.process;
                let (_, complained) = tokio::join!(text(child.stdout), text(child.stderr));
                let ended = soon(process.wait()).await.unwrap();
                drop(doors);
                let on = format!("{relaxation:?} on {}: {complained}", ground.rung);
                assert_eq!(ended.success(), works, "{on}");
            }
        }
    });
}

/// All memory of an agent counts together, that of files in memory too.
#[test]
fn what_an_agent_uses_has_an_end() {
    let limits =
        Limits { memory_bytes_max: 256 << 20, scratch_bytes_max: 8 << 20, ..Limits::AGENT };
    let own =
        "kept = [bytearray(b'x') * (16 << 20) for _ in range(64)]\nimport time\ntime.sleep(600)";
    let files = "import os, time\nfile = os.memfd_create('x')\nfor _ in range(64):\n    os.write(file, b'x' * (16 << 20))\n\
                 time.sleep(600)";
    let tmp = "import errno\ntry:\n    open('/tmp/x', 'wb').write(b'x' * (32 << 20))\nexcept OSError as error:\n    \
               print(errno.errorcode[error.errno])";
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, limits);
        for code in [own, files] {
            let (_, complained, code) = python(&ground, &cage, code).await;
            assert_eq!(code, Some(i32::from(EXIT_EXCESS)), "{}: {complained}", ground.rung);
        }
        let (said, _, _) = python(&ground, &cage, tmp).await;
        assert_eq!(said, "ENOSPC\n", "{}", ground.rung);
    });
}

/// A disk that had room is not filled, whatever files it is filled with.
#[test]
fn an_agent_does_not_fill_the_disk() {
    let fill = "for n in range(64):\n    open('fill-%d' % n, 'wb').write(b'x' * (16 << 20))\nimport time\ntime.sleep(600)";
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let disk = rustix::fs::statvfs(ground.path("work")).unwrap();
        let left = disk.f_bavail * disk.f_frsize;
        let limits = Limits { disk_bytes_left_min: left - (256 << 20), ..Limits::AGENT };
        let cage = plan(&ground, &judge, limits);
        let (_, complained, code) = python(&ground, &cage, fill).await;
        assert_eq!(code, Some(i32::from(EXIT_FULL)), "{}: {complained}", ground.rung);
        // Where there was no room to begin with, nobody is ended for it.
        let limits = Limits { disk_bytes_left_min: u64::MAX, ..Limits::AGENT };
        let (_, _, code) = python(&ground, &plan(&ground, &judge, limits), "pass").await;
        assert_eq!(code, Some(0), "{}", ground.rung);
    });
}

/// What appears in a cage that must not show it ends the cage.
#[test]
fn a_closed_place_that_appears_ends_the_cage() {
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let mut judge = judge(&ground);
        let shown = ground.path("other/tools");
        std::fs::create_dir_all(&shown).unwrap();
        let key = shown.join("credentials");
        judge.bounds.protected.push(CanonicalPath::new(key.clone()).unwrap());
        let parts = AgentCageParts {
            inhabitant: Inhabitant::Agent,
            judge: &judge,
            shown: &[AbsolutePath::new(&shown).unwrap()],
            programs: &[],
            state: None,
            private: &ground.path("scratch"),
            doors: &[],
            unix_sockets: false,
            limits: Limits::AGENT,
        };
        let cage = AgentCage::plan(&parts, ground.rung, &RealDisk).unwrap();
        let code = "print('runs', flush=True)\nimport time\ntime.sleep(600)";
        let caged = cage.start(&ground.launcher, program(&ground, code)).await.unwrap();
        let Caged { stdin: _stdin, mut stdout, stderr: _stderr, mut process, .. } = caged;
        let mut said = [0; 5];
        soon(stdout.read_exact(&mut said)).await.unwrap();
        std::fs::write(&key, TOKEN).unwrap();
        let code = tokio::time::timeout(DEADLINE, process.wait()).await.unwrap().unwrap().code();
        let ended = [ic_confine::EXIT_SHIFTED, ic_confine::EXIT_SHIFTED_ASLEEP].map(i32::from);
        assert!(code.is_some_and(|code| ended.contains(&code)), "{code:?}");
    });
}

#[test]
fn what_an_agent_planted_is_put_back() {
    let code = r##"
import os, sys
work = sys.argv[1] + "/work"
os.makedirs(work + "/sub/.git/hooks")
open(work + "/sub/.git/HEAD", "w").write("ref: refs/heads/main\n")
open(work + "/sub/.git/hooks/pre-commit", "w").write("#!/bin/sh\n")
os.makedirs(work + "/.vscode")
open(work + "/.vscode/tasks.json", "w").write("{}")
open(work + "/.mcp.json", "w").write("{}")
open(work + "/plain.txt", "w").write("stays")
"##;
    on_rungs(AgentCage::works_on, |ground| async move {
        let _host = furnish(&ground);
        let judge = judge(&ground);
        let cage = plan(&ground, &judge, Limits::AGENT);
        let quarantine = ground.path("session/quarantine");
        let (_, complained, ended) = python(&ground, &cage, "").await;
        assert_eq!((complained.as_str(), ended), ("", Some(0)));
        assert!(!cage.has_planted(&judge), "nothing was planted");
        assert!(cage.settle(&judge, &quarantine).is_none(), "nothing was planted");
        let (_, complained, code) = python(&ground, &cage, code).await;
        assert_eq!((complained.as_str(), code), ("", Some(0)), "it works without being noticed");
        assert!(cage.has_planted(&judge), "something was planted");
        let done = cage.settle(&judge, &quarantine).expect("something was planted");
        let told = done.told("agent");
        for name in ["sub/.git", ".vscode", ".mcp.json"] {
            assert!(!ground.path("work").join(name).exists(), "{name}: {told}");
            assert!(told.contains(name), "{name}: {told}");
        }
        assert!(ground.path("work/plain.txt").exists());
        assert!(std::fs::read_dir(&quarantine).unwrap().count() > 0, "it is kept");
    });
}
