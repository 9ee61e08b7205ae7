//! A few hundred wordings, what each means, and what is not understood.

use ic_testkit::shared;
use proptest::prelude::*;

use super::*;

/// Writes a reading shortly.
fn short(reading: &Reading) -> String {
    match reading {
        Reading::Requests(requests) => requests.iter().map(one).collect::<Vec<_>>().join(" + "),
        Reading::Unclear(clauses) => format!("? {}", clauses.join(" | ")),
        Reading::Tangled(tangle) => format!("{tangle:?}"),
        Reading::TooMuch => "too much".to_owned(),
        Reading::Nothing => "nothing".to_owned(),
    }
}

fn one(request: &Request) -> String {
    match request {
        Request::List { dir } => format!("list {dir}"),
        Request::Tree { dir } => format!("tree {dir}"),
        Request::Read { path } => format!("read {path}"),
        Request::Write { path, text } => format!("write {path} {text:?}"),
        Request::Append { path, text } => format!("append {path} {text:?}"),
        Request::Move { from, to } => format!("move {from} {to}"),
        Request::Copy { from, to } => format!("copy {from} {to}"),
        Request::Delete { path } => format!("delete {path}"),
        Request::MakeDirectory { path } => format!("mkdir {path}"),
        Request::Search { text, dir } => format!("search {dir} {text:?}"),
        Request::FindFiles { pattern, dir } => format!("find {dir} {pattern}"),
        Request::Fetch { url } => format!("fetch {url}"),
        Request::GitStatus { dir } => format!("status {dir}"),
        Request::GitLog { dir } => format!("log {dir}"),
        Request::GitDiff { dir } => format!("diff {dir}"),
        Request::Commit { message, dir } => format!("commit {dir} {message:?}"),
        Request::Push { remote, dir } => {
            format!("push {dir} {}", remote.as_deref().unwrap_or("-"))
        }
        Request::Clone { url, dir } => format!("clone {url} {dir}"),
        Request::Run { code } => format!("run {code:?}"),
    }
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (message, expected) in rows {
        assert_eq!(short(&read(message)), *expected, "{message}");
        // Neither capitals nor a full stop nor politeness change anything.
        if !message.contains("```") && !message.contains("~~~") {
            let polite = format!("Please, {message}");
            assert_eq!(short(&read(&polite)), *expected, "{polite}");
            let ended = format!("Can you {message}, please?");
            assert_eq!(short(&read(&ended)), *expected, "{ended}");
        }
    }
}

