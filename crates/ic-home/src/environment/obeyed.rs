//! The variables by which shells, interpreters, pagers, editors and tools of the user's are led: read, and
//! never obeyed here.
//!
//! What they name is run, or read as code, when the user opens a shell or has git show something. Those of
//! git's own are in `git.rs`. What a value names is found out elsewhere; here is only how it is read.

use std::ffi::{OsStr, OsString};

use ic_types::variable::{Obeyed, Reading};

use Reading::{Any, Code, Command, Modules, Options, Parts, Path, Paths, Programs, Prompt, Python};

/// The longest value that is read; what is longer may name any file.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What is obeyed of a directory in which programs keep their configuration or data.
const CONFIGURED: [&str; 28] = [
    // All of it: which programs look for what in there, nobody knows.
    "",
    "alacritty",
    "applications",
    "autostart",
    "bat",
    "cargo",
    "direnv",
    "emacs",
    "environment.d",
    "fish",
    "gdb",
    "git",
    "helix",
    "hypr",
    "i3",
    "kitty",
    "lesskey",
    "mise",
    "nushell",
    "nvim",
    "starship.toml",
    "sway",
    "systemd",
    "tmux",
    "vim",
    "wezterm",
    "zed",
    "zsh",
];

/// The same of one for data, in which much else lies.
const DATA: &[&str] = &[
    "applications",
    "autostart",
    "bash-completion",
    "fish",
    "gdb",
    "git",
    "nvim",
    "systemd",
    "vim",
    "zsh",
];

/// How modules are called that interpreters load.
const ELISP: &[&str] = &["*.el", "*.elc", "*.so"];
const LIBRARIES: &[&str] = &["*.so*", "*.dylib"];
const PERL: &[&str] = &["*.pm", "*.pl", "*.so"];
const NODE: &[&str] = &["*.js", "*.cjs", "*.mjs", "*.ts", "*.node", "package.json"];
const RUBY: &[&str] = &["*.rb", "*.so"];
const JAVA: &[&str] = &["*.class", "*.jar"];
const LISP: &[&str] = &["*.scm", "*.go", "*.so"];
const OTHERS: &[&str] = &["*.beam", "*.ex", "*.erl", "*.jl", "*.R", "*.so", "*.cmxs", "*.cma"];

