//! What is in a cage can be used, with the rights that were written out, and through no link.

use ic_confine::{Access, EXIT_SHIFTED, Link, StartError};
use tokio::io::AsyncReadExt as _;

use super::{on_every_ground, on_rungs, soon};

#[test]
fn what_is_seen_is_read_run_and_written_as_it_was_written_out() {
    on_every_ground(|ground| async move {
        std::fs::write(ground.path("seen/read/text"), "hello").unwrap();
        std::fs::copy("/usr/bin/env", ground.path("seen/read/program")).unwrap();
        let mut cage = ground.cage();
        cage.seen =
            vec![ground.seen("seen/read", Access::Read), ground.seen("seen/write", Access::Write)];
        let script = "cat PLACE/seen/read/text && PLACE/seen/read/program true && echo ran; \
             echo x > PLACE/seen/read/new || echo not written; \
             mkdir PLACE/seen/write/d && echo y > PLACE/seen/write/d/f && \
             mv PLACE/seen/write/d/f PLACE/seen/write/g && cat PLACE/seen/write/g && \
             rm -r PLACE/seen/write/g PLACE/seen/write/d && echo z > PLACE/seen/write/kept; \
             cp /usr/bin/env PLACE/seen/write/env && PLACE/seen/write/env true || echo not run; \
             echo t > $TMPDIR/t && cat $TMPDIR/t; echo h > $HOME/h && cat $HOME/h; pwd";
        let (said, _, code) = ground.sh(cage, script).await;
        let home = match ground.rung.can_hide() {
            true => ground.path("home"),
            false => ground.path("scratch"),
        };
        let expected = format!("helloran\nnot written\ny\nnot run\nt\nh\n{}\n", home.display());
        assert_eq!((said, code), (expected, Some(0)), "{} as {:?}", ground.rung, ground.who);
        assert_eq!(std::fs::read_to_string(ground.path("seen/write/kept")).unwrap(), "z\n");
        assert!(!ground.path("home/h").exists(), "the home of the host was written");
    });
}

#[test]
fn what_is_hidden_or_kept_within_what_is_seen_is_so() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        for name in ["seen/write/secrets", "seen/write/kept"] {
            std::fs::create_dir(ground.path(name)).unwrap();
            std::fs::write(ground.path(name).join("x"), "there").unwrap();
        }
        std::fs::write(ground.path("seen/write/.env"), "there").unwrap();
        let mut cage = ground.cage();
        cage.seen = vec![
            ground.seen("seen/write/kept", Access::Read),
            ground.seen("seen/write", Access::Write),
        ];
        let hidden = ["seen/write/secrets", "seen/write/.env", "other"];
        cage.hidden = hidden.map(|name| ground.path(name)).to_vec();
        let script = "cd PLACE/seen/write; cat secrets/x || echo 1; ls secrets && echo 2; cat .env || \
             echo 3; echo > .env || echo 4; rm -f .env || echo 5; mv secrets s2 || echo 6; \
             echo > secrets/y || echo 7; cat kept/x; echo > kept/x || echo 8; chmod 700 secrets || \
             echo 9; mv kept k2 || echo 10; ls -d ../../other || echo 11";
        let (said, _, code) = ground.sh(cage, script).await;
        assert_eq!(said, "1\n2\n3\n4\n5\n6\n7\nthere8\n9\n10\n11\n", "{}", ground.rung);
        assert_eq!(code, Some(0));
        for name in ["seen/write/.env", "seen/write/secrets/x", "seen/write/kept/x"] {
            assert_eq!(std::fs::read_to_string(ground.path(name)).unwrap(), "there", "{name}");
        }
    });
}

