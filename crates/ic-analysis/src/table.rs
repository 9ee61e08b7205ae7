//! The complete decision table of a policy: for each tool and role, what is said of each class of values.

use ic_policy::{Effect, RoleValues, Value};
use ic_types::{Object, Role, ServerName, ToolName};

use crate::TooComplex;
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

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Line<'t> {
    /// The server.
    pub server: &'t ServerName,
    /// The tool.
    pub tool: &'t ToolName,
    /// The role.
    pub role: Option<Role>,
    /// The class of values, with an example; none for a role without values.
    pub values: Option<(Class, &'t Example)>,
    /// Whether other arguments are compared with lists, which this line has no values of.
    pub depends: bool,
    /// What is said of them.
    pub outcome: Outcome,
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
}
