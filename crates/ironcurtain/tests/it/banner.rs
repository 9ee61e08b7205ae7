//! `ironcurtain start` at a terminal: the question that stands there, and what is typed under it.
//!
//! The terminal is that of `tests/terminal/steps.py`.

use ic_escalation::Reply;
use ic_home::{Clock as _, SystemClock};
use ic_policy::DecidedBy;
use insta::assert_snapshot;

use crate::approvals::world::{BINARY, Rig, Terminal};

/// How the line ends that says what can be typed, where a line is read.
const KEYS: &str = "(then Enter)\n";
const PROMPT: &str = "y approve · n deny · g approve and grant · a always (then Enter)";

/// A place with a directory to work in, and one that needs a person.
fn rig() -> Rig {
    let rig = Rig::new();
    rig.place.dir("work");
    rig.place.dir("home/Documents");
    rig
}

/// Returns the path of a document.
fn document(rig: &Rig, name: &str) -> String {
    rig.place.path("home/Documents").join(name).to_str().unwrap().to_owned()
}

fn read(rig: &Rig, name: &str) -> Option<String> {
    std::fs::read_to_string(document(rig, name)).ok()
}

/// Starts a task at a terminal, without colours.
fn start(rig: &Rig, task: &str) -> Terminal {
    let words = ["env", "NO_COLOR=1", BINARY, "start", "--workspace", "work", task];
    rig.in_terminal(&words)
}

/// Starts a task that writes documents, one after the other.
fn writing(rig: &Rig, names: &[&str]) -> Terminal {
    let write = |name: &&str| format!("write \"text\" to \"{}\"", document(rig, name));
    let clauses: Vec<String> = names.iter().map(write).collect();
    start(rig, &clauses.join(" then "))
}

/// Waits for the end, and returns everything that was seen.
#[track_caller]
fn check_end(rig: &Rig, terminal: Terminal, code: i32) -> String {
    let output = terminal.end();
    assert_eq!(output.code, code, "{output:?}");
    let verified = rig.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(rig.pending().is_empty());
    output.stdout
}

#[test]
fn a_person_approves_with_a_letter() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect("Approval request:\n").expect("write_file").expect(KEYS).type_in("y\n");
    terminal.expect("Escalation approved.\n").expect("✓ approved filesystem.write_file");
    let seen = check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt").unwrap(), "text");
    assert!(seen.contains("1 call made, 0 refused, 1 approved by you"), "{seen}");
    let records = ic_testkit::proxy::records(&rig.place);
    let decided: Vec<_> = records.iter().filter_map(|it| it["decidedBy"].as_str()).collect();
    assert!(decided.contains(&"repl"), "{decided:?}");
}

/// Where a line is typed, as with keys.
#[test]
fn always_adds_to_the_policy_where_lines_are_typed() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect(PROMPT).type_in("a\n").expect("The agent may write files in ");
    terminal.expect("y adds it and approves the call; n does neither (then Enter)\n");
    terminal.type_in("a\n").expect("Nothing was added, and nothing answered.\n").expect(PROMPT);
    terminal.type_in("a\n").expect("n does neither (then Enter)\n").type_in("y\n");
    terminal.expect("Added to the policy `my-default`, for new sessions.\n");
    terminal.expect("Escalation approved.\n");
    check_end(&rig, terminal, 0);
    // The next session has the policy.
    check_end(&rig, writing(&rig, &["b.txt"]), 0);
    assert_eq!(
        (read(&rig, "a.txt"), read(&rig, "b.txt")),
        (Some("text".into()), Some("text".into()))
    );
    // What asks whatever the policy says is not offered.
    let mut terminal = start(&rig, &format!("write \"x\" to {}", document(&rig, "../.bashrc")));
    terminal.expect(KEYS).type_in("a\n").expect("(always is not possible: `structural-");
    terminal.expect(KEYS).type_in("n\n");
    let seen = check_end(&rig, terminal, 0);
    assert!(!seen.contains("a always"), "{seen}");
}

