//! What git carries to another place than where it was judged: held up and gone on with, put together of
//! commits of different parents, followed by its likeness, or read out of a message.
//!
//! Each trick is played twice: where nobody looks it has to bring the text, and through the proxy it must not.

use std::fs;

use ic_testkit::Proxy;
use ic_testkit::attack::calls::Call;
use ic_testkit::attack::world::World;
use ic_testkit::attack::{careless, through_the_proxy};
use serde_json::{Value, json};

use super::{coding, delete, git, make, shift, world, write};

/// What must not arrive.
pub(super) const PLANTED: &str = "silent !planted\n";
pub(super) const ONE: &str = "1\n2\n3\n4\n5\n6\n7\n";
pub(super) const TWO: &str = "a\nb\nc\nd\ne\nf\ng\n";
pub(super) const SAMPLE: &str = "# one\n# two\n# three\n# four\n# five\n";

pub(super) type Words = &'static [&'static str];
/// What makes the user's world.
pub(super) type Prepare<'a> = &'a dyn Fn(&World);

/// A trick: what the user has, what the agent does, what the user does then, and where it arrives.
pub(super) struct Trick<'a> {
    pub(super) prepare: Prepare<'a>,
    pub(super) calls: Vec<Call>,
    pub(super) steps: &'a [Words],
    pub(super) file: &'a str,
}

impl Trick<'_> {
    #[track_caller]
    pub(super) fn check(&self, name: &str) {
        assert!(self.arrives(false).is_ok(), "{name}: it does not even work where nobody looks");
        let arrived = self.arrives(true);
        assert!(arrived.is_err(), "{name}: {arrived:#?}");
    }

    /// Returns the answers if the text arrives.
    fn arrives(&self, is_looked_at: bool) -> Result<Vec<String>, ()> {
        let world = world();
        user(&world, &["init", "-q", "-b", "main"]);
        world.write("README.md", "r\n");
        world.write("k", "k0\n");
        commit_of_user(&world);
        (self.prepare)(&world);
        let mut answers = Vec::new();
        if is_looked_at {
            let flags = coding(&world);
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            answers = through_the_proxy(&world, &flags, &self.calls);
        } else {
            for call in &self.calls {
                careless::obey(&world, call);
            }
        }
        for step in self.steps {
            world.user.git(&world.workspace(), step);
        }
        let text = fs::read_to_string(world.workspace().join(self.file)).unwrap_or_default();
        if text.contains(PLANTED) { Ok(answers) } else { Err(()) }
    }
}

pub(super) fn user(world: &World, words: &[&str]) {
    world.user.git_well(&world.workspace(), words);
}

pub(super) fn commit_of_user(world: &World) {
    user(world, &["add", "--all"]);
    user(world, &["commit", "-q", "-m", "by the user"]);
}

/// Makes a branch of the user's at `from`, with a commit that has these files.
pub(super) fn branch_of_user(world: &World, (branch, from): (&str, &str), files: &[(&str, &str)]) {
    user(world, &["checkout", "-q", "-B", branch, from]);
    for (name, text) in files {
        world.write(name, text);
    }
    commit_of_user(world);
}

pub(super) fn add(files: &[&str]) -> Call {
    git("git__git_add", json!({"files": files}))
}

pub(super) fn commit() -> Call {
    git("git__git_commit", json!({"message": "m"}))
}

pub(super) fn switch(target: &str) -> Call {
    git("git__git_checkout", json!({"target": target}))
}

/// Makes a branch at `from`, and commits these files in `directory`.
fn branch(name: &str, from: &str, directory: &str, files: &[(&str, &str)]) -> Vec<Call> {
    let new = git("git__git_checkout", json!({"target": name, "createBranch": true}));
    let mut calls = vec![switch(from), new];
    calls.extend((directory != ".").then(|| make(directory)));
    calls.extend(files.iter().map(|(name, text)| write(&format!("{directory}/{name}"), text)));
    calls.extend([add(&["."]), commit()]);
    calls
}

fn soft(target: &str) -> Call {
    git("git__git_reset", json!({"mode": "soft", "target": target}))
}

