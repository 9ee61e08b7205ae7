//! What the next session is free in is not chosen by a link that an agent of an earlier one may have made.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use ic_testkit::Place;

const BINARY: &str = env!("CARGO_BIN_EXE_ironcurtain");
const TASK: &str = "list the files";

/// A way to open a session: the words of the command line, where the shell stands and how it came there.
struct Opening<'a> {
    words: &'a [&'a str],
    at: &'a str,
}

/// Returns the exit code and what was said; `ROOT` stands for the place.
fn open(place: &Place, opening: &Opening<'_>) -> (i32, String) {
    let root = place.root().to_str().unwrap().to_owned();
    let words = opening.words.iter().map(|it| it.replace("ROOT", &root));
    let mut command = place.command(words);
    let way = place.path(opening.at);
    command.current_dir(&way).env("PWD", &way);
    let output = command.output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code().unwrap(), said)
}

const fn started<'a>(words: &'a [&'a str]) -> Opening<'a> {
    Opening { words, at: "" }
}

/// Makes a directory a link to what lies elsewhere, as a server that may write there can.
fn turn(place: &Place, directory: &str, target: &str) {
    fs::remove_dir_all(place.path(directory)).ok();
    place.link(directory, place.path(target));
}

fn place() -> Place {
    let place = Place::new(BINARY);
    for file in ["work/sub/a.txt", "work/a/b/a.txt", "priv/b/run.sh", "home/Downloads/x/a.txt"] {
        place.write(file, "mine\n");
    }
    place
}

const SUB: [&str; 6] = ["start", "--policy", "coding", "--workspace", "ROOT/work/sub", TASK];

#[test]
fn a_workspace_is_not_named_through_a_link_where_agents_wrote() {
    let above = ["start", "--policy", "coding", "--workspace", "ROOT/work/a/b", TASK];
    let here = ["start", "--policy", "coding", "--workspace", ".", TASK];
    let below = ["start", "--policy", "coding", "--workspace", "b", TASK];
    let sandbox = ["proxy", "--policy", "coding", "--sandbox", "ROOT/work/sub"];
    let downloads = ["start", "--policy", "coding", "--workspace", "ROOT/home/Downloads/x", TASK];
    let cases = [
        ("the workspace itself", "work/sub", started(&SUB)),
        ("a directory above it", "work/a", started(&above)),
        ("the current directory", "work/sub", Opening { words: &here, at: "work/sub" }),
        ("beneath the current directory", "work/a", Opening { words: &below, at: "work/a" }),
        ("a sandbox", "work/sub", started(&sandbox)),
        ("where a rule lets the agent write", "home/Downloads/x", started(&downloads)),
    ];
    for (name, link, opening) in cases {
        // The control: a link that no agent can have made is followed.
        let control = place();
        turn(&control, link, "priv");
        let (code, said) = open(&control, &opening);
        assert_eq!(code, 0, "{name}: {said}");
        // An agent was free in all of the workspace, and in what the policy lets it write.
        let place = place();
        let first = ["start", "--policy", "default", "--workspace", "ROOT/work", TASK];
        assert_eq!(open(&place, &started(&first)).0, 0, "{name}");
        turn(&place, link, "priv");
        let (code, said) = open(&place, &opening);
        assert_ne!(code, 0, "{name}: {said}");
        let shown = place.path(link).to_str().unwrap().to_owned();
        assert!(said.contains(&format!("through the link `{shown}`")), "{name}: {said}");
        // What is meant can be named.
        let real = ["start", "--policy", "coding", "--workspace", "ROOT/priv", TASK];
        assert_eq!(open(&place, &started(&real)).0, 0, "{name}");
    }
}

#[test]
fn a_session_does_not_go_on_in_what_became_a_link() {
    let place = place();
    assert_eq!(open(&place, &started(&SUB)).0, 0);
    let again = ["start", "--continue", TASK];
    let (code, said) = open(&place, &started(&again));
    assert_eq!(code, 0, "{said}");
    fs::rename(place.path("work/sub"), place.path("work/kept")).unwrap();
    place.link("work/sub", place.path("priv"));
    let (code, said) = open(&place, &started(&again));
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("through the link"), "{said}");
}

