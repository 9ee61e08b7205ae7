//! Deeds: a server that changes nothing itself asks whoever called, who carries out what the call says
//! and nothing else.
//!
//! Whoever called is played here, as the broker does it; its own tests go through the binary.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;

use ic_mcp::{Outcome, RpcError};
use ic_servers::filesystem::{DEED_METHOD, Filesystem, Hands, NotWarranted, Rights, View, Warrant};
use ic_servers::tools::{Ask, Caller, Cancel, NoAnswer};
use ic_types::{Json, Object};
use serde_json::{Value, json};

use crate::ground::{Ground, SECRET, Told, call_of, call_with, object};

/// Carries out the one deed of a call.
struct Host(Mutex<Option<Warrant>>);

impl Ask for Host {
    fn ask(&self, method: &str, params: &Object) -> Result<Outcome, NoAnswer> {
        assert_eq!(method, DEED_METHOD);
        let Some(warrant) = self.0.lock().unwrap().take() else {
            return Ok(Err(RpcError::new(-1, "no warrant")));
        };
        Ok(match warrant.redeem(params) {
            Ok(order) => Ok(Json::Object(order.carry_out(&Cancel::new()))),
            Err(fault) => Err(RpcError::new(-1, fault.to_string())),
        })
    }
}

/// Makes one call of a server that asks for what it changes.
#[track_caller]
pub(crate) fn call_once(view: &View, tool: &str, arguments: &Object) -> Told {
    let server = Filesystem::open(view, Hands::Asking).unwrap();
    let host = Host(Mutex::new(Warrant::of(tool, arguments, view)));
    call_of(&server, tool, arguments, Caller::new(&Cancel::new(), &host))
}

/// A ground on which there is something of every kind.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.write("in/old.txt", "one two");
    ground.write("in/private.txt", "one two");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(ground.path("in/private.txt"), private).unwrap();
    ground.write("in/dir/a.txt", "a");
    ground.link("in/link", ground.path("out"));
    ground.link("in/dangling", "nowhere");
    ground
}

/// Returns all that is in a directory: kinds, modes, contents.
fn picture(ground: &Ground, relative: &str) -> Vec<String> {
    let mut all = Vec::new();
    for name in ground.names(relative) {
        let relative = format!("{relative}/{name}");
        let metadata = std::fs::symlink_metadata(ground.path(&relative)).unwrap();
        let mode = metadata.permissions().mode();
        let content = match metadata.is_file() {
            true => ground.read(&relative),
            false => String::new(),
        };
        all.push(format!("{relative} {mode:o} {content}"));
        if metadata.is_dir() {
            all.extend(picture(ground, &relative));
        }
    }
    all
}

/// Makes a call on two grounds that are alike, with own hands and by asking, and compares.
#[track_caller]
fn check_alike(tool: &str, arguments: impl Fn(&Ground) -> Value, only: &[(&str, Rights)]) -> Told {
    let [own, asked] = [Hands::Own, Hands::Asking].map(|hands| {
        let ground = ground();
        let view = ground.view_of_only(&[("in", Rights::ALL)], only);
        let arguments = object(arguments(&ground));
        let told = match hands {
            Hands::Own => call_with(&Filesystem::open(&view, hands).unwrap(), tool, &arguments),
            Hands::Asking => call_once(&view, tool, &arguments),
        };
        ground.check_outside();
        let plain = |text: String| text.replace(&ground.text(""), "");
        (told.map(plain).map_err(plain), picture(&ground, "in"))
    });
    assert_eq!(asked, own, "{tool}");
    own.0
}

