//! `ironcurtain refresh-lists`: the values of lists are found anew, shown, and written once somebody agrees.
//!
//! A list that cannot be found stays as it was. Values that people added or took away by hand are left alone.

mod find;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ic_constitution::{DefinedList, FoundList, ListSource, defined_lists, refreshed};
use ic_home::{Clock as _, Environment, Home, Lock, SystemClock, file};
use ic_opening::files;
use ic_opening::policy::{As, COMPILED, Loaded, NoSandbox, Origin, Wanted};
use ic_types::counted;

use crate::commands::{Exit, compile_policy};
use crate::error::Failure;
use crate::own_policy::Agreed;
use crate::own_policy::constitution::{LISTS, list_in};
use crate::own_policy::difference::{Difference, Settings};
use crate::own_policy::force::note_use;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible, visible_line};
use find::{Chosen, Finder, Found};

/// Find the values of a policy's lists anew
///
/// A constitution says where the values of a list come from: `@contacts is what list_contacts of
/// addressbook returns.` The call is judged by the policy and recorded like any other. Lists that are
/// described in words (`@news means popular news sites.`) need a key for a model. You see every value that
/// comes or goes, and what the policy would let through; nothing is written before you agree. A list that
/// cannot be found stays as it was, and the exit code is 1; it is 3 if a call needed approval and nobody
/// was available.
#[derive(Debug, clap::Args)]
pub(crate) struct RefreshArgs {
    /// Lists to refresh; without them, all that say where their values come from
    #[arg(value_name = "LIST")]
    lists: Vec<String>,
    /// Policy with the lists, by name or directory; without it, the policy in force
    #[arg(long, value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Let calls that need approval wait for an answer even if no approver is connected
    #[arg(long)]
    wait: bool,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

impl RefreshArgs {
    fn wanted(&self) -> Wanted {
        let policy = self.policy.clone();
        Wanted { policy, sandbox: None, protected: Vec::new(), servers: None }
    }
}

/// The files of a policy that are replaced, or that say what replaces them.
#[derive(Debug, Eq, PartialEq)]
struct Files {
    compiled: Vec<u8>,
    lists: Option<Vec<u8>>,
}

impl Files {
    fn read(directory: &Path) -> Result<Self, Failure> {
        let compiled = files::read(&directory.join(COMPILED))?;
        Ok(Self { compiled, lists: files::read_if_present(&directory.join(LISTS))? })
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &RefreshArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let wanted = args.wanted();
    wanted.check(environment)?;
    let known = Loaded::load(&wanted, NoSandbox::None, environment)?;
    let Origin::Directory(directory) = &known.found else {
        return Err(Failure::config(format!("the policy {} has no lists", known.origin))
            .with_hint("`ironcurtain policy new NAME` makes a policy of your own"));
    };
    let directory = directory.as_path();
    let before = Files::read(directory)?;
    let chosen = chosen(&args.lists, &before.compiled)?;
    let finder = Finder { known: &known, wanted: &wanted, wait: args.wait, environment };
    let (outcomes, n_unanswered) = finder.find(&chosen, screen)?;

    let _lock = Lock::acquire(home.policies_lock())?;
    if Files::read(directory)? != before {
        return Err(Failure::config("the policy was changed meanwhile; nothing was written")
            .with_hint("run the command again"));
    }
    let found: Vec<FoundList<'_>> = outcomes
        .iter()
        .filter_map(|it| Some(FoundList { list: it.list, values: it.outcome.as_deref().ok()? }))
        .collect();
    let refresh = Refresh { args, directory, before: &before, home: &home, environment };
    let is_done = found.is_empty() || refresh.write(&found, screen)?;
    let mut has_failed = false;
    for Found { list, outcome } in &outcomes {
        if let Err(why) = outcome {
            has_failed = true;
            screen.warning(&visible_line(&format!("@{} stays as it was: {why}", list.name)));
        }
    }
    if !is_done {
        screen.line("Nothing was changed.")?;
    }
    Ok(match (is_done, has_failed) {
        (true, false) => Exit::Success,
        (true, true) if 0 < n_unanswered => Exit::NeedsApproval,
        (false, _) | (true, true) => Exit::Failed,
    })
}

/// Returns the lists that are to be refreshed.
fn chosen(names: &[String], compiled: &[u8]) -> Result<Vec<Chosen>, Failure> {
    let unreadable = || Failure::config("the lists of the policy cannot be read");
    let defined: Vec<DefinedList> = defined_lists(compiled).ok_or_else(unreadable)?;
    let names: Vec<&str> = names.iter().map(|it| it.trim_start_matches('@')).collect();
    if let Some(name) = names.iter().find(|name| !defined.iter().any(|it| it.name == **name)) {
        let all: Vec<String> = defined.iter().map(|it| format!("@{}", it.name)).collect();
        return Err(Failure::usage(format!("no rule of the policy names the list `@{name}`"))
            .with_hint(format!("there are: {}", all.join(", "))));
    }
    let mut chosen = Vec::new();
    for list in defined {
        let is_named = names.contains(&list.name.as_str());
        if !names.is_empty() && !is_named {
            continue;
        }
        match Chosen::of(&list) {
            Some(one) => chosen.push(one),
            None if is_named => return Err(no_source(&list.name)),
            None => {}
        }
    }
    match chosen.is_empty() {
        true => Err(no_source("contacts")),
        false => Ok(chosen),
    }
}

fn no_source(name: &str) -> Failure {
    Failure::config("nothing says where the values of the list come from").with_hint(format!(
        "say so in the constitution, such as `@{name} is what TOOL of SERVER returns.`, and compile it; \
         or write values into {LISTS} by hand"
    ))
}

/// Values that were found, and where they go.
struct Refresh<'a> {
    args: &'a RefreshArgs,
    directory: &'a Path,
    before: &'a Files,
    home: &'a Home,
    environment: &'a Environment,
}

impl Refresh<'_> {
    /// Shows what changes, asks and writes; returns whether it was written.
    fn write(&self, found: &[FoundList<'_>], screen: &mut Screen) -> Result<bool, Failure> {
        let at = SystemClock.now().to_string();
        let before = self.before.lists.as_deref();
        let text = refreshed(before, found, &at)
            .ok_or_else(|| Failure::config(format!("`{LISTS}` of the policy cannot be read")))?;
        let changes: Vec<Change<'_>> = found.iter().map(|it| Change::of(it, before)).collect();
        let lines: Vec<String> = changes.iter().flat_map(Change::lines).collect();
        if changes.iter().all(Change::is_none) {
            screen.lines(&lines)?;
        } else if !self.is_agreed(lines, &text, screen)? {
            return Ok(false);
        }
        file::replace(self.directory.join(LISTS), text.as_bytes())?;
        let n_lists = counted(found.len(), "list", "lists");
        let place = visible(&self.directory.display().to_string());
        screen.line(&format!("refreshed {n_lists}: {place}"))?;
        Ok(true)
    }

    /// SECURITY: values come from strangers and models, so a person sees them, whichever policy has the lists.
    fn is_agreed(
        &self,
        mut lines: Vec<String>,
        text: &str,
        screen: &mut Screen,
    ) -> Result<bool, Failure> {
        let Self { args, directory, home, environment, .. } = *self;
        let how = As { lists: Some(text.as_bytes()), ..As::CONFIRMED };
        let settings =
            |how| Settings::load_as(&args.wanted(), how, environment, &mut Screen::silent());
        let (before, after) = (settings(As::CONFIRMED)?, settings(how)?);
        let difference = Difference::shown_of(&before, &after);
        lines.extend(difference.lines());
        let what = "whether to use the lists";
        let mut person = Person::find(what, args.yes, Scripts::of(home, environment)?)?;
        person.show(&lines, screen)?;
        if person.ask("Use these lists from now on?")? == Answer::Denied {
            return Ok(false);
        }
        let (_, is_in_force) =
            compile_policy::in_force(directory, home, environment, &mut Screen::silent())?;
        if is_in_force {
            let agreed = Agreed { by: "refresh-lists", how: person.how_agreed() };
            note_use(&before.session, &after.session, (agreed, Some(&difference)), home)?;
        }
        Ok(true)
    }
}

/// What changes about a list.
struct Change<'a> {
    list: &'a DefinedList,
    n_values: usize,
    added: Vec<String>,
    removed: Vec<String>,
}

