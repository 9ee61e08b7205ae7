//! A trivial MCP server for measurements: answers each call with a constant, as fast as it can.
//!
//! No test of anything: it trusts whoever talks to it.

use std::io::{self, BufRead as _, Write as _};

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
}

const HELLO: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"read","description":"Answers.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"count":{"type":"integer"}},"required":["path"]}}]}"#;
const ANSWER: &str = r#"{"content":[{"type":"text","text":"fine"}]}"#;

/// Serves until standard input ends.
pub fn run() -> anyhow::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut line = String::new();
    loop {
        line.clear();
        if stdin.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let asked: Asked<'_> = serde_json::from_str(&line)?;
        let Some(id) = asked.id else { continue };
        let result = match asked.method.as_ref() {
            "initialize" => HELLO,
            "tools/list" => TOOLS,
            _ => ANSWER,
        };
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
        stdout.write_all(answer.as_bytes())?;
        stdout.flush()?;
    }
}
