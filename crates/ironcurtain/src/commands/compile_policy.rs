//! `ironcurtain compile-policy`: a constitution in plain English becomes a policy, by code.
//!
//! No model takes part, and no key is needed. What is written was verified with the engine that judges calls.

use std::path::{Path, PathBuf};

use ic_constitution::artifact::{self, Origin as Made};
use ic_constitution::scenario::{self, Scenario};
use ic_constitution::{Compiled, Constitution, Tool, compile, parse};
use ic_home::{Clock as _, Environment, Home, Lock, SystemClock, file};
use ic_opening::files;
use ic_opening::policy::{ADDITIONS, As, COMPILED, Loaded, NoSandbox, Origin, Wanted};
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::{Json, JsonLimits};

use crate::commands::Exit;
use crate::commands::policy::test::{self, Outcome};
use crate::error::Failure;
use crate::judge;
use crate::own_policy::difference::Difference;
use crate::own_policy::{Agreed, note_use};
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible, visible_line};

/// Compile a constitution in plain English to a policy
///
/// Needs no model and no key. Every line of the constitution has to be a plain sentence (`ironcurtain
/// policy grammar` shows how they are written), a heading, a block quote, a comment or a code block. The
/// policy is tested at the border of every place before it is written; if something is wrong, nothing is
/// replaced. Asks for your confirmation if the policy would be in force.
#[derive(Debug, clap::Args)]
pub(crate) struct CompileArgs {
    /// Constitution to compile; without it, constitution.md of the IronCurtain home
    #[arg(long, value_name = "FILE")]
    constitution: Option<PathBuf>,
    /// Directory of the policy; without it, generated/ of the IronCurtain home
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// Where a policy is made before it replaces another one.
const MAKING: &str = ".compiling";
const SCENARIOS: &str = "test-scenarios.json";
const LISTS: &str = "dynamic-lists.json";
const ANNOTATIONS: &str = "tool-annotations.json";

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
    let text = String::from_utf8(files::read(&source)?)
        .map_err(|_| Failure::config(format!("`{}` is not valid UTF-8", source.display())))?;
    let (constitution, compiled, tools) = compiled(&text, &source, environment)?;
    for note in &compiled.notes {
        screen.warning(&visible_line(&format!("line {}: {}", note.line, note.text)));
    }
    let _lock = Lock::acquire(home.policies_lock())?;
    let made = Files::new(&compiled, &constitution, (&text, &tools), &output)?;
    let loaded = made.verified(&output, &home, environment, screen)?;
    if made.compiled.as_bytes()
        == files::read_if_present(&output.join(COMPILED))?.unwrap_or_default()
    {
        screen.line(&format!("nothing changed: {}", visible(&output.display().to_string())))?;
        return Ok(Exit::Success);
    }
    let (before, is_in_force) = in_force(&output, &home, environment, screen)?;
    if is_in_force {
        let mut person =
            Person::find("whether to use the policy", args.yes, Scripts::of(&home, environment)?)?;
        let difference = before.as_ref().map(|before| Difference::as_loaded(before, &loaded));
        let mut lines = lines(&compiled, before.as_ref());
        lines.extend(loaded.roots.lines().iter().map(|line| format!("  {}", visible_line(line))));
        lines.extend(difference.iter().flat_map(Difference::lines));
        person.show(&lines, screen)?;
        if person.ask("Use this policy from now on?")? == Answer::Denied {
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Failed);
        }
        let agreed = Agreed { by: "compile-policy", how: person.how_agreed() };
        let noted = (agreed, difference.as_ref());
        note_use(before.as_ref().unwrap_or(&loaded), &loaded, noted, &home)?;
    }
    made.write(&output, &source, &text)?;
    screen.line(&format!(
        "{} sentences became {} rules and {} scenarios, which pass: {}",
        constitution.sentences.len(),
        compiled.rules.len(),
        made.n_scenarios,
        visible(&output.display().to_string())
    ))?;
    if artifact::needs_this_program(&compiled) {
        screen.notice("the rules use `${SANDBOX}`, which the TypeScript program does not load");
    }
    Ok(Exit::Success)
}

/// Reads and compiles the constitution with the tools that are known here.
fn compiled(
    text: &str,
    source: &Path,
    environment: &Environment,
) -> Result<(Constitution, Compiled, Vec<Tool>), Failure> {
    let file = source.display();
    let failed = |faults: ic_constitution::Faults| {
        let details = faults.to_string().lines().map(visible_line).collect();
        Failure::config(format!("`{file}` cannot be compiled; nothing was changed"))
            .with_details(details)
            .with_hint("`ironcurtain policy grammar` shows how sentences are written")
    };
    let constitution = parse(text).map_err(failed)?;
    let wanted = Wanted {
        policy: Some(PathBuf::from("default")),
        sandbox: None,
        protected: Vec::new(),
        servers: None,
    };
    let known = Loaded::load(&wanted, NoSandbox::None, environment)?;
    let tools = known.judge.policy.annotations().map(|(server, tool, annotation)| {
        let roles =
            annotation.arguments().iter().flat_map(ic_policy::ArgumentAnnotation::possible_roles);
        Tool { server: server.clone(), tool: tool.clone(), roles: roles.collect() }
    });
    let tools: Vec<Tool> = tools.collect();
    let compiled = compile(&constitution, &tools).map_err(failed)?;
    Ok((constitution, compiled, tools))
}

