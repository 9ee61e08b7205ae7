//! The rows of the offline model that reach remotes, through `start`, and the same by a script in `run`.

use super::*;

#[test]
fn the_offline_model_clones_commits_and_pushes() {
    let world = World::new();
    world.with_helper(PASSWORD);
    let workspace = world.place.dir("work");
    let policy = world.place.path("policy");
    let (policy, workspace) = (policy.to_str().unwrap(), workspace.to_str().unwrap());
    let url = world.host.url("auth", "app.git");
    let task = format!(
        "clone {url} then write \"two\" to app/b.txt then commit \"second\" in app then push to \
         origin in app"
    );
    let words = ["start", "--policy", policy, "--workspace", workspace, &task];
    let output = world.place.run(words);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("I cloned"), "{}", output.stdout);
    assert!(!output.stdout.contains("could not"), "{}", output.stdout);
    let bare = world.repositories.join("app.git");
    assert_eq!(git(&bare, &["log", "-1", "--format=%s", "main"]), "second");
    assert_eq!(git(&bare, &["show", "main:b.txt"]), "two");
    assert!(!output.stdout.contains(PASSWORD) && !output.stderr.contains(PASSWORD));
}

#[test]
fn a_script_clones_and_pushes() {
    let world = World::new();
    let policy = world.place.path("policy");
    let url = world.host.url("open", "app.git");
    let script = format!(
        "git.git_clone({{url: {url:?}, localPath: 'app'}});\n\
         git.git_commit({{path: 'app', message: 'by a script', allowEmpty: true}});\n\
         git.git_push({{path: 'app'}})\n"
    );
    let script = world.place.write("script.ts", script);
    let words = ["run", "--policy", policy.to_str().unwrap(), script.to_str().unwrap()];
    let output = world.place.run(words);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    let bare = world.repositories.join("app.git");
    assert_eq!(git(&bare, &["log", "-1", "--format=%s", "main"]), "by a script");
}
