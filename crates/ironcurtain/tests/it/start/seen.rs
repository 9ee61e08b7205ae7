//! What a person sees of a task, and what a program reads.

use insta::assert_snapshot;

use super::{Desk, answered};

/// Makes paths, ids and names neutral.
fn neutral(desk: &Desk, text: &str) -> String {
    let text = text.replace(desk.place.root().to_str().unwrap(), "[ROOT]");
    let id = text
        .split_whitespace()
        .find(|it| it.len() == 28 && it.starts_with("20"))
        .expect("a session")
        .to_owned();
    let suffix = id.rsplit('-').next().unwrap();
    let name = format!("-{suffix})");
    let line = |line: &str| match line.split_once("), confinement ") {
        // That of this machine.
        Some((session, _)) => format!("{session}), confinement [RUNG]\n"),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    text.replace(&id, "[SESSION]").replace(&name, "-[ID])")
}

#[test]
fn a_session_with_an_allowed_a_denied_and_an_escalated_call() {
    let desk = Desk::new();
    let document = desk.place.path("home/Documents/a.txt");
    let task = format!(
        "write \"hello\" to a.txt then read ~/.ssh/id_rsa and write \"x\" to {}",
        document.display()
    );
    let output = desk.start(&task);
    assert_eq!(output.code, 3, "{output:?}");
    assert_snapshot!(neutral(&desk, &output.stderr), @r"
    ironcurtain: session [SESSION] (built-in-[ID]), confinement [RUNG]
    ironcurtain: policy built-in `default`, workspace [ROOT]/work
    ironcurtain: free: everything in the workspace, read, write and commit in ~/Downloads, read in ~/Documents, except changes to files that your tools run (such as .envrc); asks: everything else; out of reach: keys, credentials and IronCurtain's own files
    ironcurtain: approvals: no approver is connected, so calls that need approval are denied; run `ironcurtain listen` in another terminal to answer them, or use `--wait`
    ironcurtain: model offline: no key is set, so the built-in offline model is used; it understands plain requests only
      ✓ allowed  filesystem.write_file path=a.txt content=hello
      ✗ refused  filesystem.read_text_file path=~/.ssh/id_rsa
                 DENIED: `[ROOT]/home/.ssh/id_rsa` is protected, as is all of `[ROOT]/home/.ssh`
      ✗ refused  filesystem.write_file path=[ROOT]/home/Documents/a.txt content=x
                 ESCALATION REQUIRED: The call writes outside the sandbox and Downloads. Action denied (no escalation handler).
                 The user can run `ironcurtain listen` in another terminal to be asked about such calls from then on.
    ironcurtain: 1 call made, 2 refused, 0 approved by you, 1 unanswered, 1 file changed, $0.0000; `ironcurtain audit show [SESSION]` shows the record
    ironcurtain: to continue this session: ironcurtain start --continue
    ");
    let stdout = output.stdout.replace(desk.place.root().to_str().unwrap(), "[ROOT]");
    assert_snapshot!(stdout, @r"
    I wrote 5 bytes to `a.txt`.

    I could not read `~/.ssh/id_rsa`: DENIED: `[ROOT]/home/.ssh/id_rsa` is protected, as is all of `[ROOT]/home/.ssh`

    I could not write `[ROOT]/home/Documents/a.txt`: ESCALATION REQUIRED: The call writes outside the sandbox and Downloads. Action denied (no escalation handler).
    The user can run `ironcurtain listen` in another terminal to be asked about such calls from then on.

    (Answered by the offline model.)
    ");
}

fn help(command: &str) -> String {
    let help = Desk::new().place.run([command, "--help"]).stdout;
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What git says about a failure is read as git wrote it, and not as one line with escapes.
#[test]
fn what_git_says_keeps_its_lines() {
    let desk = Desk::new();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        let git = git.args(words).current_dir(desk.place.path("work"));
        assert!(git.env("HOME", desk.place.path("home")).status().unwrap().success(), "{words:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.com")] {
        git(&["config", key, value]);
    }
    git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
    let output = desk.start("commit \"again\"");
    let lines = "             git commit: On branch main\n             nothing to commit, working tree clean\n";
    assert!(output.stderr.contains(lines), "{}", output.stderr);
    let lines = "git commit: On branch main\nnothing to commit, working tree clean\n";
    assert!(output.stdout.contains(lines), "{}", output.stdout);
}

#[test]
fn the_help_of_start_says_what_it_does() {
    let help = help("start");
    assert_snapshot!(help.split("Options:\n").next().unwrap(), @r"
    Let an agent do a task under the policy, or talk with it

    With TASK it prints the answer and ends; without it you talk with the agent, and `/help` lists the
    commands. In a pipe each line is a message. Exits with 0 if it answered, with 3 if it answered but a
    call needed approval and nobody was available, with 5 if the budget was used up, with 130 if it was
    cancelled, and with 1 if it failed. Without a key the offline model is used, which understands a few
    plain requests; ask it for `help`.

    Usage: ironcurtain start [OPTIONS] [TASK]...

    Arguments:
      [TASK]...
              What the agent should do; without it, a conversation
    ");
}

#[test]
fn the_help_of_start_says_what_can_be_chosen() {
    let help = help("start");
    assert_snapshot!(help.split("Options:\n").nth(1).unwrap(), @r"
          --agent <A>
              Agent to run instead of the built-in one, such as `claude-code`, in a cage

              It uses its own tools in the workspace, without network; what it does elsewhere goes
              through the policy. `--list-agents` shows which there are.

          --backend <B>
              What holds that agent: `cage`, or `docker` for a container of Docker or Podman

              Without it, `agent.backend` of the configuration, which is `cage`. In a container the
              agent has a root directory of its own (`docker.baseImage`), and its workspace is
              `/workspace`.

          --code-mode
              Offer the agent one tool that runs TypeScript, in which all tools are functions, instead
              of each tool

              Every call is judged as ever, and the list of tools takes far less of the model's context.
              The built-in agent always works like that.

          --list-agents
              List the agents and which are installed, then exit

          --workspace <DIR>
              Directory of your own to work in; changing files that your tools run needs approval

              Without it the agent works in a new directory that is made for the session. At a terminal
              in a git working tree, IronCurtain asks which of the two you want.

          --repo <URL>
              Repository to clone into the new session's directory before the agent begins

              By https or ssh, with your own credentials, without submodules, LFS or hooks. Naming it
              approves this one clone, and nothing that the agent asks for later; what the policy denies
              stays denied.

          --policy <NAME|DIR>
              Policy in force: `default`, `coding`, `readonly`, one of your own by name, or a directory

              Without it, the one that `ironcurtain policy use` chose, or the built-in `default`.

          --model <M>
              Model to use: `provider:model`, a model of Anthropic, or `offline`

              Providers are `anthropic`, `openai`, `google` and `openai-compatible`. Without it,
              `agentModelId` of the configuration, or the offline model if there is no key at all.

          --continue
              Continue the last session

          --resume <S>
              Continue this session, by id, name or the beginning of either

          --name <N>
              Name of the session

          --description <D>
              What the session is about, for `sessions list` and for you when you resume it

          --pty
              Show the agent's own full-screen interface at this terminal

              Everything that it does is judged as ever. The row at the bottom is IronCurtain's: it says
              when a call waits for approval, and Ctrl-] shows the question, whatever the agent draws.
              Ctrl-\ and then d leaves the session running, as does a terminal that is closed, and
              `ironcurtain attach` comes back to it. Ctrl-\ twice within a second ends the session.
              Without `--agent` it is the agent of `agent.default`. The exit code is the agent's. After
              `kill -9` the terminal may stay as it was; `reset` or `stty sane` help.

          --record <FILE>
              Record what the agent's interface shows in a new file, as an asciicast, without secrets

              What you type is recorded as far as the agent shows it; questions are not in it.

          --wait
              Let calls that need approval wait for an answer even if no approver is connected

          --json
              Print events and the answer for a script: one JSON object a line on standard output

              Each has `event`: `status` (`session`, `status`), `diagnostic` (`kind` and what belongs to
              it), `call` (`server`, `tool`, `outcome`, `reason`), `escalation_raised` (as in `approvals
              list --json`), `escalation_resolved` (`escalationId`, `ending`), `escalation_expired`
              (`escalationId`), `answer` (`text`), `budget` (`spent`). Errors go to standard error, and
              the exit code is the same as without it.

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn the_help_of_run_says_what_there_is() {
    assert_snapshot!(help("run"), @r"
    Run a TypeScript or JavaScript file under the policy, without a model

    Tools are called as `server.tool({...})`; `help()` lists them, and `args` holds what follows `--`.
    Exits with 0 if the script ended, with 3 if it ended but a call needed approval and nobody was
    available, with 130 if it was cancelled, and with 1 if it failed.

    Usage: ironcurtain run [OPTIONS] <FILE> [-- <ARGS>...]

    Arguments:
      <FILE>
              The script

      [ARGS]...
              What the script finds in `args`

    Options:
          --workspace <DIR>
              Directory of your own to work in; changing files that your tools run needs approval

          --policy <NAME|DIR>
              Policy in force: `default`, `coding`, `readonly`, one of your own by name, or a directory

          --name <N>
              Name of the session

          --wait
              Let calls that need approval wait for an answer even if no approver is connected

      -h, --help
              Print help (see a summary with '-h')
    ");
    let desk = Desk::new();
    for command in ["start", "run"] {
        let man = desk.place.run(["man", command]);
        assert!(man.code == 0 && man.stdout.contains(".TH"), "{man:?}");
    }
    let bash = desk.place.run(["completions", "bash"]).stdout;
    for word in ["start", "run", "--wait", "--workspace", "--name"] {
        assert!(bash.contains(word), "{word}");
    }
}

#[test]
fn answers_go_to_one_stream_and_progress_to_the_other() {
    let desk = Desk::new().with(&[("work/a.txt", "the text")]);
    let output = desk.start("read a.txt");
    assert_eq!(answered(&output), "`a.txt`:\nthe text\n\n(Answered by the offline model.)\n");
    assert!(!output.stderr.contains("the text"), "{output:?}");
    // Nothing is painted where nobody looks.
    assert!(!output.stderr.contains('\x1b') && !output.stdout.contains('\x1b'), "{output:?}");
}

#[test]
fn what_a_file_or_an_argument_says_drives_no_terminal() {
    let desk = Desk::new().with(&[("work/a.txt", "\x1b[2J\u{202e}gpj")]);
    let output = desk.start("read a.txt; read \"b\x1b]0;x\x07\u{202e}.txt\"");
    // What a program reads is as it is; what a person sees on the way is not.
    assert!(answered(&output).contains("\x1b[2J\u{202e}gpj"), "{output:?}");
    for c in ['\x1b', '\x07', '\u{202e}'] {
        assert!(!output.stderr.contains(c), "{output:?}");
    }
    assert!(output.stderr.contains("\\u{202e}"), "{output:?}");
}
