//! Links out of the workspace that a server makes, and files in it that have names elsewhere: the user's own commands
//! would write, or remove, what lies outside, or the server itself would.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::super::{Rig, hidden};
use super::{program, session, workspace};

const PUT_BACK: &str = "host_executes_put_back";

fn rig() -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    rig.place.write("docs/a.txt", "mine\n");
    rig.place.write("ws/build/o.txt", "o\n");
    rig.peeker(&json!({"contained": true}))
}

fn attack(rig: &Rig, text: &str) -> Value {
    json!({"where": hidden(&whole(rig, text))})
}

/// Returns the program of an attack.
fn whole(rig: &Rig, text: &str) -> String {
    program(rig, &format!("docs = {:?}\nimport shutil\n{text}", rig.text("docs")))
}

/// What a server does, and which link it leaves.
const LINKS: &[(&str, &str)] = &[
    ("shutil.rmtree('build'); os.symlink('../docs', 'build')", "build"),
    ("os.symlink(docs, 'src/out')", "src/out"),
    ("os.symlink('src/../../docs', 'out')", "out"),
    // To what is not there yet.
    ("os.symlink('../docs/new', 'out')", "out"),
    // By another link, a new one or the user's own.
    ("os.symlink('../../docs', 'lib/a'); os.symlink('lib/a', 'out')", "lib/a"),
    ("os.symlink('users', 'out')", "out"),
    // The user's own link, turned.
    ("os.unlink('users'); os.symlink('../docs/a.txt', 'users')", "users"),
    (
        "os.makedirs('node_modules/x'); os.symlink('../../../docs', 'node_modules/x/y')",
        "node_modules/x/y",
    ),
    // An interpreter is one by what it leads to as well.
    ("os.makedirs('v/bin'); os.symlink('../../../docs/a.txt', 'v/bin/python')", "v/bin/python"),
];

/// The user's own commands, which do harm if a link leads out.
fn clean(rig: &Rig, name: &str) -> bool {
    let ws = rig.place.path("ws");
    let line = format!("rm -rf {name}/*; echo x > {name}");
    Command::new("sh").args(["-c", &line]).current_dir(ws).status().unwrap();
    rig.place.path("docs/a.txt").exists()
        && rig.read("docs/a.txt") == "mine\n"
        && !rig.place.path("docs/new").exists()
}

#[test]
fn a_link_out_of_the_workspace_is_put_back() {
    for (text, name) in LINKS {
        // Where nobody looks, it does harm.
        let control = rig();
        symlink("../docs", control.place.path("ws/users")).unwrap();
        let program = whole(&control, text);
        assert!(Command::new("python3").args(["-c", &program]).status().unwrap().success());
        assert!(!clean(&control, name), "{text}: it does no harm even if nobody looks");

        let rig = rig();
        let users = rig.place.path("ws/users");
        symlink("../docs", &users).unwrap();
        let mut proxy = session(&rig);
        let answer = proxy.call("peeker__run", &attack(&rig, text)).bad();
        assert!(answer.contains(PUT_BACK) && !answer.contains("NOT put back"), "{text}: {answer}");
        proxy.finish();
        assert_eq!(fs::read_link(&users).unwrap(), Path::new("../docs"), "{text}");
        if *name != "users" {
            let led = fs::read_link(rig.place.path("ws").join(name));
            assert!(led.is_err(), "{text}: {name} leads to {led:?}");
            assert!(clean(&rig, name), "{text}");
        }
    }
}

/// Links within, to the system, and of an environment are ordinary work; and the user's own may go.
#[test]
fn other_links_and_the_end_of_one_are_free() {
    let rig = rig();
    let python = rig.place.write("tools/python3.12", "#!/bin/sh\n");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../docs", rig.place.path("ws/users")).unwrap();
    let mut proxy = session(&rig);
    let text = "os.makedirs('venv/bin'); os.symlink('/usr/bin/env', 'venv/bin/env'); \
                os.symlink('../../../tools/python3.12', 'venv/bin/python'); \
                os.symlink('../lib', 'src/lib'); os.symlink('nowhere', 'src/n'); os.unlink('users')";
    proxy.call("peeker__run", &attack(&rig, text)).good();
    proxy.finish();
    for name in ["venv/bin/env", "venv/bin/python", "src/lib", "src/n"] {
        assert!(fs::read_link(rig.place.path("ws").join(name)).is_ok(), "{name}");
    }
    assert!(fs::read_link(rig.place.path("ws/users")).is_err());
}

