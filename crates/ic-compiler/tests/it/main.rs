//! The stages against a scripted model, with the real grammar and compiler behind the port of the engine.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests: a failure is a failed test"
)]

mod attacks;
mod stages;

use std::sync::Mutex;

use ic_compiler::cache::{Cache, Memory};
use ic_compiler::journal::{Event, Journal};
use ic_compiler::{
    Asker, Case, Compiled, CompilerError, Engine, EngineFault, Finding, Input, Mind, Spent,
    ToolInfo, Unit,
};
use ic_constitution::compile::{Subject, SubjectPlace};
use ic_constitution::scenario::Scenario;
use ic_constitution::{Constitution, Deed, Directory, Tool, compile, stated};
use ic_model::Prices;
use ic_testkit::scripted_model::{Line, ScriptedModel};
use ic_types::{Json, JsonLimits, Object, Role};
use tokio_util::sync::CancellationToken;

/// A world in which a model is asked.
struct World {
    model: ScriptedModel,
    cache: Memory,
    heard: Ears,
    tools: Vec<ToolInfo>,
    handwritten: Vec<Case>,
    may_repair: bool,
    only: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Ears(Mutex<Vec<String>>, Mutex<Vec<Object>>);

impl Journal for Ears {
    fn heard(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }

    fn exchanged(&self, exchange: Object) {
        self.1.lock().unwrap().push(exchange);
    }
}

/// Judges by the sentences themselves, once they are compiled.
struct Bench<'a>(&'a [ToolInfo]);

impl Engine for Bench<'_> {
    fn judge(
        &mut self,
        constitution: &Constitution,
        cases: &[Case],
    ) -> Result<Vec<Finding>, EngineFault> {
        let tool = |it: &ToolInfo| Tool {
            server: it.server.clone(),
            tool: it.tool.clone(),
            roles: it.arguments.iter().flat_map(|(_, roles)| roles.clone()).collect(),
        };
        let tools: Vec<Tool> = self.0.iter().map(tool).collect();
        let compiled = compile(constitution, &tools)?;
        let judge = |case: &Case| {
            let Scenario { server, tool, arguments, expected, .. } = &case.scenario;
            let known = self.0.iter().find(|it| it.server == *server && it.tool == *tool).unwrap();
            let decision = match known.arguments.first() {
                Some((name, roles)) if name == "path" => {
                    let path = arguments.get("path").and_then(Json::as_str).unwrap();
                    let directory = path.rsplit_once('/').unwrap().0.to_owned();
                    let place = SubjectPlace::Directory(Directory::At(directory));
                    let role = roles[0];
                    compiled.says(&Subject { server, tool, role, place }).as_str().to_owned()
                }
                _ => {
                    let names = |deed: &Deed| matches!(deed, Deed::Use(all) if all.iter().any(|it| it.server == *server));
                    let about = constitution.sentences.iter().filter(|it| names(&it.deed));
                    about.map(|it| it.effect).max().map_or("deny", |it| it.as_str()).to_owned()
                }
            };
            let passed = match expected.as_str() {
                "not-allow" => decision != "allow",
                expected => decision == expected,
            };
            Finding { passed, decision, by: "a-rule".to_owned(), is_structural: false }
        };
        Ok(cases.iter().map(judge).collect())
    }
}

fn tool(server: &str, name: &str, arguments: &[(&str, Role)]) -> ToolInfo {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
    ToolInfo {
        server: server.parse().unwrap(),
        tool: name.parse().unwrap(),
        description: String::new(),
        schema: Some(Json::parse(schema.as_bytes(), JsonLimits::CALL).unwrap()),
        arguments: arguments.iter().map(|(name, role)| ((*name).to_owned(), vec![*role])).collect(),
    }
}

