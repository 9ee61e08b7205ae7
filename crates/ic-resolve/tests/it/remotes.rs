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
        "ssh://github.com./acme/app",
        "https://github.com/%61cme/app",
        "ssh://git@github.com/acme/%61pp.git",
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
    let dash = "refused: it, its user, its host or its path begins with `-`, which programs take for an option";
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

#[test]
fn an_encoded_path_is_compared_decoded_or_refused() {
    check("https://host.example/a/b%2Dc", "host.example/a/b-c");
    check("ssh://host.example/a/b%2dc", "host.example/a/b-c");
    check("ssh://host.example/%7Ea/b", "host.example/~a/b");
    // Git does not decode this form.
    check("host.example:a/b%2dc", "host.example/a/b%2dc");
    for path in [
        "a%2fb",
        "a%2Fb",
        "%2e%2e/b",
        "a/b%2egit",
        "a%00b",
        "a%252fb",
        "a%",
        "a%2",
        "a%zz",
        "a%+1",
        "a%5cb",
        "a%20b",
        "a%0ab",
        "a%ff",
        "a%c2%85b",
        "a%5bb%5d/c",
        "a@[b]/c",
        "x%40%5By%5D/z",
    ] {
        for text in [format!("https://host.example/{path}"), format!("ssh://host.example/{path}")] {
            let found = remote::parse(&text);
            assert!(found.is_err(), "{text}: {found:?}");
        }
    }
}

#[test]
fn a_path_with_empty_parts_is_refused() {
    for text in [
        "https://host.example//a/b",
        "https://host.example/a//b",
        "https://host.example/a/b//",
        "ssh://host.example//a/b",
        "ssh://host.example/a//b",
        "host.example:a//b",
        "host.example://a/b",
    ] {
        let found = remote::parse(text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}

#[test]
fn a_host_for_ssh_is_judged_as_it_is_sent() {
    check("git@EXAMPLE.com.:a/b", "example.com/a/b");
    check("ssh://1.2.3.4/a", "1.2.3.4/a");
    for text in [
        "ssh://b\u{fc}cher.example/a",
        "git@b\u{fc}cher.example:a",
        "ssh://\u{ff47}ithub.com/a",
        "ssh://github\u{3002}com/a",
        "ssh://0x7f.1/a",
        "2130706433:a",
        "ssh://[0:0::1]/a",
        "[0::1]:a",
    ] {
        let found = remote::parse(text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}

#[test]
fn brackets_that_move_the_host_or_the_path_are_refused() {
    for text in [
        "evil.example:[/]:y",
        "evil.example:a@[b]:c",
        "host.example:a[b]",
        "/s/x@[y]/out",
        "./[x]/y",
        "[x]/y",
        "a[b",
        "file:///s/@[]/out",
    ] {
        let found = remote::parse(text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}

#[test]
fn a_path_that_git_would_shorten_is_refused() {
    assert!(remote::parse("host.example:a~x/y").is_err());
    check("host.example:/~x/y", "host.example/~x/y");
    check("host.example:~x/y", "host.example/~x/y");
}

#[test]
fn a_file_url_is_plain_and_absolute_or_refused() {
    for text in [
        "file://srv/repo",
        "file://localhost/srv/repo",
        "file://./repo",
        "file://~/repo",
        "file:///srv/%72epo",
        "FILE:///srv/repo",
        "file://",
    ] {
        let found = remote::parse(text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}