#[test]
fn what_is_hidden_cannot_be_moved_aside_with_what_is_around_it() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        for name in ["seen/write/.git/hooks", "seen/write/a/b/secrets"] {
            std::fs::create_dir_all(ground.path(name)).unwrap();
        }
        let mut cage = ground.cage();
        cage.seen = vec![
            ground.seen("seen/write", Access::Write),
            ground.seen("seen/write/.git/hooks", Access::Read),
        ];
        cage.hidden = vec![ground.path("seen/write/a/b/secrets")];
        let script = "cd PLACE/seen/write; mv .git .g2 || echo 1; mv a a2 || echo 2; mv a/b a/b2 || \
             echo 3; echo x > .git/config && echo y > a/b/file && mv a/b/file a/b/other && echo 4; \
             echo evil > .git/hooks/pre-commit || echo 5";
        let (said, complained, _) = ground.sh(cage, script).await;
        assert_eq!(said, "1\n2\n3\n4\n5\n", "{}: {complained}", ground.rung);
        assert!(ground.path("seen/write/.git/config").exists());
        assert!(!ground.path("seen/write/.git/hooks/pre-commit").exists());
    });
}

#[test]
fn what_is_not_there_cannot_be_hidden_and_so_nothing_starts() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        let mut cage = ground.cage();
        cage.seen = vec![ground.seen("seen/write", Access::Write)];
        cage.hidden = vec![ground.path("seen/write/.ssh")];
        let (said, complained, code) =
            ground.sh(cage, "mkdir PLACE/seen/write/.ssh; echo made").await;
        assert_eq!((said.as_str(), code), ("", Some(125)), "{}", ground.rung);
        assert!(complained.contains(".ssh"), "{complained}");
        assert!(!ground.path("seen/write/.ssh").exists());
    });
}

#[test]
fn a_cage_ends_when_what_it_hides_is_replaced_outside() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        std::fs::write(ground.path("seen/write/.env"), "old").unwrap();
        let mut cage = ground.cage();
        cage.seen = vec![ground.seen("seen/write", Access::Write)];
        cage.hidden = vec![ground.path("seen/write/.env")];
        let spec = ground.spec(cage, "/bin/sh", &["-c", "echo; exec sleep 600"]);
        let mut child = ground.launcher.start(&spec).unwrap();
        soon(child.stdout.read_exact(&mut [0])).await.unwrap();
        std::fs::write(ground.path("seen/write/new"), "new").unwrap();
        std::fs::rename(ground.path("seen/write/new"), ground.path("seen/write/.env")).unwrap();
        let ended = soon(child.process.wait()).await.unwrap();
        assert_eq!(ended.code(), Some(i32::from(EXIT_SHIFTED)), "{}", ground.rung);
    });
}

#[test]
fn no_link_is_made_in_a_directory_of_the_host() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        let mut cage = ground.cage();
        cage.seen = vec![ground.seen("seen/write", Access::Write)];
        let at = ground.path("seen/write/deep/link");
        cage.links = vec![Link { at, to: "/etc/shadow".into() }];
        ground.sh(cage, "true").await;
        assert!(!ground.path("seen/write/deep").exists(), "{}", ground.rung);
    });
}

#[test]
fn a_link_on_the_way_to_what_is_seen_starts_nothing() {
    on_every_ground(|ground| async move {
        std::fs::create_dir(ground.path("seen/write/target")).unwrap();
        std::os::unix::fs::symlink(ground.path("other"), ground.path("seen/link")).unwrap();
        std::fs::create_dir(ground.path("other/deep")).unwrap();
        for name in ["seen/link", "seen/link/deep"] {
            let mut cage = ground.cage();
            cage.seen = vec![ground.seen(name, Access::Write)];
            let (said, complained, code) = ground.sh(cage, "echo started").await;
            assert_eq!((said.as_str(), code), ("", Some(125)), "{} {name}", ground.rung);
            assert!(complained.contains("cannot be in the cage"), "{complained}");
        }
    });
}

#[test]
fn another_name_leads_to_what_is_seen() {
    on_rungs(ic_confine::Rung::can_hide, |ground| async move {
        std::fs::write(ground.path("seen/read/text"), "hello").unwrap();
        let mut cage = ground.cage();
        cage.seen = vec![ground.seen("seen/read", Access::Read)];
        cage.links = vec![Link { at: "/data/project".into(), to: ground.path("seen/read") }];
        let (said, _, _) = ground.sh(cage, "cat /data/project/text").await;
        assert_eq!(said, "hello", "{}", ground.rung);
    });
}

