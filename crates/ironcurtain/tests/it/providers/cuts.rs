//! A stream that breaks off, wherever it does: never half an answer, never half a tool use, and a session
//! that goes on.

use ic_testkit::provider::{Format, Reply, Said, frames};

use super::World;

const WRITE: &str = "filesystem.write_file({path: 'a.txt', content: 'once'})";
/// How many are tried at the same time.
const AT_ONCE: usize = 4;

/// Does `check` for every place at which a message can break off before it is whole.
fn everywhere(format: Format, said: &Said, check: impl Fn(usize) + Sync) {
    let n_frames = frames::of(format, said, "m").len();
    assert!(3 < n_frames);
    let places: Vec<usize> = (0..n_frames).collect();
    for some in places.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for n in some {
                scope.spawn(|| check(*n));
            }
        });
    }
}

/// Nothing was told, so it is asked for once more; then it is as if nothing had happened.
fn check_tools(format: Format) {
    let said = Said::code(&[WRITE, "1 + 1"]).thinking("Hm, tja.");
    everywhere(format, &said, |n| {
        let script = [
            Reply::CutsAfter(n, said.clone()),
            Reply::Says(said.clone()),
            Reply::Says(Said::text("done")),
        ];
        let world = World::new(format, script);
        let output = world.start("write");
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (0, "done\n"),
            "{format} {n}: {output:?}"
        );
        assert_eq!(world.provider.requests().len(), 3, "{format} {n}: {output:?}");
        assert_eq!(world.desk.read("work/a.txt").unwrap(), "once");
        let n_writes = output.stderr.matches("✓ allowed  filesystem.write_file").count();
        assert_eq!(n_writes, 1, "{format} {n}: {output:?}");
        assert!(output.stderr.contains("broke off"), "{format} {n}: people are told: {output:?}");
        world.provider.check();
    });
}

/// An answer is whole, or there is none and it is said so.
fn check_answer(format: Format) {
    let said = Said::text("a long answer, which ends").thinking("Hm.");
    everywhere(format, &said, |n| {
        let script = [Reply::CutsAfter(n, said.clone()), Reply::Says(said.clone())];
        let world = World::new(format, script);
        let output = world.start("answer");
        if output.code == 0 {
            assert_eq!(output.stdout, "a long answer, which ends\n", "{format} {n}");
            assert_eq!(world.provider.requests().len(), 2, "{format} {n}");
        } else {
            // Something of it was told already, so it is not asked for again.
            assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
            assert!(output.stderr.contains("the provider's answer broke off"), "{output:?}");
            assert!(output.stderr.contains("hint: say it again"), "{output:?}");
            assert_eq!(world.provider.requests().len(), 1, "{format} {n}");
        }
        world.desk.check_log();
        world.desk.check_nobody_listed();
    });
}

#[test]
fn a_tool_use_that_breaks_off_anywhere_is_not_run_by_half() {
    check_tools(Format::Anthropic);
}

#[test]
fn a_tool_use_of_openai_that_breaks_off_is_not_run_by_half() {
    check_tools(Format::Responses);
}

#[test]
fn a_tool_use_of_a_compatible_server_that_breaks_off_is_not_run_by_half() {
    check_tools(Format::Chat);
}

#[test]
fn a_tool_use_of_google_that_breaks_off_is_not_run_by_half() {
    check_tools(Format::Gemini);
}

#[test]
fn an_answer_that_breaks_off_anywhere_is_no_answer() {
    check_answer(Format::Anthropic);
}

#[test]
fn an_answer_of_openai_that_breaks_off_is_no_answer() {
    check_answer(Format::Responses);
}

#[test]
fn an_answer_of_a_compatible_server_that_breaks_off_is_no_answer() {
    check_answer(Format::Chat);
}

#[test]
fn an_answer_of_google_that_breaks_off_is_no_answer() {
    check_answer(Format::Gemini);
}

/// Every so many bytes a stream is cut here; the library is tested with every single one.
const BYTES_APART: usize = 83;

/// In one process: a message whose answer breaks off at some byte, and then one that is answered.
fn check_goes_on(format: Format) {
    let events = frames::of(format, &Said::text("a long answer, which ends"), "m").concat();
    // From there on something of it was told, so it is not asked for again.
    let told = events.find("a long answ").unwrap();
    let first = told + events.split_at(told).1.find("\n\n").unwrap() + 2;
    let places: Vec<usize> = (first..events.len()).step_by(BYTES_APART).collect();
    assert!(2 < places.len(), "{format}: {}", events.len());
    let cut = |at: &usize| {
        let (beginning, _) = events.split_at(*at);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
        Reply::Raw(format!("{head} {}\r\n\r\n{beginning}", events.len()).into_bytes())
    };
    let whole = |at: &usize| Reply::Says(Said::text(&format!("whole after {at}")));
    let script = places.iter().flat_map(|at| [cut(at), whole(at)]);
    let world = World::new(format, script);
    let messages: String = places.iter().map(|at| format!("unheard {at}\nheard {at}\n")).collect();
    let words = ["start", "--model", super::model(format), "--workspace", "work"];
    let output = world.desk.place.run_with_input(words, messages.as_bytes());
    let expected: String = places.iter().map(|at| format!("whole after {at}\n")).collect();
    assert_eq!((output.code, output.stdout.as_str()), (0, expected.as_str()), "{output:?}");
    let n_failed = output.stderr.matches("the provider's answer broke off").count();
    assert_eq!(n_failed, places.len(), "{format}: {output:?}");
    world.provider.check();
    let last = world.request(2 * places.len());
    assert!(!last.contains("a long answ"), "{format}: half an answer is in {last}");
    assert!(!last.contains("unheard "), "{format}: what was not answered is in {last}");
    world.desk.check_log();
}

#[test]
fn a_session_goes_on_after_an_answer_that_broke_off_at_some_byte() {
    super::for_all(check_goes_on);
}
