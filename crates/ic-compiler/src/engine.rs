//! The port to the engine that judges calls: sentences and calls in, decisions out.

use ic_constitution::{Constitution, Faults};

use crate::cases::Case;

/// Compiles sentences by code, and judges calls by what they become.
pub trait Engine {
    /// Judges `cases` by a policy of these sentences, in their order.
    fn judge(
        &mut self,
        constitution: &Constitution,
        cases: &[Case],
    ) -> Result<Vec<Finding>, EngineFault>;
}

/// How one call came out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Whether that is what was expected.
    pub passed: bool,
    /// `allow`, `escalate` or `deny`.
    pub decision: String,
    /// The rule that decided.
    pub by: String,
    /// Whether that is something that holds for every policy.
    pub is_structural: bool,
}

/// Why nothing was judged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EngineFault {
    /// The sentences cannot be compiled together.
    #[error(transparent)]
    Sentences(#[from] Faults),
    /// Something else, which no other sentences would change.
    #[error("{0}")]
    Other(String),
}
