//! `ironcurtain compile-policy`: a constitution in English becomes a policy.
//!
//! Plain sentences need no model and no key. For the others a model proposes plain sentences, which the same code
//! compiles once a person has accepted them. What is written was verified with the engine that judges calls.

mod free;

use std::path::{Path, PathBuf};

use ic_constitution::{Compiled, artifact};
use ic_home::{Environment, Home, Lock, file};
use ic_opening::files;
use ic_opening::policy::{COMPILED, Loaded, NoSandbox, Origin, Wanted};
use ic_policy::Builtin;
use ic_resolve::path::{self, Last};
use ic_resolve::{Disk as _, RealDisk};
use ic_types::Json;

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge;
use crate::own_policy::constitution::{CONSTITUTION, Made, handwritten_in};
use crate::own_policy::difference::{Difference, Settings, unusable_lines};
use crate::own_policy::force::note_use;
use crate::own_policy::{Agreed, meaning};
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible, visible_line};
use free::{Job, Proposed};

/// The policy in force, in no place.
const IN_FORCE: Wanted =
    Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };

/// Compile a constitution in English to a policy
///
/// Plain sentences (`ironcurtain policy grammar` shows how they are written) are compiled without a model
/// and without a key. For other sentences the model of `policyModelId` proposes plain ones; you see each
/// with the words that it stands for, and nothing counts before you accept it. Answers are kept, so an
/// unchanged constitution asks no model again. The policy is tested at the border of every place before it
/// is written; if something is wrong, nothing is replaced. Asks for your confirmation if the policy would
/// be in force, or a model proposed sentences.
#[derive(Debug, clap::Args)]
pub(crate) struct CompileArgs {
    /// Constitution to compile; without it, constitution.md of the IronCurtain home
    #[arg(long, value_name = "FILE")]
    constitution: Option<PathBuf>,
    /// Directory of the policy; without it, generated/ of the IronCurtain home
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Ask the model about this server only; for the others its earlier answers are used
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Fail at the first scenario that fails, instead of asking the model who is to blame
    #[arg(long)]
    no_repair: bool,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

impl CompileArgs {
    /// Asks for the policy of the home to be compiled from a file.
    pub(crate) fn of(constitution: PathBuf) -> Self {
        let constitution = Some(constitution);
        Self { constitution, output: None, server: None, no_repair: false, yes: false }
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &CompileArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let source = match &args.constitution {
        Some(path) => environment.absolute(path)?.as_path().to_owned(),
        None => environment.ironcurtain_home()?.as_path().join("constitution.md"),
    };
    let output = match &args.output {
        Some(path) => environment.absolute(path)?.as_path().to_owned(),
        None => home.generated(),
    };
    refuse_built_in_name(&output, &home)?;
    let text = String::from_utf8(files::read(&source)?)
        .map_err(|_| Failure::config(format!("`{}` is not valid UTF-8", source.display())))?;
    let known = Loaded::load(&default(), NoSandbox::None, environment)?;
    let handwritten = handwritten_in(&source.with_extension("scenarios.json"))?;
    let job = Job { args, source: &source, output: &output, known: &known, environment };
    let (made, proposed) = job.make(&text, handwritten, screen)?;
    let _lock = Lock::acquire(home.policies_lock())?;
    // The lists of a policy that is not there yet are taken with the rules.
    let is_there = files::read_if_present(&output.join(COMPILED))?.is_some();
    let base = if is_there { output.clone() } else { PathBuf::from("default") };
    let loaded = made.verify(base.clone(), environment, screen)?;
    for note in made.notes().into_iter().chain(meaning::notes(&made, &loaded)) {
        screen.warning(&note);
    }
    if made.rules.as_bytes() == files::read_if_present(&output.join(COMPILED))?.unwrap_or_default()
    {
        screen.line(&format!("nothing changed: {}", visible(&output.display().to_string())))?;
        return Ok(Exit::Success);
    }
    let result = Outcome { made: &made, proposed: proposed.as_ref(), loaded: &loaded, base };
    let is_in_force = match job.agree(&result, &home, screen)? {
        Agreement::InForce => true,
        Agreement::Beside => false,
        Agreement::None => {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
    };
    for above in missing_above(&output)?.iter().rev() {
        file::create_dir(above)?;
    }
    made.write(&output, &beside(&source, &output))?;
    Proposed::write(proposed.as_ref(), &output)?;
    screen.line(&format!(
        "{} became {} and {}, all of which pass: {}",
        ic_types::counted(made.constitution.sentences.len(), "sentence", "sentences"),
        ic_types::counted(made.compiled.rules.len() + made.compiled.kept.len(), "rule", "rules"),
        ic_types::counted(made.n_scenarios, "scenario", "scenarios"),
        visible(&output.display().to_string())
    ))?;
    if artifact::needs_this_program(&made.compiled) {
        screen.notice("the rules use what only this program knows (`${SANDBOX}` and the like); the TypeScript program does not load them");
    }
    if !is_in_force {
        let directory = visible(&output.display().to_string());
        screen.notice(&format!(
            "another policy is in force; `ironcurtain policy use {directory}` shows what this one changes, and puts \
             it in force"
        ));
    }
    Ok(Exit::Success)
}

/// Refuses a place where the policy would have the name of a built-in one, which counts before it.
fn refuse_built_in_name(output: &Path, home: &Home) -> Result<(), Failure> {
    let taken = Builtin::ALL.iter().find(|it| output == home.policies().join(it.name()));
    match taken.map(|it| it.name()) {
        Some(name) => Err(Failure::config(format!(
            "`{name}` is the name of a built-in policy, so a policy in this directory would never be used by its name"
        ))
        .with_hint("choose another name for the directory")),
        None => Ok(()),
    }
}

/// What was compiled.
struct Outcome<'a> {
    made: &'a Made,
    proposed: Option<&'a Proposed>,
    /// The policy that it becomes.
    loaded: &'a Loaded,
    /// The policy that its rules replace.
    base: PathBuf,
}

/// What a person has agreed to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Agreement {
    /// The policy is in force once it is written.
    InForce,
    /// The policy is written, and another one stays in force.
    Beside,
    None,
}

impl Job<'_> {
    /// Shows what was compiled and asks, where somebody has to agree; notes it if it will be in force.
    fn agree(
        &self,
        Outcome { made, proposed, loaded, base }: &Outcome<'_>,
        home: &Home,
        screen: &mut Screen,
    ) -> Result<Agreement, Failure> {
        let Self { args, output, environment, .. } = *self;
        let (before, is_in_force) = in_force(output, home, environment, screen)?;
        // SECURITY: what a model proposed is accepted by a person, also where it is not in force yet.
        let is_new = proposed.is_some_and(|it| !it.is_accepted_in(output));
        if !is_in_force && !is_new {
            return Ok(Agreement::Beside);
        }
        let what = "whether to use the policy";
        let mut person = Person::find(what, args.yes, Scripts::of(home, environment)?)?;
        // What is not in force yet opens nothing; `policy use` shows what it would.
        let difference = match &before {
            Some(_) if is_in_force => Some(difference(made, base.clone(), environment)?),
            Some(_) | None => None,
        };
        let mut lines = proposed.map(Proposed::lines).unwrap_or_default();
        lines.extend(is_in_force.then(|| in_force_line(before.as_ref())));
        lines.extend(rule_lines(&made.compiled, is_in_force));
        lines.extend(loaded.roots.lines().iter().map(|line| format!("  {}", visible_line(line))));
        lines.extend(difference.iter().flat_map(Difference::lines));
        if let (Some(before), Some(difference)) = (&before, &difference) {
            lines.extend(unusable_lines(before, loaded, difference));
        }
        person.show(&lines, screen)?;
        let question = match is_in_force {
            true => "Use this policy from now on?",
            false => "Accept these sentences for the policy?",
        };
        if person.ask(question)? == Answer::Denied {
            return Ok(Agreement::None);
        }
        if !is_in_force {
            return Ok(Agreement::Beside);
        }
        let agreed = Agreed { by: "compile-policy", how: person.how_agreed() };
        let noted = (agreed, difference.as_ref());
        note_use(before.as_ref().unwrap_or(loaded), loaded, noted, home)?;
        Ok(Agreement::InForce)
    }
}

