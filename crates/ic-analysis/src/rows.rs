//! The decision table of one tool: what a policy says of each class of values, in each context.
//!
//! Step 5 of the decision puts these together: deny beats escalate beats allow over the roles. A row is
//! worked out when it is asked for, and kept.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use ic_policy::{Effect, RoleValues, Standing, Value};
use ic_types::{Object, Role, ServerName, ToolName};

use crate::TooComplex;
use crate::context::{Context, Lists, merged};
use crate::imagined::Names;
use crate::side::{Outcome, Row, Side};
use crate::space::{Class, Example, Space};

/// Tools of which decisions know the names.
const KNOWN_BY_NAME: [&str; 3] = ["run_command", "git_clean", LIST_ALLOWED_DIRECTORIES];
/// The tool that may always be called without arguments.
pub(crate) const LIST_ALLOWED_DIRECTORIES: &str = "list_allowed_directories";

type Witnesses = HashMap<Context, Vec<RoleValues>>;
/// The rows that are known so far.
#[derive(Debug, Default)]
struct Known {
    /// By role, by what is judged, and by context.
    rows: HashMap<(Role, Judged), HashMap<Context, Rc<Row>>>,
    /// By role and by the number of an example, where nothing depends on other values.
    plain: BTreeMap<Role, Vec<Plain>>,
}

/// What is known of an example as a value of a role.
#[derive(Clone, Debug)]
enum Plain {
    /// Nothing yet.
    Unknown,
    /// It cannot be one.
    NoValue,
    /// What is said of it.
    Row(Rc<Row>),
}

impl Known {
    fn plain(&self, role: Role, number: usize) -> Plain {
        let known = self.plain.get(&role).and_then(|rows| rows.get(number));
        known.cloned().unwrap_or(Plain::Unknown)
    }

    fn set_plain(&mut self, role: Role, number: usize, row: Plain) {
        let rows = self.plain.entry(role).or_default();
        if rows.len() <= number {
            rows.resize(number + 1, Plain::Unknown);
        }
        if let Some(place) = rows.get_mut(number) {
            *place = row;
        }
    }
}

/// A server, and a tool of it if its name matters.
type ToolKey = (ServerName, Option<ToolName>);

/// What a row is about.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Judged {
    /// A role without values.
    NoValues,
    /// The example with this number.
    Example(usize),
    /// A class of values.
    Class(Class),
}

/// What one policy says of one tool.
#[derive(Debug)]
pub(crate) struct ToolRows<'s, 'a> {
    side: &'s Side<'a>,
    space: &'s Space<'a>,
    server: ServerName,
    tool: ToolName,
    pub(crate) lists: Lists<'a>,
    roles: Vec<Role>,
    witnesses: RefCell<HashMap<Option<Role>, Rc<Witnesses>>>,
    /// What depends on no other values; shared by tools that the policy cannot tell apart.
    known: Rc<RefCell<Known>>,
    /// What depends on values of other roles, which the tool has or has not.
    known_of_tool: Rc<RefCell<Known>>,
    heard: Rc<RefCell<BTreeSet<usize>>>,
}

/// Rows of tools that a policy cannot tell apart, by server and by the tool's name if that matters.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    known: RefCell<HashMap<ToolKey, Rc<RefCell<Known>>>>,
    /// The rules that had a say in any row so far.
    pub(crate) heard: Rc<RefCell<BTreeSet<usize>>>,
}

impl<'s, 'a> ToolRows<'s, 'a> {
    pub(crate) fn new(
        side: &'s Side<'a>,
        space: &'s Space<'a>,
        (server, tool): Names<'_>,
        shared: &Shared,
    ) -> Self {
        let roles = possible_roles(side, (server, tool));
        let lists = Lists::of(side.policy(), (server, tool), &roles);
        let is_named = KNOWN_BY_NAME.contains(&tool.as_str())
            || side.policy().rules().iter().any(|rule| rule.names_tool(tool.as_str()));
        let known = |tool: Option<&ToolName>| {
            let key = (server.clone(), tool.cloned());
            Rc::clone(shared.known.borrow_mut().entry(key).or_default())
        };
        let (known, known_of_tool) = (known(is_named.then_some(tool)), known(Some(tool)));
        Self {
            side,
            space,
            server: server.clone(),
            tool: tool.clone(),
            lists,
            roles,
            witnesses: RefCell::default(),
            known,
            known_of_tool,
            heard: Rc::clone(&shared.heard),
        }
    }

    pub(crate) fn side(&self) -> &'s Side<'a> {
        self.side
    }

