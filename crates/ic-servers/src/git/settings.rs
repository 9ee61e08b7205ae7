//! Which settings of a repository's config are refused, which reach git, and which stay behind.
//!
//! An agent can write the config. So git never reads it: what it reads is a copy of ours with the
//! few settings that say how files and branches of this repository are kept. A setting that can run
//! something or lead elsewhere is not only left out but refused, since whoever put it there meant
//! something by it, and the user's own git would obey. Nothing is read from a disk here.

use std::fmt::Write as _;

use ic_resolve::git::config::Setting;

/// The sections in which every setting is refused, with their subsections.
const REFUSED_SECTIONS: [&str; 17] = [
    "alias",
    "browser",
    "credential",
    "difftool",
    "filter",
    "guitool",
    "include",
    "includeif",
    "instaweb",
    "man",
    "mergetool",
    "pager",
    "protocol",
    "sendemail",
    "sequence",
    "tar",
    "web",
];

/// The settings that are refused, in any subsection.
const REFUSED: [(&str, &str); 40] = [
    ("blame", "ignorerevsfile"),
    ("commit", "template"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "attributesfile"),
    ("core", "editor"),
    ("core", "excludesfile"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("core", "worktree"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "orderfile"),
    ("diff", "textconv"),
    ("fetch", "bundleuri"),
    ("fsck", "skiplist"),
    ("gpg", "defaultkeycommand"),
    ("gpg", "program"),
    ("help", "browser"),
    ("http", "cookiefile"),
    ("http", "curloptresolve"),
    ("http", "proxy"),
    ("http", "sslcert"),
    ("http", "sslkey"),
    ("init", "templatedir"),
    ("interactive", "difffilter"),
    ("lfs", "path"),
    ("mailmap", "file"),
    ("merge", "driver"),
    ("remote", "proxy"),
    ("remote", "proxyauthmethod"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
    ("submodule", "update"),
    ("trailer", "cmd"),
    ("trailer", "command"),
    ("uploadpack", "packobjectshook"),
];

/// The last parts of settings that are refused in every section: they name programs.
const REFUSED_KEYS: [&str; 3] = ["textconv", "program", "sshcommand"];

/// The extensions of a repository that change nothing about where its parts are.
const KNOWN_EXTENSIONS: [&str; 3] = ["noop", "objectformat", "preciousobjects"];

/// The settings that reach git.
const KEPT: [(&str, &str); 28] = [
    ("branch", "merge"),
    ("branch", "pushremote"),
    ("branch", "remote"),
    ("core", "autocrlf"),
    ("core", "bigfilethreshold"),
    ("core", "checkstat"),
    ("core", "eol"),
    ("core", "filemode"),
    ("core", "ignorecase"),
    ("core", "precomposeunicode"),
    ("core", "safecrlf"),
    ("core", "sharedrepository"),
    ("core", "sparsecheckout"),
    ("core", "sparsecheckoutcone"),
    ("core", "symlinks"),
    ("core", "trustctime"),
    ("core", "whitespace"),
    ("diff", "algorithm"),
    ("diff", "renamelimit"),
    ("extensions", "objectformat"),
    ("merge", "conflictstyle"),
    ("merge", "renamelimit"),
    ("merge", "renames"),
    ("remote", "fetch"),
    ("remote", "pushurl"),
    ("remote", "url"),
    ("user", "email"),
    ("user", "name"),
];

/// Whose the commits are if neither the call nor the repository says so.
const NOBODY: &str = "[user]\n\tname = IronCurtain agent\n\temail = agent@ironcurtain.invalid\n";

/// Returns why a config cannot be used, if it cannot.
pub(super) fn refusal(settings: &[Setting]) -> Option<String> {
    settings.iter().find(|setting| is_refused(setting)).map(|setting| {
        let Setting { section, subsection, key, .. } = setting;
        let name = match subsection {
            Some(subsection) => format!("{section}.{subsection}.{key}"),
            None => format!("{section}.{key}"),
        };
        let name = name.escape_debug();
        format!(
            "its configuration sets `{name}`, which can run a program or lead elsewhere, so the git \
             tools do not work here; filesystem tools do. To use them, the user can move the setting \
             to `~/.gitconfig`, or take it out with `git config --unset-all '{name}'`"
        )
    })
}

fn is_refused(setting: &Setting) -> bool {
    let Setting { section, key, value, .. } = setting;
    let (section, key) = (section.as_str(), key.as_str());
    match (section, key) {
        ("core", "fsmonitor") => !is_false(value),
        ("extensions", key) => !KNOWN_EXTENSIONS.contains(&key),
        (section, _) if section.starts_with("include") => true,
        (section, key) => {
            REFUSED_SECTIONS.contains(&section)
                || REFUSED.contains(&(section, key))
                || REFUSED_KEYS.contains(&key)
        }
    }
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0" | "")
}

/// Writes the config that git reads.
pub(super) fn private(settings: &[Setting]) -> String {
    let has_extensions = settings.iter().any(|setting| setting.section == "extensions");
    let version = u8::from(has_extensions);
    let mut text =
        format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{NOBODY}");
    let kept = settings
        .iter()
        .filter(|setting| KEPT.contains(&(setting.section.as_str(), setting.key.as_str())));
    for Setting { section, subsection, key, value } in kept {
        let head = match subsection {
            Some(subsection) => format!("[{section} \"{}\"]", escaped(subsection)),
            None => format!("[{section}]"),
        };
        // Written with every escape that git knows, so that a value stays one value.
        let _ = writeln!(text, "{head}\n\t{key} = \"{}\"", escaped(value));
    }
    text
}

pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '"' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_resolve::git::config::parse;

    #[track_caller]
    fn refused(text: &str) -> Option<String> {
        refusal(&parse(text).unwrap())
    }

    #[test]
    fn what_runs_programs_or_leads_elsewhere_is_refused() {
        for name in [
            "core.sshCommand",
            "core.fsmonitor",
            "core.hooksPath",
            "core.worktree",
            "core.askPass",
            "core.pager",
            "core.editor",
            "core.gitProxy",
            "core.attributesFile",
            "core.excludesFile",
            "core.alternateRefsCommand",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "filter.x.required",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "merge.x.driver",
            "gpg.program",
            "gpg.ssh.program",
            "gpg.ssh.defaultKeyCommand",
            "credential.helper",
            "credential.https://x.helper",
            "remote.o.vcs",
            "remote.o.uploadpack",
            "remote.o.receivepack",
            "remote.o.proxy",
            "submodule.x.update",
            "include.path",
            "includeIf.gitdir:/.path",
            "alias.status",
            "sequence.editor",
            "pager.log",
            "interactive.diffFilter",
            "uploadpack.packObjectsHook",
            "extensions.worktreeConfig",
            "extensions.partialClone",
            "extensions.refStorage",
            "trailer.x.command",
            "mergetool.x.cmd",
            "protocol.ext.allow",
            "commit.template",
            "mailmap.file",
            "browser.x.cmd",
            "man.x.cmd",
            "http.proxy",
        ] {
            let (section, key) = name.rsplit_once('.').unwrap();
            let head = match section.split_once('.') {
                Some((section, subsection)) => format!("[{section} \"{subsection}\"]"),
                None => format!("[{section}]"),
            };
            for case in [str::to_owned, str::to_uppercase as fn(&str) -> String] {
                let text = format!("{head}\n{} = x\n", case(key));
                assert!(refused(&text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn what_says_how_a_repository_is_kept_is_not() {
        let text = "[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\n\
                    logallrefupdates = true\nfsmonitor = false\n[remote \"origin\"]\n\
                    url = https://x.example/a\nfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n\
                    [user]\nname = Ada\n[lfs]\nrepositoryformatversion = 0\n\
                    [submodule \"x\"]\nactive = true\nurl = https://x.example/b\n\
                    [url \"https://y.example/\"]\ninsteadOf = x:\n";
        assert_eq!(refused(text), None);
    }

    #[test]
    fn git_reads_only_what_is_kept() {
        let settings = parse(
            "[core]\nfilemode = false\nautocrlf = input\nbare = true\n[log]\nshowSignature = true\n\
             [branch \"a\\\"b\\\\c\"]\nmerge = \"x\\ny\\\"[alias] z = !x\"\n[gc]\nauto = 1\n\
             [extensions]\nobjectFormat = sha256\n",
        )
        .unwrap();
        let read = parse(&private(&settings)).unwrap();
        let names: Vec<String> = read
            .iter()
            .map(|it| format!("{}|{:?}|{}={:?}", it.section, it.subsection, it.key, it.value))
            .collect();
        assert_eq!(
            names,
            [
                "core|None|repositoryformatversion=\"1\"",
                "core|None|bare=\"false\"",
                "user|None|name=\"IronCurtain agent\"",
                "user|None|email=\"agent@ironcurtain.invalid\"",
                "core|None|filemode=\"false\"",
                "core|None|autocrlf=\"input\"",
                "branch|Some(\"a\\\"b\\\\c\")|merge=\"x\\ny\\\"[alias] z = !x\"",
                "extensions|None|objectformat=\"sha256\"",
            ]
        );
    }
}
