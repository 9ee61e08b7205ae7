//! `ironcurtain policy edit`: the sentences of a policy in the user's editor, compiled when they are saved.
//!
//! What was written is never lost: a text with mistakes stays where it is, with the mistakes as comments, and
//! the next edit goes on with it.

use std::path::{Path, PathBuf};

use ic_constitution::Faults;
use ic_home::{Environment, Home, Lock, file};
use ic_opening::policy::{ADDITIONS, As, COMPILED, Loaded, NoSandbox, Wanted};

use crate::commands::Exit;
use crate::commands::policy::using::changed_meanwhile;
use crate::error::Failure;
use crate::files;
use crate::judge;
use crate::own_policy::constitution::{Made, MadeError, failed, text_of};
use crate::own_policy::content::Content;
use crate::own_policy::difference::{Difference, Settings, unusable_lines};
use crate::own_policy::{Agreed, Target, english, meaning};
use crate::person::{Answer, Person, Scripts, is_at_terminal};
use crate::screen::{Screen, visible};

/// Change the sentences of a policy in your editor
///
/// Opens its constitution in `$VISUAL` or `$EDITOR`. When you save and leave, the sentences are compiled and
/// tested, you see in English what changes, and you are asked before anything more is let through. A text with
/// mistakes gets them as comments and is kept, and the next `policy edit` goes on with it. Where the policy in
/// force is built in, a copy of it is made and used. A policy without a constitution is written in plain
/// sentences first.
#[derive(Debug, clap::Args)]
pub(crate) struct EditArgs {
    /// One of your own by name, or a directory; without it the one in force
    #[arg(value_name = "NAME|DIR")]
    policy: Option<PathBuf>,
    /// Confirm beforehand, where `approvals.scripted` allows it
    #[arg(long)]
    yes: bool,
}

/// What a comment of ours begins with.
const MISTAKE: &str = "<!-- mistake:";
/// The editor where none is chosen.
const EDITOR: &str = "vi";
const BYTES_MAX: u64 = 4 << 20;

/// Runs the command.
pub(crate) fn run(
    args: &EditArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let wanted =
        Wanted { policy: args.policy.clone(), sandbox: None, protected: Vec::new(), servers: None };
    let before = judge::load(&wanted, NoSandbox::None, environment, screen)?;
    let target = Target::find(args.policy.clone(), &before, &home, environment)?;
    let known = known(&target, &wanted, environment, screen)?;
    let draft = home.policies().join(format!(".edit-{}.md", file_name(&target)));
    file::create_dir(home.policies())?;
    match files::read_if_present(&draft)? {
        Some(_) => screen.notice(&format!(
            "going on with what you wrote before: {}",
            visible(&draft.display().to_string())
        )),
        None => file::create_new(&draft, known.as_bytes())?,
    }
    let tools = english::tools(&before);
    loop {
        open_editor(&draft, environment)?;
        let bytes = file::read_own(&draft, BYTES_MAX)?.unwrap_or_default();
        let saved = String::from_utf8(bytes)
            .map_err(|_| Failure::config(format!("`{}` is not valid UTF-8", draft.display())))?;
        let text = without_mistakes(&saved);
        match Made::of(&text, &tools, &target.directory, Vec::new()) {
            Ok(made) => {
                let edited = Edited { made, target: &target, known: &known, draft: &draft };
                return edited.finish((args, &before), &home, environment, screen);
            }
            Err(MadeError::Failure(failure)) => return Err(failure),
            Err(MadeError::Faults(faults)) => {
                file::replace(&draft, with_mistakes(&text, &faults).as_bytes())?;
                if !is_at_terminal() || !again(&faults, screen)? {
                    let file = draft.display().to_string();
                    return Err(failed(&file, &faults).with_hint(
                        "the mistakes are comments in the file; `ironcurtain policy edit` goes on with it",
                    ));
                }
            }
        }
    }
}

/// Shows the mistakes, and asks whether to go on.
fn again(faults: &Faults, screen: &mut Screen) -> Result<bool, Failure> {
    let lines: Vec<String> = faults.to_string().lines().map(visible).collect();
    let mut person = Person::find("whether to edit it again", false, Scripts::MayNotAnswer)?;
    person.show(&lines, screen)?;
    Ok(person.ask("There are mistakes. Edit it again?")? == Answer::Approved)
}

/// Returns the text that is edited: the constitution, or the rules in plain English.
fn known(
    target: &Target,
    wanted: &Wanted,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<String, Failure> {
    let own = match target.copy_of {
        Some(_) => None,
        None => text_of(&target.directory)?,
    };
    let has_additions = files::read_if_present(&target.directory.join(ADDITIONS))?.is_some();
    match (own, target.copy_of) {
        // Also one that was changed by hand since it was compiled, or that is not plain yet.
        (Some((_, text)), None) if !has_additions => Ok(text),
        (None, Some(_)) => match target.content()? {
            Content::Constitution(text) => Ok(text),
            Content::Additions(_) => Ok(String::new()),
        },
        (own, _) => {
            if let Some((path, text)) = own {
                // What stands there is not what the rules say, and is not lost.
                file::replace(path.with_file_name("constitution.old.md"), text.as_bytes())?;
            }
            Ok(english::of(wanted, environment, screen)?.text)
        }
    }
}

fn file_name(target: &Target) -> String {
    let name = target.name();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    name.chars().map(|it| if is_plain(it) { it } else { '-' }).collect()
}

/// A text without mistakes.
struct Edited<'a> {
    made: Made,
    target: &'a Target,
    known: &'a str,
    draft: &'a Path,
}

