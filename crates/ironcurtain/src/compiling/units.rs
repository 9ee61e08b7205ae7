//! The tools that the stages are about: roles from the policy, words from the servers.

use std::collections::BTreeSet;

use ic_compiler::{ToolInfo, Unit};
use ic_home::{Environment, Home};
use ic_inventory::pins::PinsFile;
use ic_opening::policy::Loaded;
use ic_types::{Json, Object, ServerName};

use crate::error::Failure;

/// Returns what is known of all tools that are annotated, by servers.
pub(crate) fn units(known: &Loaded, environment: &Environment) -> Result<Vec<Unit>, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    let pins = PinsFile::of(&home).read()?;
    let own = own_tools();
    let policy = &known.judge.policy;
    let tools = policy.annotations().map(|(server, tool, annotation)| {
        let listed = match own
            .iter()
            .find(|(its, name, _)| *its == server.as_str() && *name == tool.as_str())
        {
            Some((_, _, listed)) => Some(listed),
            None => pins.get(server).and_then(|pin| pin.tools.get(tool.as_str())),
        };
        let description = listed.and_then(|it| it.get("description")).and_then(Json::as_str);
        let schema = annotation.input_schema().or_else(|| listed?.get("inputSchema"));
        let arguments = annotation.arguments().iter().map(|argument| {
            (argument.place().as_str().to_owned(), argument.possible_roles().collect())
        });
        ToolInfo {
            server: server.clone(),
            tool: tool.clone(),
            description: description.unwrap_or_default().to_owned(),
            schema: schema.cloned(),
            arguments: arguments.collect(),
        }
    });
    let mut tools: Vec<ToolInfo> = tools.collect();
    tools.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
    Ok(Unit::of(tools))
}

/// Returns the servers of which nobody has confirmed all tools.
pub(super) fn drafted(known: &Loaded) -> BTreeSet<ServerName> {
    let annotations = known.judge.policy.annotations();
    let drafts = annotations.filter(|(_, _, annotation)| annotation.is_draft());
    drafts.map(|(server, ..)| server.clone()).collect()
}

/// Returns the tools of our own servers as they list them.
fn own_tools() -> Vec<(&'static str, String, Object)> {
    let servers = [
        ("filesystem", ic_servers::filesystem::tools()),
        ("git", ic_servers::git::tools()),
        ("fetch", ic_servers::fetch::tools()),
        ("shell", ic_servers::shell::tools()),
    ];
    let each = |(server, tools): (&'static str, Vec<ic_servers::Tool>)| {
        tools.into_iter().filter_map(move |tool| match tool.into_json() {
            Json::Object(listed) => {
                let name = listed.get("name")?.as_str()?.to_owned();
                Some((server, name, listed))
            }
            _ => None,
        })
    };
    servers.into_iter().flat_map(each).collect()
}