fn pick(commits: &[&str], detail: &Value) -> Call {
    let mut arguments = json!({"commits": commits});
    arguments.as_object_mut().unwrap().extend(detail.as_object().unwrap().clone());
    git("git__git_cherry_pick", arguments)
}

/// What solves the conflict.
fn solved() -> [Call; 2] {
    [write("k", "both\n"), add(&["k"])]
}

fn go_on() -> Call {
    pick(&["HEAD"], &json!({"continueOperation": true}))
}

#[test]
fn by_a_pick_that_shifts_and_is_held_up() {
    for (directory, name) in [("vendor/q", ".exrc"), ("q", ".gitlab-ci.yml")] {
        let here = format!("{directory}/{name}");
        let mut calls = branch("g", "main", ".", &[("a", ONE), ("b", TWO), ("k", "g\n")]);
        calls.extend(branch("f", "main", ".", &[("k", "f\n")]));
        let files = [("a", ONE), ("b", TWO), ("k", "both\n"), ("README.md", "r\n")];
        calls.push(make(directory));
        calls.extend(files.map(|(name, text)| write(&format!("{directory}/{name}"), text)));
        calls.extend([write(&here, PLANTED), add(&["."]), commit(), switch("g")]);
        calls.push(pick(&["f~1", "f"], &json!({"strategy": "subtree"})));
        let by_user: &[Words] =
            &[&["checkout", "f", "--", "k"], &["add", "k"], &["cherry-pick", "--continue"]];
        let trick = Trick { prepare: &|_| {}, calls: calls.clone(), steps: by_user, file: name };
        trick.check("the user goes on");
        calls.extend(solved());
        calls.push(go_on());
        Trick { prepare: &|_| {}, calls, steps: &[], file: name }.check(name);
    }
}

/// The user's branches: `z` has renamed the directory to which the second commit of `y` adds a name, and the
/// first commit of `y` is in conflict with `z`.
fn renamed_by_user(world: &World) {
    branch_of_user(world, ("x", "main"), &[("vendor/q/a", ONE), ("vendor/q/b", TWO)]);
    branch_of_user(world, ("y", "x"), &[("k", "y\n")]);
    branch_of_user(world, ("y", "y"), &[("vendor/q/.exrc", PLANTED)]);
    user(world, &["checkout", "-q", "-b", "z", "x"]);
    user(world, &["mv", "vendor/q", "pp"]);
    branch_of_user(world, ("z", "z"), &[("k", "z\n")]);
}

/// Begins something that stops at a conflict.
fn stop(world: &World, words: &[&str]) {
    assert!(!world.user.git(&world.workspace(), words).is_good, "{words:?} is not held up");
}

fn rebase(mode: &str) -> Call {
    git("git__git_rebase", json!({"mode": mode}))
}

