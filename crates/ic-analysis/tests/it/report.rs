//! Changes as a person reads them: the worst that calls do, and everything that is opened.

use ic_analysis::describe::Names;
use ic_analysis::report::{self, Summary};
use ic_analysis::{Comparison, Subject};
use ic_policy::{Effect, SandboxKind};

use crate::world::{ANNOTATIONS, bounds, policy};

const ASK_ALL: &str = r#"{"name":"ask","if":{},"then":"escalate","reason":"r"}"#;

/// Compares a policy that always asks with one that has `rules` before that.
fn opened(rules: &str) -> Vec<Summary> {
    let before = policy(&format!("[{ASK_ALL}]"), ANNOTATIONS[0]);
    let after = policy(&format!("[{rules},{ASK_ALL}]"), ANNOTATIONS[0]);
    let bounds = bounds(SandboxKind::Session);
    let subject = |policy| Subject { policy, bounds: &bounds };
    let comparison = Comparison::new(subject(&before), subject(&after));
    let changes = comparison.changes().unwrap();
    let names = Names { home: None, bounds: &bounds };
    report::summaries(&changes, comparison.space(), names, (&before, &after))
}

fn lines(summaries: &[Summary]) -> Vec<String> {
    summaries.iter().map(Summary::line).collect()
}

#[test]
fn a_line_says_the_worst_that_its_calls_do() {
    // Reading decides first in `add` and `git_clean`, and is the least of what they do.
    let found = opened(
        r#"{"name":"git","if":{"server":["git"],"paths":{"roles":["read-path","write-history","delete-path"],"within":"/d"}},"then":"allow","reason":"r"}"#,
    );
    let lines = lines(&found);
    for expected in [
        "delete or move away in /d, with git.git_clean: needs approval -> allowed",
        "commit, branch or tag in /d, with git.add: needs approval -> allowed",
    ] {
        assert!(lines.iter().any(|it| it == expected), "{lines:#?}");
    }
    for line in lines.iter().filter(|it| it.starts_with("read ")) {
        assert!(!line.contains("git_clean"), "{line}");
    }
}

#[test]
fn a_call_that_still_asks_for_another_role_is_not_among_those_that_are_opened() {
    let found = opened(
        r#"{"name":"read","if":{"server":["x"],"paths":{"roles":["read-path"],"within":"/d"}},"then":"allow","reason":"r"}"#,
    );
    for summary in &found {
        assert_eq!(summary.after, Effect::Allow, "{summary:?}");
    }
    let lines = lines(&found);
    // `edit` changes files unless it is told to look, and `run_command` always does.
    let expected = r#"read in /d, with x.edit (only with mode="look"): needs approval -> allowed"#;
    assert!(lines.iter().any(|it| it == expected), "{lines:#?}");
    assert!(!lines.iter().any(|it| it.contains("run_command")), "{lines:#?}");
}

#[test]
fn everything_that_is_opened_is_named_and_what_is_closed_is_shortened() {
    let directories = ["/a1", "/a2", "/a3", "/a4", "/a5", "/zz"];
    let rules: Vec<String> = directories
        .iter()
        .map(|it| {
            format!(
                r#"{{"name":"{it}","if":{{"server":["fs"],"paths":{{"roles":["read-path"],"within":"{it}"}}}},"then":"allow","reason":"r"}}"#
            )
        })
        .collect();
    let hosts: Vec<String> = (0..9).map(|n| format!(r#""h{n}.example""#)).collect();
    let web = format!(
        r#"{{"name":"web","if":{{"server":["x"],"domains":{{"roles":["fetch-url"],"allowed":[{}]}}}},"then":"allow","reason":"r"}}"#,
        hosts.join(",")
    );
    let rules = format!("{},{web}", rules.join(","));
    let found = opened(&rules);
    let read = found.iter().find(|it| it.verb == "read").unwrap();
    let fetch = found.iter().find(|it| it.verb == "fetch from").unwrap();
    for directory in directories {
        let place = format!("in {directory}");
        assert!(read.line().contains(&place) && read.places.contains(&place), "{read:?}");
    }
    for n in 0..9 {
        let host = format!("h{n}.example");
        assert!(fetch.line().contains(&host) && fetch.places.contains(&host), "{fetch:?}");
    }
    assert!(!read.line().contains("more") && !fetch.line().contains("more"));

    let (before, after) = (
        policy(&format!("[{rules},{ASK_ALL}]"), ANNOTATIONS[0]),
        policy(&format!("[{ASK_ALL}]"), ANNOTATIONS[0]),
    );
    let bounds = bounds(SandboxKind::Session);
    let subject = |policy| Subject { policy, bounds: &bounds };
    let comparison = Comparison::new(subject(&before), subject(&after));
    let names = Names { home: None, bounds: &bounds };
    let changes = comparison.changes().unwrap();
    let closed = report::summaries(&changes, comparison.space(), names, (&before, &after));
    let read = closed.iter().find(|it| it.verb == "read").unwrap();
    assert!(read.line().contains("in /a1, in /a2, in /a3 and 3 more"), "{}", read.line());
    // A program that reads them gets all of them all the same.
    assert!(read.what().contains("/zz") && read.places.len() == directories.len(), "{read:?}");
}

#[test]
fn a_wide_place_comes_before_one_in_it_and_sending_before_reading() {
    let rule = |name: &str, tool: &str, role: &str, within: &str| {
        format!(
            r#"{{"name":"{name}","if":{{"tool":["{tool}"],"paths":{{"roles":["{role}"],"within":"{within}"}}}},"then":"allow","reason":"r"}}"#
        )
    };
    let web = r#"{"name":"web","if":{"domains":{"roles":["fetch-url"],"allowed":["b.example"]}},"then":"allow","reason":"r"}"#;
    let rules = [
        rule("narrow", "list_allowed_directories", "read-path", "/d/a/c"),
        rule("wide", "read", "read-path", "/d"),
        web.to_owned(),
    ];
    let lines = lines(&opened(&rules.join(",")));
    let at = |text: &str| lines.iter().position(|it| it.starts_with(text)).unwrap();
    let (web, wide, narrow) = (at("fetch from"), at("read in /d,"), at("read in /d/a/c"));
    assert!(web < wide && wide < narrow, "{lines:#?}");
}
