//! The calls that a tool can be asked for: which arguments it takes, and which roles they have.
//!
//! Conditions of annotations ask about the values of other arguments. A variant is one answer to all of
//! them, so in a variant the roles of each argument are fixed.

use std::collections::BTreeMap;

use ic_policy::{Annotation, ArgumentAnnotation, Pointer};
use ic_types::{Json, Object, Role};

use crate::TooComplex;

/// How many variants of one tool are looked at.
const VARIANTS_MAX: usize = 4096;
/// What stands for the value of an argument while conditions are asked.
const ANYTHING: &str = "example";

/// Calls in which the roles of all arguments are the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// Arguments that choose the variant.
    pub(crate) arguments: Object,
    /// The same as a person reads it; `None` if no argument is needed.
    pub(crate) condition: Option<String>,
    /// For each policy, whether it names all of those.
    pub(crate) knows_arguments: Vec<bool>,
    /// The arguments that have values to be judged.
    pub(crate) slots: Vec<Slot>,
    /// For each policy, the roles that the call has.
    pub(crate) roles: Vec<Vec<Role>>,
}

impl Variant {
    /// Returns whether the same is judged, whichever arguments choose it.
    fn is_like(&self, other: &Self) -> bool {
        self.knows_arguments == other.knows_arguments
            && self.slots == other.slots
            && self.roles == other.roles
    }
}

/// An argument with values to be judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) place: Pointer,
    /// For each policy, the roles of the values; `None` if it does not know the argument.
    pub(crate) roles: Vec<Option<Vec<Role>>>,
    pub(crate) presence: Presence,
    pub(crate) shape: Shape,
}

/// Whether an argument is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Presence {
    /// It may be.
    May,
    /// Always, in this variant.
    Must,
    /// Never, in this variant.
    Never,
}

/// How values are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// One text.
    One,
    /// A list of texts.
    Many,
    /// Either; the schema does not say.
    Any,
}

/// A choice for one argument that conditions ask about.
#[derive(Clone, Debug)]
enum Chosen {
    Absent,
    /// One that a condition names.
    Value(Json),
    /// One that stands for all others.
    Other(Json),
    /// Some value that is judged.
    Judged,
}

/// Returns the variants of a tool, given how each policy annotates it.
pub(crate) fn variants(annotations: &[Option<&Annotation>]) -> Result<Vec<Variant>, TooComplex> {
    let choices = choices(annotations);
    let n_variants = choices.iter().fold(1_usize, |n, (_, it)| n.saturating_mul(it.len()));
    if VARIANTS_MAX < n_variants {
        return Err(TooComplex::variants());
    }
    let mut variants: Vec<Variant> = Vec::new();
    for number in 0..n_variants {
        let mut left = number;
        let mut chosen = Vec::new();
        for (name, options) in &choices {
            chosen.extend(options.get(left % options.len()).map(|it| (name.as_str(), it)));
            left /= options.len();
        }
        let variant = variant(annotations, &chosen);
        if !variants.iter().any(|known| known.is_like(&variant)) {
            variants.push(variant);
        }
    }
    Ok(variants)
}

/// Returns the arguments that conditions ask about, each with a value for every answer.
fn choices(annotations: &[Option<&Annotation>]) -> Vec<(String, Vec<Chosen>)> {
    let mut named: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for argument in annotations.iter().flatten().flat_map(|it| it.arguments()) {
        for (name, values) in argument.conditions() {
            named.entry(name.to_owned()).or_default().extend(values.iter().cloned());
        }
    }
    let of = |(name, values): (String, Vec<Json>)| {
        let is_judged = annotations.iter().flatten().flat_map(|it| it.arguments()).any(|it| {
            it.place().argument() == name && it.possible_roles().any(|role| role != Role::None)
        });
        let mut options = vec![Chosen::Absent];
        if is_judged {
            options.push(Chosen::Judged);
        } else {
            let (truthy, falsy) = others(annotations, &name, values.len());
            let is_new = |it: &Json| !values.contains(it);
            let others =
                truthy.into_iter().find(is_new).into_iter().chain(falsy.into_iter().find(is_new));
            let others: Vec<Json> = others.collect();
            options.extend(values.into_iter().map(Chosen::Value));
            options.extend(others.into_iter().map(Chosen::Other));
        }
        (name, options)
    };
    named.into_iter().map(of).collect()
}