#[test]
fn listings() {
    check(&[
        ("list the files", "list ."),
        ("List files", "list ."),
        ("LIST THE FILES", "list ."),
        ("list the files.", "list ."),
        ("list all files", "list ."),
        ("list all the files", "list ."),
        ("list my files", "list ."),
        ("list", "list ."),
        ("ls", "list ."),
        ("ls -la", "list ."),
        ("ls docs", "list docs"),
        ("ls -l docs", "list docs"),
        ("ls \"my docs\"", "list my docs"),
        ("list the files in docs", "list docs"),
        ("list the files in docs/", "list docs/"),
        ("list the files in `docs`", "list docs"),
        ("list the files in the directory docs", "list docs"),
        ("list the files in the docs directory", "list docs"),
        ("list the files in the folder docs", "list docs"),
        ("list the files in the docs folder", "list docs"),
        ("list the files of docs", "list docs"),
        ("list the files under docs/sub", "list docs/sub"),
        ("list the files inside docs", "list docs"),
        ("list the files in .", "list ."),
        ("list the files in ..", "list .."),
        ("list the files in ../x/..", "list ../x/.."),
        ("list the files in ~/Downloads", "list ~/Downloads"),
        ("list the files in /tmp", "list /tmp"),
        ("list the files in here", "list ."),
        ("list the files here", "list ."),
        ("list the files in the current directory", "list ."),
        ("list the files in this directory", "list ."),
        ("list the files in the sandbox", "list ."),
        ("list the files in my workspace", "list ."),
        ("list the files in the directory", "list ."),
        ("list the files and folders in docs", "list docs"),
        ("list files and directories", "list ."),
        ("list the contents of docs", "list docs"),
        ("list the directory docs", "list docs"),
        ("list the folder \"my docs\"", "list my docs"),
        ("list docs", "list docs"),
        ("show the files", "list ."),
        ("show me the files in docs", "list docs"),
        ("show me all files in docs", "list docs"),
        ("show files", "list ."),
        ("show the contents of the directory docs", "list docs"),
        ("show the contents of the folder docs", "list docs"),
        ("show me the contents of the current directory", "list ."),
        ("show me the directory docs", "list docs"),
        ("display the files in docs", "list docs"),
        ("give me a list of the files in docs", "list docs"),
        ("get the files in docs", "list docs"),
        ("what files are in docs", "list docs"),
        ("what files are in docs?", "list docs"),
        ("what files are there", "list ."),
        ("what files are there in docs", "list docs"),
        ("which files are in the directory docs", "list docs"),
        ("which files do we have", "list ."),
        ("what is in the directory docs", "list docs"),
        ("what's in the folder docs?", "list docs"),
        ("what’s in the folder docs?", "list docs"),
        ("what is in the current directory?", "list ."),
        ("what is there", "list ."),
        ("show the tree", "tree ."),
        ("show the tree of docs", "tree docs"),
        ("show me the tree of the directory docs", "tree docs"),
        ("show the directory tree", "tree ."),
        ("show the file tree of docs", "tree docs"),
        ("print the tree of \"my docs\"", "tree my docs"),
        ("show me the tree", "tree ."),
        ("tree", "tree ."),
        ("tree docs", "tree docs"),
        ("tree of docs", "tree docs"),
        ("list all files recursively", "tree ."),
        ("list the files recursively in docs", "tree docs"),
        ("ls -R", "tree ."),
    ]);
}

