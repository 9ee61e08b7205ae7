//! `ironcurtain approvals approve` and `deny`: a person looks at one question, and answers it.
//!
//! ```text
//! read ─▶ shown, with what an answer does ─▶ asked at the terminal ─▶ answered, with the digest of
//!                                              (or a script may)      what was read
//! ```

use std::time::Duration;

use ic_escalation::display::View;
use ic_escalation::offer::LIFETIME;
use ic_escalation::{Offer, Pending, Receipt, Reply, ScopeKind, Terms, Told, Wish};
use ic_home::{Clock as _, Environment, SystemClock};
use ic_policy::{DecidedBy, Decision};
use ic_types::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{At, Sight, Target, lines, person, unusable};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::error::Failure;
use crate::own_policy::always::{Always, AlwaysOffer};
use crate::person::{Answer, Person};
use crate::screen::Screen;

/// How long it is waited whether a session refuses an approval; it does so at once, if it does.
const REFUSED_WITHIN: Duration = Duration::from_millis(100);
/// How often something else may happen meanwhile.
const WAKES_MAX: usize = 20;

/// Approve one request
///
/// Shows the whole call and asks at the terminal, unless `approvals.scripted` is true; then it has to
/// be named by its id. The one call is forwarded as it was shown; if anything about it has changed,
/// there is a new request. Exits with 0 if the session has the approval, and with 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// Number in `approvals list`, or id
    #[arg(value_name = "N|ID")]
    target: Target,
    /// Approve similar calls too: those in the scope that is shown, for this server, tool and policy
    ///
    /// One of the words that `approvals show` names: `file`, `directory`, `host`, `repository` or
    /// `name`. What exactly it means is shown before you are asked.
    #[arg(long, value_name = "SCOPE")]
    grant: Option<ScopeKind>,
    /// Also allow such calls in your policy, for new sessions; running ones keep asking
    ///
    /// What exactly is added to which policy is shown before you are asked. Not possible where the
    /// policy does not decide, such as for files that the host executes.
    #[arg(long, conflicts_with = "grant")]
    always: bool,
    /// How long the grant lasts, at most a day; it ends with the session in any case
    #[arg(long, value_name = "M", requires = "grant", default_value_t = LIFETIME.as_secs() / 60)]
    minutes: u64,
    /// How many further calls the grant covers; without it, any number
    #[arg(long, value_name = "C", requires = "grant")]
    count: Option<u64>,
    /// Approve without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// Deny one request
