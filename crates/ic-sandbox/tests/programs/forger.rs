//! A worker that was taken over: it says whatever its script names, byte by byte.
//!
//! A script that names no forgery is served as a worker would serve it: one call, and its result.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

/// A call as a worker makes it.
const CALL: &str =
    r#"{"say":"call","id":1,"server":"tools","tool":"echo","arguments":{"text":"still here"}}"#;
/// One that takes until it is cancelled.
const LONG_CALL: &str = r#"{"say":"call","id":1,"server":"tools","tool":"hangs","arguments":{}}"#;
const STARTED: &str = r#"{"say":"started"}"#;
const DONE: &str = r#"{"say":"done","value":"forged"}"#;
const PRINT: &str = r#"{"say":"print","text":"x","missing":0}"#;

pub(crate) fn run() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    say(r#"{"say":"ready"}"#)?;
    let order = String::from_utf8_lossy(&hear()?).into_owned();
    if let Some((forgery, _)) =
        order.split_once("forge ").and_then(|(_, rest)| rest.split_once('.'))
    {
        return forge(forgery);
    }
    say(STARTED)?;
    say(CALL)?;
    let reply = String::from_utf8_lossy(&hear()?).into_owned();
    let value = reply.split("\"value\":").nth(1).unwrap_or("null}").to_owned();
    say(&format!("{{\"say\":\"done\",\"value\":{value}"))
}

fn forge(forgery: &str) -> io::Result<()> {
    // Before it has started.
    match forgery {
        "ready twice" => return wait(say(r#"{"say":"ready"}"#)),
        "done at once" => return wait(say(DONE)),
        "call at once" => return wait(say(CALL)),
        "end at once" => return Ok(()),
        _ => say(STARTED)?,
    }
    match forgery {
        "started twice" => say(STARTED)?,
        "no JSON" => say("done")?,
        "no message" => say("{}")?,
        "two messages" => say(&format!("{DONE}{DONE}"))?,
        "key twice" => say(r#"{"say":"done","value":"a","value":"b"}"#)?,
        "key too many" => say(r#"{"say":"done","value":"a","more":1}"#)?,
        "half a character" => say(r#"{"say":"done","value":"\ud800"}"#)?,
        "no text" => raw(&[0, 0, 0, 2, 0xff, 0xfe])?,
        "deep" => say(&CALL
            .replace("{\"text", &format!("{{\"a\":{}1{},\"text", "[".repeat(70), "]".repeat(70))))?,
        "nothing" => raw(&[0, 0, 0, 0])?,
        "long" => raw(&[0xff, 0xff, 0xff, 0xff])?,
        "somewhat long" => raw(&(17_u32 << 20).to_be_bytes())?,
        "half a frame" => return raw(&[0, 0, 0, 9, b'{']),
        "half a frame and silence" => raw(&[0, 0, 0, 9, b'{'])?,
        "end" => return Ok(()),
        "wrong number" => say(&CALL.replace(":1,", ":2,"))?,
        "number again" => {
            say(CALL)?;
            hear()?;
            say(CALL)?;
        }
        "no such tool" => say(&CALL.replace("echo", "write_file"))?,
        "no such server" => say(&CALL.replace("tools", "shell"))?,
        "no name" => say(&CALL.replace("tools", "../tools"))?,
        "no arguments" => say(&CALL.replace(r#"{"text":"still here"}"#, "[]"))?,
        "two calls" => {
            let mut both = framed(&CALL.replace("echo", "hangs"));
            both.extend(framed(&CALL.replace(":1,", ":2,")));
            raw(&both)?;
        }
        "talk while it waits" => {
            say(LONG_CALL)?;
            say(PRINT)?;
        }
        "end while it waits" => return say(LONG_CALL),
        "flood of prints" => flood(PRINT)?,
        "flood of bytes" => flood(&PRINT.replace("\"x\"", &format!("{:?}", "x".repeat(1 << 20))))?,
        "flood of calls" => calls()?,
        "flood of complaints" => {
            for _ in 0..4096 {
                io::stderr().write_all(&[b'\x1b'; 4096])?;
            }
            return say(DONE);
        }
        other => return Err(io::Error::other(other.to_owned())),
    }
    wait(Ok(()))
}

/// Waits to be killed.
fn wait(said: io::Result<()>) -> io::Result<()> {
    said?;
    loop {
        std::thread::park();
    }
}

fn flood(message: &str) -> io::Result<()> {
    loop {
        say(message)?;
    }
}

fn calls() -> io::Result<()> {
    for id in 1_u64.. {
        say(&CALL.replace(":1,", &format!(":{id},")))?;
        hear()?;
    }
    Ok(())
}

fn framed(message: &str) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), message.as_bytes()].concat()
}

fn say(message: &str) -> io::Result<()> {
    raw(&framed(message))
}

fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn hear() -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    let mut input = io::stdin().lock();
    input.read_exact(&mut length)?;
    let mut frame = Vec::new();
    input.take(u32::from_be_bytes(length).into()).read_to_end(&mut frame)?;
    Ok(frame)
}