#[test]
fn reading() {
    check(&[
        ("read notes.txt", "read notes.txt"),
        ("Read notes.txt.", "read notes.txt"),
        ("read NOTES.txt", "read NOTES.txt"),
        ("read README", "read README"),
        ("read ./a/../b.txt", "read ./a/../b.txt"),
        ("read /etc/passwd", "read /etc/passwd"),
        ("read ~/Documents/a.txt", "read ~/Documents/a.txt"),
        ("read \"my notes.txt\"", "read my notes.txt"),
        ("read 'my notes.txt'", "read my notes.txt"),
        ("read “my notes.txt”", "read my notes.txt"),
        ("read ‘my notes.txt’", "read my notes.txt"),
        ("read „my notes.txt“", "read my notes.txt"),
        ("read «my notes.txt»", "read my notes.txt"),
        ("read `my notes.txt`", "read my notes.txt"),
        ("read ``a`b.txt``", "read a`b.txt"),
        ("read 'it's.txt'", "read it's.txt"),
        ("read \"then and.txt\"", "read then and.txt"),
        ("read \"the\"", "read the"),
        ("read the file notes.txt", "read notes.txt"),
        ("read the file: notes.txt", "read notes.txt"),
        ("read file notes.txt", "read notes.txt"),
        ("read my notes.txt", "read notes.txt"),
        ("read the notes.txt file", "read notes.txt"),
        ("read the contents of notes.txt", "read notes.txt"),
        ("read the content of the file notes.txt", "read notes.txt"),
        ("read the text of notes.txt", "read notes.txt"),
        ("read me the file notes.txt", "read notes.txt"),
        ("show notes.txt", "read notes.txt"),
        ("show me notes.txt", "read notes.txt"),
        ("show me the file notes.txt", "read notes.txt"),
        ("show the contents of notes.txt", "read notes.txt"),
        ("show me the contents of the file `notes.txt`", "read notes.txt"),
        ("show me what is in notes.txt", "read notes.txt"),
        ("show me what notes.txt says", "read notes.txt"),
        ("tell me what notes.txt contains", "read notes.txt"),
        ("cat notes.txt", "read notes.txt"),
        ("cat \"my notes.txt\"", "read my notes.txt"),
        ("print notes.txt", "read notes.txt"),
        ("print the contents of notes.txt", "read notes.txt"),
        ("open notes.txt", "read notes.txt"),
        ("open the contents of notes.txt", "read notes.txt"),
        ("open the file notes.txt", "read notes.txt"),
        ("display notes.txt", "read notes.txt"),
        ("view notes.txt", "read notes.txt"),
        ("what is in notes.txt", "read notes.txt"),
        ("what's in notes.txt?", "read notes.txt"),
        ("what does notes.txt say?", "read notes.txt"),
        ("what does the file notes.txt contain", "read notes.txt"),
        ("what are the contents of notes.txt", "read notes.txt"),
        ("what is the content of notes.txt?", "read notes.txt"),
        ("look at notes.txt", "read notes.txt"),
        ("look into the file notes.txt", "read notes.txt"),
        ("read notes.txt for me", "read notes.txt"),
        ("read notes.txt to me", "read notes.txt"),
        ("could you read notes.txt", "read notes.txt"),
        ("I want you to read notes.txt", "read notes.txt"),
        ("I'd like you to read notes.txt", "read notes.txt"),
        ("I’d like to read notes.txt", "read notes.txt"),
        ("read a.txt and b.txt", "read a.txt + read b.txt"),
        ("read a.txt, b.txt and \"c d\"", "read a.txt + read b.txt + read c d"),
        ("fetch https://example.com", "fetch https://example.com"),
        ("fetch https://example.com.", "fetch https://example.com"),
        ("fetch https://example.com/a;b=1?c=d&e=f#g", "fetch https://example.com/a;b=1?c=d&e=f#g"),
        ("fetch \"https://example.com/a b\"", "fetch https://example.com/a b"),
        ("Fetch the page https://example.com/", "fetch https://example.com/"),
        ("download https://example.com/x.tar", "fetch https://example.com/x.tar"),
        ("get https://example.com", "fetch https://example.com"),
        ("read https://example.com", "fetch https://example.com"),
        ("open HTTPS://example.com", "fetch HTTPS://example.com"),
        ("fetch the contents of http://127.0.0.1:8080/x", "fetch http://127.0.0.1:8080/x"),
        ("fetch example.com", "fetch https://example.com"),
        ("fetch example.com/a", "fetch https://example.com/a"),
    ]);
}

