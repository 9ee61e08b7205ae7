//! The real key is found nowhere but at the provider: not in a process, a file, a log or an answer, in no
//! form in which programs write it.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use ic_testkit::provider::{KEY, Reply, Said, ScriptedProvider};

/// Asks once, says so, and stays until it is told to go.
const CLIENT: &str = r#"
import os, sys, urllib.request
headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
body = b'{"model":"claude-sonnet-4-6","max_tokens":9,"messages":[],"tools":[{"name":"x"}]}'
asked = urllib.request.Request("https://api.anthropic.com/v1/messages", body, headers)
print(urllib.request.urlopen(asked).read().decode(), flush=True)
print("READY", flush=True)
sys.stdin.readline()
"#;

/// Returns the spellings that are looked for: plain, base64 at each offset, in a URL, in JSON, in hexadecimal.
fn forms(key: &str) -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    let mut forms = vec![key.to_owned()];
    for n_before in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let text = engine.encode(format!("{}{key}", "x".repeat(n_before)));
            // The digits that the key alone decides.
            let (from, to) = (n_before + 1, text.len() - 1);
            forms.push(text.get(from..to).unwrap().to_owned());
        }
    }
    forms.push(key.bytes().map(|it| format!("%{it:02X}")).collect());
    forms.push(key.replace('-', "%2D"));
    forms.push(key.chars().map(|it| format!("\\u{:04x}", u32::from(it))).collect());
    forms.push(key.bytes().map(|it| format!("{it:02x}")).collect());
    forms
}

#[track_caller]
fn check(forms: &[String], what: &str, bytes: &[u8]) {
    for form in forms {
        let is_there = bytes.windows(form.len()).any(|it| it == form.as_bytes());
        assert!(!is_there, "the key is in {what}, as {form}");
    }
}

/// Returns a process and all its descendants.
fn family(pid: u32) -> BTreeSet<u32> {
    let mut all = BTreeSet::from([pid]);
    loop {
        let before = all.len();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(child) = entry.file_name().to_str().and_then(|it| it.parse::<u32>().ok())
            else {
                continue;
            };
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit(") ").next().and_then(|it| it.split(' ').nth(1));
            if parent.and_then(|it| it.parse().ok()).is_some_and(|it: u32| all.contains(&it)) {
                all.insert(child);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

#[test]
fn the_key_is_found_nowhere() {
    let said = Said::text(&format!("your key is {KEY}"));
    let provider = ScriptedProvider::start_for_stranger([Reply::Says(said)]);
    let place = super::place(&provider);
    let forms = forms(KEY);
    // What is looked for can be found.
    for (at, form) in forms.iter().enumerate() {
        let found = std::panic::catch_unwind(|| check(&forms, "x", format!("a{form}b").as_bytes()));
        assert!(found.is_err(), "{at}: {form}");
    }
    let words = ["mitm", "--provider", "anthropic", "--", "python3", "-c", CLIENT];
    let mut command = place.command(words);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = String::new();
    for line in lines.by_ref().map(Result::unwrap) {
        if line == "READY" {
            break;
        }
        heard.push_str(&line);
    }
    assert!(heard.contains("<redacted:key>"), "{heard}");
    check(&forms, "what the client sees", heard.as_bytes());
    let pids = family(child.id());
    assert!(2 <= pids.len(), "{pids:?}");
    for pid in pids {
        for name in ["environ", "cmdline", "comm", "maps"] {
            let path = Path::new("/proc").join(pid.to_string()).join(name);
            // Our own process cannot be looked into; where it can, there is nothing to find.
            check(&forms, &path.display().to_string(), &std::fs::read(&path).unwrap_or_default());
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let files = maps.lines().filter_map(|it| it.split_once(" /").map(|(_, path)| path));
        // Programs and libraries were there before the key.
        let is_program = |it: &&str| {
            it.starts_with("usr/") || it.starts_with("lib") || it.ends_with("/ironcurtain")
        };
        for file in files.filter(|it| !is_program(it)).collect::<BTreeSet<&str>>() {
            let path = format!("/{file}");
            check(&forms, &path, &std::fs::read(&path).unwrap_or_default());
        }
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    check(&forms, "what is told", told.as_bytes());
    for (path, text) in place.files("home") {
        check(&forms, &path.display().to_string(), text.as_bytes());
    }
    for words in [&["config", "list"] as &[&str], &["config", "list", "--json"], &["audit", "show"]]
    {
        let output = place.run(words);
        check(&forms, &words.join(" "), format!("{}{}", output.stdout, output.stderr).as_bytes());
    }
    assert_eq!(provider.n_requests(), 1);
}
