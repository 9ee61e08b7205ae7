//! What a model says of arguments, beside the guess of code: where they differ, and which of them is offered.
//!
//! SECURITY: the words that a model reads come from the server. What code takes for a path, a URL or a remote is
//! never offered as data because a model says so; that takes the person, for this argument.

use ic_compiler::annotate::{self, Drafted, Said};
use ic_types::{Json, Role};

use super::super::meaning;
use super::Review;
use crate::compiling::{self, Compiler};
use crate::error::Failure;
use crate::screen::{Screen, visible};

impl Review<'_> {
    /// Asks a model about the tools that are to be confirmed; returns what a person should know of its answer.
    pub(super) fn advise(
        &mut self,
        compiler: &Compiler,
        screen: &mut Screen,
    ) -> Result<Vec<String>, Failure> {
        let drafted: Vec<Drafted> =
            self.drafts.iter().filter_map(|name| self.drafted(name)).collect();
        if drafted.is_empty() {
            return Ok(Vec::new());
        }
        let server = self.server.as_str();
        let said = compiler
            .ask(None, screen, async |asker| annotate::ask(asker, server, &drafted).await)?;
        let said = match said {
            Ok(said) => said,
            Err(error) => {
                screen.warning(&format!(
                    "{}; only what code guessed is shown",
                    visible(&compiling::not_answered(&error).to_string())
                ));
                return Ok(Vec::new());
            }
        };
        let mut lines = Vec::new();
        for said in &said {
            lines.extend(self.take(said));
        }
        if !lines.is_empty() {
            lines.insert(0, "Where the model and the guess differ:".to_owned());
        }
        Ok(lines)
    }

    fn drafted(&self, name: &str) -> Option<Drafted> {
        // What a person set already is not asked about.
        let tool = self.annotations.get(name).filter(|_| !self.set.contains(name))?;
        let Some(Json::Object(args)) = tool.get("args") else { return None };
        let places: Vec<String> = args.keys().map(str::to_owned).collect();
        let listed = self.pin.tools.get(name).cloned();
        (!places.is_empty()).then(|| Drafted { tool: name.to_owned(), listed, places })
    }

    /// Takes over what a model says of one place as far as that is safe; says where it differs from the guess.
    fn take(&mut self, said: &Said) -> Vec<String> {
        let guessed = self.guessed(&said.tool, &said.place);
        let Some(taken) = taken(&guessed, &said.roles) else { return Vec::new() };
        if taken == said.roles && said.roles == guessed {
            return Vec::new();
        }
        let words = |roles: &[Role]| meaning::words(&Json::Array(as_json(roles)));
        let is_kept = taken == guessed;
        let shown = match is_kept {
            true => "the guess is kept until you say otherwise",
            false => "what the model says is shown",
        };
        let mut lines = vec![format!(
            "  {}.{}: the guess is {}; the model says {}: {shown}",
            visible(&said.tool),
            visible(&said.place),
            words(&guessed),
            words(&said.roles)
        )];
        if !said.note.trim().is_empty() {
            lines.push(format!("      {}", compiling::quoted(&said.note)));
        }
        // A place that is not there any more has nothing to be set.
        self.annotations.set(&said.tool, &said.place, as_json(&taken)).ok();
        lines
    }

    fn guessed(&self, tool: &str, place: &str) -> Vec<Role> {
        let args = self.annotations.get(tool).and_then(|it| it.get("args"));
        let Some(Json::Object(args)) = args else { return Vec::new() };
        match args.get(place) {
            Some(Json::Array(roles)) => {
                roles.iter().filter_map(|it| it.as_str()?.parse().ok()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the roles that are offered; `None` where the guess is no list of roles.
fn taken(guessed: &[Role], said: &[Role]) -> Option<Vec<Role>> {
    let resource = guessed.iter().find(|it| it.is_resource());
    if guessed.is_empty() || said.is_empty() {
        return None;
    }
    let Some(resource) = resource else { return Some(said.to_vec()) };
    let is_alike = said.iter().all(|it| it.category() == resource.category());
    Some(if is_alike { said.to_vec() } else { guessed.to_vec() })
}

fn as_json(roles: &[Role]) -> Vec<Json> {
    roles.iter().map(|it| Json::from(it.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_cannot_turn_a_resource_into_data() {
        use Role::{DeletePath, FetchUrl, None, ReadPath, WritePath};
        let path = vec![ReadPath, WritePath, DeletePath];
        for (guessed, said, expected) in [
            (path.clone(), vec![None], path.clone()),
            (path.clone(), vec![FetchUrl], path.clone()),
            (path.clone(), vec![ReadPath], vec![ReadPath]),
            (vec![FetchUrl], vec![None], vec![FetchUrl]),
            (vec![FetchUrl], vec![Role::EmailAddress], vec![FetchUrl]),
            (vec![None], vec![ReadPath], vec![ReadPath]),
            (vec![None], vec![Role::EmailAddress], vec![Role::EmailAddress]),
            (vec![None], vec![None], vec![None]),
        ] {
            assert_eq!(taken(&guessed, &said), Some(expected), "{guessed:?} {said:?}");
        }
    }
}
