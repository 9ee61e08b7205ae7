//! An agent installs the packages of a project with the user's own npm: nothing of it is put back or asked about,
//! however many there are, and what counts beside them is still found.

use std::process::Command;
use std::time::Instant;

use serde_json::json;

use super::{Stage, says, uses};

const N_PACKAGES: usize = 500;

#[test]
fn npm_ci_of_500_packages_raises_no_question() {
    let Some(stage) = Stage::claude([]) else { return };
    let npm = "npm ci --offline --no-audit --no-fund --loglevel=error";
    let maker = stage.place.write("packages.py", include_str!("packages.py"));
    let work = stage.place.path("work");
    let make = Command::new("/usr/bin/python3").arg(maker).arg(&work).status().unwrap();
    assert!(make.success());
    if !Command::new("npm").arg("--version").output().is_ok_and(|it| it.status.success()) {
        eprintln!("SKIPPED: there is no npm on this machine");
        return;
    }
    // Right after it, something that counts.
    let command = format!("{npm} && echo ALL-$((40 + 2)); echo evil > .envrc");
    let bash = uses("toolu_1", "Bash", json!({"command": command, "timeout": 600_000}));
    stage.provider.push([bash, says("Done.")]);
    let began = Instant::now();
    let output = stage.start(&["Install the packages."]);
    eprintln!("npm ci of {N_PACKAGES} packages in the cage: {:?} in all", began.elapsed());
    // The question about what counts, which nobody answered.
    assert_eq!((output.code, output.stdout.trim()), (3, "Done."), "{output:?}");
    assert!(stage.last_request().contains("ALL-42"), "{}", stage.last_request());
    let installed = std::fs::read_dir(work.join("node_modules")).unwrap();
    let installed = installed
        .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("package-"));
    assert_eq!(installed.count(), N_PACKAGES);
    for name in [".envrc", ".vscode/settings.json", ".husky/pre-commit", ".npmrc"] {
        let path = work.join("node_modules/package-7").join(name);
        assert!(path.exists(), "{name}: {output:?}");
    }
    // The control: what counts is put back, and it is all that is.
    let quarantined = output.stderr.matches("quarantine/").count();
    assert_eq!(quarantined, 1, "{output:?}");
    assert!(!work.join(".envrc").exists(), "{output:?}");
}
