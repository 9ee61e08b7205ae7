//! `ironcurtain policy suggest`: rules for what you approved again and again.

use std::collections::{HashMap, HashSet};

use ic_analysis::property::{self, Level};
use ic_analysis::replay::{Answer, Intent};
use ic_analysis::suggest::{Answered, Candidate, Place, candidates};
use ic_audit::read::Record;
use ic_constitution::Sentence;
use ic_constitution::english::of_addition;
use ic_home::{Environment, Home};
use ic_opening::policy::{Loaded, NoSandbox, Wanted};
use ic_policy::additions::{self, Addition};
use ic_policy::{DomainPattern, Effect};
use ic_resolve::{Disk as _, Kind, RealDisk};
use ic_types::Json;
use serde::Serialize;

use super::recorded::{Reading, logs};
use super::verify::subject;
use crate::commands::Exit;
use crate::commands::approvals::PEOPLE;
use crate::error::Failure;
use crate::judge;
use crate::own_policy::difference::Difference;
use crate::own_policy::{Change, Target, english, spelled, words};
use crate::screen::{Screen, visible};

/// Propose rules for what you approved again and again
///
/// Reads the logs of sessions and proposes a rule where you approved at least three calls of the same kind in
/// one directory, at one host or in one repository. Each proposal shows the requests that it would have saved
/// and everything else that it would allow. Nothing is changed: the printed command adds a rule, and asks.
/// The sentence says the same in a constitution (`ironcurtain policy grammar`).
#[derive(Debug, clap::Args)]
pub(crate) struct SuggestArgs {
    /// Sessions, by name or id, or log files; without them all sessions
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Print the proposals as a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    proposals: Vec<Proposal>,
    not_proposed: Vec<NotProposed>,
    /// Approved calls that ask whatever the policy says.
    always_asked: usize,
    /// Approved calls that no single rule is about.
    other: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Proposal {
    /// What a constitution would say.
    sentence: String,
    command: String,
    requests_saved: usize,
    /// What it would let through, those calls included.
    allows: Vec<String>,
    /// Whether every property that holds now still holds.
    keeps_properties: bool,
    #[serde(skip)]
    saved: Vec<usize>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NotProposed {
    what: String,
    approvals: usize,
    because: String,
}

/// Runs the command.
pub(crate) fn run(
    args: &SuggestArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let shown = found(&args.sessions, environment, screen)?;
    match args.json {
        true => screen.json(&serde_json::to_string(&shown).unwrap_or_default())?,
        false => print(&shown, screen)?,
    }
    Ok(Exit::Success)
}

/// Returns the command of each proposal, and how many requests it would have saved.
pub(in crate::commands) fn savings(
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Vec<(String, usize)>, Failure> {
    let proposals = found(&[], environment, screen)?.proposals.into_iter();
    Ok(proposals.map(|it| (it.command, it.requests_saved)).collect())
}

/// Finds what can be proposed.
fn found(
    sessions: &[String],
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Shown, Failure> {
    let answered = answered(sessions, environment)?;
    let wanted = Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };
    let before = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let policy = &before.judge.policy;
    let n_added = policy.rules().len() - policy.own_rules().len();
    let found = candidates(&answered, subject(&before), n_added);
    let mut shown = Shown {
        proposals: Vec::new(),
        not_proposed: Vec::new(),
        always_asked: found.n_structural,
        other: found.n_other,
    };
    for candidate in found.all {
        let (what, approvals) = (described(&candidate, environment)?, candidate.approved.len());
        match proposal(&candidate, &answered, &before, environment)? {
            Ok(proposal) => shown.proposals.push(proposal),
            Err(because) => shown.not_proposed.push(NotProposed { what, approvals, because }),
        }
    }
    drop_covered(&mut shown.proposals);
    Ok(shown)
}

/// Reads the calls that a person answered, with what they said.
fn answered(sessions: &[String], environment: &Environment) -> Result<Vec<Answered>, Failure> {
    let mut all = Vec::new();
    let reading = Reading { policy: None, environment };
    for found in logs(sessions, environment)? {
        let mut asked: HashMap<String, Intent> = HashMap::new();
        let mut counted: HashSet<String> = HashSet::new();
        reading.each(&found, &mut |stretch, lines| {
            let loaded = stretch.asked.as_ref();
            let sandbox = loaded.and_then(|it| it.judge.bounds.sandbox.clone());
            let answered = |intent: Intent, is_approved: bool| Answered {
                intent,
                is_approved,
                sandbox: sandbox.clone(),
            };
            for fields in lines.iter().filter_map(|line| Record::fields(line)) {
                let text = |key: &str| fields.get(key).and_then(Json::as_str);
                let is_person = text("decidedBy").is_some_and(|by| PEOPLE.contains(&by));
                let is_no = text("kind") == Some("escalation") && text("verdict") == Some("deny");
                if let (true, true, Some(request)) = (is_person, is_no, text("requestId")) {
                    let intent = asked.remove(request);
                    all.extend(intent.map(|intent| answered(intent, false)));
                    continue;
                }
                let Some(intent) = Intent::read(fields) else { continue };
                match (intent.verdict, intent.is_by_policy) {
                    (Effect::Escalate, true) => {
                        asked.insert(intent.request.clone(), intent);
                    }
                    (_, false) if is_person && counted.insert(intent.request.clone()) => {
                        all.push(answered(intent, true));
                    }
                    (_, _) => {}
                }
            }
            Ok(())
        })?;
    }
    Ok(all)
}

/// Makes a proposal of a candidate; or says why none is made.
fn proposal(
    candidate: &Candidate,
    answered: &[Answered],
    before: &Loaded,
    environment: &Environment,
) -> Result<Result<Proposal, String>, Failure> {
    if let Some(against) = candidate.against {
        return Ok(Err(against.text().to_owned()));
    }
    let place = match place(candidate, before, environment)? {
        Ok(place) => place,
        Err(because) => return Ok(Err(because)),
    };
    let names = (Some(candidate.server.clone()), candidate.tool.clone());
    let roles = Some(candidate.roles.clone());
    let Ok(addition) = Addition::new(Effect::Allow, names, roles, Some(place)) else {
        return Ok(Err("no rule can say this".to_owned()));
    };
    let Some(command) = words::command(&addition) else {
        return Ok(Err("its name cannot be typed plainly".to_owned()));
    };
    let home = Home::new(environment.ironcurtain_home()?);
    let target = Target::find(None, before, &home, environment)?;
    let (known, tools) = (target.content()?, english::tools(before));
    let after = Change::Add(vec![addition.clone()]).on(&known, "policy suggest", &tools)?;
    let settings = target.settings_with(&after, &tools, environment)?;
    let after = target.load_with(&after, &tools, environment, &mut Screen::silent())?;
    let is_saved = |position: &&usize| {
        let answer = answered.get(**position).map(|it| it.judge(subject(&after)));
        matches!(answer, Some(Answer::Decided(outcome)) if outcome.effect == Effect::Allow)
    };
    let saved: Vec<usize> = candidate.approved.iter().filter(is_saved).copied().collect();
    if saved.len() < ic_analysis::suggest::APPROVALS_MIN {
        return Ok(Err("a rule alone would not have saved the requests".to_owned()));
    }
    if let Some(property) = broken_property(before, &after) {
        return Ok(Err(format!("it would break `{property}`, which `policy verify` checks")));
    }
    let difference = Difference::shown_of(&target.settings(environment)?, &settings);
    let allows = difference.of_kind(true).iter().map(|it| it.line()).collect();
    Ok(Ok(Proposal {
        // What has no plain form is said as the command says it.
        sentence: of_addition(&addition, &tools)
            .map_or_else(|| addition.to_string(), |it| joined(&it)),
        command,
        requests_saved: saved.len(),
        allows,
        keeps_properties: true,
        saved,
    }))
}

fn joined(sentences: &[Sentence]) -> String {
    sentences.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
}

/// Returns where a rule would hold, as it is written; or why none is proposed there.
fn place(
    candidate: &Candidate,
    loaded: &Loaded,
    environment: &Environment,
) -> Result<Result<additions::Place, String>, Failure> {
    let directory = match &candidate.place {
        Place::Directory(directory) => directory,
        Place::Host(host) => {
            return Ok(match DomainPattern::parse(host) {
                Ok(pattern) => Ok(additions::Place::Host(pattern)),
                Err(_) => Err("no rule can name this host".to_owned()),
            });
        }
    };
    if loaded.judge.closed().is_too_much(directory) {
        let because = "the directory is too much to be open: it is or holds a home directory, a \
                       system directory or protected files";
        return Ok(Err(because.to_owned()));
    }
    let written = spelled(directory, environment)?;
    if is_hidden(&written) {
        return Ok(Err("programs keep settings and credentials in hidden directories".to_owned()));
    }
    let entry = RealDisk.look(directory.as_path()).ok().flatten();
    if entry.is_none_or(|it| it.kind != Kind::Directory) {
        return Ok(Err("the directory does not exist any more".to_owned()));
    }
    Ok(Ok(additions::Place::Directory(written)))
}

/// Returns whether a directory lies in a hidden one, beneath the home if it lies there.
fn is_hidden(written: &str) -> bool {
    written.split('/').any(|it| it.starts_with('.'))
}

/// Returns a property that holds before and not afterwards.
fn broken_property(before: &Loaded, after: &Loaded) -> Option<String> {
    let failed = |loaded: &Loaded| {
        let found = property::verify(subject(loaded), &[], &|_| None).ok()?;
        let failed = found.into_iter().filter(|it| it.level == Level::Failed);
        Some(failed.map(|it| (it.property, it.rule)).collect::<HashSet<(String, String)>>())
    };
    let (Some(before), Some(after)) = (failed(before), failed(after)) else {
        return Some("completeness".to_owned());
    };
    // A rule of the user's own may hide one of the policy's, which is no danger.
    let mut broken = after.difference(&before).map(|(property, _)| property);
    broken.find(|property| property.as_str() != property::NO_SHADOWED_RULE).cloned()
}

/// Leaves out what another proposal saves as well.
fn drop_covered(proposals: &mut Vec<Proposal>) {
    let all: Vec<Vec<usize>> = proposals.iter().map(|it| it.saved.clone()).collect();
    let mut position = 0;
    proposals.retain(|it| {
        let this = position;
        position += 1;
        !all.iter().enumerate().any(|(at, other)| {
            at != this
                && it.saved.iter().all(|call| other.contains(call))
                && (it.saved.len() < other.len() || at < this)
        })
    });
}

/// Says what a candidate is about.
fn described(candidate: &Candidate, environment: &Environment) -> Result<String, Failure> {
    let verbs: Vec<&str> =
        candidate.roles.iter().map(|role| ic_analysis::describe::verb(*role)).collect();
    let place = match &candidate.place {
        Place::Directory(directory) => format!("in {}", spelled(directory, environment)?),
        Place::Host(host) => host.clone(),
    };
    let tool = candidate.tool.as_ref().map(|it| format!(".{it}")).unwrap_or_default();
    Ok(format!("{} {place}, with {}{tool}", verbs.join(" and "), candidate.server))
}

fn print(shown: &Shown, screen: &mut Screen) -> Result<(), Failure> {
    for Proposal { sentence, command, requests_saved, allows, .. } in &shown.proposals {
        screen.folded(&visible(sentence))?;
        screen.folded(&format!("  would have saved {requests_saved} approval requests"))?;
        screen.line("  lets through:")?;
        for line in allows {
            screen.folded(&format!("    {}", visible(line)))?;
        }
        screen.line("  breaks no property of `ironcurtain policy verify` that holds now")?;
        screen.line(&format!("  to add it: {}", visible(command)))?;
        screen.line("  or write the sentence above into the constitution of your policy")?;
    }
    if shown.proposals.is_empty() {
        screen.line("No rule is proposed.")?;
    }
    if !shown.not_proposed.is_empty() {
        screen.line("Approved often, and not proposed:")?;
    }
    for NotProposed { what, approvals, because } in &shown.not_proposed {
        let line = format!("{what}: {approvals} approvals, but {because}");
        screen.folded(&format!("  {}", visible(&line)))?;
    }
    if shown.always_asked != 0 {
        screen.folded(&format!(
            "{} approved calls need approval whatever the policy says.",
            shown.always_asked
        ))?;
    }
    Ok(())
}
