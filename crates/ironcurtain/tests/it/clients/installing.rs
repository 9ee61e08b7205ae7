//! `clients install` and `clients remove`: what is written, what stays, and what is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ic_testkit::Place;
use insta::assert_snapshot;

use super::agents::guide::blocks;
use crate::approvals::world::Rig;
use crate::place;

/// Each client, its section in the guide, its files, and the language of their blocks.
const CLIENTS: [(&str, &str, &[&str], &str); 6] = [
    ("claude-code", "Claude Code", &[".claude.json", ".claude/settings.json"], "json"),
    ("codex", "Codex", &[".codex/config.toml"], "toml"),
    ("opencode", "OpenCode", &[".config/opencode/opencode.json"], "json"),
    ("goose", "Goose", &[".config/goose/config.yaml"], "yaml"),
    ("cursor", "Cursor", &[".cursor/mcp.json"], "json"),
    ("vscode", "VS Code", &[".config/Code/User/mcp.json"], "json"),
];

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");

fn in_home(place: &Place, file: &str) -> PathBuf {
    place.path("home").join(file)
}

fn read(place: &Place, file: &str) -> String {
    std::fs::read_to_string(in_home(place, file)).unwrap()
}

/// Returns the old files that were kept.
fn backups(place: &Place) -> Vec<(PathBuf, String)> {
    let is_backup = |path: &PathBuf| path.extension().is_some_and(|it| it == "bak");
    place.files("home").into_iter().filter(|(path, _)| is_backup(path)).collect()
}

