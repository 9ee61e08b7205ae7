//! Our filesystem server: what the one that runs does not hold, one that holds just that serves.

use ic_resolve::RealDisk;

use super::{Case, Strategy, unseen};
use crate::backend::NoPlan;
use crate::one_shot::OneShot;

/// How files are served.
pub(super) struct Files;

impl Strategy for Files {
    fn changes_files(&self, _tool: &str) -> bool {
        true
    }

    fn one_shot(&self, case: &Case<'_>) -> Result<Option<OneShot>, NoPlan> {
        let (call, judge) = (case.permit.call(), case.judge);
        // The server that runs leaves out what rules close; a call that they were asked about sees it.
        if case.lacking.is_none() && !judge.opens_closed(call) {
            return Ok(None);
        }
        let named = case.judged.iter().map(|it| &it.path);
        let mut closed = judge.closed_beneath(call.server(), named);
        closed.retain(|place| !judge.is_opened(call, place));
        let tool = call.tool().as_str();
        let one_shot =
            OneShot::plan(tool, case.judged, &judge.bounds, &RealDisk).map_err(unseen)?;
        Ok(Some(one_shot.leaving_out(closed)))
    }
}
