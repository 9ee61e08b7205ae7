//! `ironcurtain policy use`: another policy is in force from now on.

use std::path::{Path, PathBuf};

use ic_home::{Environment, Home, Lock};
use ic_opening::policy::{Loaded, NoSandbox, Origin, Wanted};
use ic_policy::host_executes::GIT_DIRECTORY;
use ic_resolve::path::{self, Last};
use ic_resolve::{Disk as _, RealDisk};
use ic_types::{AbsolutePath, CanonicalPath};

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge;
use crate::own_policy::Agreed;
use crate::own_policy::difference::{Difference, Settings, unusable_lines};
use crate::own_policy::force::{note_use, use_policy};
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible, visible_line};

/// Choose the policy that is in force where `--policy` does not name one
///
/// Shows its rules, where its directories lead and what it lets through that the policy in force does not,
/// and asks for your confirmation. Also confirms directories that have become links since the policy was
/// last used.
#[derive(Debug, clap::Args)]
pub(crate) struct UseArgs {
    /// `default`, `coding`, `readonly`, one of your own by name, or a directory
    #[arg(value_name = "NAME|DIR")]
    policy: PathBuf,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &UseArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let wanted = |policy: Option<PathBuf>| Wanted {
        policy,
        sandbox: None,
        protected: Vec::new(),
        servers: None,
    };
    let named = wanted(Some(args.policy.clone()));
    let after = judge::load_confirming(&named, NoSandbox::None, environment, screen)?;
    // What is in force may be broken or gone, and this is how to mend that.
    let before = judge::load_confirming(&wanted(None), NoSandbox::None, environment, screen).ok();
    let difference = match &before {
        Some(_) => {
            let settings =
                |wanted: &Wanted| Settings::load(wanted, environment, &mut Screen::silent());
            let (before, after) = (settings(&wanted(None))?, settings(&named)?);
            Some(Difference::shown_of(&before, &after))
        }
        None => None,
    };
    let mut person =
        Person::find("whether to use the policy", args.yes, Scripts::of(&home, environment)?)?;
    let mut lines = vec![match &before {
        Some(before) => format!(
            "in force now: {} ({})",
            visible(&before.origin),
            ic_types::counted(before.judge.policy.rules().len(), "rule", "rules")
        ),
        None => "in force now: none that can be used".to_owned(),
    }];
    lines.push(format!("from now on: {}", visible(&after.origin)));
    for rule in after.judge.policy.rules() {
        let (effect, name) = (rule.effect().as_str(), rule.name());
        lines
            .push(format!("  {effect:<8} {}", visible(&format!("{name}: {}", rule.description()))));
    }
    let roots = after.roots.lines();
    lines.extend(roots.iter().map(|line| format!("  {}", visible_line(line))));
    lines.extend(difference.iter().flat_map(Difference::lines));
    if let (Some(before), Some(difference)) = (&before, &difference) {
        lines.extend(unusable_lines(before, &after, difference));
    }
    lines.extend(warning(&after, &home, environment)?);
    person.show(&lines, screen)?;
    if person.ask("Use this policy from now on?")? == Answer::Denied {
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Failed);
    }
    let _lock = Lock::acquire(home.policies_lock())?;
    // SECURITY: what takes force is what was shown, against what was in force then.
    let hash = |wanted: &Wanted| {
        let loaded =
            judge::load_confirming(wanted, NoSandbox::None, environment, &mut Screen::silent());
        loaded.ok().map(|it| it.judge.policy.hash())
    };
    let shown = (Some(after.judge.policy.hash()), before.as_ref().map(|it| it.judge.policy.hash()));
    if (hash(&named), hash(&wanted(None))) != shown {
        return Err(changed_meanwhile());
    }
    let agreed = Agreed { by: "policy use", how: person.how_agreed() };
    let noted = (agreed, difference.as_ref());
    note_use(before.as_ref().unwrap_or(&after), &after, noted, &home)?;
    after.roots.remember(&after.origin, &home)?;
    use_policy(&configured(&args.policy, &after)?, &home, environment)?;
    screen.line(&format!("{} is in force for new sessions.", visible(&after.origin)))?;
    Ok(Exit::Success)
}

/// Says that a confirmation is not about what is there now.
pub(in crate::commands) fn changed_meanwhile() -> Failure {
    Failure::config("a policy was changed while the question stood; nothing was done")
        .with_hint("do it again, to see what would change now")
}

/// Puts a policy in force for `config set policy`, which asks in the same way.
pub(in crate::commands) fn run_for_config(
    policy: &Path,
    yes: bool,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    Origin::named(policy, environment)?;
    run(&UseArgs { policy: policy.to_owned(), yes }, environment, screen)
}

/// Puts the policy in force that is so without a key `policy`, before `config unset` removes that key.
pub(in crate::commands) fn run_for_unset(
    yes: bool,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let origin = Origin::find(None, None, environment)?;
    run_for_config(Path::new(&origin.to_word()), yes, environment, screen)
}

/// Warns of a policy that lies where agents are likely to work: in a repository, or where you are now.
fn warning(
    loaded: &Loaded,
    home: &Home,
    environment: &Environment,
) -> Result<Vec<String>, Failure> {
    let Some(directory) = loaded.found.directory() else { return Ok(Vec::new()) };
    let canonical = |path: &AbsolutePath| {
        path::follow(&RealDisk, path, Last::Follow).map(|found| found.path).map_err(|fault| {
            Failure::environment(format!("cannot resolve `{}`", path.as_path().display()))
                .with_source(fault)
        })
    };
    let policy = canonical(directory)?;
    if policy.is_within(&canonical(&environment.ironcurtain_home()?)?) {
        return Ok(Vec::new());
    }
    let is_top = |at: &CanonicalPath| {
        let git = at.join(GIT_DIRECTORY.as_ref());
        git.is_ok_and(|git| RealDisk.look(git.as_path()).is_ok_and(|entry| entry.is_some()))
    };
    let here = canonical(&environment.absolute(Path::new("."))?)?;
    let is_here = |at: &CanonicalPath| *at == here && here != CanonicalPath::root();
    let Some(around) = policy.ancestors().find(|at| is_top(at) || is_here(at)) else {
        return Ok(Vec::new());
    };
    let policies = home.policies();
    let text = format!(
        "warning: this policy lies in `{around}`. If agents have worked there, check that the rules above \
         are yours. While it is in force, sessions with that workspace do not start. To avoid this, move \
         it to `{}`.",
        policies.display()
    );
    Ok(vec![visible_line(&text)])
}

/// Returns what stands for the policy in the configuration: its name, or its whole path.
fn configured(policy: &Path, loaded: &Loaded) -> Result<String, Failure> {
    match &loaded.found {
        Origin::Builtin(builtin) => Ok(builtin.name().to_owned()),
        Origin::Directory(directory) => {
            // A link is followed now, since what it leads to later was not shown.
            let found = path::follow(&RealDisk, directory, Last::Follow).map_err(|fault| {
                let directory = directory.as_path().display();
                Failure::environment(format!("cannot resolve `{directory}`")).with_source(fault)
            })?;
            let directory = found.path.as_path();
            let is_named = policy.components().count() == 1
                && (directory.parent().is_some_and(|it| it.ends_with("policies"))
                    || directory.ends_with("generated"))
                && directory.ends_with(policy);
            let text = if is_named { policy.to_str() } else { directory.to_str() };
            text.map(str::to_owned).ok_or_else(|| {
                Failure::usage("the path of the policy is not valid Unicode")
                    .with_hint("put it into a directory with a plain name")
            })
        }
    }
}