/// What is printed, what is written and what the guide says are the same.
#[test]
fn the_guide_says_what_is_written_and_printed() {
    for (name, section, files, language) in CLIENTS {
        let place = place();
        let printed = place.run(["clients", "install", name, "--print"]);
        assert_eq!(printed.code, 0, "{printed:?}");
        let told = blocks(section, language);
        let told: Vec<&String> = told.iter().take(files.len()).collect();
        let expected: String = told.iter().map(|it| it.as_str()).collect();
        assert_eq!(printed.stdout.replace(BINARY, "ironcurtain"), expected, "{name}");

        let written = place.run(["clients", "install", name, "--yes"]);
        assert_eq!(written.code, 0, "{written:?}");
        for (file, expected) in files.iter().zip(told) {
            let text = read(&place, file).replace(BINARY, "ironcurtain");
            assert_eq!(text.trim_end(), expected.trim_end(), "{name}: {file}");
            let mode = std::fs::metadata(in_home(&place, file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}: {file}");
        }
        // What turns its own tools off is in the guide as it is printed.
        let own = printed.stderr.lines().filter_map(|line| line.strip_prefix("    "));
        let own: String = own.map(|line| format!("{line}\n")).collect();
        let guide: Vec<String> = ["json", "toml", "yaml", "console", "markdown"]
            .iter()
            .flat_map(|language| blocks(section, language))
            .map(|block| block.trim_start_matches("$ ").to_owned())
            .collect();
        assert!(guide.contains(&own), "{name}: {own:?} in {guide:?}");
        assert!(printed.stderr.contains("own tools"), "{name}: {printed:?}");
        assert!(printed.stderr.contains("ironcurtain listen"), "{name}: {printed:?}");
    }
}

#[test]
fn what_is_installed_twice_is_there_once_and_is_removed_without_a_trace() {
    for (name, _, files, _) in CLIENTS {
        let place = place();
        assert_eq!(place.run(["clients", "install", name, "--yes"]).code, 0);
        let first: Vec<String> = files.iter().map(|file| read(&place, file)).collect();
        let again = place.run(["clients", "install", name, "--yes"]);
        assert_eq!(again.code, 0);
        assert!(again.stdout.contains("nothing was changed"), "{name}: {again:?}");
        let second: Vec<String> = files.iter().map(|file| read(&place, file)).collect();
        assert_eq!(first, second, "{name}");
        assert!(backups(&place).is_empty(), "{name}: there was nothing to keep");
        let removed = place.run(["clients", "remove", name, "--yes"]);
        assert_eq!(removed.code, 0, "{removed:?}");
        for file in files {
            assert!(!in_home(&place, file).exists(), "{name}: {file} held nothing else");
        }
        let removed = place.run(["clients", "remove", name, "--yes"]);
        assert!(removed.stdout.contains("nothing was changed"), "{name}: {removed:?}");
    }
}

/// Who installs it again, after an update for instance, does not mean to lose the workspace.
#[test]
fn options_stay_when_it_is_installed_again_and_give_way_to_others() {
    for (name, _, files, _) in CLIENTS {
        let place = place();
        let options = ["--", "--workspace", "/home/you/project"];
        let first = place.run([&["clients", "install", name, "--yes"][..], &options].concat());
        assert_eq!(first.code, 0, "{first:?}");
        let written = read(&place, files[0]);
        assert!(written.contains("/home/you/project"), "{name}: {written}");
        let again = place.run(["clients", "install", name, "--yes"]);
        assert!(again.stdout.contains("nothing was changed"), "{name}: {again:?}");
        assert!(again.stderr.contains("--workspace /home/you/project"), "{name}: {again:?}");
        assert_eq!(read(&place, files[0]), written, "{name}");
        let options = ["--", "--policy", "coding"];
        let other = place.run([&["clients", "install", name, "--yes"][..], &options].concat());
        assert_eq!(other.code, 0, "{other:?}");
        let written = read(&place, files[0]);
        assert!(written.contains("coding") && !written.contains("project"), "{name}: {written}");
    }
}

/// A file that was there before is not removed, also if nothing was in it.
#[test]
fn a_file_of_the_user_is_never_removed() {
    for (name, file, before) in [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {}}"),
        ("vscode", ".config/Code/User/mcp.json", "{}\n"),
        ("codex", ".codex/config.toml", ""),
    ] {
        let place = place();
        place.write(format!("home/{file}"), before);
        assert_eq!(place.run(["clients", "install", name, "--yes"]).code, 0);
        let removed = place.run(["clients", "remove", name, "--yes"]);
        assert_eq!(removed.code, 0, "{removed:?}");
        assert!(in_home(&place, file).exists(), "{name}: {removed:?}");
        assert!(!read(&place, file).contains("ironcurtain"), "{name}: {}", read(&place, file));
    }
}

/// The file holds the keys of other servers, and the difference is shown on a terminal that others may see.
#[test]
fn what_is_shown_of_a_change_holds_nothing_of_others() {
    let place = place();
    let key = "hunter2-of-another-server";
    let before = format!(
        "{{\n  \"mcpServers\": {{\n    \"x\": {{\"env\": {{\"K\": \"{key}\"}}}}\n  }},\n  \"y\": \"{key}\"\n}}\n"
    );
    place.write("home/.claude.json", &before);
    for words in [["install", "claude-code"], ["remove", "claude-code"]] {
        let output = place.run([&["clients"][..], &words, &["--yes"]].concat());
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("ironcurtain"), "{output:?}");
        assert!(!format!("{output:?}").contains(key), "{output:?}");
    }
    assert_eq!(read(&place, ".claude.json"), before);
}

