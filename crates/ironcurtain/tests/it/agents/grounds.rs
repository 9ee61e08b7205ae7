//! Workspaces of every kind: an agent works there, or the person is told why not.

use std::path::{Path, PathBuf};

use ic_testkit::git_host::git;
use ic_testkit::place::Output;
use serde_json::json;

use super::{Stage, says, uses};

/// What the agent's shell does, wherever it is.
const WORKS: &str = "echo made > made.txt; echo evil > .envrc; git add made.txt; git commit -qm mine; echo ALL-$((40 + 2))";

fn repository(top: &Path) {
    std::fs::create_dir_all(top.join("sub")).unwrap();
    git(top, &["init", "--quiet", "--initial-branch=main"]);
    git(top, &["config", "user.name", "Ada"]);
    git(top, &["config", "user.email", "ada@example.com"]);
    std::fs::write(top.join("sub/a.txt"), "one\n").unwrap();
    git(top, &["add", "-A"]);
    git(top, &["commit", "--quiet", "-m", "first"]);
}

/// Lets an agent work in a directory.
fn work_in(stage: &Stage, workspace: &Path) -> Output {
    let bash = uses("toolu_1", "Bash", json!({"command": WORKS}));
    stage.provider.push([bash, says("Done.")]);
    let workspace = workspace.display().to_string();
    let start = ["start", "--agent", "claude-code", "--workspace", &workspace, "Work."];
    stage.place.run(start)
}

/// Looks that the agent worked, and that nothing stayed that it may not make.
#[track_caller]
fn check_worked(stage: &Stage, output: &Output, workspace: &Path) {
    // There is a question that nobody answered.
    assert_eq!((output.code, output.stdout.trim()), (3, "Done."), "{output:?}");
    assert!(stage.last_request().contains("ALL-42"), "{}", stage.last_request());
    let made = std::fs::read_to_string(workspace.join("made.txt")).unwrap();
    assert_eq!(made, "made\n");
    assert!(!workspace.join(".envrc").exists(), "{output:?}");
    assert!(output.stderr.contains("moved to the quarantine"), "{output:?}");
}

fn log(top: &Path) -> String {
    git(top, &["log", "--format=%s"]).replace('\n', " | ")
}

#[test]
fn names_with_spaces_and_letters_of_all_scripts_are_no_obstacle() {
    let Some(stage) = Stage::claude([]) else { return };
    let top = stage.place.dir("my wörk 仕事 'a' $b \"c\"");
    repository(&top);
    let output = work_in(&stage, &top);
    check_worked(&stage, &output, &top);
    assert_eq!(log(&top), "mine | first");
}

#[test]
fn a_directory_in_tmp_is_shown_beside_the_cages_own_tmp() {
    let Some(stage) = Stage::claude([]) else { return };
    let holder = tempfile::tempdir_in("/tmp").unwrap();
    let beside = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let top = holder.path().join("work");
    repository(&top);
    let output = work_in(&stage, &top);
    check_worked(&stage, &output, &top);
    assert_eq!(log(&top), "mine | first");
    assert!(beside.path().exists());
}

#[test]
fn a_link_leads_to_the_directory_that_is_worked_in() {
    let Some(stage) = Stage::claude([]) else { return };
    let top = stage.place.dir("real");
    repository(&top);
    stage.place.link("link", &top);
    let output = work_in(&stage, &stage.place.path("").join("link"));
    check_worked(&stage, &output, &top);
    assert_eq!(log(&top), "mine | first");
    let workspace = format!("workspace {}", top.display());
    assert!(output.stderr.contains(&workspace), "{output:?}");
}

/// Where there is no git directory of the session's own, the person is told.
#[test]
fn where_the_agents_git_cannot_work_the_person_is_told_why() {
    let Some(stage) = Stage::claude([]) else { return };
    let top = stage.place.dir("repository");
    repository(&top);
    git(&top, &["worktree", "add", "--quiet", "../tree", "-b", "other"]);
    let holder = stage.place.dir("holder");
    git(&holder, &["clone", "--quiet", "--bare", "../repository", ".bare"]);
    stage.place.write("holder/.git", "gitdir: ./.bare\n");
    let before = git(&top, &["for-each-ref"]);
    let cases: [(PathBuf, &str); 3] = [
        (stage.place.path("tree"), "its repository is elsewhere"),
        (holder, "its repository is elsewhere"),
        (top.join("sub"), "lies above the workspace"),
    ];
    for (workspace, why) in cases {
        let output = work_in(&stage, &workspace);
        check_worked(&stage, &output, &workspace);
        assert!(output.stderr.contains(why), "{why}: {output:?}");
    }
    assert_eq!(git(&top, &["for-each-ref"]), before);
}

#[test]
fn what_cannot_be_worked_in_is_refused_with_the_reason() {
    let Some(stage) = Stage::claude([]) else { return };
    let top = stage.place.dir("repository");
    repository(&top);
    git(&stage.place.path(""), &["clone", "--quiet", "--bare", "repository", "bare.git"]);
    let bare = stage.place.path("bare.git");
    let file = stage.place.write("a file", "");
    let cases: [(PathBuf, &str); 4] = [
        (bare, "programs on this machine run or take orders from everything in"),
        (file, "a file"),
        (stage.place.path("absent"), "absent"),
        (PathBuf::from("/dev/shm"), "the system's own"),
    ];
    for (workspace, why) in cases {
        let output = work_in(&stage, &workspace);
        assert!([1, 2].contains(&output.code), "{output:?}");
        let error = output.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(error.contains(why), "{why}: {output:?}");
        assert_eq!(output.stdout, "", "{output:?}");
    }
}
