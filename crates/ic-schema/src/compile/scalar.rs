//! The keywords about one value in itself: its type, its choices, a number, a text.
//!
//! Nothing in here leads to another schema.

use std::collections::HashSet;

use ic_types::{Json, Number};

use super::Compiler;
use super::keywords::Keywords;
use crate::fault::FaultReason;
use crate::form;
use crate::fuel::Fuel;
use crate::number::Decimal;
use crate::rules::{Bound, Choices, NumberRules, Side, TextRules, TypeSet, View};
use crate::text::{Cut, list};

/// Reads `type`.
pub(super) fn types(keywords: Keywords<'_>) -> Result<TypeSet, FaultReason> {
    let wrong = || FaultReason::wrong("type", "the name of a type or an array of such names");
    let named = |json: &Json| json.as_str().and_then(TypeSet::named).ok_or_else(wrong);
    match keywords.get("type") {
        None => Ok(TypeSet::ANY),
        Some(Json::Array(names)) if !names.is_empty() => {
            names.iter().try_fold(TypeSet::NONE, |types, name| Ok(types.with(named(name)?)))
        }
        Some(json) => named(json),
    }
}

/// Reads `enum` and `const`.
pub(super) fn choices(keywords: Keywords<'_>) -> Result<Vec<Choices>, FaultReason> {
    let mut choices = Vec::new();
    match keywords.get("enum") {
        None => {}
        Some(Json::Array(values)) => {
            let shown = list(values.iter().map(|value| Cut::VALUE.of(&value.to_string())));
            let complaint = match values.is_empty() {
                true => "is not allowed".to_owned(),
                false => format!("is not one of {shown}"),
            };
            choices.push(choices_of(values, complaint)?);
        }
        Some(_) => return Err(FaultReason::wrong("enum", "an array")),
    }
    if let Some(value) = keywords.get("const") {
        let complaint = format!("is not {}", Cut::VALUE.of(&value.to_string()));
        choices.push(choices_of([value], complaint)?);
    }
    Ok(choices)
}

fn choices_of<'a>(
    values: impl IntoIterator<Item = &'a Json>,
    complaint: String,
) -> Result<Choices, FaultReason> {
    let mut choices = Choices {
        texts: HashSet::new(),
        others: HashSet::new(),
        other_types: TypeSet::NONE,
        complaint,
    };
    // More than the limits on a schema's size let through.
    let mut fuel = Fuel::full();
    for value in values {
        if let Json::String(text) = value {
            choices.texts.insert(text.as_str().into());
        } else {
            let view = View::of(value);
            let form = form::of(view, &mut fuel)
                .map_err(|_| FaultReason::wrong("enum", "small enough"))?;
            choices.others.insert(form.into());
            choices.other_types = choices.other_types.with(TypeSet::kind_of(view));
        }
    }
    Ok(choices)
}

/// Reads what restricts numbers.
pub(super) fn number(keywords: Keywords<'_>) -> Result<Option<Box<NumberRules>>, FaultReason> {
    let mut bounds = Vec::new();
    for (keyword, exclusive, inside, outside) in [
        ("minimum", "exclusiveMinimum", Side::AtLeast, Side::Above),
        ("maximum", "exclusiveMaximum", Side::AtMost, Side::Below),
    ] {
        let mut side = inside;
        match keywords.get(exclusive) {
            None => {}
            // Draft 4 says by this how the other keyword is meant.
            Some(Json::Bool(is_exclusive)) => side = if *is_exclusive { outside } else { inside },
            Some(Json::Number(limit)) => bounds.push(Bound { side: outside, limit: limit.clone() }),
            Some(_) => return Err(FaultReason::wrong(exclusive, "a number")),
        }
        let limit = keywords.number(keyword)?.cloned();
        bounds.extend(limit.map(|limit| Bound { side, limit }));
    }
    let divisor = |number: &Number| {
        let wrong = FaultReason::wrong("multipleOf", "a number above 0 of at most 19 digits");
        Ok((Decimal::of(number).to_divisor().ok_or(wrong)?, number.clone()))
    };
    let multiple_of = keywords.number("multipleOf")?.map(divisor).transpose()?;
    let is_free = bounds.is_empty() && multiple_of.is_none();
    Ok((!is_free).then(|| Box::new(NumberRules { bounds, multiple_of })))
}

impl<'a> Compiler<'a> {
    /// Reads what restricts texts.
    pub(super) fn text_rules(
        &mut self,
        keywords: Keywords<'a>,
    ) -> Result<Option<Box<TextRules>>, FaultReason> {
        let length = keywords.span("minLength", "maxLength", 0)?;
        let pattern = match keywords.text("pattern")? {
            Some(text) => self.pattern("pattern", text)?,
            None => None,
        };
        let is_free = length.is_any() && pattern.is_none();
        Ok((!is_free).then(|| Box::new(TextRules { length, pattern })))
    }
}
