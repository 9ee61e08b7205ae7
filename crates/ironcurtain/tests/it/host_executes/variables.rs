//! Variables of the environment in which the program was started: what they name is run or read as code by
//! shells, interpreters and pagers of the user's, and by git through these.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;
use serde_json::{Value, json};

/// A variable, the file that the agent writes, and what the user types in a shell then.
struct Case {
    name: &'static str,
    /// `WORK` stands for the workspace.
    value: &'static str,
    path: &'static str,
    text: Text,
    typed: &'static str,
}

#[derive(Clone, Copy)]
enum Text {
    Shell,
    Perl,
    Python,
}

const fn case(
    name: &'static str,
    value: &'static str,
    path: &'static str,
    typed: &'static str,
) -> Case {
    Case { name, value, path, text: Text::Shell, typed }
}

const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// What ran without a question before these were read, each by another kind of reading.
const CASES: [Case; 19] = [
    case("PATH", "WORK/bin:USUAL", "bin/git", "git status"),
    case("PATH", "./bin:USUAL", "bin/git", "git status"),
    case("PATH", "bin:USUAL", "bin/git", "git status"),
    case("PATH", "WORK:USUAL", "git", "git status"),
    case("PATH", ":USUAL", "git", "git status"),
    case("PATH", ".:USUAL", "git", "git status"),
    // A byte that is not valid Unicode hides nothing.
    case("PATH", "/odd-BYTE/bin:WORK/bin:USUAL", "bin/git", "git status"),
    case("PATH", "odd-BYTE/bin::USUAL", "git", "git status"),
    case("PROMPT_COMMAND", ": odd-BYTE; . WORK/rc.sh", "rc.sh", "echo true | bash -i"),
    case("GIT_EDITOR", "sh rc.sh odd-BYTE", "rc.sh", "exec git commit --allow-empty"),
    case("BASH_ENV", "WORK/rc.sh", "rc.sh", "exec bash -c true"),
    case("BASH_ENV", "./rc.sh", "rc.sh", "exec bash -c true"),
    case("PROMPT_COMMAND", ". WORK/rc.sh", "rc.sh", "echo true | bash -i"),
    case("ENV", "WORK/rc.sh", "rc.sh", "echo true | sh -i"),
    case("GIT_EDITOR", "timeout 9s sh rc.sh", "rc.sh", "exec git commit --allow-empty"),
    Case { text: Text::Perl, ..case("PERL5LIB", "WORK/lib", "lib/Ed.pm", "exec perl -MEd -e1") },
    Case { text: Text::Perl, ..case("PERL5OPT", "-IWORK/lib -MEd", "lib/Ed.pm", "exec perl -e1") },
    Case {
        text: Text::Python,
        ..case("PYTHONPATH", "WORK/lib", "lib/sitecustomize.py", "exec python3 -c 0")
    },
    Case {
        text: Text::Python,
        ..case("PYTHONSTARTUP", "WORK/lib/start.py", "lib/start.py", "exec python3 -i < /dev/null")
    },
];

