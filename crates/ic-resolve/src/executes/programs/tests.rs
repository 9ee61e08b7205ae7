//! What commands of settings name, by table.

use super::*;

fn shown(text: &str) -> Vec<String> {
    shown_when(text, When::ByItself)
}

fn shown_when(text: &str, when: When) -> Vec<String> {
    let shown = names(text, when).into_iter().map(|name| match name {
        Name::Path(it) | Name::Glob(it) => it,
        Name::Anywhere(it) => format!("**/{it}"),
        Name::Package(it) => format!("package {it}"),
        Name::Inside(it, kind) => format!("{it}/{kind}"),
        Name::Open { before, after } => format!("{before}…{after}"),
        Name::Everything => "everything".to_owned(),
    });
    shown.collect()
}

/// Checks that a text names each of these, and if nothing is expected, nothing at all.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = shown(text);
    for name in expected {
        assert!(found.iter().any(|it| it == name), "{text}: {name} is not in {found:?}");
    }
    assert!(!expected.is_empty() || found.is_empty(), "{text}: {found:?}");
}

#[test]
fn words_are_paths() {
    check("sh tools/x.sh", &["tools/x.sh"]);
    check("sh 'my dir/run.sh'", &["my dir/run.sh"]);
    check("./tools/x --config=a/b -Ilib/c", &["./tools/x", "a/b", "lib/c"]);
    check("PATH=tools/bin:$PATH x", &["tools/bin"]);
    check("sh -c 'exec tools/x'", &["tools/x"]);
    check("env -i A=b timeout 5 tools/x", &["tools/x"]);
    check("for f in tools/*.sh; do sh $f; done", &["tools/*.sh"]);
    check("vim", &[]);
    check("git-lfs clean -- %f", &["clean"]);
}

#[test]
fn what_is_left_open_leaves_its_neighbours() {
    check("sh tools/*.sh", &["tools/*.sh"]);
    check("sh tools/$NAME/run.sh", &["tools…/run.sh"]);
    check("sh tools/$(uname).sh", &["tools…*.sh"]);
    check("sh run-$X.sh", &["run-*"]);
    check("$(git rev-parse --show-toplevel)/tools/x", &["tools/x"]);
    check("$PWD/tools/x", &["tools/x"]);
    check("$SOMEWHERE/tools/x", &["…/tools/x"]);
    check("cd ${GIT_PREFIX:-.} && ./x.sh", &["./x.sh", "**/./x.sh"]);
    check("cd tools && sh x.sh", &["tools", "tools/x.sh"]);
    check("sh -c \"$1\"", &[]);
    check("f() { git log $1; }; f", &[]);
}

