//! Names of built-in servers and their tools that there are not.
//!
//! What other servers are called, and what tools they have, is not known for certain, so nothing is refused
//! because of that.

use ic_policy::Effect;
use ic_types::{ServerName, ToolName};

use super::Tool;
use crate::fault::{Fault, Faults};
use crate::grammar::BUILT_IN_SERVERS;
use crate::sentence::{Deed, Sentence, With};

/// Refuses sentences that restrict what a built-in server does not have.
///
/// SECURITY: a rule for `Git_push` of git holds for no call, and looks as if it kept the agent from pushing.
pub(super) fn check(sentences: &[Sentence], tools: &[Tool]) -> Result<(), Faults> {
    let restricts = |it: &&Sentence| it.effect != Effect::Allow || it.is_only;
    let faults: Vec<Fault> = sentences
        .iter()
        .filter(restricts)
        .flat_map(|sentence| sentence.named().iter().map(move |with| (sentence, with)))
        .filter_map(|(sentence, with)| fault(sentence, with, tools))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
}

fn fault(sentence: &Sentence, with: &With, tools: &[Tool]) -> Option<Fault> {
    let (words, problem, nearest) =
        wrong_server(with, tools).or_else(|| wrong_tool(with, tools))?;
    let offers = nearest.map(|it| replaced(sentence, with, &it).to_string()).into_iter().collect();
    Some(Fault { line: sentence.line, column: 1, words, problem, offers })
}

/// The words that are wrong, why, and what comes nearest.
type Wrong = (String, String, Option<With>);

fn wrong_server(with: &With, tools: &[Tool]) -> Option<Wrong> {
    let server = meant_server(&with.server, tools)?;
    let problem = format!("the built-in server is called `{server}`");
    Some((with.server.to_string(), problem, Some(With { server, tool: with.tool.clone() })))
}

fn wrong_tool(with: &With, tools: &[Tool]) -> Option<Wrong> {
    let server = &with.server;
    let tool = with.tool.as_ref().filter(|it| lacks(server, it, tools))?;
    let problem = format!(
        "the server `{server}` has no tool of this name, so the sentence would hold for nothing"
    );
    let nearest =
        nearest(server, tool, tools).map(|tool| With { server: server.clone(), tool: Some(tool) });
    Some((tool.to_string(), problem, nearest))
}

/// Returns the built-in server that is meant by its name in other letters.
fn meant_server(server: &ServerName, tools: &[Tool]) -> Option<ServerName> {
    let name = server.as_str();
    let meant = BUILT_IN_SERVERS.iter().find(|it| it.eq_ignore_ascii_case(name))?;
    let is_other = *meant != name && !tools.iter().any(|it| it.server == *server);
    is_other.then(|| meant.parse().ok()).flatten()
}

/// Returns whether a built-in server whose tools are known has none of this name.
fn lacks(server: &ServerName, tool: &ToolName, tools: &[Tool]) -> bool {
    let mut known = tools.iter().filter(|it| it.server == *server).peekable();
    let is_known = BUILT_IN_SERVERS.contains(&server.as_str()) && known.peek().is_some();
    is_known && !known.any(|it| it.tool == *tool)
}

/// Returns the tool of the server whose name is nearest.
fn nearest(server: &ServerName, tool: &ToolName, tools: &[Tool]) -> Option<ToolName> {
    let wanted = tool.as_str().to_ascii_lowercase();
    let all = tools.iter().filter(|it| it.server == *server).map(|it| &it.tool);
    all.min_by_key(|it| ic_types::distance(&wanted, it.as_str())).cloned()
}

/// Returns the sentence with another name in the place of one.
fn replaced(sentence: &Sentence, with: &With, by: &With) -> Sentence {
    let swap = |all: &[With]| -> Vec<With> {
        all.iter().map(|it| if it == with { by.clone() } else { it.clone() }).collect()
    };
    let deed = match &sentence.deed {
        Deed::Use(uses) => Deed::Use(swap(uses)),
        deed => deed.clone(),
    };
    Sentence { deed, with: swap(&sentence.with), ..sentence.clone() }
}
