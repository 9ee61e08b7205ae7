//! Lists of resources, templates and prompts: whole, side by side, and as they are now.

use ic_testkit::Proxy;
use serde_json::{Value, json};

use super::besides_tools::{Rig, read};
use super::until;

const LISTS: [(&str, &str, &str); 3] = [
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];
const ALL: [&str; 4] =
    ["resources/read", "resources/subscribe", "prompts/get", "completion/complete"];
const GIVEN_UP: &str = "notifications/cancelled";

/// Returns what the entries of a result are called.
fn entries(result: &Value, member: &str, key: &str) -> Vec<String> {
    let entries = result[member].as_array().unwrap();
    entries.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
}

fn resources(proxy: &mut Proxy) -> Vec<String> {
    let result = proxy.request("resources/list", &json!({})).result();
    entries(&result, "resources", "uri")
}

/// Two servers answer only after every server was asked, so they cannot be asked one after the other.
#[test]
fn servers_are_asked_for_their_lists_side_by_side() {
    for (method, member, key) in LISTS {
        let rig = Rig::new(&["--hold", method, "demo://1"])
            .server("b", &["--hold", method, "demo://2"])
            .server("c", &["demo://3"]);
        let mut proxy = rig.start(&ALL);
        let id = proxy.ask(method, &json!({}));
        for name in ["a", "b", "c"] {
            until("it is asked", || rig.received(name, method).len() == 1);
        }
        for name in ["b", "a"] {
            assert_eq!(rig.received(name, GIVEN_UP), [] as [Value; 0], "{method}: {name}");
            rig.release(name, method);
        }
        let listed = entries(&proxy.answer(&id).result(), member, key);
        let expected: [&str; 3] = match key {
            "uri" => ["demo://1", "demo://2", "demo://3"],
            "uriTemplate" => ["shelf://1/{id}", "shelf://2/{id}", "shelf://3/{id}"],
            _ => ["a__p", "b__p", "c__p"],
        };
        assert_eq!(listed, expected);
        proxy.finish();
    }
}

/// Tools are what was trusted; resources and prompts are what the server has now, so it is asked for them.
#[test]
fn a_server_that_ran_before_is_started_for_its_lists_and_not_for_its_tools() {
    let rig = Rig::new(&["demo://1"]);
    let n_starts = || rig.received("a", "initialize").len();
    let mut proxy = rig.start(&ALL);
    assert_eq!(resources(&mut proxy), ["demo://1"]);
    proxy.finish();
    assert_eq!(n_starts(), 1);
    let mut proxy = rig.start(&ALL);
    proxy.request("tools/list", &json!({})).result();
    assert_eq!(n_starts(), 1, "its tools are recorded");
    let prompts = proxy.request("prompts/list", &json!({})).result();
    assert_eq!(entries(&prompts, "prompts", "name"), ["a__p"]);
    assert_eq!(resources(&mut proxy), ["demo://1"]);
    assert_eq!(n_starts(), 2);
    proxy.finish();
}

/// A list waits for the server that hangs as long as it waits for any; nothing else does.
#[test]
fn a_server_that_hangs_delays_no_call_of_another() {
    let hangs = ["--hold", "resources/list", "--hold", "resources/templates/list", "demo://1"];
    let rig = Rig::new(&hangs).server("b", &["demo://2"]).server("c", &["demo://3"]);
    let mut proxy = rig.start(&ALL);
    let list = proxy.ask("resources/list", &json!({}));
    let by_template = json!({"type": "ref/resource", "uri": "shelf://3/{id}"});
    let complete = json!({"ref": by_template, "argument": {"name": "id", "value": ""}});
    for (method, params) in [
        ("resources/read", json!({"uri": "demo://2"})),
        ("resources/read", json!({"uri": "shelf://3/7"})),
        ("resources/subscribe", json!({"uri": "demo://3"})),
        ("completion/complete", complete),
    ] {
        let id = proxy.ask(method, &params);
        let first = proxy.answer_to_any(&[&id, &list]);
        assert!(first.answers(&id), "{method} {params} waited for the list: {}", first.line);
        match method {
            // Without a desk nobody can be asked about it; that its server was found is all we want.
            "completion/complete" => {
                let (_, message) = first.error();
                assert!(message.starts_with("ESCALATION REQUIRED: "), "{message}");
            }
            _ => drop(first.result()),
        }
    }
    let listed = entries(&proxy.answer(&list).result(), "resources", "uri");
    assert_eq!(listed, ["demo://2", "demo://3"]);
    proxy.finish();
}

#[test]
fn a_server_that_was_waited_for_in_vain_is_not_waited_for_until_it_answers() {
    let rig = Rig::new(&["--hold", "resources/list", "demo://1"]).server("b", &["demo://2"]);
    let mut proxy = rig.start(&ALL);
    assert_eq!(resources(&mut proxy), ["demo://2"]);
    until("that was as long as anybody waits", || rig.received("a", GIVEN_UP).len() == 1);
    for _ in 0..5 {
        assert_eq!(resources(&mut proxy), ["demo://2"]);
    }
    until("it is asked again", || rig.received("a", "resources/list").len() == 2);
    assert_eq!(rig.received("a", GIVEN_UP).len(), 1, "nobody waited as long again");
    // Once it answers, clients hear of it.
    proxy.unread();
    rig.release("a", "resources/list");
    proxy.notification("notifications/resources/list_changed", "");
    assert_eq!(resources(&mut proxy), ["demo://1", "demo://2"]);
    proxy.finish();
    let told = proxy.all_stderr();
    let notice = "server `a` takes too long to list its resources";
    assert_eq!(told.matches(notice).count(), 1, "{told}");
}

