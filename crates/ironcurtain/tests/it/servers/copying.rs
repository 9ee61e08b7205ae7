//! `servers add --from`: a server of the user's own, copied to where no agent writes.

use std::fs;
use std::path::Path;

use ic_testkit::{Place, Proxy};
use serde_json::{Value, json};

use super::script;
use crate::place;

/// A place with a server in a workspace, in two files and a link between them.
fn with_server() -> Place {
    let place = place();
    let plain = fs::read_to_string(script("servers/plain.py")).unwrap();
    place.write("ws/server/plain.py", plain);
    let tools = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    place.write(
        "ws/server/said.json",
        json!({"name": "x", "version": "1", "tools": tools}).to_string(),
    );
    place.link("ws/server/latest.json", "said.json");
    place.write("ws/server/.git/config", "hunter2");
    place
}

fn entry(place: &Place) -> Value {
    let file = fs::read(place.path("home/.ironcurtain/mcp-servers.json")).unwrap();
    serde_json::from_slice::<Value>(&file).unwrap()["mine"].take()
}

#[test]
fn a_server_is_copied_pinned_and_run_from_the_copy() {
    let place = with_server();
    let from = place.path("ws/server");
    let from = from.to_str().unwrap();
    let whole = format!("{from}/latest.json");
    let add = ["servers", "add", "mine", "--from", from, "--", "python3", "-B", "plain.py", &whole];
    let added = place.run(add);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stdout.contains("a copy of "), "{added:?}");
    let first = entry(&place);
    let copy = first["cwd"].as_str().unwrap().to_owned();
    let servers = place.path("home/.ironcurtain/servers/mine");
    assert!(copy.starts_with(servers.join("pkg-").to_str().unwrap()), "{copy}");
    assert_eq!(
        first["args"],
        json!(["-B", format!("{copy}/plain.py"), format!("{copy}/latest.json")])
    );
    assert!(!fs::exists(format!("{copy}/.git")).unwrap());

    // The agent rewrites the original, in a session in whose workspace it lies; the copy runs.
    let mark = place.path("mark");
    place.write("ws/server/plain.py", format!("open({mark:?}, 'w')"));
    let workspace = place.path("ws");
    let mut proxy = Proxy::start(&place, &["--workspace", workspace.to_str().unwrap()]);
    proxy.initialize();
    let tools = proxy.request("tools/list", &json!({})).result().to_string();
    assert!(tools.contains("mine__t"), "{tools}");
    proxy.finish();
    assert!(!mark.exists(), "the original was run");
    let test = place.run(["servers", "test", "mine"]);
    assert_eq!(test.code, 0, "{test:?}");

    // Another content is another place, and so another identity.
    assert_eq!(place.run(["servers", "remove", "mine", "--yes"]).code, 0);
    place.write("ws/server/plain.py", fs::read(script("servers/plain.py")).unwrap());
    place.write("ws/server/more", "x");
    assert_eq!(place.run(add).code, 0);
    assert_ne!(entry(&place)["cwd"], first["cwd"]);
}

/// The files of an installed server are part of what was trusted, whoever changes them.
#[test]
fn a_server_whose_installed_files_changed_is_withheld_until_somebody_looks() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("changed: plain.py", |at| {
            let text = fs::read_to_string(at.join("plain.py")).unwrap();
            fs::write(at.join("plain.py"), format!("{text}\n# more\n")).unwrap();
        }),
        ("new: __pycache__", |at| {
            fs::create_dir(at.join("__pycache__")).unwrap();
            fs::write(at.join("__pycache__/json.pyc"), "x").unwrap();
        }),
        ("new: more.txt", |at| fs::write(at.join("more.txt"), "").unwrap()),
        ("changed: said.json", |at| {
            fs::rename(at.join("said.json"), at.join("said2.json")).unwrap();
            std::os::unix::fs::symlink("said2.json", at.join("said.json")).unwrap();
        }),
        ("changed: latest.json", |at| {
            fs::remove_file(at.join("latest.json")).unwrap();
            fs::copy(at.join("said.json"), at.join("latest.json")).unwrap();
        }),
        ("gone: unused", |at| fs::remove_file(at.join("unused")).unwrap()),
    ];
    let place = with_server();
    place.write("ws/server/unused", "x");
    place.write("home/.ironcurtain/config.json", r#"{"version":1,"approvals":{"scripted":true}}"#);
    let from = place.path("ws/server");
    let from = from.to_str().unwrap();
    let added = place.run([
        "servers",
        "add",
        "mine",
        "--from",
        from,
        "--",
        "python3",
        "-B",
        "plain.py",
        "latest.json",
    ]);
    assert_eq!(added.code, 0, "{added:?}");
    let copy = entry(&place)["cwd"].as_str().unwrap().to_owned();
    for words in [["servers", "review", "mine", "--yes"], ["policy", "allow", "mine", "--yes"]] {
        let output = place.run(words);
        assert_eq!(output.code, 0, "{output:?}");
    }
    for (named, change) in changes {
        assert_eq!(place.run(["servers", "test", "mine"]).code, 0, "{named}: before");
        change(Path::new(&copy));
        let test = place.run(["servers", "test", "mine"]);
        assert_eq!(test.code, 1, "{named}: {test:?}");
        let says = "the files that it is installed from have changed";
        assert!(test.stdout.contains(says), "{named}: {test:?}");
        let list = place.run(["servers", "list"]);
        assert!(list.stdout.contains("changed (trusted "), "{named}: {list:?}");
        // A session does not start it either.
        let mut proxy = Proxy::start(&place, &[]);
        proxy.initialize();
        let answer = proxy.call("mine__t", &json!({}));
        assert!(answer.line.contains(says), "{}", answer.line);
        proxy.finish();
        let trust = place.run(["servers", "trust", "mine", "--yes"]);
        assert_eq!(trust.code, 0, "{trust:?}");
        assert!(trust.stdout.contains(named) && trust.stdout.contains(&copy), "{named}: {trust:?}");
    }
    assert_eq!(place.run(["servers", "test", "mine"]).code, 0);
}