/// Returns the directories above `output` that are not there, the innermost first.
fn missing_above(output: &Path) -> Result<Vec<&Path>, Failure> {
    let mut missing = Vec::new();
    for above in output.ancestors().skip(1) {
        let seen = RealDisk.look(above).map_err(|error| {
            Failure::environment(format!("cannot look at `{}`", above.display())).with_source(error)
        })?;
        if seen.is_some() {
            break;
        }
        missing.push(above);
    }
    Ok(missing)
}

/// Compares the policy in force with the one that was made, as a new policy on `base`.
fn difference(
    made: &Made,
    base: PathBuf,
    environment: &Environment,
) -> Result<Difference, Failure> {
    let before = Settings::load(&IN_FORCE, environment, &mut Screen::silent())?;
    let wanted = Wanted { policy: Some(base), ..IN_FORCE };
    let after = Settings::load_as(&wanted, made.load_as(), environment, &mut Screen::silent())?;
    Ok(Difference::shown_of(&before, &after))
}

fn default() -> Wanted {
    let policy = Some(PathBuf::from("default"));
    Wanted { policy, ..IN_FORCE }
}

/// Returns where the text is kept: where it is, if that is the place of this policy's constitution.
fn beside(source: &Path, output: &Path) -> PathBuf {
    let own = output.join(CONSTITUTION);
    let is_above = source.parent() == output.parent() && source.ends_with(CONSTITUTION);
    if is_above { source.to_owned() } else { own }
}

