//! What is said of the servers of other clients: before they are added, and after.
//!
//! Every text that is not ours is made visible, and no secret comes this far.

use ic_inventory::servers_file::RESERVED;
use ic_types::ServerName;
use serde::Serialize;

use super::entry::{Found, Line};
use super::places::{Origin, Reach};
use super::references::{Wanted, Why};
use crate::commands::servers::{reserved, shown_word};
use crate::error::Failure;
use crate::screen::{Screen, visible};

/// What is said of a server that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    client: &'static str,
    file: String,
    /// Whether the file is part of a project, and not the user's own.
    of_project: bool,
    /// The directory that the client keeps it for.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Its variables or headers, as they would be written.
    with: Vec<String>,
    /// The variables that have to be set, because they stand for secrets.
    secrets: Vec<String>,
    /// The variables that have to be set, because the client's entry refers to them.
    variables: Vec<String>,
    notes: Vec<String>,
    switched_off: bool,
    /// Why it cannot be added, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Shows what was found.
pub(super) fn show(
    found: &[Found],
    is_known: impl Fn(&str) -> bool,
    json: bool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let rows: Vec<Row> = found.iter().map(|it| row(it, is_known(&it.name))).collect();
    if json {
        return screen.json(&serde_json::to_string(&rows).unwrap_or_default());
    }
    if rows.is_empty() {
        return screen.line("no client has a server that could be imported");
    }
    for (row, found) in rows.iter().zip(found) {
        screen.lines(&lines(row, found))?;
    }
    screen.notice("`ironcurtain servers import NAME…` adds those that you name");
    Ok(())
}

fn lines(row: &Row, found: &Found) -> Vec<String> {
    let mut lines = vec![format!("{}: {} ({})", visible(&row.name), row.command, row.client)];
    lines.push(format!("  {}", origin(&found.origin)));
    if row.switched_off {
        lines.push("  switched off there: `--all` leaves it out".to_owned());
    }
    if let Some(cwd) = &row.cwd {
        lines.push(format!("  runs in: {}", shown_word(cwd)));
    }
    if !row.with.is_empty() {
        let with: Vec<String> = row.with.iter().map(|it| shown_word(it)).collect();
        lines.push(format!("  with: {}", with.join(" ")));
    }
    for (what, names) in
        [("secrets, as variables to be set", &row.secrets), ("variables to be set", &row.variables)]
    {
        if !names.is_empty() {
            lines.push(format!("  {what}: {}", visible(&names.join(", "))));
        }
    }
    lines.extend(row.notes.iter().map(|note| format!("  note: {}", visible(note))));
    if let Some(problem) = &row.problem {
        lines.push(format!("  not to be added: {}", visible(problem)));
    }
    lines
}

fn row(found: &Found, is_known: bool) -> Row {
    let problem = match (&found.line, found.name.parse::<ServerName>()) {
        _ if is_known => Some("there is a server of that name".to_owned()),
        (_, Err(error)) => Some(error.to_string()),
        (_, Ok(name)) if name.as_str() == RESERVED => Some(reserved()),
        (Err(why), _) => Some(why.clone()),
        (Ok(_), Ok(_)) => None,
    };
    let (command, with, cwd) = match &found.line {
        Ok(Line { far: Some(far), .. }) => {
            let with = far.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            (shown_word(&far.url), with.collect(), None)
        }
        Ok(line) => {
            let words: Vec<String> = line.command.iter().map(|word| shown_word(word)).collect();
            let with = line.env.iter().map(|(name, value)| format!("{name}={value}"));
            (words.join(" "), with.collect(), line.directory.clone())
        }
        Err(_) => ("(no command)".to_owned(), Vec::new(), None),
    };
    let names = |is_secret: bool| -> Vec<String> {
        let of_kind = found.variables.iter().filter(|it| (it.why != Why::Named) == is_secret);
        of_kind.map(|it| it.name.clone()).collect()
    };
    let Origin { client, file, reach, project } = &found.origin;
    Row {
        name: found.name.clone(),
        client,
        file: file.display().to_string(),
        of_project: *reach == Reach::Project,
        project: project.clone(),
        command,
        cwd,
        with,
        secrets: names(true),
        variables: names(false),
        notes: found.notes.clone(),
        switched_off: found.is_off,
        problem,
    }
}

/// Says where a server was found.
pub(super) fn origin(origin: &Origin) -> String {
    let file = visible(&origin.file.display().to_string());
    match (origin.reach, &origin.project) {
        (Reach::Project, _) => {
            format!(
                "from {file}, which comes with the project: anyone who can write there chose what it runs"
            )
        }
        (Reach::Own, Some(project)) => format!("from {file}, for {}", visible(project)),
        (Reach::Own, None) => format!("from {file}"),
    }
}

/// Returns what is said once a server was added.
pub(super) fn told(found: &Found) -> Vec<String> {
    let name = visible(&found.name);
    let client = found.origin.client;
    let mut lines: Vec<String> =
        found.notes.iter().map(|it| format!("{name}: {}", visible(it))).collect();
    lines.extend(found.variables.iter().map(|Wanted { name: variable, why }| {
        let why = match why {
            Why::Secret => "stands for a secret, which was not copied".to_owned(),
            Why::Asked(id) => format!("stands for what {client} asks for as `{}`", visible(id)),
            Why::File => format!("stands for the content of a file that {client} reads"),
            Why::Named => format!("is referred to, as {client} does"),
            Why::Key(key) => format!("stands for {key}, which is kept from servers"),
            Why::Strangers(of) => format!(
                "stands for {}, which the project's file asks for, and which it does not get by itself",
                visible(of)
            ),
        };
        format!(
            "{name}: set {} in the environment that `ironcurtain` is started with; it {why}",
            visible(variable)
        )
    }));
    let file = visible(&found.origin.file.display().to_string());
    lines.push(format!(
        "{name}: {client} still starts it by itself, until you take it out of {file}"
    ));
    lines
}
