//! `servers import` of files that the real clients wrote themselves.
//!
//! The clients come from `scripts/test-packages`. Each adds servers by its own command, in a home of its
//! own; what it wrote is then imported, and started in a cage.

use std::path::Path;
use std::process::{Command, Stdio};

use ic_testkit::{Output, Place};
use serde_json::{Value, json};

use super::importing::INLINE;
use crate::clients::Packages;
use crate::place;

const SECRET: &str = "hunter2-of-a-client";

/// A place in which a client is run.
struct Stage {
    place: Place,
    program: std::path::PathBuf,
}

impl Stage {
    fn set(program: &str) -> Option<Self> {
        let program = Packages::find()?.0.join("bin").join(program);
        if !program.exists() {
            let is_made_for = std::env::consts::ARCH == "x86_64";
            assert!(!is_made_for, "{} should be there", program.display());
            eprintln!("SKIPPED: {} is not made for this machine", program.display());
            return None;
        }
        let place = place();
        place.dir("work");
        place.dir("tmp");
        Some(Self { place, program })
    }

    /// Lets the client do something about its servers.
    #[track_caller]
    fn client(&self, variables: &[(&str, &Path)], words: &[&str]) {
        let output = Command::new(&self.program)
            .args(words)
            .env_clear()
            .env("HOME", self.place.path("home"))
            .env("TMPDIR", self.place.path("tmp"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(variables.iter().copied())
            // It has nobody to talk to.
            .envs(["HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, "http://127.0.0.1:9")))
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .current_dir(self.place.path("work"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    /// Runs `servers import` where the client was run.
    fn import(&self, variables: &[(&str, &str)], words: &[&str]) -> Output {
        let output = self
            .place
            .command([&["servers", "import"], words].concat())
            .envs(variables.iter().copied())
            .current_dir(self.place.path("work"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let output = Output {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!format!("{output:?}").contains(SECRET), "{output:?}");
        output
    }

    /// Returns an entry that was added.
    fn entry(&self, name: &str) -> Value {
        let file = std::fs::read(self.place.path("home/.ironcurtain/mcp-servers.json")).unwrap();
        assert!(!String::from_utf8_lossy(&file).contains(SECRET));
        let file: Value = serde_json::from_slice(&file).unwrap();
        file[name].clone()
    }

    /// Checks that a server was added with the words after the script, and with these variables.
    #[track_caller]
    fn check_added(&self, output: &Output, name: &str, words: &[&str], env: &Value) {
        assert_eq!(output.code, 0, "{output:?}");
        let entry = self.entry(name);
        let args = entry["args"].as_array().unwrap();
        assert_eq!(args[3..], words.iter().map(|it| json!(it)).collect::<Vec<_>>()[..], "{entry}");
        assert_eq!(entry.get("env").unwrap_or(&json!({})), env, "{entry}");
    }
}

#[test]
fn what_claude_code_wrote_is_imported() {
    let Some(stage) = Stage::set("claude") else { return };
    let inline = json!({"type": "stdio", "command": "python3", "args": ["-S", "-c", INLINE, "--level",
        "${LEVEL:-3}"], "env": {"A_TOKEN": "${OTHER}", "B_TOKEN": SECRET}});
    stage.client(&[], &["mcp", "add-json", "-s", "user", "everywhere", &inline.to_string()]);
    let far =
        json!({"type": "http", "url": "https://a.example/mcp", "headers": {"X-Api-Key": SECRET}});
    stage.client(&[], &["mcp", "add-json", "-s", "user", "far", &far.to_string()]);
    let words = ["--", "python3", "-S", "-c", INLINE, "--port", "8080"];
    stage.client(&[], &[&["mcp", "add", "here", "-e", "LEVEL=3"][..], &words].concat());
    stage.client(&[], &[&["mcp", "add", "-s", "project", "shared"][..], &words].concat());
    let elsewhere = stage.place.dir("elsewhere");
    let moved = [("CLAUDE_CONFIG_DIR", elsewhere.as_path())];
    stage.client(&moved, &[&["mcp", "add", "-s", "user", "moved"][..], &words].concat());

    let shown = stage.import(&[], &[]);
    let work = stage.place.path("work").display().to_string();
    for part in [
        "far: https://a.example/mcp (claude-code)",
        "secrets, as variables to be set: FAR_X_API_KEY",
        &format!(".claude.json, for {work}"),
        &format!("from {work}/.mcp.json, which comes with the project"),
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("moved"), "{}", shown.stdout);
    let variables = [("OTHER", "o"), ("B_TOKEN", "b")];
    let env = json!({"A_TOKEN": "${ENV:OTHER}", "B_TOKEN": "${ENV:B_TOKEN}"});
    let added = stage.import(&variables, &["everywhere"]);
    stage.check_added(&added, "everywhere", &["--level", "3"], &env);
    let added = stage.import(&[], &["here"]);
    stage.check_added(&added, "here", &["--port", "8080"], &json!({"LEVEL": "3"}));
    let added = stage.import(&[], &["shared"]);
    stage.check_added(&added, "shared", &["--port", "8080"], &json!({}));
    let added = stage.import(&[("CLAUDE_CONFIG_DIR", elsewhere.to_str().unwrap())], &["moved"]);
    stage.check_added(&added, "moved", &["--port", "8080"], &json!({}));
}

#[test]
fn what_codex_wrote_is_imported() {
    let Some(stage) = Stage::set("codex") else { return };
    let secret = format!("A_TOKEN={SECRET}");
    let words = [
        "--env", &secret, "--env", "LEVEL=3", "--", "python3", "-S", "-c", INLINE, "--port", "8080",
    ];
    let elsewhere = stage.place.dir("elsewhere");
    for (variables, name) in [(&[][..], "mine"), (&[("CODEX_HOME", elsewhere.as_path())], "moved")]
    {
        stage.client(variables, &[&["mcp", "add", name][..], &words].concat());
    }
    let far =
        ["mcp", "add", "far", "--url", "https://a.example/mcp", "--bearer-token-env-var", "TOK"];
    stage.client(&[], &far);
    let shown = stage.import(&[], &[]);
    for part in ["far: https://a.example/mcp (codex)", "variables to be set: TOK"] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("moved: "), "{}", shown.stdout);
    let env = json!({"A_TOKEN": "${ENV:A_TOKEN}", "LEVEL": "3"});
    let added = stage.import(&[("A_TOKEN", "t")], &["mine"]);
    stage.check_added(&added, "mine", &["--port", "8080"], &env);
    let elsewhere = elsewhere.to_str().unwrap();
    let added = stage.import(&[("A_TOKEN", "t"), ("CODEX_HOME", elsewhere)], &["moved"]);
    stage.check_added(&added, "moved", &["--port", "8080"], &env);
}

/// It writes a number among the arguments as a number.
#[test]
fn what_opencode_wrote_is_imported() {
    let Some(stage) = Stage::set("opencode") else { return };
    let far = ["mcp", "add", "far", "--url", "https://a.example/mcp"];
    stage.client(&[], &[&far[..], &["--header", "Authorization=Bearer {env:TOK}"]].concat());
    let secret = format!("A_TOKEN={SECRET}");
    let words = ["--env", &secret, "--", "python3", "-S", "-c", INLINE, "--port", "8080"];
    stage.client(&[], &[&["mcp", "add", "mine"][..], &words].concat());
    let shown = stage.import(&[], &[]);
    for part in ["far: https://a.example/mcp (opencode)", "variables to be set: TOK"] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let added = stage.import(&[("A_TOKEN", "t")], &["mine"]);
    stage.check_added(&added, "mine", &["--port", "8080"], &json!({"A_TOKEN": "${ENV:A_TOKEN}"}));
}