/// Whatever a shell makes of a part, the file is beneath what stands before it, or ends like what is after.
#[test]
fn what_is_known_of_a_word_is_its_beginning_and_its_end() {
    for text in [
        "sh $DEV/ws/tools/ed.sh",
        "sh \"${DEV}/ws/tools/ed.sh\"",
        "sh ~root/ws/tools/ed.sh",
        "sh ~+/ws/tools/ed.sh",
        "sh `cat x`/ws/tools/ed.sh",
        "sh {/a,/b}/ws/tools/ed.sh",
        "sh {a,{b,c/d}}/ws/tools/ed.sh",
        "env BASH_ENV=$HOME/ws/tools/ed.sh bash",
        "env BASH_ENV=~root/ws/tools/ed.sh bash",
        "make -f$DEV/ws/tools/ed.sh",
        "D=~; sh $D/ws/tools/ed.sh",
        "D=..; sh $D/ws/tools/ed.sh",
        "sh @(a|b)/ws/tools/ed.sh",
        "sh ${HOME%/*}/ws/tools/ed.sh",
        "sh ${PWD%/*}/ws/tools/ed.sh",
        "sh ${!X}/ws/tools/ed.sh",
        "sh /proc/self/cwd/ws/tools/ed.sh",
        "sh ${X:-${Y}/a}/ws/tools/ed.sh",
    ] {
        check(text, &["…/ws/tools/ed.sh"]);
    }
    check("cd $DEV && sh ws/tools/ed.sh", &["**/ws/tools/ed.sh"]);
    check("sh ~/$X/ed.sh", &["~…/ed.sh"]);
    check("sh /h/*/ws/$X", &["/h…"]);
    check("sh ~/$X", &["~…"]);
    check("sh ${X}ools/ed.sh", &["…*ools/ed.sh"]);
    check("$X.sh", &["…*.sh"]);
    check("bash -c '. {tools/ed,lib/y}.sh'", &["…*.sh"]);
    check("sh $\"tools/ed.sh\"", &["tools/ed.sh"]);
    check("sh sub/*/../tools/ed.sh", &["…sub/*/../tools/ed.sh"]);
    check("PATH=$DEV/ws:$PATH x", &["**/ws/***program"]);
    check("PATH=~/ws:$PATH x", &["~/ws/***program"]);
    check("env PATH=$W:$PATH x", &[ANY]);
    check_known("PATH=/opt/x:$PATH x");
    check("perl -I$DEV/ws -MEd -e1", &["**/ws/*.pm"]);
    check("sh -c \"$(echo eA== | base64 -d)\"", &[ANY]);
    check("python3 -c \"$X\"", &[ANY]);
    check("N=tools/ed.shx; sh ${N%x}", &[ANY]);
    check("sh ${!N}", &[ANY]);
    // Where nothing is run, a beginning alone is none.
    check("cd ~/$X", &["…"]);
    // What the user types is meant.
    check("sh ~/scripts/$1.sh", &["~/scripts"]);
}

