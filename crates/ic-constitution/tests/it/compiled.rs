//! What sentences become: the rules, and what is noted about them.

use ic_constitution::artifact::{self, Origin};
use ic_constitution::compile::Condition;
use ic_constitution::{Compiled, Rule, Tool, compile, parse, scenario};
use ic_types::Role;

fn tool(server: &str, name: &str, roles: &[Role]) -> Tool {
    Tool { server: server.parse().unwrap(), tool: name.parse().unwrap(), roles: roles.to_vec() }
}

fn tools() -> Vec<Tool> {
    vec![
        tool("filesystem", "read_file", &[Role::ReadPath]),
        tool("git", "git_wrapup", &[Role::None]),
        tool("mail", "send", &[Role::EmailAddress, Role::EmailBody]),
        tool("mail", "send_file", &[Role::EmailAddress, Role::ReadPath]),
    ]
}

#[track_caller]
fn compiled(text: &str) -> Compiled {
    let constitution = parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    compile(&constitution, &tools()).unwrap_or_else(|faults| panic!("{text}\n{faults}"))
}

/// Writes a rule on one line.
fn line(rule: &Rule) -> String {
    let mut line = rule.effect.as_str().to_owned();
    if let Some(roles) = &rule.roles {
        let roles: Vec<&str> = roles.iter().map(|it| it.as_str()).collect();
        line.extend([" ", &roles.join("+")]);
    }
    match &rule.condition {
        Condition::Elsewhere => line.push_str(" anywhere else"),
        Condition::Nothing => {}
        Condition::Unsaid(path) => line.extend([" but the sandbox in ", path]),
        Condition::Within(path) => line.extend([" in ", path]),
        Condition::Hosts(all) => line.extend([" at ", &all.join("&")]),
        Condition::Names(all) => {
            let names: Vec<String> =
                all.iter().map(|(role, it)| format!("{role}:{}", it.join("|"))).collect();
            line.extend([" for ", &names.join("&")]);
        }
    }
    match &rule.servers {
        Some(servers) if servers.len() == 4 => line += " built-in",
        Some(servers) => line.extend([" with ", &servers.join("+")]),
        None => {}
    }
    if let Some(tool) = &rule.tool {
        line.extend([".", tool]);
    }
    line
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let rules: Vec<String> = compiled(text).rules.iter().map(line).collect();
    assert_eq!(rules, expected, "{text}");
}

#[test]
fn places_become_conditions() {
    check("The agent may read files in ~/a.", &["allow read-path in ~/a built-in"]);
    check(
        "The agent may read and write files in ~/a.",
        &["allow read-path+write-path in ~/a built-in"],
    );
    check(
        "Ask before reading files anywhere.",
        &["escalate read-path in ${SANDBOX}", "escalate read-path"],
    );
    check("Ask before reading files anywhere else.", &["escalate read-path in /"]);
    check("The agent does not write files.", &["deny write-path"]);
    check(
        "The agent may only read files in ~/a.",
        &["allow read-path in ~/a built-in", "deny read-path anywhere else"],
    );
    check(
        "The agent must never fetch pages from local addresses. Everything else is for a person to decide.",
        &["escalate fetch-url at *", "deny fetch-url", "escalate"],
    );
    check(
        "The agent may read files without naming a place with git. Ask before reading files anywhere else.",
        &[
            "escalate read-path in / with git",
            "allow read-path with git",
            "escalate read-path in /",
        ],
    );
    check(
        "Ask before running commands in ~/a.",
        &["escalate read-path+write-path+delete-path in ~/a with shell.run_command"],
    );
}

#[test]
fn the_more_specific_counts_and_then_the_strictest() {
    check(
        "The agent may read files in ~/a/b. The agent must never read files in ~/a.",
        &["allow read-path in ~/a/b built-in", "deny read-path in ~/a"],
    );
    // Each is more specific than the other in something, so there is a rule for what they have in common.
    check(
        "The agent may read files in ~/a. Ask before reading files with git.",
        &[
            "escalate read-path in ${SANDBOX} with git",
            "escalate read-path in ~/a with git",
            "allow read-path in ~/a built-in",
            "escalate read-path with git",
        ],
    );
}