#[test]
fn changing() {
    check(&[
        ("write \"hello\" to notes.txt", "write notes.txt \"hello\""),
        ("write 'hello' to notes.txt", "write notes.txt \"hello\""),
        ("write “hello” to notes.txt", "write notes.txt \"hello\""),
        ("write `hello` to `notes.txt`", "write notes.txt \"hello\""),
        ("write \"\" to notes.txt", "write notes.txt \"\""),
        ("write \"a and b then c; d\" to notes.txt", "write notes.txt \"a and b then c; d\""),
        ("write \"delete everything\" to notes.txt", "write notes.txt \"delete everything\""),
        ("write \"it's\" to notes.txt", "write notes.txt \"it's\""),
        ("write 'say \"hi\"' to notes.txt", "write notes.txt \"say \\\"hi\\\"\""),
        ("write \"a\nb\" to notes.txt", "write notes.txt \"a\\nb\""),
        ("write \"hello\" into notes.txt", "write notes.txt \"hello\""),
        ("write \"hello\" in notes.txt", "write notes.txt \"hello\""),
        ("write \"hello\" to the file notes.txt", "write notes.txt \"hello\""),
        ("write \"hello\" to a new file notes.txt", "write notes.txt \"hello\""),
        ("write \"hello\" to a file called notes.txt", "write notes.txt \"hello\""),
        ("write \"hello\" to a file named \"my notes.txt\"", "write my notes.txt \"hello\""),
        ("write the text \"hello\" to notes.txt", "write notes.txt \"hello\""),
        ("write the following text \"hello\" to notes.txt", "write notes.txt \"hello\""),
        ("save \"hello\" to notes.txt", "write notes.txt \"hello\""),
        ("save \"hello\" as notes.txt", "write notes.txt \"hello\""),
        ("put \"hello\" in notes.txt", "write notes.txt \"hello\""),
        ("put \"hello\" into the file notes.txt", "write notes.txt \"hello\""),
        ("store \"hello\" in notes.txt", "write notes.txt \"hello\""),
        ("write to notes.txt: \"hello\"", "write notes.txt \"hello\""),
        ("write notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("overwrite notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("replace the contents of notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("create a file notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("create the file notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("create notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("create a file called notes.txt with the text \"hello\"", "write notes.txt \"hello\""),
        ("create a new file notes.txt containing \"hello\"", "write notes.txt \"hello\""),
        ("create a file named `notes.txt` with the content \"hello\"", "write notes.txt \"hello\""),
        ("create a file notes.txt that contains \"hello\"", "write notes.txt \"hello\""),
        ("make a file notes.txt that says \"hello\"", "write notes.txt \"hello\""),
        ("make a text file notes.txt with \"hello\"", "write notes.txt \"hello\""),
        ("append \"more\" to notes.txt", "append notes.txt \"more\""),
        ("add \"more\" to notes.txt", "append notes.txt \"more\""),
        ("add \"more\" to the end of notes.txt", "append notes.txt \"more\""),
        ("append the line \"more\" to the file notes.txt", "append notes.txt \"more\""),
        ("append to notes.txt \"more\"", "append notes.txt \"more\""),
        ("move a.txt to b.txt", "move a.txt b.txt"),
        ("move the file a.txt to b.txt", "move a.txt b.txt"),
        ("move a.txt to docs/", "move a.txt docs/a.txt"),
        ("move x/a.txt into the folder docs", "move x/a.txt docs/a.txt"),
        ("move a.txt to the directory docs", "move a.txt docs/a.txt"),
        ("rename a.txt to b.txt", "move a.txt b.txt"),
        ("rename a.txt as b.txt", "move a.txt b.txt"),
        ("rename \"a b.txt\" to \"c d.txt\"", "move a b.txt c d.txt"),
        ("rename the directory old to new", "move old new"),
        ("mv a.txt b.txt", "move a.txt b.txt"),
        ("copy a.txt to b.txt", "copy a.txt b.txt"),
        ("copy the file a.txt to b.txt", "copy a.txt b.txt"),
        ("copy a.txt into docs/", "copy a.txt docs/a.txt"),
        ("cp a.txt b.txt", "copy a.txt b.txt"),
        ("duplicate a.txt as b.txt", "copy a.txt b.txt"),
        ("make a copy of a.txt called b.txt", "copy a.txt b.txt"),
        ("delete a.txt", "delete a.txt"),
        ("delete the file a.txt", "delete a.txt"),
        ("remove a.txt", "delete a.txt"),
        ("remove the file \"a b.txt\"", "delete a b.txt"),
        ("rm a.txt", "delete a.txt"),
        ("delete a.txt and b.txt", "delete a.txt + delete b.txt"),
        ("create the directory docs", "mkdir docs"),
        ("create a directory docs", "mkdir docs"),
        ("create a directory called docs", "mkdir docs"),
        ("create a new folder named \"my docs\"", "mkdir my docs"),
        ("make the directory docs/a/b", "mkdir docs/a/b"),
        ("make a folder docs", "mkdir docs"),
        ("make a docs directory", "mkdir docs"),
        ("create directory docs", "mkdir docs"),
        ("mkdir docs", "mkdir docs"),
        ("mkdir -p docs/a", "mkdir docs/a"),
    ]);
}

#[test]
fn searching_and_repositories() {
    check(&[
        ("search for \"some text\"", "search . \"some text\""),
        ("search for \"some text\" in docs", "search docs \"some text\""),
        ("search for \"a and b\" in the directory docs", "search docs \"a and b\""),
        ("search for TODO in src", "search src \"TODO\""),
        ("search \"x\" in src", "search src \"x\""),
        ("search for the text \"x\" in src", "search src \"x\""),
        ("search for the word \"x\"", "search . \"x\""),
        ("search docs for \"x\"", "search docs \"x\""),
        ("search in docs for \"x\"", "search docs \"x\""),
        ("search the files for \"x\"", "search . \"x\""),
        ("find \"x\" in docs", "search docs \"x\""),
        ("find the text \"x\" in docs", "search docs \"x\""),
        ("find files containing \"x\" in docs", "search docs \"x\""),
        ("find all files that contain \"x\"", "search . \"x\""),
        ("grep for \"x\" in docs", "search docs \"x\""),
        ("grep \"x\" docs", "search docs \"x\""),
        ("grep TODO", "search . \"TODO\""),
        ("look for \"x\" in docs", "search docs \"x\""),
        ("find files named \"*.rs\"", "find . *.rs"),
        ("find all files called *.rs in src", "find src *.rs"),
        ("git status", "status ."),
        ("git status in project", "status project"),
        ("git status project", "status project"),
        ("git status in the directory project", "status project"),
        ("git status of the repository project", "status project"),
        ("show the git status", "status ."),
        ("show me the git status of project", "status project"),
        ("what is the git status?", "status ."),
        ("git log", "log ."),
        ("git log in project", "log project"),
        ("show the git log of project", "log project"),
        ("show me the git history", "log ."),
        ("git diff", "diff ."),
        ("git diff in \"my project\"", "diff my project"),
        ("show me the diff", "diff ."),
        ("show the git diff in project", "diff project"),
        ("commit \"a message\"", "commit . \"a message\""),
        ("commit \"a message\" in project", "commit project \"a message\""),
        ("commit “fix then and; it” in project", "commit project \"fix then and; it\""),
        ("commit with the message \"a message\"", "commit . \"a message\""),
        ("commit with message 'a message' in project", "commit project \"a message\""),
        ("commit the changes with the message \"m\" in project", "commit project \"m\""),
        ("commit all changes with the message \"m\"", "commit . \"m\""),
        ("commit everything with the commit message \"m\"", "commit . \"m\""),
        ("commit in project with the message \"m\"", "commit project \"m\""),
        ("git commit -m \"m\"", "commit . \"m\""),
        ("git commit -am \"m\" in project", "commit project \"m\""),
        ("push", "push . -"),
        ("git push", "push . -"),
        ("push to origin", "push . origin"),
        ("push to the remote origin", "push . origin"),
        ("git push origin", "push . origin"),
        ("push the changes to origin", "push . origin"),
        ("push my commits to origin in project", "push project origin"),
        ("push in project", "push project -"),
        ("push it", "push . -"),
        ("push to https://example.com/x.git", "? push to https://example.com/x.git"),
        ("push to \"https://example.com/x.git\"", "push . https://example.com/x.git"),
        ("clone https://example.com/project.git", "clone https://example.com/project.git project"),
        ("git clone https://example.com/a/b/", "clone https://example.com/a/b/ b"),
        ("clone git@example.com:me/project.git", "clone git@example.com:me/project.git project"),
        (
            "clone the repository https://example.com/p.git into work",
            "clone https://example.com/p.git work",
        ),
        (
            "clone https://example.com/p.git to the directory \"my work\"",
            "clone https://example.com/p.git my work",
        ),
        ("git clone https://example.com/p.git work", "clone https://example.com/p.git work"),
        ("clone https://example.com/..", "clone https://example.com/.. repository"),
        ("clone \"https://example.com/%2e%2e\"", "clone https://example.com/%2e%2e repository"),
    ]);
}

#[test]
fn clauses_are_joined_in_many_ways() {
    check(&[
        ("list the files then read a.txt", "list . + read a.txt"),
        ("list the files and read a.txt", "list . + read a.txt"),
        ("list the files; read a.txt", "list . + read a.txt"),
        ("list the files;read a.txt", "list . + read a.txt"),
        ("read a.txt;read b.txt", "read a.txt + read b.txt"),
        ("list the files\nread a.txt", "list . + read a.txt"),
        ("list the files\r\n\r\n  read a.txt\r\n", "list . + read a.txt"),
        ("list the files, then read a.txt", "list . + read a.txt"),
        ("list the files and then read a.txt", "list . + read a.txt"),
        ("list the files, and then, please, read a.txt", "list . + read a.txt"),
        ("list the files. Then read a.txt. Then read b.txt.", "list . + read a.txt + read b.txt"),
        (
            "first list the files, next read a.txt, finally delete a.txt",
            "list . + read a.txt + delete a.txt",
        ),
        ("list the files. After that read a.txt", "list . + read a.txt"),
        ("LIST THE FILES THEN READ a.txt", "list . + read a.txt"),
        (
            "create the directory docs, write \"x\" to docs/a.txt, then move docs/a.txt to docs/b.txt and read docs/b.txt",
            "mkdir docs + write docs/a.txt \"x\" + move docs/a.txt docs/b.txt + read docs/b.txt",
        ),
        (
            "write \"x\" to a.txt then commit \"add a\" then push to origin",
            "write a.txt \"x\" + commit . \"add a\" + push . origin",
        ),
        ("list the files and tell me the result", "list ."),
        ("read a.txt and show me the output", "read a.txt"),
    ]);
}

#[test]
fn blocks_are_texts_or_scripts() {
    check(&[
        ("```ts\n1 + 1\n```", "run \"1 + 1\\n\""),
        ("```typescript\nx\n```", "run \"x\\n\""),
        ("```js\nx\n```", "run \"x\\n\""),
        ("```JavaScript\nx\n```\n", "run \"x\\n\""),
        ("~~~ts\nx\n~~~", "run \"x\\n\""),
        ("```\nx\n```", "run \"x\\n\""),
        ("\n\n```\nx\n```\n\n", "run \"x\\n\""),
        ("````ts\n```\nx\n```\n````", "run \"```\\nx\\n```\\n\""),
        ("```ts\n```", "run \"\""),
        ("```ts\r\nx\r\n```\r\n", "run \"x\\r\\n\""),
        ("Run this:\n```ts\nx\n```", "run \"x\\n\""),
        ("Please run this:\n\n```ts\nx\n```", "run \"x\\n\""),
        ("run the following code:\n```\nx\n```", "run \"x\\n\""),
        ("execute this script\n```js\nx\n```", "run \"x\\n\""),
        (
            "Please execute the following TypeScript code in the sandbox:\n```ts\nx\n```",
            "run \"x\\n\"",
        ),
        ("run this ```ts\nx\n```", "run \"x\\n\""),
        ("run this:\n```ts\nx\n```\nand tell me the result", "run \"x\\n\""),
        ("list the files\n```ts\nx\n```\nread a.txt", "list . + run \"x\\n\" + read a.txt"),
        ("```ts\nx\n```\n```ts\ny\n```", "run \"x\\n\" + run \"y\\n\""),
        ("```ts\ndelete a.txt and \"b\n```", "run \"delete a.txt and \\\"b\\n\""),
        (
            "write this to notes.txt:\n```\na \"b\n then c;\n```",
            "write notes.txt \"a \\\"b\\n then c;\\n\"",
        ),
        ("write the following to notes.txt\n\n```text\nx\n```", "write notes.txt \"x\\n\""),
        (
            "write the following text to the file notes.txt:\n```ts\nx\n```",
            "write notes.txt \"x\\n\"",
        ),
        ("write to notes.txt\n```\nx\n```", "write notes.txt \"x\\n\""),
        ("write ```\nx\n``` to notes.txt", "write notes.txt \"x\\n\""),
        ("write\n```\nx\n```\nto notes.txt", "write notes.txt \"x\\n\""),
        (
            "create a file notes.txt with the following content:\n```\nx\n```\nthen read notes.txt",
            "write notes.txt \"x\\n\" + read notes.txt",
        ),
        ("append this to notes.txt:\n```\nx\n```", "append notes.txt \"x\\n\""),
        ("append ```\nx\n``` to notes.txt", "append notes.txt \"x\\n\""),
        ("```python\nx\n```", "? ```python x ```"),
        ("run this:\n```python\nx\n```", "? run this: ```python x ```"),
        ("do not run this:\n```ts\nx\n```", "? do not run this: ```ts x ```"),
        ("here is a story\n```ts\nx\n```", "? here is a story ```ts x ```"),
        ("```ts\nx", "OpenBlock"),
        ("write ```x``` to a.txt", "write a.txt \"x\""),
    ]);
}

#[test]
fn what_is_not_understood_is_named_and_nothing_is_done() {
    for (message, expected) in [
        ("", "nothing"),
        ("  \n ", "nothing"),
        ("please", "nothing"),
        ("hello", "nothing"),
        ("Hello!", "nothing"),
        ("tell me the result", "nothing"),
        ("summarise my week", "? summarise my week"),
        ("What can you do?", "? What can you do"),
        ("help", "? help"),
        ("read a.txt and summarise it", "? summarise it"),
        ("read a.txt then dance, then delete b.txt", "? dance"),
        ("read a.txt and think", "? think"),
        ("don't delete a.txt", "? don't delete a.txt"),
        ("do not delete a.txt", "? do not delete a.txt"),
        ("please do not delete a.txt", "? do not delete a.txt"),
        ("can you not delete a.txt", "? not delete a.txt"),
        ("never delete a.txt", "? never delete a.txt"),
        ("I will delete a.txt", "? I will delete a.txt"),
        ("if a.txt exists, delete b.txt", "? if a.txt exists"),
        ("delete a.txt unless it is needed", "? delete a.txt unless it is needed"),
        ("delete a.txt or b.txt", "? delete a.txt or b.txt"),
        ("delete everything", "? delete everything"),
        ("delete all files", "? delete all files"),
        ("delete it", "? delete it"),
        ("delete the directory docs", "? delete the directory docs"),
        ("delete", "? delete"),
        ("delete \"\"", "? delete \"\""),
        ("rm -rf /", "? rm -rf /"),
        ("delete -rf", "? delete -rf"),
        ("read", "? read"),
        ("read the file", "? read the file"),
        ("show me", "? show me"),
        ("write hello to a.txt", "? write hello to a.txt"),
        ("write \"a\" \"b\" to a.txt", "? write \"a\" \"b\" to a.txt"),
        ("write \"a\" to a.txt b.txt", "? write \"a\" to a.txt b.txt"),
        ("move a.txt", "? move a.txt"),
        ("search for", "? search for"),
        ("fetch", "? fetch"),
        ("fetch file:///etc/passwd", "? fetch file:///etc/passwd"),
        ("fetch ftp://example.com", "? fetch ftp://example.com"),
        ("commit", "? commit"),
        ("\"read a.txt\"", "? \"read a.txt\""),
        ("`delete a.txt`", "? `delete a.txt`"),
        ("read \"a.txt", "OpenQuote"),
        ("read 'a.txt", "OpenQuote"),
        ("read “a.txt", "OpenQuote"),
        ("read `a.txt", "OpenQuote"),
        ("read a.txt\"", "StrayQuote"),
        ("read a”", "StrayQuote"),
        ("write \"say \\\"hi\\\"\" to a.txt", "StrayQuote"),
        ("write \"a\"b\" to a.txt", "StrayQuote"),
        ("read a\u{0}b", "read a\u{0}b"),
    ] {
        assert_eq!(short(&read(message)), expected, "{message:?}");
    }
}

#[test]
fn hostile_messages_are_read_in_one_pass() {
    let mib = 1 << 20;
    let long = |unit: &str| unit.repeat(mib / unit.len());
    for (message, expected) in [
        (long("a "), "? "),
        (long("a"), "? "),
        (long("\n"), "nothing"),
        (long(" \n"), "nothing"),
        (long("then "), "nothing"),
        (long("read a;"), "too much"),
        (long("```\n"), ""),
        (long("``` a ``` "), "? "),
        (long("` "), ""),
        (long("\""), ""),
        (long("' "), ""),
        (long("'a"), "OpenQuote"),
        (long("```a"), ""),
        (format!("fetch http://{}", long(";a")), ""),
        (format!("fetch http://{}", long(";")), ""),
        (long("~~~"), ""),
        (long("[the] "), "? "),
        (long("list "), "? "),
        (long("please "), "nothing"),
        (long("\u{202e}"), "? "),
        (long("\u{1}"), "? "),
        ("x".repeat(MESSAGE_BYTES_MAX + 1), "too much"),
    ] {
        let shown = short(&read(&message));
        let begins: String = message.chars().take(20).collect();
        assert!(
            shown.starts_with(expected),
            "{begins}: {}",
            shown.chars().take(80).collect::<String>()
        );
        assert!(shown.len() < 500 || shown.starts_with("fetch"), "{begins}");
    }
    let text = long("and then; \" ");
    let message = format!("write '{text}' to a.txt");
    let write = Request::Write { path: "a.txt".into(), text };
    assert_eq!(read(&message), Reading::Requests(vec![write]));
}

#[test]
fn naughty_strings_are_texts_like_any_other() {
    let Some(vectors) = shared::corpus("naughty_strings") else { return };
    assert!(100 < vectors.len());
    for vector in &vectors {
        let Some(text) = vector["input"].as_str() else { continue };
        let _ = read(text);
        let message = format!("write\n~~~~~~~\n{text}\n~~~~~~~\nto a.txt");
        let write = Request::Write { path: "a.txt".into(), text: format!("{text}\n") };
        if !text.contains("~~~~~~~") {
            assert_eq!(read(&message), Reading::Requests(vec![write]), "{text:?}");
        }
    }
}

/// Texts that look like what surrounds them.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            " and ",
            " then ",
            ";",
            "\n",
            "```",
            "~~~",
            "`",
            "'",
            "’",
            "“",
            "”",
            "«",
            "»",
            "„",
            ".",
            ", ",
            " to ",
            "delete a.txt",
            "read ",
            "\\",
            "${x}",
            "\u{2028}",
            "\0",
            " ",
            "\r\n",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_makes_it_fail(message in prop_oneof![tricky(), any::<String>()]) {
        read(&message);
    }

    #[test]
    fn quoted_text_is_kept_byte_for_byte(text in tricky()) {
        let text = text.replace('"', "");
        let write = Request::Write { path: "a.txt".into(), text: text.clone() };
        let list = Request::List { dir: ".".into() };
        let message = format!("list the files and write \"{text}\" to a.txt; list the files");
        prop_assert_eq!(read(&message), Reading::Requests(vec![list.clone(), write, list]));
    }

    #[test]
    fn text_in_curly_quotes_is_kept_byte_for_byte(text in tricky()) {
        let text = text.replace('”', "");
        let commit = Request::Commit { message: text.clone(), dir: "p".into() };
        let message = format!("commit “{text}” in p");
        prop_assert_eq!(read(&message), Reading::Requests(vec![commit]));
    }

    #[test]
    fn text_in_blocks_is_kept_byte_for_byte(text in tricky()) {
        let text = format!("{}\n", text.replace("~~~~", ""));
        let append = Request::Append { path: "a.txt".into(), text: text.clone() };
        let message = format!("append this to a.txt:\n~~~~\n{text}~~~~");
        prop_assert_eq!(read(&message), Reading::Requests(vec![append]));
    }

    #[test]
    fn quoted_names_are_kept_byte_for_byte(name in tricky()) {
        let name = name.replace('"', "");
        prop_assume!(!name.is_empty());
        let delete = Request::Delete { path: name.clone() };
        let message = format!("delete the file \"{name}\"");
        prop_assert_eq!(read(&message), Reading::Requests(vec![delete]));
    }
}
