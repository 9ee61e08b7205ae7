//! What an addition must never do: open what is closed, be lost, or be believed when it is broken.

use std::fs;

use super::{at_terminal, change, fetch, judged, policy, read_file, scripted};

#[test]
fn directories_that_hold_too_much_are_refused() {
    let place = scripted();
    place.dir("home/.config/gh");
    place.dir("home/.ssh/keys");
    place.link("home/way", place.path("home/notes"));
    place.link("home/everything", place.path("home"));
    place.write("home/file.txt", "x");
    for directory in [
        "/",
        "~",
        "home",
        "home/notes/..",
        "home/everything",
        "/etc",
        "/usr/share",
        "/home",
        "~/.ssh",
        "~/.ssh/keys",
        "~/.config",
        "~/.ironcurtain",
        "~/.ironcurtain/logs",
        "~/no-such-directory",
        "~/file.txt",
    ] {
        let output = policy(&place, &["allow", "filesystem", "--in", directory, "--yes"]);
        assert_eq!(output.code, 1, "{directory}: {output:?}");
        assert!(!place.path("home/.ironcurtain/policies").exists(), "{directory}");
    }
    // A link is written down as what it leads to, so that turning it changes nothing.
    change(&place, &["allow", "filesystem", "--to", "read", "--in", "~/way", "--yes"]);
    let path = place.path("home/.ironcurtain/policies/my-default/constitution.md");
    assert!(fs::read_to_string(path).unwrap().contains("in ~/notes with filesystem."));
    assert_eq!(read_file(&place, "~/notes/a"), "allow");
    // What is closed may be forbidden all the same.
    change(&place, &["never", "filesystem", "--in", "/"]);
    change(&place, &["never", "filesystem", "--in", "~/no-such-directory"]);
}

#[test]
fn names_and_hosts_that_mean_nothing_are_refused() {
    let place = scripted();
    for (words, says) in [
        (&["allow", "nobody"][..], "there is no server `nobody`"),
        (&["allow", "filesystem.raed_file", "--in", "~/notes"], "no known tool `raed_file`"),
        (&["allow", "filesystem.read_file"], "say where"),
        (&["allow", "fetch"], "say where"),
        (&["allow", "fetch", "--in", "~/notes"], "acts on such a place"),
        (&["allow", "filesystem", "--host", "docs.rs"], "acts on such a place"),
        (&["allow", "fetch", "--host", "https://docs.rs/std"], "write the host alone"),
        (&["allow", "fetch", "--host", "doc s.rs"], "write the host alone"),
        (&["allow", "fetch", "--host", "*.*"], "write the host alone"),
        (&["allow", "fetch", "--host", "docs.rs:99999"], "write the host alone"),
        (&["allow", "fetch", "--host", "docs.rs", "--in", "~/notes"], "cannot be used with"),
        (&["allow", "fetch", "--host", "docs.rs", "--to", "read"], "is not about hosts"),
        (&["allow", "file system"], "file system"),
        (&["allow"], "needs a server"),
    ] {
        let output = policy(&place, &[words, &["--yes"]].concat());
        assert_eq!(output.code, 2, "{words:?}: {output:?}");
        assert!(output.stderr.contains(says), "{words:?}: {output:?}");
    }
    // An address without its port, or at another, is not the one that was named.
    change(&place, &["allow", "fetch", "--host", "10.1.2.3:8080", "--yes"]);
    assert_eq!(fetch(&place, "http://10.1.2.3:8080/"), "allow");
    assert_eq!(fetch(&place, "http://10.1.2.3/"), "escalate");
    assert_eq!(fetch(&place, "http://10.1.2.4:8080/"), "escalate");
    // Any public host is none of this machine's.
    change(&place, &["allow", "fetch", "--host", "*", "--yes"]);
    assert_eq!(fetch(&place, "https://a.example.org/"), "allow");
    assert_eq!(fetch(&place, "http://127.0.0.1/"), "escalate");
    assert_eq!(fetch(&place, "http://localhost/"), "escalate");
}

