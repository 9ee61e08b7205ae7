//! A policy whose source is a constitution: compiled, verified by the engine that judges calls, and written.
//!
//! What changes for calls is shown elsewhere, and nobody is asked here.

use std::path::{Path, PathBuf};

use ic_constitution::artifact::{self, Origin as Compiling};
use ic_constitution::scenario::{self, Scenario};
use ic_constitution::{Compiled, Constitution, Directory, Faults, Place, Tool, compile, parse};
use ic_home::{Clock as _, Environment, Home, SystemClock, file};
use ic_opening::policy::{As, COMPILED, Loaded, NoSandbox, Wanted};
use ic_policy::artifact::{ScenarioSource, Scenarios, Source};
use ic_types::{Digest, Json, JsonLimits};

use crate::commands::policy::test::{self, Outcome};
use crate::error::Failure;
use crate::files;
use crate::judge;
use crate::screen::{Screen, visible_line};

/// The text that a policy is compiled from.
pub(crate) const CONSTITUTION: &str = "constitution.md";
pub(crate) const SCENARIOS: &str = "test-scenarios.json";
pub(crate) const LISTS: &str = "dynamic-lists.json";
/// Where a policy is left that is not what its sentences say.
const MAKING: &str = ".compiling";

/// A compiled constitution, with the files that it becomes.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) constitution: Constitution,
    pub(crate) compiled: Compiled,
    pub(crate) rules: String,
    scenarios: String,
    pub(crate) n_scenarios: usize,
    lists: Option<Vec<u8>>,
}

/// Returns the constitution that the policy in `directory` was compiled from, and where it is.
///
/// None if there is none, or if it is not of plain sentences. One that was changed since is an error: what
/// is added to it would bring that into force as well.
pub(crate) fn source_of(directory: &Path) -> Result<Option<(PathBuf, String)>, Failure> {
    let Some((path, text)) = text_of(directory)? else { return Ok(None) };
    let compiled = files::read_if_present(&directory.join(COMPILED))?.unwrap_or_default();
    let hash = header(&compiled, "constitutionHash");
    if hash.is_none() || parse(&text).is_err() {
        return Ok(None);
    }
    if hash != Some(Digest::of(text.as_bytes()).to_string()) {
        let path = path.display();
        return Err(Failure::config(format!("`{path}` was changed and not compiled since"))
            .with_hint("`ironcurtain policy edit` shows what it changes, and compiles it"));
    }
    Ok(Some((path, text)))
}

/// Returns the constitution of the policy in `directory`, whatever it says, and where it is.
pub(crate) fn text_of(directory: &Path) -> Result<Option<(PathBuf, String)>, Failure> {
    let own = directory.join(CONSTITUTION);
    let above = directory.parent().filter(|_| directory.ends_with("generated"));
    let above = above.map(|it| it.join(CONSTITUTION));
    for path in std::iter::once(own).chain(above) {
        if let Some(bytes) = files::read_if_present(&path)? {
            return Ok(String::from_utf8(bytes).ok().map(|text| (path, text)));
        }
    }
    Ok(None)
}

/// Says what is wrong with a constitution.
pub(crate) fn failed(file: &str, faults: &Faults) -> Failure {
    let details = faults.to_string().lines().map(visible_line).collect();
    Failure::config(format!("`{file}` cannot be compiled; nothing was changed"))
        .with_details(details)
        .with_hint("`ironcurtain policy grammar` shows how sentences are written")
}

/// What a policy is made of.
#[derive(Clone, Debug)]
pub(crate) struct Sentences<'a> {
    /// The constitution as written.
    pub(crate) text: &'a str,
    /// Its sentences.
    pub(crate) constitution: Constitution,
    /// Scenarios besides those at the borders of places.
    pub(crate) tested: Vec<Scenario>,
}

impl Made {
    /// Compiles `text` for the policy in `output`, whose handwritten scenarios are kept.
    pub(crate) fn of(
        text: &str,
        tools: &[Tool],
        output: &Path,
        handwritten: Vec<Json>,
    ) -> Result<Self, MadeError> {
        let constitution = parse(text)?;
        let sentences = Sentences { text, constitution, tested: Vec::new() };
        Self::of_sentences(sentences, tools, output, handwritten)
    }

