//! `ironcurtain servers review`: a person confirms what was guessed about the tools of a server.
//!
//! What was seen of the tools when the server was trusted is shown; no server is started. What is offered
//! (`guess`) is written only once a person confirms it.

mod advice;
mod dialog;
mod doubts;
mod seen;
pub(super) mod table;

use std::collections::BTreeSet;

use ic_home::{Environment, file};
use ic_inventory::pins::{Pin, PinsFile};
use ic_inventory::servers_file::Start;
use ic_inventory::{draft, guess};
use ic_judge::method::CallMethod;
use ic_opening::policy::{As, Loaded, Wanted};
use ic_types::{Json, ServerName};

use super::drafts::{self, Drafts};
use super::{find, load, meaning};
use crate::commands::Exit;
use crate::commands::config::home;
use crate::compiling::Compiler;
use crate::error::Failure;
use crate::own_policy::difference::{Difference, Settings};
use crate::own_policy::force::note_review;
use crate::person::{Person, Scripts};
use crate::screen::{Screen, visible};

/// Confirm what was guessed about the tools of a server
///
/// Shows all tools in one table, with what each argument is taken for. You confirm all of them at once, or
/// look at one, change what an argument means, and go back. Confirmed tools are judged by the policy alone
/// from then on, and what that lets through is shown first; the others stay drafts, and every call of theirs
/// needs approval. Exits with 0 if nothing is left to confirm, and with 1 if something is.
#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// Server to look at
    name: String,
    /// Give an argument other roles before it is shown, for example `read_file.path=read-path`
    #[arg(long = "set", value_name = "TOOL.ARG=ROLE[,ROLE…]")]
    set: Vec<String>,
    /// Confirm everything without being asked, if `approvals.scripted` is true
    #[arg(long)]
    yes: bool,
}

/// A review under way.
#[derive(Debug)]
struct Review<'a> {
    server: &'a ServerName,
    pin: &'a Pin,
    /// What stands on disk, as wide as it was guessed.
    written: Drafts,
    /// What is shown, and written for tools that are confirmed.
    annotations: Drafts,
    /// The tools that are shown, by name.
    drafts: Vec<String>,
    /// The tools of which a person said what an argument means.
    set: BTreeSet<String>,
}

impl ReviewArgs {
    /// Asks for the review of a server.
    pub(super) fn of(name: &str, yes: bool) -> Self {
        Self { name: name.to_owned(), set: Vec::new(), yes }
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &ReviewArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    review(args, None, environment, screen)
}

/// Reviews a server, with what a model says of its tools if there is one.
pub(super) fn review(
    args: &ReviewArgs,
    compiler: Option<&Compiler>,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = home(environment)?;
    let servers = load(None, environment)?;
    let (name, config) = find(&args.name, &servers)?;
    if let Start::Builtin(_) = config.start {
        screen.line(&format!("{name} is part of this program: there is nothing to review"))?;
        return Ok(Exit::Success);
    }
    let pins = PinsFile::of(&home).read()?;
    let Some(pin) = pins.get(name) else {
        return Err(Failure::config(format!("the tools of `{name}` are not known yet"))
            .with_hint(format!("`ironcurtain servers trust {name}` looks at them")));
    };
    home.prepare()?;
    let mut review = Review::new(name, pin, Drafts::read(name, &home)?);
    for text in &args.set {
        review.set_from(text)?;
    }
    review.find_drafts();
    let withheld = review.withheld_told();
    if review.drafts.is_empty() {
        match &withheld {
            None => screen.line(&format!("{name}: all tools are confirmed already"))?,
            Some(told) => screen.line(told)?,
        }
        return Ok(Exit::Success);
    }
    let mut advice = match compiler {
        Some(compiler) => review.advise(compiler, screen)?,
        None => Vec::new(),
    };
    advice.extend(doubts::lines(&review, &seen::in_calls(name, config, &home)?));
    let what = format!("what the tools of `{name}` mean");
    let mut person = Person::find(&what, args.yes, Scripts::of(&home, environment)?)?;
    let policy = Effects::new(name, environment, screen)?;
    let (_, difference) = policy.with(&review.all_confirmed())?;
    let mut effects = vec!["If you confirm all of them, the policy in force:".to_owned()];
    effects.extend(difference.lines());
    match person {
        Person::Scripted => {
            screen.lines(&table::rows(review.annotations.tools().iter(), false))?;
            screen.lines(&advice)?;
            screen.lines(&effects)?;
            review.confirm_all();
        }
        Person::AtTerminal(_) => {
            person.show(&effects, screen)?;
            person.show(&advice, screen)?;
            review.ask(&mut person, screen)?;
        }
    }
    let (n_shown, n_left) = (review.drafts.len(), review.n_left());
    let written = review.into_written();
    if n_left < n_shown {
        let (after, difference) = policy.with(&written)?;
        let noted = (person.how_agreed(), &difference);
        note_review(name, (&policy.before.session, &after), noted, &home)?;
    }
    file::create_dir(home.installed_servers())?;
    file::create_dir(home.installed_servers().join(name.as_str()))?;
    written.write()?;
    let left = match n_left {
        0 if withheld.is_none() => "all tools are confirmed".to_owned(),
        0 => "none of these is left".to_owned(),
        n_left => format!("{n_left} not confirmed, so calls to them need approval"),
    };
    screen.line(&format!("{name}: {} confirmed; {left}", n_shown - n_left))?;
    if let Some(told) = &withheld {
        screen.line(told)?;
    }
    Ok(if n_left == 0 { Exit::Success } else { Exit::Failed })
}

/// The policy in force, and what annotations of a server would make of it.
struct Effects<'a> {
    server: &'a ServerName,
    environment: &'a Environment,
    before: Settings,
}

