//! A policy as plain sentences, compared with the policy before anybody reads them.

use ic_constitution::artifact::{self, Origin};
use ic_constitution::english::{self, Asked, Compared, English, Given, of_addition};
use ic_constitution::{Sentence, Tool, compile, parse};
use ic_home::Environment;
use ic_opening::policy::{As, Loaded, Wanted};
use ic_policy::additions;
use ic_types::{CanonicalPath, Role};

use super::difference::{Difference, Settings};
use crate::error::Failure;
use crate::screen::Screen;

/// Returns the tools that a policy knows, with their roles.
pub(crate) fn tools(loaded: &Loaded) -> Vec<Tool> {
    let tools = loaded.judge.policy.annotations().map(|(server, tool, annotation)| {
        let arguments = annotation.arguments().iter();
        let roles = arguments.flat_map(ic_policy::ArgumentAnnotation::possible_roles).collect();
        Tool { server: server.clone(), tool: tool.clone(), roles }
    });
    tools.collect()
}

/// Writes the policy that is wanted as plain sentences.
pub(crate) fn of(
    wanted: &Wanted,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<English, Failure> {
    let before = Settings::load(wanted, environment, screen)?;
    let loaded = &before.session;
    let tools = tools(loaded);
    let title = format!("{}, in plain English", loaded.origin);
    let (compiled, _) = loaded.rules_and_lists();
    let own = Given::read(compiled.bytes).unwrap_or_default();
    let mut compare = |text: &str| {
        compared(text, &tools, &before, (wanted, environment))
            .unwrap_or_else(|| Compared::Differs(Role::all().collect()))
    };
    let added: Option<Vec<Sentence>> = match loaded.additions() {
        Some(source) => {
            let all = additions::read(source)?;
            let each = all.iter().map(|it| of_addition(it, &tools));
            each.collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        None => Some(Vec::new()),
    };
    let asked = Asked { title: &title, rules: &own, added: &[], tools: &tools };
    if let Some(added) = &added
        && let Some(english) = english::write(Asked { added, ..asked }, &mut compare)
    {
        return Ok(with_lists(english, compiled.bytes));
    }
    // What was added changes the rules in a way that no sentence beside them does.
    let spelled = |path: &CanonicalPath| spelled(path, loaded, environment);
    let rules = loaded.judge.policy.rules().iter();
    let merged: Vec<Given> = rules.filter_map(|it| Given::of(&it.to_json(&spelled))).collect();
    let english = english::write(Asked { rules: &merged, ..asked }, &mut compare);
    english.map(|it| with_lists(it, compiled.bytes)).ok_or_else(|| {
        Failure::config(format!("the policy {} could not be written in English", loaded.origin))
            .with_hint("`ironcurtain policy show` shows its rules")
    })
}

/// Adds where the values of lists come from, which no rule says.
fn with_lists(mut english: English, compiled: &[u8]) -> English {
    let sentences = ic_constitution::list::sentences(compiled);
    if !sentences.is_empty() {
        english.text.push_str("\n## Lists\n\n");
        english.text.extend(sentences.iter().flat_map(|it| [it.as_str(), "\n"]));
    }
    english
}

/// Compiles a text, and compares it with the policy; `None` if it cannot be compiled or compared.
fn compared(
    text: &str,
    tools: &[Tool],
    before: &Settings,
    (wanted, environment): (&Wanted, &Environment),
) -> Option<Compared> {
    let compiled = compile(&parse(text).ok()?, tools).ok()?;
    let made = Origin { constitution: text, generated_at: "", tools };
    let rules = artifact::compiled_policy(&compiled, made).into_bytes();
    let nothing = additions::write(&[]).into_bytes();
    let how = As { compiled: Some(&rules), additions: Some(&nothing), ..As::CONFIRMED };
    let mut silent = Screen::silent();
    let after = Settings::load_as(wanted, how, environment, &mut silent).ok()?;
    let difference = Difference::of(before, &after).ok()?;
    if difference.changes.is_empty() {
        return Some(Compared::Same);
    }
    let roles: Vec<Role> = difference.changes.iter().flat_map(|it| it.decisive.clone()).collect();
    let is_known = !roles.is_empty();
    Some(Compared::Differs(if is_known { roles } else { Role::all().collect() }))
}

/// Writes a directory from the sandbox or the home, if it lies there.
fn spelled(path: &CanonicalPath, loaded: &Loaded, environment: &Environment) -> String {
    if path.is_within(&loaded.sandbox) {
        let rest = path.as_path().strip_prefix(loaded.sandbox.as_path()).unwrap_or(path.as_path());
        return format!("${{SANDBOX}}/{}", rest.display()).trim_end_matches('/').to_owned();
    }
    super::spelled(path, environment).unwrap_or_else(|_| path.to_string())
}