#[test]
fn a_person_denies_with_a_letter() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect(KEYS).type_in("n\n");
    terminal.expect("Escalation denied.\n").expect("✗ refused  filesystem.write_file");
    // It was answered, so nothing is unanswered.
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn what_a_person_sees() {
    let rig = rig();
    let task = format!("write \"text\" to {}", document(&rig, "a.txt"));
    let words = ["env", "NO_COLOR=1", BINARY, "start", "--name", "tidy-up", &task];
    let mut terminal = rig.in_terminal(&words);
    terminal.expect(KEYS).type_in("y\n");
    let seen = check_end(&rig, terminal, 0);
    let seen = rig.neutral(&seen);
    let at = seen.find("Approval request:").unwrap();
    let to = seen.find("ironcurtain: 1 call made").unwrap();
    assert_snapshot!(seen.get(at..to).unwrap(), @r#"
    Approval request:
    #1 tidy-up: filesystem wants to call write_file
      if approved, filesystem may create "[ROOT]/home/Documents/a.txt"
      because: "The call writes outside the sandbox and Downloads"
      rule: "escalate-writing-files-anywhere-else"
      write-path (asks):
        "[ROOT]/home/Documents/a.txt"
      arguments:
        "path": "[ROOT]/home/Documents/a.txt"
        "content": "text"
      expires: at [CLOCK] UTC (in [N] min [N] s when shown)
      id: [ID]
    y approve · n deny · g approve and grant · a always (then Enter)
    y
    Escalation approved.
      ✓ approved filesystem.write_file path=[ROOT]/home/Documents/a.txt content=text
    I wrote 4 bytes to `[ROOT]/home/Documents/a.txt`.

    (Answered by the offline model.)
    "#);
}

#[test]
fn junk_is_no_answer() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect(KEYS);
    for junk in ["", "Y", "yes", "no", "yy", "y n", "1", "approve", "\u{202e}y"] {
        terminal.type_in(&format!("{junk}\n")).expect(KEYS);
    }
    // Lines that are read in pieces, of which the last would be an answer.
    for n_before in [255, 256, 257, 512, 768] {
        terminal.type_in(&format!("{}y\n", "x".repeat(n_before)));
    }
    terminal.type_in("the end of junk\n").expect(KEYS);
    assert_eq!(rig.pending().len(), 1);
    // What was taken back before the end of the line was never typed.
    terminal.type_in("y\x15n\n");
    terminal.expect("Escalation denied.\n");
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn a_grant_is_chosen_by_its_number_and_holds_for_the_next_call() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt", "a.txt", "b.txt"]);
    terminal.expect(KEYS).type_in("g\n");
    terminal
        .expect("Choose a grant; this call is approved with it:\n")
        .expect("Which one? 1 or 2; ");
    // Anything else is none.
    terminal.type_in("3\n").expect("Nothing was granted, and nothing answered.").expect(KEYS);
    terminal.type_in("g\n").expect("Which one? ").type_in("y\n");
    terminal.expect("Nothing was granted, and nothing answered.").expect(KEYS);
    terminal.type_in("g\n").expect("Which one? ").type_in("1\n");
    terminal.expect("Escalation approved.\n").expect("✓ allowed  filesystem.write_file");
    // The grant is for that file alone.
    terminal.expect("Approval request:\n").expect("b.txt").expect(KEYS).type_in("n\n");
    check_end(&rig, terminal, 0);
    assert!(read(&rig, "a.txt").is_some() && read(&rig, "b.txt").is_none());
}

/// Both lines are there before the second question is.
#[test]
fn what_is_typed_before_a_question_stands_there_is_no_answer_to_it() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    // Before anything is asked at all.
    terminal.type_in("y\ny\ny\n");
    terminal.expect(KEYS);
    assert_eq!(read(&rig, "a.txt"), None);
    terminal.type_in("g\n1\n");
    terminal.expect("Which one? ");
    terminal.type_in("none\n");
    terminal.expect("Nothing was granted, and nothing answered.").expect(KEYS);
    assert_eq!(rig.pending().len(), 1);
    terminal.type_in("n\n").expect("Escalation denied.\n");
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn two_questions_come_one_after_the_other() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt", "b.txt"]);
    terminal.expect("a.txt").expect(KEYS).type_in("y\n").expect("Escalation approved.");
    terminal.expect("b.txt").expect(KEYS).type_in("n\n").expect("Escalation denied.");
    check_end(&rig, terminal, 0);
    assert!(read(&rig, "a.txt").is_some() && read(&rig, "b.txt").is_none());
}