/// The files of a policy that is being made.
struct Files {
    compiled: String,
    scenarios: String,
    n_scenarios: usize,
}

impl Files {
    fn new(
        compiled: &Compiled,
        constitution: &Constitution,
        (text, tools): (&str, &[Tool]),
        output: &Path,
    ) -> Result<Self, Failure> {
        let now = SystemClock.now().to_string();
        // The same sentences give the same bytes, so that grants and records still mean this policy.
        let before = files::read_if_present(&output.join(COMPILED))?;
        let generated = before.as_deref().and_then(generated_at);
        let of = |at: &str| {
            artifact::compiled_policy(
                compiled,
                Made { constitution: text, generated_at: at, tools },
            )
        };
        let is_same = |at: &&String| Some(of(at).into_bytes()) == before;
        let at = generated.filter(|at| is_same(&at)).unwrap_or(now);
        let scenarios: Vec<Scenario> = scenario::scenarios(constitution, compiled);
        let made = Made { constitution: text, generated_at: &at, tools };
        Ok(Self {
            compiled: of(&at),
            scenarios: artifact::test_scenarios(&scenarios, made),
            n_scenarios: scenarios.len(),
        })
    }

    /// Loads the policy as it would be, and lets the engine judge its scenarios.
    fn verified(
        &self,
        output: &Path,
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Loaded, Failure> {
        file::create_dir(home.policies())?;
        let making = home.policies().join(MAKING);
        if file::names(&making)?.is_some() {
            file::remove_tree(&making)?;
        }
        file::create_new_dir(&making)?;
        file::create_new(making.join(COMPILED), self.compiled.as_bytes())?;
        file::create_new(making.join(SCENARIOS), self.scenarios.as_bytes())?;
        for name in [LISTS, ANNOTATIONS] {
            if let Some(kept) = files::read_if_present(&output.join(name))? {
                file::create_new(making.join(name), &kept)?;
            }
        }
        let wanted = Wanted {
            policy: Some(making.clone()),
            sandbox: None,
            protected: Vec::new(),
            servers: None,
        };
        let mut loaded = judge::load_confirming(&wanted, NoSandbox::Fresh, environment, screen)?;
        let outcomes = test::outcomes(&loaded, |_| true)?.unwrap_or_default();
        let failed: Vec<&Outcome> = outcomes.iter().filter(|it| !it.passed).collect();
        // What holds for every policy may be stricter than a sentence.
        let (structural, wrong): (Vec<&Outcome>, Vec<&Outcome>) =
            failed.into_iter().partition(|it| it.is_structural());
        for outcome in structural {
            screen.warning(&visible_line(&format!("{}: {}", outcome.description, outcome.said())));
        }
        if !wrong.is_empty() {
            let details =
                wrong.iter().map(|it| visible_line(&format!("{}: {}", it.description, it.said())));
            return Err(Failure::config("the compiled policy does not say what its sentences say")
                .with_details(details.collect())
                .with_hint(format!(
                    "nothing was replaced; the files are in `{}`",
                    making.display()
                )));
        }
        // What the user added to the policy stays beside the new rules, and counts for what changes.
        if let Some(added) = files::read_if_present(&output.join(ADDITIONS))? {
            let how = As { additions: Some(&added), ..As::CONFIRMED };
            loaded = judge::load_as(&wanted, NoSandbox::Fresh, how, environment, screen)?;
        }
        file::remove_tree(&making)?;
        Ok(loaded)
    }

    fn write(&self, output: &Path, source: &Path, text: &str) -> Result<(), Failure> {
        file::create_dir(output)?;
        let is_beside = source.parent().is_some_and(|it| it == output)
            || source.parent() == output.parent() && source.ends_with("constitution.md");
        if !is_beside {
            file::replace(output.join("constitution.md"), text.as_bytes())?;
        }
        file::replace(output.join(SCENARIOS), self.scenarios.as_bytes())?;
        Ok(file::replace(output.join(COMPILED), self.compiled.as_bytes())?)
    }
}

fn generated_at(bytes: &[u8]) -> Option<String> {
    match Json::parse(bytes, JsonLimits::ARTIFACT).ok()? {
        Json::Object(object) => object.get("generatedAt")?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Returns what is in force now, and whether writing to `output` would change what is in force.
fn in_force(
    output: &Path,
    home: &Home,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(Option<Loaded>, bool), Failure> {
    let wanted = Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };
    // What is in force may be broken, and this may mend it.
    let before = judge::load_confirming(&wanted, NoSandbox::None, environment, screen).ok();
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

fn lines(compiled: &Compiled, before: Option<&Loaded>) -> Vec<String> {
    let mut lines = vec![match before {
        Some(before) => format!(
            "in force now: {} ({} rules)",
            visible(&before.origin),
            before.judge.policy.rules().len()
        ),
        None => "in force now: none that can be used".to_owned(),
    }];
    lines.push("from now on, what no rule covers is refused, and:".to_owned());
    for rule in &compiled.rules {
        let text = format!("  {:<8} {}", rule.effect.as_str(), rule.description);
        lines.push(visible_line(&text));
    }
    lines
}