#[test]
fn what_is_not_ours_stays_as_it_was() {
    for (name, file, before) in [
        (
            "codex",
            ".codex/config.toml",
            "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n",
        ),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "{\n  // mine\n  \"model\": \"x\",\n  \"mcp\": {\n    \"other\": { \"type\": \"local\", \"command\": [\"y\"] }, // theirs\n  },\n}\n",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "# mine\nGOOSE_MODEL: x\nextensions:\n  other:\n    type: stdio\n    cmd: y\n",
        ),
        (
            "claude-code",
            ".claude.json",
            "{\"numStartups\":3,\"mcpServers\":{\"other\":{\"command\":\"y\"}},\"projects\":{}}",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"y\"}\n\t}\n}\n",
        ),
    ] {
        let place = place();
        place.write(format!("home/{file}"), before);
        let path = in_home(&place, file);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let installed = place.run(["clients", "install", name, "--yes"]);
        assert_eq!(installed.code, 0, "{installed:?}");
        let after = read(&place, file);
        assert!(after.contains(BINARY), "{name}: {after}");
        for line in before.lines().filter(|line| line.contains("mine") || line.contains("other")) {
            assert!(after.contains(line) || name == "claude-code", "{name}: {line} in {after}");
        }
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}: the file's rights stay");
        let kept = backups(&place);
        assert_eq!(kept.len(), 1, "{name}: {kept:?}");
        assert_eq!(kept[0].1, before, "{name}: the old file is kept");
        assert_eq!(place.run(["clients", "remove", name, "--yes"]).code, 0, "{name}");
        assert_eq!(read(&place, file), before, "{name}: ours is out, and nothing else");
    }
}

/// Whatever the file holds, its own keys keep their places, and the client's own tools are off.
#[test]
fn own_tools_are_turned_off_wherever_the_users_settings_stand() {
    for before in [
        "",
        "model = \"gpt-5\"\n",
        "# mine\nmodel = \"gpt-5\"\napproval_policy = \"on-request\" # why\n\n[tui]\ntheme = \"x\"\n",
        "model = \"gpt-5\"\n[features]\nshell_tool = true\nother = true\n[mcp_servers.other]\ncommand = \"y\"\n",
        "features.shell_tool = true\nmodel = \"gpt-5\"\n",
    ] {
        let place = place();
        place.write("home/.codex/config.toml", before);
        let words = ["clients", "install", "codex", "--own-tools-off", "--yes"];
        let installed = place.run(words);
        assert_eq!(installed.code, 0, "{before}: {installed:?}");
        let text = read(&place, ".codex/config.toml");
        let after: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let was: toml::Table = before.parse().unwrap();
        assert_eq!(after.get("model"), was.get("model"), "{text}");
        assert_eq!(after.get("tui"), was.get("tui"), "{text}");
        assert_eq!(after["sandbox_mode"].as_str(), Some("read-only"), "{text}");
        assert_eq!(after["approval_policy"].as_str(), Some("never"), "{text}");
        assert_eq!(after["web_search"].as_str(), Some("disabled"), "{text}");
        let features = after["features"].as_table().unwrap();
        for name in ["shell_tool", "view_image", "multi_agent", "goals", "apps", "plugins"] {
            assert_eq!(features[name].as_bool(), Some(false), "{name}: {text}");
        }
        assert_eq!(features.contains_key("other"), before.contains("other = true"), "{text}");
        let entry = after["mcp_servers"]["ironcurtain"].as_table().unwrap();
        assert_eq!(entry["command"].as_str(), Some(BINARY), "{text}");
        assert_eq!(before.contains("# mine"), text.contains("# mine"), "{text}");
        assert!(place.run(words).stdout.contains("nothing was changed"), "{text}");
    }
}

