//! What hooks that are there run by the name of a module, and what the code of a setting requires by name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ic_testkit::Proxy;
use ic_testkit::attack::world::World;

use super::carried::user;
use super::settings::append;
use super::{Attack, coding, make, step, world, write};

/// A project with a hook that runs a module of Python's.
fn with_hook(world: &mut World, directory: &str, module: &str) {
    world.add_project("", &[]);
    world.write("src/a.txt", "a\n");
    let hook = format!("{directory}/pre-commit");
    world.write(&hook, &format!("#!/bin/sh\nexec python3 -m{module} /dev/null\n"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.workspace().join(&hook), mode).unwrap();
}

#[test]
fn by_a_module_that_a_hook_runs() {
    let files = [
        ("json.tool", "argparse.py"),
        ("json.tool", "json/__init__.py"),
        ("own_checks", "own_checks.py"),
        ("own_checks", "own_checks/__main__.py"),
    ];
    for (directory, (module, file)) in
        [".git/hooks", "tools/hooks"].iter().flat_map(|it| files.map(|of| (*it, of)))
    {
        let prepare = |world: &mut World| {
            with_hook(world, directory, module);
            if directory != ".git/hooks" {
                user(world, &["config", "core.hooksPath", directory]);
            }
        };
        let calls = |world: &World| {
            let code = format!("import os\nos.system({:?})\n", world.canary.script("hook"));
            let above = file.split_once('/').map(|(above, _)| make(above));
            above.into_iter().chain([write(file, &code)]).collect()
        };
        let steps = [step(&["commit", "--allow-empty", "-m", "x"])];
        let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
        attack.check(&format!("{directory}: {file}"));
    }
}

/// Wherever in a hook Python and its option are written.
#[test]
fn by_a_module_however_a_hook_runs_it() {
    for hook in [
        "#!/bin/sh\nPY=/usr/bin/python3\nexec \"$PY\" -m own_checks\n",
        "#!/bin/sh\nexec python3 \\\n  -m own_checks\n",
        "#!/usr/bin/python3\nimport subprocess,sys\nsubprocess.call([sys.executable, \"-m\",\n\"own_checks\"])\n",
        "#!/bin/sh\nP=-m\nexec python3 $P own_checks\n",
        "#!/bin/sh\npython3 -c 'import own_checks'\n",
    ] {
        let prepare = |world: &mut World| {
            with_hook(world, ".git/hooks", "json.tool");
            world.write(".git/hooks/pre-commit", hook);
        };
        let calls = |world: &World| {
            let code = format!("import os\nos.system({:?})\n", world.canary.script("hook"));
            vec![write("own_checks.py", &code)]
        };
        let steps = [step(&["commit", "--allow-empty", "-m", "x"])];
        let attack = Attack { prepare: &prepare, calls: &calls, steps: &steps, runs: true };
        attack.check(hook);
    }
}

/// Other modules beside it are ordinary work, and so are all where no hook runs one.
#[test]
fn other_files_beside_such_a_hook_are_free() {
    let mut world = world();
    with_hook(&mut world, ".git/hooks", "json.tool");
    let mut proxy = start(&world);
    for file in ["main.py", "setup.py", "src/argparse.py", "README.md"] {
        let call = write(file, "x = 1\n");
        proxy.call(call.tool, &call.arguments).good();
    }
    proxy.finish();
}

#[test]
fn by_a_package_that_the_code_of_a_setting_requires() {
    for code in ["require('xx')", "import('xx/sub')"] {
        let mut world = world();
        world.add_project("", &[]);
        world.write("node_modules/xx/sub/README", "1\n");
        let setting = format!("[core]\n\teditor = node -e \\\"{code}\\\" --\n");
        append(&world, "work/.git/config", &setting);
        let mut proxy = start(&world);
        let file = if code.contains("sub") { "sub/index.js" } else { "index.js" };
        let call = write(&format!("node_modules/xx/{file}"), "1\n");
        proxy.call(call.tool, &call.arguments).bad();
        let call = write("node_modules/yy.js", "1\n");
        proxy.call(call.tool, &call.arguments).good();
        proxy.finish();
    }
}

fn start(world: &World) -> Proxy {
    let flags = coding(world);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut proxy = Proxy::start(&world.place, &flags);
    proxy.initialize();
    proxy
}