/// A rule for another place is weaker than containment, and would free a sandbox in `~/a`.
#[test]
fn what_restricts_the_sandbox_comes_before_what_restricts_a_place_around_it() {
    check(
        "Ask before reading files in ~/a and in the sandbox.",
        &["escalate read-path in ${SANDBOX}", "escalate read-path in ~/a"],
    );
    check(
        "Ask before reading files in ~/a. Ask before reading files.",
        &["escalate read-path in ${SANDBOX}", "escalate read-path in ~/a", "escalate read-path"],
    );
    check(
        "The agent must never read files in ~. The agent must never read files anywhere.",
        &["deny read-path in ${SANDBOX}", "deny read-path in ~", "deny read-path"],
    );
    // Nothing restricts the directory, so nothing has to stand before it.
    check(
        "The agent may read files in ~/a. Ask before reading files.",
        &[
            "allow read-path in ~/a built-in",
            "escalate read-path in ${SANDBOX}",
            "escalate read-path",
        ],
    );
}

/// The sandbox may lie in `~/a`: what both sentences say together is what the first rule says.
#[test]
fn a_may_for_a_place_around_the_sandbox_closes_nothing_in_it() {
    check(
        "The agent may only commit in `${SANDBOX}/x` with filesystem. The agent may commit in ~/a.",
        &[
            "allow write-history in ${SANDBOX}/x with filesystem",
            "deny write-history in ~/a with filesystem",
            "allow write-history in ~/a built-in",
            "deny write-history anywhere else with filesystem",
        ],
    );
    // A sentence about the place itself is not passed over.
    check(
        "The agent may commit in `${SANDBOX}/x` with filesystem. Ask before committing in ~/a.",
        &["escalate write-history in ~/a", "allow write-history in ${SANDBOX}/x with filesystem"],
    );
    // The *may* for the tool still counts in the directory that the last sentence names.
    check(
        "The agent may read files anywhere else with git_log of git. Ask before reading files with git. \
         The agent may read files in `${SANDBOX}/x`.",
        &[
            "allow read-path in ${SANDBOX}/x with git.git_log",
            "escalate read-path in ${SANDBOX}/x with git",
            "allow read-path in ${SANDBOX}/x built-in",
            "allow read-path in / with git.git_log",
            "escalate read-path with git.git_log",
            "escalate read-path in ${SANDBOX} with git",
            "escalate read-path with git",
        ],
    );
}

/// A rule that names no place changes nothing in a session's own sandbox, so one that names it stays.
#[test]
fn what_is_forbidden_everywhere_stays_forbidden_in_the_sandbox() {
    check(
        "The agent must never delete files in the sandbox. The agent must never delete files.",
        &["deny delete-path in ${SANDBOX}", "deny delete-path"],
    );
    check(
        "Ask before deleting files in ~/a. The agent must never delete files.",
        &["deny delete-path in ~/a", "deny delete-path"],
    );
    // Asking, and what is said about a tool, is meant there too.
    check(
        "Ask before deleting files.",
        &["escalate delete-path in ${SANDBOX}", "escalate delete-path"],
    );
    let rules = compiled("The agent must never run commands. Ask before using tools of git.").rules;
    let rules: Vec<String> = rules.iter().map(line).collect();
    let expected = "deny read-path+write-path+delete-path in ${SANDBOX} with shell.run_command";
    assert!(rules.iter().any(|it| it == expected), "{rules:?}");
    let asks_there = |it: &&String| {
        it.starts_with("escalate read-path") && it.ends_with("in ${SANDBOX} with git")
    };
    assert!(rules.iter().any(|it| asks_there(&it)), "{rules:?}");
}

/// A directory that is restricted for one server is opened for none; a workspace in it stays free.
#[test]
fn what_a_may_anywhere_else_leaves_gets_a_rule_of_its_own() {
    check(
        "The agent must never read files in ~/a with mail. The agent may read files anywhere else.",
        &[
            "deny read-path in ~/a with mail",
            "deny read-path but the sandbox in ~/a built-in",
            "allow read-path in / built-in",
        ],
    );
    check(
        "Ask before reading files in ~/a with mail. The agent may read files anywhere else. \
         Everything else is for a person to decide.",
        &[
            "escalate read-path in ~/a with mail",
            "escalate read-path in ~/a built-in",
            "allow read-path in / built-in",
            "escalate",
        ],
    );
    // What the sandbox is free for is not said by a *may*.
    check(
        "The agent must never read files in the sandbox with mail. The agent may read files anywhere else.",
        &["deny read-path in ${SANDBOX} with mail", "allow read-path in / built-in"],
    );
    check(
        "Ask before reading files in the sandbox with git. The agent may read files anywhere else with mail.",
        &[
            "deny read-path in ${SANDBOX} with mail",
            "escalate read-path in ${SANDBOX} with git",
            "allow read-path in / with mail",
        ],
    );
    check(
        "The agent must never fetch pages from local addresses with mail. \
         The agent may fetch pages anywhere else.",
        &[
            "deny fetch-url at * with mail",
            "deny fetch-url with mail",
            "allow fetch-url at *:* built-in",
        ],
    );
    // Running commands is another verb than reading files.
    check(
        "Ask before running commands in ~/a. The agent may read files anywhere else.",
        &[
            "escalate read-path+write-path+delete-path in ~/a with shell.run_command",
            "allow read-path in / built-in",
        ],
    );
}

