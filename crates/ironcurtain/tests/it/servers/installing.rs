//! Packages that want to run something while they are installed, or to come from elsewhere.
//!
//! Each attack has a control, which shows that it works where nothing is in its way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ic_testkit::Place;
use serde_json::{Value, json};

use super::adding::{Registry, TINY, has_npm};
use crate::confined::places_on_every_rung;
use crate::place;

/// Writes a package that is a server, with `more` in its manifest.
fn package(place: &Place, name: &str, more: &Value) -> String {
    place.write(format!("{name}/index.js"), TINY);
    let mut manifest = json!({"name": name, "version": "1.0.0", "bin": {name: "index.js"}});
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place.write(format!("{name}/package.json"), manifest.to_string());
    place.path(name).to_str().unwrap().to_owned()
}

/// Runs a program as a user would, who has nothing but a home; returns whether it succeeded.
fn run_plainly(place: &Place, registry: &Registry, program: &str, words: &[&str]) -> bool {
    let url = format!("http://127.0.0.1:{}/", registry.port);
    let output = Command::new(program)
        .args(words)
        .current_dir(place.dir("plainly"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", place.dir("plain-home"))
        .env("npm_config_registry", &url)
        .env("PIP_INDEX_URL", format!("{url}simple/"))
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_BREAK_SYSTEM_PACKAGES", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.status.success()
}

/// Checks that nothing of a server was kept.
#[track_caller]
fn assert_nothing_kept(place: &Place) {
    let home = place.path("home/.ironcurtain");
    for name in ["mcp-servers.json", "servers.lock.json", "servers/evil"] {
        assert!(!home.join(name).exists(), "{name} was kept");
    }
}

/// Returns every file, directory and link beneath a directory.
fn all_in(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

/// Makes a repository whose `.npmrc` names a program as git; the program leaves a mark.
fn repository(place: &Place) -> PathBuf {
    let mark = place.path("git-was-run");
    let program = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", mark.display());
    let path = place.write("repository/program", program);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).unwrap();
    place.write("repository/.npmrc", "git=./program\n");
    // To prepare it, npm installs what it needs, and that is in a repository too.
    let manifest = json!({"name": "inner", "version": "1.0.0", "scripts": {"prepare": "true"},
        "devDependencies": {"x": "git+file:///no/such/repository"}});
    place.write("repository/package.json", manifest.to_string());
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .current_dir(place.path("repository"))
            .env("HOME", place.dir("git-home"))
            .args(["-c", "user.name=t", "-c", "user.email=t@t.example"])
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "-A", "-f"]);
    git(&["commit", "--quiet", "-m", "x"]);
    mark
}

#[test]
fn a_dependency_in_a_repository_runs_no_program_that_the_repository_names() {
    if !has_npm() {
        return;
    }
    let place = place();
    let mark = repository(&place);
    let url = format!("git+file://{}", place.path("repository").display());
    let evil = package(&place, "evil", &json!({"dependencies": {"inner": url}}));
    let registry = Registry::start(&["--npm", &evil]);
    // The control: npm runs the program, although no scripts are to be run.
    let words = ["install", "--ignore-scripts", "--no-audit", "evil"];
    run_plainly(&place, &registry, "npm", &words);
    assert!(mark.exists(), "the attack does not work on this npm, so the test shows nothing");
    fs::remove_file(&mark).unwrap();
    let added = registry.run(&place, &["add", "evil", "--", "npx", "evil"]);
    assert_ne!(added.code, 0, "{added:?}");
    assert!(!mark.exists(), "a program of the repository was run");
    assert_nothing_kept(&place);
}