/// A link goes along when its directory is moved, copied or cloned, and then it lies where no agent wrote.
#[test]
fn a_link_that_was_carried_elsewhere_chooses_no_workspace() {
    let moved = ["start", "--policy", "coding", "--workspace", "ROOT/work2/sub", TASK];
    let sandbox = ["proxy", "--policy", "coding", "--sandbox", "ROOT/work2/sub"];
    let out = ["start", "--policy", "coding", "--workspace", "ROOT/sub2", TASK];
    let ways: [(&str, &[&str], Opening<'_>); 6] = [
        ("renamed", &["mv", "work", "work2"], started(&moved)),
        ("renamed, as a sandbox", &["mv", "work", "work2"], started(&sandbox)),
        ("copied", &["cp", "-a", "work", "work2"], started(&moved)),
        ("cloned", &["git", "clone", "-q", "work", "work2"], started(&moved)),
        ("another tree", &["git", "-C", "work", "worktree", "add", "../work2"], started(&moved)),
        ("moved out", &["mv", "work/sub", "sub2"], started(&out)),
    ];
    for (name, words, opening) in ways {
        let carry = |is_known: bool| {
            let place = place();
            if is_known {
                let first = ["start", "--policy", "coding", "--workspace", "ROOT/work", TASK];
                assert_eq!(open(&place, &started(&first)).0, 0, "{name}");
            }
            turn(&place, "work/sub", "priv");
            for words in [
                &["git", "-C", "work", "init", "-q"][..],
                &["git", "-C", "work", "add", "-A"],
                &["git", "-C", "work", "commit", "-q", "-m", "m"],
                words,
            ] {
                by_the_user(&place, words);
            }
            open(&place, &opening)
        };
        // The control: nobody who never ran a session is asked for another name.
        let (code, said) = carry(false);
        assert_eq!(code, 0, "{name}: {said}");
        let (code, said) = carry(true);
        assert_ne!(code, 0, "{name}: {said}");
        assert!(said.contains("through the link"), "{name}: {said}");
        assert!(said.contains("name the directory itself"), "{name}: {said}");
    }
}

/// Runs a proxy, to which a client says hello, and returns all that it said.
fn spoken_to(place: &Place, words: &[&str]) -> String {
    let root = place.root().to_str().unwrap().to_owned();
    let mut command = place.command(words.iter().map(|it| it.replace("ROOT", &root)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    // One that refuses to start may have closed it already.
    writeln!(child.stdin.take().unwrap(), "{hello}").ok();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A policy and servers that lie where an agent worked before are not the user's word any more.
#[test]
fn orders_in_an_earlier_workspace_are_not_obeyed() {
    let files = [
        (
            "work/policy/compiled-policy.json",
            r#"{"rules":[{"name":"all","if":{},"then":"allow","reason":"r"}]}"#,
        ),
        ("work/servers.json", r#"{"mcpServers":{}}"#),
    ];
    let elsewhere = |key: &str, value: &str| -> Vec<String> {
        ["proxy", "--workspace", "ROOT/priv", key, value].map(str::to_owned).to_vec()
    };
    for (key, value, what) in [
        ("--policy", "ROOT/work/policy", "policy"),
        ("--servers", "ROOT/work/servers.json", "servers file"),
    ] {
        let place = place();
        for (path, text) in files {
            place.write(path, text);
        }
        let words = elsewhere(key, value);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // The control: nobody worked there yet.
        let said = spoken_to(&place, &words);
        assert!(said.contains("serverInfo") && !said.contains("earlier session"), "{what}: {said}");
        let first = ["start", "--policy", "coding", "--workspace", "ROOT/work", TASK];
        assert_eq!(open(&place, &started(&first)).0, 0);
        let said = spoken_to(&place, &words);
        assert!(!said.contains("serverInfo"), "{what}: {said}");
        assert!(
            said.contains(&format!("the {what} `"))
                && said.contains("an agent of an earlier session"),
            "{said}"
        );
    }
}

/// A sandbox of a session is the agent's too, and the user takes results out of it.
#[test]
fn a_link_that_was_carried_out_of_a_sandbox_chooses_no_workspace() {
    let place = place();
    let words = ["start", "--policy", "coding", "--workspace", "ROOT/taken/sub", TASK];
    let first = ["start", "--policy", "coding", TASK];
    assert_eq!(open(&place, &started(&first)).0, 0);
    place.dir("taken");
    place.link("taken/sub", place.path("priv"));
    let (code, said) = open(&place, &started(&words));
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("through the link"), "{said}");
}

fn by_the_user(place: &Place, words: &[&str]) {
    let (program, rest) = words.split_first().unwrap();
    let mut command = std::process::Command::new(program);
    command.args(rest).current_dir(place.root()).env("HOME", place.path("home"));
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "U").env(format!("GIT_{role}_EMAIL"), "u@x");
    }
    let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Where no agent was yet, links are followed; then the directory itself has to be named.
#[test]
fn a_link_of_the_users_own_is_followed_until_the_first_session() {
    let place = place();
    place.link("home/projects", place.path("work"));
    let words = ["start", "--policy", "coding", "--workspace", "ROOT/home/projects/sub", TASK];
    let (code, said) = open(&place, &started(&words));
    assert_eq!(code, 0, "{said}");
    assert!(Path::new(&place.path("home/.ironcurtain/grounds.json")).is_file());
    let (code, said) = open(&place, &started(&words));
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("through the link"), "{said}");
    let (code, said) = open(&place, &started(&SUB));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_list_that_cannot_be_read_is_an_error() {
    let place = place();
    assert_eq!(open(&place, &started(&SUB)).0, 0);
    place.write("home/.ironcurtain/grounds.json", "{}");
    let (code, said) = open(&place, &started(&SUB));
    assert_ne!(code, 0, "{said}");
    assert!(said.contains("grounds.json` cannot be read"), "{said}");
}