impl Edited<'_> {
    fn finish(
        &self,
        (args, before): (&EditArgs, &Loaded),
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let compiled = files::read_if_present(&self.target.directory.join(COMPILED))?;
        let is_compiled = compiled.is_some_and(|it| it == self.made.rules.as_bytes());
        if self.made.text == self.known && (is_compiled || self.target.copy_of.is_some()) {
            file::remove(self.draft)?;
            screen.line("Nothing was changed.")?;
            return Ok(Exit::Success);
        }
        let loaded = self.made.verify(self.target.policy(), environment, screen)?;
        let wanted = Wanted {
            policy: Some(self.target.policy()),
            sandbox: None,
            protected: Vec::new(),
            servers: None,
        };
        let was = Settings::load(&wanted, environment, screen)?;
        let nothing = ic_policy::additions::write(&[]).into_bytes();
        let how = As { additions: Some(&nothing), ..self.made.load_as() };
        let is = Settings::load_as(&wanted, how, environment, screen)?;
        let difference = Difference::shown_of(&was, &is);
        let mut lines = self.target.describe();
        lines.extend(difference.lines());
        lines.extend(unusable_lines(&was.session, &is.session, &difference));
        let notes = self.made.notes().into_iter().chain(meaning::notes(&self.made, &loaded));
        lines.extend(notes.map(|note| format!("note: {note}")));
        let how = if difference.may_widen() || self.target.becomes.is_some() {
            let what = "whether to change the policy";
            let mut person = Person::find(what, args.yes, Scripts::of(home, environment)?)?;
            person.show(&lines, screen)?;
            if person.ask("Change the policy like this?")? == Answer::Denied {
                let draft = visible(&self.draft.display().to_string());
                screen.line(&format!("Nothing was changed; what you wrote is in {draft}."))?;
                return Ok(Exit::Failed);
            }
            person.how_agreed()
        } else {
            screen.lines(&lines)?;
            "not needed: it only restricts"
        };
        let agreed = Agreed { by: "policy edit", how };
        let _lock = Lock::acquire(home.policies_lock())?;
        // SECURITY: what was added while the question stood is not lost unseen.
        let now = Settings::load(&wanted, environment, &mut Screen::silent())?;
        if now.session.judge.policy.hash() != was.session.judge.policy.hash() {
            return Err(changed_meanwhile());
        }
        self.target.replace(
            &self.made,
            agreed,
            (before, &loaded, &difference),
            home,
            environment,
        )?;
        file::remove(self.draft)?;
        screen.line(&format!(
            "{} sentences became {} rules and {} scenarios, which pass.",
            self.made.constitution.sentences.len(),
            self.made.compiled.rules.len() + self.made.compiled.kept.len(),
            self.made.n_scenarios
        ))?;
        screen
            .line(&format!("The policy `{}` is changed, for new sessions.", self.target.name()))?;
        Ok(Exit::Success)
    }
}

/// Opens the draft in the user's editor, and waits until it is closed.
fn open_editor(draft: &Path, environment: &Environment) -> Result<(), Failure> {
    let variables = environment.user_variables();
    let variable = |name: &str| {
        let found = variables.iter().find(|(it, value)| it == name && !value.is_empty());
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| EDITOR.to_owned());
    // Words, and no shell: nothing in a name can be a command.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(EDITOR);
    #[expect(clippy::disallowed_methods, reason = "the user's own editor, at the user's terminal")]
    let mut command = std::process::Command::new(program);
    command.args(words).arg(draft).env_clear().envs(variables);
    let kept = format!("what you wrote is in `{}`", draft.display());
    let status = command.status().map_err(|source| {
        Failure::environment(format!("cannot start the editor `{program}`"))
            .with_source(source)
            .with_hint("set `EDITOR` to a program that opens a file and waits")
    })?;
    match status.success() {
        true => Ok(()),
        false => {
            Err(Failure::environment(format!("the editor ended with {status}")).with_hint(kept))
        }
    }
}

/// Writes each mistake as a comment above its line.
fn with_mistakes(text: &str, faults: &Faults) -> String {
    let mut marked = String::new();
    for (at, line) in text.lines().enumerate() {
        for fault in faults.0.iter().filter(|it| it.line == at + 1) {
            // Two dashes would end the comment.
            let said = fault.to_string().replace("--", "- -");
            let said = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
            marked.extend([MISTAKE, " ", &said, " -->\n"]);
        }
        marked.extend([line, "\n"]);
    }
    marked
}

fn without_mistakes(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.starts_with(MISTAKE));
    kept.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_come_and_go_and_leave_the_text_as_it_was() {
        let text = "# Mine\n\nThe agent may read files\nin ~/a unless -- x --> it rains.\n> q\n";
        let faults = ic_constitution::parse(text).unwrap_err();
        let marked = with_mistakes(text, &faults);
        assert!(marked.contains("<!-- mistake: line 4"), "{marked}");
        assert_eq!(without_mistakes(&marked), text);
        assert!(
            marked
                .lines()
                .filter(|it| it.starts_with(MISTAKE))
                .all(|it| it.matches("-->").count() == 1)
        );
    }
}