impl World {
    fn new(script: &[&str]) -> Self {
        let tools = vec![
            tool("filesystem", "read_file", &[("path", Role::ReadPath)]),
            tool("filesystem", "write_file", &[("path", Role::WritePath)]),
            tool("filesystem", "delete_file", &[("path", Role::DeletePath)]),
        ];
        Self {
            model: ScriptedModel::new(script.iter().map(|it| says(it))),
            cache: Memory::default(),
            heard: Ears::default(),
            tools,
            handwritten: Vec::new(),
            may_repair: true,
            only: None,
        }
    }

    /// Adds a server that sends mail.
    fn with_mail(mut self) -> Self {
        self.tools.push(tool("mail", "send", &[("to", Role::EmailAddress)]));
        self
    }

    /// Compiles a constitution; returns what came of it, and what it took.
    async fn compile(&self, text: &str) -> (Result<Compiled, CompilerError>, Spent) {
        let mind = Mind { name: "scripted", model: Some(&self.model), prices: Prices::FREE };
        self.compile_with(text, mind, &CancellationToken::new()).await
    }

    async fn compile_with(
        &self,
        text: &str,
        mind: Mind<'_>,
        cancel: &CancellationToken,
    ) -> (Result<Compiled, CompilerError>, Spent) {
        let asker = Asker {
            mind,
            fast: mind,
            cache: &self.cache as &dyn Cache,
            journal: &self.heard,
            cancel,
            only: self.only,
            cost_max: None,
            spent: Mutex::default(),
        };
        let stated = stated(text).unwrap();
        let units = Unit::of(self.tools.clone());
        let input = Input {
            text,
            stated: &stated,
            units: &units,
            lists: &[],
            handwritten: &self.handwritten,
            may_repair: self.may_repair,
        };
        let made = ic_compiler::run(input, &asker, &mut Bench(&self.tools)).await;
        (made, asker.spent_so_far())
    }
}

fn says(answer: &str) -> Line {
    match answer.starts_with('{') && Json::parse(answer.as_bytes(), JsonLimits::CALL).is_ok() {
        true => Line::uses(&[("use_1", "answer", answer)]).taking(100, 10),
        false => Line::says(answer).taking(100, 10),
    }
}

/// An answer with sentences for the statements 1, 2 and so on.
fn sentences(all: &[&[&str]]) -> String {
    let statement = |(at, all): (usize, &&[&str])| {
        let texts: Vec<Json> = all.iter().map(|it| Json::from(*it)).collect();
        format!(r#"{{"id":{},"sentences":{}}}"#, at + 1, Json::Array(texts))
    };
    let all: Vec<String> = all.iter().enumerate().map(statement).collect();
    format!(r#"{{"statements":[{}]}}"#, all.join(","))
}

/// An answer with scenarios: tool, path, expected.
fn scenarios(all: &[(&str, &str, &str)]) -> String {
    let scenario = |(tool, path, expected): &(&str, &str, &str)| {
        format!(
            r#"{{"description":"{tool} {path}","server":"filesystem","tool":"{tool}","arguments":{{"path":"{path}"}},"expected":"{expected}","reasoning":"so"}}"#
        )
    };
    let all: Vec<String> = all.iter().map(scenario).collect();
    format!(r#"{{"scenarios":[{}]}}"#, all.join(","))
}

fn ruling(id: usize, blame: &str, rest: &str) -> String {
    format!(r#"{{"rulings":[{{"id":{id},"blame":"{blame}","why":"because"{rest}}}]}}"#)
}

fn handwritten(tool: &str, path: &str, expected: &str) -> Case {
    let mut arguments = Object::new();
    arguments.insert("path", path);
    let scenario = Scenario {
        description: format!("mine: {tool} {path}"),
        server: "filesystem".parse().unwrap(),
        tool: tool.parse().unwrap(),
        role: None,
        arguments,
        expected: expected.to_owned(),
        reasoning: String::new(),
    };
    Case { scenario, is_handwritten: true }
}

fn texts(compiled: &Compiled) -> Vec<String> {
    compiled.constitution.sentences.iter().map(|it| it.text.clone()).collect()
}
