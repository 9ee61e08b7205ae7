//! The limits on the document that a schema is: values, depth, bytes.
//!
//! Looks at everything once, before anything else does; what the values mean does not matter here.

use ic_types::Json;

use crate::fault::FaultReason;

/// How many values a schema may hold, everything counted.
const N_VALUES_MAX: usize = 20_000;
/// How deep they may nest.
const DEPTH_MAX: usize = 64;
/// How long all texts, keys and numbers may be together.
const BYTES_MAX: usize = 4 << 20;

/// Finds out whether `schema` is within the limits.
pub(super) fn check(schema: &Json) -> Result<(), FaultReason> {
    let mut left = Left { n_values: N_VALUES_MAX, n_bytes: BYTES_MAX };
    left.take(schema, DEPTH_MAX)
}

struct Left {
    n_values: usize,
    n_bytes: usize,
}

impl Left {
    fn take(&mut self, json: &Json, depth_left: usize) -> Result<(), FaultReason> {
        let too_many = FaultReason::TooManyValues(N_VALUES_MAX);
        self.n_values = self.n_values.checked_sub(1).ok_or(too_many)?;
        let deeper = || depth_left.checked_sub(1).ok_or(FaultReason::TooDeep(DEPTH_MAX));
        match json {
            Json::Null | Json::Bool(_) => Ok(()),
            Json::Number(number) => self.take_text(number.as_str()),
            Json::String(text) => self.take_text(text),
            Json::Array(items) => {
                let depth_left = deeper()?;
                items.iter().try_for_each(|item| self.take(item, depth_left))
            }
            Json::Object(object) => {
                let depth_left = deeper()?;
                object.iter().try_for_each(|(key, value)| {
                    self.take_text(key)?;
                    self.take(value, depth_left)
                })
            }
        }
    }

    fn take_text(&mut self, text: &str) -> Result<(), FaultReason> {
        let left = self.n_bytes.checked_sub(text.len());
        self.n_bytes = left.ok_or(FaultReason::TooLong(BYTES_MAX))?;
        Ok(())
    }
}
