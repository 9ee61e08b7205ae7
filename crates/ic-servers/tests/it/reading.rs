//! Reading files: text, parts of it, several at once, bytes.

use ic_servers::filesystem::Links;
use ic_servers::tools::{Caller, Cancel, Content, Tools};
use serde_json::json;

use crate::ground::{BOTH, Ground, call, done, object, refused};

#[test]
fn text_is_returned_as_it_is() {
    let ground = Ground::new();
    for text in ["", "a", "a\n", "a\r\nb\r\n", "ünï\u{feff} 日本\u{0}\u{1b}", "\n\n\n"] {
        let path = ground.write("in/f.txt", text);
        for links in BOTH {
            let server = ground.server(links);
            assert_eq!(done(&server, "read_file", json!({"path": path})), text);
            assert_eq!(done(&server, "read_text_file", json!({"path": path})), text);
        }
    }
}

/// Reads a part of `text` and checks it.
#[track_caller]
fn check_part(text: &str, part: &str, n_lines: u64, expected: &str) {
    let ground = Ground::new();
    let path = ground.write("in/f.txt", text);
    let server = ground.server(Links::Refuse);
    assert_eq!(done(&server, "read_file", json!({"path": path, part: n_lines})), expected);
}

#[test]
fn the_first_lines_are_returned() {
    check_part("a\nb\nc\n", "head", 0, "");
    check_part("a\nb\nc\n", "head", 1, "a");
    check_part("a\nb\nc\n", "head", 2, "a\nb");
    check_part("a\nb\nc\n", "head", 3, "a\nb\nc");
    check_part("a\nb\nc", "head", 9, "a\nb\nc");
    check_part("a\r\nb\r\nc\r\n", "head", 2, "a\r\nb");
    check_part("", "head", 2, "");
    check_part("\n\n", "head", 1, "");
}

#[test]
fn the_last_lines_are_returned() {
    check_part("a\nb\nc\n", "tail", 0, "");
    check_part("a\nb\nc\n", "tail", 1, "c");
    check_part("a\nb\nc\n", "tail", 2, "b\nc");
    check_part("a\nb\nc", "tail", 2, "b\nc");
    check_part("a\nb\nc", "tail", 9, "a\nb\nc");
    check_part("a\r\nb\r\nc\r\n", "tail", 2, "b\r\nc");
    check_part("", "tail", 2, "");
    check_part("a\n\n", "tail", 1, "");
}

#[test]
fn parts_of_long_files_are_found_across_pieces() {
    // Lines of several lengths, so that pieces are cut in the middle of lines and of characters.
    let lines: Vec<String> = (0..20_000).map(|n| format!("{n} {}", "é".repeat(n % 17))).collect();
    let text = lines.join("\n");
    for n_lines in [1, 2, 7, 5000, 19_999, 20_000, 30_000] {
        let some = n_lines.min(lines.len());
        let n_lines = n_lines as u64;
        check_part(&text, "head", n_lines, &lines[..some].join("\n"));
        check_part(&text, "tail", n_lines, &lines[lines.len() - some..].join("\n"));
    }
}

#[test]
fn a_part_of_a_file_that_is_too_long_can_be_read() {
    let ground = Ground::new();
    let path = ground.write("in/long.txt", "first\n");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let server = ground.server(Links::Refuse);
    refused(&server, "read_file", json!({"path": path}), &["longer than 5242880 bytes", "`head`"]);
    assert_eq!(done(&server, "read_file", json!({"path": path, "head": 1})), "first");
    refused(&server, "read_file", json!({"path": path, "tail": 1}), &["ask for fewer lines"]);
    refused(&server, "read_file", json!({"path": path, "head": 2}), &["ask for fewer lines"]);
}