    /// Does the same for sentences that were read already.
    pub(crate) fn of_sentences(
        Sentences { text, constitution, tested }: Sentences<'_>,
        tools: &[Tool],
        output: &Path,
        handwritten: Vec<Json>,
    ) -> Result<Self, MadeError> {
        let compiled = compile(&constitution, tools)?;
        // The same sentences give the same bytes, so that grants and records still mean this policy.
        let before = files::read_if_present(&output.join(COMPILED))?;
        let origin = Compiling { constitution: text, generated_at: "", tools };
        let of = |at: &str| {
            artifact::compiled_policy(&compiled, Compiling { generated_at: at, ..origin })
        };
        let generated = before.as_deref().and_then(|it| header(it, "generatedAt"));
        let is_same = |at: &String| Some(of(at).into_bytes()) == before;
        let at = generated.filter(is_same).unwrap_or_else(|| SystemClock.now().to_string());
        let mut written = handwritten;
        for scenario in handwritten_in(&output.join(SCENARIOS))? {
            if !written.contains(&scenario) {
                written.push(scenario);
            }
        }
        let mut scenarios: Vec<Scenario> = scenario::scenarios(&constitution, &compiled);
        for tested in tested {
            let is_same =
                |it: &Scenario| it.tool == tested.tool && it.arguments == tested.arguments;
            if !scenarios.iter().any(is_same) {
                scenarios.push(tested);
            }
        }
        Ok(Self {
            rules: of(&at),
            scenarios: artifact::test_scenarios(
                &written,
                &scenarios,
                Compiling { generated_at: &at, ..origin },
            ),
            n_scenarios: written.len() + scenarios.len(),
            lists: files::read_if_present(&output.join(LISTS))?,
            text: text.to_owned(),
            constitution,
            compiled,
        })
    }

    /// Returns how the policy is loaded with these rules.
    pub(crate) fn load_as(&self) -> As<'_> {
        As { compiled: Some(self.rules.as_bytes()), lists: self.lists.as_deref(), ..As::CONFIRMED }
    }

    /// Lets the engine judge the scenarios; `policy` is what the rules are to replace.
    pub(crate) fn verify(
        &self,
        policy: PathBuf,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Loaded, Failure> {
        let wanted =
            Wanted { policy: Some(policy), sandbox: None, protected: Vec::new(), servers: None };
        let loaded =
            judge::load_as(&wanted, NoSandbox::Fresh, self.load_as(), environment, screen)?;
        let source = Source { file: SCENARIOS, bytes: self.scenarios.as_bytes() };
        let scenarios: Scenarios = ic_policy::artifact::read(source)?;
        let (by_hand, generated): (Vec<_>, Vec<_>) = scenarios
            .scenarios
            .into_iter()
            .partition(|it| it.source == ScenarioSource::Handwritten);
        let failing = |all| {
            let outcomes = test::judged(all, &loaded).into_iter();
            outcomes.filter(|it| !it.passed).collect::<Vec<Outcome>>()
        };
        // What holds for every policy may be stricter than a sentence.
        let (structural, mut wrong): (Vec<Outcome>, Vec<Outcome>) =
            failing(generated).into_iter().partition(Outcome::is_structural);
        wrong.extend(failing(by_hand));
        for outcome in structural {
            screen.warning(&visible_line(&format!("{}: {}", outcome.description, outcome.said())));
        }
        if wrong.is_empty() {
            return Ok(loaded);
        }
        let making = making(environment)?;
        self.leave(&making)?;
        let said = |it: &Outcome| visible_line(&format!("{}: {}", it.description, it.said()));
        let details = wrong.iter().map(said).chain(self.links(&loaded));
        Err(Failure::config("the compiled policy does not say what its scenarios say")
            .with_details(details.collect())
            .with_hint(format!("nothing was replaced; the files are in `{}`", making.display())))
    }

    /// Says which directories of sentences lead through links: another sentence may be about the same place,
    /// which cannot be seen from the words.
    fn links(&self, loaded: &Loaded) -> Vec<String> {
        let home = &loaded.judge.home;
        let link = |line: usize, path: &str| {
            let found = loaded.roots.locate(path, home, &loaded.sandbox).ok()?;
            let written = ic_resolve::path::absolute(path, home, None).ok()?;
            (written.as_path() != found.as_path()).then(|| {
                visible_line(&format!(
                    "line {line}: `{path}` leads through a link to `{found}`; name that directory instead, since \
                     sentences are compared by the names of their directories"
                ))
            })
        };
        let mut said = Vec::new();
        for sentence in &self.constitution.sentences {
            let Place::Directories(all) = &sentence.place else { continue };
            said.extend(all.iter().filter_map(|it| match it {
                Directory::At(path) => link(sentence.line, path),
                Directory::Sandbox(_) => None,
            }));
        }
        said
    }

    /// Writes the files for somebody to look at.
    pub(crate) fn leave(&self, making: &Path) -> Result<(), Failure> {
        if file::names(making)?.is_some() {
            file::remove_tree(making)?;
        }
        if let Some(above) = making.parent() {
            file::create_dir(above)?;
        }
        file::create_new_dir(making)?;
        file::create_new(making.join(COMPILED), self.rules.as_bytes())?;
        Ok(file::create_new(making.join(SCENARIOS), self.scenarios.as_bytes())?)
    }

    /// Writes the policy; the rules come last, so that they are never without their sentences.
    pub(crate) fn write(&self, output: &Path, source: &Path) -> Result<(), Failure> {
        file::create_dir(output)?;
        file::replace(source, self.text.as_bytes())?;
        file::replace(output.join(SCENARIOS), self.scenarios.as_bytes())?;
        Ok(file::replace(output.join(COMPILED), self.rules.as_bytes())?)
    }

    /// Writes the files into a directory that is new.
    pub(crate) fn create(&self, directory: &Path) -> Result<(), Failure> {
        file::create_new(directory.join(CONSTITUTION), self.text.as_bytes())?;
        file::create_new(directory.join(SCENARIOS), self.scenarios.as_bytes())?;
        Ok(file::create_new(directory.join(COMPILED), self.rules.as_bytes())?)
    }

    /// Returns the values of a list.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let Some(lists) = self.lists.as_deref() else { return Vec::new() };
        let texts = |key: &str| list_in(lists, name, key);
        let removed = texts("manualRemovals");
        let all = texts("values").into_iter().chain(texts("manualAdditions"));
        all.filter(|it| !removed.contains(it)).collect()
    }

    /// Returns what is odd about the sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.compiled.notes.iter();
        notes.map(|it| visible_line(&format!("line {}: {}", it.line, it.text))).collect()
    }
}