#[test]
fn a_requirement_with_an_address_builds_nothing() {
    let place = place();
    let mark = place.path("setup-was-run");
    let setup = format!(
        "open('{}', 'w').close()\nimport setuptools\nsetuptools.setup(name='source', version='1.0')\n",
        mark.display()
    );
    let setup = place.write("setup.py", setup);
    let wheel = "evil=source @ HERE/source-1.0.tar.gz";
    let log = place.path("requests");
    let registry = Registry::start(&[
        "--wheel",
        wheel,
        "--source",
        setup.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ]);
    // The control: pip runs the script, although only wheels are to be taken and nothing is to be installed.
    let words = [
        "-m",
        "pip",
        "install",
        "--only-binary",
        ":all:",
        "--dry-run",
        "--ignore-installed",
        "--no-build-isolation",
        "evil",
    ];
    run_plainly(&place, &registry, "/usr/bin/python3", &words);
    assert!(mark.exists(), "the attack does not work on this pip, so the test shows nothing");
    fs::remove_file(&mark).unwrap();
    let added = registry.run(&place, &["add", "evil", "--", "uvx", "evil"]);
    assert_ne!(added.code, 0, "{added:?}");
    assert!(!mark.exists(), "a script of a package was run");
    assert!(fs::read_to_string(&log).unwrap().contains("/simple/evil"), "the index was reached");
    assert_nothing_kept(&place);
    // What requires nothing is installed.
    let good = Registry::start(&["--wheel", "good="]);
    let added = good.run(&place, &["add", "good", "--", "uvx", "good"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stdout.contains("good 1.0 from PyPI"), "{added:?}");
    // It is compiled once, so that no start has to do that.
    let mut left = vec![place.path("home/.ironcurtain/servers/good")];
    let mut is_compiled = false;
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            is_compiled |= path.extension().is_some_and(|it| it == "pyc");
            if path.is_dir() {
                left.push(path);
            }
        }
    }
    assert!(is_compiled, "{added:?}");
}

/// Wheels are kept by their hash and shared between servers; one that was changed is not used.
#[test]
fn a_wheel_is_fetched_once_and_a_changed_one_again() {
    let place = place();
    let log = place.path("requests");
    let registry = Registry::start(&["--wheel", "good=", "--log", log.to_str().unwrap()]);
    let n_fetched = |name: &str| {
        fs::remove_file(&log).ok();
        let added = registry.run(&place, &["add", name, "--", "uvx", "good"]);
        assert_eq!(added.code, 0, "{added:?}");
        let requests = fs::read_to_string(&log).unwrap();
        requests.lines().filter(|line| line.starts_with("/wheels/")).count()
    };
    let first = n_fetched("one");
    let kept = fs::read_dir(place.path("home/.ironcurtain/wheels")).unwrap();
    let kept: Vec<_> =
        kept.map(|it| it.unwrap().path().join("good-1.0-py3-none-any.whl")).collect();
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    let whole = fs::read(kept).unwrap();
    // Whatever has to be fetched to resolve it is fetched; what is installed is there.
    let second = n_fetched("two");
    assert!(second < first, "{second} and {first} requests");
    fs::write(kept, [&whole[..], b"evil"].concat()).unwrap();
    assert_eq!(n_fetched("three"), first, "the changed one was used");
    assert_eq!(fs::read(kept).unwrap(), whole, "the right one is kept again");
}

#[test]
fn what_comes_from_another_host_than_the_registry_is_not_fetched() {
    if !has_npm() {
        return;
    }
    let place = place();
    let log = place.path("requests");
    let plain = package(&place, "evil", &json!({}));
    let foreign = Registry::start(&["--npm", &plain, "--log", log.to_str().unwrap()]);
    let tarball = format!("http://127.0.0.1:{}/evil/-/1.0.0.tgz", foreign.port);
    // The archive is what it is said to be; it is only elsewhere.
    let integrity = integrity_of(&foreign);
    fs::remove_file(&log).unwrap();
    let manifest = json!({"name": "evil", "version": "1.0.0", "bin": {"evil": "index.js"},
        "_tarball": tarball, "_digest": integrity});
    place.write("elsewhere/package.json", manifest.to_string());
    let registry = Registry::start(&["--npm", place.path("elsewhere").to_str().unwrap()]);
    // The control: npm fetches it from there.
    let words = ["install", "--ignore-scripts", "--no-audit", "evil"];
    assert!(run_plainly(&place, &registry, "npm", &words));
    assert!(log.exists(), "npm took it from the registry, so the test shows nothing");
    fs::remove_file(&log).unwrap();
    let added = registry.run(&place, &["add", "evil", "--", "npx", "evil"]);
    assert_eq!(added.code, 1, "{added:?}");
    assert!(added.stderr.contains("which is not your registry"), "{added:?}");
    assert!(!log.exists(), "the other host was asked: {:?}", fs::read_to_string(&log));
    assert_nothing_kept(&place);
}

