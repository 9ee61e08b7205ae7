//! `ironcurtain grants`: what was granted beyond one call, and how it is taken back.
//!
//! Reads the `grants.json` of each session. What is in force is in the memory of the session; here
//! it can be taken away, and nothing can be granted.

use ic_escalation::display::{self, View};
use ic_escalation::{GrantId, GrantRecord, GrantsFile, Registry, Revoked};
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_listener::GrantRow;
use ic_types::{Json, Object, SessionId, SessionName, Timestamp, visible};

use crate::commands::Exit;
use crate::commands::approvals::{person, unusable};
use crate::commands::config::home;
use crate::error::{Failure, chain};
use crate::own_policy::always::additions_of_grant;
use crate::own_policy::words;
use crate::person::Answer;
use crate::screen::Screen;

/// List grants and revoke them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum GrantsCommand {
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// List the grants of all running sessions
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Revoke a grant
///
/// Asks at the terminal, unless `approvals.scripted` is true. The next call that it would have
/// covered needs approval again. Exits with 0 if it was revoked, and with 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// Grant to revoke, as `grants list` names it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    id: Option<GrantId>,
    /// Take all grants of all sessions back
    #[arg(long)]
    all: bool,
}

/// How often a grant is used before the policy is proposed for it.
const USED_OFTEN: u64 = 3;

/// A grant, and whose it is.
struct Found {
    session: SessionId,
    /// Of a session that runs; nobody has the grants of any other one.
    name: Option<SessionName>,
    file: GrantsFile,
    record: GrantRecord,
}

/// Runs `command`.
pub(crate) fn run(
    command: GrantsCommand,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        GrantsCommand::List(args) => list(&args, environment, screen),
        GrantsCommand::Revoke(args) => revoke(&args, environment, screen),
    }
}

fn list(args: &ListArgs, environment: &Environment, screen: &mut Screen) -> Result<Exit, Failure> {
    let (home, now) = (home(environment)?, SystemClock.now());
    let mut found = find(&home, screen)?;
    found.retain(|it| it.is_in_force(now));
    if args.json {
        let rows = found.iter().map(Found::to_json).collect();
        screen.json(&Json::Array(rows).to_string())?;
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        screen.line("No grant is in force.")?;
    }
    for it in &found {
        screen.lines(&it.lines(now))?;
        screen.lines(&it.for_good(environment))?;
    }
    Ok(Exit::Success)
}

fn revoke(
    args: &RevokeArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let (home, now) = (home(environment)?, SystemClock.now());
    let mut found = find(&home, screen)?;
    match &args.id {
        // Whatever is written down is taken away, also where nobody seems to run.
        Some(id) => found.retain(|it| it.record.id == *id),
        None => found.retain(|it| it.is_in_force(now)),
    }
    match (&args.id, found.is_empty()) {
        (Some(id), true) => {
            return Err(Failure::environment(format!("there is no grant `{id}`"))
                .with_hint("`ironcurtain grants list` shows those that are in force"));
        }
        (None, true) => {
            screen.line("No grant is in force.")?;
            return Ok(Exit::Success);
        }
        (_, false) => {}
    }
    let mut person = person("whether to take the grant back", false, &home, environment)?;
    let lines: Vec<String> = found.iter().flat_map(|it| it.lines(now)).collect();
    person.show(&lines, screen)?;
    let question = match found.len() {
        1 => "Take this grant back?".to_owned(),
        n => format!("Take these {n} grants back?"),
    };
    if person.ask(&question)? == Answer::Denied {
        screen.line("Nothing was taken back.")?;
        return Ok(Exit::Failed);
    }
    for Found { file, record, .. } in &found {
        screen.line(&take_back(file, record)?)?;
    }
    Ok(Exit::Success)
}

/// Returns the grants that are in force, the newest last, as the listener shows them.
pub(crate) fn in_force(home: &Home) -> Result<Vec<GrantRow>, Failure> {
    let now = SystemClock.now();
    let found = find(home, &mut Screen::silent())?.into_iter().filter(|it| it.is_in_force(now));
    Ok(found.map(|it| GrantRow { id: it.record.id.to_string(), lines: it.lines(now) }).collect())
}

/// Takes a grant back, the newest one unless one is named; returns what is said about it.
pub(crate) fn undo(home: &Home, id: Option<&str>) -> Result<String, Failure> {
    let now = SystemClock.now();
    let mut found = find(home, &mut Screen::silent())?;
    found.retain(|it| it.is_in_force(now));
    let meant = match id {
        Some(id) => found.iter().find(|it| it.record.id.as_str() == id),
        None => found.last(),
    };
    match (meant, id) {
        (Some(Found { file, record, .. }), _) => take_back(file, record),
        (None, Some(id)) => Ok(format!("No grant `{id}` is in force.")),
        (None, None) => Ok("No grant is in force.".to_owned()),
    }
}

