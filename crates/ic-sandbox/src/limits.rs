//! What a run may cost.
//!
//! A worker keeps to these by itself, with an error in the script; the host holds it to somewhat more,
//! and kills it. The fixed ones here are for what no script sees.

use std::time::Duration;

use ic_types::JsonLimits;

/// What a run may cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How long a run may take, without the time in which a person is asked.
    pub time: Duration,
    /// Bytes of the script's own memory.
    pub heap_bytes_max: usize,
    /// Bytes of what it printed that are kept, and of what it returned: half of the beginning, half of
    /// the end.
    pub output_bytes_max: usize,
    /// Calls of one run.
    pub calls_max: u64,
}

impl Limits {
    /// What a script gets if nobody says otherwise.
    pub const DEFAULT: Self = Self {
        time: Duration::from_mins(2),
        heap_bytes_max: 128 << 20,
        output_bytes_max: 64 << 10,
        calls_max: 10_000,
    };

    /// Returns how many seconds of a processor a worker may use; the host ends it long before.
    pub(crate) fn cpu_seconds(&self) -> u64 {
        self.time.as_secs().saturating_add(30)
    }
}

/// The longest frame in bytes, either way: arguments or a result, and what stands around them.
pub(crate) const FRAME_BYTES_MAX: usize = JsonLimits::CALL.bytes_max + (64 << 10);
/// The longest frame that starts a run: the script and the catalogue.
pub(crate) const RUN_BYTES_MAX: usize = 64 << 20;
/// What a frame from a worker may hold.
pub(crate) const FRAME: JsonLimits =
    JsonLimits { bytes_max: FRAME_BYTES_MAX, depth_max: 66, values_max: 200_016 };
/// What a frame to a worker may hold; the host wrote it.
pub(crate) const TO_WORKER: JsonLimits =
    JsonLimits { bytes_max: RUN_BYTES_MAX, depth_max: 128, values_max: 8 << 20 };
/// Bytes of all frames of a worker.
pub(crate) const TOTAL_BYTES_MAX: u64 = 1 << 30;
/// Bytes that a worker sends of what a script prints; of what comes after it keeps the end.
pub(crate) const PRINT_BYTES_MAX: usize = 4 << 20;
/// Prints that a worker sends at once; later ones wait until there is a heap of them.
pub(crate) const PROMPT_PRINTS_MAX: u64 = 1000;
/// How large that heap is, and how much a worker keeps of the end.
pub(crate) const PRINT_HEAP_BYTES: usize = 32 << 10;
/// Frames of a worker that are no calls.
pub(crate) const OTHER_FRAMES_MAX: u64 = 4096;
/// The longest script's arguments in bytes, together.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 1 << 20;
