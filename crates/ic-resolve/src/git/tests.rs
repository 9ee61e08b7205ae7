//! How configs are read, which URLs a remote stands for, and what is not believed.

use super::config::parse as parse_config;
use super::*;

fn repository(config: &str, branch: Option<&str>) -> Repository {
    let config = parse_config(config).unwrap();
    let top = CanonicalPath::new("/s/repo").unwrap();
    let instead_of = Rewrites::of(&config, "insteadof").unwrap();
    let push_instead_of = Rewrites::of(&config, "pushinsteadof").unwrap();
    let branch = branch.map(ToOwned::to_owned);
    Repository { common: top.clone(), top, config, instead_of, push_instead_of, branch }
}

#[track_caller]
fn defaults(config: &str, branch: Option<&str>, expected: &[&str]) {
    let found = repository(config, branch).default_remotes().into_iter();
    let found: Vec<String> = found
        .map(|remote| match remote {
            DefaultRemote::Configured(name) => name,
            DefaultRemote::Implied(name) => format!("{name}?"),
        })
        .collect();
    assert_eq!(found, expected, "{config}");
}

#[track_caller]
fn urls(config: &str, remote: &str, expected: &[&str]) {
    let found = repository(config, None).remote_urls(remote).unwrap();
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
fn all_rewrites_of_the_longest_length_count() {
    let config = "[remote \"o\"]\nurl = https://a.example/x\n\
        [url \"https://first.example/\"]\ninsteadOf = https://b.example/\n\
        [url \"https://second.example/\"]\ninsteadOf = https://a.example/\n\
        [url \"https://short.example/\"]\ninsteadOf = https://\n\
        [url \"https://first.example/\"]\ninsteadOf = https://a.example/\n";
    urls(config, "o", &["https://second.example/x", "https://first.example/x"]);
    let push = config.replace("insteadOf", "pushInsteadOf");
    urls(
        &push,
        "o",
        &["https://a.example/x", "https://second.example/x", "https://first.example/x"],
    );
    assert_eq!(repository(config, None).rewrites("https://a.example/y").len(), 2);
}

#[test]
fn a_push_url_alone_is_refused_because_git_fetches_from_the_name() {
    let config = "[remote \"o\"]\npushurl = https://evil.example/x\n";
    assert!(repository(config, None).remote_urls("o").is_err());
}

#[test]
fn an_absent_remote_is_what_git_would_take() {
    let one = "[remote \"up\"]\nurl = https://a.example/x\n";
    defaults(one, None, &["up?"]);
    let two = format!("{one}[remote \"other\"]\nurl = https://b.example/x\n");
    defaults(&two, Some("main"), &["origin?"]);
    let branch = format!("{two}[branch \"main\"]\nremote = other\npushRemote = up\n");
    defaults(&branch, Some("main"), &["other", "up"]);
    defaults(&branch, Some("dev"), &["origin?"]);
    let push_default = format!("{two}[remote]\npushDefault = up\n");
    defaults(&push_default, None, &["origin?", "up"]);
}

#[test]
fn a_remote_with_any_key_counts_among_the_remotes() {
    let config = "[remote \"up\"]\nurl = https://a.example/x\n[remote \"other\"]\nprune = true\n";
    defaults(config, None, &["origin?"]);
}

#[test]
fn remotes_that_promise_objects_are_known() {
    let config = "[remote \"a\"]\npromisor\n[remote \"b\"]\npromisor = no\n\
        [remote \"c\"]\npromisor = 1\n";
    assert_eq!(repository(config, None).promisors(), ["a", "c"]);
}

#[test]
fn a_config_by_which_git_goes_elsewhere_is_refused() {
    for bad in [
        "[include]\npath = x",
        "[includeIf \"onbranch:x\"]\npath = x",
        "[extensions]\nworktreeConfig = true",
        "[extensions]\nrefStorage = reftable",
        "[extensions]\npartialClone = evil",
        "[extensions]\nnew = 1",
        "[remotes]\norigin = evil",
        "[remote \"/x\"]\nprune = true",
        "[remote \"o\"]\nvcs = x",
        "[remote \"o\"]\nproxy = x",
        "[remote \"o\"]\nuploadPack = x",
        "[core]\nsshCommand = x",
        "[core]\nworktree = /x",
        "[http \"https://a.example\"]\nproxy = x",
        "[http]\ncurloptResolve = x",
        "[fetch]\nbundleURI = x",
        "[push]\nrecurseSubmodules = on-demand",
        "[submodule]\nrecurse",
    ] {
        assert!(check_settings(&parse_config(bad).unwrap()).is_err(), "accepted {bad:?}");
    }
    let good = "[core]\nbare = false\n[extensions]\nobjectFormat = sha256\n\
        [submodule]\nrecurse = false\n[remote \"o\"]\nurl = x\nfetch = y\n";
    check_settings(&parse_config(good).unwrap()).unwrap();
}

#[test]
fn a_head_is_a_branch_or_an_object() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    for (head, branch) in [
        ("ref: refs/heads/main\n", Some("main")),
        ("ref:refs/heads/a/b", Some("a/b")),
        ("ref:\t refs/heads/main \r\n", Some("main")),
        (id, None),
        (&format!("{id}\n"), None),
    ] {
        assert_eq!(branch_of(head).unwrap().as_deref(), branch, "{head:?}");
    }
    for bad in [
        "",
        "main",
        " ref: refs/heads/main",
        "Ref: refs/heads/main",
        "ref:\u{a0}refs/heads/main",
        "ref:\u{c}refs/heads/main",
        "ref: refs/heads/",
        "ref: refs/heads/a\nb",
        "ref: refs/heads/a\u{c}",
        "ref: refs/heads/../x",
        "ref: refs/heads/a..b",
        "ref: refs/heads/a//b",
        "ref: refs/heads/a/",
        "ref: refs/heads/.a",
        "ref: refs/heads/a.lock",
        "ref: refs/heads/a b",
        "ref: refs/heads/a@{b",
        "ref: refs/heads/a.",
        "ref: refs/tags/x",
        "ref: HEAD",
        "0123",
        &id.replace('0', "g"),
    ] {
        assert!(branch_of(bad).is_err(), "accepted {bad:?}");
    }
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
        ("[a]\nk = \"\" \t v", "v"),
        ("[a]\nk = \" \" v", "  v"),
        ("[a]\nk = \\\n  v", "v"),
        ("[a]\nk = v \\\n", "v "),
        ("[a]\nk = v \"\" ", "v "),
        ("[a]\nk = v\u{a0}", "v\u{a0}"),
        ("[a]\nk = v \\\r\n w\r\n", "v  w"),
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
        "[url.evil \"example:x/\"]\ninsteadOf = x",
        "[a]\nk # comment",
        "[a]\nk = a\0b",
        "[a]\nk = a\u{c}",
        "[a]\nk = a\rb",
        "[a]\n# \u{1}",
        "[a]\nk = v\r\r\n",
        "\u{a0}[a]",
    ] {
        assert!(parse_config(bad).is_err(), "accepted {bad:?}");
    }
}
