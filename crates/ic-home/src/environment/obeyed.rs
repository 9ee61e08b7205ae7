//! The variables by which shells, interpreters, pagers, editors and tools of the user's are led: read, and
//! never obeyed here.
//!
//! What they name is run, or read as code, when the user opens a shell or has git show something. Those of
//! git's own are in `git.rs`. What a value names is found out elsewhere; here is only how it is read.

use std::ffi::OsString;

use ic_types::variable::{Obeyed, Reading};

use Reading::{Code, Command, Modules, Options, Parts, Path, Paths, Programs, Prompt, Python};

/// The longest value that is read; what is longer counts as far as it was read.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What is obeyed of a directory in which programs keep their configuration or data.
const CONFIGURED: [&str; 26] = [
    "alacritty",
    "applications",
    "autostart",
    "bat",
    "cargo",
    "direnv",
    "emacs",
    "environment.d",
    "fish",
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

/// Every variable that counts here, and how its value is read.
const OBEYED: [(&str, Reading); 119] = [
    // Where programs and configuration are looked for.
    ("PATH", Programs),
    ("FPATH", Programs),
    ("GOBIN", Programs),
    ("XDG_CONFIG_HOME", Parts(&CONFIGURED)),
    ("XDG_CONFIG_DIRS", Parts(&CONFIGURED)),
    ("XDG_DATA_HOME", Parts(&CONFIGURED)),
    ("XDG_DATA_DIRS", Parts(&CONFIGURED)),
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
    ("EMACSLOADPATH", Modules("*.el")),
    ("ALTERNATE_EDITOR", Command),
    // Libraries that programs load.
    ("LD_PRELOAD", Paths),
    ("LD_AUDIT", Paths),
    ("LD_LIBRARY_PATH", Modules("*.so*")),
    ("DYLD_INSERT_LIBRARIES", Paths),
    ("DYLD_LIBRARY_PATH", Modules("*.dylib")),
    ("DYLD_FALLBACK_LIBRARY_PATH", Modules("*.dylib")),
    ("GCONV_PATH", Modules("*.so*")),
    ("OPENSSL_CONF", Path),
    ("OPENSSL_ENGINES", Path),
    ("OPENSSL_MODULES", Path),
    // Interpreters.
    ("PERL5LIB", Modules("*.pm")),
    ("PERLLIB", Modules("*.pm")),
    ("PERL5OPT", Options("perl")),
    ("PERL5DB", Code),
    ("PYTHONPATH", Python),
    ("PYTHONSTARTUP", Path),
    ("PYTHONHOME", Paths),
    ("PYTHONUSERBASE", Path),
    ("PYTHONBREAKPOINT", Options("python3 -m")),
    ("IPYTHONDIR", Path),
    ("NODE_PATH", Modules("*.js")),
    ("NODE_OPTIONS", Options("node")),
    ("RUBYLIB", Modules("*.rb")),
    ("RUBYOPT", Options("ruby")),
    ("GEM_PATH", Modules("*.rb")),
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
    ("CLASSPATH", Modules("*.class")),
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
    ("NPM_CONFIG_USERCONFIG", Path),
    ("NPM_CONFIG_GLOBALCONFIG", Path),
    ("NPM_CONFIG_SCRIPT_SHELL", Command),
    ("NPM_CONFIG_GIT", Command),
    ("npm_config_userconfig", Path),
    ("npm_config_globalconfig", Path),
    ("npm_config_script_shell", Command),
    ("npm_config_git", Command),
    ("PIP_CONFIG_FILE", Path),
    ("UV_CONFIG_FILE", Path),
];

/// Reads `variables`.
///
/// SECURITY: bytes that are not valid Unicode become U+FFFD, which stands for any characters of a name where
/// names are found out. One odd directory in `PATH` must not hide the others, nor itself.
pub(super) fn of(variables: &[(OsString, OsString)]) -> Vec<Obeyed> {
    let read = |(name, reading): &(&'static str, Reading)| {
        let found = variables.iter().find(|(it, value)| it == name && !value.is_empty());
        let value = found?.1.to_string_lossy();
        let mut end = value.len().min(VALUE_BYTES_MAX);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let value = value.get(..end)?.to_owned();
        Some(Obeyed { name, value, reading: *reading })
    };
    OBEYED.iter().filter_map(read).collect()
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
        let long = OsString::from_vec([vec![0xff; VALUE_BYTES_MAX], b"/x".to_vec()].concat());
        assert!(of(&[("PATH".into(), long)]).iter().all(|it| it.value.len() <= VALUE_BYTES_MAX));
    }

    #[test]
    fn no_variable_is_listed_twice() {
        for (nth, (name, _)) in OBEYED.iter().enumerate() {
            assert!(OBEYED.iter().skip(nth + 1).all(|(other, _)| other != name), "{name}");
        }
    }
}
