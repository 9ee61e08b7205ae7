//! What people see: each command's output, as it is.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{json_lines, place};

/// Runs the binary and prints how it ended, with the place's own path made neutral.
fn run(words: &[&str]) -> String {
    let place = place();
    place.write("home/Documents/d.txt", "x");
    let output = place.run(words);
    let root = place.root();
    let neutral = |text: &str| text.replace(root.to_str().unwrap(), "[ROOT]");
    let stderr = match neutral(&output.stderr) {
        text if text.is_empty() => text,
        text => format!("--- stderr\n{text}"),
    };
    format!("{}{stderr}--- exit {}", neutral(&output.stdout), output.code)
}

#[test]
fn a_check_says_decision_rule_and_reason() {
    assert_snapshot!(run(&["policy", "check", "filesystem", "read_file", r#"{"path":"~/Documents/d.txt"}"#]), @"
    filesystem.read_file: allow
      rule: allow-reading-files-in-documents-with-filesystem-git
      reason: Documents may be read
    --- exit 0
    ");
    assert_snapshot!(run(&["policy", "check", "filesystem", "write_file", r#"{"path":"~/Documents/d.txt","content":"x"}"#]), @"
    filesystem.write_file: escalate
      rule: escalate-writing-files-anywhere-else
      reason: The call writes outside the sandbox and Downloads
      escalated roles: write-path
    --- exit 3
    ");
    assert_snapshot!(run(&["policy", "check", "filesystem", "read_file", r#"{"path":"~/.ssh/id_rsa"}"#]), @"
    filesystem.read_file: deny
      rule: structural-protected-path
      reason: `[ROOT]/home/.ssh/id_rsa` is protected, as is all of `[ROOT]/home/.ssh`
    --- exit 4
    ");
    assert_snapshot!(run(&["policy", "check", "--json", "fetch", "http_fetch", r#"{"url":"ftp://x.example"}"#]), @r#"
    {"decision":"deny","rule":"structural-invalid-value","reason":"`url`: `ftp:` is not fetched, only `https:` and `http:`","escalatedRoles":[]}
    --- exit 4
    "#);
}

#[test]
fn an_explanation_shows_values_findings_and_the_constitution() {
    assert_snapshot!(run(&[
        "policy", "explain", "--sandbox", "sandbox", "filesystem", "move_file",
        r#"{"source":"~/Documents/d.txt","destination":"d.txt"}"#,
    ]), @r#"
    filesystem.move_file: escalate
      policy: built-in `default`
      read-path: [ROOT]/home/Documents/d.txt
      delete-path: [ROOT]/home/Documents/d.txt
      write-path: [ROOT]/sandbox/d.txt
     - allow by allow-reading-files-in-documents-with-filesystem-git (read-path)
         Documents may be read
         constitution, line 13: "The agent may read files in the Documents directory with filesystem and git, because Documents may be read"
    => escalate by escalate-deleting-files-anywhere-else (delete-path)
         The call deletes outside the sandbox
         constitution, line 19: "Deleting files or moving them away anywhere else is for a person to decide, because the call deletes outside the sandbox"
     - allow by structural-sandbox-allow (write-path)
         it stays in the sandbox
    --- exit 0
    "#);
    assert_snapshot!(run(&["policy", "explain", "git", "git_push", r#"{"remote":"ext::x","branch":"a","zzz":1}"#]), @"
    git.git_push: deny
      policy: built-in `default`
      read-path: (no value)
      write-history: (no value)
      git-remote-url: (no value)
      branch-name: a
    => deny by structural-invalid-value (git-remote-url)
         `remote`: only `https:`, `ssh:` and `host:path` remotes are used, not `ext::`
     - deny by structural-unknown-argument
         the annotation names no argument `zzz`
     - escalate by structural-domain-escalate (git-remote-url)
         no remote was found, so the destination is unknown
    --- exit 0
    ");
}

#[test]
fn an_explanation_in_json_holds_what_would_be_sent() {
    let output = place().run([
        "policy",
        "explain",
        "--json",
        "--sandbox",
        "/s",
        "filesystem",
        "read_file",
        r#"{"path":"x/../y","head":1.10}"#,
    ]);
    let explanation = &json_lines(&output)[0];
    assert_eq!(explanation["sent"]["path"], "/s/y");
    assert!(output.stdout.contains(r#""head":1.10"#), "{}", output.stdout);
    assert_eq!(explanation["decision"], "allow");
    assert_eq!(explanation["findings"][0]["decisive"], true);
}

#[test]
fn the_scenarios_of_the_built_in_policies_pass() {
    for policy in ["default", "coding", "readonly"] {
        let output = place().run(["policy", "test", "--policy", policy]);
        assert_eq!(output.code, 0, "{output:?}");
    }
    assert_snapshot!(run(&["policy", "test"]), @"
    53 of 53 scenarios pass (built-in `default`)
    --- exit 0
    ");
}

#[test]
fn a_failing_scenario_is_shown_and_exits_with_1() {
    let place = place();
    place.write("policy/compiled-policy.json", r#"{"rules":[]}"#);
    place.write(
        "policy/tool-annotations.json",
        r#"{"servers":{"s":{"tools":[{"toolName":"t","args":{}}]}}}"#,
    );
    let scenario = |decision: &str| {
        format!(
            r#"{{"description":"a {decision} one","request":{{"serverName":"s","toolName":"t","arguments":{{}}}},"expectedDecision":"{decision}","reasoning":"x","source":"handwritten"}}"#
        )
    };
    let all = format!(
        r#"{{"scenarios":[{},{},{}]}}"#,
        scenario("allow"),
        scenario("deny"),
        scenario("not-allow")
    );
    place.write("policy/test-scenarios.json", all);
    let output = place.run(["policy", "test", "--policy", "policy"]);
    assert_eq!(output.code, 1);
    assert_snapshot!(output.stdout.replace(place.root().to_str().unwrap(), "[ROOT]"), @"
    FAILED  a allow one
            expected allow, got deny by default-deny
            no rule covers `t`
    2 of 3 scenarios pass ([ROOT]/policy)
    ");
    let json = place.run(["policy", "test", "--policy", "policy", "--json"]);
    let outcomes: Value = serde_json::from_str(&json.stdout).unwrap();
    let passed: Vec<bool> =
        outcomes.as_array().unwrap().iter().map(|o| o["passed"].as_bool().unwrap()).collect();
    assert_eq!(passed, [false, true, true]);
}

#[test]
fn the_policy_is_shown_readably() {
    let place = place();
    place.write(
        "policy/compiled-policy.json",
        r#"{"rules":[
            {"name":"allow-docs","description":"Reading documents is fine.","if":{"server":["filesystem"],"roles":["read-path"],"paths":{"roles":["read-path"],"within":"/docs"}},"then":"allow","reason":"r"},
            {"name":"ask-web","description":"The web asks.","if":{"domains":{"roles":["fetch-url"],"allowed":["*.a.example","b.example:8080"]}},"then":"escalate","reason":"r"},
            {"name":"rest","description":"Nothing else.","if":{},"then":"deny","reason":"r"}]}"#,
    );
    place.write(
        "policy/tool-annotations.json",
        r#"{"servers":{"s":{"tools":[{"toolName":"t","draft":true,"args":{"path":["read-path"],"n":["none"]}}]}}}"#,
    );
    let output = place.run(["policy", "show", "--policy", "policy", "--tools"]);
    let shown = output.stdout.replace(place.root().to_str().unwrap(), "[ROOT]");
    let (head, rules) = shown.split_once("\n\n").unwrap();
    assert!(head.starts_with("policy [ROOT]/policy\nhash   "), "{head}");
    // Those of the built-in servers are implied.
    assert!(head.contains("3 rules, ") && !head.contains(", 1 annotated"), "{head}");
    assert!(rules.contains("\nfilesystem.read_file\n     path: read-path\n"), "{rules}");
    assert!(rules.contains("\ns.t  (draft)\n     path: read-path\n     n: none\n"), "{rules}");
    let (rules, _) = rules.split_once("\n\nfetch.").unwrap();
    assert_snapshot!(rules, @"
    before the rules, in this order:
      -  deny     structural-invalid-value: a value that cannot be used
      -  deny     structural-unknown-argument: an argument that the tool's annotation does not name
      -  deny     structural-protected-path: keys, credentials, IronCurtain's own files and other protected paths
      -  escalate structural-host-executes: changes to files that programs of this machine run or take orders from
      -  escalate structural-unannotated-path: a protected path in an argument that is not a path
      -  escalate structural-draft: a tool whose annotation is not confirmed yet
      -  allow    structural-introspection-allow: the list of allowed directories
      -  escalate structural-domain-escalate: a host that the server is not meant to reach
      -  deny     structural-unknown-tool: a tool without an annotation
      -  allow    structural-sandbox-allow: paths in the sandbox, for servers that are contained

      1. allow    allow-docs
         if server is filesystem and role is read-path and read-path is within /docs
         Reading documents is fine.

      2. escalate ask-web
         if fetch-url is one of *.a.example, b.example:8080
         The web asks.

      3. deny     rest
         if anything
         Nothing else.

    after the rules:
      -  escalate structural-root: making, moving or removing the directory that a rule allows
      -  deny     default-deny: whatever no rule covers
    ");
    let json = place.run(["policy", "show", "--policy", "policy", "--json"]);
    let shown: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(shown["rules"][0]["name"], "allow-docs");
    let tools = shown["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["server"] == "s" && tool["draft"] == true), "{tools:?}");
    let words = ["policy", "show", "--policy", "readonly", "--sandbox", "work", "--workspace"];
    let output = place.run(words);
    let except = "     except where the first rule that applies is one of: \
                  deny-committing-and-rewriting-history, deny-deleting-files, deny-writing-files\n";
    assert!(output.stdout.contains(except), "{}", output.stdout);
    let words = ["policy", "show", "--policy", "readonly", "--sandbox", "work"];
    assert!(!place.run(words).stdout.contains("except where"));
    let constitution = place.run(["policy", "show", "--policy", "readonly", "--constitution"]);
    assert!(constitution.stdout.starts_with('#') && constitution.code == 0, "{constitution:?}");
}

#[test]
fn the_policy_of_the_home_serves_if_none_is_named() {
    let place = place();
    let ask = || place.run(["policy", "check", "--json", "s", "t", "{}"]);
    assert_eq!(json_lines(&ask())[0]["rule"], "structural-unknown-tool");
    place.write(
        "home/.ironcurtain/generated/compiled-policy.json",
        r#"{"rules":[{"name":"mine","if":{},"then":"allow","reason":"r"}]}"#,
    );
    place.write(
        "home/.ironcurtain/generated/tool-annotations.json",
        r#"{"servers":{"s":{"tools":[{"toolName":"t","args":{}}]}}}"#,
    );
    assert_eq!(json_lines(&ask())[0]["rule"], "mine");
    let elsewhere = place.path("elsewhere");
    place.write("elsewhere/mcp-servers.json", r#"{"broken"#);
    let place = place.with_variable("IRONCURTAIN_HOME", elsewhere.to_str().unwrap());
    let output = place.run(["policy", "check", "--json", "s", "t", "{}"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("mcp-servers.json"), "{output:?}");
}

#[test]
fn help_version_completions_and_manual_are_complete() {
    let place = place();
    assert_eq!(
        place.run(["--version"]).stdout,
        format!("ironcurtain {}\n", env!("CARGO_PKG_VERSION"))
    );
    for command in [
        &["--help"][..],
        &["policy", "--help"],
        &["policy", "check", "--help"],
        &["policy", "test", "--help"],
        &["policy", "explain", "--help"],
        &["policy", "show", "--help"],
        &["clients", "install", "--help"],
        &["clients", "remove", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let output = place.run(command);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stdout.contains("Usage: ironcurtain"), "{output:?}");
    }
    let check = place.run(["policy", "check", "--help"]).stdout;
    for word in [
        "--policy",
        "--sandbox",
        "--workspace",
        "--protected",
        "--servers",
        "--requests",
        "--json",
        "escalatedRoles",
        "3 if it needs approval",
    ] {
        assert!(check.contains(word), "{word} is not in {check}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = place.run(["completions", shell]);
        assert!(output.code == 0 && output.stdout.contains("ironcurtain"), "{output:?}");
    }
    for page in [&["man"][..], &["man", "policy"], &["man", "policy", "check"]] {
        let output = place.run(page);
        assert!(output.code == 0 && output.stdout.contains(".TH"), "{output:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_no_permission() {
    let place = place();
    let binary = env!("CARGO_BIN_EXE_ironcurtain");
    for command in ["policy show --json --tools", "policy check filesystem read_file '{}'"] {
        // The reader ends at once; the writer then waits a moment at its own standard input.
        let script = format!("{{ cat > /dev/null; {binary} {command}; echo $? >&2; }} | true");
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .env("HOME", place.path("home"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        // A fast command may be done before its reader is gone; then it says what it has to say.
        let code = String::from_utf8(output.stderr).unwrap();
        let in_time = if command.contains("show") { "0\n" } else { "3\n" };
        assert!(code == "141\n" || code == in_time, "{command}: {code}");
    }
}

/// The same words as with `--help`, as an error of usage.
#[test]
fn a_command_without_its_subcommand_prints_its_help() {
    let place = place();
    for command in [
        &[][..],
        &["policy"],
        &["servers"],
        &["sessions"],
        &["approvals"],
        &["grants"],
        &["audit"],
        &["config"],
        &["mcp-server"],
    ] {
        let bare = place.run(command);
        let help = place.run([command, &["--help"]].concat());
        assert_eq!((bare.code, bare.stdout.as_str()), (2, ""), "{command:?}");
        assert_eq!(bare.stderr, help.stdout, "{command:?}");
        assert!(bare.stderr.contains("\n  ") && !bare.stderr.contains("\\u{"), "{}", bare.stderr);
    }
    // What is wrong with a command line keeps its columns too, and drives nothing.
    let wrong = place.run(["policy", "check", "\x1b[2J        x", "--what"]);
    assert!(!wrong.stderr.contains('\x1b') && !wrong.stderr.contains("u{20"), "{}", wrong.stderr);
}
