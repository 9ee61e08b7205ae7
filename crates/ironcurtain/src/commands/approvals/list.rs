//! `ironcurtain approvals list`: every question that waits, of all running sessions.

use ic_escalation::Pending;
use ic_escalation::display::{self, View};
use ic_home::Environment;
use ic_types::{Json, Object, Timestamp};

use super::{NOTHING, Sight};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::Screen;

/// List the pending approval requests of all running sessions
///
/// Oldest first. A request has the same number wherever it is shown, and no number is used twice.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ListArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let sight = Sight::take(&home(environment)?, screen)?;
    let pending = &sight.waiters.pending;
    if args.json {
        let rows = pending.iter().map(Pending::to_json).collect();
        screen.json(&Json::Array(rows).to_string())?;
        return Ok(Exit::Success);
    }
    if pending.is_empty() {
        screen.line(NOTHING)?;
    }
    let rows: Vec<String> = pending.iter().flat_map(|it| rows(it, sight.at)).collect();
    screen.lines(&rows)?;
    Ok(Exit::Success)
}

/// Shows a question in a few rows.
pub(crate) fn rows(pending: &Pending, now: Timestamp) -> Vec<String> {
    let request = pending.request();
    let (number, session) = (pending.number(), pending.session());
    let remaining = display::remaining(request.expires_at, now);
    let headline = display::headline(request);
    let mut rows = vec![format!("#{number} {session}: {headline}; expires {remaining}")];
    rows.push(format!("  because: {}", display::text(&request.reason, View::Short)));
    let further = request.further_causes();
    rows.extend(
        further.map(|it| format!("  also because: {}", display::text(&it.reason, View::Short))),
    );
    let asks = |role: &str| request.escalated_roles.iter().any(|it| it.as_str() == role);
    let asking = request.resolved.iter().filter(|(role, _)| asks(role));
    let before = rows.len();
    rows.extend(
        asking.map(|(role, values)| format!("  {role}: {}", display::named_values(values))),
    );
    if rows.len() == before {
        // The question is about the call as a whole.
        rows.push(format!("  arguments: {}", arguments(&request.arguments)));
    }
    rows.push(format!("  id: {}", request.escalation));
    rows
}

fn arguments(arguments: &Object) -> String {
    display::value(&Json::Object(arguments.clone()), View::Short)
}