/// Returns values that no condition may name, such as the schema wants first: some that count as true, and
/// some that do not.
fn others(
    annotations: &[Option<&Annotation>],
    name: &str,
    n_named: usize,
) -> (Vec<Json>, Vec<Json>) {
    let properties = || annotations.iter().flatten().filter_map(|it| property(it, name));
    let listed = properties().filter_map(|it| match member(it, "enum") {
        Some(Json::Array(items)) => Some(items.clone()),
        _ => None,
    });
    let is_text =
        properties().any(|it| member(it, "type").and_then(Json::as_str) == Some("string"));
    // One of them is not named.
    let numbered = || (1..=n_named + 1).map(|n| Json::from(format!("other-{n}")));
    let (yes, no) = (Json::from(true), [Json::from(false), Json::from(""), Json::from(0_u64)]);
    let of_schema = listed.flatten().filter(|it| it.as_str().is_some_and(|it| !it.is_empty()));
    let mut truthy: Vec<Json> = of_schema.collect();
    match is_text {
        true => truthy.extend(numbered().chain([yes])),
        false => truthy.extend([yes].into_iter().chain(numbered())),
    }
    let mut falsy = no.to_vec();
    falsy.sort_by_key(|it| it.as_str().is_some() != is_text);
    (truthy, falsy)
}

fn property<'j>(annotation: &'j Annotation, name: &str) -> Option<&'j Json> {
    member(member(annotation.input_schema()?, "properties")?, name)
}

fn variant(annotations: &[Option<&Annotation>], chosen: &[(&str, &Chosen)]) -> Variant {
    let (mut arguments, mut asked) = (Object::new(), Object::new());
    for (name, choice) in chosen {
        match choice {
            Chosen::Absent => {}
            Chosen::Value(value) | Chosen::Other(value) => {
                arguments.insert(*name, value.clone());
                asked.insert(*name, value.clone());
            }
            Chosen::Judged => asked.insert(*name, ANYTHING),
        }
    }
    let knows = |it: Option<&Annotation>| {
        it.is_some_and(|annotation| arguments.keys().all(|name| annotation.names(name)))
    };
    let all_roles = |it: Option<&Annotation>| {
        let mut roles = Vec::new();
        for argument in it.iter().flat_map(|it| it.arguments()) {
            for role in argument.roles(&asked) {
                if !roles.contains(role) {
                    roles.push(*role);
                }
            }
        }
        roles
    };
    Variant {
        knows_arguments: annotations.iter().copied().map(knows).collect(),
        slots: slots(annotations, chosen, &asked),
        roles: annotations.iter().copied().map(all_roles).collect(),
        condition: condition(chosen),
        arguments,
    }
}

/// Says which arguments choose a variant; `None` if none is needed.
fn condition(chosen: &[(&str, &Chosen)]) -> Option<String> {
    let text = |(name, choice): &(&str, &Chosen)| match choice {
        Chosen::Absent | Chosen::Judged => None,
        Chosen::Value(value) => Some(format!("{name}={value}")),
        Chosen::Other(_) => Some(format!("certain values of {name}")),
    };
    let all: Vec<String> = chosen.iter().filter_map(text).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

fn slots(
    annotations: &[Option<&Annotation>],
    chosen: &[(&str, &Chosen)],
    asked: &Object,
) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for argument in annotations.iter().flatten().flat_map(|it| it.arguments()) {
        let place = argument.place();
        let is_chosen = chosen.iter().any(|(name, it)| {
            *name == place.argument() && matches!(it, Chosen::Value(_) | Chosen::Other(_))
        });
        if is_chosen || slots.iter().any(|slot| slot.place == *place) {
            continue;
        }
        let roles: Vec<Option<Vec<Role>>> =
            annotations.iter().map(|it| roles_at(*it, place, asked)).collect();
        let is_judged = roles.iter().flatten().any(|roles| !roles.is_empty());
        let known = annotations.iter().flatten().filter(|it| it.names(place.argument())).count();
        let is_known_to_all = known == annotations.iter().flatten().count();
        if !is_judged && is_known_to_all {
            continue;
        }
        let choice = chosen.iter().find(|(name, _)| *name == place.argument());
        let presence = match choice {
            Some((_, Chosen::Absent)) => Presence::Never,
            Some((_, Chosen::Judged)) => Presence::Must,
            Some((_, Chosen::Value(_) | Chosen::Other(_))) | None => Presence::May,
        };
        let shape = shape(annotations, argument);
        slots.push(Slot { place: place.clone(), roles, presence, shape });
    }
    slots
}

