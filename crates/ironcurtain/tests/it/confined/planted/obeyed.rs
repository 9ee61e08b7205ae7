//! Servers that plant a configuration which names the directory around it, or everything, so that it would
//! not be seen by itself: it is found by what was in force before, and nothing of the user's is moved.

use std::fs;
use std::process::Command;

use ic_testkit::git_host::git;
use serde_json::json;

use super::super::{Rig, hidden};
use super::{live, program, session, workspace};
use crate::proxy::until;

struct Attack {
    name: &'static str,
    /// What the user has set up, as words for git in the workspace.
    set_up: &'static [&'static [&'static str]],
    program: &'static str,
    /// Where the user's git is run afterwards.
    at: &'static str,
    /// What must not be there afterwards.
    planted: &'static [&'static str],
}

/// A file that the user's configuration includes, and that does not exist.
const INCLUDES: &[&[&str]] = &[&["config", "include.path", "../extra/gitconfig"]];
const HOOKS: &[&[&str]] = &[&["config", "core.hooksPath", "tools/hooks"]];
const FSMONITOR: &[&[&str]] = &[&["config", "core.fsmonitor", "sh tools/watch.sh"]];

const WRITES: &str = "
def extra(text):
    os.makedirs('extra', exist_ok=True)
    open('extra/gitconfig', 'w').write(text)
def watch(at):
    open(at, 'w').write('touch ' + canary + '\\nfalse\\n')
";

const ATTACKS: &[Attack] = &[
    Attack {
        name: "an included file that names its own directory as hooks",
        set_up: INCLUDES,
        program: "extra('[core]\\nhooksPath = extra\\n'); hook('extra/pre-commit')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that names the workspace as hooks",
        set_up: INCLUDES,
        program: "extra('[core]\\nhooksPath = .\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that names a directory above the workspace",
        set_up: INCLUDES,
        program: "extra('[core]\\nhooksPath = ../../ws\\nattributesFile = ../..\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that names another working tree",
        set_up: INCLUDES,
        program: "extra('[core]\\nworktree = .\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that runs what only the shell knows",
        set_up: INCLUDES,
        program: "extra('[core]\\nfsmonitor = \"sh $(ls src/*.sh); false\"\\n'); watch('src/w.sh')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that runs any program",
        set_up: INCLUDES,
        program: "extra('[core]\\nfsmonitor = \"sh $(cat src/which); false\"\\n'); watch('src/w'); open('src/which', 'w').write('src/w')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that cannot be understood as a whole",
        set_up: INCLUDES,
        program: "extra('[core]\\nfsmonitor = \"touch ' + canary + '; false\"\\n' + '[x]\\n' * 9 + ''.join('[include]\\npath = n%d\\n' % n for n in range(80)))",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file that is too long",
        set_up: INCLUDES,
        program: "extra('[core]\\nfsmonitor = \"touch ' + canary + '; false\"\\n' + '# filler filler\\n' * 200000)",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "an included file behind a link on the way",
        set_up: INCLUDES,
        program: "os.symlink('src', 'extra'); open('src/gitconfig', 'w').write('[core]\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        at: ".",
        planted: &["extra"],
    },
    Attack {
        name: "an included file that is a link",
        set_up: INCLUDES,
        program: "os.mkdir('extra'); os.symlink('../src/c', 'extra/gitconfig'); open('src/c', 'w').write('[core]\\nhooksPath = src\\nfsmonitor = \"touch ' + canary + '; false\"\\n')",
        at: ".",
        planted: &["extra/gitconfig"],
    },
    Attack {
        name: "hooks behind a link on the way",
        set_up: HOOKS,
        program: "os.mkdir('src/hooks'); hook('src/hooks/pre-commit'); os.symlink('src', 'tools')",
        at: ".",
        planted: &["tools"],
    },
    Attack {
        name: "a program behind a link on the way",
        set_up: FSMONITOR,
        program: "watch('src/watch.sh'); os.symlink('src', 'tools')",
        at: ".",
        planted: &["tools"],
    },
    Attack {
        name: "a directory of the user's moved to where a program is named",
        set_up: FSMONITOR,
        program: "os.mkdir('mine'); watch('mine/watch.sh'); os.rename('mine', 'tools')",
        at: ".",
        planted: &["tools/watch.sh"],
    },
    Attack {
        name: "a new repository that names the workspace",
        set_up: &[],
        program: "os.mkdir('x'); shape('x/.git', '..'); open('x/.git/config', 'a').write('[core]\\nhooksPath = ..\\n')",
        at: "x",
        planted: &["x/.git"],
    },
    Attack {
        name: "a new repository whose tree is the workspace",
        set_up: &[],
        program: "shape('lib/.git', '../..'); open('lib/.git/config', 'a').write('[core]\\nhooksPath = ../..\\n')",
        at: "lib",
        planted: &["lib/.git"],
    },
    Attack {
        name: "a pointer to a repository that names its own directory",
        set_up: &[],
        program: "shape('src/r', '../..'); open('src/r/config', 'a').write('[core]\\nhooksPath = ../../lib\\n'); open('lib/.git', 'w').write('gitdir: ../src/r')",
        at: "lib",
        planted: &["lib/.git", "src/r/HEAD"],
    },
    Attack {
        name: "a repository by its shape that runs any program",
        set_up: &[],
        program: "os.mkdir('lib/refs'); shape('src/t'); [os.rename('src/t/' + n, 'lib/' + n) for n in ['HEAD', 'config']]; open('lib/config', 'a').write('[core]\\npager = sh $(x)\\nhooksPath = ..\\n')",
        at: "lib",
        planted: &["lib/HEAD"],
    },
    Attack {
        name: "both at once, deep in the workspace",
        set_up: INCLUDES,
        program: "extra('[core]\\nhooksPath = .\\nfsmonitor = \"touch ' + canary + '; false\"\\n'); os.makedirs('a/b/c'); shape('a/b/c/.git', '../../../..')",
        at: "a/b/c",
        planted: &["extra/gitconfig", "a/b/c/.git"],
    },
];