#[test]
fn own_tools_of_goose_and_opencode_are_turned_off_in_place() {
    let place = place();
    let before = "GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    name: developer\n    \
                  enabled: true\n    bundled: true\n  mine:\n    type: stdio\n    cmd: y\nlast: 1\n";
    place.write("home/.config/goose/config.yaml", before);
    let words = ["clients", "install", "goose", "--own-tools-off", "--yes"];
    assert_eq!(place.run(words).code, 0);
    let text = read(&place, ".config/goose/config.yaml");
    let read_back = yaml_rust2::YamlLoader::load_from_str(&text).unwrap();
    let after = &read_back[0];
    assert_eq!(text.matches("  developer:").count(), 1, "{text}");
    let extensions = &after["extensions"];
    assert_eq!(extensions["developer"]["enabled"].as_bool(), Some(false), "{text}");
    assert_eq!(extensions["developer"]["type"].as_str(), Some("builtin"), "{text}");
    assert_eq!(extensions["developer"]["bundled"].as_bool(), Some(true), "{text}");
    for name in ["extensionmanager", "analyze", "apps", "scheduler", "skills", "summon"] {
        assert_eq!(extensions[name]["enabled"].as_bool(), Some(false), "{name}: {text}");
        assert_eq!(extensions[name]["type"].as_str(), Some("platform"), "{name}: {text}");
    }
    assert_eq!(extensions["mine"]["cmd"].as_str(), Some("y"), "{text}");
    assert_eq!(after["last"].as_i64(), Some(1), "{text}");

    place.write(
        "home/.config/opencode/opencode.json",
        "{\"permission\": {\"*\": \"ask\", \"bash\": \"allow\"}}",
    );
    assert_eq!(place.run(["clients", "install", "opencode", "--own-tools-off", "--yes"]).code, 0);
    let after: serde_json::Value =
        serde_json::from_str(&read(&place, ".config/opencode/opencode.json")).unwrap();
    assert_eq!(after["permission"], serde_json::json!({"*": "deny", "ironcurtain_*": "allow"}));

    for name in ["claude-code", "cursor", "vscode"] {
        let refused = place.run(["clients", "install", name, "--own-tools-off", "--yes"]);
        assert_eq!(refused.code, 2, "{name}: {refused:?}");
        assert!(refused.stderr.contains("has no setting in its file"), "{name}: {refused:?}");
    }
}

/// Comments in an entry that is switched off stay, and what still turns tools off is named at the end.
#[test]
fn switching_tools_off_keeps_comments_and_removing_names_what_stays() {
    let place = place();
    let before = "extensions:\n  # mine\n  developer:\n    enabled: true   # keep\n    # why\n    type: builtin\n";
    place.write("home/.config/goose/config.yaml", before);
    assert_eq!(place.run(["clients", "install", "goose", "--own-tools-off", "--yes"]).code, 0);
    let text = read(&place, ".config/goose/config.yaml");
    let after = before.replace("true ", "false ");
    assert!(text.starts_with(&after), "{text}");
    let removed = place.run(["clients", "remove", "goose", "--yes"]);
    assert!(removed.stderr.contains("Goose's own tools are still turned off by"), "{removed:?}");
    assert!(removed.stderr.contains("extensions.developer, "), "{removed:?}");

    place.write("home/.codex/config.toml", "model = \"x\"\napproval_policy = \"on-request\"\n");
    let installed = place.run(["clients", "install", "codex", "--own-tools-off", "--yes"]);
    assert!(installed.stdout.contains("+approval_policy = \"never\"\n"), "{installed:?}");
    let removed = place.run(["clients", "remove", "codex", "--yes"]);
    for key in ["web_search", "approval_policy", "features.shell_tool"] {
        assert!(removed.stderr.contains(key), "{key}: {removed:?}");
    }
    // Without them nothing is said, and in a pipe the hint is true.
    let plain = place.run(["clients", "install", "cursor"]);
    assert!(plain.code == 1 && plain.stderr.contains("or confirm it with `--yes`"), "{plain:?}");
    assert_eq!(place.run(["clients", "install", "cursor", "--yes"]).code, 0);
    let removed = place.run(["clients", "remove", "cursor", "--yes"]);
    assert!(!removed.stderr.contains("still turned off"), "{removed:?}");
}

