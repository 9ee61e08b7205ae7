//! What holds servers, and what is said and recorded of it.

use serde_json::json;

use super::{Rig, hidden};
use crate::servers::RUNGS;

#[test]
fn the_rung_in_force_is_said_and_recorded() {
    let rig = Rig::new();
    let mut proxy = rig.start();
    proxy.finish();
    let opened = rig.opened_record();
    let rung = opened["confinement"].as_str().unwrap();
    assert!(RUNGS.contains(&rung), "{opened}");
    assert_eq!(
        (&opened["confinementMode"], &opened["unconfined"]),
        (&json!("enforce"), &json!([]))
    );
    let stderr = proxy.all_stderr();
    assert!(stderr.contains(&format!("), confinement {rung}\n")), "{stderr}");
}

#[test]
fn a_server_whose_entry_says_so_is_not_confined_and_everyone_is_told() {
    let rig = Rig::new().by_place("open").peeker(&json!({"sandbox": false}));
    rig.place.write("secret/f.txt", "seen");
    let peek = json!({"where": hidden(&rig.text("secret/f.txt"))});
    let mut proxy = rig.start();
    proxy.call("peeker__peek", &peek).bad();
    proxy.finish();
    rig.trust("peeker");
    let mut proxy = rig.start();
    assert_eq!(proxy.call("peeker__peek", &peek).good(), "seen");
    proxy.finish();
    assert_eq!(rig.opened_record()["unconfined"], json!(["peeker"]));
    assert_eq!(rig.records("intent").pop().unwrap()["confined"], "none");
    let stderr = proxy.all_stderr();
    assert!(stderr.contains("server `peeker` is not confined, as its entry says"), "{stderr}");
}

#[test]
fn without_a_cage_nothing_is_opened() {
    let rig = Rig::with_only("nothing").peeker(&json!({}));
    let mut proxy = rig.start_silent();
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let (_, message) = proxy.request("initialize", &initialize).error();
    assert!(message.contains("MCP servers cannot be confined on this machine"), "{message}");
    assert_eq!(proxy.end(), 1);
    let stderr = proxy.all_stderr();
    for rung in RUNGS {
        assert!(stderr.contains(&format!("{rung}: ")), "{rung}: {stderr}");
    }
    for part in ["remedy: ", "config set confinement warn"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(rig.place.sessions().len(), 0, "a session was made");
    for (words, code) in [(["servers", "test", "peeker"], 1), (["servers", "list", "--json"], 0)] {
        let output =
            rig.place.run([&words[..], &["--servers", &rig.text("servers.json")]].concat());
        assert_eq!(output.code, code, "{output:?}");
        let text = format!("{}{}", output.stdout, output.stderr);
        let part = if code == 0 { "\"confinement\":\"refused\"" } else { "so none is started" };
        assert!(text.contains(part), "{text}");
    }
    let doctor = rig.place.run(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(doctor.stdout.contains("failed   confinement"), "{}", doctor.stdout);
}

#[test]
fn servers_that_nothing_holds_are_shown_and_recorded() {
    for (mode, header) in [
        ("warn", "confinement none (mode warn): MCP servers run with all of your rights, because"),
        ("off", "confinement none (mode off): MCP servers run with all of your rights"),
    ] {
        let contained = json!({"contained": true});
        let rig = Rig::with_only("nothing").by_place("outside").peeker(&contained).in_mode(mode);
        rig.place.write("outside/a.txt", "a");
        rig.start().finish();
        rig.trust("peeker");
        let mut proxy = rig.start();
        let path = json!({"path": rig.text("outside/a.txt")});
        // By a server that is started for it, which nothing holds but its own view.
        assert_eq!(proxy.call("filesystem__read_text_file", &path).good(), "a");
        assert_eq!(proxy.call("peeker__read", &path).good(), "a");
        proxy.finish();
        let opened = rig.opened_record();
        assert_eq!(opened["confinement"], "none", "{opened}");
        assert_eq!(opened["confinementMode"], mode, "{opened}");
        assert!(rig.records("intent").iter().all(|it| it["confined"] == "none"));
        let stderr = proxy.all_stderr();
        assert!(stderr.contains(header), "{stderr}");
    }
}

/// Whoever says that it is contained is believed only in a cage.
#[test]
fn only_a_caged_server_is_contained() {
    for (mode, expected) in [("enforce", "structural-sandbox-allow"), ("off", "nothing")] {
        let mut rig = Rig::new().by_place("open").peeker(&json!({"contained": true})).in_mode(mode);
        let nothing = json!({"name": "nothing", "if": {"server": ["peeker"]}, "then": "deny",
            "reason": "a test"});
        rig.rules.insert(0, nothing);
        if mode == "off" {
            rig.start().finish();
            rig.trust("peeker");
        }
        let mut proxy = rig.start();
        proxy.call("peeker__write", &json!({"path": "a.txt", "text": "a"}));
        proxy.finish();
        assert_eq!(rig.records("intent")[0]["rule"], expected, "{mode}");
        let is_written = rig.sandbox().join("a.txt").exists();
        assert_eq!(is_written, mode == "enforce", "{mode}");
    }
}