    /// Returns the roles that arguments of the tool can have.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    pub(crate) fn names(&self) -> Names<'_> {
        (&self.server, &self.tool)
    }

    /// Returns what is said of `value` of `role`, or of the role without values.
    pub(crate) fn row(
        &self,
        role: Role,
        value: Option<&Value>,
        context: &[u8],
    ) -> Result<Rc<Row>, TooComplex> {
        let judged = match value {
            Some(value) => Judged::Class(self.space.class(value)),
            None => Judged::NoValues,
        };
        self.row_of(role, value, judged, context)
    }

    /// Returns what is said of an example as a value of `role`; `None` if it cannot be one.
    pub(crate) fn row_of_example(
        &self,
        role: Role,
        example: &Example,
        context: &[u8],
    ) -> Result<Option<Rc<Row>>, TooComplex> {
        let is_plain = !self.lists.matter_to(role);
        if is_plain {
            match self.known.borrow().plain(role, example.number) {
                Plain::Row(row) => return Ok(Some(row)),
                Plain::NoValue => return Ok(None),
                Plain::Unknown => {}
            }
        }
        let row = match self.space.value(role, example) {
            Some(value) => {
                Some(self.row_of(role, Some(&value), Judged::Example(example.number), context)?)
            }
            None => None,
        };
        if is_plain {
            let plain = row.clone().map_or(Plain::NoValue, Plain::Row);
            self.known.borrow_mut().set_plain(role, example.number, plain);
        }
        Ok(row)
    }

    fn row_of(
        &self,
        role: Role,
        value: Option<&Value>,
        judged: Judged,
        context: &[u8],
    ) -> Result<Rc<Row>, TooComplex> {
        let is_plain = !self.lists.matter_to(role);
        let (known, context) = match is_plain {
            true => (&self.known, Context::new()),
            false => (&self.known_of_tool, self.lists.elsewhere(Some(role), context)),
        };
        let key = (role, judged);
        let found = known.borrow().rows.get(&key).and_then(|it| it.get(&context).cloned());
        if let Some(row) = found {
            return Ok(row);
        }
        let others = if is_plain {
            Vec::new()
        } else {
            // What no values lead to is asked of no call.
            self.witnesses(Some(role))?.get(&context).cloned().unwrap_or_default()
        };
        let row = Rc::new(self.side.row(self.names(), role, value, &others));
        self.heard.borrow_mut().extend(&row.heard);
        // What is kept by its number needs no second place.
        if !(is_plain && matches!(key.1, Judged::Example(_))) {
            let rows = &mut known.borrow_mut().rows;
            rows.entry(key).or_default().insert(context, Rc::clone(&row));
        }
        Ok(row)
    }

    /// Returns what is said of a call without resource roles.
    pub(crate) fn whole(
        &self,
        roles: &[Role],
        arguments: &Object,
        context: &[u8],
    ) -> Result<Outcome, TooComplex> {
        let witnesses = self.witnesses(None)?;
        let values = witnesses.get(context).cloned().unwrap_or_default();
        let of_call = values.into_iter().filter(|it| roles.contains(&it.role)).collect();
        let (outcome, heard) = self.side.whole(self.names(), of_call, arguments.clone());
        self.heard.borrow_mut().extend(heard);
        Ok(outcome)
    }

    /// Returns what is said of a call with resource roles beside these.
    pub(crate) fn beside(
        &self,
        roles: &[Role],
        arguments: &Object,
        context: &[u8],
    ) -> Result<Effect, TooComplex> {
        let witnesses = self.witnesses(None)?;
        let mut of_call = witnesses.get(context).cloned().unwrap_or_default();
        of_call.retain(|it| roles.contains(&it.role));
        for role in roles {
            if !of_call.iter().any(|it| it.role == *role) {
                of_call.push(RoleValues { role: *role, values: Vec::new() });
            }
        }
        let (effect, heard) = self.side.beside(self.names(), of_call, arguments.clone());
        self.heard.borrow_mut().extend(heard);
        Ok(effect)
    }

    /// Returns the contexts in which `judged`, or the call as a whole, can be judged.
    pub(crate) fn witnesses(&self, judged: Option<Role>) -> Result<Rc<Witnesses>, TooComplex> {
        if let Some(known) = self.witnesses.borrow().get(&judged) {
            return Ok(Rc::clone(known));
        }
        let found = self.lists.witnesses(judged, &self.roles, self.space);
        let found = Rc::new(found.map_err(|it| it.of(&self.server, &self.tool))?);
        self.witnesses.borrow_mut().insert(judged, Rc::clone(&found));
        Ok(found)
    }

    /// Returns what the table says of a call with these roles and values.
    pub(crate) fn predict(
        &self,
        roles: &[RoleValues],
        arguments: &Object,
    ) -> Result<Effect, TooComplex> {
        let mut effect = match self.side.standing(self.names()) {
            Standing::Unknown => return Ok(Effect::Deny),
            Standing::Draft | Standing::OfServer | Standing::Plan => Effect::Escalate,
            Standing::Annotated => Effect::Allow,
        };
        let values = roles.iter().flat_map(|it| it.values.iter().map(|value| (it.role, value)));
        let context = values.fold(self.lists.nothing(), |context, (role, value)| {
            merged(&context, &self.lists.adds(role, value))
        });
        let mut resources = roles.iter().filter(|it| it.role.is_resource()).peekable();
        if resources.peek().is_none() {
            let named: Vec<Role> = roles.iter().map(|it| it.role).collect();
            let whole = self.whole(&named, arguments, &context)?;
            return Ok(effect.max(whole.effect));
        }
        let named: Vec<Role> = roles.iter().map(|it| it.role).collect();
        effect = effect.max(self.beside(&named, arguments, &context)?);
        for RoleValues { role, values } in resources {
            if values.is_empty() {
                effect = effect.max(self.row(*role, None, &context)?.alone.effect);
            }
            let rows = values.iter().map(|value| self.row(*role, Some(value), &context));
            let rows: Vec<Rc<Row>> = rows.collect::<Result<_, _>>()?;
            let all_free = rows.iter().all(|it| it.is_free);
            for row in rows {
                effect = effect.max(if all_free { row.alone } else { row.company }.effect);
            }
        }
        Ok(effect)
    }
}

/// Returns every role that arguments of the tool can have, each once.
fn possible_roles(side: &Side<'_>, (server, tool): Names<'_>) -> Vec<Role> {
    let mut roles = Vec::new();
    for argument in side.policy().annotation(server, tool).iter().flat_map(|it| it.arguments()) {
        for role in argument.possible_roles() {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
    }
    roles
}
