//! `ironcurtain policy show`: the policy in force, readable.

use ic_home::Environment;
use ic_opening::policy::{Loaded, NoSandbox};
use ic_policy::{Annotation, Policy, Rule, Structural};
use serde::Serialize;

use crate::commands::Exit;
use crate::error::Failure;
use crate::judge::{self, JudgeArgs};
use crate::own_policy::english;
use crate::screen::{Screen, visible, visible_line};

/// Show the policy in force
///
/// Prints where it comes from, its hash, and its rules in the order in which they are asked, with the
/// structural steps in their place. With `--sandbox` it also names the rules that are stronger than it.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    judge: JudgeArgs,
    /// Print the constitution instead: the plain-English text behind the rules
    #[arg(long, conflicts_with_all = ["tools", "json"])]
    constitution: bool,
    /// Print the rules as plain sentences, which compile to a policy that judges alike
    ///
    /// Works for every policy, with what you added to it. Rules that have no plain form are named and
    /// stand in a block of rules, as they are.
    #[arg(long, conflicts_with_all = ["tools", "json", "constitution"])]
    english: bool,
    /// Print the annotated tools and the roles of their arguments too
    #[arg(long)]
    tools: bool,
    /// Print the policy as JSON, tools included
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    policy: String,
    policy_hash: String,
    steps: Vec<ShownStep>,
    rules: Vec<ShownRule>,
    tools: Vec<ShownTool>,
}

/// What is asked besides the rules.
#[derive(Debug, Serialize)]
struct ShownStep {
    name: &'static str,
    then: &'static str,
    when: String,
    /// `before-rules` or `after-rules`.
    place: &'static str,
    /// The rules that this step gives way to.
    except: Vec<String>,
}

const BEFORE: &str = "before-rules";
const AFTER: &str = "after-rules";

