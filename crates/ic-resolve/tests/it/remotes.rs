//! The texts of git remotes: which are used, and how they are compared.

use ic_resolve::remote::{self, Remote};

#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match remote::parse(text) {
        Ok(Remote::Network(url)) => url.destination.to_string(),
        Ok(Remote::Local(path)) => format!("local {path}"),
        Ok(Remote::Name(name)) => format!("name {name}"),
        Err(fault) => format!("refused: {fault}"),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn all_spellings_of_a_repository_are_one() {
    for text in [
        "https://github.com/acme/app.git",
        "https://GitHub.com/acme/app",
        "https://github.com:443/acme/app/",
        "https://alice@github.com/acme/app.git",
        "git@github.com:acme/app.git",
        "github.com:acme/app.git",
        "git@github.com:/acme/app",
        "ssh://git@github.com/acme/app.git",
        "ssh://github.com:22/acme/app",
        "SSH://git@GITHUB.com/acme/app",
        "https://github.com./acme/app",
    ] {
        check(text, "github.com/acme/app");
    }
    check("ssh://git@host.example:2222/a/b", "host.example:2222/a/b");
    check("[::1]:repo", "[::1]/repo");
    check("ssh://git@[::1]:2222/repo", "[::1]:2222/repo");
    check("https://1.2.3.4/a", "1.2.3.4/a");
    check("https://github.com@evil.example/acme/app", "evil.example/acme/app");
}

#[test]
fn paths_and_names_are_told_apart() {
    check("/srv/repo", "local /srv/repo");
    check("./repo", "local ./repo");
    check("../repo", "local ../repo");
    check("file:///srv/repo", "local /srv/repo");
    check(".", "local .");
    check("origin", "name origin");
    check("team/origin", "name team/origin");
}

#[test]
fn whatever_can_run_a_program_or_be_an_option_is_refused() {
    let transport = |used: &str| {
        format!("refused: only `https:`, `ssh:` and `host:path` remotes are used, not `{used}`")
    };
    check("ext::sh -c touch% /tmp/x", &transport("ext::"));
    check("fd::17", &transport("fd::"));
    check("file::/etc", &transport("file::"));
    check("http://github.com/a/b", &transport("http:"));
    check("git://github.com/a/b", &transport("git:"));
    check("ftp://github.com/a/b", &transport("ftp:"));
    check("git+ssh://github.com/a/b", &transport("git+ssh:"));
    let dash = "refused: it does not begin with `-`, nor does its user, host or path";
    for text in [
        "-oProxyCommand=x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/a",
        "ssh://-x@host/a",
        "-x@host:a",
        "-host:a",
        "host:-a",
        "ssh://host/-a",
        "https://host.example/-a",
        "https://-x@host.example/a",
    ] {
        check(text, dash);
    }
    for text in [
        "",
        "https://user:secret@github.com/a/b",
        "ssh://user:secret@github.com/a/b",
        "ssh://a b@github.com/x",
        "https://github.com/a/b?x=y",
        "https://github.com/a/b#c",
        "ssh://host/../x",
        "host:a/../b",
        "ssh://ho%73t/x",
        "ssh://host:port/x",
        "host\n:x",
        "git@:x",
        "ssh:///x",
        "host:a b",
        "https://github.com\\@evil.example/acme/app",
        "https://github.com\\.evil.example/acme/app",
        "https://a@github.com@evil.example/acme/app",
        "https://gith%75b.com/acme/app",
        "https://github\u{3002}com/acme/app",
        "https://github.com/acme/app/%2e%2e/other",
        "https://github.com/acme/app/../other",
        "https://github.com/acme\\app",
        "ssh://github.com\\@evil.example/x",
        "git@github.com\\:x",
    ] {
        let found = remote::parse(text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}
