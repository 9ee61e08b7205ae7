//! Tests of filters, by walking through them as the kernel does.

use proptest::prelude::*;

use super::*;

/// A call as a filter sees it.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Call {
    pub(in super::super) number: u32,
    pub(in super::super) machine: u32,
    pub(in super::super) arguments: [u32; 6],
}

impl Call {
    pub(in super::super) fn new(number: c_long, arguments: [u32; 6]) -> Self {
        Self { number: number.try_into().unwrap(), machine: MACHINE, arguments }
    }

    fn word(&self, at: u32) -> u32 {
        match at {
            NUMBER_AT => self.number,
            MACHINE_AT => self.machine,
            at => {
                assert_eq!((at - ARGUMENTS_AT) % 8, 0, "the lower half of an argument");
                self.arguments[usize::try_from((at - ARGUMENTS_AT) / 8).unwrap()]
            }
        }
    }
}

/// Walks through a filter, and returns what it returns and in how many steps.
pub(in super::super) fn run(filter: &[sock_filter], call: Call) -> (u32, usize) {
    let (mut at, mut word) = (0, 0);
    let mut n_steps = 0;
    loop {
        n_steps += 1;
        let sock_filter { code, jt, jf, k } = filter[at];
        at += 1;
        match code {
            LOAD => word = call.word(k),
            AND => word &= k,
            JUMP => at += usize::try_from(k).unwrap(),
            JUMP_IF_EQUAL => at += usize::from(if word == k { jt } else { jf }),
            JUMP_UNLESS_LESS => at += usize::from(if k <= word { jt } else { jf }),
            RETURN => return (k, n_steps),
            _ => panic!("{code:#x}"),
        }
    }
}

/// Says what becomes of a call by what was said, one after the other.
fn plainly(filter: &Filter, call: Call) -> u32 {
    let treatment = filter.calls.get(&call.number).unwrap_or(&filter.others);
    let holds = |(argument, is): &(u8, Is)| {
        let word = call.arguments[usize::from(*argument)];
        match *is {
            Is::Equal(value) => word == value,
            Is::Unequal(value) => word != value,
            Is::Masked { mask, value } => word & mask == value,
        }
    };
    let refusal = treatment.refusals.iter().find(|it| it.conditions.iter().all(holds));
    returned(refusal.map_or(treatment.otherwise, |it| Verdict::Refuse(it.error)))
}

#[test]
fn whoever_speaks_for_another_machine_ends() {
    let filter = Filter::new(Verdict::Allow).build().unwrap();
    let call = Call::new(1, [0; 6]);
    assert_eq!(run(&filter, call).0, ALLOW);
    for machine in [0, 0x4000_0003, MACHINE ^ 1] {
        assert_eq!(run(&filter, Call { machine, ..call }).0, KILL_PROCESS);
    }
}

#[test]
fn a_long_way_is_jumped_over() {
    let mut filter = Filter::new(Verdict::Refuse(1));
    for call in 0..900 {
        let verdict = if call % 2 == 0 { Verdict::Allow } else { Verdict::Refuse(2) };
        filter.set(call, verdict).unwrap();
    }
    let built = filter.build().unwrap();
    for number in (0..1000).chain([u32::MAX, 1 << 30, (1 << 30) + 2]) {
        let call = Call { number, machine: MACHINE, arguments: [0; 6] };
        let (returned, n_steps) = run(&built, call);
        assert_eq!(returned, plainly(&filter, call), "{number}");
        assert!(n_steps < 32, "{number}: {n_steps}");
    }
}

fn is() -> impl Strategy<Value = Is> {
    prop_oneof![
        (0..5_u32).prop_map(Is::Equal),
        (0..5_u32).prop_map(Is::Unequal),
        (0..8_u32, 0..8_u32).prop_map(|(mask, value)| Is::Masked { mask, value: value & mask }),
    ]
}

fn said() -> impl Strategy<Value = (c_long, Option<Vec<(u8, Is)>>, c_int)> {
    let conditions = proptest::collection::vec((0..6_u8, is()), 0..4);
    (0..40 as c_long, proptest::option::of(conditions), 0..3)
}

proptest! {
    /// Whatever is said of calls, the kernel comes to the same verdict as whoever reads what was said.
    #[test]
    fn what_is_built_is_what_was_said(
        all in proptest::collection::vec(said(), 0..60),
        calls in proptest::collection::vec((0..45_u32, proptest::array::uniform6(0..6_u32)), 50),
    ) {
        let mut filter = Filter::new(Verdict::Refuse(9));
        for (call, conditions, error) in all {
            match (conditions, error) {
                (Some(conditions), error) => filter.refuse(call, &conditions, error).unwrap(),
                (None, 0) => filter.set(call, Verdict::Allow).unwrap(),
                (None, error) => filter.set(call, Verdict::Refuse(error)).unwrap(),
            }
        }
        let built = filter.build().unwrap();
        for (number, arguments) in calls {
            let call = Call { number, machine: MACHINE, arguments };
            prop_assert_eq!(run(&built, call).0, plainly(&filter, call), "{:?}", call);
        }
    }
}