#[test]
fn bad_arguments_are_explained() {
    let ground = Ground::new();
    let path = ground.write("in/f.txt", "a\nb\n");
    for links in BOTH {
        let server = ground.server(links);
        for (arguments, part) in [
            (json!({}), "the argument `path` is missing"),
            (json!({"path": 5}), "the argument `path` is not text"),
            (json!({"path": null}), "the argument `path` is not text"),
            (json!({"path": path, "head": 1, "tail": 1}), "exclude each other"),
            (json!({"path": path, "head": 1.5}), "the argument `head` is not a whole number"),
            (json!({"path": path, "tail": -1}), "the argument `tail` is not a whole number"),
            (json!({"path": path, "head": "1"}), "the argument `head` is not a number"),
            (json!({"path": path, "lines": 1}), "there is no argument `lines`"),
            (json!({"path": ""}), "cannot be used as a path"),
            (json!({"path": format!("{path}\u{0}")}), "NUL"),
            (json!({"path": format!("/{}", "a".repeat(5000))}), "longer than 4096 bytes"),
            (json!({"path": format!("{path}/x")}), "a part of the path"),
            (json!({"path": ground.text("in/absent.txt")}), "does not exist"),
            (json!({"path": ground.text("in")}), "is a directory; only files are read"),
        ] {
            refused(&server, "read_file", arguments, &[part]);
        }
        assert_eq!(done(&server, "read_file", json!({"path": path, "head": 1.0})), "a");
        assert_eq!(done(&server, "read_file", json!({"path": path, "tail": 1e0})), "b");
    }
}

#[test]
fn what_is_no_text_is_read_as_media() {
    let ground = Ground::new();
    let path = ground.write("in/a.bin", b"\xff\xfe\x00");
    let server = ground.server(Links::Refuse);
    refused(&server, "read_file", json!({"path": path}), &["not UTF-8", "`read_media_file`"]);
    // Half a character at the end is no text either.
    let half = ground.write("in/half.txt", &"é".as_bytes()[..1]);
    refused(&server, "read_file", json!({"path": half}), &["not UTF-8"]);
}

#[test]
fn several_files_are_read_at_once() {
    let ground = Ground::new();
    let (a, b) = (ground.write("in/a.txt", "A"), ground.write("in/b.txt", "B\n"));
    let (gone, out) = (ground.text("in/gone.txt"), ground.text("out/secret.txt"));
    for links in BOTH {
        let server = ground.server(links);
        let text = done(&server, "read_multiple_files", json!({"paths": [a, gone, out, b]}));
        assert_eq!(
            text,
            format!(
                "{a}:\nA\n\n---\n{gone}: Error - `{gone}` does not exist\n---\n\
                 {out}: Error - `{out}` is outside of the directories that can be reached; \
                 `list_allowed_directories` names them\n---\n{b}:\nB\n\n"
            )
        );
        refused(&server, "read_multiple_files", json!({"paths": [gone, out]}), &["Error - "]);
        refused(&server, "read_multiple_files", json!({"paths": []}), &["names no file"]);
        refused(&server, "read_multiple_files", json!({"paths": [1]}), &["not text"]);
        refused(&server, "read_multiple_files", json!({"paths": a}), &["not a list"]);
        let many = vec![a.as_str(); 1001];
        refused(&server, "read_multiple_files", json!({"paths": many}), &["more than 1000"]);
    }
}

#[test]
fn bytes_are_returned_by_what_the_name_says() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let read = |path: &str| {
        let result = server.call(
            "read_media_file",
            &object(json!({"path": path})),
            Caller::silent(&Cancel::new()),
        );
        result.unwrap().content().to_vec()
    };
    let data = "AAEC".to_owned();
    let bytes = [0, 1, 2];
    let picture = ground.write("in/a.PNG", bytes);
    let image = Content::Image { data: data.clone(), mime_type: "image/png" };
    assert_eq!(read(&picture), [image]);
    let sound = ground.write("in/a.mp3", bytes);
    let audio = Content::Audio { data: data.clone(), mime_type: "audio/mpeg" };
    assert_eq!(read(&sound), [audio]);
    let other = ground.write("in/a b#ü.zip", bytes);
    let uri = format!("file://{}/a%20b%23%C3%BC.zip", ground.text("in"));
    let blob = Content::Blob { uri, data, mime_type: "application/octet-stream" };
    assert_eq!(read(&other), [blob]);
}

#[test]
fn bytes_in_base64_stay_below_their_limit() {
    let ground = Ground::new();
    let server = ground.server(Links::Refuse);
    let path = ground.write("in/a.png", vec![7; 6_291_453]);
    let object = object(json!({"path": path}));
    let result = server.call("read_media_file", &object, Caller::silent(&Cancel::new())).unwrap();
    let [Content::Image { data, .. }] = result.content() else { panic!("no image") };
    assert!(data.len() < 8 << 20);
    let long = ground.write("in/b.png", vec![7; 6_291_454]);
    assert!(call(&server, "read_media_file", json!({"path": long})).is_err());
}