/// Every variable that counts here, and how its value is read.
const OBEYED: [(&str, Reading); 202] = [
    // Where programs and configuration are looked for.
    ("PATH", Programs),
    ("FPATH", Programs),
    ("GOBIN", Programs),
    ("XDG_CONFIG_HOME", Parts(&CONFIGURED)),
    ("XDG_CONFIG_DIRS", Parts(&CONFIGURED)),
    ("XDG_DATA_HOME", Parts(DATA)),
    ("XDG_DATA_DIRS", Parts(DATA)),
    // Shells.
    ("BASH_ENV", Path),
    ("ENV", Path),
    ("INPUTRC", Path),
    ("ZDOTDIR", Path),
    ("PROMPT_COMMAND", Command),
    ("PS0", Prompt),
    ("PS1", Prompt),
    ("PS2", Prompt),
    ("PS4", Prompt),
    ("PROMPT", Prompt),
    ("RPROMPT", Prompt),
    ("SHELL", Command),
    ("FCEDIT", Command),
    ("STARSHIP_CONFIG", Path),
    ("DIRENV_CONFIG", Path),
    ("MISE_CONFIG_FILE", Path),
    ("MISE_CONFIG_DIR", Path),
    // Pagers, browsers, and what asks for passwords.
    ("LESSOPEN", Command),
    ("LESSCLOSE", Command),
    ("LESSEDIT", Command),
    ("LESSKEY", Path),
    ("LESSKEYIN", Path),
    ("LESSKEY_SYSTEM", Path),
    ("LESSKEYIN_SYSTEM", Path),
    ("LESS", Options("less")),
    ("MANPAGER", Command),
    ("BAT_PAGER", Command),
    ("BAT_CONFIG_PATH", Path),
    ("BAT_CONFIG_DIR", Path),
    ("DELTA_PAGER", Command),
    ("GH_PAGER", Command),
    ("GH_EDITOR", Command),
    ("GH_BROWSER", Command),
    ("GH_CONFIG_DIR", Path),
    ("BROWSER", Command),
    ("SUDO_ASKPASS", Command),
    ("SUDO_EDITOR", Command),
    ("SYSTEMD_EDITOR", Command),
    ("KUBE_EDITOR", Command),
    ("RIPGREP_CONFIG_PATH", Path),
    ("FZF_DEFAULT_COMMAND", Command),
    ("FZF_DEFAULT_OPTS", Options("fzf")),
    ("FZF_DEFAULT_OPTS_FILE", Path),
    ("GNUPGHOME", Path),
    ("SSH_SK_PROVIDER", Path),
    // Editors.
    ("VIMINIT", Code),
    ("GVIMINIT", Code),
    ("EXINIT", Code),
    ("MYVIMRC", Path),
    ("VIM", Path),
    ("VIMRUNTIME", Path),
    ("EMACSLOADPATH", Modules(ELISP)),
    ("ALTERNATE_EDITOR", Command),
    // Libraries that programs load.
    ("LD_PRELOAD", Paths),
    ("LD_AUDIT", Paths),
    ("LD_LIBRARY_PATH", Modules(LIBRARIES)),
    ("DYLD_INSERT_LIBRARIES", Paths),
    ("DYLD_LIBRARY_PATH", Modules(LIBRARIES)),
    ("DYLD_FALLBACK_LIBRARY_PATH", Modules(LIBRARIES)),
    ("GCONV_PATH", Modules(LIBRARIES)),
    ("OPENSSL_CONF", Path),
    ("OPENSSL_ENGINES", Path),
    ("OPENSSL_MODULES", Path),
    // Interpreters.
    ("PERL5LIB", Modules(PERL)),
    ("PERLLIB", Modules(PERL)),
    ("PERL5OPT", Options("perl")),
    ("PERL5DB", Code),
    ("PYTHONPATH", Python),
    ("PYTHONSTARTUP", Path),
    ("PYTHONHOME", Paths),
    ("PYTHONUSERBASE", Path),
    ("PYTHONBREAKPOINT", Options("python3 -m")),
    ("IPYTHONDIR", Path),
    ("NODE_PATH", Modules(NODE)),
    ("NODE_OPTIONS", Options("node")),
    ("RUBYLIB", Modules(RUBY)),
    ("RUBYOPT", Options("ruby")),
    ("GEM_PATH", Modules(RUBY)),
    ("GEM_HOME", Path),
    ("LUA_INIT", Code),
    ("LUA_PATH", Code),
    ("LUA_CPATH", Code),
    ("TCLLIBPATH", Paths),
    ("R_PROFILE_USER", Path),
    ("R_ENVIRON_USER", Path),
    ("JAVA_TOOL_OPTIONS", Options("java")),
    ("JDK_JAVA_OPTIONS", Options("java")),
    ("_JAVA_OPTIONS", Options("java")),
    ("CLASSPATH", Modules(JAVA)),
    ("DOTNET_STARTUP_HOOKS", Paths),
    ("PHP_INI_SCAN_DIR", Paths),
    ("PHPRC", Path),
    // Tools that install and build.
    ("MAKEFILES", Paths),
    ("MAKEFLAGS", Options("flags")),
    ("GOFLAGS", Options("flags")),
    ("CARGO_HOME", Path),
    ("RUSTUP_HOME", Path),
    ("RUSTC", Command),
    ("RUSTC_WRAPPER", Command),
    ("RUSTC_WORKSPACE_WRAPPER", Command),
    ("CC", Command),
    ("CXX", Command),
    ("PIP_CONFIG_FILE", Path),
    ("UV_CONFIG_FILE", Path),
    ("GNUMAKEFLAGS", Options("flags")),
    ("MFLAGS", Options("flags")),
    ("COMPILER_PATH", Programs),
    ("GCC_EXEC_PREFIX", Path),
    ("RUSTFLAGS", Options("flags")),
    ("CARGO_BUILD_RUSTC", Command),
    ("CARGO_BUILD_RUSTC_WRAPPER", Command),
    ("CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", Command),
    ("CARGO_BUILD_RUSTDOC", Command),
    ("CARGO_BUILD_RUSTFLAGS", Options("flags")),
    ("RUSTDOC", Command),
    ("RUSTFMT", Command),
    ("LD", Command),
    ("AR", Command),
    ("AS", Command),
    ("CPP", Command),
    ("CMAKE_TOOLCHAIN_FILE", Path),
    ("GOENV", Path),
    ("GOROOT", Path),
    ("GOTOOLDIR", Path),
    ("JAVA_HOME", Path),
    ("JAVA_OPTS", Options("java")),
    ("MAVEN_OPTS", Options("java")),
    ("MAVEN_ARGS", Options("flags")),
    ("GRADLE_OPTS", Options("java")),
    ("GRADLE_USER_HOME", Path),
    ("BUNDLE_GEMFILE", Path),
    ("BUNDLE_PATH", Path),
    ("BUNDLE_USER_CONFIG", Path),
    ("YARN_RC_FILENAME", Path),
    ("COMPOSER_HOME", Path),
    // Where tools of several versions keep them, and what else they load.
    ("PYENV_ROOT", Path),
    ("RBENV_ROOT", Path),
    ("NVM_DIR", Path),
    ("FNM_DIR", Path),
    ("VOLTA_HOME", Path),
    ("ASDF_DIR", Path),
    ("ASDF_DATA_DIR", Path),
    ("MISE_DATA_DIR", Path),
    ("SDKMAN_DIR", Path),
    ("ZSH", Path),
    ("ZSH_CUSTOM", Path),
    ("PYTHONPYCACHEPREFIX", Path),
    ("PYTHONEXECUTABLE", Path),
    ("NODE_REPL_EXTERNAL_MODULE", Path),
    ("LUA_INIT_5_1", Code),
    ("LUA_INIT_5_2", Code),
    ("LUA_INIT_5_3", Code),
    ("LUA_INIT_5_4", Code),
    ("LUA_PATH_5_3", Code),
    ("LUA_PATH_5_4", Code),
    ("LUA_CPATH_5_3", Code),
    ("LUA_CPATH_5_4", Code),
    ("GUILE_LOAD_PATH", Modules(LISP)),
    ("GUILE_LOAD_COMPILED_PATH", Modules(LISP)),
    ("ERL_LIBS", Modules(OTHERS)),
    ("ERL_FLAGS", Options("erl")),
    ("ELIXIR_ERL_OPTIONS", Options("erl")),
    ("MIX_HOME", Path),
    ("JULIA_LOAD_PATH", Modules(OTHERS)),
    ("JULIA_DEPOT_PATH", Modules(OTHERS)),
    ("R_PROFILE", Path),
    ("R_ENVIRON", Path),
    ("R_LIBS", Modules(OTHERS)),
    ("R_LIBS_USER", Modules(OTHERS)),
    ("CAML_LD_LIBRARY_PATH", Modules(OTHERS)),
    ("GTK_MODULES", Paths),
    ("GTK_PATH", Modules(LIBRARIES)),
    ("GIO_EXTRA_MODULES", Modules(LIBRARIES)),
    ("QT_PLUGIN_PATH", Modules(LIBRARIES)),
    ("SCREENRC", Path),
    ("WGETRC", Path),
    ("CURL_HOME", Path),
    ("ACKRC", Path),
    ("ACK_OPTIONS", Options("ack")),
    ("HGRCPATH", Paths),
    ("HGEDITOR", Command),
    ("SVN_EDITOR", Command),
    ("SVN_SSH", Command),
    ("CVS_RSH", Command),
    ("RSYNC_RSH", Command),
    ("DOCKER_CONFIG", Path),
    ("KUBECONFIG", Paths),
    ("AWS_CONFIG_FILE", Path),
    ("ANSIBLE_CONFIG", Path),
    ("TF_CLI_CONFIG_FILE", Path),
    ("HELM_PLUGINS", Path),
    // Where the user's git keeps, or takes, what it believes.
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", Paths),
    ("GIT_OBJECT_DIRECTORY", Path),
    ("GIT_COMMON_DIR", Path),
    ("GIT_INDEX_FILE", Path),
];