/// Returns what is in force now, and whether writing to the policy in `output` would change what is in force.
pub(super) fn in_force(
    output: &Path,
    home: &Home,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(Option<Loaded>, bool), Failure> {
    // What is in force may be broken, and this may mend it.
    let before = judge::load_confirming(&IN_FORCE, NoSandbox::None, environment, screen).ok();
    // SECURITY: another spelling of the same directory is the same policy.
    let place = |path: &Path| {
        let path = environment.absolute(path)?;
        path::follow(&RealDisk, &path, Last::Follow).map(|found| found.path).map_err(|fault| {
            Failure::environment(format!("cannot resolve `{}`", path.as_path().display()))
                .with_source(fault)
        })
    };
    let is_it = match before.as_ref().map(|loaded| &loaded.found) {
        Some(Origin::Directory(directory)) => place(directory.as_path())? == place(output)?,
        Some(Origin::Builtin(_)) => place(&home.generated())? == place(output)?,
        None => true,
    };
    Ok((before, is_it))
}

/// Says what is in force until the question is answered.
fn in_force_line(before: Option<&Loaded>) -> String {
    match before {
        Some(before) => format!(
            "in force now: {} ({})",
            visible(&before.origin),
            ic_types::counted(before.judge.policy.rules().len(), "rule", "rules")
        ),
        None => "in force now: none that can be used".to_owned(),
    }
}

fn rule_lines(compiled: &Compiled, is_in_force: bool) -> Vec<String> {
    let first = match is_in_force {
        true => "from now on, what no rule covers is refused, and:",
        false => "with this policy, what no rule covers is refused, and:",
    };
    let mut lines = vec![first.to_owned()];
    for rule in &compiled.rules {
        let text = format!("  {:<8} {}", rule.effect.as_str(), rule.description);
        lines.push(visible_line(&text));
    }
    for rule in &compiled.kept {
        let effect = match &rule.rule {
            Json::Object(object) => object.get("then").and_then(Json::as_str).unwrap_or("?"),
            _ => "?",
        };
        let text =
            format!("  {effect:<8} rule `{}`, as it stands on line {}", rule.name, rule.line);
        lines.push(visible_line(&text));
    }
    lines
}
