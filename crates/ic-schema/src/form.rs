//! The form of a value in which equal values are the same text.
//!
//! Equality by sets instead of by comparison: a list of a million items is looked through once. The
//! form is for comparing only; nobody parses it.

use ic_types::Json;

use crate::fuel::{Exhausted, Fuel};
use crate::number::Decimal;
use crate::rules::View;

/// Returns the form of `value`.
pub(crate) fn of(value: View<'_>, fuel: &mut Fuel) -> Result<String, Exhausted> {
    let mut out = String::new();
    write(&mut out, value, fuel)?;
    Ok(out)
}

/// What the form of one value costs; making it takes memory, and asking a node does not.
const N_STEPS: u64 = 5;

fn write(out: &mut String, value: View<'_>, fuel: &mut Fuel) -> Result<(), Exhausted> {
    fuel.spend(N_STEPS)?;
    match value {
        View::Null => out.push('n'),
        View::Bool(true) => out.push('t'),
        View::Bool(false) => out.push('f'),
        View::Number(number) => {
            fuel.spend_on_number(number)?;
            Decimal::of(number).write(out);
        }
        View::Text(text) => write_text(out, text, fuel)?,
        View::Array(items) => {
            out.push('[');
            write_items(out, items, fuel)?;
            out.push(']');
        }
        View::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            fuel.spend(entries.len() as u64)?;
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            fuel.descend()?;
            for (key, value) in entries {
                write_text(out, key, fuel)?;
                write(out, View::of(value), fuel)?;
            }
            fuel.ascend();
            out.push('}');
        }
    }
    // Keeps a number apart from the next one.
    out.push(' ');
    Ok(())
}

fn write_items(out: &mut String, items: &[Json], fuel: &mut Fuel) -> Result<(), Exhausted> {
    fuel.descend()?;
    for item in items {
        write(out, View::of(item), fuel)?;
    }
    fuel.ascend();
    Ok(())
}

/// Writes the length in front, so that no text can look like what follows it.
fn write_text(out: &mut String, text: &str, fuel: &mut Fuel) -> Result<(), Exhausted> {
    fuel.spend_on(text)?;
    out.push('"');
    out.push_str(&text.len().to_string());
    out.push(':');
    out.push_str(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    #[track_caller]
    fn check(left: &str, right: &str, are_same: bool) {
        let form = |text: &str| {
            let value = Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap();
            of(View::of(&value), &mut Fuel::full()).unwrap()
        };
        assert_eq!(form(left) == form(right), are_same, "{left} and {right}");
    }

    #[test]
    fn equal_values_have_one_form() {
        check("[1, 10.0, -0]", "[1.0, 1e1, 0.0]", true);
        check(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#, r#"{"b": {"d": 3, "c": 2}, "a": 1}"#, true);
        check("1e400", "10e399", true);
    }

    #[test]
    fn other_values_have_another_form() {
        for (left, right) in [
            ("9007199254740993", "9007199254740992"),
            ("1", "true"),
            ("0", "false"),
            ("null", "\"n\""),
            ("[1, 2]", "[12]"),
            ("[1, 2]", "[2, 1]"),
            ("[[1], 2]", "[1, [2]]"),
            (r#"["a", "b"]"#, r#"["a\"1:b"]"#),
            (r#"{"a": "b"}"#, r#"["a", "b"]"#),
            ("[]", "{}"),
            ("1", "-1"),
            ("12", "1.2"),
        ] {
            check(left, right, false);
        }
    }
}