#[test]
fn templates_are_asked_for_once_until_they_change() {
    let rig = Rig::new(&["demo://1"]).server("b", &["demo://2"]);
    let mut proxy = rig.start(&ALL);
    let asked = |rig: &Rig| {
        ["resources/list", "resources/templates/list"].map(|it| rig.received("a", it).len())
    };
    for n in 0..3 {
        read(&mut proxy, &format!("shelf://2/{n}")).result();
    }
    assert_eq!(asked(&rig), [1, 1]);
    read(&mut proxy, "grown1://2").error();
    proxy.call("b__grow", &json!({})).good();
    proxy.notification("notifications/resources/list_changed", "");
    read(&mut proxy, "grown1://2").result();
    assert_eq!(rig.received("b", "resources/templates/list").len(), 2);
    assert_eq!(asked(&rig)[1], 1, "the other one's did not change");
    // Once another one says that it has them too, neither is believed.
    proxy.call("a__grow", &json!({})).good();
    proxy.notification("notifications/resources/list_changed", "");
    let (_, message) = read(&mut proxy, "grown1://3").error();
    assert!(message.contains("no server, or more than one"), "{message}");
    proxy.finish();
}

#[test]
fn clients_hear_that_a_list_of_resources_or_prompts_changed() {
    let rig = Rig::new(&["demo://1"]);
    let mut proxy = rig.start(&ALL);
    let capabilities = {
        let mut other = rig.start_silent(&ALL);
        let introduction = other.initialize().result();
        other.finish();
        introduction["capabilities"].clone()
    };
    assert_eq!(capabilities["resources"]["listChanged"], true);
    assert_eq!(capabilities["prompts"]["listChanged"], true);
    assert_eq!(resources(&mut proxy), ["demo://1"]);
    let grown = proxy.call("a__grow", &json!({})).good();
    for kind in ["resources", "prompts"] {
        let method = format!("notifications/{kind}/list_changed");
        let heard = proxy.notification(&method, "").json();
        assert_eq!(heard["params"], json!({}), "a server's own words are not passed on");
    }
    assert_eq!(resources(&mut proxy), ["demo://1", &grown]);
    let prompts = proxy.request("prompts/list", &json!({})).result();
    assert_eq!(entries(&prompts, "prompts", "name"), ["a__p", "a__p1"]);
    proxy.finish();
}

#[test]
fn the_pages_of_a_list_are_put_together() {
    let uris: Vec<String> = (0..7).map(|n| format!("demo://{n}")).collect();
    let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
    let rig = Rig::new(&[&["--page", "2"], uris.as_slice()].concat())
        .server("b", &["--page", "1", "demo://x"]);
    let mut proxy = rig.start(&ALL);
    assert_eq!(resources(&mut proxy), [uris, vec!["demo://x"]].concat());
    assert_eq!(rig.received("a", "resources/list").len(), 4);
    // Of tools likewise: one to a page.
    let result = proxy.request("tools/list", &json!({})).result();
    assert_eq!(result.get("nextCursor"), None);
    let result = json!({"tools": super::of_servers(&result)});
    assert_eq!(entries(&result, "tools", "name"), ["a__grow", "a__touch", "b__grow", "b__touch"]);
    assert_eq!(rig.received("b", "tools/list").len(), 2);
    assert_eq!(rig.received("b", "tools/list")[1], json!({"cursor": "1"}));
    proxy.call("b__touch", &json!({})).good();
    proxy.finish();
}

/// What is too much is cut, and a person hears of it; nothing vanishes without a word.
#[test]
fn of_a_list_that_is_too_long_the_beginning_is_offered() {
    for (words, n_listed) in [
        (&["--many", "1500", "demo://1"] as &[&str], 1000),
        (&["--many", "1500", "--page", "100", "demo://1"], 1000),
        (&["--many", "300", "--page", "1", "demo://1"], 100),
        (&["--many", "200", "--fat", "10000", "demo://1"], 104),
    ] {
        let rig = Rig::new(words).server("b", &["demo://2"]);
        let mut proxy = rig.start(&ALL);
        for _ in 0..2 {
            let listed = resources(&mut proxy);
            assert_eq!(listed.len(), n_listed + 1, "{words:?}");
            assert_eq!((listed[0].as_str(), listed[n_listed].as_str()), ("demo://1", "demo://2"));
        }
        proxy.finish();
        let told = proxy.all_stderr();
        let notice = format!("the first {n_listed} are offered");
        assert_eq!(told.matches(&notice).count(), 1, "{words:?}: {told}");
    }
}

/// A client is told when it follows too much, instead of never hearing of it.
#[test]
fn who_follows_too_many_resources_is_told() {
    let rig = Rig::new(&["demo://1"]);
    let mut proxy = rig.start(&ALL);
    let mut subscribe =
        |n: usize| proxy.request("resources/subscribe", &json!({"uri": format!("demo://{n}")}));
    for n in 1..=256 {
        subscribe(n).result();
    }
    let (code, message) = subscribe(257).error();
    assert_eq!((code, &*message), (-32_000, "a client can follow 256 resources, and no more"));
    // What it follows already, it may ask for again.
    subscribe(1).result();
    assert_eq!(rig.received("a", "resources/subscribe").len(), 257);
    proxy.call("a__touch", &json!({})).good();
    proxy.notification("notifications/resources/updated", "demo://1");
    proxy.finish();
}
