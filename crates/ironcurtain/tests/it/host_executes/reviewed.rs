//! Won by a reviewer once: what only its first place made harmless, names of the home that links lead to,
//! and objects that a repository borrows.

use std::fs;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::watch::Watch;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{careless, live, through_the_proxy};
use serde_json::{Value, json};

use super::{Attack, Step, coding, delete, git, make, shift, step, world, write};

/// What one session commits among packages, where that name is free, is no excuse in the next.
#[test]
fn by_what_an_earlier_session_committed_among_packages() {
    let add = |detail: Value| {
        let mut arguments = json!({"path": "vendor/lib", "mode": "add", "worktreePath": "wt"});
        arguments.as_object_mut().unwrap().extend(detail.as_object().unwrap().clone());
        git("git__git_worktree", arguments)
    };
    let ways = [
        add(json!({"commitish": "HEAD", "detach": true})),
        add(json!({"branch": "f", "newBranch": "f"})),
    ];
    for second in &ways {
        // The first session has the whole workspace, or just the directory of the package.
        for top in ["vendor/lib", "."] {
            let mut world = world();
            world.add_project("", &[]);
            world.write("vendor/lib/a.txt", "");
            let watch = Watch::begin(&world);
            let first = commits(&world, top);
            let from = if top == "." { "vendor/lib" } else { "" };
            let served = session(&world, from, &first);
            let again = session(&world, "", std::slice::from_ref(second));
            let mut found = watch.before_the_user(&world);
            live(&world, &world.user);
            found.extend(watch.after_the_user(&world));
            assert!(found.is_empty(), "{top}, {second}: {found:#?}, {served:?}, {again:?}");
            assert!(!world.workspace().join("wt/.envrc").exists(), "{top}, {second}");
        }
    }
}

/// The control of the above: without anybody who looks, the name is at the top of a tree in the end.
#[test]
fn nobody_looks_at_what_an_earlier_session_committed() {
    let mut world = world();
    world.add_project("", &[]);
    world.write("vendor/lib/a.txt", "");
    let watch = Watch::begin(&world);
    let detail = json!({"path": "vendor/lib", "mode": "add", "worktreePath": "../../wt",
        "commitish": "HEAD", "detach": true});
    let mut calls = commits(&world, "vendor/lib");
    calls.push(git("git__git_worktree", detail));
    for call in calls {
        careless::obey(&world, &call);
    }
    assert!(!watch.before_the_user(&world).is_empty());
    assert!(world.workspace().join("wt/.envrc").exists());
}

/// A repository at `top` with a name that counts in it.
fn commits(world: &World, top: &str) -> Vec<Call> {
    vec![
        write(&format!("{top}/.envrc"), &world.canary.script("earlier")),
        git("git__git_init", json!({"path": top})),
        git("git__git_add", json!({"path": top, "files": ["."]})),
        git("git__git_commit", json!({"path": top, "message": "m"})),
    ]
}

/// Makes the calls in a session whose workspace is `top` of the world's.
fn session(world: &World, top: &str, calls: &[Call]) -> Vec<String> {
    let top = world.workspace().join(top);
    through_the_proxy(world, &["--policy", "coding", "--workspace", top.to_str().unwrap()], calls)
}

/// Names in the home that a program reads, each a link into the workspace, and the file behind it.
const BEHIND_LINKS: [(&str, &str, &str); 12] = [
    (".exrc", "dot/exrc", ""),
    (".pdbrc", "dot/pdbrc", ""),
    (".lessfilter", "dot/lessfilter", ""),
    (".npm-init.js", "dot/init.js", ""),
    (".perldb", "dot/perldb", ""),
    (".cargo/config.toml", "dot/cargo.toml", ""),
    (".config/gdb", "dot/gdb", "gdbinit"),
    (".local/lib", "dot/lib", "python3.11/site-packages/usercustomize.py"),
    (".node_modules", "dot/modules", "left/index.js"),
    (".pyenv", "dot/pyenv", "shims/python"),
    (".config/fish", "dot/fish", "config.fish"),
    (".vim", "dot/vim", "plugin/x.vim"),
];

