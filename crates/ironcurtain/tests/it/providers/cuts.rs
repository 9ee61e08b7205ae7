//! A stream that breaks off, wherever it does: never half an answer, never half a tool use, and a session
//! that goes on.

use ic_testkit::provider::{Format, Reply, Said, frames};

use super::World;

const WRITE: &str = "filesystem.write_file({path: 'a.txt', content: 'once'})";

#[test]
fn a_tool_use_that_breaks_off_anywhere_is_not_run_by_half() {
    for format in Format::ALL {
        let said = Said::code(&[WRITE, "1 + 1"]).thinking("Hm, tja.");
        let n_frames = frames::of(format, &said, "m").len();
        let is_whole = n_whole(format, n_frames);
        for n in 0..=n_frames {
            // Nothing was told, so it is asked for once more; then it is as if nothing had happened.
            let script = [
                Reply::CutsAfter(n, said.clone()),
                Reply::Says(said.clone()),
                Reply::Says(Said::text("done")),
            ];
            let world = World::new(format, script);
            let output = world.start("write");
            assert_eq!(output.code, 0, "{format} {n}: {output:?}");
            let expected = if is_whole <= n { 2 } else { 3 };
            assert!(world.provider.requests().len() <= 3, "{format} {n}");
            if n < is_whole {
                assert_eq!(world.provider.requests().len(), expected, "{format} {n}: {output:?}");
            }
            assert_eq!(world.desk.read("work/a.txt").unwrap(), "once");
            assert_eq!(output.stderr.matches("filesystem.write_file").count(), allowed(&world, is_whole <= n));
            world.provider.check();
        }
    }
}

/// Returns how many writes there are to be: one for each time that the whole message came.
fn allowed(world: &World, came_whole: bool) -> usize {
    match came_whole {
        // The second reply of the script is another tool use then.
        true => world.provider.requests().len() - 1,
        false => 1,
    }
}

/// Returns after how many events a message is complete, whatever follows.
fn n_whole(format: Format, n_frames: usize) -> usize {
    match format {
        Format::Anthropic | Format::Responses | Format::Gemini => n_frames,
        // The usage and the last mark come after the end; without them it still is one.
        Format::Chat => n_frames - 2,
    }
}

#[test]
fn an_answer_that_breaks_off_anywhere_is_no_answer() {
    for format in Format::ALL {
        let said = Said::text("a long answer, which ends");
        let n_frames = frames::of(format, &said, "m").len();
        let is_whole = n_whole(format, n_frames);
        for n in 0..=n_frames {
            let script = [Reply::CutsAfter(n, said.clone()), Reply::Says(said.clone())];
            let world = World::new(format, script);
            let output = world.start("answer");
            let is_answered = output.code == 0;
            if is_whole <= n {
                assert!(is_answered, "{format} {n}: {output:?}");
            }
            if is_answered {
                assert_eq!(output.stdout, "a long answer, which ends\n", "{format} {n}");
            } else {
                // Something of it was told already, so it is not asked for again.
                assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
                assert!(output.stderr.contains("the provider's answer broke off"), "{output:?}");
                assert!(output.stderr.contains("hint: say it again"), "{output:?}");
                assert_eq!(world.provider.requests().len(), 1, "{format} {n}");
            }
            world.desk.check_log();
        }
    }
}
