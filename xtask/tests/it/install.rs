//! The installer of a release, run by a shell on a tarball that a test makes.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests: a failure is a failed test, and a shell is what people run the installer with"
)]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const NAME: &str = "ironcurtain-0.0.1-x86_64-linux";

/// A release with a program that says its version, and a home to install it into.
struct Release(TempDir);

impl Release {
    fn new() -> Self {
        let release = Self(tempfile::tempdir().unwrap());
        let made = release.shell(&format!(
            "mkdir -p {NAME}/bin {NAME}/share/doc/ironcurtain home &&
            printf '#!/bin/sh\\necho ironcurtain 0.0.1\\n' > {NAME}/bin/ironcurtain &&
            chmod +x {NAME}/bin/ironcurtain && echo text > {NAME}/share/doc/ironcurtain/README.md &&
            tar -czf {NAME}.tar.gz {NAME} && rm -r {NAME} && sha256sum {NAME}.tar.gz > SHA256SUMS"
        ));
        assert!(made.status.success(), "{}", text(&made.stderr));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/install.sh");
        std::fs::copy(script, release.0.path().join("install.sh")).unwrap();
        release
    }

    fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(self.0.path());
        command.env("HOME", self.0.path().join("home")).output().unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.0.path().join(path).exists()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_release_is_checked_installed_and_removed_again() {
    let release = Release::new();
    let installed = release.shell("sh install.sh");
    let said = text(&installed.stdout);
    assert!(installed.status.success(), "{said}{}", text(&installed.stderr));
    assert!(said.contains("installed ironcurtain 0.0.1 as "), "{said}");
    assert!(said.contains("is not on your PATH"), "{said}");
    assert!(release.exists("home/.local/bin/ironcurtain"));

    // A second time, over the first, and with something of the user's beside it.
    std::fs::write(release.0.path().join("home/.local/bin/mine"), "").unwrap();
    assert!(release.shell("sh install.sh").status.success());
    let removed = release.shell("sh install.sh --uninstall");
    assert!(removed.status.success(), "{}", text(&removed.stderr));
    assert!(!release.exists("home/.local/bin/ironcurtain"));
    assert!(!release.exists("home/.local/share/doc/ironcurtain"));
    assert!(release.exists("home/.local/bin/mine"));
    let again = release.shell("sh install.sh --uninstall");
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("nothing is installed in "), "{}", text(&again.stderr));
}

#[test]
fn what_is_not_what_it_should_be_is_not_installed() {
    for (spoil, expected) in [
        ("for it in ironcurtain-*.tar.gz; do printf x >> $it; done", "is not what SHA256SUMS says"),
        ("rm SHA256SUMS", "there is no "),
        ("echo 00 other > SHA256SUMS", "does not name "),
        ("rm ironcurtain-*.tar.gz", "there is no tarball"),
    ] {
        let release = Release::new();
        assert!(release.shell(spoil).status.success());
        let tried = release.shell("sh install.sh");
        let said = text(&tried.stderr);
        assert_eq!(tried.status.code(), Some(1), "{spoil}: {said}");
        assert!(said.contains(expected) && said.contains("hint: "), "{spoil}: {said}");
        assert!(!release.exists("home/.local/bin/ironcurtain"), "{spoil}");
    }
}

#[test]
fn wrong_words_are_refused_and_help_is_there() {
    let release = Release::new();
    for words in ["--prefix", "--prefix relative", "--unknown"] {
        let tried = release.shell(&format!("sh install.sh {words}"));
        assert_eq!(tried.status.code(), Some(1), "{words}");
    }
    let help = release.shell("sh install.sh --help");
    assert!(text(&help.stdout).contains("--uninstall"), "{}", text(&help.stdout));
}

/// A list that names something outside is not ours, whoever wrote it.
#[test]
fn nothing_outside_the_prefix_is_removed() {
    let release = Release::new();
    assert!(release.shell("sh install.sh && echo ../kept >> home/.local/share/ironcurtain/installed-files && touch home/kept").status.success());
    let tried = release.shell("sh install.sh --uninstall");
    assert_eq!(tried.status.code(), Some(1));
    assert!(release.exists("home/kept"));
}
