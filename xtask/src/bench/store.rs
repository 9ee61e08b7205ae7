//! Times conversations: saving a step, reading back a thousand turns, listing ten thousand sessions.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::ensure;
use ic_home::{Clock as _, Home, SystemClock};
use ic_model::{AssistantBlock, Message, ToolUseId, UserBlock};
use ic_store::{Conversation, Metadata, Moment, Places, Saving, Sessions, Stored, Turn, TurnUsage};
use ic_types::{AbsolutePath, Json, Object, SessionId, SessionName};

use super::{Samples, build_binary, shown};

const N_TURNS: usize = 1_000;
const N_SESSIONS: u32 = 10_000;
const N_LISTS: usize = 31;

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    long(out)?;
    many(out, &binary)
}

/// One conversation of a thousand turns, each with one tool use.
fn long(out: &mut dyn Write) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let home = home_in(place.path())?;
    let metadata = make(&home, 0)?;
    let clock = Arc::new(SystemClock);
    let found = Conversation::find(&home, &metadata.id, Saving::Always, clock)?;
    let conversation = found.restore(&[])?;
    let (mut messages, mut steps) = (Vec::new(), Samples::default());
    let (mut ends, mut last_steps) = (Samples::default(), Samples::default());
    for number in 0..N_TURNS {
        messages.push(user(&format!("question {number}: {}", "what? ".repeat(10))));
        conversation.save(&messages, Moment::TurnBegins)?;
        let said = uses(number)?;
        conversation.begin_tools(said.clone())?;
        messages.extend([said, result(number)?]);
        steps.time(|| conversation.save(&messages, Moment::Within))?;
        if N_TURNS - 100 <= number {
            last_steps.0.extend(steps.0.last());
        }
        messages.push(Message::Assistant(vec![AssistantBlock::Text("so it is. ".repeat(20))]));
        let turn = turn(number as u64 + 1);
        ends.time(|| conversation.answered(turn, &messages))?;
    }
    let mut close = Samples::default();
    close.time(|| conversation.close(Some(&messages)))?;
    let places = Places::of(&home, &metadata.id);
    let bytes = std::fs::metadata(places.conversation())?.len();
    let mut load = Samples::default();
    for _ in 0..11 {
        let stored = load.time(|| Stored::read(&places))?;
        ensure!(stored.messages.len() == 4 * N_TURNS, "messages are missing");
    }
    writeln!(
        out,
        "\nA conversation of {N_TURNS} turns with a tool use each ({} kB): a step is saved within p50 {}, \
         p99 {}, the last hundred within p50 {}; the end of a turn within p50 {}, p99 {}.\nClosing it, \
         with the disk waited for, takes {}; reading it back p50 {}.",
        bytes / 1000,
        shown(steps.percentile(50)),
        shown(steps.percentile(99)),
        shown(last_steps.percentile(50)),
        shown(ends.percentile(50)),
        shown(ends.percentile(99)),
        shown(close.percentile(50)),
        shown(load.percentile(50)),
    )?;
    Ok(())
}

/// Ten thousand sessions, listed and listed anew.
fn many(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let home = home_in(place.path())?;
    for number in 0..N_SESSIONS {
        make(&home, number)?;
    }
    let mut rebuild = Samples::default();
    for _ in 0..5 {
        std::fs::remove_file(home.index()).ok();
        let n_sessions = rebuild.time(|| Sessions::of(&home).all())?.len();
        ensure!(n_sessions == N_SESSIONS as usize, "sessions are missing");
    }
    let (mut list, mut json, mut bare) =
        (Samples::default(), Samples::default(), Samples::default());
    let run = |words: &[&str]| {
        let mut command = Command::new(binary);
        command.args(words).env("IRONCURTAIN_HOME", home.root()).output()
    };
    // They take turns, since the machine is never the same.
    for _ in 0..N_LISTS {
        let output = list.time(|| run(&["sessions", "list"]))?;
        let n_lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        ensure!(n_lines == N_SESSIONS as usize, "sessions are missing");
        json.time(|| run(&["sessions", "list", "--json"]))?;
        bare.time(|| run(&["--version"]))?;
    }
    writeln!(
        out,
        "\n{N_SESSIONS} sessions: `sessions list` p50 {}, p99 {}, with `--json` p50 {}; the program that \
         does nothing p50 {}.\nMaking the index again takes p50 {}.",
        shown(list.percentile(50)),
        shown(list.percentile(99)),
        shown(json.percentile(50)),
        shown(bare.percentile(50)),
        shown(rebuild.percentile(50)),
    )?;
    Ok(())
}

fn home_in(place: &Path) -> anyhow::Result<Home> {
    let home = Home::new(AbsolutePath::new(place.join("home"))?);
    home.prepare()?;
    Ok(home)
}

/// Makes a session as it is described after a few turns.
fn make(home: &Home, number: u32) -> anyhow::Result<Metadata> {
    let now = SystemClock.now();
    let id = SessionId::generate(
        ic_types::Timestamp::from_unix_ms(now.unix_ms() + u64::from(number)),
        number,
    );
    let metadata = Metadata {
        kind: "built-in".to_owned(),
        agent: "built-in".to_owned(),
        message_count: 8,
        first_message: format!(
            "write \"number {number}\" to the file notes.txt, then list the files"
        ),
        provider: "anthropic".to_owned(),
        model: "claude-sonnet-4-6".to_owned(),
        ..Metadata::new(id, SessionName::of(&format!("session-{number}"))?, now)
    };
    let places = Places::of(home, &metadata.id);
    std::fs::create_dir(places.directory())?;
    metadata.write(&places)?;
    Ok(metadata)
}

fn user(text: &str) -> Message {
    Message::User(vec![UserBlock::Text(text.to_owned())])
}

fn uses(number: usize) -> anyhow::Result<Message> {
    let mut input = Object::new();
    input.insert("code", "console.log(filesystem.read_text_file({path: 'a.txt'}));\n".repeat(5));
    let (id, name) = (ToolUseId::try_from(format!("use-{number}"))?, "execute_code".to_owned());
    Ok(Message::Assistant(vec![AssistantBlock::ToolUse { id, name, input: Json::from(input) }]))
}

fn result(number: usize) -> anyhow::Result<Message> {
    let id = ToolUseId::try_from(format!("use-{number}"))?;
    let content = "a line of a file that was read\n".repeat(20);
    Ok(Message::User(vec![UserBlock::ToolResult { id, content, is_error: false }]))
}

fn turn(turn_number: u64) -> Turn {
    Turn {
        turn_number,
        user_message: "question".to_owned(),
        assistant_response: "so it is. ".repeat(20),
        usage: TurnUsage { prompt: 1, completion: 1, total: 2 },
        timestamp: SystemClock.now(),
    }
}