#[test]
fn what_leads_out_of_the_directory_is_not_copied() {
    for (what, target) in
        [("link", "/etc/passwd"), ("up", "../../secret"), ("around", "x/../../../secret")]
    {
        let place = with_server();
        place.write("secret", "hunter2");
        place.link(format!("ws/server/{what}"), target);
        let from = place.path("ws/server");
        let words = [
            "servers",
            "add",
            "mine",
            "--from",
            from.to_str().unwrap(),
            "--",
            "python3",
            "plain.py",
        ];
        let added = place.run(words);
        assert_eq!(added.code, 1, "{added:?}");
        assert!(added.stderr.contains(&format!("`{what}` is a link that leads out")), "{added:?}");
        assert!(!place.path("home/.ironcurtain/servers/mine").exists());
        assert!(!place.path("home/.ironcurtain/mcp-servers.json").exists());
    }
}

#[test]
fn only_the_directory_of_a_server_is_copied() {
    let place = with_server();
    for from in ["/", "/usr", place.path("home").to_str().unwrap(), place.root().to_str().unwrap()]
    {
        let added = place.run(["servers", "add", "mine", "--from", from, "--", "python3", "x.py"]);
        assert_eq!(added.code, 2, "{from}: {added:?}");
        assert!(added.stderr.contains("is not the directory of a server"), "{added:?}");
    }
    let from = place.path("ws/server");
    let both =
        place.run(["servers", "add", "mine", "--from", from.to_str().unwrap(), "--", "npx", "x"]);
    assert_eq!(both.code, 2, "{both:?}");
}

/// A tool with text that nobody sees is named wherever its server is, with the command that shows the text.
#[test]
fn a_tool_that_is_withheld_from_the_beginning_is_never_said_to_be_confirmed() {
    let place = with_server();
    place.let_scripts_answer();
    let tools = json!([
        {"name": "plain", "inputSchema": {"type": "object"}},
        {"name": "secret", "description": "a\u{1b}[2Jb", "inputSchema": {"type": "object"}},
    ]);
    let said = json!({"name": "x", "version": "1", "tools": tools}).to_string();
    place.write("ws/server/said.json", said);
    let from = place.path("ws/server");
    let from = from.to_str().unwrap();
    let whole = format!("{from}/latest.json");
    let add = ["servers", "add", "mine", "--from", from, "--", "python3", "-B", "plain.py", &whole];
    let remedy = "`ironcurtain servers trust mine`";
    let added = place.run(add).stdout;
    assert!(added.contains("secret is withheld: ") && added.contains(remedy), "{added}");
    assert!(!added.contains("plain is withheld"), "{added}");
    for _ in 0..2 {
        let reviewed = place.run(["servers", "review", "mine", "--yes"]).stdout;
        assert!(
            reviewed.contains("`secret` is withheld") && reviewed.contains(remedy),
            "{reviewed}"
        );
        assert!(!reviewed.contains("all tools are confirmed"), "{reviewed}");
    }
    let listed = place.run(["servers", "list"]).stdout;
    assert!(listed.contains("1 tool withheld") && listed.contains(remedy), "{listed}");
    // Once it is trusted it is reviewed like the others.
    assert_eq!(place.run(["servers", "trust", "mine", "--yes"]).code, 0);
    let reviewed = place.run(["servers", "review", "mine", "--yes"]).stdout;
    assert!(
        reviewed.contains("all tools are confirmed") && !reviewed.contains("withheld"),
        "{reviewed}"
    );
    let listed = place.run(["servers", "list"]).stdout;
    assert!(!listed.contains("withheld"), "{listed}");
}