///
/// Shows the call and asks at the terminal, unless `approvals.scripted` is true. The agent is told
/// that you denied it. Exits with 0 if the session has the denial, and with 1 if not.
#[derive(Debug, clap::Args)]
pub(crate) struct DenyArgs {
    /// Number in `approvals list`, or id
    #[arg(value_name = "N|ID")]
    target: Target,
    /// Deny without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// Runs `approvals approve`.
pub(crate) fn approve(
    args: &ApproveArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let sight = Sight::take(&home, screen)?;
    let pending = sight.find(&args.target)?;
    let wish = match args.grant {
        Some(kind) => Some(wish(args, pending, kind, SystemClock.now())?),
        None => None,
    };
    let mut person = person("whether to approve the call", args.yes, &home, environment)?;
    // SECURITY: an agent can take its question back and ask another one, which has the number then;
    // where nobody looks at it, nobody would notice.
    if let (Person::Scripted, Target::Number(number)) = (&person, &args.target) {
        return Err(Failure::usage(format!(
            "`#{number}` may be another call by now, and would be approved unseen"
        ))
        .with_hint("name it by its id, which `ironcurtain approvals list` shows"));
    }
    let adding = match args.always {
        true => Some(Adding::work_out(pending, environment)?),
        false => None,
    };
    // SECURITY: what is left out may be what matters.
    let mut shown = lines(pending, View::Full, At::Prompt, sight.at);
    shown.push(String::new());
    let question = match (&wish, &adding) {
        (_, Some(adding)) => {
            shown.extend(adding.offer.lines());
            "Approve this call, and add that to the policy?"
        }
        (None, None) => {
            shown.push("If you approve, this one call is forwarded as it is shown.".to_owned());
            "Approve this call?"
        }
        (Some(wish), None) => {
            shown.push("If you approve, this call is forwarded as it is shown, and".to_owned());
            shown.extend(wish.preview().into_iter().map(|line| format!("  {line}")));
            "Approve this call, and grant that?"
        }
    };
    let reply = Reply::Approve(wish);
    settle(pending, (&reply, adding.as_ref()), (&shown, question), &mut person, screen)
}

/// An addition to the policy that comes with an approval.
struct Adding {
    always: Always,
    offer: AlwaysOffer,
}

impl Adding {
    fn work_out(pending: &Pending, environment: &Environment) -> Result<Self, Failure> {
        let always = Always::new(environment, "approvals approve");
        let offer = always.offer(pending.request()).map_err(|why| {
            Failure::usage(format!("nothing can be added with #{}: {why}", pending.number()))
                .with_hint("leave `--always` out to approve this one call")
        })?;
        Ok(Self { always, offer })
    }
}

/// Runs `approvals deny`.
pub(crate) fn deny(
    args: &DenyArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let sight = Sight::take(&home, screen)?;
    let pending = sight.find(&args.target)?;
    let mut person = person("whether to deny the call", args.yes, &home, environment)?;
    let mut shown = lines(pending, View::Short, At::Prompt, sight.at);
    shown.push(String::new());
    shown.push("If you deny it, the call is not forwarded, and the agent is told so.".to_owned());
    settle(pending, (&Reply::Deny, None), (&shown, "Deny this call?"), &mut person, screen)
}

fn settle(
    pending: &Pending,
    (reply, adding): (&Reply, Option<&Adding>),
    (shown, question): (&[String], &str),
    person: &mut Person,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    person.show(shown, screen)?;
    if person.ask(question)? == Answer::Denied {
        screen.line(&format!("Escalation #{} was not answered.", pending.number()))?;
        return Ok(Exit::Failed);
    }
    if let Some(Adding { always, offer }) = adding {
        screen.line(&always.apply(offer, person.how_agreed())?)?;
    }
    let told = pending.answer(reply, DecidedBy::Cli, SystemClock.now());
    let mut told = told.map_err(|error| unusable(&error))?;
    // Nobody is there to be told later.
    let is_approved = told.receipt == Receipt::Accepted(Decision::Approved);
    if is_approved && is_refused(pending) {
        told.receipt = Receipt::Refused;
    }
    screen.line(&receipt(pending, told)?)?;
    Ok(Exit::Success)
}

/// Waits a moment whether the session refuses what was approved.
fn is_refused(pending: &Pending) -> bool {
    let Ok(mut watch) = pending.watch() else { return pending.is_refused() };
    let wait = Timespec { tv_sec: 0, tv_nsec: REFUSED_WITHIN.subsec_nanos().into() };
    // Whatever else happens there wakes us as well.
    for _ in 0..WAKES_MAX {
        if pending.is_refused() {
            return true;
        }
        let woken = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&wait));
        if !woken.is_ok_and(|it| 0 < it) || watch.changes().is_err() {
            break;
        }
    }
    pending.is_refused()
}

/// Says that an answer was accepted; that it was not is a failure.
pub(super) fn receipt(pending: &Pending, told: Told) -> Result<String, Failure> {
    let hint = match told.receipt {
        Receipt::Accepted(Decision::Denied) => {
            let (number, session) = (told.number, pending.session());
            return Ok(format!("{told} Your denial of #{number} was accepted by `{session}`."));
        }
        Receipt::Accepted(Decision::Approved) => {
            return Ok(format!("{told} #{} was accepted by `{}`.", told.number, pending.session()));
        }
        Receipt::Expired => "the call was not forwarded; the agent may ask again",
        Receipt::AnsweredAlready => "the first answer counts; the audit log shows it",
        Receipt::Ended => "start the session again, and the agent may ask again",
        Receipt::Changed => "look at it again: `ironcurtain approvals list`",
        Receipt::Refused => {
            "another program may have changed the request; `ironcurtain audit show` says why"
        }
    };
    Err(Failure::environment(told.to_string()).with_hint(hint))
}

/// Makes the grant that was asked for, if it is offered.
fn wish(
    args: &ApproveArgs,
    pending: &Pending,
    kind: ScopeKind,
    now: Timestamp,
) -> Result<Wish, Failure> {
    let number = pending.number();
    let offer = Offer::of_request(pending.request()).map_err(|error| {
        Failure::usage(format!("nothing can be granted with #{number}: {error}"))
            .with_hint("leave `--grant` out to approve this one call")
    })?;
    // The narrowest first, so a word that fits several means no more than it has to.
    let mut choices = offer.choices().into_iter();
    let choice = choices.find(|choice| choice.scopes().any(|(_, scope)| scope.kind() == kind));
    let choice = choice.ok_or_else(|| {
        Failure::usage(format!("no `{kind}` can be granted with #{number}"))
            .with_hint(format!("`ironcurtain approvals show {number}` names what can be"))
    })?;
    let lifetime = Duration::from_secs(args.minutes.saturating_mul(60));
    let terms = Terms::new(now, lifetime, args.count);
    let terms = terms.map_err(|error| Failure::usage(format!("no such grant: {error}")))?;
    Ok(choice.with(terms))
}
