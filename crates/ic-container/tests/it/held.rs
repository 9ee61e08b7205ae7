//! Every restriction: what the engine reports back, and what a program in it can do.

use ic_container::{Container, Mount};
use ic_types::{Json, JsonLimits, Object};

use crate::engine::{self, USER, container, engine, place, run};

/// Returns what the engine reports of a container that is made and not started.
async fn reported(engine: &dyn ic_container::Engine, container: &Container, of: &str) -> Object {
    let request = container.request(engine.socket()).unwrap();
    let id = engine.create(&engine::name(of), &request).await.unwrap();
    let reported = engine.inspect(&id).await.unwrap().unwrap();
    engine.remove(&id).await.unwrap();
    reported
}

/// Returns the same with something in `HostConfig` or `Config` replaced.
fn with(reported: &Object, place: &str, key: &str, value: &str) -> Object {
    let mut reported = reported.clone();
    let value = Json::parse(value.as_bytes(), JsonLimits::CALL).unwrap();
    match reported.get_mut(place) {
        Some(Json::Object(part)) => part.insert(key, value),
        _ => reported.insert(place, value),
    }
    reported
}

#[tokio::test]
async fn the_engine_reports_back_every_restriction_and_each_is_looked_for() {
    let Some(engine) = engine() else { return };
    let (work, sockets) = (place(), place());
    let mounts = vec![
        Mount::writable(work.path(), "/workspace"),
        Mount::read_only(sockets.path(), "/run/ironcurtain"),
    ];
    let container = container("true", mounts);
    let reported = reported(&*engine, &container, "reported").await;
    assert_eq!(container.deviations(&reported), [""; 0]);
    let cases = [
        ("NetworkMode", r#""bridge""#, "network"),
        ("CapDrop", "null", "keeps capabilities"),
        ("CapDrop", r#"["CHOWN"]"#, "keeps capabilities"),
        ("CapAdd", r#"["SYS_ADMIN"]"#, "gains capabilities"),
        ("SecurityOpt", "null", "gain privileges"),
        ("SecurityOpt", r#"["no-new-privileges","seccomp=unconfined"]"#, "gain privileges"),
        ("Privileged", "true", "privileged"),
        ("ReadonlyRootfs", "false", "root can be written"),
        ("PidsLimit", "null", "processes are not limited"),
        ("Memory", "0", "memory is not limited"),
        ("MemorySwap", "-1", "swap is not limited"),
        ("NanoCpus", "0", "processors are not limited"),
        ("Init", "false", "no init"),
        ("PidMode", r#""host""#, "processes of others"),
        ("IpcMode", r#""host""#, "shares memory"),
        ("UTSMode", r#""host""#, "machine's name"),
        ("UsernsMode", r#""host""#, "users are others"),
        ("Devices", r#"[{"PathOnHost":"/dev/kvm"}]"#, "`Devices`"),
        ("DeviceCgroupRules", r#"["c *:* rwm"]"#, "`DeviceCgroupRules`"),
        ("Binds", r#"["/:/host"]"#, "`Binds`"),
        ("GroupAdd", r#"["0"]"#, "`GroupAdd`"),
        ("RestartPolicy", r#"{"Name":"always"}"#, "started again"),
        ("Tmpfs", r#"{"/tmp":"rw"}"#, "temporary files"),
        ("Tmpfs", r#"{"/tmp":"rw","/etc":"rw"}"#, "temporary files"),
    ];
    for (key, value, expected) in cases {
        let deviations = container.deviations(&with(&reported, "HostConfig", key, value));
        assert!(deviations.iter().any(|it| it.contains(expected)), "{key}: {deviations:?}");
    }
    let cases = [
        ("Config", "User", r#""0:0""#, "somebody else"),
        ("Config", "Labels", "{}", "labels"),
        ("Config", "Healthcheck", r#"{"Test":["CMD","x"]}"#, "health check"),
        ("Path", "", r#""/bin/other""#, "something else"),
        ("Args", "", "[]", "something else"),
    ];
    for (place, key, value, expected) in cases {
        let deviations = container.deviations(&with(&reported, place, key, value));
        assert!(deviations.iter().any(|it| it.contains(expected)), "{place} {key}: {deviations:?}");
    }
    let mounts = |value: &str| container.deviations(&with(&reported, "Mounts", "", value));
    assert!(mounts("[]").iter().any(|it| it.contains("does not see `/workspace`")));
    let more = r#"[{"Type":"volume","Destination":"/x","Source":"/y","RW":true}]"#;
    assert!(mounts(more).iter().any(|it| it.contains("volume of its own at `/x`")));
    let other = r#"[{"Type":"bind","Destination":"/run/ironcurtain","Source":"/y","RW":true}]"#;
    assert!(mounts(other).iter().any(|it| it.contains("something else at `/run/ironcurtain`")));
}

/// What a program says of where it is.
const LOOK: &str = r"
id -u; id -g; id -G
grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\t ' ' '
ls /sys/class/net 2>/dev/null | tr '\n' ' '; echo
touch /etc/x 2>/dev/null && echo 'wrote /etc'
touch /run/ironcurtain/x 2>/dev/null && echo 'wrote sockets'
touch /workspace/made && echo 'wrote workspace'
touch /tmp/x && echo 'wrote tmp'
mount -t tmpfs none /workspace 2>/dev/null && echo 'mounted'
mknod /tmp/d b 8 0 2>/dev/null && echo 'made a device'
unshare -U true 2>/dev/null && echo 'made a namespace'
ls /var/run/docker.sock /run/docker.sock 2>/dev/null
ls -A /run
";

#[tokio::test]
async fn a_program_has_what_it_was_given_and_nothing_else() {
    let Some(engine) = engine() else { return };
    let (work, sockets) = (place(), place());
    let mounts = vec![
        Mount::writable(work.path(), "/workspace"),
        Mount::read_only(sockets.path(), "/run/ironcurtain"),
    ];
    let (code, out, complaint) = run(&engine, &container(LOOK, mounts), "given").await;
    assert_eq!(code, 0, "{complaint}");
    let none = "0000000000000000";
    let (uid, gid) = USER;
    let expected = format!(
        "{uid}\n{gid}\n{gid}\nCapInh: {none}\nCapPrm: {none}\nCapEff: {none}\nCapBnd: {none}\nCapAmb: {none}\n\
         NoNewPrivs: 1\nSeccomp: 2\nlo \nwrote workspace\nwrote tmp\nironcurtain\n"
    );
    assert_eq!(out, expected);
    // The file is the user's, and nothing else changed hands.
    let owner = |path: &std::path::Path| {
        std::os::unix::fs::MetadataExt::uid(&std::fs::symlink_metadata(path).unwrap())
    };
    assert_eq!(owner(&work.path().join("made")), uid);
    assert_ne!(owner(work.path()), uid);
}
