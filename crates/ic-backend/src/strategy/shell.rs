//! Our shell server: every command runs in the one cage that it has, and nowhere else.

use super::{Case, Strategy, unseen};
use crate::backend::NoPlan;
use crate::one_shot::OneShot;

/// How commands are served.
pub(super) struct Commands;

impl Strategy for Commands {
    fn changes_files(&self, _tool: &str) -> bool {
        true
    }

    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan> {
        match case.lacking {
            None => Ok(None),
            Some(lacking) => Err(unseen(format!(
                "commands run in the sandbox or workspace only, and `{}` is not a directory there that \
                 they may change",
                lacking.path
            ))),
        }
    }
}
