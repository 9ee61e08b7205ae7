//! A directory with programs and things that are none, and every way to name them.

#![expect(clippy::disallowed_methods, reason = "tests make the files that they look for")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        for directory in ["bin", "work/bin", "closed"] {
            fs::create_dir_all(place.path(directory)).expect("a directory");
        }
        place.file("bin/tool", 0o755);
        place.file("bin/notes", 0o644);
        place.file("bin/text", 0o755);
        fs::write(place.path("bin/text"), "touch owned\n").expect("a file");
        place.file("work/bin/own", 0o755);
        place.file("work/planted", 0o755);
        fs::create_dir(place.path("bin/folder")).expect("a directory");
        symlink("tool", place.path("bin/link")).expect("a link");
        symlink("nowhere", place.path("bin/dangling")).expect("a link");
        symlink("circle", place.path("bin/circle")).expect("a link");
        place
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    fn file(&self, relative: &str, mode: u32) {
        fs::write(self.path(relative), "#!/bin/sh\n").expect("a file");
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.path(relative), permissions).expect("a mode");
    }

    /// Looks for `program`, with `@` for the place in `program`, `path` and what is expected.
    #[track_caller]
    fn check(&self, program: &str, path: Option<&str>, expected: &str) {
        let root = self.0.path().to_str().expect("UTF-8");
        let at = |text: &str| text.replace('@', root);
        let environment: Vec<_> =
            path.iter().map(|path| ("PATH".into(), at(path).into())).collect();
        let found = find_program(Path::new(&at(program)), &self.path("work"), &environment);
        let told = match found {
            Ok(file) => file.display().to_string(),
            Err(error) => {
                assert!(!error.remedy().is_empty());
                error.to_string()
            }
        };
        assert_eq!(told, at(expected), "{program} in {path:?}");
    }
}

#[test]
fn a_bare_name_is_looked_up_in_the_path_that_was_written_out() {
    let place = Place::new();
    place.check("tool", Some("/nowhere:@/bin"), "@/bin/tool");
    place.check("tool", Some("@/bin/notes:@/bin"), "@/bin/tool");
    place.check("link", Some("@/bin"), "@/bin/link");
    place.check("tool", Some("/nowhere"), "there is no program `tool` in `/nowhere`");
    place.check("tool", Some(""), "there is no program `tool` in ``");
    place.check("tool", None, "cannot look for the program `tool`: its environment has no `PATH`");
    place.check("", Some("@/bin"), "no program is named");
    place.check("notes", Some("@/bin"), "the program `@/bin/notes` is not executable");
    place.check("folder", Some("@/bin"), "`@/bin/folder` is not a program: it is not a file");
}

#[test]
fn no_part_of_the_path_means_the_working_directory() {
    let place = Place::new();
    for path in ["", ":", ".", "./", "bin:", "../work", "::."] {
        place.check("planted", Some(path), &format!("there is no program `planted` in `{path}`"));
    }
    // Wherever we are ourselves, this leads to a program, but it is not absolute.
    let path = format!("{}@/bin", "../".repeat(64));
    place.check("tool", Some(&path), &format!("there is no program `tool` in `{path}`"));
}

#[test]
fn a_path_with_a_slash_starts_at_the_directory_of_the_child() {
    let place = Place::new();
    place.check("bin/own", None, "@/work/bin/own");
    place.check("./planted", None, "@/work/./planted");
    place.check("../bin/tool", None, "@/work/../bin/tool");
    place.check("@/bin/tool", None, "@/bin/tool");
    place.check("bin/tool", Some("@/bin"), "there is no program `@/work/bin/tool`");
}

#[test]
fn what_cannot_run_is_said() {
    let place = Place::new();
    place.check("@/bin/none", None, "there is no program `@/bin/none`");
    place.check("@/bin/tool/x", None, "there is no program `@/bin/tool/x`");
    place.check("@/bin/dangling", None, "there is no program `@/bin/dangling`");
    place.check("@/bin/notes", None, "the program `@/bin/notes` is not executable");
    place.check(
        "@/bin/text",
        None,
        "`@/bin/text` is neither a script nor a program for this system",
    );
    place.check("@/bin", None, "`@/bin` is not a program: it is not a file");
    place.check("/dev/null", None, "`/dev/null` is not a program: it is not a file");
    place.check("@/bin/circle", None, "cannot look at the program `@/bin/circle`");
    place.check("a\0/b", None, "cannot look at the program `@/work/a\0/b`");
}

#[test]
fn the_last_path_counts() {
    let place = Place::new();
    let environment = [("PATH", "/nowhere".into()), ("PATH", place.path("bin"))]
        .map(|(name, value)| (OsString::from(name), value.into_os_string()));
    let found = find_program(Path::new("tool"), &place.path("work"), &environment);
    assert_eq!(found, Ok(place.path("bin/tool")));
}
