//! The keywords about arrays, in the words of all drafts.
//!
//! Does not read the schemas of the items; it finds them.

use ic_types::Json;

use super::Compiler;
use super::keywords::{Keywords, SCHEMA};
use crate::fault::FaultReason;
use crate::rules::{ArrayRules, Contains, NodeId};

impl<'a> Compiler<'a> {
    pub(super) fn array_rules(
        &mut self,
        keywords: Keywords<'a>,
    ) -> Result<Option<Box<ArrayRules>>, FaultReason> {
        let (prefix, rest) = self.items(keywords)?;
        let times = keywords.span("minContains", "maxContains", 1)?;
        let contains = self.child_under(keywords, "contains")?;
        let rules = ArrayRules {
            size: keywords.span("minItems", "maxItems", 0)?,
            prefix,
            rest,
            contains: contains.map(|node| Contains { node, times }),
            is_unique: keywords.flag("uniqueItems")?,
        };
        let is_free = rules.size.is_any()
            && rules.prefix.is_empty()
            && rules.rest.is_none()
            && rules.contains.is_none()
            && !rules.is_unique;
        Ok((!is_free).then(|| Box::new(rules)))
    }

    /// Reads the first items and the rest, in the new words or in the old ones.
    fn items(
        &mut self,
        keywords: Keywords<'a>,
    ) -> Result<(Vec<NodeId>, Option<NodeId>), FaultReason> {
        match keywords.get("items") {
            // Until draft 2019-09 an array in `items` was what `prefixItems` is now.
            Some(Json::Array(items)) if keywords.get("prefixItems").is_none() => {
                let prefix = self.children("items", items)?;
                Ok((prefix, self.child_under(keywords, "additionalItems")?))
            }
            Some(Json::Array(_)) => Err(FaultReason::wrong("items", SCHEMA)),
            Some(_) | None => {
                let prefix = self.children("prefixItems", keywords.items("prefixItems")?)?;
                Ok((prefix, self.child_under(keywords, "items")?))
            }
        }
    }
}