#[test]
fn the_list_says_which_clients_are_connected() {
    let place = place();
    assert_eq!(place.run(["clients", "install", "codex", "--yes"]).code, 0);
    place.write("home/.cursor/mcp.json", r#"{"mcpServers":{"ironcurtain":{"command":"other"}}}"#);
    let listed = place.run(["clients", "list"]).stdout;
    assert_eq!(listed.lines().count(), CLIENTS.len(), "{listed}");
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&place.run(["clients", "list", "--json"]).stdout).unwrap();
    let connected: Vec<&serde_json::Value> =
        rows.iter().filter(|it| it["connected"] == true).map(|it| &it["name"]).collect();
    assert_eq!(connected, ["codex"], "{rows:?}");
}

#[test]
fn an_entry_that_is_not_ours_is_neither_overwritten_nor_removed() {
    for (name, file, text) in [
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": {\"ironcurtain\": {\"command\": \"my-own\", \"args\": [\"--special\"]}}}",
        ),
        ("codex", ".codex/config.toml", "[mcp_servers.ironcurtain]\nurl = \"https://x.example\"\n"),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"mcp\": {\"ironcurtain\": {\"command\": [\"/bin/ironcurtain\", \"demo\"]}}}",
        ),
    ] {
        let place = place();
        place.write(format!("home/{file}"), text);
        let refused = place.run(["clients", "install", name, "--yes"]);
        assert_eq!(refused.code, 1, "{name}: {refused:?}");
        assert!(refused.stderr.contains("starts something else: `"), "{name}: {refused:?}");
        let removed = place.run(["clients", "remove", name, "--yes"]);
        assert!(removed.stderr.contains("did not write; it stays"), "{name}: {removed:?}");
        assert_eq!(read(&place, file), text, "{name}");
        assert!(backups(&place).is_empty(), "{name}");
    }
}

