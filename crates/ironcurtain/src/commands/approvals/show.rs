//! `ironcurtain approvals show`: everything that a person needs to know about one question.

use ic_escalation::display::View;
use ic_escalation::{Offer, Pending, ScopeKind};
use ic_home::Environment;
use ic_types::{Json, Object};

use super::change::{self, Change};
use super::{At, Sight, Target, lines};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::screen::Screen;

/// Show everything about one approval request
///
/// The session, the reason, what the call would touch, the arguments as they would be sent and, for
/// the built-in filesystem server, the change to the file. Long values are shortened in the middle.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Number in `approvals list`, or id
    #[arg(value_name = "N|ID")]
    target: Target,
    /// Shorten nothing
    #[arg(long)]
    full: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &ShowArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let sight = Sight::take(&home(environment)?, screen)?;
    let pending = sight.find(&args.target)?;
    if args.json {
        screen.json(&to_json(pending).to_string())?;
        return Ok(Exit::Success);
    }
    let view = if args.full { View::Full } else { View::Short };
    let mut lines = lines(pending, view, At::Prompt, sight.at);
    lines.push(format!("  grants: {}", grants(pending)));
    screen.lines(&lines)?;
    Ok(Exit::Success)
}

/// Says what can be granted with an approval.
fn grants(pending: &Pending) -> String {
    match Offer::of_request(pending.request()) {
        Ok(offer) => {
            let words = scopes(&offer).into_iter().map(|kind| format!("`--grant {kind}`"));
            words.collect::<Vec<_>>().join(" or ")
        }
        Err(no_offer) => format!("none, because {no_offer}"),
    }
}

/// Returns the words by which a grant can be chosen, narrow ones first.
fn scopes(offer: &Offer) -> Vec<ScopeKind> {
    let mut kinds = Vec::new();
    for choice in offer.choices() {
        for (_, scope) in choice.scopes() {
            if !kinds.contains(&scope.kind()) {
                kinds.push(scope.kind());
            }
        }
    }
    kinds
}

fn to_json(pending: &Pending) -> Json {
    let request = pending.request();
    let mut object = match pending.to_json() {
        Json::Object(object) => object,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Object::new()
        }
    };
    let list = |words: Vec<&str>| words.into_iter().map(Json::from).collect::<Vec<_>>();
    object.insert("number", pending.number());
    object.insert("sessionId", request.session.as_str());
    let roles = request.escalated_roles.iter().map(|role| role.as_str()).collect();
    object.insert("escalatedRoles", list(roles));
    object.insert("digest", request.digest.to_string());
    let grants = Offer::of_request(request).map(|offer| scopes(&offer)).unwrap_or_default();
    object.insert("grants", list(grants.into_iter().map(ScopeKind::as_str).collect()));
    object.insert("sends", list(request.sends.iter().map(String::as_str).collect()));
    let (change, not_shown) = match change::of(request) {
        Some(Change::Difference(difference)) => (Json::from(difference), Json::Null),
        Some(Change::NotShown(why)) => (Json::Null, Json::from(why)),
        None => (Json::Null, Json::Null),
    };
    object.insert("change", change);
    object.insert("changeNotShown", not_shown);
    Json::Object(object)
}