#[test]
fn by_going_on_with_what_is_held_up() {
    let picked = |world: &World| {
        renamed_by_user(world);
        stop(world, &["cherry-pick", "y~1", "y"]);
    };
    let rebased = |world: &World| {
        renamed_by_user(world);
        user(world, &["checkout", "-q", "y"]);
        stop(world, &["rebase", "z"]);
    };
    let after = |last: Call| solved().into_iter().chain([last]).collect::<Vec<_>>();
    let tricks: [(&str, Prepare<'_>, Vec<Call>); 4] = [
        ("begun by the agent", &renamed_by_user, {
            let begun = [pick(&["y~1", "y"], &json!({}))];
            begun.into_iter().chain(after(go_on())).collect()
        }),
        ("picked", &picked, after(go_on())),
        ("rebased", &rebased, after(rebase("continue"))),
        ("skipped", &rebased, vec![rebase("skip")]),
    ];
    for (name, prepare, calls) in tricks {
        Trick { prepare, calls, steps: &[], file: "pp/.exrc" }.check(name);
    }
}

/// An ordinary conflict is solved, and what was held up goes on without a question.
#[test]
fn an_ordinary_conflict_is_gone_on_with() {
    let conflict = |world: &World| {
        branch_of_user(world, ("y", "main"), &[("k", "y\n")]);
        branch_of_user(world, ("y", "y"), &[("vendor/q/a", ONE), ("more", "more\n")]);
        branch_of_user(world, ("z", "main"), &[("k", "z\n")]);
    };
    let begun = |detail: Value| git("git__git_rebase", detail);
    let [write_k, add_k] = solved();
    let ways: [(&str, Vec<Call>); 3] = [
        ("picked", vec![pick(&["y~1", "y"], &json!({})), write_k.clone(), add_k.clone(), go_on()]),
        (
            "rebased",
            vec![switch("y"), begun(json!({"upstream": "z"})), write_k, add_k, rebase("continue")],
        ),
        ("skipped", vec![switch("y"), begun(json!({"upstream": "z"})), rebase("skip")]),
    ];
    for (name, calls) in ways {
        let world = world();
        user(&world, &["init", "-q", "-b", "main"]);
        world.write("k", "k0\n");
        commit_of_user(&world);
        conflict(&world);
        let flags = coding(&world);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut proxy = Proxy::start(&world.place, &flags);
        proxy.initialize();
        for call in &calls {
            let answer = proxy.call(call.tool, &call.arguments);
            let text = answer.text();
            let is_bad = answer.json().pointer("/result/isError") == Some(&json!(true));
            assert!(!is_bad || text.contains("CONFLICT"), "{name}, {call}: {text}");
        }
        proxy.finish();
        let more = world.workspace().join("more");
        assert_eq!(fs::read_to_string(more).unwrap_or_default(), "more\n", "{name}");
        let status = world.user.git_well(&world.workspace(), &["status"]);
        assert!(!status.contains("in progress") && !status.contains("currently"), "{status}");
    }
}

/// Commits that were made apart are put together by parents that are changed under them.
#[test]
fn by_commits_whose_parents_are_changed() {
    let own = [("a", ONE), ("b", TWO)];
    let with_name = [("a", ONE), ("b", TWO), (".exrc", PLANTED)];
    let branches = || {
        let mut calls = branch("x", "main", "vendor/q", &own);
        calls.extend(branch("y", "main", "vendor/q", &with_name));
        calls.extend(branch("z", "main", "pp", &own));
        calls
    };
    let merges = |branch| git("git__git_merge", json!({"branch": branch, "strategy": "ours"}));
    let mut by_reset = branches();
    by_reset.extend([soft("x"), commit(), switch("y"), soft("x"), commit(), switch("z")]);
    let mut by_merge = branches();
    by_merge.extend([merges("x"), switch("y"), merges("x"), switch("z")]);
    let mut aside = branches();
    aside.extend([soft("x"), commit(), switch("y"), soft("x")]);
    aside.extend([git("git__git_stash", json!({"mode": "push"})), switch("z")]);
    let merge: &[Words] = &[&["merge", "--no-edit", "y"]];
    let tricks: [(&str, Vec<Call>, &[Words]); 5] = [
        ("merged", by_reset.clone(), merge),
        ("picked", by_reset.clone(), &[&["cherry-pick", "y"]]),
        ("rebased", by_reset, &[&["checkout", "-q", "y"], &["rebase", "z"]]),
        ("strategy", by_merge, merge),
        ("aside", aside, &[&["stash", "pop"]]),
    ];
    for (name, calls, steps) in tricks {
        Trick { prepare: &|_| {}, calls, steps, file: "pp/.exrc" }.check(name);
    }
}

/// The name is on a branch that the user has from elsewhere, and the agent renames the directory.
#[test]
fn by_a_directory_that_goes_in_a_commit() {
    let prepare = |world: &World| {
        branch_of_user(world, ("x", "main"), &[("vendor/q/a", ONE), ("vendor/q/b", TWO)]);
        branch_of_user(world, ("y", "x"), &[("vendor/q/.exrc", PLANTED)]);
        user(world, &["checkout", "-q", "x"]);
    };
    let mut by_reset = branch("z", "main", "pp", &[("a", ONE), ("b", TWO)]);
    by_reset.extend([soft("x"), commit()]);
    let moved = vec![shift("vendor/q", "pp"), add(&["."]), commit()];
    let files = ["a", "b"].map(|name| delete(&format!("vendor/q/{name}")));
    let mut in_steps = files.to_vec();
    in_steps.extend([add(&["."]), commit(), make("pp"), write("pp/a", ONE), write("pp/b", TWO)]);
    in_steps.extend([add(&["."]), commit()]);
    for (name, calls) in [("reset", by_reset), ("moved", moved), ("in steps", in_steps)] {
        let steps: &[Words] = &[&["merge", "--no-edit", "y"]];
        Trick { prepare: &prepare, calls, steps, file: "pp/.exrc" }.check(name);
    }
}

/// A branch of the user's has a file under a name that counts, and the agent changes its likeness.
#[test]
fn by_the_likeness_of_a_file() {
    let evil = format!("{SAMPLE}{PLANTED}");
    let renamed = |world: &World| {
        world.write("sample.envrc", SAMPLE);
        commit_of_user(world);
        user(world, &["checkout", "-q", "-b", "dev"]);
        user(world, &["mv", "sample.envrc", ".envrc"]);
        user(world, &["commit", "-q", "-m", "renamed"]);
        user(world, &["checkout", "-q", "main"]);
    };
    let added = |world: &World| {
        branch_of_user(world, ("dev", "main"), &[(".envrc", SAMPLE)]);
        user(world, &["checkout", "-q", "main"]);
    };
    let edited = || vec![write("sample.envrc", &evil), add(&["."]), commit()];
    let mut again = vec![delete("sample.envrc"), add(&["."]), commit()];
    again.extend(edited());
    let aside = vec![write("sample.envrc", &evil), git("git__git_stash", json!({"mode": "push"}))];
    let made =
        vec![write("x", SAMPLE), add(&["."]), commit(), write("x", &evil), add(&["."]), commit()];
    // The change is made where the file is unlike, and picked to where it is alike.
    let filler = "0\n".repeat(40);
    let mut picked = branch("p", "main", ".", &[("x", &format!("{filler}# five\n"))]);
    picked.extend([write("x", &format!("{filler}# five\n{PLANTED}")), add(&["."]), commit()]);
    picked.extend(branch("q", "main", ".", &[("x", SAMPLE)]));
    picked.push(git("git__git_merge", json!({"branch": "p", "strategy": "ours"})));
    picked.extend([write("x", &evil), add(&["."]), commit()]);
    let to_dev: &[Words] = &[&["checkout", "-q", "dev"], &["merge", "--no-edit", "main"]];
    let pick: &[Words] = &[&["checkout", "-q", "dev"], &["cherry-pick", "main"]];
    let tricks: [(&str, Prepare<'_>, Vec<Call>, &[Words]); 7] = [
        ("merged here", &renamed, edited(), &[&["merge", "--no-edit", "dev"]]),
        ("merged there", &renamed, edited(), to_dev),
        ("rebased", &renamed, edited(), &[&["rebase", "dev"]]),
        ("away and back", &renamed, again, to_dev),
        ("aside", &renamed, aside, &[&["checkout", "-q", "dev"], &["stash", "pop"]]),
        ("made alike", &added, made, pick),
        ("after a merge", &added, picked, &[&["checkout", "-q", "dev"], &["cherry-pick", "q"]]),
    ];
    for (name, prepare, calls, steps) in tricks {
        Trick { prepare, calls, steps, file: ".envrc" }.check(name);
    }
}

/// The user renamed the file and changed a line of it; another file here.
fn renamed_and_changed(world: &World) {
    world.write("sample.envrc", SAMPLE);
    world.write("docs.txt", TWO);
    commit_of_user(world);
    user(world, &["checkout", "-q", "-b", "dev"]);
    user(world, &["mv", "sample.envrc", ".envrc"]);
    world.write(".envrc", &SAMPLE.replace("# two", "# TWO"));
    commit_of_user(world);
    user(world, &["checkout", "-q", "main"]);
}

/// A file that is more alike does not hide the one that git follows.
#[test]
fn by_a_likeness_that_another_file_hides() {
    let evil = format!("{SAMPLE}{PLANTED}");
    let mut calls = vec![write("docs.txt", &SAMPLE.replace("# two", "# TWO")), add(&["."])];
    calls.extend([commit(), write("docs.txt", TWO), write("sample.envrc", &evil)]);
    calls.extend([add(&["."]), commit()]);
    let to_dev: &[Words] = &[&["checkout", "-q", "dev"], &["merge", "--no-edit", "main"]];
    for (name, steps) in [("there", to_dev), ("here", &[&["merge", "--no-edit", "dev"]])] {
        let calls = calls.clone();
        Trick { prepare: &renamed_and_changed, calls, steps, file: ".envrc" }.check(name);
    }
}

/// Git takes both for renamed, and writes what it puts together under both names.
#[test]
fn by_a_file_that_is_renamed_and_changed_at_once() {
    let evil = format!("{SAMPLE}{PLANTED}");
    let calls = vec![shift("sample.envrc", "s2"), write("s2", &evil), add(&["."]), commit()];
    let to_dev: &[Words] = &[&["checkout", "-q", "dev"], &["merge", "--no-edit", "main"]];
    for (name, steps) in [("there", to_dev), ("here", &[&["merge", "--no-edit", "dev"]])] {
        let calls = calls.clone();
        Trick { prepare: &renamed_and_changed, calls, steps, file: ".envrc" }.check(name);
    }
}

/// The same with a whole directory, which git takes for renamed by what is in it: a new file follows.
#[test]
fn by_the_likeness_of_a_directory() {
    let renamed = |world: &World| {
        for (name, text) in [("ci/one.yml", SAMPLE), ("ci/two.yml", ONE)] {
            world.write(name, text);
        }
        commit_of_user(world);
        user(world, &["checkout", "-q", "-b", "dev"]);
        world.write(".github/CODEOWNERS", "a\n");
        user(world, &["mv", "ci", ".github/workflows"]);
        commit_of_user(world);
        user(world, &["checkout", "-q", "main"]);
    };
    let own = [(".github/workflows/one.yml", SAMPLE), (".github/workflows/two.yml", ONE)];
    let added = |world: &World| {
        branch_of_user(world, ("dev", "main"), &own);
        user(world, &["checkout", "-q", "main"]);
    };
    let new = || vec![write("ci/new.yml", PLANTED), add(&["."]), commit()];
    let alike = [write("ci/one.yml", SAMPLE), write("ci/two.yml", ONE), add(&["."]), commit()];
    let mut made = vec![make("ci")];
    made.extend(alike.clone());
    made.extend(new());
    // Two commits that were made apart are picked at once.
    let mut apart = branch("p", "main", "ci", &[("one.yml", SAMPLE), ("two.yml", ONE)]);
    apart.extend(branch("q", "main", "ci", &[("new.yml", PLANTED)]));
    apart.extend([switch("main"), pick(&["p", "q"], &json!({}))]);
    let merge: &[Words] = &[&["merge", "--no-edit", "dev"]];
    let to_dev: &[Words] = &[&["checkout", "-q", "dev"], &["cherry-pick", "main"]];
    let tricks: [(&str, Prepare<'_>, Vec<Call>, &[Words]); 4] = [
        ("merged", &renamed, new(), merge),
        ("picked", &renamed, new(), to_dev),
        ("made alike", &added, made, to_dev),
        ("apart", &added, apart, to_dev),
    ];
    for (name, prepare, calls, steps) in tricks {
        Trick { prepare, calls, steps, file: ".github/workflows/new.yml" }.check(name);
    }
}

/// A commit is sent as a mail, and whoever applies it takes its message for a difference.
#[test]
fn by_a_message_that_is_a_difference() {
    let text = format!(
        "m\n\ndiff --git a/.exrc b/.exrc\nnew file mode 100644\n--- /dev/null\n+++ b/.exrc\n\
         @@ -0,0 +1 @@\n+{PLANTED}"
    );
    let message = git("git__git_commit", json!({"message": text}));
    let calls = vec![write("k", "k1\n"), add(&["."]), message];
    let steps: &[Words] = &[
        &["format-patch", "-1", "-o", "out"],
        &["reset", "-q", "--hard", "HEAD~1"],
        &["am", "out/0001-m.patch"],
    ];
    Trick { prepare: &|_| {}, calls, steps, file: ".exrc" }.check("mail");
}