/// It would hold for nothing; where something is allowed, nothing is all that it opens.
#[test]
fn a_restriction_of_a_tool_that_a_built_in_server_does_not_have_is_refused() {
    let first = |text: &str| {
        let faults = compile(&parse(text).unwrap(), &tools()).unwrap_err().0;
        format!("{}: {}: {:?}", faults[0].line, faults[0].words, faults[0].offers)
    };
    for (text, expected) in [
        (
            "The agent must never use git_wrapip of git.",
            "1: git_wrapip: [\"The agent must never use git_wrapup of git.\"]",
        ),
        (
            "Ask before reading files in ~/a with READ_FILE of filesystem.",
            "1: READ_FILE: [\"Ask before reading files in ~/a with read_file of filesystem.\"]",
        ),
        ("Ask before using tools of Git.", "1: Git: [\"Ask before using tools of git.\"]"),
        (
            "\nThe agent may only read files in ~/a with Filesystem and git.",
            "2: Filesystem: [\"The agent may only read files in ~/a with filesystem and git.\"]",
        ),
    ] {
        assert_eq!(first(text), expected, "{text}");
    }
    for text in [
        "The agent may use git_wrapip of git.",
        "The agent must never use send_page of elsewhere.",
        "The agent must never use http_get of fetch.",
        "The agent must never use sned of mail.",
        "Ask before running commands.",
    ] {
        compiled(text);
    }
}

#[test]
fn what_a_may_anywhere_else_leaves_is_noted_with_both_lines() {
    let notes = |text: &str| -> Vec<String> {
        compiled(text).notes.iter().map(|it| format!("{}: {}", it.line, it.text)).collect()
    };
    let may = "The agent may read files anywhere else.";
    let found = notes(&format!("{may}\nAsk before reading files in ~/a and ~/b with mail."));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("1: ") && found[0].contains("which line 2 names"), "{found:?}");
    assert_eq!(notes(&format!("{may}\nAsk before reading files in ~/a.")), [] as [String; 0]);
}

#[test]
fn the_users_own_restriction_is_not_undone_unseen() {
    let notes = |text: &str| -> Vec<String> {
        compiled(text).notes.iter().map(|it| it.text.clone()).collect()
    };
    let found = notes(
        "The agent may read files in ~/a with filesystem. The agent must never read files in ~/a.",
    );
    assert!(
        found.iter().any(|it| it.contains("does not hold with filesystem: line 1")),
        "{found:?}"
    );
    let found = notes("The agent may read files in ~.");
    assert!(found.iter().any(|it| it.contains("opens your whole home")), "{found:?}");
    let rules = "The agent may read files in ~/a.\n\n```rules before\n[{\"name\": \"x\"}]\n```\n";
    let found = notes(rules);
    assert!(found.iter().any(|it| it.contains("taken as it is (`x`)")), "{found:?}");
}

#[test]
fn calls_without_resources_are_judged_as_a_whole() {
    check("The agent may use tools without resources.", &["allow with git.git_wrapup"]);
    check(
        "The agent may send mail to people in @family with mail. Ask before sending mail.",
        &["allow for email-address:@family with mail", "escalate email-address"],
    );
    check("The agent may use send of mail.", &["allow with mail.send"]);
    // What is stricter about the same tool stands before what lets it be used.
    let rules: Vec<String> =
        compiled("The agent may use send of mail. Ask before sending mail with send of mail.")
            .rules
            .iter()
            .map(line)
            .filter(|it| !it.contains("path"))
            .collect();
    assert_eq!(rules, ["escalate email-address with mail.send", "allow with mail.send"]);
}

#[test]
fn what_has_no_effect_is_noted_with_its_line() {
    let notes = |text: &str| -> Vec<String> {
        compiled(text).notes.iter().map(|it| format!("{}: {}", it.line, it.text)).collect()
    };
    let silenced = notes("The agent must never read files.\nThe agent may read files in ~/a.\n");
    assert_eq!(silenced.len(), 1, "{silenced:?}");
    assert!(
        silenced[0].starts_with("2: ") && silenced[0].contains("line 1 forbids it everywhere"),
        "{silenced:?}"
    );
    assert_eq!(notes("The agent may read files in ~/a.\n"), [] as [String; 0]);
}

