//! README, guide and reference: their commands are run as they stand there, and generated pages are current.
//!
//! Each page is typed into a shell at a terminal, from its first command to its last, in a place of its own.
//! Requests for approval and confirmations are answered with yes. A block that cannot run here says why:
//! ```` ```console not run: REASON ````. What a page needs besides is in comments: `<!-- test: COMMAND -->` runs
//! a command, and `<!-- test: file NAME -->` writes the block that follows.

mod page;
mod shell;

use std::path::{Path, PathBuf};

use ic_testkit::reference;

use self::page::{Item, Page};
use self::shell::Shell;
use crate::approvals::world::BINARY;

/// The top of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Types all that a page says.
#[track_caller]
fn run(path: &str) {
    let page = Page::read(&repository().join(path));
    let mut shell = Shell::open(&repository());
    let mut n_run = 0;
    for item in &page.items {
        match item {
            Item::Command(command) => {
                shell.run(command);
                n_run += 1;
            }
            Item::Hidden(command) => shell.run(command),
            Item::File { name, text } => shell.write(name, text),
        }
    }
    assert!(0 < n_run, "{path} has no command that is run");
}

/// The pages, each with a test of its own.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $name() {
                run($path);
            }
        )*
    };
}

pages! {
    the_readme_works: "README.md",
    the_first_run_works: "docs/guide/first-run.md",
    approvals_work: "docs/guide/approvals.md",
    policies_work: "docs/guide/policy.md",
    constitutions_work: "docs/guide/constitution.md",
    servers_work: "docs/guide/servers.md",
    clients_work: "docs/guide/clients.md",
    models_work: "docs/guide/models.md",
    the_model_gate_works: "docs/guide/gate.md",
    agents_work: "docs/guide/agents.md",
    sessions_work: "docs/guide/sessions.md",
    scripts_work: "docs/guide/scripts.md",
    the_log_works: "docs/guide/log.md",
    unattended_work_works: "docs/guide/unattended.md",
    the_configuration_works: "docs/guide/configuration.md",
    troubleshooting_works: "docs/guide/troubleshooting.md",
    moving_works: "docs/guide/migrate.md",
    the_files_work: "docs/reference/files.md",
}

/// Pages without commands to type.
const WITHOUT_COMMANDS: [&str; 1] = ["docs/guide/README.md"];

#[test]
fn no_page_of_the_guide_is_left_out() {
    for entry in std::fs::read_dir(repository().join("docs/guide")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("docs/guide/{name}");
        let is_known = PAGES.contains(&path.as_str()) || WITHOUT_COMMANDS.contains(&path.as_str());
        let is_page = Path::new(&name).extension().is_some_and(|it| it == "md");
        assert!(is_known || !is_page, "{path} is run by no test");
    }
}

#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 180);
}

#[test]
fn the_generated_reference_is_current() {
    for page in reference::pages(Path::new(BINARY), &repository()) {
        let path = repository().join(reference::DIRECTORY).join(page.name);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page.text, "{} is not current: run `cargo xtask reference`", page.name);
    }
}
