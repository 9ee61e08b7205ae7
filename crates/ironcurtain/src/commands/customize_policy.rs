//! `ironcurtain customize-policy`: a few questions become a constitution, which is compiled like any other.
//!
//! What is answered in one's own words needs a model; the menus do not. Nothing is in force before
//! `compile-policy`, to which the text is handed, has shown what it changes and asked.

use ic_constitution::{parse, stated};
use ic_home::{Environment, Home, file};

use crate::commands::Exit;
use crate::commands::compile_policy::{self, CompileArgs};
use crate::compiling::{self, Compiler};
use crate::error::Failure;
use crate::person::{Answer, Person, Scripts};
use crate::screen::{Screen, visible_line};

/// Where the text lies until it is compiled.
const DRAFT: &str = "customized.md";
/// The most sentences of one's own.
const OWN_MAX: usize = 50;

/// Make a policy by answering a few questions
///
/// Asks at the terminal what the agent may read, write and delete, which sites it may fetch pages from,
/// whether it may run commands, and what happens with everything else. With a key for a model you can add
/// sentences in your own words. Ends with the constitution, what it changes, and a question.
#[derive(Debug, clap::Args)]
pub(crate) struct CustomizeArgs {}

/// A question that is answered with places, or not at all.
struct WhereTo {
    question: &'static str,
    /// The sentence, with `{}` for the places.
    sentence: &'static str,
    /// What holds besides, with the places and without.
    rest: &'static str,
}

const PLACES: [WhereTo; 5] = [
    WhereTo {
        question: "Directories it may read, with commas between them (Enter: none), [q] stop:",
        sentence: "The agent may read files in {}.",
        rest: "Ask before reading files anywhere else.",
    },
    WhereTo {
        question: "Directories it may write in (Enter: none), [q] stop:",
        sentence: "The agent may write files in {}.",
        rest: "Ask before writing files anywhere else.",
    },
    WhereTo {
        question: "Directories it may delete files in (Enter: none), [q] stop:",
        sentence: "The agent may delete files in {}.",
        rest: "Ask before deleting files anywhere else.",
    },
    WhereTo {
        question: "Directories it must never touch (Enter: none), [q] stop:",
        sentence: "The agent must never read, write or delete files in {}.",
        rest: "",
    },
    WhereTo {
        question: "Sites it may fetch pages from, such as docs.rs (Enter: none), [q] stop:",
        sentence: "The agent may fetch pages from {}.",
        rest: "Ask before fetching pages from the web.",
    },
];

/// A question with two answers.
const CHOICES: [(&str, &str, &str); 2] = [
    (
        "Commands in a shell: [1] ask me, [2] never, [q] stop:",
        "Ask before running commands.",
        "The agent must never run commands.",
    ),
    (
        "Everything else: [1] ask me, [2] refuse, [q] stop:",
        "Everything else is for a person to decide.",
        "Everything else is refused.",
    ),
];

/// Runs the command.
pub(crate) fn run(
    _: &CustomizeArgs,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let home = Home::new(environment.ironcurtain_home()?);
    home.prepare()?;
    let mut person =
        Person::find("what the agent may do", false, Scripts::of(&home, environment)?)?;
    let has_model = Compiler::find(environment)?.has_model();
    let Some(sentences) = interview(&mut person, has_model, screen)? else {
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Failed);
    };
    let text = format!("# My policy\n\n{}\n", sentences.join("\n"));
    let mut lines = vec!["The constitution:".to_owned()];
    lines.extend(text.lines().map(|line| format!("  {}", visible_line(line))));
    person.show(&lines, screen)?;
    if person.ask("Compile it?")? == Answer::Denied {
        screen.line("Nothing was changed.")?;
        return Ok(Exit::Failed);
    }
    let draft = home.root().join(DRAFT);
    file::replace(&draft, text.as_bytes())?;
    compile_policy::run(&CompileArgs::of(draft), environment, screen)
}

/// Asks all questions; `None` if the person stops.
fn interview(
    person: &mut Person,
    has_model: bool,
    screen: &mut Screen,
) -> Result<Option<Vec<String>>, Failure> {
    let mut sentences = Vec::new();
    for WhereTo { question, sentence, rest } in &PLACES {
        loop {
            let answer = person.words(question)?;
            let Some(answer) = answer.filter(|it| it != "q") else { return Ok(None) };
            let places: Vec<&str> =
                answer.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
            if places.is_empty() {
                sentences.extend((!rest.is_empty()).then(|| (*rest).to_owned()));
                break;
            }
            let written = sentence.replace("{}", &joined(&places));
            match parse(&written) {
                Ok(_) => {
                    sentences.push(written);
                    sentences.extend((!rest.is_empty()).then(|| (*rest).to_owned()));
                    break;
                }
                Err(faults) => {
                    let lines: Vec<String> = faults.to_string().lines().map(visible_line).collect();
                    person.show(&lines, screen)?;
                }
            }
        }
    }
    for (question, one, two) in CHOICES {
        let chosen = loop {
            match person.choose(question)?.as_deref() {
                Some("1") => break one,
                Some("2") => break two,
                Some("q") | None => return Ok(None),
                Some(_) => {}
            }
        };
        sentences.push(chosen.to_owned());
    }
    Ok(own_words(person, has_model, screen)?.map(|own| {
        sentences.extend(own);
        sentences
    }))
}

/// Asks for sentences in the person's own words.
fn own_words(
    person: &mut Person,
    has_model: bool,
    screen: &mut Screen,
) -> Result<Option<Vec<String>>, Failure> {
    let mut own = Vec::new();
    let what = match has_model {
        true => {
            "In your own words: a model turns each sentence into plain ones, which you see first."
        }
        false => "One more sentence in the plain form, or none.",
    };
    person.show(&[what.to_owned()], screen)?;
    while own.len() < OWN_MAX {
        let answer = person.words("One more sentence (Enter: no more), [q] stop:")?;
        let Some(answer) = answer.filter(|it| it != "q") else { return Ok(None) };
        if answer.trim().is_empty() {
            break;
        }
        match stated(&answer) {
            Ok(stated) if stated.free.is_empty() || has_model => own.push(answer),
            Ok(stated) => {
                let faults = compiling::faults(&stated).to_string();
                let mut lines: Vec<String> = faults.lines().map(visible_line).collect();
                lines.push(format!("  {}", compiling::NO_KEY));
                person.show(&lines, screen)?;
            }
            Err(faults) => {
                let lines: Vec<String> = faults.to_string().lines().map(visible_line).collect();
                person.show(&lines, screen)?;
            }
        }
    }
    Ok(Some(own))
}

/// Joins places as a sentence does, in quotes where they could be taken for words.
fn joined(places: &[&str]) -> String {
    let quoted = |it: &&str| match it.contains([' ', '`']) && !it.contains('`') {
        true => format!("`{it}`"),
        false => (*it).to_owned(),
    };
    let places: Vec<String> = places.iter().map(quoted).collect();
    match places.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
