//! Holds a value against a node: its type, its choices, and then what its kind has rules about.
//!
//! A check ends in one of three ways, and the third is not a kind of the second: `not` turns a value
//! that does not fit into one that does, and must not do that with one that nobody looked at.

mod array;
mod logic;
mod object;

use ic_types::{Number, Object};

use crate::form;
use crate::fuel::{Exhausted, Fuel};
use crate::number::Decimal;
use crate::rules::{
    Choices, Node, NodeId, NumberRules, Rules, Side, Span, TextRules, TypeSet, View,
};
use crate::text::Cut;
use crate::violation::{Place, Violation};

/// Holds `arguments` against the first node.
pub(crate) fn check(rules: &Rules, arguments: &Object) -> Result<(), Violation> {
    let mut checker = Checker { nodes: &rules.nodes, fuel: Fuel::full(), n_quiet: 0 };
    checker.node(NodeId(0), View::Object(arguments), &Place::Root).map_err(|stop| match stop {
        Stop::Unfit(Some(sentence)) => Violation::new(Cut::SENTENCE.ours(sentence)),
        Stop::Unfit(None) => Violation::new("the arguments do not fit the schema".to_owned()),
        Stop::Exhausted => Violation::new("the arguments are too complex to be checked".to_owned()),
    })
}

struct Checker<'s> {
    nodes: &'s [Node],
    fuel: Fuel,
    /// How many schemas around this one only want to know whether, and not why.
    n_quiet: u32,
}

/// Why a check ended early.
enum Stop {
    /// The value does not fit; the sentence is there if someone wants it.
    Unfit(Option<String>),
    /// The fuel is gone, and nobody knows whether the value fits.
    Exhausted,
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

impl Checker<'_> {
    fn node(&mut self, id: NodeId, value: View<'_>, place: &Place<'_>) -> Result<(), Stop> {
        self.fuel.spend(1)?;
        if let View::Number(number) = value {
            // To tell whether it is whole takes as long as it is.
            self.fuel.spend_on_number(number)?;
        }
        self.fuel.descend()?;
        // Every number that a node holds is the number of a node; if not, nothing was checked.
        let node = self.nodes.get(id.0).ok_or(Stop::Exhausted)?;
        let result = self.node_rules(node, value, place);
        self.fuel.ascend();
        result
    }

    fn node_rules(&mut self, node: &Node, value: View<'_>, place: &Place<'_>) -> Result<(), Stop> {
        if !node.types.has(value) {
            return self.unfit(|| match node.types.words() {
                words if words.is_empty() => format!("{place} is not allowed"),
                words => format!("{place} is not {words}"),
            });
        }
        for choices in &node.choices {
            self.choices(choices, value, place)?;
        }
        match (value, &node.number, &node.text, &node.array, &node.object) {
            (View::Number(number), Some(rules), ..) => self.number(rules, number, place)?,
            (View::Text(text), _, Some(rules), ..) => self.text(rules, text, place)?,
            (View::Array(items), _, _, Some(rules), _) => self.array(rules, items, place)?,
            (View::Object(object), .., Some(rules)) => self.object(rules, object, place)?,
            (View::Number(_), None, ..)
            | (View::Text(_), _, None, ..)
            | (View::Array(_), _, _, None, _)
            | (View::Object(_), .., None)
            | (View::Null | View::Bool(_), ..) => {}
        }
        match &node.logic {
            Some(logic) => self.logic(logic, value, place),
            None => Ok(()),
        }
    }

    fn choices(
        &mut self,
        choices: &Choices,
        value: View<'_>,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let is_in = match value {
            View::Text(text) => {
                self.fuel.spend_on(text)?;
                choices.texts.contains(text)
            }
            value if choices.other_types.meets(TypeSet::kind_of(value)) => {
                choices.others.contains(form::of(value, &mut self.fuel)?.as_str())
            }
            View::Null | View::Bool(_) | View::Number(_) | View::Array(_) | View::Object(_) => {
                false
            }
        };
        self.expect(is_in, || format!("{place} {}", choices.complaint))
    }

    fn number(
        &mut self,
        rules: &NumberRules,
        number: &Number,
        place: &Place<'_>,
    ) -> Result<(), Stop> {
        let value = Decimal::of(number);
        for bound in &rules.bounds {
            self.fuel.spend_on_number(number)?;
            self.fuel.spend_on_number(&bound.limit)?;
            let limit = Decimal::of(&bound.limit);
            let (is_within, complaint) = match bound.side {
                Side::AtLeast => (limit <= value, "less than"),
                Side::Above => (limit < value, "not more than"),
                Side::AtMost => (value <= limit, "more than"),
                Side::Below => (value < limit, "not less than"),
            };
            let limit = || Cut::VALUE.of(bound.limit.as_str());
            self.expect(is_within, || format!("{place} is {complaint} {}", limit()))?;
        }
        if let Some((divisor, written)) = &rules.multiple_of {
            self.fuel.spend_on_number(number)?;
            self.expect(value.is_multiple_of(*divisor), || {
                format!("{place} is not a multiple of {}", Cut::VALUE.of(written.as_str()))
            })?;
        }
        Ok(())
    }

    fn text(&mut self, rules: &TextRules, text: &str, place: &Place<'_>) -> Result<(), Stop> {
        if !rules.length.is_any() {
            self.fuel.spend_on(text)?;
            let n_chars = text.chars().count() as u64;
            self.span(rules.length, n_chars, |much, limit| match limit {
                1 => format!("{place} has {much} than 1 character"),
                limit => format!("{place} has {much} than {limit} characters"),
            })?;
        }
        if let Some(pattern) = &rules.pattern {
            let is_in = pattern.is_in(text, &mut self.fuel)?;
            self.expect(is_in, || format!("{place} does not match `{}`", pattern.shown))?;
        }
        Ok(())
    }

    /// Expects `n` within `span`; the sentence is about `fewer` or `more` than a limit.
    fn span(
        &self,
        span: Span,
        n: u64,
        sentence: impl FnOnce(&str, u64) -> String,
    ) -> Result<(), Stop> {
        match (n < span.least, span.most < n) {
            (true, _) => self.unfit(|| sentence("fewer", span.least)),
            (false, true) => self.unfit(|| sentence("more", span.most)),
            (false, false) => Ok(()),
        }
    }

    fn expect(&self, is_fit: bool, sentence: impl FnOnce() -> String) -> Result<(), Stop> {
        if is_fit { Ok(()) } else { self.unfit(sentence) }
    }

    fn unfit(&self, sentence: impl FnOnce() -> String) -> Result<(), Stop> {
        Err(Stop::Unfit((self.n_quiet == 0).then(sentence)))
    }

    /// Finds out whether `value` fits a node, and not why.
    fn fits(&mut self, id: NodeId, value: View<'_>, place: &Place<'_>) -> Result<bool, Stop> {
        self.n_quiet += 1;
        let result = self.node(id, value, place);
        self.n_quiet -= 1;
        match result {
            Ok(()) => Ok(true),
            Err(Stop::Unfit(_)) => Ok(false),
            // SECURITY: taken for "does not fit", an exhausted check would satisfy `not`.
            Err(Stop::Exhausted) => Err(Stop::Exhausted),
        }
    }
}