/// A file with a name elsewhere is read-only for the server; one with two names in the workspace is not.
#[test]
fn a_file_with_a_name_elsewhere_is_read_only() {
    let rig = rig();
    let ws = rig.place.path("ws");
    fs::hard_link(rig.place.path("docs/a.txt"), ws.join("src/shared")).unwrap();
    rig.place.write("ws/src/one", "1\n");
    fs::hard_link(ws.join("src/one"), ws.join("lib/two")).unwrap();
    let mut proxy = session(&rig);
    for text in ["open('src/shared', 'a').write('x')", "os.chmod('src/shared', 0o666)"] {
        let answer = proxy.call("peeker__run", &attack(&rig, text)).bad();
        assert!(answer.contains("Read-only file system"), "{text}: {answer}");
    }
    proxy.call("peeker__run", &attack(&rig, "open('src/one', 'a').write('x')")).good();
    proxy.finish();
    assert_eq!(rig.read("docs/a.txt"), "mine\n");
    assert_eq!(rig.read("ws/lib/two"), "1\nx");
}

/// Packages that are shared with a store: too many to be mounted one by one, so the directories that hold them are.
#[test]
fn packages_that_are_shared_with_a_store_are_read_only() {
    let rig = rig();
    let ws = rig.place.path("ws");
    let packages = "ws/.venv/lib/python3.12/site-packages";
    for n in 0..600 {
        let stored = rig.place.write(format!("store/{n}.py"), "x = 1\n");
        let package = rig.place.dir(format!("{packages}/p{}/q", n % 40));
        fs::hard_link(stored, package.join(format!("{n}.py"))).unwrap();
    }
    let mut proxy = session(&rig);
    let text = "p = '.venv/lib/python3.12/site-packages/'\nopen(p + 'p1/q/1.py', 'a').write('x')";
    let answer = proxy.call("peeker__run", &attack(&rig, text)).bad();
    assert!(answer.contains("Read-only file system"), "{answer}");
    // Others can be put beside them.
    let text =
        "p = '.venv/lib/python3.12/site-packages/'\nos.mkdir(p + 'new'); open(p + 'new/a.py', 'w')";
    proxy.call("peeker__run", &attack(&rig, text)).good();
    proxy.finish();
    assert!((0..600).all(|n| rig.read(&format!("store/{n}.py")) == "x = 1\n"));
    assert!(ws.join(".venv/lib/python3.12/site-packages/new/a.py").exists());
}

/// A link is that of an environment of Python if it leads to an interpreter: called so, and executable.
#[test]
fn a_link_that_is_only_called_like_an_interpreter_is_put_back() {
    for (name, link, mode) in [
        ("pythonrc.py", "python-out", 0o755),
        ("pythonrc.py", "python", 0o755),
        ("python3", "python-out", 0o755),
        ("python3", "python", 0o644),
    ] {
        let rig = rig();
        let file = rig.place.write(format!("docs/{name}"), "mine\n");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let mut proxy = session(&rig);
        let text =
            format!("os.makedirs('v/bin'); os.symlink('../../../docs/{name}', 'v/bin/{link}')");
        let answer = proxy.call("peeker__run", &attack(&rig, &text)).bad();
        assert!(answer.contains(PUT_BACK), "{link} to {name}: {answer}");
        proxy.finish();
        assert!(fs::read_link(rig.place.path("ws/v/bin").join(link)).is_err(), "{link} to {name}");
    }
}