#[test]
fn by_a_link_of_the_home_that_leads_into_the_workspace() {
    let mut served = Vec::new();
    for (link, place, file) in BEHIND_LINKS {
        let mut world = world();
        world.add_project("", &[]);
        let path = if file.is_empty() { place.to_owned() } else { format!("{place}/{file}") };
        world.write(&path, "old\n");
        let target = world.workspace().join(place);
        world.place.link(format!("home/{link}"), target.to_str().unwrap());
        let mut proxy = start(&world);
        if is_served(&mut proxy, &write(&path, "new\n")) {
            served.push(link);
        }
        assert!(is_served(&mut proxy, &write("a.txt", "free\n")), "{link}: nothing is free");
        proxy.finish();
        // The control: what is written there is what the name of the home shows.
        let shown = world.place.path("home").join(link).join(file);
        let shown = if file.is_empty() { world.place.path("home").join(link) } else { shown };
        assert_eq!(fs::read_to_string(&shown).unwrap(), "old\n", "{link}");
        world.write(&path, "new\n");
        assert_eq!(fs::read_to_string(&shown).unwrap(), "new\n", "{link}");
    }
    assert!(served.is_empty(), "{served:?}");
}

/// The program of the user's that a setting names comes from an object that lies in the workspace.
#[test]
fn by_an_object_that_the_repository_borrows() {
    let steps: [Step; 2] = [step(&["checkout", "-f", "other"]), step(&["status"])];
    for is_at_second_hand in [false, true] {
        let prepare = |world: &mut World| borrow(world, is_at_second_hand);
        let calls = |world: &World| {
            let object = object_of(world, "other:tools/x");
            let cache = if is_at_second_hand { "second" } else { "first" };
            let at = format!("{cache}/{object}");
            vec![delete(&at), make(at.rsplit_once('/').unwrap().0), shift("bag", &at)]
        };
        let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
        attack.check(&format!("at second hand: {is_at_second_hand}"));
    }
}

/// Makes a project whose objects lie in a directory of the workspace, and in `bag` an object that holds the
/// canary's program.
fn borrow(world: &mut World, is_at_second_hand: bool) {
    world.add_project("", &[]);
    world.add_branch("", "other", &[("tools/x", "exit 1\n")]);
    world.add_branch("", "evil", &[("tools/x", &world.canary.script("borrowed"))]);
    let top = world.workspace();
    let evil = object_of(world, "evil:tools/x");
    let objects = top.join(".git/objects");
    fs::copy(objects.join(evil), top.join("bag")).unwrap();
    let cache = top.join(if is_at_second_hand { "second" } else { "first" });
    fs::rename(&objects, &cache).unwrap();
    let mut borrowed = cache;
    if is_at_second_hand {
        let first = top.join("first");
        fs::create_dir_all(first.join("info")).unwrap();
        fs::write(first.join("info/alternates"), format!("{}\n", borrowed.display())).unwrap();
        borrowed = first;
    }
    fs::create_dir_all(objects.join("info")).unwrap();
    fs::write(objects.join("info/alternates"), format!("{}\n", borrowed.display())).unwrap();
    super::settings::append(world, "work/.git/config", "[core]\n\tfsmonitor = sh tools/x\n");
}

/// Returns where the object of `name` lies beneath a directory of objects.
fn object_of(world: &World, name: &str) -> String {
    let id = world.user.git_well(&world.workspace(), &["rev-parse", name]);
    let id = id.trim();
    let (directory, name) = id.split_at(2);
    format!("{directory}/{name}")
}

fn start(world: &World) -> Proxy {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

fn is_served(proxy: &mut Proxy, call: &Call) -> bool {
    let answer = proxy.call(call.tool, &call.arguments);
    let answer = answer.json();
    answer.pointer("/result/isError").unwrap_or(&Value::Null) != &json!(true)
        && answer.get("result").is_some()
}