/// How npm's variables begin, in any case: it takes each for a setting, and `-` for `_`.
const NPM: &str = "npm_config_";
/// How variables of Cargo's begin that name a program for one platform, or what a command stands for.
const CARGO_TARGET: &str = "CARGO_TARGET_";
const CARGO_ALIAS: &str = "CARGO_ALIAS_";
/// Settings of npm's that are understood; of others it is only known that they may name something.
const NPM_SETTINGS: [(&str, Reading); 12] = [
    ("npm_config_node_options", Options("node")),
    ("npm_config_userconfig", Path),
    ("npm_config_globalconfig", Path),
    ("npm_config_init_module", Path),
    ("npm_config_prefix", Path),
    ("npm_config_script_shell", Command),
    ("npm_config_shell", Command),
    ("npm_config_git", Command),
    ("npm_config_editor", Command),
    ("npm_config_viewer", Command),
    ("npm_config_browser", Command),
    ("npm_config_node_gyp", Command),
];

/// Reads `variables`.
///
/// SECURITY: bytes that are not valid Unicode become U+FFFD, which stands for any characters of a name where
/// names are found out. One odd directory in `PATH` must not hide the others, nor itself.
pub(super) fn of(variables: &[(OsString, OsString)]) -> Vec<Obeyed> {
    let read = |(name, reading): &(&'static str, Reading)| {
        let found = variables.iter().find(|(it, value)| it == name && !value.is_empty());
        found.map(|(_, value)| obeyed(name, value, *reading))
    };
    let listed = OBEYED.iter().filter_map(read);
    listed.chain(variables.iter().filter_map(|it| of_npm(it).or_else(|| of_cargo(it)))).collect()
}

