//! `ironcurtain run FILE`: a script of a person's under policy, without a model.

use ic_testkit::{Output, Place};
use rustix::process::Signal;

use crate::place;
use crate::start::started::Started;

/// A place with a directory `work` in it, for a script to work in.
struct Rig {
    place: Place,
}

impl Rig {
    fn new() -> Self {
        let place = place();
        place.dir("work");
        place.dir("home/Documents");
        Self { place }
    }

    fn run(&self, source: &str) -> Output {
        self.run_with(source, &[])
    }

    fn run_with(&self, source: &str, arguments: &[&str]) -> Output {
        self.place.write("script.ts", source);
        self.place.run([&["run", "--workspace", "work", "script.ts"], arguments].concat())
    }

    #[track_caller]
    fn check_log(&self) {
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}

/// Checks what a script prints, and that it came to its end.
#[track_caller]
fn check(source: &str, printed: &str) {
    let output = Rig::new().run(source);
    assert_eq!((output.code, output.stdout.as_str()), (0, printed), "{source}: {output:?}");
}

/// Checks that a script fails, and what is said on standard error.
#[track_caller]
fn check_fails(source: &str, said: &[&str]) {
    let rig = Rig::new();
    let output = rig.run(source);
    assert_eq!(output.code, 1, "{source}: {output:?}");
    for said in said {
        assert!(output.stderr.contains(said), "no {said:?}: {output:?}");
    }
    rig.check_log();
}

#[test]
fn values_and_what_is_printed_go_to_standard_output() {
    check("1 + 1", "2\n");
    check("undefined", "");
    check("", "");
    check(
        "console.log('a', 1, {b: [2]}); console.error('c'); 'the value'",
        "a 1 {\n  \"b\": [\n    2\n  ]\n}\nc\nthe value\n",
    );
    check(
        "const n: number = 3;\ninterface A { b?: string }\nconst a: A = {};\nn as unknown",
        "3\n",
    );
}

#[test]
fn arguments_arrive_as_they_are() {
    let rig = Rig::new();
    let arguments = ["--", "one", "--wait", "-x", "--", "", "ü \u{202e}", "$(id)"];
    let output = rig.run_with("JSON.stringify(args)", &arguments);
    let expected = "[\"one\",\"--wait\",\"-x\",\"--\",\"\",\"ü \u{202e}\",\"$(id)\"]\n";
    assert_eq!((output.code, output.stdout.as_str()), (0, expected), "{output:?}");
    let output = rig.run("args.length");
    assert_eq!(output.stdout, "0\n", "{output:?}");
    // Without the two dashes they are ours.
    let output = rig.run_with("1", &["one"]);
    assert_eq!(output.code, 2, "{output:?}");
}

#[test]
fn mistakes_are_said_with_their_line() {
    check_fails("const a = 1;\nconst b = ;\n", &["SyntaxError", "line 2"]);
    check_fails(
        "const a: number = 1;\n\n\nfunction f(): void {\n  throw new Error('on purpose');\n}\nf();",
        &["Error: on purpose", "script.ts:5:", "script.ts:7:"],
    );
    check_fails("null.x", &["TypeError"]);
    check_fails("throw 'just text'", &["just text"]);
    check_fails("missing()", &["ReferenceError", "missing"]);
}

#[test]
fn what_was_printed_before_a_mistake_is_printed() {
    let output = Rig::new().run("console.log('so far'); throw new Error('no further')");
    assert_eq!((output.code, output.stdout.as_str()), (1, "so far\n"), "{output:?}");
    assert!(output.stderr.contains("error: Error: no further"), "{output:?}");
}

#[test]
fn tools_are_called_and_denied_calls_throw() {
    let rig = Rig::new();
    let output = rig.run(
        "filesystem.write_file({path: 'a.txt', content: 'hello'});\n\
         console.log(filesystem.read_text_file({path: 'a.txt'}));\n\
         try { filesystem.read_text_file({path: '~/.ssh/id_rsa'}); } catch (e) {\n\
           console.log(e.name, e.decision, typeof e.rule, e.rule.length > 0, e.reason.length > 0);\n\
         }\n\
         try { filesystem.read_text_file({path: 'missing'}); } catch (e) { console.log(e.name); }\n\
         try { filesystem.no_such_tool({}); } catch (e) { console.log(e.name); }",
    );
    let expected = "hello\nDenied deny string true true\nToolError\nTypeError\n";
    assert_eq!((output.code, output.stdout.as_str()), (0, expected), "{output:?}");
    assert_eq!(std::fs::read_to_string(rig.place.path("work/a.txt")).unwrap(), "hello");
    assert!(output.stderr.contains("✓ allowed  filesystem.write_file"), "{output:?}");
    assert!(
        output.stderr.contains("✗ refused  filesystem.read_text_file path=~/.ssh/id_rsa"),
        "{output:?}"
    );
    rig.check_log();
    // One that nobody catches ends the script.
    check_fails(
        "filesystem.read_text_file({path: '~/.ssh/id_rsa'})",
        &["error: Denied: ", "protected"],
    );
}

#[test]
fn a_call_that_needs_a_person_is_three_in_a_pipe() {
    let rig = Rig::new();
    let path = rig.place.path("home/Documents/a.txt");
    let call = format!("filesystem.write_file({{path: {path:?}, content: ''}})");
    let output = rig.run(&format!("try {{ {call} }} catch (e) {{ console.log(e.decision) }}"));
    assert_eq!((output.code, output.stdout.as_str()), (3, "escalate\n"), "{output:?}");
    // A script that fails for it has failed.
    assert_eq!(rig.run(&call).code, 1);
    assert!(!path.exists());
    rig.check_log();
}

#[test]
fn help_lists_what_there_is() {
    let output = Rig::new()
        .run("console.log(help()); console.log(help('filesystem')); help('filesystem.write_file')");
    assert_eq!(output.code, 0, "{output:?}");
    for word in ["server.tool(", "filesystem", "read_text_file", "write_file", "content"] {
        assert!(output.stdout.contains(word), "no {word:?} in {}", output.stdout);
    }
}

/// There is nothing in a script but the language, the tools, and what prints.
#[test]
fn a_script_has_no_way_out_but_the_tools() {
    for attempt in [
        "fetch('https://example.com')",
        "new XMLHttpRequest()",
        "new WebSocket('wss://example.com')",
        "process.env",
        "process.exit(0)",
        "require('fs')",
        "Deno.readTextFile('/etc/passwd')",
        "Bun.file('/etc/passwd')",
        "std.open('/etc/passwd', 'r')",
        "os.exec(['id'])",
        "setTimeout(() => {}, 0)",
        "setInterval(() => {}, 0)",
        "new Worker('x')",
        "new WebAssembly.Module(new Uint8Array())",
        "navigator.sendBeacon('x')",
    ] {
        let rig = Rig::new();
        let output = rig.run(attempt);
        assert_eq!(output.code, 1, "{attempt}: {output:?}");
        let is_unknown =
            output.stderr.contains("ReferenceError") || output.stderr.contains("TypeError");
        assert!(is_unknown, "{attempt}: {output:?}");
    }
    for attempt in [
        "import fs from 'fs'; fs.readFileSync('/etc/passwd')",
        "await import('fs')",
        "import('fs').then(() => {})",
    ] {
        let output = Rig::new().run(attempt);
        assert!(!output.stdout.contains("root:"), "{attempt}: {output:?}");
        assert_ne!(output.code, 0, "{attempt}: {output:?}");
    }
}

#[test]
fn a_script_that_cannot_be_read_makes_no_session() {
    let rig = Rig::new();
    rig.place.write("latin1.ts", b"'\xe4'");
    rig.place.dir("directory.ts");
    for (words, code, said) in [
        (&["run", "latin1.ts"][..], 1, "is not UTF-8 text"),
        (&["run", "missing.ts"], 1, "missing.ts"),
        (&["run", "directory.ts"], 1, "directory.ts"),
        (&["run"], 2, "Usage: ironcurtain run"),
        (&["run", "--workspace", "/", "latin1.ts"], 1, "is not UTF-8 text"),
    ] {
        let output = rig.place.run(words);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(said), "{output:?}");
    }
    assert!(!rig.place.path("home/.ironcurtain/sessions").exists());
    rig.place.write("script.ts", "1");
    let output = rig.place.run(["run", "--workspace", "/", "script.ts"]);
    assert_eq!(output.code, 2, "{output:?}");
}

#[test]
fn an_endless_script_is_ended_by_an_interruption() {
    let rig = Rig::new();
    rig.place.write("script.ts", "filesystem.list_directory({path: '.'}); while (true) {}");
    let mut started = Started::new(&rig.place, &["run", "--workspace", "work", "script.ts"]);
    started.expect("✓ allowed  filesystem.list_directory");
    let processes: Vec<_> =
        started.descendants().into_iter().map(ic_testkit::proxy::Process::hold).collect();
    assert!(4 <= processes.len());
    started.send(Signal::INT);
    let output = started.end();
    assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{output:?}");
    for process in processes {
        assert!(process.is_gone_within(std::time::Duration::ZERO), "{process:?}");
    }
    rig.check_log();
}

#[test]
fn a_memory_bomb_ends_itself_alone() {
    check_fails(
        "const a = []; while (true) { a.push(new Array(100000).fill('x')) }",
        &["error: The script needed too much memory and was stopped."],
    );
}