#[test]
fn what_allows_more_than_it_sounds_like_is_noted() {
    for (text, word) in [
        ("The agent may list files in ~/a.", Some("lets the files be read")),
        ("The agent may read and list files in ~/a.", None),
        ("The agent may list files in ~/a because I read it.", Some("lets the files be read")),
        ("The agent may create files in ~/a.", Some("be changed, too")),
        ("The agent may create and change files in ~/a.", None),
        ("The agent may delete tags in ~/a.", Some("history be rewritten")),
        ("The agent may run commands in ~/a.", None),
        ("Ask before listing files in ~/a.", None),
    ] {
        let notes = compiled(text).notes;
        match word {
            Some(word) => assert!(notes.len() == 1 && notes[0].text.contains(word), "{notes:?}"),
            None => assert_eq!(notes, [], "{text}"),
        }
    }
}

#[test]
fn a_contradiction_of_defaults_is_refused() {
    let constitution =
        parse("Everything else is refused.\nEverything else needs approval.\n").unwrap();
    let faults = compile(&constitution, &[]).unwrap_err().to_string();
    assert!(faults.contains("line 2") && faults.contains("contradicts line 1"), "{faults}");
}

#[test]
fn the_same_text_gives_the_same_bytes() {
    let text = "The agent may read files in ~/a, ~/b and /c.\nAsk before fetching pages from @docs and the web.\n";
    let bytes = || {
        let origin = Origin { constitution: text, generated_at: "t", tools: &tools() };
        artifact::compiled_policy(&compiled(text), origin)
    };
    assert_eq!(bytes(), bytes());
    assert!(bytes().contains(r#""listDefinitions""#));
}

#[test]
fn scenarios_stand_at_every_border() {
    let text = "The agent may read files in ~/a/b. The agent may fetch pages from docs.rs.";
    let constitution = parse(text).unwrap();
    let found: Vec<String> = scenario::scenarios(&constitution, &compiled(text))
        .iter()
        .map(|it| format!("{} {}", it.expected, it.description.rsplit(' ').next().unwrap()))
        .collect();
    for expected in [
        "allow ~/a/b/ironcurtain-scenario.txt",
        "deny ~/a/b-ironcurtain/ironcurtain-scenario.txt",
        "deny ~/a/ironcurtain-scenario.txt",
        "allow https://docs.rs/",
        "deny https://ironcurtain.docs.rs/",
        "deny https://docs.rs.ironcurtain.example/",
    ] {
        assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
    }
}

/// What two sentences have in common can be the same as what a third one says, without looking like it.
#[test]
fn the_one_condition_that_is_narrower_comes_before_several() {
    for (text, narrow) in [
        (
            "The agent may deal with remotes at a.example:8443.\nThe agent must never deal with remotes at `*.a.example:8443`.\nAsk before dealing with remotes at a.example.\n",
            Condition::Hosts(vec!["a.example:8443".to_owned()]),
        ),
        (
            "The agent may send mail to ann@x.example with mail.\nAsk before sending mail to ann@x.example and bob@x.example with mail.\nThe agent must never send mail to ann@x.example and @family with mail.\n",
            Condition::Names(vec![(Role::EmailAddress, vec!["ann@x.example".to_owned()])]),
        ),
    ] {
        let rules = compiled(text).rules;
        let first = rules.iter().position(|it| it.condition == narrow).unwrap();
        let several = |it: &Rule| match &it.condition {
            Condition::Hosts(all) => 1 < all.len(),
            Condition::Names(all) => 1 < all.len(),
            _ => false,
        };
        let after = rules.iter().position(several).unwrap_or(rules.len());
        assert!(first < after, "{text}: {rules:#?}");
    }
}

/// Every port is wider than the usual ones, though it is written with a port.
#[test]
fn a_host_at_its_usual_ports_comes_before_the_same_at_every_port() {
    for (host, wide) in [
        ("a.example", "a.example:*"),
        ("*.a.example", "*.a.example:*"),
        ("*", "*:*"),
        ("*:8080", "*"),
        ("*:8080", "*:*"),
        ("a.example:8080", "a.example"),
    ] {
        let text = format!(
            "Ask before fetching pages from `{wide}`. The agent may fetch pages from `{host}`."
        );
        let rules: Vec<String> = compiled(&text).rules.iter().map(line).collect();
        let expected = [
            format!("allow fetch-url at {host} built-in"),
            format!("escalate fetch-url at {wide}"),
        ];
        assert_eq!(rules, expected, "{text}");
    }
}

#[test]
fn sentences_without_a_place_have_scenarios_too() {
    for (text, expected) in [
        (
            "Ask before reading files anywhere else.",
            &["escalate /ironcurtain-elsewhere/ironcurtain-scenario.txt"][..],
        ),
        ("The agent may write files.", &["allow /ironcurtain-elsewhere/ironcurtain-scenario.txt"]),
        (
            "Ask before fetching pages from the web.",
            &["escalate https://ironcurtain.example/", "deny https://127.0.0.1/"],
        ),
        (
            "The agent may fetch pages from local addresses.",
            &["deny https://ironcurtain.example/", "allow https://127.0.0.1/"],
        ),
        (
            "The agent must never fetch pages.",
            &["deny https://ironcurtain.example/", "deny https://127.0.0.1/"],
        ),
    ] {
        let constitution = parse(text).unwrap();
        let found: Vec<String> = scenario::scenarios(&constitution, &compiled(text))
            .iter()
            .map(|it| format!("{} {}", it.expected, it.description.rsplit(' ').next().unwrap()))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// What they decide is not what the sentences say, so no scenario may expect that.
#[test]
fn no_scenario_is_about_what_a_block_of_rules_decides() {
    let text = "The agent may read and write files in ~/a.\n\n```rules after\n[{\"name\":\"rest\",\"if\":{\"roles\":[\"read-path\"],\"server\":[\"filesystem\"]},\"then\":\"allow\",\"reason\":\"r\"}]\n```\n";
    let constitution = parse(text).unwrap();
    let found = scenario::scenarios(&constitution, &compiled(text));
    assert!(!found.is_empty());
    assert!(found.iter().all(|it| it.tool.as_str() == "write_file"), "{found:?}");
}

/// A sentence about something beside the files of a call decides about it as well.
#[test]
fn no_scenario_is_about_calls_that_are_restricted_beside_their_files() {
    let text = "The agent may write files in ~/a. The agent must never pass other arguments with filesystem.";
    let constitution = parse(text).unwrap();
    assert!(scenario::scenarios(&constitution, &compiled(text)).is_empty());
    let text =
        "The agent may write files in ~/a. The agent must never pass other arguments with mail.";
    let constitution = parse(text).unwrap();
    assert!(!scenario::scenarios(&constitution, &compiled(text)).is_empty());
}

#[test]
fn a_thousand_sentences_become_a_rule_each() {
    let sentence = |n: usize| match n % 4 {
        0 => format!("The agent may read and write files in ~/p{n}/a.\n"),
        1 => format!("Ask before deleting files in ~/p{n}.\n"),
        2 => format!("The agent must never fetch pages from h{n}.example.\n"),
        _ => format!("The agent may read files in /srv/p{n} with s{n}.\n"),
    };
    let text: String = (0..1000).map(sentence).collect();
    let n = compiled(&text).rules.len();
    assert_eq!(n, 1000);
}

#[test]
fn rules_without_a_plain_form_keep_their_places() {
    let rule = |name: &str| format!(r#"{{"name":"{name}","if":{{}},"then":"allow","reason":"r"}}"#);
    let text = format!(
        "The agent may read files in ~/a.\nEverything else needs approval.\n\n```rules after\n[{}]\n```\n\n~~~ rules before\n[{}]\n~~~\n",
        rule("everything-else"),
        rule("allow-reading-files-in-a"),
    );
    let tools = tools();
    let origin = Origin { constitution: &text, generated_at: "t", tools: &tools };
    let file = artifact::compiled_policy(&compiled(&text), origin);
    // Before, the sentence under another name, after, and the rest at the end under another name.
    let at =
        |name: &str| file.find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("{name}\n{file}"));
    assert!(at("allow-reading-files-in-a") < at("allow-reading-files-in-a-2"));
    assert!(at("allow-reading-files-in-a-2") < at("everything-else"));
    assert!(at("everything-else") < at("everything-else-2"));
    for (block, problem) in [
        ("```rules\n[]\n```\n", "`rules before` or `rules after`"),
        ("```rules before\n{}\n```\n", "a JSON array"),
        ("```rules before\n[{}]\n```\n", "with a name"),
        ("```rules before\n[\n```\n", "line 1"),
    ] {
        let faults = parse(block).unwrap_err().to_string();
        assert!(faults.contains(problem), "{block}: {faults}");
    }
    // Rules of several servers that say the same are one.
    check(
        "The agent may read files in ~/a with git and filesystem.",
        &["allow read-path in ~/a with filesystem+git"],
    );
}