#[test]
fn servers_that_the_client_starts_itself_are_named() {
    let place = place();
    let text = "{\n\t\"mcpServers\": {\n\t\t\"github\": {\"command\": \"gh-mcp\"},\n\t\t\"far\": \
                {\"url\": \"https://x.example\"}\n\t}\n}\n";
    place.write("home/.claude.json", text);
    let installed = place.run(["clients", "install", "claude-code", "--yes"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(
        installed.stderr.contains("does not judge them: github, far.")
            && installed.stderr.contains("`ironcurtain servers import`"),
        "{installed:?}"
    );
    // A tab is shown as what it looks like.
    assert!(installed.stdout.contains("+        \"ironcurtain\": {"), "{installed:?}");
    assert!(!installed.stdout.contains("\\u{9}"), "{installed:?}");
}

#[test]
fn a_setting_of_the_user_stays_and_is_named() {
    let place = place();
    let before = "{\n  \"env\": {\n    \"MCP_TOOL_TIMEOUT\": \"1000\"\n  }\n}\n";
    place.write("home/.claude/settings.json", before);
    let installed = place.run(["clients", "install", "claude-code", "--yes"]);
    assert!(installed.stderr.contains("env.MCP_TOOL_TIMEOUT"), "{installed:?}");
    assert!(read(&place, ".claude/settings.json").contains("\"1000\""));
    assert_eq!(place.run(["clients", "remove", "claude-code", "--yes"]).code, 0);
    assert_eq!(read(&place, ".claude/settings.json"), before);
}

#[test]
fn a_link_is_not_followed_silently() {
    let place = place();
    let real = place.write("dotfiles/config.toml", "model = \"x\"\n");
    place.link("home/.codex/config.toml", &real);
    let refused = place.run(["clients", "install", "codex", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("through a link"), "{refused:?}");
    assert!(refused.stderr.contains(&real.display().to_string()), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "model = \"x\"\n");
    // A directory that is a link is the same thing.
    place.dir("elsewhere");
    place.link("home/.cursor", place.path("elsewhere"));
    let refused = place.run(["clients", "install", "cursor", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(!place.path("elsewhere/mcp.json").exists());
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_changed() {
    let place = place();
    let mut command = place.command(["clients", "install", "codex"]);
    // A session of its own has no terminal.
    let output = std::process::Command::new("setsid")
        .arg("--wait")
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .env("HOME", place.path("home"))
        .env("PATH", "/usr/bin:/bin")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    command.stdin(std::process::Stdio::null());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!in_home(&place, ".codex/config.toml").exists());
}

#[test]
fn what_cannot_be_changed_safely_is_left_alone() {
    for (name, file, text) in [
        ("codex", ".codex/config.toml", "model = \n"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}"),
        ("vscode", ".config/Code/User/mcp.json", "{ \"servers\": {}, \"servers\": {} }"),
        ("goose", ".config/goose/config.yaml", "extensions: {a: {type: x}}\n"),
        ("opencode", ".config/opencode/opencode.json", "{\"mcp\": "),
    ] {
        let place = place();
        place.write(format!("home/{file}"), text);
        let refused = place.run(["clients", "install", name, "--yes"]);
        assert_eq!(refused.code, 1, "{name}: {refused:?}");
        assert!(refused.stderr.contains("--print"), "{name}: {refused:?}");
        assert_eq!(read(&place, file), text, "{name}");
        assert!(backups(&place).is_empty(), "{name}");
    }
}

#[test]
fn options_of_the_proxy_are_checked_and_written() {
    let place = place();
    let work = place.dir("work").display().to_string();
    let words = ["clients", "install", "codex", "--print", "--", "--wait", "--workspace", &work];
    let printed = place.run(words);
    let expected = format!("args = [\"proxy\", \"--wait\", \"--workspace\", \"{work}\"]");
    assert!(printed.stdout.contains(&expected), "{printed:?}");
    for (words, reason) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["--workspace", "work"], "not absolute"),
        (&["--socket", "/x/y"], "--socket"),
    ] {
        let words = ["clients", "install", "codex", "--yes", "--"].iter().chain(words);
        let refused = place.run(words);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(reason), "{refused:?}");
    }
    let refused = place.run(["clients", "install", "codex", "--yes", "--", "--policy", "nosuch"]);
    assert!(refused.stderr.contains("there is no policy `nosuch`"), "{refused:?}");
    assert!(!in_home(&place, ".codex/config.toml").exists());
    let elsewhere = place.path("elsewhere").display().to_string();
    let place = crate::place().with_variable("IRONCURTAIN_HOME", &elsewhere);
    let printed = place.run(["clients", "install", "codex", "--print"]);
    let expected = format!("env = {{ IRONCURTAIN_HOME = \"{elsewhere}\" }}");
    assert!(printed.stdout.contains(&expected), "{printed:?}");
}

/// At a terminal the change is shown first, and only a yes makes it; a link is named there.
#[test]
fn a_person_sees_the_change_and_decides() {
    let rig = Rig::new();
    let real = rig.place.write("dotfiles/config.toml", "# mine\n");
    rig.place.link("home/.codex/config.toml", &real);
    for (answer, code) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        let mut terminal = rig.at_terminal(&["clients", "install", "codex"]);
        terminal.expect("(a link to ").expect("+[mcp_servers.ironcurtain]").expect("[y/N]");
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "# mine\n", "nobody said yes yet");
        terminal.type_in(answer);
        let output = terminal.end();
        assert_eq!(output.code, code, "{answer:?}: {output:?}");
    }
    let text = std::fs::read_to_string(&real).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("default_tools_approval_mode"), "{text}");
    let link = std::fs::symlink_metadata(in_home(&rig.place, ".codex/config.toml")).unwrap();
    assert!(link.is_symlink(), "the link is left as it was");
}

#[test]
fn an_unknown_client_is_named_with_those_that_there_are() {
    let refused = place().run(["clients", "install", "emacs"]);
    assert_eq!(refused.code, 2);
    assert_snapshot!(refused.stderr.lines().take(2).collect::<Vec<_>>().join("\n"), @r"
    error: invalid value 'emacs' for '<CLIENT>'
      [possible values: claude-code, codex, opencode, goose, cursor, vscode]
    ");
}
