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
