//! Names that count, and names that only look like them.

use std::collections::HashMap;

use super::*;
use crate::bounds::HomeExecutes;

#[test]
fn names_that_are_options_are_known() {
    for name in ["-", "-rf", "--checkpoint=1", "+!sh x.sh", "+", "+so x", "+page", "+page.a b"] {
        assert!(is_option(OsStr::new(name)), "{name}");
    }
    for name in
        ["a-b", "a+b.h", "+page.svelte", "+layout.server.ts", "+page@.svelte", "+server.ts", ""]
    {
        assert!(!is_option(OsStr::new(name)), "{name}");
    }
}

#[test]
fn files_beside_a_program_count_by_their_ending() {
    for (name, counts) in [
        ("p-gdb.py", true),
        ("build/p-GDB.gdb", true),
        ("p-gdb.scm", true),
        ("gdb.py", false),
        ("p-gdb.py/x", false),
        ("vendor/p-gdb.py", false),
    ] {
        assert_eq!(is_listed(std::path::Path::new(name).iter()), counts, "{name}");
    }
}

/// How the directories above the home are called makes nothing free.
#[test]
fn a_home_beneath_a_directory_that_is_called_like_packages_is_guarded() {
    let path = |text: &str| CanonicalPath::new(text).unwrap();
    let names = ["/srv/vendor/u/.bashrc", "/srv/vendor/u/.cargo/bin"].map(path);
    let home_executes = names.map(|path| HomeExecutes { path, reach: Reach::Itself }).to_vec();
    let (sandbox, protected, servers) = (None, Vec::new(), HashMap::new());
    let bounds = Bounds { sandbox, protected, home_executes, servers };
    for (at, counts) in [
        ("/srv/vendor/u/Downloads/.envrc", true),
        ("/srv/vendor/u/.cargo/config.toml", true),
        ("/srv/vendor/u/Downloads/a.txt", false),
        ("/srv/vendor/u/Downloads/vendor/.envrc", false),
        ("/opt/vendor/u/.envrc", false),
    ] {
        assert_eq!(bounds.host_executes(&path(at)), counts, "{at}");
    }
}

/// Files that tools read by themselves and that can name what is loaded; and settings that are edited every day.
#[test]
fn names_that_tools_read_by_themselves_are_known() {
    for name in [
        ".cfnlintrc",
        "a/.cfnlintrc.yaml",
        ".flaskenv",
        ".rspec",
        "ansible.cfg",
        "tools/bazel",
        "a/tools/bazel",
        ".bundle/config",
        "NuGet.Config",
        "hie.yaml",
        ".vim/coc-settings.json",
        "jupyter_server_config.py",
        ".autoenv.zsh",
    ] {
        assert!(is_listed(std::path::Path::new(name).iter()), "{name}");
    }
    for name in [
        ".eslintrc.json",
        ".prettierrc",
        ".babelrc",
        ".flake8",
        ".coveragerc",
        ".editorconfig",
        ".env.example",
        ".rubocop.yml",
        ".dockerignore",
        ".yamllint",
        "jest.config.js",
        "mypy.ini",
        "tox.ini",
        "pytest.ini",
        "setup.cfg",
        "pyproject.toml",
        "tsconfig.json",
        "tools/bazel/x",
        "bazel",
        "cfnlintrc",
        "node_modules/x/.rspec",
    ] {
        assert!(!is_listed(std::path::Path::new(name).iter()), "{name}");
    }
}

/// No name stands there twice, and each is spelled as it is compared.
#[test]
fn names_are_listed_once() {
    let mut seen = std::collections::HashSet::new();
    for name in LISTED_NAMES {
        let text = name.components.join("/").to_lowercase();
        assert!(seen.insert(text.clone()), "{text}");
        for spelled in [text.to_uppercase(), format!("a/b/{text}"), text] {
            assert!(is_listed(std::path::Path::new(&spelled).iter()), "{spelled}");
        }
    }
}