#[test]
fn sockets_and_devices_are_not_shown() {
    on_every_ground(|ground| async move {
        let _listener = std::os::unix::net::UnixListener::bind(ground.path("seen/socket")).unwrap();
        let mut cage = ground.cage();
        cage.seen = vec![ground.seen("seen/socket", Access::Write)];
        let (said, _, code) = ground.sh(cage, "echo started").await;
        assert_eq!((said.as_str(), code), ("", Some(125)), "{}", ground.rung);
    });
}

#[test]
fn what_would_be_a_door_is_refused_before_anything_starts() {
    on_every_ground(|ground| async move {
        for path in [
            "/",
            "/proc",
            "/proc/self",
            "/sys/fs",
            "/dev",
            "/run",
            "/run/user/1",
            "/var/run",
            "/etc",
            "/usr/../etc",
            "x",
        ] {
            let mut cage = ground.cage();
            cage.seen = vec![ic_confine::Seen { path: path.into(), access: Access::Read }];
            let started = ground.launcher.start(&ground.spec(cage, "/bin/true", &[]));
            assert!(matches!(started, Err(StartError::Seen { .. })), "{path}");
        }
    });
}

#[test]
fn a_rung_that_cannot_keep_a_promise_does_not_make_it() {
    on_rungs(
        |rung| !rung.can_hide(),
        |ground| async move {
            let with = |change: &dyn Fn(&mut ic_confine::CageSpec)| {
                let mut cage = ground.cage();
                cage.seen = vec![ground.seen("seen/write", Access::Write)];
                change(&mut cage);
                let started = ground.launcher.start(&ground.spec(cage, "/bin/true", &[]));
                started.map(drop).map_err(|error| error.to_string())
            };
            assert_eq!(with(&|_| ()), Ok(()));
            let network = || ic_confine::Network::Doors { ports: vec![443], addresses: vec![] };
            for (change, expected) in [
                (
                    &(|cage: &mut ic_confine::CageSpec| cage.network = network())
                        as &dyn Fn(&mut ic_confine::CageSpec),
                    "reach other machines",
                ),
                (&|cage| cage.unix_sockets = true, "have Unix sockets"),
                (&|cage| cage.hidden = vec![cage.seen[0].path.join("x")], "hide "),
                (
                    &|cage| {
                        let path = cage.seen[0].path.join("x");
                        cage.seen.push(ic_confine::Seen { path, access: Access::Read });
                    },
                    "keep ",
                ),
            ] {
                let refused = with(change).unwrap_err();
                assert!(refused.contains(expected), "{refused}");
            }
        },
    );
}

/// Whoever else writes there can put one in between looking and using.
#[test]
fn links_in_what_is_seen_lead_nowhere_where_they_are_not_followed() {
    on_every_ground(|ground| async move {
        let seen = ground.path("seen/write");
        std::fs::write(seen.join("text"), "hello\n").unwrap();
        let script = "cd PLACE/seen/write; ln -s text l; ln -s . d; ln -s made n; cat l; cat d/text; \
             echo x > n; test -e made && echo made; readlink l; ln -s $PWD/text $HOME/h; cat $HOME/h; \
             rm l d n";
        for (follows_links, expected) in
            [(true, "hello\nhello\nmade\ntext\nhello\n"), (false, "text\nhello\n")]
        {
            let mut cage = ground.cage();
            cage.seen = vec![ground.seen("seen/write", Access::Write)];
            cage.follows_links = follows_links;
            let (said, complained, code) = ground.sh(cage, script).await;
            // The other rungs have no way to hold it.
            if follows_links || ground.rung == ic_confine::Rung::Namespaces {
                assert_eq!(said, expected, "{}: {complained}", ground.rung);
            }
            assert_eq!(code, Some(0), "{}: {complained}", ground.rung);
            std::fs::remove_file(seen.join("made")).ok();
        }
    });
}
