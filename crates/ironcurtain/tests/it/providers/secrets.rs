//! The key goes to the provider, in its header, and is seen nowhere else.

use ic_testkit::Place;
use ic_testkit::provider::{KEY, Reply, Said};
use rustix::process::Signal;

use super::{World, for_all};

/// A script that looks for the key wherever a script could.
const SPY: &str = "const seen: string[] = [];\n\
    for (const name of Object.getOwnPropertyNames(globalThis)) {\n\
      try { seen.push(name + JSON.stringify((globalThis as any)[name])); } catch (e) {}\n\
    }\n\
    for (const path of ['/proc/self/environ', '/proc/1/environ', '~/.ironcurtain/config.json']) {\n\
      try { seen.push(filesystem.read_text_file({path})); } catch (e) { seen.push(String(e)); }\n\
    }\n\
    filesystem.write_file({path: 'seen.txt', content: seen.join('\\n')});";

#[test]
fn the_key_is_in_the_header_and_nowhere_else() {
    for_all(|format| {
        let script = [
            Reply::Says(Said::code(&[SPY])),
            Reply::Says(Said::code(&["console.log('and now?')"]).saying("I have looked.")),
            // It hangs, so that we can look around.
            Reply::HangsAfter(0, Said::text("x")),
        ];
        let world = World::new(format, script);
        let started = world.begin(&[], "look for the key");
        world.provider.until_asked(3);
        let processes = started.descendants();
        assert!(4 <= processes.len(), "{processes:?}");
        for pid in processes.into_iter().chain([started.pid()]) {
            for file in ["environ", "cmdline"] {
                let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains(KEY), "{format}: {file} of {pid} holds it");
            }
        }
        started.send(Signal::INT);
        let output = started.end();
        assert!(!output.stdout.contains(KEY), "{format}: {output:?}");
        assert!(!output.stderr.contains(KEY), "{format}: {output:?}");
        assert!(world.desk.read("work/seen.txt").is_some(), "it has looked: {output:?}");
        assert!(3 < search(&world.desk.place), "{format}");
        for request in world.provider.requests() {
            let mut carrying = request.headers.iter().filter(|(_, value)| value.contains(KEY));
            let (name, _) = carrying.next().unwrap();
            assert_eq!((name.as_str(), carrying.next()), (format.key_header(), None), "{format}");
            assert!(!request.path.contains(KEY), "{format}");
        }
    });
}

/// How the key begins in base64, at each of the three places where it can, and with escapes of a URL.
const SPELLINGS: [&str; 5] =
    [KEY, "c2stc2NyaXB0ZWQt", "NrLXNjcmlwdGVk", "zay1zY3JpcHRlZ", "sk%2Dscripted%2D"];

/// Returns whether the key stands in a text, in one of its spellings.
pub(super) fn holds_key(text: &str) -> bool {
    SPELLINGS.iter().any(|it| text.contains(it))
}

/// Looks for the key in every file of `place`, and returns how many there are.
#[track_caller]
pub(super) fn search(place: &Place) -> usize {
    let files = place.files("");
    for (path, text) in &files {
        assert!(!holds_key(text), "{} holds the key: {text}", path.display());
    }
    files.len()
}