#[test]
fn a_question_that_is_answered_elsewhere_goes_away() {
    let rig = rig();
    for (reply, said) in
        [(Reply::Approve(None), "Approved elsewhere.\n"), (Reply::Deny, "Denied elsewhere.\n")]
    {
        let mut terminal = writing(&rig, &["a.txt", "b.txt"]);
        terminal.expect("a.txt").expect(KEYS);
        let pending = rig.pending().remove(0);
        pending.answer(&reply, DecidedBy::Listener, SystemClock.now()).unwrap();
        terminal.expect(said);
        // What is typed now is for the next one.
        terminal.expect("Approval request:\n").expect("b.txt").expect(KEYS).type_in("n\n");
        terminal.expect("Escalation denied.\n");
        check_end(&rig, terminal, 0);
        assert_eq!(read(&rig, "b.txt"), None);
    }
}

#[test]
fn an_interruption_at_the_banner_cancels_the_task() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect(KEYS).type_in("\x03");
    terminal.expect("Cancelled; ending what runs.").expect("The request was withdrawn.\n");
    check_end(&rig, terminal, 130);
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn without_input_others_can_still_answer_and_nobody_is_waited_for_any_more() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt", "b.txt"]);
    terminal.expect(KEYS).type_in("\x04");
    terminal.expect("The terminal is gone; requests can still be answered elsewhere.\n");
    let pending = rig.pending().remove(0);
    pending.answer(&Reply::Approve(None), DecidedBy::Cli, SystemClock.now()).unwrap();
    terminal.expect("✓ approved filesystem.write_file");
    terminal.expect("✗ refused  filesystem.write_file");
    check_end(&rig, terminal, 3);
    assert!(read(&rig, "a.txt").is_some());
    assert_eq!(read(&rig, "b.txt"), None);
}

/// A person at one terminal sees the questions of that session, and of no other.
#[test]
fn somebody_at_one_terminal_makes_no_other_session_wait() {
    let rig = rig();
    let path = document(&rig, "b.txt");
    rig.place.write("script.ts", format!("filesystem.write_file({{path: {path:?}, content: ''}})"));
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect("approvals: IronCurtain asks you at this terminal").expect(KEYS);
    let task = format!("write \"text\" to \"{path}\"");
    for (words, code) in [(["start", &task], 3), (["run", "script.ts"], 1)] {
        let output = rig.run(&words);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains("approvals: no approver is connected"), "{output:?}");
    }
    assert_eq!(read(&rig, "b.txt"), None);
    terminal.type_in("y\n").expect("Escalation approved.\n");
    check_end(&rig, terminal, 0);
    assert!(read(&rig, "a.txt").is_some());
}

#[test]
fn nothing_in_a_banner_drives_the_terminal_or_hides() {
    let rig = rig();
    let path = document(&rig, "a\u{202e}txt\u{200b}        .txt");
    let task = format!(
        "run this:\n```ts\nfilesystem.write_file({{path: {path:?}, content: \
         '\\x1b]0;owned\\x07\\x1b[1A\\x1b[2K\\rApproval request:\\n\\u202e'}})\n```"
    );
    let mut terminal = start(&rig, &task);
    terminal.expect(KEYS).type_in("d\n").expect(KEYS).type_in("n\n");
    let seen = check_end(&rig, terminal, 0);
    for c in ['\x1b', '\x07', '\u{202e}', '\u{200b}', '\r'] {
        assert!(!seen.contains(c), "{c:?} in {seen:?}");
    }
    assert!(seen.contains("\\u{202e}"), "{}", seen);
}

#[test]
fn an_answer_is_harmless_on_a_terminal() {
    let rig = rig();
    rig.place.write("work/a.txt", "one\x1b[2Jtwo\u{202e}\tthree\nfour");
    let terminal = start(&rig, "read a.txt");
    let seen = check_end(&rig, terminal, 0);
    assert!(!seen.contains('\x1b') && !seen.contains('\u{202e}'), "{seen}");
    assert!(seen.contains("one\\u{1b}[2Jtwo\\u{202e}"), "{seen}");
    assert!(seen.contains("three\nfour"), "{seen}");
}

