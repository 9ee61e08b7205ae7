//! The keywords that ask other schemas about the same value.
//!
//! Does not look for circles among them; see [`super::cycle`].

use super::Compiler;
use super::keywords::Keywords;
use crate::fault::FaultReason;
use crate::rules::{Condition, Logic};

impl<'a> Compiler<'a> {
    pub(super) fn logic(
        &mut self,
        keywords: Keywords<'a>,
    ) -> Result<Option<Box<Logic>>, FaultReason> {
        let mut all = Vec::new();
        if let Some(text) = keywords.text("$ref")? {
            all.push(self.reference(text)?);
        }
        all.extend(self.children("allOf", keywords.items("allOf")?)?);
        let any = self.children("anyOf", keywords.items("anyOf")?)?;
        let one = self.children("oneOf", keywords.items("oneOf")?)?;
        let not = self.child_under(keywords, "not")?;
        let condition = match self.child_under(keywords, "if")? {
            Some(test) => Some(Condition {
                test,
                then: self.child_under(keywords, "then")?,
                otherwise: self.child_under(keywords, "else")?,
            }),
            // Without `if` the other two say nothing.
            None => None,
        };
        let is_free = all.is_empty()
            && any.is_empty()
            && one.is_empty()
            && not.is_none()
            && condition.is_none();
        Ok((!is_free).then(|| Box::new(Logic { all, any, one, not, condition })))
    }
}
