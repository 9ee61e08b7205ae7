//! The real binary, run in hermetic places.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::format_collect,
    reason = "tests: a failure is a failed test"
)]

mod agents;
mod analysis;
mod approvals;
mod audit;
mod bad_input;
mod banner;
mod cages;
mod children;
mod clients;
mod commands;
mod config;
mod config_attacks;
mod confined;
mod conformance;
mod constitution;
mod conversations;
mod corpora;
mod desk;
mod doctor;
mod documents;
mod far;
mod fetch;
mod git;
mod host_executes;
mod in_process;
mod links;
mod listener;
mod lists;
mod mcp_server;
mod memory;
mod migrate;
mod mitm;
mod narrow;
mod own_policy;
mod own_rules;
mod protected;
mod providers;
mod proxy;
mod registries;
mod remotes;
mod repl;
mod run;
mod servers;
mod session;
mod shell;
mod start;
mod status;
mod taken_over;
mod trace;
mod usage;

use ic_testkit::{Output, Place};

/// A place for the binary that this test run has built.
fn place() -> Place {
    Place::new(env!("CARGO_BIN_EXE_ironcurtain"))
}

/// Returns a servers file with these servers and none of the built-in ones that it does not name.
fn alone(mut servers: serde_json::Value) -> serde_json::Value {
    for builtin in ["filesystem", "git", "fetch", "shell"] {
        if servers.get(builtin).is_none() {
            servers[builtin] = serde_json::Value::Null;
        }
    }
    servers
}

/// Reads each line of the binary's output as JSON.
#[track_caller]
fn json_lines(output: &Output) -> Vec<serde_json::Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Makes a batch of requests for one tool, one for each value of its one argument.
fn batch(server: &str, tool: &str, argument: &str, values: &[serde_json::Value]) -> String {
    values
        .iter()
        .map(|value| {
            let mut arguments = serde_json::Map::new();
            arguments.insert(argument.to_owned(), value.clone());
            format!(
                "{}\n",
                serde_json::json!({"server": server, "tool": tool, "arguments": arguments})
            )
        })
        .collect()
}