/// Returns the texts under a key of one list of a dynamic-lists.json.
pub(crate) fn list_in(bytes: &[u8], name: &str, key: &str) -> Vec<String> {
    let Ok(Json::Object(file)) = Json::parse(bytes, JsonLimits::ARTIFACT) else {
        return Vec::new();
    };
    let Some(Json::Object(lists)) = file.get("lists") else { return Vec::new() };
    let Some(Json::Object(list)) = lists.get(name) else { return Vec::new() };
    match list.get(key) {
        Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Returns where a policy is left that is not what its sentences say.
pub(crate) fn making(environment: &Environment) -> Result<PathBuf, Failure> {
    Ok(Home::new(environment.ironcurtain_home()?).policies().join(MAKING))
}

/// Why a constitution was not compiled.
#[derive(Debug)]
pub(crate) enum MadeError {
    /// Its sentences.
    Faults(Faults),
    /// A file.
    Failure(Failure),
}

impl MadeError {
    /// Says it for the constitution in `file`.
    pub(crate) fn of(self, file: &str) -> Failure {
        match self {
            Self::Faults(faults) => failed(file, &faults),
            Self::Failure(failure) => failure,
        }
    }
}

impl From<Faults> for MadeError {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<Failure> for MadeError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Returns the scenarios of a file that a person wrote.
pub(crate) fn handwritten_in(path: &Path) -> Result<Vec<Json>, Failure> {
    let Some(bytes) = files::read_if_present(path)? else { return Ok(Vec::new()) };
    // Checked in full, with the place of a mistake, before it is taken apart.
    let file = path.display().to_string();
    drop(ic_policy::artifact::read::<Scenarios>(Source { file: &file, bytes: &bytes })?);
    let is_by_hand = |it: &Json| match it {
        Json::Object(it) => it.get("source").and_then(Json::as_str) == Some("handwritten"),
        _ => false,
    };
    Ok(all_scenarios(&bytes).into_iter().filter(is_by_hand).collect())
}

/// Returns the scenarios of a file that was checked before.
pub(crate) fn all_scenarios(bytes: &[u8]) -> Vec<Json> {
    let Ok(Json::Object(object)) = Json::parse(bytes, JsonLimits::ARTIFACT) else {
        return Vec::new();
    };
    match object.get("scenarios") {
        Some(Json::Array(all)) => all.clone(),
        _ => Vec::new(),
    }
}

fn header(bytes: &[u8], key: &str) -> Option<String> {
    match Json::parse(bytes, JsonLimits::ARTIFACT).ok()? {
        Json::Object(object) => object.get(key)?.as_str().map(str::to_owned),
        _ => None,
    }
}