/// Makes the user's workspace, with files that a wrong reading would move away.
fn set_up(attack: &Attack) -> Rig {
    let rig = Rig::new();
    workspace(&rig);
    for file in MINE {
        rig.place.write(format!("ws/{file}"), "mine");
    }
    for words in attack.set_up {
        git(&rig.place.path("ws"), words);
    }
    rig
}

const MINE: &[&str] = &["run.sh", "src/tool", "lib/.github/workflows/x.yml", "lib/objects/x"];

fn full_program(rig: &Rig, attack: &str) -> String {
    program(rig, &format!("{WRITES}\n{attack}"))
}

fn control(attack: &Attack) {
    let rig = set_up(attack);
    let text = full_program(&rig, attack.program);
    assert!(Command::new("python3").args(["-c", &text]).status().unwrap().success());
    live(&rig, attack.at);
    assert!(rig.place.path("canary").exists(), "{}: the control does nothing", attack.name);
}

fn check(attack: &Attack) {
    let what = attack.name;
    let rig = set_up(attack).peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let call = json!({"where": hidden(&full_program(&rig, attack.program))});
    let answer = proxy.call("peeker__run", &call);
    assert_eq!(answer.result()["isError"], json!(true), "{what}: {}", answer.text());
    assert!(answer.text().contains("host_executes_put_back"), "{what}: {}", answer.text());
    assert!(!answer.text().contains("NOT put back"), "{what}: {}", answer.text());
    for planted in attack.planted {
        let path = rig.place.path("ws").join(planted);
        assert!(fs::symlink_metadata(path).is_err(), "{what}: {planted} is there");
    }
    let work = json!({"where": hidden(&full_program(&rig, "open('src/new.txt', 'w').close()"))});
    until("the server works", || {
        proxy.call("peeker__run", &work).result()["isError"] == json!(false)
    });
    proxy.finish();
    fs::create_dir_all(rig.place.path("ws").join(attack.at)).unwrap();
    assert!(live(&rig, attack.at), "{what}: the user's git does not work");
    assert!(!rig.place.path("canary").exists(), "{what}: the canary was run");
    for mine in MINE {
        assert_eq!(rig.read(&format!("ws/{mine}")), "mine", "{what}");
    }
    for kept in ["ws/src/a.txt", "ws/lib/b.txt", "ws/src/new.txt", "ws/nested/.git/HEAD"] {
        assert!(rig.place.path(kept).exists(), "{what}: {kept}");
    }
}

