//! `ironcurtain policy check`: what would the policy say?

use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};

use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox};
use ic_policy::Structural;
use ic_types::{JsonLimits, nearest};

use crate::commands::Exit;
use crate::commands::policy::request::{INVALID_REQUEST, Judgement, Request};
use crate::error::Failure;
use crate::files;
use crate::judge::{self, JudgeArgs};
use crate::screen::{Screen, visible};

/// Show what the policy says about a call
///
/// Nothing is forwarded and nothing is recorded; the arguments are not checked against the tool's
/// input schema. Exits with 0 if the call is allowed, 3 if it needs approval and 4 if it is denied.
///
/// With `--requests`, reads one call per line, `{"server": …, "tool": …, "arguments": {…}}` (further
/// keys are left alone, so recorded answers can be fed in again), and prints for each line, in
/// order, `{"decision", "rule", "reason", "escalatedRoles"}`. A line that is not such a request is
/// denied as `structural-invalid-request`; then the exit code is 1, otherwise 0.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// Read calls from a file of JSON lines, or from standard input for `-`
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["server", "tool", "arguments"])]
    requests: Option<PathBuf>,
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
    /// MCP server that the call is for
    #[arg(required_unless_present = "requests")]
    server: Option<String>,
    /// Tool on that server
    #[arg(required_unless_present = "requests")]
    tool: Option<String>,
    /// Arguments of the call, a JSON object
    #[arg(value_name = "JSON", required_unless_present = "requests", allow_hyphen_values = true)]
    arguments: Option<String>,
}

/// Runs the command.
pub(crate) fn run(
    args: &CheckArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match (&args.requests, &args.server, &args.tool, &args.arguments) {
        (Some(requests), _, _, _) => {
            let lines = files::open_lines(requests)?;
            let loaded = judge::load(
                &args.judge.wanted(environment)?,
                NoSandbox::None,
                environment,
                screen,
            )?;
            let flushing =
                if requests == Path::new("-") { Flushing::Each } else { Flushing::AtEnd };
            check_batch(&loaded, lines, flushing, screen)
        }
        (None, Some(server), Some(tool), Some(arguments)) => {
            let arguments = Request::parse_arguments(arguments).map_err(Failure::usage)?;
            let loaded = judge::load(
                &args.judge.wanted(environment)?,
                NoSandbox::None,
                environment,
                screen,
            )?;
            let request = Request { server: server.clone(), tool: tool.clone(), arguments };
            let name = format!("{server}.{tool}");
            let judgement = request.judge(&loaded);
            let exit = check_one(&name, &judgement, args.json, screen)?;
            if let Some(hint) = hint(&judgement, (server, tool), &loaded) {
                screen.notice(&hint);
            }
            Ok(exit)
        }
        (None, ..) => Err(Failure::usage("expected SERVER, TOOL and JSON, or --requests")),
    }
}

/// Says what was probably meant by a call that could not be judged as it is.
fn hint(judgement: &Judgement, (server, tool): (&str, &str), loaded: &Loaded) -> Option<String> {
    if judgement.rule == Structural::UnknownTool.as_str() {
        let servers: Vec<&str> = loaded.servers.iter().map(|(name, _)| name.as_str()).collect();
        let (what, name, known) = if servers.contains(&server) {
            let tools = loaded.judge.policy.annotations().filter(|it| it.0.as_str() == server);
            ("tool", tool, tools.map(|(_, tool, _)| tool.as_str()).collect())
        } else {
            ("server", server, servers)
        };
        let hint = match nearest(name, known.iter().copied()) {
            Some(meant) => format!("is `{meant}` meant?"),
            None => format!("known are {}", known.join(", ")),
        };
        return Some(format!("there is no {what} `{}`; {hint}", visible(name)));
    }
    let is_without_sandbox = loaded.judge.bounds.sandbox.is_none();
    let needs_one = judgement.reason.contains("no directory to resolve it against");
    (is_without_sandbox && needs_one).then(|| {
        "a relative path needs a sandbox: add `--sandbox .`, or write the whole path".to_owned()
    })
}

/// When what was printed is handed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Flushing {
    /// After each line: whoever asks on our standard input may wait for it.
    Each,
    /// When all is said.
    AtEnd,
}

fn check_one(
    name: &str,
    judgement: &Judgement,
    json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    if json {
        screen.json(&judgement.to_json())?;
    } else {
        screen.line(&format!("{}: {}", visible(name), judgement.decision))?;
        screen.line(&format!("  rule: {}", visible(&judgement.rule)))?;
        screen.line(&format!("  reason: {}", visible(&judgement.reason)))?;
        if !judgement.escalated_roles.is_empty() {
            screen.line(&format!("  escalated roles: {}", judgement.escalated_roles.join(", ")))?;
        }
    }
    Ok(match judgement.decision {
        "allow" => Exit::Success,
        "escalate" => Exit::NeedsApproval,
        _ => Exit::Denied,
    })
}

fn check_batch(
    loaded: &Loaded,
    mut lines: Box<dyn BufRead>,
    flushing: Flushing,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    let mut n_lines = 0_usize;
    let mut line = Vec::new();
    while read_line(&mut *lines, &mut line)? {
        n_lines += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let judgement = match Request::parse_line(&line) {
            Ok(request) => request.judge(loaded),
            Err(reason) => {
                exit = Exit::Failed;
                screen.warning(&format!("request {n_lines} cannot be read: {reason}"));
                Judgement::denied(INVALID_REQUEST, reason)
            }
        };
        screen.json(&judgement.to_json())?;
        if flushing == Flushing::Each {
            screen.out().flush().map_err(Failure::output)?;
        }
    }
    Ok(exit)
}

/// Reads one line, of which no more is kept than a request may be long.
fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool, Failure> {
    let failed = |source| Failure::environment("cannot read the requests").with_source(source);
    line.clear();
    let limit = JsonLimits::CALL.bytes_max + 1;
    lines.take(limit as u64).read_until(b'\n', line).map_err(failed)?;
    if line.len() == limit && line.last() != Some(&b'\n') {
        lines.skip_until(b'\n').map_err(failed)?;
    }
    Ok(!line.is_empty())
}