impl<'a> Change<'a> {
    fn of(found: &FoundList<'a>, before: Option<&[u8]>) -> Self {
        let before: BTreeSet<String> = before
            .map(|bytes| list_in(bytes, &found.list.name, "values").into_iter().collect())
            .unwrap_or_default();
        let now: BTreeSet<String> = found.values.iter().cloned().collect();
        Self {
            list: found.list,
            n_values: now.len(),
            added: now.difference(&before).cloned().collect(),
            removed: before.difference(&now).cloned().collect(),
        }
    }

    fn is_none(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    fn lines(&self) -> Vec<String> {
        let origin = match self.list.definition.as_ref().map(|it| &it.source) {
            Some(ListSource::Tool { server, tool, .. }) => format!("from {tool} of {server}"),
            Some(ListSource::Words { words, server: Some(server) }) => {
                format!("`{words}`, found by a model with {server}")
            }
            Some(ListSource::Words { words, server: None }) => {
                format!("`{words}`, as a model says")
            }
            None => "by hand".to_owned(),
        };
        let n_values = counted(self.n_values, "value", "values");
        let mut lines = vec![visible_line(&format!("@{}: {n_values}, {origin}", self.list.name))];
        // SECURITY: every value is shown, however many there are.
        for (mark, all) in [("+", &self.added), ("-", &self.removed)] {
            lines.extend(all.iter().map(|it| visible_line(&format!("  {mark} {it}"))));
        }
        match self.n_values - self.added.len() {
            0 => {}
            n => lines.push(format!("  {n} as before")),
        }
        lines
    }
}
