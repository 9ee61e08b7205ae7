//! What a check may cost.
//!
//! Counts; what to do when nothing is left is the check's business, and the check says no.

use ic_types::Number;

/// The steps and the depth that are left.
#[derive(Debug)]
pub(crate) struct Fuel {
    n_steps_left: u64,
    depth_left: u32,
}

/// There was not enough left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Exhausted;

impl Fuel {
    /// One step is one schema asked about one value, or about as much work.
    const N_STEPS_MAX: u64 = 1_000_000;
    /// How many schemas may be asked within each other; a document of 64 levels gets four for each.
    const DEPTH_MAX: u32 = 256;
    /// How many bytes of a text are looked at in one step.
    const STEP_BYTES: usize = 64;
    /// How many digits of a number are, for they are looked at one by one.
    const STEP_DIGITS: usize = 16;

    /// Returns what one check may cost.
    pub(crate) const fn full() -> Self {
        Self { n_steps_left: Self::N_STEPS_MAX, depth_left: Self::DEPTH_MAX }
    }

    /// Takes `n_steps`.
    pub(crate) const fn spend(&mut self, n_steps: u64) -> Result<(), Exhausted> {
        match self.n_steps_left.checked_sub(n_steps) {
            Some(left) => {
                self.n_steps_left = left;
                Ok(())
            }
            None => Err(Exhausted),
        }
    }

    /// Takes what it costs to read `text` from end to end.
    pub(crate) const fn spend_on(&mut self, text: &str) -> Result<(), Exhausted> {
        self.spend((text.len() / Self::STEP_BYTES) as u64)
    }

    /// Takes what it costs to read `number`, or to compare it.
    pub(crate) fn spend_on_number(&mut self, number: &Number) -> Result<(), Exhausted> {
        self.spend((number.as_str().len() / Self::STEP_DIGITS) as u64)
    }

    /// Goes one level deeper.
    pub(crate) const fn descend(&mut self) -> Result<(), Exhausted> {
        match self.depth_left.checked_sub(1) {
            Some(left) => {
                self.depth_left = left;
                Ok(())
            }
            None => Err(Exhausted),
        }
    }

    /// Comes back from where [`Self::descend`] went.
    pub(crate) const fn ascend(&mut self) {
        self.depth_left += 1;
    }
}
