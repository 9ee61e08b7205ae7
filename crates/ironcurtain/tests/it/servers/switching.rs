//! A built-in server that is switched off and on again, and what is asked before a server goes.

use crate::approvals::world::Rig;
use crate::place;

#[test]
fn a_built_in_server_is_switched_off_only_on_purpose_and_comes_back() {
    let place = place();
    let call = ["policy", "check", "filesystem", "read_file", r#"{"path":"~/x"}"#];
    let refused = place.run(["servers", "remove", "filesystem"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("`--yes` removes without asking"), "{refused:?}");
    assert_eq!(place.run(call).code, 3);

    let removed = place.run(["servers", "remove", "filesystem", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(
        removed.stdout,
        "filesystem is off for new sessions; `ironcurtain servers restore filesystem` switches it on \
         again\n"
    );
    let again = place.run(["servers", "remove", "filesystem", "--yes"]);
    assert!(again.code == 1 && again.stderr.contains("is off already"), "{again:?}");
    let listed = place.run(["servers", "list"]).stdout;
    assert!(
        listed.contains("filesystem  off; `ironcurtain servers restore filesystem`"),
        "{listed}"
    );
    let doctor = place.run(["doctor"]).stdout;
    assert!(doctor.contains("off; `ironcurtain servers restore filesystem`"), "{doctor}");

    let restored = place.run(["servers", "restore", "filesystem"]);
    assert_eq!(restored.stdout, "filesystem is on again, for new sessions\n", "{restored:?}");
    assert_eq!(place.run(call).code, 3);
    let again = place.run(["servers", "restore", "filesystem"]);
    assert!(again.code == 0 && again.stdout.contains("is on already"), "{again:?}");
    assert!(!place.run(["servers", "list"]).stdout.contains(" off;"));
}

#[test]
fn only_built_in_servers_are_restored() {
    let place = place();
    let refused = place.run(["servers", "restore", "memory"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("filesystem, git, fetch, shell"), "{refused:?}");
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"git":{"command":"true"}}"#);
    let refused = place.run(["servers", "restore", "git"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("takes the place of the built-in one"), "{refused:?}");
}

/// What was said about a server in the policy is named when the server goes.
#[test]
fn additions_about_a_server_that_goes_are_named() {
    let place = place();
    place.let_scripts_answer();
    place.write("home/.ironcurtain/mcp-servers.json", r#"{"notes":{"command":"true"}}"#);
    let never = place.run(["policy", "never", "notes"]);
    assert_eq!(never.code, 0, "{never:?}");
    let removed = place.run(["servers", "remove", "notes", "--yes"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(
        removed.stderr.contains("must never use tools of notes; take it out")
            && removed.stderr.contains("policy edit"),
        "{removed:?}"
    );
}

#[test]
fn at_a_terminal_it_is_asked_before_anything_goes() {
    let rig = Rig::new();
    for (answer, code) in [("n\n", 1), ("y\n", 0)] {
        let mut terminal = rig.at_terminal(&["servers", "remove", "fetch"]);
        terminal.expect("Switch the built-in server `fetch` off?").expect("[y/N]");
        terminal.type_in(answer);
        assert_eq!(terminal.end().code, code, "{answer}");
    }
    assert!(rig.place.run(["servers", "list"]).stdout.contains("fetch  off;"));
    for _ in 0..2 {
        assert_eq!(rig.place.run(["start", "list the files"]).code, 0);
    }
    let count = || rig.place.run(["sessions", "list"]).stdout.lines().count();
    let before = count();
    for (answer, code) in [("n\n", 1), ("y\n", 0)] {
        assert_eq!(count(), before);
        let mut terminal = rig.at_terminal(&["cleanup", "--older-than", "0s"]);
        terminal.expect("would remove").expect("sessions with their sandboxes?").expect("[y/N]");
        terminal.type_in(answer);
        assert_eq!(terminal.end().code, code, "{answer}");
    }
    assert!(count() < before);
}