#[test]
fn what_is_too_deep_or_too_much_names_everything() {
    check(&format!("{}sh tools/x", "true;".repeat(5000)), &["everything"]);
    let mut text = "sh tools/x".to_owned();
    for _ in 0..12 {
        text = format!("sh -c \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    }
    check(&text, &["everything"]);
    check(&format!("{}sh tools/x", "true;".repeat(300)), &["tools/x"]);
}

/// What stands for any file that may be a program.
const ANY: &str = "**/***program";

/// Checks that a text names no program which only the shell knows.
#[track_caller]
fn check_known(text: &str) {
    let found = shown(text);
    assert!(!found.iter().any(|it| it == ANY || it == "everything"), "{text}: {found:?}");
}

#[test]
fn a_program_that_only_the_shell_knows_is_any_that_may_be_one() {
    check("$(cat tools/name)", &[ANY, "tools/name"]);
    check("sh $(ls tools | head -1)", &[ANY, "tools"]);
    check("ls tools | xargs sh", &[ANY, "tools"]);
    check("xargs -a list sh; true", &[ANY, "list"]);
    check("cat list | while read f; do sh $f; done", &[ANY, "list"]);
    check("for f in *; do . ./$f; done", &[ANY]);
    check("git diff --name-only | xargs -n1 python3", &[ANY]);
    check("git ls-files | xargs -I % sh %", &[ANY]);
    check("git ls-files | xargs -I{} sh -e {}", &[ANY]);
    check("git ls-files src | parallel bash", &[ANY]);
    check("find . -name x -exec {} \\;", &[ANY]);
    check("find . -type f -exec sh -c '. $0' {} \\;", &[ANY]);
    check("ls | sed s/txt/sh/ | xargs sh", &[ANY]);
    check("$TOOL --check", &[ANY]);
    check("env A=b $TOOL", &[ANY]);
    check("timeout 5s $TOOL", &[ANY]);
    check("sh -o errexit $X", &[ANY]);
    check("sh -e $X", &[ANY]);
    check("python3 -X dev -Wignore $X", &[ANY]);
    check("perl -Mstrict -w $X", &[ANY]);
    check("ruby -rset $X", &[ANY]);
    check("A=to B=ol; sh $A$B", &[ANY]);
    check("PATH=.:$PATH run", &["***program"]);
    check("PATH=:$PATH run", &["***program"]);
    check("git show HEAD:tools/x | sh", &["tools/x"]);
    check("cat $(ls) | sh", &[ANY]);
}

#[test]
fn a_pattern_in_the_same_text_says_which_they_may_be() {
    for text in [
        "find . -name '*.sh' -exec sh {} \\;",
        "find . -name '*.sh' -print0 | xargs -0 -n1 sh; true",
        "f(){ for x in $(git ls-files '*.sh'); do sh $x; done; }; f",
        "git ls-files '*.sh' | xargs -I{} sh {}; true",
        "git ls-files '*.sh' | xargs -I % sh %; true",
        "git ls-files 'tools/*.sh' | while read f; do sh $f; done; true",
        "ls *.sh | sort | xargs sh",
    ] {
        check(text, &["**/*.sh"]);
        check_known(text);
    }
    // Of what is listed besides nothing is known.
    check("(git ls-files '*.sh'; cat list) | xargs sh", &[ANY]);
    check("git ls-files '*.sh' src | xargs sh", &[ANY]);
}

#[test]
fn what_is_known_or_typed_is_not_any_program() {
    for text in [
        "find . -name '*.orig' -exec rm {} \\;",
        "git branch | xargs git branch -D",
        "git branch -vv | grep gone | awk '{print $1}' | xargs git branch -D",
        "git branch | fzf | xargs git checkout",
        "git diff --name-only | xargs code",
        "git diff --name-only | xargs -I {} git add {}",
        "ls | xargs python3 tools/fmt.py",
        "git ls-files | xargs -n1 sh -c 'echo $0'",
        "vim $(git diff --name-only)",
        "xdg-open $(git remote get-url origin)",
        "f(){ git commit -m \"$*\"; }; f",
        "sh -c \"$1\"",
        "bash -euc 'echo x' $X",
        "perl -ne 'print' $X",
        "python3 -Ic 'pass' $X",
        "sh -c 'git show $1 | less' -",
        "for x in $(git ls-files); do echo $x; done",
        "meld \"$LOCAL\" \"$REMOTE\"",
        "${EDITOR:-vim} $(git ls-files)",
        "N=tools/x.sh; sh $N",
        "for f in tools/a tools/b; do sh $f; done",
    ] {
        check_known(text);
    }
}

#[test]
fn a_program_that_takes_orders_from_a_file_names_it() {
    check("make", &["Makefile", "GNUmakefile", "makefile", "*.mk"]);
    check("make -C tools lint", &["tools/Makefile", "tools/*.mk", "Makefile"]);
    check("make -Ctools", &["tools/Makefile"]);
    check("make -f tools/rules", &["tools/rules"]);
    check("npm run check", &["package.json", "node_modules/.bin/check"]);
    check("npx prettier --check", &["node_modules/.bin/prettier", "package.json"]);
    check("cargo run --bin x", &["Cargo.toml", "build.rs"]);
    check("just check", &["justfile"]);
    check("vim -S", &["Session.vim"]);
}

/// Whatever runs it, and however that is told to.
#[test]
fn a_program_counts_wherever_it_stands() {
    for text in [
        "timeout 30s make",
        "flock /tmp/l make",
        "env -u FOO make",
        "nice -n 5 make",
        "sudo -u me make",
        "chrt -f 3 make",
        "stdbuf -oL make",
        "watch -n 2 make",
        "unheard-of --with=this make x",
        "if false; then :; elif make x; then :; fi",
        "until make x; do :; done",
        "M=make; $M x",
        "export M=/usr/bin/make; $M x",
        "${M:-make} x",
        "$(which make) x",
        "sh -c 'time -p make x'",
        "xargs -I {} make {}",
        "CC=cc make",
    ] {
        check(text, &["Makefile", "GNUmakefile", "*.mk"]);
    }
    check("timeout 9s python3 -m pk", &["pk.*", "pk"]);
    check("$PY -m pk", &["pk.*", "pk"]);
    // Where it is only a word.
    for text in ["echo make", "grep -rn make src", "git commit -m make", "git log --grep make"] {
        let found = shown(text);
        assert!(!found.contains(&"Makefile".to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn a_value_may_be_attached_to_its_option() {
    check("perl -Itools -MEd -e1", &["tools", "Ed.pm"]);
    check("perl -I. -MEd::It -e1", &["**/*.pm", "Ed/It.pm"]);
    check("perl -wItools x.pl", &["tools", "x.pl"]);
    check("make -frules", &["rules"]);
    check("awk -fprog.awk", &["prog.awk"]);
    check("sed -fprog.sed", &["prog.sed"]);
    check("vim -Sproj.vim", &["proj.vim"]);
    check("vim --cmd 'set rtp+=tools'", &["tools"]);
    check("perl -e 'do qq{./ed.pl}'", &["./ed.pl"]);
    check("ruby -rset -Ilib x.rb", &["lib", "x.rb"]);
    check("bash --rcfile=tools/rc -i", &["tools/rc"]);
    check("java -javaagent:tools/x.jar", &["tools/x.jar"]);
    check("prog @tools/args", &["tools/args"]);
    check("sh $'tools/\\x65d.sh'", &["tools…"]);
}

#[test]
fn node_leaves_endings_out() {
    check("node tools/edit", &["tools/edit", "tools/edit.*", "package tools/edit"]);
    check("node ./edit", &["./edit.*"]);
    check("node .", &["index.*", "package.json", "package ."]);
    check("node -r ./pre -e 0", &["./pre.*"]);
    check("node -rfoo -e 0", &["node_modules/foo", "foo.*"]);
    check("node -r foo -e 0", &["node_modules/foo", "node_modules/foo.*"]);
    check("node --require=./pre -e 0", &["./pre.*"]);
    check("node --import ./pre.mjs x", &["./pre.mjs", "x.*"]);
}

#[test]
fn python_takes_modules_from_beside_its_script_or_from_where_it_runs() {
    check("python -m tools.hook", &["tools.*", "tools/hook.*", "tools/hook", "*.py"]);
    check("python3 -mtools", &["tools.*", "tools"]);
    check("python3 -Bmpk.mod", &["pk/mod.*", "pk.*", "pk/__init__.*"]);
    check("python3 -X dev -m pk.mod", &["pk/mod.*"]);
    check("python3 -sm pk", &["pk.*"]);
    check("python3 tools/proc.py", &["tools/proc.py", "tools/**/*.py"]);
    check("python3 -W ignore tools/e.py", &["tools/**/*.py"]);
    check("python3 e.py", &["*.py", "*/__init__.*"]);
    check("python3 -c 'import ed.x, it'", &["ed/x.*", "it.*", "*.py"]);
    // What runs modules of Python's own is led astray only by what is called like one.
    let found = shown("python3 -m json.tool");
    for name in ["json.py", "json/__init__.*", "***python", "***package/__init__.*"] {
        assert!(found.iter().any(|it| it == name), "{name}: {found:?}");
    }
    assert!(!found.iter().any(|it| it == "*.py*" || it == "json"), "{found:?}");
}

/// Whatever an interpreter would load from the directory of its script, compiled or not.
#[test]
fn compiled_forms_and_libraries_beside_a_script_count_like_its_sources() {
    for (command, beneath, beside) in [
        ("python3 D/x.py", &["py", "pyc", "pyo", "pyd", "so"][..], &["__pycache__/*"][..]),
        ("python3.11 D/run", &["py", "pyc", "so"], &["*/__init__.*"]),
        ("perl D/x.pl", &["pm", "pmc", "pl", "so"], &[]),
        ("ruby D/x.rb", &["rb", "so"], &[]),
        ("lua5.4 D/x.lua", &["lua", "luac", "so"], &[]),
        ("php D/x.php", &["php", "phar", "so"], &[]),
        ("tclsh D/x.tcl", &["tcl", "tm", "so"], &[]),
        ("node D/x", &["js", "cjs", "mjs", "node", "ts"], &[]),
    ] {
        let found = shown(&command.replace('D', "tools/deep"));
        for ending in beneath {
            let name = format!("tools/deep/**/*.{ending}");
            assert!(found.contains(&name), "{command}: {name} is not in {found:?}");
        }
        let found = shown(&command.replace("D/", ""));
        let here = beneath.iter().map(|ending| format!("*.{ending}"));
        for name in here.chain(beside.iter().map(|it| (*it).to_owned())) {
            assert!(found.contains(&name), "{command}: {name} is not in {found:?}");
        }
    }
    check("node tools/x.js", &["tools/**/package.json", "tools/**/index.json"]);
    check("perl -MEd -e1", &["Ed.pm", "Ed.pmc"]);
    // A shell loads nothing by itself, and data is no code.
    for (command, name) in
        [("sh tools/x.sh", "tools/**"), ("python3 tools/x.py", "tools/**/*.json")]
    {
        let found = shown(command);
        assert!(!found.iter().any(|it| it.starts_with(name)), "{command}: {found:?}");
    }
}

/// The name of an alias says that `make` is run; what that does is what people run on purpose.
#[test]
fn files_that_people_run_on_purpose_are_free_where_the_name_is_typed() {
    for text in ["npm run lint", "make test", "cargo xtask", "sh -c 'cd sub && make'"] {
        let found = shown_when(text, When::OnPurpose);
        let is_order = |it: &String| {
            ["package.json", "Makefile", "Cargo.toml"].iter().any(|name| it.ends_with(name))
        };
        assert!(!found.iter().any(is_order), "{text}: {found:?}");
        assert!(shown(text).iter().any(is_order), "{text}");
    }
    let found = shown_when("make -f tools/rules", When::OnPurpose);
    assert!(found.contains(&"tools/rules".to_owned()), "{found:?}");
}

#[test]
fn words_of_git_s_own_commands_are_not_programs() {
    check("git log src", &[]);
    check("git log --oneline src docs/a.md", &[]);
    check("git add -A && git commit -m wip", &[]);
    check("git -c core.pager=tools/p log src", &["tools/p"]);
    check("git rebase -x tools/check main", &["tools/check"]);
    check("git rebase --exec 'sh tools/check' main", &["tools/check"]);
    check("git bisect run sh tools/check", &["tools/check"]);
    check("git submodule foreach ./x.sh", &["./x.sh"]);
    check("git difftool -x tools/d", &["tools/d"]);
    check("git fetch --upload-pack=tools/up origin", &["tools/up"]);
    check("git fetch --upload-pa=tools/up origin", &["tools/up"]);
    check("git push --rec tools/up origin", &["tools/up"]);
    check("git grep --open-files=tools/up x", &["tools/up"]);
    check("git grep -nOtools/up x", &["tools/up"]);
    check("git clone -qu tools/up x", &["tools/up"]);
    check("git rebase -fx tools/up main", &["tools/up"]);
    check("git --git-dir=d status", &["d"]);
    check("git --exec-path=tools x", &["tools"]);
    check("git pull 'ext::sh tools/x'", &["tools/x"]);
    check("git unknown tools/x", &["tools/x"]);
    assert!(!shown("git rebase -x tools/check main").contains(&"main".to_owned()));
}

#[test]
fn files_that_git_s_own_commands_obey_are_named() {
    check("git apply tools/p.patch", &["tools/p.patch"]);
    check("git am -3 < tools/p.mbox", &["tools/p.mbox"]);
    check("git config core.hooksPath tools/hooks", &["tools/hooks"]);
    check("git config set --local core.fsmonitor 'sh tools/x'", &["tools/x"]);
    check("git config --file tools/c user.name U", &["tools/c"]);
    check("git pull tools/x.bundle main", &["tools/x.bundle"]);
    check("ln -sf tools/x .git/hooks/pre-commit", &["tools/x"]);
    for text in ["git config include.path ../tools/c", "ln -s ../../tools/c .git/hooks/pre-commit"]
    {
        let found = names(text, When::OnPurpose);
        assert!(found.contains(&Name::Anywhere("tools/c".to_owned())), "{text}: {found:?}");
    }
}
