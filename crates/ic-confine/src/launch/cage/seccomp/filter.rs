//! A filter as the kernel takes it: one search for the number of a call, then a look at its arguments.
//!
//! The kernel compiles a filter for every child, and walks through it for every call that exists, so a
//! short one is a quick start. Which calls are refused is not decided here.

use std::collections::BTreeMap;
use std::os::raw::c_int;

use libc::c_long;
use seccompiler::sock_filter;

/// Where the number of the call, the kind of machine and the arguments stand in what a filter looks at.
const NUMBER_AT: u32 = 0;
const MACHINE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const MACHINE: u32 = 0xc000_00f3;

// The few instructions that it takes, as in the kernel's `linux/filter.h` and `linux/seccomp.h`.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_UNLESS_LESS: u16 = 0x35;
const RETURN: u16 = 0x06;
const KILL_PROCESS: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    Allow,
    /// It fails with this error.
    Refuse(c_int),
}

/// Something that the lower half of an argument is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Is {
    Equal(u32),
    Unequal(u32),
    /// In the bits of the mask, the value.
    Masked {
        mask: u32,
        value: u32,
    },
}

/// A refusal of calls with certain arguments: all of it has to hold.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Refusal {
    conditions: Vec<(u8, Is)>,
    error: c_int,
}

/// What becomes of one call.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Treatment {
    refusals: Vec<Refusal>,
    otherwise: Verdict,
}

/// What becomes of all calls.
#[derive(Debug)]
pub(super) struct Filter {
    calls: BTreeMap<u32, Treatment>,
    others: Treatment,
}

/// A filter that the kernel's instructions cannot express.
#[derive(Debug)]
pub(super) struct Unbuildable;

impl Filter {
    /// Begins with a filter that treats all calls alike.
    pub(super) fn new(others: Verdict) -> Self {
        let others = Treatment { refusals: Vec::new(), otherwise: others };
        Self { calls: BTreeMap::new(), others }
    }

    /// Says what becomes of a call, whatever was said of it before.
    pub(super) fn set(&mut self, call: c_long, otherwise: Verdict) -> Result<(), Unbuildable> {
        *self.treatment(call)? = Treatment { refusals: Vec::new(), otherwise };
        Ok(())
    }

    /// Refuses a call whose arguments are so; what was refused before stays refused.
    pub(super) fn refuse(
        &mut self,
        call: c_long,
        conditions: &[(u8, Is)],
        error: c_int,
    ) -> Result<(), Unbuildable> {
        let refusal = Refusal { conditions: conditions.to_vec(), error };
        self.treatment(call)?.refusals.push(refusal);
        Ok(())
    }

    fn treatment(&mut self, call: c_long) -> Result<&mut Treatment, Unbuildable> {
        let call = u32::try_from(call).map_err(|_| Unbuildable)?;
        Ok(self.calls.entry(call).or_insert_with(|| self.others.clone()))
    }

    /// Returns the instructions.
    ///
    /// SECURITY: numbers mean other calls on another kind of machine, so whoever makes one of those ends.
    pub(super) fn build(&self) -> Result<Vec<sock_filter>, Unbuildable> {
        let mut built = vec![
            instruction(LOAD, MACHINE_AT),
            jump(JUMP_IF_EQUAL, MACHINE, 1, 0)?,
            instruction(RETURN, KILL_PROCESS),
            instruction(LOAD, NUMBER_AT),
        ];
        built.extend(search(&self.ranges())?);
        Ok(built)
    }

    /// Returns the numbers from which on calls are treated in some way, with the way.
    fn ranges(&self) -> Vec<(u32, &Treatment)> {
        let mut ranges: Vec<(u32, &Treatment)> = vec![(0, &self.others)];
        let mut begin = |from: u32, treatment| match ranges.last_mut() {
            Some(last) if last.1 == treatment => {}
            Some(last) if last.0 == from => last.1 = treatment,
            _ => ranges.push((from, treatment)),
        };
        for (call, treatment) in &self.calls {
            begin(*call, treatment);
            if let Some(next) = call.checked_add(1).filter(|next| !self.calls.contains_key(next)) {
                begin(next, &self.others);
            }
        }
        ranges
    }
}

/// Finds the range that the number is in, half by half.
fn search(ranges: &[(u32, &Treatment)]) -> Result<Vec<sock_filter>, Unbuildable> {
    if let [(_, treatment)] = ranges {
        return treat(treatment);
    }
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let Some((from, _)) = upper.first() else { return Err(Unbuildable) };
    let lower = search(lower)?;
    let mut built = if u8::try_from(lower.len()).is_ok() {
        vec![jump(JUMP_UNLESS_LESS, *from, lower.len(), 0)?]
    } else {
        // A jump with a condition does not go that far.
        let over = u32::try_from(lower.len()).map_err(|_| Unbuildable)?;
        vec![jump(JUMP_UNLESS_LESS, *from, 0, 1)?, instruction(JUMP, over)]
    };
    built.extend(lower);
    built.extend(search(upper)?);
    Ok(built)
}

/// Looks at the arguments, and gives the verdict.
fn treat(Treatment { refusals, otherwise }: &Treatment) -> Result<Vec<sock_filter>, Unbuildable> {
    let mut built = Vec::new();
    for Refusal { conditions, error } in refusals {
        let verdict = [instruction(RETURN, returned(Verdict::Refuse(*error)))];
        // From the last condition to the first: each leaves out what follows it if it does not hold.
        let refusal =
            conditions.iter().rev().try_fold(verdict.to_vec(), |then, (argument, is)| {
                let mut looked = vec![instruction(LOAD, ARGUMENTS_AT + 8 * u32::from(*argument))];
                let (value, holds, fails) = match *is {
                    Is::Equal(value) => (value, 0, then.len()),
                    Is::Unequal(value) => (value, then.len(), 0),
                    Is::Masked { mask, value } => {
                        looked.push(instruction(AND, mask));
                        (value, 0, then.len())
                    }
                };
                looked.push(jump(JUMP_IF_EQUAL, value, holds, fails)?);
                looked.extend(then);
                Ok(looked)
            })?;
        built.extend(refusal);
    }
    built.push(instruction(RETURN, returned(*otherwise)));
    Ok(built)
}

fn returned(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::Allow => ALLOW,
        Verdict::Refuse(error) => ERROR | error.cast_unsigned(),
    }
}

fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Leaves out so many instructions if the condition holds, and so many if it does not.
fn jump(code: u16, k: u32, holds: usize, fails: usize) -> Result<sock_filter, Unbuildable> {
    let [jt, jf] =
        [holds, fails].map(|n_left_out| u8::try_from(n_left_out).map_err(|_| Unbuildable));
    Ok(sock_filter { code, jt: jt?, jf: jf?, k })
}

#[cfg(test)]
pub(super) mod tests;
