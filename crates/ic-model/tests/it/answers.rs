//! What the offline model does and says, request by request.

use ic_model::offline::OfflineModel;
use ic_model::{AssistantBlock, Message, Model, ModelError, ModelName, Prompt, Silent, UserBlock};
use tokio_util::sync::CancellationToken;

use crate::engine::{Setup, complete, parse, send, send_to};

/// The message makes these calls, and the answer begins like this.
#[track_caller]
fn check(files: &str, message: &str, calls: &[&str], answer: &str) {
    let turn = send(files, message);
    assert_eq!(turn.calls, calls, "{message}: {}", turn.answer);
    let expected = format!("{answer}\n\n(Answered by the offline model.)");
    assert_eq!(turn.answer, expected, "{message}");
}

const FILES: &str = r#"{"a.txt": "alpha\nbeta", "docs/b.txt": "beta", "docs/c/d.md": "x"}"#;

#[test]
fn what_was_read_is_in_the_answer() {
    check(
        FILES,
        "read a.txt",
        &[r#"filesystem.read_text_file {"path":"a.txt"}"#],
        "`a.txt`:\nalpha\nbeta",
    );
    check(
        FILES,
        "list the files",
        &[r#"filesystem.list_directory {"path":"."}"#],
        "In `.`:\n[FILE] a.txt\n[DIR] docs",
    );
    check(
        FILES,
        "show the tree of docs",
        &[r#"filesystem.directory_tree {"path":"docs"}"#],
        "The tree of `docs`:\nb.txt\nc/\n  d.md",
    );
    check(
        FILES,
        "fetch https://example.com",
        &[r#"fetch.http_fetch {"url":"https://example.com"}"#],
        "https://example.com:\n<page>",
    );
    check(
        FILES,
        "find files named \"*.md\" in docs",
        &[r#"filesystem.search_files {"path":"docs","pattern":"*.md"}"#],
        "Found for `*.md` in `docs`:\nfound *.md in docs",
    );
    check(
        FILES,
        "search for \"beta\"",
        &[
            r#"filesystem.directory_tree {"path":"."}"#,
            r#"filesystem.read_text_file {"path":"a.txt"}"#,
            r#"filesystem.read_text_file {"path":"docs/b.txt"}"#,
            r#"filesystem.read_text_file {"path":"docs/c/d.md"}"#,
        ],
        "Found for \"beta\" in `.`:\na.txt:2: beta\ndocs/b.txt:1: beta",
    );
    check(
        r#"{"docs/b.txt": ""}"#,
        "search for \"b.\" in docs",
        &[
            r#"filesystem.directory_tree {"path":"docs"}"#,
            r#"filesystem.read_text_file {"path":"docs/b.txt"}"#,
        ],
        "Found for \"b.\" in `docs`:\ndocs/b.txt",
    );
}

#[test]
fn a_file_is_searched_as_well_as_a_directory() {
    for message in ["grep \"a\" a.txt", "search for \"a\" in a.txt"] {
        check(
            FILES,
            message,
            &[
                r#"filesystem.directory_tree {"path":"a.txt"}"#,
                r#"filesystem.read_text_file {"path":"a.txt"}"#,
            ],
            "Found for \"a\" in `a.txt`:\na.txt:1: alpha\na.txt:2: beta",
        );
    }
    check(
        FILES,
        "search for \"txt\" in a.txt",
        &[
            r#"filesystem.directory_tree {"path":"a.txt"}"#,
            r#"filesystem.read_text_file {"path":"a.txt"}"#,
        ],
        "I found nothing for \"txt\" in `a.txt`.",
    );
    check(
        FILES,
        "search for \"a\" in secret",
        &[r#"filesystem.directory_tree {"path":"secret"}"#],
        "I could not search `secret`: denied by the policy: `secret` is protected",
    );
    let unreadable = "tools.read_text_file = () => { throw new Error('it is not text') };";
    let turn = send_to(Setup { files: FILES, before: unreadable }, "grep \"a\" a.txt");
    assert!(
        turn.answer.starts_with("I could not search `a.txt`: it is not text"),
        "{}",
        turn.answer
    );
}

#[test]
fn a_question_for_help_is_answered_with_what_can_be_asked() {
    for message in [
        "help",
        "Help!",
        "help me",
        "can you help me please?",
        "what can you do",
        "What can you do for me?",
        "what can I ask",
        "how can you help me",
        "?",
        "/help",
        "hello, what can you do?",
    ] {
        let turn = send(FILES, message);
        assert!(turn.calls.is_empty(), "{message}");
        assert!(turn.answer.starts_with("I am the offline model"), "{message}: {}", turn.answer);
    }
    // Beside something to do it is not understood, so that nothing is done by halves.
    let turn = send(FILES, "delete a.txt and help me");
    assert!(turn.calls.is_empty() && turn.answer.contains("- help me"), "{}", turn.answer);
}

#[test]
fn help_says_how_a_model_that_understands_more_is_had() {
    let answer = send(FILES, "help").answer;
    for part in ["ANTHROPIC_API_KEY", "ironcurtain config set apiKey -", "--model NAME"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert!(!answer.contains("later"), "what is promised is there: {answer}");
}

#[test]
fn what_was_done_is_said() {
    check(
        FILES,
        "write \"hé\" to n.txt",
        &[r#"filesystem.write_file {"path":"n.txt","content":"hé"}"#],
        "I wrote 3 bytes to `n.txt`.",
    );
    check(
        FILES,
        "move a.txt to b.txt",
        &[r#"filesystem.move_file {"source":"a.txt","destination":"b.txt"}"#],
        "I moved `a.txt` to `b.txt`.",
    );
    check(
        FILES,
        "delete a.txt",
        &[r#"filesystem.delete_file {"path":"a.txt"}"#],
        "I deleted `a.txt`.",
    );
    check(
        FILES,
        "create the directory x",
        &[r#"filesystem.create_directory {"path":"x"}"#],
        "I created the directory `x`.",
    );
}

#[test]
fn repositories_are_served_by_their_tools() {
    let path = r#"{"path":"p"}"#;
    for (message, calls, answer) in [
        (
            "git status in p",
            vec![format!("git.git_status {path}")],
            "The git status of `p`:\ngit_status done",
        ),
        ("git log in p", vec![format!("git.git_log {path}")], "The git log of `p`:\ngit_log done"),
        (
            "git diff in p",
            vec![format!("git.git_diff {path}")],
            "The git diff of `p`:\ngit_diff done",
        ),
        (
            "commit \"m\" in p",
            vec![
                r#"git.git_add {"path":"p","files":["."]}"#.to_owned(),
                r#"git.git_commit {"path":"p","message":"m"}"#.to_owned(),
            ],
            "I committed all changes in `p`:\ngit_commit done",
        ),
        ("push", vec![r#"git.git_push {"path":"."}"#.to_owned()], "I pushed:\ngit_push done"),
        (
            "push to origin in p",
            vec![r#"git.git_push {"path":"p","remote":"origin"}"#.to_owned()],
            "I pushed to `origin`:\ngit_push done",
        ),
        (
            "clone https://example.com/q.git",
            vec![r#"git.git_clone {"url":"https://example.com/q.git","localPath":"q"}"#.to_owned()],
            "I cloned https://example.com/q.git into `q`:\ngit_clone done",
        ),
    ] {
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        check("{}", message, &calls, answer);
    }
}

#[test]
fn appending_keeps_what_was_there() {
    let after = |files, message| send(files, message).files.to_string();
    assert_eq!(after(r#"{"a.txt":"one"}"#, "append \" twö\" to a.txt"), r#"{"a.txt":"one twö"}"#);
    assert_eq!(after(r#"{"x":""}"#, "append \"new\" to a.txt"), r#"{"x":"","a.txt":"new"}"#);
    assert_eq!(
        after(r#"{"d/x":""}"#, "append \"new\" to d/a.txt"),
        r#"{"d/x":"","d/a.txt":"new"}"#
    );
    let large = format!(r#"{{"a.txt":"{}"}}"#, "x".repeat(6000));
    let turn = send(&large, "append \"new\" to a.txt");
    assert_eq!(turn.files, parse(&large), "a file that is cut when it is read stays as it is");
    assert!(turn.answer.contains("could not be read as a whole"), "{}", turn.answer);
    // A file that cannot be looked at, and that a listing shows, is not taken for a new one.
    let setup = Setup {
        files: r#"{"a.txt":"one"}"#,
        before: "tools.get_file_info = () => { throw new Error('refused') };",
    };
    let turn = send_to(setup, "append \"new\" to a.txt");
    assert_eq!(turn.files.to_string(), r#"{"a.txt":"one"}"#);
    assert!(turn.answer.starts_with("I could not append to `a.txt`: refused"), "{}", turn.answer);
}

#[test]
fn copying_replaces_nothing() {
    let files = r#"{"a.txt":"one","b.txt":"two"}"#;
    let turn = send(files, "copy a.txt to c.txt");
    assert_eq!(turn.files.to_string(), r#"{"a.txt":"one","b.txt":"two","c.txt":"one"}"#);
    let turn = send(files, "copy a.txt to b.txt");
    assert_eq!(turn.files, parse(files));
    assert!(turn.answer.contains("`b.txt` exists already"), "{}", turn.answer);
    let turn = send(files, "copy x.txt to c.txt");
    assert!(turn.answer.contains("I could not copy `x.txt` to `c.txt`: `x.txt` does not exist"));
}

#[test]
fn a_step_that_fails_is_told_and_the_others_are_done() {
    let turn =
        send(FILES, "read secret.txt, then write \"x\" to n.txt and read gone.txt; read n.txt");
    assert_eq!(
        turn.answer,
        "I could not read `secret.txt`: denied by the policy: `secret.txt` is protected\n\n\
         I wrote 1 byte to `n.txt`.\n\n\
         I could not read `gone.txt`: `gone.txt` does not exist\n\n\
         `n.txt`:\nx\n\n(Answered by the offline model.)"
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let before = "delete globalThis.git; delete globalThis.fetch; delete globalThis.filesystem;";
    for (message, server) in
        [("git status", "git"), ("fetch https://x.org", "fetch"), ("list", "filesystem")]
    {
        let turn = send_to(Setup { files: "{}", before }, message);
        let expected = format!("there is no server `{server}` in this session");
        assert!(turn.answer.contains(&expected), "{}", turn.answer);
    }
}

#[test]
fn results_may_be_those_of_the_protocol() {
    for before in ["globalThis.shape = 'protocol';", "globalThis.shape = 'structured';"] {
        let message = "read a.txt then append \"x\" to a.txt then search for \"beta\" in docs";
        let turn = send_to(Setup { files: FILES, before }, message);
        let expected = "`a.txt`:\nalpha\nbeta\n\nI appended 1 byte";
        assert!(turn.answer.starts_with(expected), "{}", turn.answer);
        assert!(turn.answer.contains("docs/b.txt:1: beta"), "{}", turn.answer);
    }
}

#[test]
fn scripts_that_were_given_are_run_as_they_are() {
    let code = "console.log('a' + filesystem.read_text_file({ path: 'a.txt' }));";
    let turn = send(FILES, &format!("Run this:\n```ts\n{code}\n```"));
    assert!(
        turn.answer.starts_with("I ran the script:\naalpha\nbeta\n\n(Answered"),
        "{}",
        turn.answer
    );
    let turn = send(FILES, "read a.txt\n```js\nthrow new Error('boom')\n```\nread docs/b.txt");
    assert!(turn.answer.starts_with("`a.txt`:\nalpha\nbeta\n\nI could not run the script: "));
    assert!(turn.answer.contains("boom") && turn.answer.contains("`docs/b.txt`:\nbeta"));
    assert_eq!(turn.calls.len(), 2);
}

#[test]
fn what_is_not_understood_does_nothing_and_is_named() {
    for (message, part) in [
        ("read a.txt and dance", "- dance"),
        ("read \"a.txt", "a quote is opened and not closed"),
        ("```ts\nx", "a fenced block is opened"),
        ("hello", "I am the offline model"),
        ("what is the meaning of life", "ANTHROPIC_API_KEY"),
    ] {
        let turn = send(FILES, message);
        assert!(turn.calls.is_empty());
        assert!(turn.answer.contains(part), "{message}: {}", turn.answer);
        assert!(turn.answer.contains("list the files in docs"), "{}", turn.answer);
    }
}

#[test]
fn long_texts_are_cut_by_the_script_and_it_is_said() {
    for (unit, n_units) in [("ä\u{1f600}", 30_000), ("x", 60_000), ("\\u0001", 20_000)] {
        let before = format!("tools.read_text_file = () => '{unit}'.repeat({n_units});");
        let setup = Setup { files: "{}", before: &before };
        let turn = send_to(setup, "read a.txt and read b.txt then list the files");
        assert_eq!(turn.answer.matches(" characters in all]").count(), 2, "{unit}");
        assert!(turn.answer.contains("In `.`: (nothing)"), "{unit}: each has its share");
        let printed = turn.n_printed;
        assert!((25_000..64_000).contains(&printed), "{unit}: {printed}");
    }
    // What is short leaves its share to what is long.
    let long = format!(r#"{{"a.txt": "x", "b.txt": "{}"}}"#, "y".repeat(4900));
    assert!(!send(&long, "read a.txt and read b.txt").answer.contains("[cut"));
}

#[test]
fn only_the_latest_message_counts() {
    let user = |text: &str| Message::User(vec![UserBlock::Text(text.into())]);
    let answered = Message::Assistant(vec![AssistantBlock::Text("I did.".into())]);
    let completion = complete(&[user("delete a.txt"), answered, user("hello")]);
    assert!(matches!(completion.blocks.as_slice(), [AssistantBlock::Text(_)]));
    // A message after a turn that was cut stands behind its results and a note of the program.
    let first = complete(&[user("read a.txt")]);
    let id = match first.blocks.as_slice() {
        [AssistantBlock::ToolUse { id, .. }] => id.clone(),
        other => panic!("{other:?}"),
    };
    let cut = Message::User(vec![
        UserBlock::ToolResult { id: id.clone(), content: "x".into(), is_error: true },
        UserBlock::Note("delete everything.txt".into()),
        UserBlock::Text("read b.txt".into()),
    ]);
    let second = complete(&[user("read a.txt"), Message::Assistant(first.blocks), cut]);
    let [AssistantBlock::ToolUse { id: other, input, .. }] = second.blocks.as_slice() else {
        panic!("{:?}", second.blocks)
    };
    assert_ne!(*other, id, "ids differ");
    let input = input.to_string();
    assert!(input.contains("b.txt") && !input.contains("everything"));
}

#[test]
fn a_script_that_ends_early_is_told() {
    let user = Message::User(vec![UserBlock::Text("read a.txt and read b.txt".into())]);
    let first = complete(std::slice::from_ref(&user));
    let [AssistantBlock::ToolUse { id, .. }] = first.blocks.as_slice() else { panic!() };
    let mark = "[log] ironcurtain-offline ";
    for (content, is_error, expected) in [
        (
            format!("{mark}{{\"clause\":0,\"ok\":true,\"text\":\"A\"}}\ntime is over"),
            true,
            "`a.txt`:\nA\n\nI could not read `b.txt`: time is over",
        ),
        (
            format!(
                "{mark}{{\"clause\":0,\"ok\":true,\"text\":\"A\"}}\n{mark}{{\"clause\":1,\"ok\""
            ),
            false,
            "`a.txt`:\nA\n\nI could not read `b.txt`: the script said nothing about it",
        ),
        (String::new(), true, "I could not read `a.txt`: the script ended without a word"),
    ] {
        let result = UserBlock::ToolResult { id: id.clone(), content, is_error };
        let messages =
            [user.clone(), Message::Assistant(first.blocks.clone()), Message::User(vec![result])];
        let last = complete(&messages);
        let [AssistantBlock::Text(answer)] = last.blocks.as_slice() else { panic!() };
        assert!(answer.starts_with(expected), "{answer}");
    }
}

#[tokio::test]
async fn it_is_asked_once_there_is_something_to_answer() {
    let cancel = CancellationToken::new();
    let empty = Prompt { system: "", messages: &[], tools: &[] };
    let refused = OfflineModel.complete(empty, &Silent, &cancel).await;
    assert!(matches!(refused, Err(ModelError::Protocol(_))));
    let messages = [Message::User(vec![UserBlock::Text("list the files".into())])];
    let prompt = Prompt { system: "", messages: &messages, tools: &[] };
    let helpless = OfflineModel.complete(prompt, &Silent, &cancel).await.unwrap();
    assert!(
        matches!(helpless.blocks.as_slice(), [AssistantBlock::Text(text)] if text.contains("no tool"))
    );
    cancel.cancel();
    assert_eq!(OfflineModel.complete(prompt, &Silent, &cancel).await, Err(ModelError::Cancelled));
    assert_eq!(OfflineModel.name(), ModelName::Offline);
    assert_eq!(OfflineModel.name().to_string(), "offline");
}
