//! Two hundred turns in one process: memory stays as it is, the figures are the provider's, and a later
//! process goes on with the same messages.

use std::io::Write as _;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ic_model::catalogue;
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, Reply, Said, Tokens};

use super::memory::resident;
use super::{World, model};

const TURNS: usize = 200;
/// Every so many turns a tool is used, which takes two requests.
const TOOL_EVERY: usize = 20;
const REQUESTS: usize = TURNS + TURNS / TOOL_EVERY;
/// What memory may grow by between a quarter of the turns and the last, in kB: what is said takes a tenth
/// of it, and a copy of the conversation for each turn would take several times as much.
const GROWTH_MAX: u64 = 3072;

/// What the provider counts for its `n`th answer; some of it is cached, and differently each time.
fn tokens(format: Format, n: u64) -> Tokens {
    let written = if format == Format::Anthropic { n % 7 } else { 0 };
    Tokens { input: 1000 + 13 * n, cached: 5 * n, written, output: 10 + n % 11 }
}

/// Says the answer of each turn, and in some of them uses a tool before.
fn script(format: Format) -> Vec<Reply> {
    let mut replies: Vec<Reply> = Vec::new();
    let mut say = |said: Said| {
        let tokens = tokens(format, replies.len() as u64);
        replies.push(Reply::Says(Said { tokens, ..said }));
    };
    for n in 1..=TURNS {
        if n.is_multiple_of(TOOL_EVERY) {
            say(Said::code(&[&format!("console.log({n} * 2)")]).thinking("I count."));
        }
        say(Said::text(&format!("This is the answer number {n}.")).thinking("Easy."));
    }
    replies
}

/// Holds a conversation through a pipe, and notes its process for whoever measures it.
fn converse(world: &World, words: &[&str], messages: &str, pid: &AtomicU32) -> Output {
    let mut child = world.desk.place.command(words).spawn().unwrap();
    pid.store(child.id(), Ordering::SeqCst);
    let (mut stdin, messages) = (child.stdin.take().unwrap(), messages.to_owned());
    let writing = std::thread::spawn(move || stdin.write_all(messages.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    output
}

/// Returns what is said in a request, without the marks for a cache, which move on.
fn said(world: &World, at: usize) -> Vec<String> {
    let body = world.provider.request(at).unwrap().body;
    let key = match world.format {
        Format::Anthropic | Format::Chat => "messages",
        Format::Responses => "input",
        Format::Gemini => "contents",
    };
    let said = body[key].as_array().unwrap().iter();
    said.map(|it| it.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")).collect()
}

fn check(format: Format) {
    let pid = Arc::new(AtomicU32::new(0));
    let seen: Arc<[AtomicU64; 2]> = Arc::default();
    let hook = {
        let (pid, seen) = (Arc::clone(&pid), Arc::clone(&seen));
        Arc::new(move |n: usize| {
            let at = match n {
                _ if n == REQUESTS / 4 => 0,
                REQUESTS => 1,
                _ => return,
            };
            seen[at].store(resident(pid.load(Ordering::SeqCst)), Ordering::SeqCst);
        })
    };
    let provider = ScriptedProvider::start_with(script(format), Some(hook));
    let world = World::at(format, provider);
    let messages: String = (1..=TURNS).map(|n| format!("question number {n}\n")).collect();
    let words = ["start", "--model", model(format), "--workspace", "work"];
    let output = converse(&world, &words, &messages, &pid);
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let answers: String =
        (1..=TURNS).map(|n| format!("This is the answer number {n}.\n")).collect();
    assert_eq!(stdout, answers, "{format}");
    assert_eq!((world.provider.n_requests(), world.provider.left()), (REQUESTS, 0));
    world.provider.check();
    check_figures(&world, &stderr);
    let [early, late] = [0, 1].map(|at| seen[at].load(Ordering::SeqCst));
    assert!(0 < early, "nothing was measured");
    assert!(late <= early + GROWTH_MAX, "{format}: {early} kB, and {late} kB in the end");
    check_resumed(&world);
}

/// Checks what was counted, in the record and in the summary, against what the provider said.
fn check_figures(world: &World, stderr: &str) {
    let model = model(world.format).parse().unwrap();
    let prices = catalogue::find(&model).prices;
    let (mut n_tokens, mut cost) = (0, 0);
    for (n, record) in world.completions().iter().enumerate() {
        let Tokens { input, cached, written, output } = tokens(world.format, n as u64);
        let expected = (input - cached - written) * prices.prompt.billionths()
            + cached * prices.cached.billionths()
            + written * prices.cache_written.billionths()
            + output * prices.completion.billionths();
        let told = &record["arguments"];
        let keys = ["promptTokens", "completionTokens", "cachedTokens", "cacheWrittenTokens"];
        assert_eq!(keys.map(|it| &told[it]), [input, output, cached, written], "{n}: {told}");
        assert_eq!(told["costBillionths"], expected, "{n}: {told}");
        n_tokens += input + output;
        cost += expected;
    }
    let shown = ic_model::Cost::from_billionths(cost);
    let summary = format!("; {TURNS} turns, {n_tokens} tokens, {shown}, ");
    assert!(stderr.contains(&summary), "no {summary:?} in the end of {stderr}");
}

/// Goes on in another process, and checks that the model sees what it saw before.
fn check_resumed(world: &World) {
    world.provider.push([Reply::Says(Said::text("Still here."))]);
    let words = ["start", "--model", model(world.format), "--continue", "and now?"];
    let output = world.desk.place.run(words);
    assert_eq!((output.code, output.stdout.as_str()), (0, "Still here.\n"), "{output:?}");
    world.provider.check();
    let (before, after) = (said(world, REQUESTS - 1), said(world, REQUESTS));
    assert_eq!(after[..before.len()], before, "{}", world.format);
    let new = after[before.len()..].join("");
    assert!(new.contains("This is the answer number 200.") && new.contains("and now?"), "{new}");
}

#[test]
fn two_hundred_turns_with_anthropic() {
    check(Format::Anthropic);
}

#[test]
fn two_hundred_turns_with_openai() {
    check(Format::Responses);
}

#[test]
fn two_hundred_turns_with_a_compatible_server() {
    check(Format::Chat);
}

#[test]
fn two_hundred_turns_with_google() {
    check(Format::Gemini);
}
