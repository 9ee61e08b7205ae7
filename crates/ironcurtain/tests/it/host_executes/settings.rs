//! Settings that name programs in odd ways: quoted, by pattern, by module, by a runner, by an address.

use std::os::unix::fs::PermissionsExt as _;

use ic_testkit::attack::world::World;
use serde_json::json;

use super::{Attack, Step, git, step, write};

/// A setting of the user's, what the agent writes, and where the user then types `git x`.
struct Case {
    /// Where the setting stands.
    config: &'static str,
    setting: &'static str,
    /// The file that the agent writes.
    path: &'static str,
    /// In which language.
    kind: Kind,
    at: &'static str,
    /// What the user types.
    words: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Kind {
    Shell,
    Python,
    Make,
}

const REPOSITORY: &str = "work/.git/config";
const GLOBAL: &str = "home/.gitconfig";

const fn case(setting: &'static str, path: &'static str) -> Case {
    Case { config: REPOSITORY, setting, path, kind: Kind::Shell, at: "", words: &["x"] }
}

/// A setting of the editor, which git runs when the user commits.
const fn editor(setting: &'static str, path: &'static str, kind: Kind) -> Case {
    Case { kind, words: &["commit", "--allow-empty"], ..case(setting, path) }
}

const CASES: [Case; 37] = [
    // Quoted.
    case("[core]\n\thooksPath = \"my hooks\"\n", "my hooks/pre-commit"),
    case("[alias]\n\tx = !sh 'my dir/run.sh'\n", "my dir/run.sh"),
    case("[alias]\n\tx = !sh \\\"my dir\\\"/run.sh\n", "my dir/run.sh"),
    case("[alias]\n\tx = !sh my\\\\ dir/run.sh\n", "my dir/run.sh"),
    case("[alias]\n\tx = \"!sh -c 'sh to\\\"\\\"ols/new.sh'\"\n", "tools/new.sh"),
    Case { config: GLOBAL, ..case("[core]\n\thooksPath = \"my hooks\"\n", "my hooks/pre-commit") },
    // Left open.
    case("[alias]\n\tx = !sh tools/*.sh\n", "tools/a0.sh"),
    case("[alias]\n\tx = !sh [t]ools/new.sh\n", "tools/new.sh"),
    case("[alias]\n\tx = \"!for f in scripts/*; do sh $f; done\"\n", "scripts/any"),
    case("[alias]\n\tx = \"!sh $(git rev-parse --show-toplevel)/tools/new.sh\"\n", "tools/new.sh"),
    case("[alias]\n\tx = \"!sh $PWD/tools/new.sh\"\n", "tools/new.sh"),
    case("[alias]\n\tx = \"!sh tools/$UNSET.sh\"\n", "tools/.sh"),
    case("[alias]\n\tx = \"!sh ${UNSET:-tools}/new.sh\"\n", "tools/new.sh"),
    case("[alias]\n\tx = \"!D=tools; sh $D/new.sh\"\n", "tools/new.sh"),
    case("[alias]\n\tx = \"!sh $(ls scripts/*)\"\n", "scripts/any"),
    case("[alias]\n\tx = \"!ls scripts/* | xargs -n 1 sh\"\n", "scripts/any"),
    case("[alias]\n\tx = \"!find . -name any -exec sh {} ';'\"\n", "src/any"),
    Case {
        at: "src",
        ..case("[alias]\n\tx = \"!cd ${GIT_PREFIX:-.} && sh run.sh\"\n", "src/run.sh")
    },
    case("[alias]\n\tx = \"!cd tools && sh new.sh\"\n", "tools/new.sh"),
    // By a program that finds its orders itself.
    editor("[core]\n\teditor = make -s all X=\n", "Makefile", Kind::Make),
    editor("[core]\n\teditor = make -s -C src all X=\n", "src/GNUmakefile", Kind::Make),
    Case { kind: Kind::Python, ..case("[alias]\n\tx = !python3 -m tools.new\n", "tools/new.py") },
    Case { kind: Kind::Python, ..case("[alias]\n\tx = !python3 tools/p.py\n", "tools/json.py") },
    // By another program, which stands before it with options of its own.
    editor("[core]\n\teditor = timeout 30s make -s all X=\n", "Makefile", Kind::Make),
    editor("[core]\n\teditor = env -u FOO make -s all X=\n", "Makefile", Kind::Make),
    editor("[core]\n\teditor = \"M=make; $M -s all X=\"\n", "Makefile", Kind::Make),
    editor("[core]\n\teditor = timeout 9s python3 -m pk\n", "pk.py", Kind::Python),
    // With the value of an option attached.
    editor("[core]\n\teditor = make -Csrc -s all X=\n", "src/Makefile", Kind::Make),
    editor("[core]\n\teditor = make -frules -s all X=\n", "rules", Kind::Make),
    editor("[core]\n\teditor = python3 -Bmpk\n", "pk.py", Kind::Python),
    editor("[core]\n\teditor = python3 -X dev -m tools.new\n", "tools/new.py", Kind::Python),
    editor("[core]\n\teditor = \"python3 -c 'import new.mod'\"\n", "new/mod.py", Kind::Python),
    // Known to the shell alone.
    editor(
        "[core]\n\teditor = \"for f in $(ls scripts/*); do sh $f; done; true\"\n",
        "scripts/any",
        Kind::Shell,
    ),
    editor(
        "[core]\n\teditor = \"find . -name '*.sh' | xargs -I % sh %; true\"\n",
        "src/new.sh",
        Kind::Shell,
    ),
    editor(
        "[core]\n\teditor = \"find . -name '*.sh' | while read f; do sh $f; done; true\"\n",
        "src/new.sh",
        Kind::Shell,
    ),
    editor("[core]\n\teditor = \"xargs -a tools/list sh; true\"\n", "b.run", Kind::Shell),
    // Of an alias that is a command of git's.
    case("[alias]\n\tx = -c alias.y='!sh tools/new.sh' y\n", "tools/new.sh"),
];

fn text(world: &World, kind: Kind) -> String {
    let mark = world.canary.mark();
    match kind {
        Kind::Shell => world.canary.script("setting"),
        Kind::Python => format!("open('{mark}', 'a').write('python')\ndumps = str\n"),
        Kind::Make => format!("all:\n\techo make >> {mark}\n"),
    }
}

fn prepare(world: &mut World, case: &Case) {
    world.add_project("", &[]);
    world.write("tools/p.py", "import json\nprint(json.dumps(1))\n");
    world.write("scripts/.keep", "");
    world.write("new/.keep", "");
    world.write("tools/list", "b.run\n");
    world.write("my dir/.keep", "");
    let hook = world.place.write("work/my hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    append(world, case.config, case.setting);
}

pub(super) fn append(world: &World, file: &str, text: &str) {
    let path = world.place.path(file);
    let mut config = std::fs::read_to_string(&path).unwrap_or_default();
    config.push_str(text);
    world.place.write(file, config);
}

#[test]
fn however_a_setting_names_a_program_it_is_not_written() {
    let mut all = Vec::new();
    for case in CASES {
        eprintln!("{:?}", case.setting);
        let prepare = |world: &mut World| prepare(world, &case);
        let calls = |world: &World| vec![write(case.path, &text(world, case.kind))];
        let steps = [Step { at: case.at, words: case.words, input: "" }];
        let found = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true }.found();
        all.extend(found.into_iter().map(|it| format!("{:?}: {it}", case.setting)));
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Addresses and transports run programs too.
#[test]
fn programs_in_the_addresses_of_remotes_are_not_written() {
    let mut all = Vec::new();
    let fetch: [(&str, &'static [&'static str]); 6] = [
        ("[remote \"o\"]\n\turl = ext::sh tools/new.sh %S\n", &["fetch", "o"]),
        ("[remote \"o\"]\n\turl = \"ext::sh -c sh% tools/new.sh\"\n", &["fetch", "o"]),
        ("[url \"ext::sh tools/new.sh \"]\n\tinsteadOf = up:\n", &["fetch", "up:x"]),
        (
            "[branch \"main\"]\n\tremote = ext::sh tools/new.sh\n\tmerge = refs/heads/main\n",
            &["fetch"],
        ),
        ("[remote \"o\"]\n\turl = .\n\tuploadpack = sh tools/new.sh\n", &["fetch", "o"]),
        ("[remote \"o\"]\n\turl = .\n\treceivepack = sh tools/new.sh\n", &["push", "o", "main:b"]),
    ];
    for (setting, words) in fetch {
        eprintln!("{setting:?}");
        for file in [REPOSITORY, GLOBAL] {
            let prepare = |world: &mut World| {
                world.add_project("", &[]);
                append(world, file, setting);
                append(world, GLOBAL, "[protocol \"ext\"]\n\tallow = always\n");
            };
            let calls =
                |world: &World| vec![write("tools/new.sh", &world.canary.script("transport"))];
            let steps = [step(words)];
            let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
            all.extend(attack.found().into_iter().map(|it| format!("{setting:?} {file}: {it}")));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// Attributes choose what a program of the user's is run on, beneath packages too.
#[test]
fn attributes_beneath_packages_choose_no_program_of_the_users() {
    const DRIVER: &str = "[filter \"run\"]\n\tclean = sh\n";
    const ATTRIBUTES: &str = "*.txt filter=run\n";
    let written = |world: &World| {
        let script = world.canary.script("attributes");
        vec![write("vendor/a.txt", &script), write("vendor/.gitattributes", ATTRIBUTES)]
    };
    let merged = |_: &World| vec![git("git__git_merge", json!({"branch": "evil"}))];
    for file in [REPOSITORY, GLOBAL] {
        let prepare = |world: &mut World| {
            world.add_project("", &[]);
            let script = world.canary.script("attributes");
            let files = [("vendor/a.txt", script.as_str()), ("vendor/.gitattributes", ATTRIBUTES)];
            world.add_branch("", "evil", &files);
            world.write("vendor/own.txt", "echo\n");
            append(world, file, DRIVER);
        };
        let attack = Attack { prepare: &prepare, calls: &written, steps: &[], runs: true };
        attack.check("written");
        if file == GLOBAL {
            // Nothing but a change of the file makes git look at it again.
            let steps = [step(&["rm", "--cached", "vendor/a.txt"])];
            let attack = Attack { prepare: &prepare, calls: &merged, steps: &steps, runs: true };
            attack.check("merged");
        }
    }
}