/// Returns the roles of what is at `place`, without `none`; `None` if the annotation does not know it.
fn roles_at(annotation: Option<&Annotation>, place: &Pointer, asked: &Object) -> Option<Vec<Role>> {
    let annotation = annotation?;
    let found = annotation.arguments().iter().find(|it| it.place() == place);
    let roles = found.map(|it| it.roles(asked)).unwrap_or_default();
    let bearing = roles.iter().copied().filter(|role| *role != Role::None).collect();
    annotation.names(place.argument()).then_some(bearing)
}

/// Returns how the schema wants the values at the place of `argument`.
fn shape(annotations: &[Option<&Annotation>], argument: &ArgumentAnnotation) -> Shape {
    let place = argument.place();
    if place.as_str() != place.argument() {
        return Shape::One;
    }
    let properties = annotations.iter().flatten().filter_map(|it| property(it, place.argument()));
    let mut kinds = properties.filter_map(|it| member(it, "type")?.as_str());
    match kinds.next() {
        Some("string") => Shape::One,
        Some("array") => Shape::Many,
        Some(_) | None => Shape::Any,
    }
}

fn member<'j>(json: &'j Json, key: &str) -> Option<&'j Json> {
    match json {
        Json::Object(object) => object.get(key),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

/// Returns whether an argument could hold any text, as far as its schema says.
pub(crate) fn may_hold_text(annotation: &Annotation, argument: &ArgumentAnnotation) -> bool {
    let property = property(annotation, argument.place().argument());
    let is_closed = property.is_some_and(|it| member(it, "enum").is_some());
    let kind = property.and_then(|it| member(it, "type")?.as_str());
    !is_closed && !matches!(kind, Some("boolean" | "integer" | "number" | "null"))
}

/// Writes `texts` at `place` of the arguments.
pub(crate) fn write(arguments: &mut Object, place: &Pointer, texts: &[&str], shape: Shape) {
    let value = match (texts, shape) {
        ([text], Shape::One | Shape::Any) => Json::from(*text),
        _ => Json::Array(texts.iter().map(|text| Json::from(*text)).collect()),
    };
    if place.as_str() == place.argument() {
        arguments.insert(place.argument(), value);
        return;
    }
    // `/edits/*/path`: nested in what is there; several values are several items of the first list.
    let steps: Vec<&str> = place.as_str().split('/').skip(2).collect();
    let has_list = steps.contains(&"*");
    let items = match value {
        Json::Array(items) if has_list => items,
        value => vec![value],
    };
    let mut whole: Option<Json> = None;
    for item in items {
        let nested = steps.iter().rev().fold(item, |inner, step| match *step {
            "*" => Json::Array(vec![inner]),
            key => {
                let mut object = Object::new();
                object.insert(key.replace("~1", "/").replace("~0", "~"), inner);
                Json::Object(object)
            }
        });
        whole = Some(match whole {
            Some(known) => joined(known, nested),
            None => nested,
        });
    }
    let nested = whole.unwrap_or(Json::Null);
    let known = arguments.remove(place.argument());
    arguments.insert(
        place.argument(),
        match known {
            Some(known) => overlaid(known, nested),
            None => nested,
        },
    );
}

/// Puts the items of lists behind each other.
fn joined(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Array(mut items), Json::Array(more)) => {
            items.extend(more);
            Json::Array(items)
        }
        (Json::Object(mut one), Json::Object(other)) => {
            for (key, value) in other.into_entries() {
                let merged = match one.remove(&key) {
                    Some(known) => joined(known, value),
                    None => value,
                };
                one.insert(key, merged);
            }
            Json::Object(one)
        }
        (_, other) => other,
    }
}

/// Puts what two pointers lead to into the same items.
fn overlaid(one: Json, other: Json) -> Json {
    match (one, other) {
        (Json::Array(items), Json::Array(more)) => {
            let (n_items, n_more) = (items.len(), more.len());
            let mut left = items.into_iter();
            let mut right = more.into_iter();
            let mut all = Vec::new();
            for _ in 0..n_items.max(n_more) {
                all.extend(match (left.next(), right.next()) {
                    (Some(one), Some(other)) => Some(overlaid(one, other)),
                    (one, other) => one.or(other),
                });
            }
            Json::Array(all)
        }
        (Json::Object(mut one), Json::Object(other)) => {
            for (key, value) in other.into_entries() {
                let merged = match one.remove(&key) {
                    Some(known) => overlaid(known, value),
                    None => value,
                };
                one.insert(key, merged);
            }
            Json::Object(one)
        }
        (_, other) => other,
    }
}
