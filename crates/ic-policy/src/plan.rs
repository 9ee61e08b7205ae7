//! Plans: several calls that an agent wants approved together, before it makes them.
//!
//! A plan is no call of a server, and nothing in it is a resource of its own: each of its calls was judged by
//! itself, and a person decides about all of them. What may stand in one, and what an approval covers, is not
//! known here.

use ic_types::Json;

use crate::call::ResolvedCall;
use crate::finding::{Finding, Structural};

/// The name that stands in the place of a server; no server can have it.
pub const SERVER: &str = "ironcurtain";
/// The tool by which an agent asks.
pub const TOOL: &str = "request_approval";
/// The argument that holds the calls.
pub const CALLS: &str = "calls";
/// The most calls of one plan; nobody would read more.
pub const CALLS_MAX: usize = 20;

/// Returns what speaks for or against a plan: always that a person has to be asked.
pub(crate) fn findings(call: &ResolvedCall) -> Vec<Finding> {
    let n_calls = match call.sent().get(CALLS) {
        Some(Json::Array(calls)) => calls.len(),
        _ => 0,
    };
    let detail = format!(
        "the agent asks about {n_calls} calls before it makes them; approved, each of them may be made once, \
         exactly as shown, within 10 minutes"
    );
    vec![Finding::structural(Structural::Plan, detail)]
}
