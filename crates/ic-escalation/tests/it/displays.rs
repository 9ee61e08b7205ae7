//! What a person sees: everything that matters, on lines of ours, and nothing that acts.

use ic_escalation::display::{Change, View, remaining, show, text};
use ic_escalation::{AskedCause, Request};
use ic_types::{Json, JsonLimits, Object, Role, Timestamp};

use crate::world::{Ask, directory, file, url};

const NOW: Timestamp = Timestamp::from_unix_ms(1_794_700_800_000);

fn request(ask: &Ask) -> Request {
    let ask = ask.clone().with(|ask| {
        ask.ticket.deadline = Timestamp::from_unix_ms(NOW.unix_ms() + 299_000);
    });
    Request::of(&ask.escalation(), &ask.ticket, NOW)
}

/// Terminals that order letters by their script would show another path than the one that is followed.
#[test]
fn a_path_with_letters_from_right_to_left_is_shown_letter_by_letter_too() {
    let places = [file("/d/\u{5d0}/1/\u{5d1}"), file("/d/plain")];
    let ask = Ask::of(
        "move_file",
        &[(Role::WritePath, &places), (Role::FetchUrl, &[url("https://a.example/\u{5d0}")])],
    );
    let shown = show(&request(&ask), View::Short, None, NOW);
    let letters: Vec<&str> =
        shown.iter().filter_map(|it| it.trim().strip_prefix("letter by letter: ")).collect();
    let at = |line: &str| shown.iter().position(|it| it.contains(line)).unwrap();
    assert_eq!(letters[0], r#""/d/\u{5d0}/1/\u{5d1}""#, "{shown:?}");
    assert_eq!(at(letters[0]), at("    \"/d/\u{5d0}") + 1, "{shown:?}");
    assert!(letters.len() < 3 && !letters.iter().any(|it| it.contains("plain")), "{shown:?}");
}

#[test]
fn a_question_is_shown_with_all_that_matters() {
    let ask = Ask::of(
        "move_file",
        &[
            (Role::ReadPath, &[file("/d/a")]),
            (Role::WritePath, &[file("/d/\u{202e}b"), directory("/d/c")]),
            (Role::FetchUrl, &[url("https://a.example/x")]),
        ],
    )
    .with(|ask| {
        ask.rules = crate::world::ASK_BUT_READ;
        ask.parts.sent.insert("path", "/d/a\n  rule: \"harmless\"");
        ask.parts.sent.insert("content", "x".repeat(5_000));
        ask.parts.sent.insert("options", Json::Array(vec![Json::Bool(true), Json::Null]));
    });
    let diff = "--- a\n+++ b\n-old\u{1b}[2J\n+new";
    let shown = show(&request(&ask), View::Short, Some(Change::Difference(diff)), NOW).join("\n");
    let shown = shown.replace(&"x".repeat(80), "XXX");
    insta::assert_snapshot!(shown, @r#"
    filesystem wants to call move_file
      if approved, filesystem may read "/d/a", change "/d/\u{202e}b", write in "/d/c", and fetch "https://a.example/x"
      because: "a person decides"
      rule: "ask"
      read-path:
        "/d/a"
      write-path (asks):
        "/d/\u{202e}b" (holds 4 KiB, changed 2026-11-15 00:00:00 UTC)
        "/d/c" (a directory, changed 2026-11-15 00:00:00 UTC)
      fetch-url (asks):
        "https://a.example/x" (at "a.example")
      arguments:
        "path": "/d/a\n  rule: \"harmless\""
        "content": "XXX" … 4840 of 5000 characters not shown … "XXX"
        "options": [true,null]
      change:
        --- a
        +++ b
        -old\u{1b}[2J
        +new
      expires: at 00:04:59 UTC (in 4 min 59 s when shown)
    "#);
}

/// A form can ask for much behind a friendly sentence.
#[test]
fn what_a_server_asks_itself_says_so_and_names_every_field() {
    let schema = br#"{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"You"},
        "pass\u001b[8mword":{"type":"string","description":"for\nus"},"yes":{"type":"boolean"}}}"#;
    let ask = Ask::of("elicitation/create", &[]).with(|ask| {
        ask.parts.standing = ic_policy::Standing::OfServer;
        ask.parts.sent.insert("message", "who?");
        let schema = Json::parse(schema, JsonLimits::CALL).unwrap();
        ask.parts.sent.insert("requestedSchema", schema);
    });
    let shown = show(&request(&ask), View::Short, None, NOW);
    let shown: Vec<&String> = shown.iter().take_while(|it| *it != "  arguments:").collect();
    let shown: Vec<&str> = shown.into_iter().map(String::as_str).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    FROM THE SERVER filesystem, not from the agent: it asks you to fill in a form, in your client (elicitation/create)
      because: "the server `filesystem` itself asks a person to fill in a form that it wrote; no agent called this"
      rule: "structural-server-request"
      client: one that has not said what it is called
      message: "who?"
      asks for:
        "name" (string, required): "You"
        "pass\u001b[8mword" (string): "for\nus"
        "yes" (boolean)
    "#);
    let model = br#"[{"role":"user","content":{"type":"text","text":"a\nrule"}},{"role":"root","content":{}}]"#;
    let ask = Ask::of("sampling/createMessage", &[]).with(|ask| {
        ask.parts.standing = ic_policy::Standing::OfServer;
        ask.parts.sent.insert("systemPrompt", "x".repeat(400));
        ask.parts.sent.insert("messages", Json::parse(model, JsonLimits::CALL).unwrap());
    });
    let mut request = request(&ask);
    request.client = Some("a\u{1b}[2J".to_owned());
    let shown = show(&request, View::Short, None, NOW).join("\n");
    for line in [
        "  client: one that calls itself \"a\\u001b[2J\"\n",
        &format!("  systemPrompt: \"{}\"\n", "x".repeat(400)),
        "  asks the model:\n    user: \"a\\nrule\"\n    {\"role\":\"root\",\"content\":{}}\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let bytes = request.to_json().to_string();
    let read = Request::parse(bytes.as_bytes(), &request.escalation, &request.session).unwrap();
    assert_eq!(read, request);
}

/// The invariant is named first; that a rule asks too, and that nobody has confirmed what the tool
/// does, is shown as well.
#[test]
fn everything_that_asks_is_shown() {
    let ask = Ask::of(
        "copy_file",
        &[(Role::WritePath, &[file("/h/.bashrc")]), (Role::DeletePath, &[file("/d/a")])],
    )
    .with(|ask| ask.parts.standing = ic_policy::Standing::Draft);
    let shown = show(&request(&ask), View::Short, None, NOW).join("\n");
    insta::assert_snapshot!(shown, @r#"
    filesystem wants to call copy_file
      because: "`/h/.bashrc`: programs of this machine run it or take orders from it"
      rule: "structural-host-executes"
      also because: "the meaning of this tool's arguments is not confirmed yet"
        rule: "structural-draft", about: the call as a whole
      also because: "a person decides"
        rule: "ask", about: write-path, delete-path
      write-path (asks):
        "/h/.bashrc" (holds 4 KiB, changed 2026-11-15 00:00:00 UTC)
      delete-path (asks):
        "/d/a" (holds 4 KiB, changed 2026-11-15 00:00:00 UTC)
      arguments:
      expires: at 00:04:59 UTC (in 4 min 59 s when shown)
    "#);
    // As many as there may be: none is cut.
    let mut request = request(&ask);
    let cause = |n: usize| AskedCause {
        rule: format!("rule{n}"),
        reason: "again".to_owned(),
        roles: Vec::new(),
    };
    request.causes.extend((0..100).map(cause));
    let shown = show(&request, View::Short, None, NOW).join("\n");
    assert!((0..100).all(|n| shown.contains(&format!("\"rule{n}\", about: the call as a whole"))));
}

#[test]
fn a_difference_that_is_not_shown_is_said_to_be() {
    let request = request(&Ask::write("/d/a"));
    let shown = show(&request, View::Short, Some(Change::NotShown("it is too large")), NOW);
    assert!(shown.contains(&"  no difference shown: it is too large".to_owned()), "{shown:?}");
}

/// Spaces that would carry text to the next line of a terminal, where it looks like a line of ours.
#[test]
fn spaces_make_no_lines() {
    let forged = |space: &str| format!("ok{}rule: \"harmless\"", space.repeat(40));
    let diff = format!("+{}\n+{}x\n+{}y", forged(" "), " ".repeat(24), " ".repeat(25));
    for space in [" ", "\t", "\u{a0}", "\u{2003}", "\u{3000}"] {
        let mut request = request(&Ask::write("/d/a"));
        request.reason = forged(space);
        request.arguments.insert(forged(space), forged(space));
        for view in [View::Short, View::Full] {
            let lines = show(&request, view, Some(Change::Difference(&diff)), NOW);
            for line in lines.iter().filter(|line| line.contains("harmless")) {
                let code = u32::from(space.chars().next().unwrap());
                let is_counted = line.contains(&format!("ok\\u{{{code:x}*40}}rule"))
                    || line.contains(&format!("ok{}rule", r"\t".repeat(40)))
                    || line.contains("+ok\\u{20*40}rule");
                assert!(is_counted, "{line}");
            }
            assert!(lines.contains(&format!("    +{}x", " ".repeat(24))), "{lines:?}");
            assert!(lines.contains(&"    +\\u{20*25}y".to_owned()), "{lines:?}");
        }
    }
}

#[test]
fn no_value_that_a_person_is_asked_about_is_cut() {
    let files: Vec<_> = (0..100).map(|at| file(&format!("/d/file{at}"))).collect();
    let asks = Ask::of("write_files", &[(Role::WritePath, &files)]);
    let shown = show(&request(&asks), View::Short, None, NOW).join("\n");
    for at in 0..100 {
        assert!(shown.contains(&format!("\"/d/file{at}\"")), "{at}: {shown}");
    }
    // What nobody is asked about may be.
    let roles: &[(Role, &[_])] =
        &[(Role::ReadPath, &files), (Role::WritePath, &[file("/d/asked")])];
    let other = Ask::of("copy", roles).with(|ask| ask.rules = crate::world::ASK_BUT_READ);
    let shown = show(&request(&other), View::Short, None, NOW).join("\n");
    assert!(!shown.contains("/d/file99") && shown.contains("/d/asked"), "{shown}");
}

#[test]
fn the_full_view_leaves_nothing_out() {
    let mut arguments = Object::new();
    for at in 0..100 {
        arguments.insert(format!("argument{at}"), format!("{at}{}", "y".repeat(1_000)));
    }
    let files: Vec<_> = (0..100).map(|at| file(&format!("/d/file{at}"))).collect();
    let ask =
        Ask::of("write_files", &[(Role::WritePath, &files)]).with(|ask| ask.parts.sent = arguments);
    let request = request(&ask);
    let full = show(&request, View::Full, None, NOW).join("\n");
    for at in 0..100 {
        assert!(full.contains(&format!("\"/d/file{at}\"")));
        assert!(full.contains(&format!("\"argument{at}\": \"{at}{}\"", "y".repeat(1_000))));
    }
    let short = show(&request, View::Short, None, NOW);
    assert!(short.len() < 140, "{}", short.len());
    assert_eq!(
        short.iter().filter(|line| line.contains("… 80 more lines are not shown …")).count(),
        1
    );
    assert!(short.iter().all(|line| line.chars().count() < 300));
}

/// A value cannot pretend to have been shortened, nor two values look like each other.
#[test]
fn a_value_looks_like_no_other() {
    let long = "x".repeat(161);
    let shortened = text(&long, View::Short);
    assert_ne!(text(&shortened, View::Short), shortened);
    assert_eq!(shortened.matches('"').count(), 4, "{shortened}");
    for (one, other) in [("\u{1b}", "\\u{1b}"), ("a\nb", "a\\nb"), ("\"", "\\\""), ("", "\"\"")] {
        assert_ne!(text(one, View::Full), text(other, View::Full));
    }
    assert_eq!(text(&"x".repeat(160), View::Short), format!("\"{}\"", "x".repeat(160)));
}

/// Characters that move or hide something on a terminal, listed apart from the code that knows them.
fn acts(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || (0x200b..=0x200f).contains(&code)
        || (0x2028..=0x202f).contains(&code)
        || (0x2060..=0x206f).contains(&code)
        || (0xfe00..=0xfe0f).contains(&code)
        || (0xe0000..=0xe0fff).contains(&code)
        || matches!(code, 0xad | 0x61c | 0x180e | 0x2800 | 0x3164 | 0xfeff | 0xffa0 | 0x85 | 0xa0)
}

/// Shows a question that has `hostile` in every place that an agent or a server can fill.
#[track_caller]
fn check(hostile: &str) {
    let mut arguments = Object::new();
    arguments.insert(hostile, hostile);
    arguments.insert("nested", Json::Array(vec![Json::from(hostile)]));
    let ask = Ask::write("/d/a").with(|ask| ask.parts.sent = arguments);
    let mut request = request(&ask);
    hostile.clone_into(&mut request.reason);
    hostile.clone_into(&mut request.rule);
    for cause in &mut request.causes {
        (cause.rule, cause.reason) = (hostile.to_owned(), format!("{hostile}."));
    }
    request.resolved.insert(hostile, Json::Array(vec![Json::from(hostile)]));
    let n_harmless =
        show(&self::request(&ask), View::Full, Some(Change::Difference("a")), NOW).len();
    for view in [View::Short, View::Full] {
        let diff = hostile.replace(['\n', '\r'], "");
        let lines = show(&request, view, Some(Change::Difference(&diff)), NOW);
        for line in &lines {
            assert!(!line.contains(acts), "{line:?} of {hostile:?}");
        }
        let is_spelling = |line: &&String| line.starts_with("      letter by letter: \"");
        let n_spellings = lines.iter().filter(is_spelling).count();
        assert!(n_spellings <= 1, "{lines:?}");
        let n_lines = lines.len() - n_spellings;
        assert!(n_lines <= n_harmless + 4, "{lines:?} has lines that are not ours");
    }
}

#[test]
fn nothing_that_acts_is_shown() {
    for hostile in [
        "\u{1b}]52;c;AAAA\u{7}",
        "\u{1b}[2J\u{1b}[1;1H\u{9b}31m",
        "a\r\nb\u{85}c\u{2028}d",
        "\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}",
        "\u{0}\u{8}\u{7f}",
        "\u{e0041}\u{fe0f}",
    ] {
        check(hostile);
    }
}

#[test]
fn every_naughty_string_is_shown_safely() {
    let Some(vectors) = ic_testkit::shared::corpus("naughty_strings") else { return };
    let inputs: Vec<String> = vectors
        .iter()
        .filter_map(|vector| vector.get("input")?.as_str().map(str::to_owned))
        .collect();
    assert!(500 < inputs.len(), "{}", inputs.len());
    for input in inputs {
        check(&input);
        let shown = text(&input, View::Full);
        assert!(shown.starts_with('"') && shown.ends_with('"'), "{shown}");
        // What is shown says exactly what it is.
        let mut back = String::new();
        let mut rest = shown.as_str();
        while let Some((before, after)) = rest.split_once("\\u{") {
            let Some((code, after)) = after.split_once('}') else { break };
            let (code, count) = match code.split_once('*') {
                Some((code, count)) => (code, count.parse().unwrap()),
                None => (code, 1),
            };
            back.push_str(before);
            let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
            back.extend(std::iter::repeat_n(c, count));
            rest = after;
        }
        back.push_str(rest);
        let back = Json::parse(back.as_bytes(), JsonLimits::CALL);
        // A control character in a string is not valid JSON any more; our JSON has none of them.
        assert_eq!(back, Ok(Json::from(input.as_str())), "{shown}");
    }
}

#[test]
fn the_time_that_is_left_is_said_plainly() {
    for (ms, expected) in [
        (0, "now"),
        (999, "in 0 s"),
        (59_999, "in 59 s"),
        (60_000, "in 1 min 0 s"),
        (3_600_000, "in 1 h 0 min"),
    ] {
        let at = Timestamp::from_unix_ms(NOW.unix_ms() + ms);
        assert_eq!(remaining(at, NOW), expected);
    }
    assert_eq!(remaining(NOW, Timestamp::from_unix_ms(NOW.unix_ms() + 1)), "now");
}

/// The part of an address that is left out may be what carries data out.
#[test]
fn an_address_is_never_shortened() {
    let long = format!("https://a.example/{}/secret?q={}", "p".repeat(500), "d".repeat(500));
    let ask = Ask::of("fetch", &[(Role::FetchUrl, &[url(&long)])]).with(|ask| {
        for n in 0..30 {
            ask.parts.sent.insert(format!("filler-{n}"), "");
        }
        ask.parts.sent.insert("url", long.clone());
        ask.parts.sent.insert("urls", Json::Array(vec![Json::from(long.clone()), Json::Null]));
        ask.parts.sent.insert("content", format!("no address, but long: {}", "x".repeat(500)));
    });
    let shown = show(&request(&ask), View::Short, None, NOW);
    let whole: Vec<&String> = shown.iter().filter(|line| line.contains(&long)).collect();
    assert_eq!(whole.len(), 3, "{shown:#?}");
    assert!(shown.iter().any(|line| line.contains("11 more lines are not shown")), "{shown:#?}");
    assert!(shown.iter().all(|line| !line.contains("no address")), "{shown:#?}");
    assert_eq!(text(&"x".repeat(500), View::Short).matches("not shown").count(), 1);
}