fn obeyed(name: &'static str, value: &OsStr, reading: Reading) -> Obeyed {
    if VALUE_BYTES_MAX < value.len() {
        let value = char::REPLACEMENT_CHARACTER.to_string();
        return Obeyed { name, value, reading: Path };
    }
    Obeyed { name, value: value.to_string_lossy().into_owned(), reading }
}

fn of_npm((name, value): &(OsString, OsString)) -> Option<Obeyed> {
    let name = name.to_str()?.to_ascii_lowercase().replace('-', "_");
    if !name.starts_with(NPM) || value.is_empty() {
        return None;
    }
    match NPM_SETTINGS.iter().find(|(it, _)| *it == name) {
        Some((name, reading)) => Some(obeyed(name, value, *reading)),
        // A flag or a number names nothing.
        None if !value.as_encoded_bytes().contains(&b'/') => None,
        None => Some(obeyed(NPM, value, Any)),
    }
}

/// `CARGO_TARGET_<platform>_RUNNER` and the like, and aliases.
fn of_cargo((name, value): &(OsString, OsString)) -> Option<Obeyed> {
    let name = name.to_str().filter(|_| !value.is_empty())?;
    let is_runner = ["_RUNNER", "_LINKER", "_RUSTFLAGS"].iter().any(|end| name.ends_with(end));
    match name.starts_with(CARGO_TARGET) && is_runner {
        true => Some(obeyed(CARGO_TARGET, value, Command)),
        false => name.starts_with(CARGO_ALIAS).then(|| obeyed(CARGO_ALIAS, value, Any)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn what_is_set_is_read_and_nothing_else() {
        let pairs = [("PATH", "/w/bin:"), ("BASH_ENV", ""), ("OTHER", "/w/x"), ("VIMINIT", "q")];
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.into(), value.into())).to_vec();
        let found: Vec<_> = of(&pairs).into_iter().map(|it| (it.name, it.value)).collect();
        assert_eq!(found, [("PATH", "/w/bin:".to_owned()), ("VIMINIT", "q".to_owned())]);
    }

    #[test]
    fn what_is_not_unicode_is_read_with_the_rest() {
        let value = OsString::from_vec(b"/w/bin:/x/\xff\xfe/bin".to_vec());
        let found = of(&[("PATH".into(), value)]);
        let values: Vec<_> = found.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(values, ["/w/bin:/x/\u{fffd}\u{fffd}/bin"]);
    }

    #[test]
    fn what_is_too_long_may_name_any_file() {
        let long = OsString::from("/x".repeat(VALUE_BYTES_MAX));
        let found = of(&[("PATH".into(), long)]);
        assert!(matches!(&*found, [it] if it.value == "\u{fffd}" && it.reading == Path));
    }

    #[test]
    fn variables_of_npm_are_read_however_they_are_spelled() {
        for name in
            ["npm_config_script_shell", "NPM_CONFIG_Script-Shell", "Npm_Config_script-shell"]
        {
            let found = of(&[(name.into(), "/w/s".into())]);
            let expected = ("npm_config_script_shell", Command);
            assert!(matches!(&*found, [it] if (it.name, it.reading) == expected), "{name}");
        }
        let found = of(&[("NPM_CONFIG_NODE_OPTIONS".into(), "-r /w/x".into())]);
        assert!(matches!(&*found, [it] if it.reading == Options("node")));
        let found = of(&[("npm_config_unheard_of".into(), "/w/x".into())]);
        assert!(matches!(&*found, [it] if it.reading == Any));
        assert!(of(&[("npm_config_fund".into(), "false".into())]).is_empty());
        let found = of(&[("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER".into(), "/w/r".into())]);
        assert!(matches!(&*found, [it] if it.reading == Command));
    }

    #[test]
    fn no_variable_is_listed_twice() {
        for (nth, (name, _)) in OBEYED.iter().enumerate() {
            assert!(OBEYED.iter().skip(nth + 1).all(|(other, _)| other != name), "{name}");
        }
    }
}