/// Names that programs take for options: new ones are put back, yours stay, and packages are free.
#[test]
fn a_new_name_that_is_an_option_is_put_back() {
    let tar = |rig: &Rig| {
        let line = "tar cf /dev/null * 2>/dev/null; true";
        let ws = rig.place.path("ws");
        Command::new("sh").args(["-c", line]).current_dir(&ws).status().unwrap();
        ws.join("ran").exists()
    };
    let text = "open('x.sh', 'w').write('touch ran'); open('--checkpoint=1', 'w'); \
                open('--checkpoint-action=exec=sh x.sh', 'w')";
    let control = rig();
    let program = whole(&control, text);
    assert!(Command::new("python3").args(["-c", &program]).status().unwrap().success());
    assert!(tar(&control), "it does no harm even if nobody looks");
    for (text, name) in [
        (text, "--checkpoint=1"),
        ("os.makedirs('src/-d/-e'); open('src/-d/-e/f', 'w')", "src/-d"),
        ("open('src/+!x', 'w')", "src/+!x"),
        ("os.rename('build/o.txt', 'build/-o')", "build/-o"),
    ] {
        let rig = rig();
        rig.place.write("ws/-mine", "m\n");
        let mut proxy = session(&rig);
        let answer = proxy.call("peeker__run", &attack(&rig, text)).bad();
        assert!(answer.contains(PUT_BACK) && !answer.contains("NOT put back"), "{text}: {answer}");
        proxy.finish();
        assert!(!rig.place.path("ws").join(name).exists(), "{text}");
        assert!(rig.place.path("ws/-mine").exists() && !tar(&rig), "{text}");
    }
    let rig = rig();
    rig.place.write("ws/-mine", "m\n");
    let mut proxy = session(&rig);
    let text = "os.makedirs('node_modules/x'); open('node_modules/x/-a', 'w'); \
                open('src/+page.svelte', 'w'); open('-mine', 'a').write('more')";
    proxy.call("peeker__run", &attack(&rig, text)).good();
    proxy.finish();
    assert!(rig.place.path("ws/node_modules/x/-a").exists());
    assert_eq!(rig.read("ws/-mine"), "m\nmore");
}

/// Directories and files that Python takes for modules of its own: new ones are put back, yours stay.
#[test]
fn a_new_module_of_python_s_own_at_the_top_is_put_back() {
    let json_tool = |rig: &Rig| {
        let (ws, line) = (rig.place.path("ws"), "echo {} | python3 -m json.tool");
        Command::new("sh").args(["-c", line]).current_dir(&ws).output().unwrap();
        ws.join("ran").exists()
    };
    let hostile =
        "os.makedirs('pkg'); open('pkg/__init__.py', 'w').write('open(\\'ran\\', \\'w\\')'); ";
    for (text, name) in [
        ("os.rename('pkg', 'argparse')", "argparse/__init__.py"),
        ("os.rename('pkg/__init__.py', 'argparse.py')", "argparse.py"),
        ("os.symlink('pkg', 'argparse')", "argparse"),
        ("os.symlink('pkg/__init__.py', 'argparse.py')", "argparse.py"),
    ] {
        let text = format!("{hostile}{text}");
        let control = rig();
        let program = whole(&control, &text);
        assert!(Command::new("python3").args(["-c", &program]).status().unwrap().success());
        assert!(json_tool(&control), "{text}: it does no harm even if nobody looks");
        let rig = rig();
        rig.place.write("ws/types.py.txt", "m\n");
        let mut proxy = session(&rig);
        let answer = proxy.call("peeker__run", &attack(&rig, &text)).bad();
        assert!(answer.contains(PUT_BACK) && !answer.contains("NOT put back"), "{text}: {answer}");
        proxy.finish();
        assert!(fs::symlink_metadata(rig.place.path("ws").join(name)).is_err(), "{text}");
        assert!(!json_tool(&rig), "{text}");
    }
    let rig = rig();
    rig.place.write("ws/queue.py", "mine = 1\n");
    let mut proxy = session(&rig);
    let text = "open('queue.py', 'a').write('more = 2\\n'); os.makedirs('src/json'); \
                open('src/json/__init__.py', 'w'); open('src/types.py', 'w'); os.makedirs('html'); \
                open('html/index.html', 'w'); open('main.py', 'w')";
    proxy.call("peeker__run", &attack(&rig, text)).good();
    proxy.finish();
    assert_eq!(rig.read("ws/queue.py"), "mine = 1\nmore = 2\n");
    assert!(rig.place.path("ws/src/json/__init__.py").exists());
}