/// Returns what a registry says of the archive of `evil`.
fn integrity_of(registry: &Registry) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", registry.port)).unwrap();
    stream.write_all(b"GET /evil HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let document: Value = serde_json::from_str(body).unwrap();
    document["versions"]["1.0.0"]["dist"]["integrity"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_that_a_package_brings_is_checked_like_any_other() {
    if !has_npm() {
        return;
    }
    let place = place();
    let log = place.path("requests");
    let part = package(&place, "part", &json!({}));
    let foreign = Registry::start(&["--npm", &part, "--log", log.to_str().unwrap()]);
    let evil = package(
        &place,
        "evil",
        &json!({"dependencies": {"part": "1.0.0"}, "_hasShrinkwrap": true}),
    );
    let resolved = format!("http://127.0.0.1:{}/part/-/1.0.0.tgz", foreign.port);
    // No integrity: whatever comes would be taken.
    let list = json!({"name": "evil", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "evil", "version": "1.0.0", "dependencies": {"part": "1.0.0"}},
        "node_modules/part": {"version": "1.0.0", "resolved": resolved}}});
    place.write("evil/npm-shrinkwrap.json", list.to_string());
    let registry = Registry::start(&["--npm", &evil, "--npm", &part]);
    let added = registry.run(&place, &["add", "evil", "--", "npx", "evil"]);
    assert_eq!(added.code, 1, "{added:?}");
    assert!(!log.exists(), "the other host was asked: {:?}", fs::read_to_string(&log));
    assert_nothing_kept(&place);
}

#[test]
fn dependencies_that_are_no_packages_of_the_registry_are_refused() {
    if !has_npm() {
        return;
    }
    let place = place();
    let part = package(&place, "part", &json!({}));
    for (spec, is_taken) in [
        (format!("file:{part}"), false),
        (part.clone(), false),
        ("link:../part".to_owned(), false),
        ("github:someone/part".to_owned(), false),
        ("https://packages.example/part.tgz".to_owned(), false),
        // An alias stays in the registry.
        ("npm:part@1.0.0".to_owned(), true),
        ("1.0.0".to_owned(), true),
    ] {
        let evil = package(&place, "evil", &json!({"dependencies": {"part": spec}}));
        let registry = Registry::start(&["--npm", &evil, "--npm", &part]);
        let added = registry.run(&place, &["add", "evil", "--", "npx", "evil"]);
        assert_eq!(added.code == 0, is_taken, "{spec}: {added:?}");
        match is_taken {
            true => assert_eq!(place.run(["servers", "remove", "evil", "--yes"]).code, 0),
            false => assert_nothing_kept(&place),
        }
        fs::remove_file(place.path("home/.ironcurtain/mcp-servers.json")).ok();
        fs::remove_file(place.path("home/.ironcurtain/servers.lock.json")).ok();
    }
}

#[test]
fn a_package_in_the_archive_of_another_is_covered_by_its_integrity() {
    if !has_npm() {
        return;
    }
    let place = place();
    let more = json!({"dependencies": {"part": "1.0.0"}, "bundleDependencies": ["part"]});
    let holder = package(&place, "holder", &more);
    place.write("holder/node_modules/.bundled", "");
    place.write("holder/node_modules/part/index.js", "module.exports = 'part';");
    place.write(
        "holder/node_modules/part/package.json",
        json!({"name": "part", "version": "1.0.0"}).to_string(),
    );
    place.write(
        "holder/index.js",
        format!(
            "#!/usr/bin/env node\nrequire('part');\n{}",
            TINY.replace("#!/usr/bin/env node", "")
        ),
    );
    let registry = Registry::start(&["--npm", &holder]);
    let added = registry.run(&place, &["add", "holder", "--", "npx", "holder"]);
    assert_eq!(added.code, 0, "{added:?}");
}

#[test]
fn an_archive_that_wants_to_write_elsewhere_writes_nothing_there() {
    if !has_npm() {
        return;
    }
    let place = place();
    let evil = package(&place, "evil", &json!({}));
    place.write("secret", "hunter2");
    let (mark, secret) = (place.path("written"), place.path("secret"));
    let entries = json!([
        ["link", "package/link", secret],
        ["hard", "package/hard", secret],
        ["link", "package/directory", place.root()],
        ["file", "package/directory/written", "x"],
        ["file", mark, "x"],
        ["file", format!("package/../../../../../../../../../../../../..{}", mark.display()), "x"],
    ]);
    place.write("evil/entries.json", entries.to_string());
    let registry = Registry::start(&["--npm", &evil]);
    let added = registry.run(&place, &["add", "evil", "--", "npx", "evil"]);
    assert!(!mark.exists(), "{added:?}");
    assert_eq!(fs::read_to_string(&secret).unwrap(), "hunter2");
    for path in all_in(&place.path("home/.ironcurtain")) {
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        assert!(!kind.is_symlink(), "{} is a link", path.display());
        let holds_secret = kind.is_file() && fs::read(&path).unwrap() == b"hunter2";
        assert!(!holds_secret, "{} holds the secret", path.display());
    }
}

