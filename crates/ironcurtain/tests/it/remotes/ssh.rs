//! Remotes over ssh: the user's agent signs in, as the judged user and to a host that is known.

use super::*;
use ic_testkit::git_host::{SshAgent, SshHost};

/// A world with an ssh host and an agent; `None` where there is no sshd.
pub(super) fn world() -> Option<(World, SshHost, SshAgent)> {
    SshHost::program()?;
    let place = place();
    let agent = SshAgent::start(&place);
    let host = SshHost::start(&place, &agent.public_key)?;
    let place = place.with_variable("SSH_AUTH_SOCK", agent.socket.to_str().unwrap());
    let world = World::at(place);
    world.write_policy(&[&format!("127.0.0.1:{}", host.port)]);
    world.place.write("home/.ssh/known_hosts", &host.known_hosts);
    Some((world, host, agent))
}

#[test]
fn a_repository_is_cloned_changed_and_pushed_with_the_users_agent() {
    let Some((world, host, _agent)) = world() else { return };
    let url = host.url(&world.repositories.join("app.git"));
    let workspace = world.place.dir("work");
    for more in [&[][..], &["--workspace", workspace.to_str().unwrap()]] {
        let mut proxy = world.proxy(more);
        let name = if more.is_empty() { "one" } else { "two" };
        let cloned = call(&mut proxy, "git_clone", json!({"url": url, "localPath": name})).good();
        assert!(cloned.contains("`main` is checked out"), "{cloned}");
        let commit = json!({"path": name, "message": name, "allowEmpty": true});
        call(&mut proxy, "git_commit", commit).good();
        call(&mut proxy, "git_push", json!({"path": name})).good();
        let message = git(&world.repositories.join("app.git"), &["log", "-1", "--format=%s"]);
        assert_eq!(message, name);
        let theirs = format!("{name}-theirs.txt");
        world.commit_elsewhere("app.git", &theirs);
        let fetched = call(&mut proxy, "git_fetch", json!({"path": name})).good();
        assert!(fetched.contains("main -> origin/main"), "{fetched}");
        call(&mut proxy, "git_pull", json!({"path": name, "fastForwardOnly": true})).good();
        let read = json!({"path": format!("{name}/{theirs}")});
        assert!(proxy.call("filesystem__read_text_file", &read).good().contains("theirs"));
        proxy.finish();
        let signed = lendings(&world, "lent");
        assert!(signed.iter().any(|it| it["arguments"]["aid"] == "signature"), "{signed:#?}");
        assert_eq!(lendings(&world, "not-lent").len(), 0);
        // Each world has the records of one session.
        std::fs::remove_dir_all(world.place.path("home/.ironcurtain")).unwrap();
    }
}

#[test]
fn without_an_agent_or_a_known_host_nobody_signs_in() {
    let Some((world, host, agent)) = world() else { return };
    let url = host.url(&world.repositories.join("app.git"));
    let clone = json!({"url": url, "localPath": "repo"});
    world.place.write("home/.ssh/known_hosts", "");
    let mut proxy = world.proxy(&[]);
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("known_hosts"), "{refused}");
    // The key of somebody else, under the host's name.
    let other = host.known_hosts.replace("AAAAC3NzaC1lZDI1NTE5AAAAI", "AAAAC3NzaC1lZDI1NTE5AAAAJ");
    world.place.write("home/.ssh/known_hosts", other);
    let refused = call(&mut proxy, "git_clone", clone.clone()).bad();
    assert!(refused.contains("not this host") || refused.contains("known_hosts"), "{refused}");
    world.place.write("home/.ssh/known_hosts", &host.known_hosts);
    drop(agent);
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("none of the keys"), "{refused}");
    let nobody = url.replace(&format!("{}@", host.user), "");
    let clone = json!({"url": nobody, "localPath": "repo"});
    let refused = call(&mut proxy, "git_clone", clone).bad();
    assert!(refused.contains("names no user"), "{refused}");
    proxy.finish();
}