fn take_back(file: &GrantsFile, record: &GrantRecord) -> Result<String, Failure> {
    Ok(match file.revoke(&record.id).map_err(|error| unusable(&error))? {
        Revoked::Gone => format!("Grant {} was taken back.", record.id),
        Revoked::Unknown => format!("Grant {} had ended meanwhile.", record.id),
    })
}

/// Finds all grants that are written down, in the order in which they were given.
fn find(home: &Home, screen: &mut Screen) -> Result<Vec<Found>, Failure> {
    let live = Registry::of(home).live()?;
    for error in &live.unreadable {
        screen.warning(&chain(error));
    }
    let mut found = Vec::new();
    for (name, grants) in file::stamps(home.sessions(), "grants.json")? {
        let Some(session) = grants.and_then(|_| name.to_str()?.parse::<SessionId>().ok()) else {
            continue;
        };
        let file = GrantsFile::at(home.grants(&session));
        let records = match file.read() {
            Ok(records) => records,
            Err(error) => {
                screen.warning(&chain(&error));
                continue;
            }
        };
        let entry = live.sessions.iter().find(|it| it.session == session);
        found.extend(records.into_iter().map(|record| Found {
            session: session.clone(),
            name: entry.map(|it| it.name.clone()),
            file: file.clone(),
            record,
        }));
    }
    found.sort_by_key(|it| it.record.created_at);
    Ok(found)
}

impl Found {
    fn is_in_force(&self, now: Timestamp) -> bool {
        self.name.is_some() && now < self.record.expires_at && self.record.left != Some(0)
    }

    fn lines(&self, now: Timestamp) -> Vec<String> {
        let GrantRecord { id, server, tool, scopes, only, expires_at, left, used, .. } =
            &self.record;
        let session = self.name.as_ref().map_or(self.session.as_str(), SessionName::as_str);
        let used = match used {
            0 => String::new(),
            1 => ", used once".to_owned(),
            n => format!(", used {n} times"),
        };
        let left = match left {
            None => String::new(),
            Some(1) => ", for 1 more call".to_owned(),
            Some(left) => format!(", for {left} more calls"),
        };
        let ends = display::remaining(*expires_at, now);
        let mut lines =
            vec![format!("{id} {session}: {server} may call {tool}; ends {ends}{left}{used}")];
        for (role, kind, values) in scopes {
            let values = values.iter();
            lines.extend(
                values
                    .map(|value| format!("  {role}: {kind} {}", display::text(value, View::Full))),
            );
        }
        lines.extend(only.iter().map(|part| format!("  {}", visible(part))));
        lines
    }

    /// Names the commands that allow for good what was needed again and again; they show more, and ask.
    fn for_good(&self, environment: &Environment) -> Vec<String> {
        if self.record.used < USED_OFTEN {
            return Vec::new();
        }
        let additions = additions_of_grant(&self.record, environment).unwrap_or_default();
        let commands: Option<Vec<String>> = additions.iter().map(words::command).collect();
        let commands = commands.unwrap_or_default().into_iter();
        commands.map(|it| format!("  to allow this in your policy: `{it}`")).collect()
    }

    fn to_json(&self) -> Json {
        let record = &self.record;
        let mut roles = Object::new();
        for (role, kind, values) in &record.scopes {
            let mut scope = Object::new();
            scope.insert("kind", kind.as_str());
            let values = values.iter().map(|value| Json::from(value.as_str()));
            scope.insert("values", values.collect::<Vec<_>>());
            roles.insert(role.as_str(), scope);
        }
        let mut row = Object::new();
        row.insert("id", record.id.as_str());
        row.insert("session", self.name.as_ref().map_or("", SessionName::as_str));
        row.insert("sessionId", self.session.as_str());
        row.insert("server", record.server.as_str());
        row.insert("tool", record.tool.as_str());
        row.insert("roles", roles);
        let only = record.only.iter().map(|part| Json::from(part.as_str()));
        row.insert("only", only.collect::<Vec<_>>());
        row.insert("createdAt", record.created_at.to_string());
        row.insert("expiresAt", record.expires_at.to_string());
        row.insert("count", record.left.map_or(Json::Null, Json::from));
        row.insert("used", record.used);
        Json::Object(row)
    }
}