impl<'a> Effects<'a> {
    fn new(
        server: &'a ServerName,
        environment: &'a Environment,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let before = Settings::load_as(&IN_FORCE, As::IS, environment, screen)?;
        Ok(Self { server, environment, before })
    }

    /// Returns the policy with these annotations, and how it differs.
    fn with(&self, annotations: &Drafts) -> Result<(Loaded, Difference), Failure> {
        let section = annotations.section();
        let how = As { annotations: Some((self.server, &section)), ..As::IS };
        let after = Settings::load_as(&IN_FORCE, how, self.environment, &mut Screen::silent())?;
        let difference = Difference::shown_of(&self.before, &after);
        Ok((after.session, difference))
    }
}

/// The policy in force, for a session without a directory of its own.
const IN_FORCE: Wanted =
    Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };

impl<'a> Review<'a> {
    fn new(server: &'a ServerName, pin: &'a Pin, mut written: Drafts) -> Self {
        written.draft(server, pin.tools.iter().map(|(name, listed)| (name.as_str(), listed)));
        // What changed since it was confirmed is asked about again; on disk it stays until then, where what
        // the annotation does not name is denied.
        let mut annotations = written.clone();
        for tool in written.tools().iter().filter(|it| !drafts::is_draft(it)) {
            let name = drafts::name_of(tool);
            if let Some(listed) = pin.tools.get(name).filter(|it| drafts::has_changed(tool, it)) {
                annotations.replace(draft::annotation(server.as_str(), name, listed));
            }
        }
        for tool in &annotations.tools().to_vec() {
            if let Some(offered) = guess::offered(tool, pin.tools.get(drafts::name_of(tool))) {
                annotations.replace(offered);
            }
        }
        let (drafts, set) = (Vec::new(), BTreeSet::new());
        Self { server, pin, written, annotations, drafts, set }
    }

    /// Finds the tools that are to be confirmed.
    fn find_drafts(&mut self) {
        let is_left = |tool: &&ic_types::Object| {
            let name = drafts::name_of(tool);
            let is_known = self.pin.tools.contains_key(name) || CallMethod::of(name).is_some();
            drafts::is_draft(tool) && is_known
        };
        let left = self.annotations.tools().iter().filter(is_left);
        self.drafts = left.map(|tool| drafts::name_of(tool).to_owned()).collect();
    }

    /// Names the tools that no session uses, whatever is confirmed; none without any.
    fn withheld_told(&self) -> Option<String> {
        let names: Vec<String> = drafts::not_pinned(&self.written, self.pin)
            .map(|name| format!("`{}`", visible(name)))
            .collect();
        let which = match names.len() {
            0 => return None,
            1 => format!("{} is withheld, since it was", names.concat()),
            _ => format!("{} are withheld, since they were", names.join(", ")),
        };
        Some(format!(
            "{server}: {which} not trusted with the others; `ironcurtain servers trust {server}` says why, and asks",
            server = self.server
        ))
    }

    fn n_left(&self) -> usize {
        let is_left = |name: &&String| self.annotations.get(name).is_some_and(drafts::is_draft);
        self.drafts.iter().filter(is_left).count()
    }

    fn confirm(&mut self, tool: &str) {
        self.annotations.confirm(tool, self.pin.tools.get(tool));
    }

    /// Returns what would be written if everything were confirmed as it is shown.
    fn all_confirmed(&self) -> Drafts {
        let mut all = self.annotations.clone();
        for tool in &self.drafts {
            all.confirm(tool, self.pin.tools.get(tool));
        }
        all
    }

    fn confirm_all(&mut self) {
        for tool in self.drafts.clone() {
            self.confirm(&tool);
        }
    }

    fn set(&mut self, tool: &str, argument: &str, roles: Vec<Json>) -> Result<(), String> {
        self.annotations.set(tool, argument, roles)?;
        self.set.insert(tool.to_owned());
        Ok(())
    }

    /// Reads `TOOL.ARG=ROLE,ROLE` and does it.
    fn set_from(&mut self, text: &str) -> Result<(), Failure> {
        let usage = |why: String| {
            Failure::usage(format!("`--set {}`: {why}", visible(text)))
                .with_hint("write it as TOOL.ARG=ROLE, for example `read_file.path=read-path`")
        };
        let parts =
            text.split_once('=').and_then(|(place, roles)| Some((place.split_once('.')?, roles)));
        let Some(((tool, argument), roles)) = parts else {
            return Err(usage("it is incomplete".to_owned()));
        };
        let roles = meaning::roles(roles).map_err(usage)?;
        self.set(tool, argument, roles).map_err(usage)
    }

    /// Returns what is to be written.
    ///
    /// SECURITY: what was only offered is not written, or calls would be judged by what nobody confirmed.
    fn into_written(self) -> Drafts {
        let mut written = self.written;
        for tool in self.annotations.tools() {
            if !drafts::is_draft(tool) || self.set.contains(drafts::name_of(tool)) {
                written.replace(tool.clone());
            }
        }
        written
    }
}