/// Landlock alone has no network of its own: there the configuration says whether an installer may run.
#[test]
fn where_no_cage_can_be_made_the_configuration_decides() {
    if !has_npm() {
        return;
    }
    for (rung, place, _kept) in places_on_every_rung() {
        let registry = Registry::start(&["--npm", &package(&place, "tiny", &json!({}))]);
        let add = ["add", "tiny", "--", "npx", "tiny"];
        let added = registry.run(&place, &add);
        if rung != "landlock" {
            assert_eq!(added.code, 0, "{rung}: {added:?}");
            continue;
        }
        assert_eq!(added.code, 1, "{rung}: {added:?}");
        assert!(added.stderr.contains("installed in a cage with a network"), "{added:?}");
        assert!(added.stderr.contains("hint: ") && added.stderr.contains("doctor"), "{added:?}");
        place.configure("confinement", "warn");
        let added = registry.run(&place, &add);
        assert_eq!(added.code, 0, "{added:?}");
        assert!(added.stderr.contains("the installer is not confined"), "{added:?}");
    }
}

/// Nothing of the user's is in the cage of an installer: not the home, and no credentials of others.
#[test]
fn an_installer_sees_neither_the_home_nor_credentials_for_other_hosts() {
    if !has_npm() {
        return;
    }
    let place = place();
    let registry = Registry::start(&["--npm", &package(&place, "tiny", &json!({}))]);
    let own = format!("//127.0.0.1:{}/:_authToken=own", registry.port);
    place.write("home/.npmrc", format!("{own}\n//other.example/:_authToken=hunter2\n"));
    // An npm that tells what it sees, in the place of the real one.
    let told = r#"
const fs = require("fs"), said = {};
said.home = fs.readdirSync(process.env.HOME);
said.settings = fs.readFileSync(process.env.npm_config_userconfig, "utf8");
said.variables = Object.keys(process.env);
for (const file of ["/usr/bin/git", "/usr/local/bin/git"]) {
    try { fs.readFileSync(file); said.git = file; } catch {}
}
try { require("child_process").execFileSync("git", ["--version"]); said.runs = "git"; } catch {}
console.error(JSON.stringify(said));
process.exit(1);
"#;
    let cli = place.write("tools/npm/bin/npm-cli.js", format!("#!/usr/bin/env node\n{told}"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&cli, mode).unwrap();
    place.link("tools/bin/npm", &cli);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place.path("tools/bin").display());
    let output = place
        .command(["servers", "add", "tiny", "--", "npx", "tiny"])
        .env("PATH", path)
        .env("npm_config_registry", format!("http://127.0.0.1:{}/", registry.port))
        .env("SSH_AUTH_SOCK", "/tmp/agent")
        .env("A_SECRET", "hunter2")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let line = stderr
        .lines()
        .find(|line| line.trim().starts_with('{'))
        .unwrap_or_else(|| panic!("{stderr}"));
    let said: Value = serde_json::from_str(line.trim()).unwrap();
    // The way to the directory of the moment is there, and nothing else.
    assert_eq!(said["home"], json!([".ironcurtain"]), "{said}");
    let settings = said["settings"].as_str().unwrap();
    assert!(settings.contains("_authToken=\"own\"") && !settings.contains("hunter2"), "{settings}");
    let variables = said["variables"].to_string();
    assert!(!variables.contains("SSH_AUTH_SOCK") && !variables.contains("A_SECRET"), "{variables}");
    assert_eq!((&said["git"], &said["runs"]), (&Value::Null, &Value::Null), "{said}");
}

/// Our home may be a link to another disk; a cage shows what it leads to.
#[test]
fn packages_are_installed_in_a_home_behind_a_link() {
    if !has_npm() {
        return;
    }
    let place = place();
    place.dir("disk");
    place.dir("home");
    place.link("home/.ironcurtain", place.path("disk/home"));
    fs::create_dir(place.path("disk/home")).unwrap();
    let registry = Registry::start(&["--npm", &package(&place, "tiny", &json!({}))]);
    let added = registry.run(&place, &["add", "tiny", "--", "npx", "tiny"]);
    assert_eq!(added.code, 0, "{added:?}");
}