#[derive(Debug, Serialize)]
struct ShownRule {
    name: String,
    then: &'static str,
    when: String,
    description: String,
    principle: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct ShownTool {
    server: String,
    tool: String,
    draft: bool,
    comment: String,
    arguments: Vec<ShownArgument>,
}

#[derive(Debug, Serialize)]
struct ShownArgument {
    name: String,
    roles: Vec<&'static str>,
}

/// Runs the command.
pub(crate) fn run(
    args: &ShowArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let loaded =
        judge::load(&args.judge.wanted(environment)?, NoSandbox::None, environment, screen)?;
    if args.constitution {
        let Some(constitution) = &loaded.constitution else {
            return Err(Failure::config(format!(
                "the policy {} has no constitution.md",
                loaded.origin
            )));
        };
        for line in constitution.lines() {
            screen.line(&visible_line(line))?;
        }
        return Ok(Exit::Success);
    }
    if args.english {
        let english = english::of(&args.judge.wanted(environment)?, environment, screen)?;
        for line in english.text.lines() {
            screen.line(&visible_line(line))?;
        }
        if !english.kept.is_empty() {
            let names = visible(&english.kept.join(", "));
            screen.notice(&format!("no plain form, kept as they are: {names}"));
        }
        return Ok(Exit::Success);
    }
    let shown = Shown::of(&loaded);
    if args.json {
        screen.json(&serde_json::to_string(&shown).unwrap_or_default())?;
    } else {
        print(&shown, args.tools, screen)?;
    }
    Ok(Exit::Success)
}

impl Shown {
    fn of(loaded: &Loaded) -> Self {
        let policy: &Policy = &loaded.judge.policy;
        Self {
            policy: loaded.origin.clone(),
            policy_hash: policy.hash().to_string(),
            steps: steps(loaded),
            rules: policy.rules().iter().map(ShownRule::of).collect(),
            tools: policy
                .annotations()
                .map(|(server, tool, annotation)| ShownTool {
                    server: server.to_string(),
                    tool: tool.to_string(),
                    draft: annotation.is_draft(),
                    comment: annotation.comment().to_owned(),
                    arguments: arguments_of(annotation),
                })
                .collect(),
        }
    }
}

/// Returns the structural steps, in the order in which they are asked.
fn steps(loaded: &Loaded) -> Vec<ShownStep> {
    let sandbox = loaded.judge.bounds.sandbox.as_ref();
    let mut steps: Vec<ShownStep> = Structural::BEFORE_RULES
        .into_iter()
        .map(|step| ShownStep {
            name: step.as_str(),
            then: step.effect().as_str(),
            when: step.meaning().to_owned(),
            place: BEFORE,
            except: Vec::new(),
        })
        .collect();
    if let (Some(sandbox), Some(step)) = (sandbox, steps.last_mut()) {
        let outranks = |rule: &&Rule| rule.is_about_paths() && rule.outranks(sandbox);
        let rules = loaded.judge.policy.rules().iter().filter(outranks);
        step.when = format!("paths in {}, for servers that are contained", sandbox.path);
        step.except = rules.map(|rule| rule.name().to_owned()).collect();
    }
    for (name, then, when) in [
        (Structural::Root.as_str(), Structural::Root.effect().as_str(), Structural::Root.meaning()),
        ("default-deny", "deny", "whatever no rule covers"),
    ] {
        steps.push(ShownStep {
            name,
            then,
            when: when.to_owned(),
            place: AFTER,
            except: Vec::new(),
        });
    }
    steps
}

impl ShownRule {
    fn of(rule: &Rule) -> Self {
        Self {
            name: rule.name().to_owned(),
            then: rule.effect().as_str(),
            when: rule.conditions().to_string(),
            description: rule.description().to_owned(),
            principle: rule.principle().to_owned(),
            reason: rule.reason().to_owned(),
        }
    }
}

fn arguments_of(annotation: &Annotation) -> Vec<ShownArgument> {
    let roles_of = |argument: &ic_policy::ArgumentAnnotation| {
        let mut roles: Vec<&'static str> = Vec::new();
        for role in argument.possible_roles() {
            if !roles.contains(&role.as_str()) {
                roles.push(role.as_str());
            }
        }
        roles
    };
    let shown = |argument| ShownArgument {
        name: ic_policy::ArgumentAnnotation::place(argument).as_str().to_owned(),
        roles: roles_of(argument),
    };
    annotation.arguments().iter().map(shown).collect()
}

fn print(shown: &Shown, with_tools: bool, screen: &mut Screen) -> Result<(), Failure> {
    let Shown { policy, policy_hash, steps, rules, tools } = shown;
    screen.folded(&format!("policy {}", visible(policy)))?;
    screen.folded(&format!("hash   {policy_hash}"))?;
    let n_rules = ic_types::counted(rules.len(), "rule", "rules");
    let n_tools = ic_types::counted(tools.len(), "annotated tool", "annotated tools");
    screen.folded(&format!("{n_rules}, {n_tools}"))?;
    print_steps("before the rules, in this order:", BEFORE, steps, screen)?;
    for (position, rule) in rules.iter().enumerate() {
        screen.line("")?;
        screen.folded(&format!("{:>3}. {:<8} {}", position + 1, rule.then, visible(&rule.name)))?;
        screen.folded(&format!("     if {}", visible(&rule.when)))?;
        screen.folded(&format!("     {}", visible(&rule.description)))?;
    }
    print_steps("after the rules:", AFTER, steps, screen)?;
    if !with_tools {
        return Ok(());
    }
    for tool in tools {
        let draft = if tool.draft { "  (draft)" } else { "" };
        screen.line("")?;
        screen.folded(&format!("{}.{}{draft}", tool.server, tool.tool))?;
        for argument in &tool.arguments {
            screen.folded(&format!(
                "     {}: {}",
                visible(&argument.name),
                argument.roles.join(" ")
            ))?;
        }
    }
    Ok(())
}

fn print_steps(
    title: &str,
    place: &str,
    steps: &[ShownStep],
    screen: &mut Screen,
) -> Result<(), Failure> {
    screen.line("")?;
    screen.line(title)?;
    for step in steps.iter().filter(|step| step.place == place) {
        let ShownStep { name, then, when, except, .. } = step;
        screen.folded(&format!("  -  {then:<8} {name}: {}", visible(when)))?;
        if !except.is_empty() {
            let rules: Vec<String> = except.iter().map(|name| visible(name)).collect();
            let rules = rules.join(", ");
            screen.folded(&format!(
                "     except where the first rule that applies is one of: {rules}"
            ))?;
        }
    }
    Ok(())
}