#[test]
fn what_is_asked_for_is_done_as_by_own_hands() {
    let one = |tool: &str, path: &str, more: Value, rights: Rights| {
        let arguments = |ground: &Ground| {
            let mut all = json!({"path": ground.text(path)});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        check_alike(tool, arguments, &[(path, rights)])
    };
    let content = || json!({"content": "new"});
    let edits = |old: &str| json!({"edits": [{"oldText": old, "newText": "2"}]});
    let editing = Rights::READ.and(Rights::WRITE);
    for path in ["in/old.txt", "in/private.txt", "in/new.txt"] {
        one("write_file", path, content(), Rights::WRITE).unwrap();
    }
    for path in ["in/dir", "in/link", "in/link/x", "in/gone/x", "in/old.txt/x", "in/dangling"] {
        one("write_file", path, content(), Rights::WRITE).unwrap_err();
    }
    one("write_file", "in/old.txt", content(), Rights::READ).unwrap_err();
    for path in ["in/old.txt", "in/private.txt"] {
        one("edit_file", path, edits("two"), editing).unwrap();
        one("edit_file", path, edits("three"), editing).unwrap_err();
    }
    let dry = json!({"edits": [{"oldText": "two", "newText": "2"}], "dryRun": true});
    one("edit_file", "in/old.txt", dry, editing).unwrap();
    one("edit_file", "in/old.txt", edits("two"), Rights::READ).unwrap_err();
    for path in ["in/made", "in/made/deep/er", "in/dir"] {
        one("create_directory", path, json!({}), Rights::WRITE).unwrap();
    }
    for path in ["in/old.txt", "in/link/x", "in/old.txt/x"] {
        one("create_directory", path, json!({}), Rights::WRITE).unwrap_err();
    }
    for path in ["in/old.txt", "in/link", "in/dangling"] {
        one("delete_file", path, json!({}), Rights::DELETE).unwrap();
    }
    for path in ["in/dir", "in/gone", "in/link/secret.txt"] {
        one("delete_file", path, json!({}), Rights::DELETE).unwrap_err();
    }
    one("delete_file", "in/old.txt", json!({}), editing).unwrap_err();
    // Nothing that is not asked for needs anybody.
    one("read_file", "in/old.txt", json!({}), Rights::READ).unwrap();
}

#[test]
fn what_is_moved_by_asking_is_moved_as_by_own_hands() {
    let moving = Rights::READ.and(Rights::DELETE);
    let check = |from: &str, to: &str, rights: [Rights; 2]| {
        let arguments = |ground: &Ground| {
            json!({"source": ground.text(from),
            "destination": ground.text(to)})
        };
        check_alike("move_file", arguments, &[(from, rights[0]), (to, rights[1])])
    };
    for (from, to) in [("in/old.txt", "in/dir/new"), ("in/dir", "in/d"), ("in/link", "in/l")] {
        check(from, to, [moving, Rights::WRITE]).unwrap();
        check(from, to, [moving, Rights::READ]).unwrap_err();
        check(from, to, [Rights::DELETE, Rights::WRITE]).unwrap_err();
        check(from, to, [Rights::READ, Rights::WRITE]).unwrap_err();
    }
    for (from, to) in
        [("in/old.txt", "in/private.txt"), ("in/gone", "in/g"), ("in/dir", "in/dir/d")]
    {
        check(from, to, [moving, Rights::WRITE]).unwrap_err();
    }
}

/// Asks for `deed` in place of the one of a call; returns why it is refused.
#[track_caller]
fn refusal(tool: &str, arguments: Value, deed: Value) -> NotWarranted {
    let only = [("in", Rights::ALL)];
    let view = Ground::new().view_of_only(&only, &only);
    let warrant = Warrant::of(tool, &object(arguments), &view).unwrap();
    warrant.redeem(&object(deed)).unwrap_err()
}

#[test]
fn a_deed_that_is_not_the_calls_is_refused() {
    let write = || json!({"path": "/p/a", "content": "x"});
    let edit = || json!({"path": "/p/a", "edits": []});
    let moved = || json!({"source": "/p/a", "destination": "/p/b"});
    let path = || json!({"path": "/p/a"});
    for (tool, arguments, deed) in [
        // Another name, a sibling, the parent, what is beneath, the same one by another right.
        ("write_file", write(), json!({"do": "write", "path": "/q"})),
        ("write_file", write(), json!({"do": "write", "path": "/p/b"})),
        ("write_file", write(), json!({"do": "write", "path": "/p"})),
        ("write_file", write(), json!({"do": "write", "path": "/p/a/b"})),
        ("write_file", write(), json!({"do": "remove", "path": "/p/a"})),
        ("write_file", write(), json!({"do": "createDirectory", "path": "/p/a"})),
        ("write_file", write(), json!({"do": "move", "path": "/p/a", "to": "/p/b"})),
        ("write_file", write(), json!({"do": "edit", "path": "/p/a", "content": "", "known": ""})),
        ("edit_file", edit(), json!({"do": "edit", "path": "/p/b", "content": "", "known": ""})),
        ("edit_file", edit(), json!({"do": "write", "path": "/p/a"})),
        ("edit_file", edit(), json!({"do": "remove", "path": "/p/a"})),
        ("create_directory", path(), json!({"do": "createDirectory", "path": "/p/b"})),
        ("create_directory", path(), json!({"do": "createDirectory", "path": "/p/a/b"})),
        ("create_directory", path(), json!({"do": "write", "path": "/p/a"})),
        ("move_file", moved(), json!({"do": "move", "path": "/p/a", "to": "/p/c"})),
        ("move_file", moved(), json!({"do": "move", "path": "/p/c", "to": "/p/b"})),
        ("move_file", moved(), json!({"do": "move", "path": "/p/b", "to": "/p/a"})),
        ("move_file", moved(), json!({"do": "remove", "path": "/p/a"})),
        ("delete_file", path(), json!({"do": "remove", "path": "/p/b"})),
        ("delete_file", path(), json!({"do": "remove", "path": "/p"})),
        ("delete_file", path(), json!({"do": "write", "path": "/p/a"})),
    ] {
        assert_eq!(refusal(tool, arguments, deed.clone()), NotWarranted::Other, "{tool} {deed}");
    }
}

#[test]
fn words_that_are_no_deed_are_refused() {
    for deed in [
        json!({}),
        json!({"do": "write"}),
        json!({"path": "/p/a"}),
        json!({"do": "Write", "path": "/p/a"}),
        json!({"do": "chmod", "path": "/p/a"}),
        json!({"do": ["write"], "path": "/p/a"}),
        json!({"do": "write", "path": 1}),
        json!({"do": "write", "path": "p/a"}),
        json!({"do": "write", "path": "/p/../p/a"}),
        json!({"do": "write", "path": "/p//a"}),
        json!({"do": "write", "path": "/p/a\u{0}"}),
        // What is written stands in the call.
        json!({"do": "write", "path": "/p/a", "content": "eA=="}),
        json!({"do": "write", "path": "/p/a", "mode": "777"}),
        json!({"do": "move", "path": "/p/a"}),
        json!({"do": "edit", "path": "/p/a", "content": "eA=="}),
        json!({"do": "edit", "path": "/p/a", "content": "no base64", "known": ""}),
        json!({"do": "edit", "path": "/p/a", "content": "//8=", "known": ""}),
        json!({"do": "edit", "path": "/p/a", "content": "eA==", "known": 1}),
    ] {
        let write = json!({"path": "/p/a", "content": "x"});
        assert_eq!(refusal("write_file", write, deed.clone()), NotWarranted::Unknown, "{deed}");
    }
    let long = "eHh4".repeat((8 << 20) / 3 + 1);
    let deed = json!({"do": "edit", "path": "/p/a", "content": long, "known": ""});
    let edit = json!({"path": "/p/a", "edits": []});
    assert_eq!(refusal("edit_file", edit, deed), NotWarranted::TooLong);
}

#[test]
fn a_call_that_changes_nothing_warrants_nothing() {
    let ground = Ground::new();
    let only = [("in", Rights::ALL)];
    let view = ground.view_of_only(&only, &only);
    for (tool, arguments) in [
        ("read_file", json!({"path": "/p/a"})),
        ("list_directory", json!({"path": "/p/a"})),
        ("edit_file", json!({"path": "/p/a", "edits": [], "dryRun": true})),
        ("edit_file", json!({"path": "/p/a", "edits": [], "dryRun": 0})),
        ("write_file", json!({"path": "/p/a"})),
        ("write_file", json!({"path": "a", "content": "x"})),
        ("write_file", json!({"path": "/p/a", "content": "x", "mode": "777"})),
        ("move_file", json!({"source": "/p/a"})),
        ("chmod_file", json!({"path": "/p/a"})),
    ] {
        assert!(Warrant::of(tool, &object(arguments), &view).is_none(), "{tool}");
    }
    // Nor does one of which nobody says what it was judged about.
    let write = object(json!({"path": "/p/a", "content": "x"}));
    assert!(Warrant::of("write_file", &write, &View { only: None, ..view }).is_none());
}

/// What is beneath a judged directory was not judged itself.
#[test]
fn a_deed_is_about_what_was_judged_and_not_about_what_is_beneath() {
    let ground = ground();
    let view = ground.view_of_only(&[("in", Rights::ALL)], &[("in/dir", Rights::ALL)]);
    for (tool, arguments) in [
        ("write_file", json!({"path": ground.text("in/dir/a.txt"), "content": "x"})),
        ("delete_file", json!({"path": ground.text("in/dir/a.txt")})),
        ("create_directory", json!({"path": ground.text("in/dir/made")})),
    ] {
        let told = call_once(&view, tool, &object(arguments)).unwrap_err();
        assert!(told.contains("outside of the directories"), "{tool}: {told}");
    }
    assert_eq!(ground.names("in/dir"), ["a.txt"]);
}

/// Carries out a deed after the file was replaced.
struct Late<'a>(&'a Ground, Host);

