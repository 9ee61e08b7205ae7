//! The size of one process over its life: memory, descriptors and threads must not grow with the calls.
//!
//! Reads nothing of the machine; what was measured at each rest, when no client is there, is handed in.

use anyhow::{Context as _, ensure};

/// How much memory may seem to grow: pages that an allocator keeps or gives back, whatever was called.
const NOISE: i128 = 4 << 20;
/// How much it may grow for each call; the smallest thing that can be left behind is larger.
const PER_CALL: i128 = 1;

/// What a process takes up at a rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) memory_kib: u64,
    pub(super) n_descriptors: usize,
    pub(super) n_threads: usize,
}

/// A process from its start to its end.
#[derive(Debug, Default)]
pub(super) struct Life {
    n_rests: u64,
    /// The size at the first rest that counts, and the memory at each from then on with the number of
    /// calls that had been made.
    settled: Option<(Size, Vec<(u64, u64)>)>,
}

/// How memory went since a process had settled: a line through what was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    /// How many calls were made meanwhile.
    pub(super) n_calls: u64,
    /// How much the line rises with all of them, in bytes.
    rise: i128,
}

impl Life {
    /// Returns what the process had when it had settled.
    pub(super) fn settled(&self) -> Option<Size> {
        self.settled.as_ref().map(|(size, _)| *size)
    }

    /// Notes the size at a rest after `n_calls` calls; the process has settled at rest number `settles_at`.
    pub(super) fn rest(&mut self, n_calls: u64, size: Size, settles_at: u64) {
        self.n_rests += 1;
        if let Some((_, samples)) = &mut self.settled {
            samples.push((n_calls, size.memory_kib));
        } else if settles_at <= self.n_rests {
            self.settled = Some((size, vec![(n_calls, size.memory_kib)]));
        }
    }

    /// Checks that memory did not grow; a life that was too short to say so is an error too.
    pub(super) fn check(&self) -> anyhow::Result<Growth> {
        let (_, samples) = self.settled.as_ref().context("a process never settled")?;
        let growth = Growth::of(samples).context("a process had no rest after it had settled")?;
        let allowed = NOISE.max(i128::from(growth.n_calls) * PER_CALL);
        ensure!(
            growth.rise <= allowed,
            "memory grows: {growth}; at the rests {samples:?} (calls, KiB)"
        );
        Ok(growth)
    }
}

impl Growth {
    /// Lays the line of least squares through samples of calls and KiB.
    fn of(samples: &[(u64, u64)]) -> Option<Self> {
        let ((first, _), (last, _)) = (samples.first()?, samples.last()?);
        let n_calls = last.checked_sub(*first)?;
        let n = i128::try_from(samples.len()).ok()?;
        let (mut x_sum, mut y_sum, mut xx_sum, mut xy_sum) = (0, 0, 0, 0);
        for (n_calls, kib) in samples {
            let (x, y) = (i128::from(n_calls - first), i128::from(*kib) * 1024);
            (x_sum, y_sum) = (x_sum + x, y_sum + y);
            (xx_sum, xy_sum) = (xx_sum + x * x, xy_sum + x * y);
        }
        let (above, below) = (n * xy_sum - x_sum * y_sum, n * xx_sum - x_sum * x_sum);
        let rise = (above * i128::from(n_calls)).checked_div(below)?;
        Some(Self { n_calls, rise })
    }

    /// Returns the one that rises more.
    pub(super) fn steeper(self, other: Self) -> Self {
        if other.n_calls == 0 || (self.n_calls != 0 && other.rise < self.rise) {
            self
        } else {
            other
        }
    }
}

impl std::fmt::Display for Growth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thousandths = self.rise * 1000 / i128::from(self.n_calls.max(1));
        let sign = if thousandths < 0 { "-" } else { "" };
        let (whole, rest) = (thousandths.abs() / 1000, thousandths.abs() % 1000);
        let (kib, n_calls) = (self.rise / 1024, self.n_calls);
        write!(f, "{kib} KiB in {n_calls} calls, {sign}{whole}.{rest:03} B each")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A life whose memory is `kib` at one rest after another, each after `n_calls` more calls.
    fn life(n_calls: u64, kib: &[u64]) -> anyhow::Result<Growth> {
        let mut life = Life::default();
        for (n_rests, kib) in (1..).zip(kib) {
            let size = Size { memory_kib: *kib, n_descriptors: 9, n_threads: 4 };
            life.rest(n_rests * n_calls, size, 2);
        }
        life.check()
    }

    #[test]
    fn memory_that_goes_up_and_down_is_let_through() {
        let growth = life(100_000, &[1_000, 18_000, 19_900, 18_100, 19_800, 18_000]).unwrap();
        assert_eq!(growth.n_calls, 400_000);
        assert!(
            life(100_000, &[9_000, 18_000, 18_001]).unwrap().to_string().contains("0.010 B each")
        );
    }

    #[test]
    fn a_few_bytes_for_each_call_are_found_in_a_long_life() {
        // Eight bytes a call, among noise.
        let kib: Vec<u64> = (0..16).map(|n| 18_000 + n * 1_250 + n % 2 * 900).collect();
        let complaint = life(160_000, &kib).unwrap_err().to_string();
        assert!(complaint.contains("B each"), "{complaint}");
        assert!(life(160_000, &[18_000; 16]).is_ok());
    }

    #[test]
    fn a_short_life_may_not_grow_by_megabytes_either() {
        assert!(life(100, &[1, 18_000, 22_200]).is_err());
    }

    #[test]
    fn a_life_without_a_rest_after_it_had_settled_proves_nothing() {
        assert!(life(100, &[]).is_err());
        assert!(life(100, &[18_000]).is_err());
        assert!(life(100, &[18_000, 18_000]).is_err());
        assert!(life(100, &[18_000, 18_000, 18_000]).is_ok());
    }
}