fn project() -> World {
    let mut world = super::world();
    world.add_project("", &[]);
    world.write("lib/keep.txt", "");
    for path in ["work/bin/git", "work/git"] {
        let path = world.place.write(path, "#!/bin/sh\nexec /usr/bin/env -i true\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    world
}

fn value(world: &World, case: &Case) -> OsString {
    let work = world.workspace().to_str().unwrap().to_owned();
    let value = case.value.replace("WORK", &work).replace("USUAL", USUAL);
    let mut bytes = Vec::new();
    for (nth, part) in value.split("BYTE").enumerate() {
        bytes.extend((0 < nth).then_some(0xff));
        bytes.extend(part.as_bytes());
    }
    OsString::from_vec(bytes)
}

fn text(world: &World, text: Text) -> String {
    let mark = world.canary.mark();
    match text {
        Text::Shell => world.canary.script("variable"),
        Text::Perl => format!("package Ed; open(F, '>>', '{mark}'); print F 'perl'; close F; 1;\n"),
        Text::Python => format!("open('{mark}', 'a').write('python')\n"),
    }
}

fn is_served(proxy: &mut Proxy, path: &str, content: &str) -> bool {
    let answer = proxy.call("filesystem__write_file", &json!({"path": path, "content": content}));
    let answer = answer.json();
    answer.pointer("/result/isError").unwrap_or(&Value::Null) != &json!(true)
        && answer.get("result").is_some()
}

fn start(world: &World) -> Proxy {
    let flags = super::coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}

/// The user types something in a shell with the variable, in the workspace.
fn live(world: &World, case: &Case) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", case.typed]).env_clear();
    command.env("HOME", world.place.path("home")).env("PATH", USUAL).env("TERM", "dumb");
    command.env(case.name, value(world, case)).current_dir(world.workspace());
    command.stdin(Stdio::null()).output().unwrap();
}

#[test]
fn what_variables_name_is_not_written() {
    let mut all = Vec::new();
    for case in CASES {
        let mut world = project();
        let value = value(&world, &case);
        world.place.set_variable(case.name, &value);
        let mut proxy = start(&world);
        let text = text(&world, case.text);
        let is_served_at = is_served(&mut proxy, case.path, &text);
        if !is_served(&mut proxy, "src/new.rs", "free\n") || !is_served(&mut proxy, "a.txt", "x") {
            all.push(format!("{}={}: nothing is free", case.name, case.value));
        }
        proxy.finish();
        live(&world, &case);
        if is_served_at || world.canary.heard().is_some() {
            all.push(format!("{}={}: {} was written", case.name, case.value, case.path));
        }
        // The control: what the agent wanted is what the user's programs run.
        std::fs::write(world.workspace().join(case.path), text).unwrap();
        live(&world, &case);
        if world.canary.heard().is_none() {
            all.push(format!("{}={}: the control is silent", case.name, case.value));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// The question says which variable it is.
#[test]
fn the_question_names_the_variable() {
    let mut world = project();
    let path = format!("{}:{USUAL}", world.workspace().join("bin").display());
    world.place.set_variable("PATH", &path);
    let mut proxy = start(&world);
    let arguments = json!({"path": "bin/new", "content": "x"});
    let answer = proxy.call("filesystem__write_file", &arguments).json().to_string();
    proxy.finish();
    assert!(answer.contains("the variable `PATH` names it"), "{answer}");
}

/// What people have in their environment makes no ordinary name ask.
#[test]
fn variables_that_people_have_make_no_ordinary_name_ask() {
    let mut world = project();
    let work = world.workspace().to_str().unwrap().to_owned();
    for (name, value) in [
        ("PATH", format!("/opt/x/bin:{USUAL}:/home/u/.local/bin")),
        ("PYTHONPATH", format!("{work}/src")),
        ("MAKEFLAGS", "-j8".to_owned()),
        ("EDITOR", "vim".to_owned()),
        ("PAGER", "less -FRX".to_owned()),
        ("LESS", "-FRX".to_owned()),
        ("LESSOPEN", "| /usr/bin/lesspipe %s".to_owned()),
        ("NODE_OPTIONS", "--max-old-space-size=4096".to_owned()),
        ("SHELL", "/bin/bash".to_owned()),
        ("PS1", "\\u@\\h:\\w\\$ ".to_owned()),
        ("FZF_DEFAULT_OPTS", "--height 40% --layout=reverse".to_owned()),
        ("LD_LIBRARY_PATH", "/usr/local/lib".to_owned()),
        ("XDG_CONFIG_HOME", format!("{}/.config", world.place.path("home").display())),
    ] {
        world.place.set_variable(name, &value);
    }
    world.write("src/test/keep.txt", "");
    world.write("docs/keep.txt", "");
    let mut proxy = start(&world);
    let names = [
        "README",
        "Makefile",
        "package.json",
        "src/x.py",
        "src/test/y.py",
        "conftest.py",
        "x.sh",
        "docs/a.md",
        "lib/x.pm",
    ];
    let asked: Vec<&str> =
        names.into_iter().filter(|name| !is_served(&mut proxy, name, "new\n")).collect();
    proxy.finish();
    assert!(asked.is_empty(), "{asked:?}");
}