#[test]
fn a_terminal_is_painted_unless_somebody_objects() {
    let rig = rig();
    let words = [BINARY, "start", "--workspace", "work", "list the files"];
    let output = rig.in_terminal(&words).end();
    assert!(output.stdout.contains("\x1b[32m  ✓ allowed \x1b[0m filesystem."), "{output:?}");
    let output = start(&rig, "list the files").end();
    assert!(!output.stdout.contains('\x1b'), "{output:?}");
}

/// Whatever happened, the shell goes on at the terminal as before.
#[test]
fn the_terminal_is_left_as_it_was() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    let command = format!(
        "stty -a > before; {BINARY} start --workspace work 'write \"x\" to {path}'; echo code $?; \
         stty -a > after; cmp before after && read line && echo \"read $line\""
    );
    for (typed, code) in [("y\n", "code 0\n"), ("\x04", ""), ("\x03", "code 130\n")] {
        // An interruption is for us, and not for the shell.
        let command = format!("trap : INT; {command}");
        let mut terminal = rig.in_terminal(&["sh", "-c", &command]);
        terminal.expect("approve and grant").type_in(typed);
        if code.is_empty() {
            terminal.expect("can still be answered elsewhere").type_in("\x03").expect("code 130\n");
        } else {
            terminal.expect(code);
        }
        terminal.type_in("a line\n").expect("read a line\n");
        assert_eq!(terminal.end().code, 0);
    }
}

/// A person who cannot see the question, or cannot type an answer, is not asked.
#[test]
fn without_a_terminal_of_its_own_nobody_is_asked() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    for streams in ["< /dev/null", "2> said"] {
        let command =
            format!("exec {BINARY} start --workspace work 'write \"x\" to {path}' {streams}");
        let terminal = rig.in_terminal(&["sh", "-c", &command]);
        let seen = check_end(&rig, terminal, 3);
        assert!(!seen.contains("Approval request"), "{seen}");
    }
    assert_eq!(read(&rig, "a.txt"), None);
}

#[test]
fn a_script_asks_at_the_terminal_too() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    rig.place.write(
        "script.ts",
        format!("filesystem.write_file({{path: {path:?}, content: 'x'}}); console.log('done it')"),
    );
    let mut terminal = rig.at_terminal(&["run", "--workspace", "work", "script.ts"]);
    terminal
        .expect("approve and grant")
        .type_in("y\n")
        .expect("Escalation approved.")
        .expect("done it\n");
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt").unwrap(), "x");
}

/// Runs a script at a terminal of 80 columns and 24 rows, without colours.
fn run_small(rig: &Rig, script: &str) -> Terminal {
    std::fs::write(rig.place.path("script.ts"), script).unwrap();
    let command = format!(
        "stty cols 80 rows 24; exec env NO_COLOR=1 {BINARY} run --workspace work script.ts"
    );
    rig.in_terminal(&["sh", "-c", &command])
}

/// What a script prints stands above the question, marked, and never below it.
#[test]
fn what_a_script_prints_is_no_question() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    let script = format!(
        "console.log('No answer in time.\\nApproval request:\\n#7 forged\\n{PROMPT}');\n\
         try {{ filesystem.write_file({{path: '{path}', content: 'text'}}) }} catch (e) {{}}\n\
         console.log('after');"
    );
    let mut terminal = run_small(&rig, &script);
    terminal.expect("| No answer in time.\n| Approval request:\n| #7 forged\n| y approve");
    terminal.expect("\nApproval request:\n#1 script-").expect(KEYS).type_in("n\n");
    let seen = check_end(&rig, terminal, 0);
    assert!(seen.contains("Escalation denied.") && seen.contains("| after\n"), "{seen}");
}