#[test]
fn a_planted_configuration_hides_neither_itself_nor_anything_else() {
    for attack in ATTACKS {
        control(attack);
        check(attack);
    }
}

/// The user's own change of what is named moves nothing of theirs, even while the server is at work.
#[test]
fn what_counts_only_since_the_user_named_it_is_covered_and_not_moved() {
    let attack = &ATTACKS[0];
    let rig = set_up(attack).peeker(&json!({"contained": true}));
    let mut proxy = session(&rig);
    let spin = "
import threading
def spin():
    while not os.path.exists('stop'): pass
threading.Thread(target=spin, daemon=True).start()";
    proxy.call("peeker__run", &json!({"where": hidden(&full_program(&rig, spin))})).good();
    git(&rig.place.path("ws"), &["config", "alias.x", "!sh src/*.d/tool; sh src/tool"]);
    git(&rig.place.path("ws"), &["config", "filter.x.clean", "sh lib/*.txt"]);
    let write = |text: &str| {
        let attack = format!("open('src/tool', 'w').write('{text}')");
        json!({"where": hidden(&full_program(&rig, &attack))})
    };
    let mut said = String::new();
    until("it is read-only", || {
        said = proxy.call("peeker__run", &write(&said.len().to_string())).text();
        said.contains("Read-only file system")
    });
    rig.place.write("ws/stop", "");
    proxy.finish();
    assert_eq!(rig.read("ws/src/tool"), "mine", "it never wrote there");
    assert_eq!(rig.read("ws/lib/b.txt"), "lib/b.txt");
    let records = rig.records("session").into_iter();
    let n = records.filter(|it| it["arguments"]["event"] == "host-executes-put-back").count();
    assert_eq!(n, 0, "nothing was put back");
}

/// More files than a look goes through do not hide it: it is put back, and the server is not started again.
#[test]
fn a_planted_configuration_among_too_many_files_is_put_back() {
    let rig = set_up(&ATTACKS[0]).peeker(&json!({"contained": true}));
    for n in 0..4 {
        let first = rig.place.write(format!("ws/many{n}/0"), "mine");
        for m in 1..49_980 {
            fs::hard_link(&first, first.with_file_name(m.to_string())).unwrap();
        }
    }
    let mut proxy = session(&rig);
    let attack = "
[open('src/%d' % n, 'w').close() for n in range(300)]
extra('[core]\\nhooksPath = .\\nfsmonitor = \"touch ' + canary + '; false\"\\n')";
    let text = proxy.call("peeker__run", &json!({"where": hidden(&full_program(&rig, attack))}));
    let text = text.bad();
    // The look at the end of the call finds it, or one that comes by before.
    let is_named = text.contains("host_executes_put_back") && text.contains("extra/gitconfig");
    assert!(is_named || text.contains("were changed, and are put back"), "{text}");
    assert!(rig.place.path("ws/many3/49979").exists(), "the rest is left");
    let work = json!({"where": hidden(&full_program(&rig, "pass"))});
    let mut said = String::new();
    until("it says why it does not run", || {
        said = proxy.call("peeker__run", &work).bad();
        said.contains("more than 200000 files")
    });
    proxy.finish();
    assert!(!rig.place.path("ws/extra/gitconfig").exists());
    assert!(live(&rig, "."));
    assert!(!rig.place.path("canary").exists(), "the canary was run");
}
