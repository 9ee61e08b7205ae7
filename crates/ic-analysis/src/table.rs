//! The complete decision table of a policy: for each tool and role, what is said of each class of values.

use std::collections::{BTreeSet, HashMap};

use ic_policy::{Effect, RoleValues, Value};
use ic_types::{Object, Role, ServerName, ToolName};

use crate::TooComplex;
use crate::context::Context;
use crate::rows::{Shared, ToolRows};
use crate::side::{Outcome, Side};
use crate::space::{Asked, Class, Example, Space, Subject};

/// A policy, ready to be looked through.
#[derive(Debug)]
pub struct Table<'a> {
    space: Space<'a>,
    side: Side<'a>,
    shared: Shared,
}

/// One line of the table: values of one role of one tool that come to the same.
#[derive(Clone, Debug)]
pub struct Line {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: ToolName,
    /// The role; `None` for a call without resource roles.
    pub role: Option<Role>,
    /// The classes of values; none for a role without values.
    pub classes: Vec<Class>,
    /// One of the values, as a call would write it.
    pub example: Option<String>,
    /// How far lists of other arguments hold, where rules ask for that.
    pub beside: String,
    /// Whether this is what is said beside another value of the role that is not free in the sandbox.
    pub is_company: bool,
    /// What is said of them.
    pub outcome: Outcome,
}

/// Beside what the sandbox alone does not settle a value.
const BESIDE_OUTSIDE: &str = "another value outside the sandbox";

/// Adds a class to the line of its outcome.
fn add(
    lines: &mut Vec<Line>,
    (class, example): (Class, &Example),
    outcome: Outcome,
    new: &dyn Fn(Outcome) -> Line,
) {
    match lines.iter_mut().find(|it| it.outcome == outcome) {
        Some(known) => known.classes.push(class),
        None => lines.push(Line {
            classes: vec![class],
            example: Some(example.text.clone()),
            ..new(outcome)
        }),
    }
}

fn joined(one: &str, other: &str) -> String {
    if other.is_empty() { one.to_owned() } else { format!("{one}, {other}") }
}

impl<'a> Table<'a> {
    /// Makes the table of a policy in its surroundings.
    pub fn new(subject: Subject<'a>, asked: &Asked) -> Self {
        let space = Space::new(&[subject], asked);
        Self { space, side: Side::new(subject), shared: Shared::default() }
    }

    /// Returns the classes that the policy tells apart.
    pub fn space(&self) -> &Space<'a> {
        &self.space
    }

    /// Returns the class of a value.
    pub fn class(&self, value: &Value) -> Class {
        self.space.class(value)
    }

    /// Returns what the table says of a call: its rows, put together.
    pub fn predict(
        &self,
        names: (&ServerName, &ToolName),
        roles: &[RoleValues],
        arguments: &Object,
    ) -> Result<Effect, TooComplex> {
        ToolRows::new(&self.side, &self.space, names, &self.shared).predict(roles, arguments)
    }

    /// Returns the positions of the rules that have a say in any line, even where an invariant says more.
    pub fn heard(&self) -> Result<BTreeSet<usize>, TooComplex> {
        self.lines()?;
        Ok(self.shared.heard.borrow().clone())
    }

    /// Returns all lines of the table.
    pub fn lines(&self) -> Result<Vec<Line>, TooComplex> {
        let mut lines = Vec::new();
        // By the number of the example: many tools are asked about each of them.
        let mut classes: HashMap<usize, Class> = HashMap::new();
        for (server, tool, annotation) in self.side.policy().annotations() {
            let rows = ToolRows::new(&self.side, &self.space, (server, tool), &self.shared);
            let line = |role, context: &[u8], outcome| Line {
                server: server.clone(),
                tool: tool.clone(),
                role,
                classes: Vec::new(),
                example: None,
                beside: rows.lists.text(context),
                is_company: false,
                outcome,
            };
            let resources = rows.roles().iter().copied().filter(|role| role.is_resource());
            for role in resources {
                let contexts = rows.witnesses(Some(role))?;
                let contexts: BTreeSet<&Context> = contexts.keys().collect();
                for context in contexts {
                    let none = rows.row(role, None, context)?.alone;
                    lines.push(line(Some(role), context, none));
                    let (mut alone, mut company) = (Vec::new(), Vec::new());
                    for example in self.space.examples(role) {
                        let Some(row) = rows.row_of_example(role, example, context)? else {
                            continue;
                        };
                        let class = classes
                            .entry(example.number)
                            .or_insert_with(|| self.space.class(&example.value))
                            .clone();
                        let new = |outcome| line(Some(role), context, outcome);
                        if row.company.effect != row.alone.effect {
                            add(&mut company, (class.clone(), example), row.company, &new);
                        }
                        add(&mut alone, (class, example), row.alone, &new);
                    }
                    lines.append(&mut alone);
                    lines.extend(company.into_iter().map(|line: Line| Line {
                        beside: joined(BESIDE_OUTSIDE, &line.beside),
                        is_company: true,
                        ..line
                    }));
                }
            }
            let may_have_none = !annotation.arguments().iter().any(|argument| {
                argument.roles(&Object::new()).iter().any(|role| role.is_resource())
            });
            if may_have_none {
                let roles: Vec<Role> =
                    rows.roles().iter().copied().filter(|role| !role.is_resource()).collect();
                let contexts = rows.witnesses(None)?;
                for context in contexts.keys().collect::<BTreeSet<_>>() {
                    let whole = rows.whole(&roles, &Object::new(), context)?;
                    lines.push(line(None, context, whole));
                }
            }
        }
        Ok(lines)
    }
}
