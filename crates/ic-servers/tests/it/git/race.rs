//! A config that is another one whenever somebody looks.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use super::bench::Bench;

/// How often everything is tried.
const ROUNDS: usize = 40;

/// Ends the swaps, also when a check fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_config_that_is_swapped_while_git_runs_is_not_read() {
    let bench = Bench::new();
    let trap = bench.trap("trap");
    let good = bench.ground.read("in/r/.git/config");
    let evil = format!(
        "{good}[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n\thooksPath = {}\n\
         [diff]\n\texternal = {trap}\n[filter \"x\"]\n\tclean = {trap}\n\tsmudge = {trap}\n",
        bench.ground.dir("in/hooks"),
    );
    for hook in ["pre-commit", "post-commit", "post-index-change", "reference-transaction"] {
        fs::copy(&trap, bench.ground.path(format!("in/hooks/{hook}"))).unwrap();
    }
    bench.ground.write("in/r/.gitattributes", "* filter=x\n");
    // Git would complain about this one, in its own words.
    let broken = "[this is no config".to_owned();
    let is_over = AtomicBool::new(false);
    let (mut n_done, mut n_refused) = (0, 0);
    thread::scope(|scope| {
        let (bench, is_over) = (&bench, &is_over);
        let _end = End(is_over);
        scope.spawn(move || {
            let texts = [&evil, &good, &broken, &good];
            for text in texts.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                bench.ground.write("in/next", text);
                let next = bench.ground.path("in/next");
                fs::rename(next, bench.ground.path("in/r/.git/config")).unwrap();
            }
            bench.ground.write("in/r/.git/config", &good);
        });
        for n in 0..ROUNDS {
            bench.ground.write("in/r/a.txt", format!("{n}\n"));
            for (tool, arguments) in [
                ("git_status", json!({})),
                ("git_diff", json!({})),
                ("git_add", json!({"files": ["."]})),
                ("git_commit", json!({"message": "x", "allowEmpty": true})),
                ("git_log", json!({"patch": true, "maxCount": 1})),
                ("git_branch", json!({})),
            ] {
                match bench.call(tool, arguments) {
                    Ok(_) => n_done += 1,
                    Err(text) => {
                        assert!(text.contains("structural-git-config"), "{tool}: {text}");
                        assert!(!text.contains("bad config"), "git read it: {text}");
                        n_refused += 1;
                    }
                }
            }
        }
    });
    // Both happened, so the swaps were neither all too early nor all too late.
    assert!(0 < n_done && 0 < n_refused, "{n_done} done, {n_refused} refused");
    bench.check_untouched("a race");
}
