//! Where the day takes place: a repository with a remote, hosts of documentation, a registry of packages,
//! real agents that are installed.
//!
//! All of it is on this machine: git's own backend behind TLS, and web servers on loopback, each at a port
//! of its own. Nobody is asked here, and no call is made.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use ic_testkit::agents::{CLAUDE_CODE, CODEX, OPENCODE, packages};
use ic_testkit::git_host::{HttpsHost, git, make_repository};
use ic_testkit::{Place, Says, Web};
use serde_json::json;

use super::script::{MORE, NOTES, Places, SETTINGS, Step, WORKFLOW, steps};

/// The modules of the project.
const MODULES: [&str; 4] = ["parse", "report", "money", "dates"];
/// The packages that are added.
const PACKAGES: [&str; 2] = ["money-format", "table-layout"];
/// How many hosts have documentation.
const N_HOSTS: usize = 4;

/// The world of one day.
#[derive(Debug)]
pub(super) struct World {
    pub(super) place: Place,
    pub(super) repository: PathBuf,
    pub(super) remote: PathBuf,
    pub(super) host: HttpsHost,
    pub(super) documentation: Vec<Web>,
    pub(super) registry: Web,
}

impl World {
    /// Makes a world for `binary`, in which the models of real agents are at `models`.
    pub(super) fn new(binary: &Path, models: &str) -> anyhow::Result<Self> {
        let place = Place::new(binary);
        let remotes = place.dir("remotes");
        let remote = remotes.join("ledger.git");
        make_repository(&remote, "README.md", "# Ledger\n\nReads and reports amounts.\n");
        let host = HttpsHost::start(&place, &remotes, "not-used", "");
        let certificate = host.certificate.display();
        place.write("home/.gitconfig", format!("[http]\n\tsslCAInfo = {certificate}\n"));
        let repository = place.dir("home/code/ledger");
        clone(&place, &repository, &remote, &host.url("open", "ledger.git"));
        push_as_colleague(&place, &remote);
        place.write("home/notes/today.md", format!("# Today\n\n{}\n", NOTES[0]));
        place.write("home/shared/conventions.md", "# Conventions\n\nSay what it does.\n");
        let documentation: Vec<Web> = (0..N_HOSTS).map(documentation).collect();
        let registry = registry(&place)?;
        place.configure("agent.registries", json!(["npm"]));
        let upstreams = json!({
            "registry.npmjs.org": {"url": registry.url("")},
            "api.anthropic.com": {"url": models},
            "api.openai.com": {"url": models},
        });
        place.configure("mitm.upstreams", upstreams);
        let packages =
            packages().context("run scripts/test-packages first: it installs the agents")?;
        for row in [&CLAUDE_CODE, &CODEX, &OPENCODE] {
            row.register(&place, &packages);
        }
        name_hosts(&place, &documentation, host.port);
        Ok(Self { place, repository, remote, host, documentation, registry })
    }

    /// Returns what the script has to know.
    pub(super) fn places(&self) -> Places {
        Places {
            repository: self.repository.display().to_string(),
            home: self.place.path("home").display().to_string(),
            hosts: self.documentation.iter().map(|web| web.url("")).collect(),
        }
    }
}

/// Names the hosts on loopback, without which no answer opens a way there; they are asked about all the same.
fn name_hosts(place: &Place, documentation: &[Web], git_port: u16) {
    let named = |port: u16| format!("127.0.0.1:{port}");
    let pages: Vec<String> = documentation.iter().map(|web| named(web.port())).collect();
    let servers = json!({
        "fetch": {"builtin": "fetch", "allowedDomains": pages},
        "git": {"builtin": "git", "allowedDomains": [named(git_port)]},
    });
    place.write("home/.ironcurtain/mcp-servers.json", servers.to_string());
}

/// Clones the remote, fills the project in, and pushes it, as a person does before the day begins.
fn clone(place: &Place, repository: &Path, remote: &Path, url: &str) {
    let remote = remote.display().to_string();
    git(repository, &["clone", "-q", &remote, "."]);
    let write = |name: &str, text: &str| {
        place.write(format!("home/code/ledger/{name}"), text);
    };
    write(
        "package.json",
        &format!("{}\n", json!({"name": "ledger", "version": "1.0.0", "private": true})),
    );
    write(".gitignore", "node_modules/\n");
    write(".vscode/settings.json", &format!("{{\n  {}\n}}\n", SETTINGS[0]));
    let job = format!(
        "jobs:\n  test:\n    steps:\n      - uses: actions/setup-node\n        with:\n          {}\n",
        WORKFLOW[0]
    );
    write(".github/workflows/ci.yml", &job);
    for module in MODULES {
        write(&format!("src/{module}.js"), &format!("'use strict';\n\n{MORE}"));
        let tests = format!(
            "const {{ test }} = require('node:test');\nconst assert = require('node:assert');\n\
             const {module} = require('../src/{module}.js');\n\n{MORE}"
        );
        write(&format!("test/{module}.test.js"), &tests);
    }
    git(repository, &["add", "."]);
    git(repository, &["commit", "-q", "-m", "Begin the project"]);
    git(repository, &["push", "-q", "origin", "main"]);
    git(repository, &["remote", "set-url", "origin", url]);
}

/// Pushes something that the day begins with pulling.
fn push_as_colleague(place: &Place, remote: &Path) {
    let elsewhere = place.dir("colleague");
    git(&elsewhere, &["clone", "-q", &remote.display().to_string(), "."]);
    place.write("colleague/CHANGES.md", "# Changes\n");
    git(&elsewhere, &["add", "."]);
    git(&elsewhere, &["commit", "-q", "-m", "Keep a list of changes"]);
    git(&elsewhere, &["push", "-q", "origin", "main"]);
}

/// Starts a host with the pages that the script wants of it.
fn documentation(host: usize) -> Web {
    let pages = steps().filter_map(|step| match step {
        Step::Pages(pages) => Some(pages),
        _ => None,
    });
    let paths = pages.flatten().filter(|page| page.0 == host).map(|page| page.1);
    let page = |path: &'static str| {
        let text = format!("<h1>{path}</h1><p>How it is used is documented here.</p>");
        (path, Says::page("text/html", text))
    };
    Web::start(|_| paths.map(page).collect())
}

/// Starts a registry with the packages that the script adds.
fn registry(place: &Place) -> anyhow::Result<Web> {
    let mut said = Vec::new();
    for name in PACKAGES {
        let file = format!("{name}-1.0.0.tgz");
        let manifest = json!({"name": name, "version": "1.0.0", "main": "index.js"});
        place.write(format!("packages/{name}/package/package.json"), manifest.to_string());
        place.write(format!("packages/{name}/package/index.js"), "exports.is = true;\n");
        let made = Command::new("tar")
            .arg("-czf")
            .arg(place.path(&file))
            .arg("-C")
            .arg(place.path(format!("packages/{name}")))
            .arg("package")
            .status()?;
        ensure!(made.success(), "`tar` failed");
        let tarball = format!("https://registry.npmjs.org/{name}/-/{file}");
        let packument = json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {
            "1.0.0": {"name": name, "version": "1.0.0", "dist": {"tarball": tarball}}}});
        said.push((
            leaked(format!("/{name}")),
            Says::page("application/json", packument.to_string()),
        ));
        let bytes = std::fs::read(place.path(&file))?;
        let path = leaked(format!("/{name}/-/{file}"));
        said.push((path, Says::page("application/octet-stream", bytes)));
    }
    Ok(Web::start(|_| said))
}

/// A web server's paths live as long as the program.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