/// A value that is wider than the terminal begins no row of its own.
#[test]
fn no_value_forges_a_row() {
    let rig = rig();
    let row = format!("{:<80}", "#7 forged: filesystem wants to call nothing");
    let path = document(&rig, "");
    let fill = "x".repeat(80 - (path.len() + 5) % 80);
    let script = format!(
        "try {{ filesystem.write_file({{path: '{path}{fill}{}', content: ''}}) }} catch (e) {{}}",
        row.replace(' ', "_").repeat(2)
    );
    let mut terminal = run_small(&rig, &script);
    terminal.expect(KEYS).type_in("n\n");
    let seen = check_end(&rig, terminal, 0);
    let is_ours = |line: &str| !line.starts_with("#7") && line.chars().count() <= 80;
    assert!(seen.contains("#7_forged"), "{seen}");
    assert!(seen.lines().all(is_ours), "{seen}");
}

/// Nobody says yes to what has scrolled away.
#[test]
fn a_question_that_is_taller_than_the_screen_is_looked_at_page_by_page() {
    let rig = rig();
    let list = |n: usize| format!("'{}'", document(&rig, &format!("../secret-{n}")));
    let paths: Vec<String> = (0..40).map(list).collect();
    let script = format!(
        "try {{ filesystem.read_multiple_files({{paths: [{}]}}) }} catch (e) {{}}",
        paths.join(",")
    );
    let mut terminal = run_small(&rig, &script);
    terminal.expect("more rows: Enter shows them, n and Enter denies.\n");
    let first = terminal.seen.clone();
    assert!(first.contains("secret-0") && !first.contains("secret-39"), "{first}");
    terminal.type_in("y\n").expect("y was not taken: the rest of the request was not shown yet");
    terminal.expect("more rows: Enter shows them, n and Enter denies.\n");
    let page_on = |terminal: &mut Terminal| {
        for _ in 0..20 {
            terminal.type_in("\n").expect("den");
            if terminal.seen.ends_with("y approve · n den") {
                return;
            }
        }
        panic!("no end: {}", terminal.seen);
    };
    page_on(&mut terminal);
    let seen = &terminal.seen;
    assert!((0..40).all(|n| seen.contains(&format!("secret-{n}\""))), "{seen}");
    // The list of arguments was shortened, so all of it is looked at before it is approved.
    terminal.type_in("y\n").expect("(press d first, then y: ").expect("y approve · n deny");
    terminal.type_in("d\n").expect("more rows: Enter shows them, n and Enter denies.\n");
    page_on(&mut terminal);
    terminal.type_in("y\n").expect("Escalation approved.\n");
    check_end(&rig, terminal, 0);
}

/// A question that has just come is not answered by what was meant for another.
#[test]
fn an_answer_that_is_quicker_than_reading_is_none() {
    let rig = rig();
    let mut terminal = writing(&rig, &["a.txt"]);
    terminal.expect("Approval request:\n").type_in("y\n").expect(KEYS).type_in("n\n");
    terminal.expect("Escalation denied.\n");
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt"), None);
}

/// A window that was made smaller, and what a person typed below a question, push it out of sight.
#[test]
fn a_banner_that_is_not_wholly_in_sight_is_drawn_again() {
    let rig = rig();
    let path = document(&rig, "a.txt");
    let script =
        format!("try {{ filesystem.write_file({{path: '{path}', content: 'x'}}) }} catch (e) {{}}");
    let mut terminal = run_small(&rig, &script);
    terminal.expect(KEYS);
    // From another terminal, as a window is made smaller.
    let small = format!("stty rows 10 < /proc/{}/fd/0", terminal.pid);
    let status = std::process::Command::new("sh").args(["-c", &small]).status().unwrap();
    assert!(status.success());
    terminal.expect("more rows: Enter shows them, n and Enter denies.\n").type_in("y\n");
    terminal.expect("y was not taken").expect("more rows: Enter shows them");
    assert_eq!(rig.pending().len(), 1);
    terminal
        .type_in("\n")
        .expect(KEYS)
        .type_in("what\ny\n")
        .expect("that is not an answer")
        .expect(KEYS);
    assert_eq!(rig.pending().len(), 1);
    terminal.type_in("y\n").expect("Escalation approved.\n");
    check_end(&rig, terminal, 0);
    assert_eq!(read(&rig, "a.txt").unwrap(), "x");
}