#[test]
fn no_addition_opens_what_no_rule_opens() {
    let place = scripted();
    place.dir("home/proj/.git");
    change(&place, &["allow", "filesystem", "--in", "~/proj", "--yes"]);
    let write = |path: &str| {
        judged(&place, "filesystem", "write_file", &format!(r#"{{"path":"{path}","content":"x"}}"#))
    };
    assert_eq!(write("~/proj/a.txt").0, "allow");
    assert_eq!(
        write("~/proj/.git/hooks/pre-commit"),
        ("escalate".into(), "structural-host-executes".into())
    );
    assert_eq!(
        write("~/.ssh/authorized_keys"),
        ("deny".into(), "structural-protected-path".into())
    );
    // The directory itself is not what is in it.
    change(&place, &["allow", "filesystem", "--in", "~/notes", "--yes"]);
    let delete = judged(&place, "filesystem", "delete_file", r#"{"path":"~/notes"}"#);
    assert_eq!(delete, ("escalate".into(), "escalate-deleting-files-anywhere-else".into()));
}

#[test]
fn what_the_policy_forbids_is_not_allowed_by_a_script() {
    let place = scripted();
    place.dir("home/notes/pub");
    change(&place, &["never", "filesystem", "--to", "read", "--in", "~/notes"]);
    // As specific as the `never`: it has no effect, and is not written down.
    let same = ["allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"];
    let output = policy(&place, &same);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("deny-reading-files-in-notes-with-filesystem"), "{output:?}");
    // More specific: an exception, which only a person can make.
    let exception = ["allow", "filesystem", "--to", "read", "--in", "~/notes/pub"];
    let output = policy(&place, &[&exception[..], &["--yes"]].concat());
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("a script cannot confirm"), "{output:?}");
    assert_eq!(read_file(&place, "~/notes/pub/a"), "deny");
    let output = at_terminal(&place, &["y\\n", "n\\n"], &exception);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("DENIED now would be allowed"), "{output:?}");
    assert_eq!(read_file(&place, "~/notes/pub/a"), "deny");
    let output = at_terminal(&place, &["y\\n", "y\\n"], &exception);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(read_file(&place, "~/notes/pub/a"), "allow");
    assert_eq!(read_file(&place, "~/notes/a"), "deny");
    // Without a place a `never` is absolute.
    change(&place, &["never", "filesystem"]);
    assert_eq!(read_file(&place, "~/notes/pub/a"), "deny");
    // So is what a policy forbids everywhere.
    change(&place, &["use", "readonly", "--yes"]);
    let output =
        policy(&place, &["allow", "filesystem", "--to", "write", "--in", "~/notes", "--yes"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("`deny-writing-files"), "{output:?}");
}

#[test]
fn what_the_policy_forbids_is_not_even_asked_about_because_of_a_script() {
    let place = scripted();
    place.dir("home/notes/pub");
    let delete = || judged(&place, "filesystem", "delete_file", r#"{"path":"~/notes/pub/a"}"#).0;
    // The tool that it is about is not among the few examples that are shown.
    change(&place, &["never", "filesystem", "--to", "delete", "--in", "~/notes"]);
    let attempts: [&[&str]; 2] = [
        &["ask", "filesystem", "--to", "delete", "--in", "~/notes/pub"],
        &["ask", "filesystem", "--in", "~/notes/pub"],
    ];
    for words in attempts {
        let output = policy(&place, &[words, &["--yes"]].concat());
        assert_eq!(output.code, 1, "{words:?}: {output:?}");
        assert!(output.stderr.contains("a script cannot confirm"), "{words:?}: {output:?}");
        assert_eq!(delete(), "deny", "{words:?}");
    }
    // A person can, and is asked twice.
    let output = at_terminal(&place, &["y\\n", "n\\n"], attempts[1]);
    assert_eq!((output.code, delete().as_str()), (1, "deny"), "{output:?}");
    let output = at_terminal(&place, &["y\\n", "y\\n"], attempts[1]);
    assert_eq!((output.code, delete().as_str()), (0, "escalate"), "{output:?}");
    // Where nothing is denied, a script may still make the policy ask.
    change(&place, &["ask", "filesystem", "--to", "read", "--in", "~/Documents", "--yes"]);
}

#[test]
fn without_a_person_or_a_script_that_may_answer_nothing_is_allowed() {
    let place = crate::place();
    place.dir("home/notes");
    let words = ["allow", "filesystem", "--to", "read", "--in", "~/notes"];
    let output = policy(&place, &[&words[..], &["--yes"]].concat());
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("approvals.scripted"), "{output:?}");
    assert_eq!(policy(&place, &words).code, 1);
    assert_eq!(read_file(&place, "~/notes/a"), "escalate");
    assert!(!place.path("home/.ironcurtain/policies").exists());
}

#[test]
fn a_broken_file_of_additions_stops_everything_with_its_place() {
    let place = scripted();
    change(&place, &["allow", "filesystem", "--to", "read", "--in", "~/notes", "--yes"]);
    let file = "home/.ironcurtain/policies/my-default/additions.json";
    for (bytes, says) in [
        ("", "the file is empty"),
        ("{", "additions.json: "),
        (r#"{"version":2,"additions":[]}"#, "version"),
        (
            r#"{"version":1,"additions":[{"then":"allow","server":"x","within":"y"}]}"#,
            "additions[0].within",
        ),
        (r#"{"version":1,"additions":[],"additions":[]}"#, "additions.json"),
    ] {
        place.write(file, bytes);
        let check =
            policy(&place, &["check", "filesystem", "read_file", r#"{"path":"~/notes/a"}"#]);
        assert_eq!(check.code, 1, "{bytes}: {check:?}");
        assert!(check.stderr.contains(says), "{bytes}: {check:?}");
        let start = place.run(["start", "list the files"]);
        assert_eq!(start.code, 1, "{bytes}: {start:?}");
        // Nothing is added to what cannot be read, and nothing overwrites it.
        let add = policy(&place, &["never", "fetch"]);
        assert_eq!(add.code, 1, "{bytes}: {add:?}");
        assert_eq!(fs::read_to_string(place.path(file)).unwrap(), bytes);
    }
}

#[test]
fn many_processes_add_at_once_and_lose_nothing() {
    let place = scripted();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let host = format!("h{number}.example");
            let words = ["policy", "allow", "fetch", "--host", &host, "--yes"];
            place.command(words).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for number in 0..8 {
        assert_eq!(fetch(&place, &format!("https://h{number}.example/")), "allow", "{number}");
    }
    let log =
        fs::read_to_string(place.path("home/.ironcurtain/logs/policy-changes.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 8, "{log}");
}

/// A policy that was made before and is not in force any more does not come back with an addition.
#[test]
fn an_addition_puts_no_earlier_policy_in_force() {
    let place = scripted();
    change(&place, &["allow", "filesystem", "--in", "~/notes", "--yes"]);
    change(&place, &["use", "default", "--yes"]);
    assert_eq!(read_file(&place, "~/notes/a"), "escalate");
    // It only restricts, so nobody is asked.
    let output = policy(&place, &["never", "fetch", "--host", "evil.example"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stdout.contains("`my-default-2`, a copy of the built-in `default`"),
        "{output:?}"
    );
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "my-default-2\n");
    assert_eq!(read_file(&place, "~/notes/a"), "escalate");
    assert_eq!(fetch(&place, "https://evil.example/"), "deny");
    // What is in force is changed in its place.
    change(&place, &["never", "fetch", "--host", "worse.example"]);
    assert_eq!(place.run(["config", "get", "policy"]).stdout, "my-default-2\n");
    assert_eq!(fetch(&place, "https://evil.example/"), "deny");
    // The earlier one is as it was.
    change(&place, &["use", "my-default", "--yes"]);
    assert_eq!(read_file(&place, "~/notes/a"), "allow");
    assert_eq!(fetch(&place, "https://evil.example/"), "escalate");
}
