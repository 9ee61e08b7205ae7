//! How configs are read, which URLs a remote stands for, and what is not believed.

use super::*;

fn repository(config: &str, branch: Option<&str>) -> Repository {
    let config = parse_config(config).unwrap();
    Repository { config, branch: branch.map(ToOwned::to_owned) }
}

#[track_caller]
fn urls(config: &str, remote: &str, expected: &[&str]) {
    let found = repository(config, None).remote_urls(remote);
    let expected =
        (!expected.is_empty()).then(|| expected.iter().map(ToString::to_string).collect());
    assert_eq!(found, expected, "{config}");
}

#[test]
fn push_and_fetch_urls_both_count() {
    urls(
        "[remote \"origin\"]\n\turl = https://a.example/x.git\n",
        "origin",
        &["https://a.example/x.git"],
    );
    urls(
        "[remote \"origin\"]\nurl = https://a.example/x\npushurl = https://evil.example/x\n",
        "origin",
        &["https://a.example/x", "https://evil.example/x"],
    );
    urls("[remote \"o\"]\npushurl = https://evil.example/x\n", "o", &["https://evil.example/x"]);
    urls("[remote \"origin\"]\nfetch = x\n", "origin", &[]);
    urls("[remote \"Origin\"]\nurl = x\n", "origin", &[]);
}

#[test]
fn rewriting_is_applied_as_git_would() {
    let config = "[remote \"o\"]\nurl = https://a.example/x\n\
        [url \"https://evil.example/\"]\ninsteadOf = https://a.example/\n\
        [url \"https://longer.example/\"]\nINSTEADOF = https://a.example/x\n";
    urls(config, "o", &["https://longer.example/"]);
    let push = "[remote \"o\"]\nurl = https://a.example/x\n\
        [url \"ssh://evil.example/\"]\npushInsteadOf = https://a.example/\n";
    urls(push, "o", &["https://a.example/x", "ssh://evil.example/x"]);
    // With a push URL of its own, git does not apply `pushInsteadOf`.
    let own = format!("{push}[remote \"o\"]\npushurl = https://b.example/x\n");
    urls(&own, "o", &["https://a.example/x", "https://b.example/x"]);
    assert_eq!(
        repository(config, None).rewrites("https://a.example/y"),
        ["https://evil.example/y"]
    );
}

#[test]
fn an_absent_remote_is_what_git_would_take() {
    let one = "[remote \"up\"]\nurl = https://a.example/x\n";
    assert_eq!(repository(one, None).default_remotes(), ["up"]);
    let two = format!("{one}[remote \"other\"]\nurl = https://b.example/x\n");
    assert_eq!(repository(&two, Some("main")).default_remotes(), ["origin"]);
    let branch = format!("{two}[branch \"main\"]\nremote = other\npushRemote = up\n");
    assert_eq!(repository(&branch, Some("main")).default_remotes(), ["other", "up"]);
    assert_eq!(repository(&branch, Some("dev")).default_remotes(), ["origin"]);
    let push_default = format!("{two}[remote]\npushDefault = up\n");
    assert_eq!(repository(&push_default, None).default_remotes(), ["origin", "up"]);
}

#[test]
fn the_syntax_of_git_is_understood() {
    for (config, value) in [
        ("[a]\nk = v", "v"),
        ("[A] K=v ; comment", "v"),
        ("[a]\nk = \"v # x\" # y", "v # x"),
        ("[a]\nk = one \\\n two", "one  two"),
        ("[a]\nk = a\\tb\\\\c\\\"d", "a\tb\\c\"d"),
        ("[a]\nk =   spaced  out   ", "spaced  out"),
        ("[a]\nk", "true"),
        ("\u{feff}[a]\r\nk = v\r\n", "v"),
        ("# x\n; y\n[b]\n[a]\nk=v", "v"),
    ] {
        let settings = parse_config(config).unwrap();
        let setting = settings.last().unwrap();
        assert_eq!((setting.key.as_str(), setting.value.as_str()), ("k", value), "{config:?}");
    }
    let dotted = parse_config("[Remote.Origin]\nurl=x\n[remote \"a\\\"b\\\\\"]\nurl=y").unwrap();
    assert_eq!(dotted[0].subsection.as_deref(), Some("origin"));
    assert_eq!(dotted[1].subsection.as_deref(), Some("a\"b\\"));
}

#[test]
fn what_git_might_read_differently_is_an_error() {
    for bad in [
        "k = v",
        "[a",
        "[a \"b]",
        "[a \"b\" x]",
        "[]",
        "[a]\nk v",
        "[a]\nk = \"v",
        "[a]\nk = \\q",
        "[a]\n= v",
        "[a]\nk = \\",
        "[a \"b\nc\"]",
    ] {
        assert!(parse_config(bad).is_err(), "accepted {bad:?}");
    }
}