impl Ask for Late<'_> {
    fn ask(&self, method: &str, params: &Object) -> Result<Outcome, NoAnswer> {
        std::fs::remove_file(self.0.path("in/old.txt")).unwrap();
        self.0.write("in/old.txt", "one two");
        self.1.ask(method, params)
    }
}

#[test]
fn an_edit_of_what_changed_meanwhile_is_not_made() {
    let ground = ground();
    let path = ground.text("in/old.txt");
    let only = [("in/old.txt", Rights::ALL)];
    let view = ground.view_of_only(&[("in", Rights::ALL)], &only);
    let edits = json!([{"oldText": "two", "newText": "2"}]);
    let arguments = object(json!({"path": path, "edits": edits}));
    let server = Filesystem::open(&view, Hands::Asking).unwrap();
    let warrant = Warrant::of("edit_file", &arguments, &view);
    let late = Late(&ground, Host(Mutex::new(warrant)));
    let told = call_of(&server, "edit_file", &arguments, Caller::new(&Cancel::new(), &late));
    assert!(told.unwrap_err().contains("changed by another program meanwhile"));
    assert_eq!(ground.read("in/old.txt"), "one two");
}

/// The directory that was judged is a link when the deed is carried out.
#[test]
fn a_directory_that_is_a_link_by_then_leads_nowhere() {
    for held in ["in/dir", "in"] {
        let ground = ground();
        let only = [("in/dir/secret.txt", Rights::ALL)];
        let view = ground.view_of_only(&[(held, Rights::ALL)], &only);
        let path = ground.text("in/dir/secret.txt");
        std::fs::remove_dir_all(ground.path("in/dir")).unwrap();
        ground.link("in/dir", ground.path("out"));
        for (tool, arguments) in [
            ("write_file", json!({"path": path, "content": "x"})),
            ("delete_file", json!({"path": path})),
            ("create_directory", json!({"path": path})),
        ] {
            let told = call_once(&view, tool, &object(arguments)).unwrap_err();
            assert!(told.contains("changed since it was judged"), "{held} {tool}: {told}");
        }
        assert_eq!(ground.read("out/secret.txt"), SECRET);
        ground.check_outside();
    }
}

#[test]
fn a_server_that_asks_changes_nothing_itself() {
    let ground = ground();
    let view = ground.view_of_only(&[("in", Rights::ALL)], &[("in", Rights::ALL)]);
    let server = Filesystem::open(&view, Hands::Asking).unwrap();
    let before = picture(&ground, "in");
    let path = ground.text("in/old.txt");
    for (tool, arguments) in [
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "edits": [{"oldText": "two", "newText": "2"}]})),
        ("delete_file", json!({"path": path})),
        ("create_directory", json!({"path": ground.text("in/made")})),
        ("move_file", json!({"source": path, "destination": ground.text("in/moved")})),
    ] {
        let told = call_with(&server, tool, &object(arguments)).unwrap_err();
        assert_eq!(told, "the caller cannot be asked", "{tool}");
    }
    assert_eq!(picture(&ground, "in"), before);
}
