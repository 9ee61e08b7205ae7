//! Calls that wait for a worker: handed out in order, bounded in number and in bytes.
//!
//! Starts no threads itself; it says when another one would help.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A queue between one reader and several workers.
#[derive(Debug)]
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    /// Something waits for a worker, or nothing will any more.
    work: Condvar,
    /// A job is over.
    room: Condvar,
    limits: Limits,
}

/// The most that may be under way at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Threads that work.
    pub(super) workers: usize,
    /// Jobs that wait or are worked on.
    pub(super) jobs: usize,
    /// Bytes of those jobs; a single job may have more.
    pub(super) bytes: usize,
}

/// Whether there are enough workers for what waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workers {
    /// There are.
    Enough,
    /// One more is to be started; it is counted already.
    OneMore,
}

#[derive(Debug)]
struct State<J> {
    waiting: VecDeque<J>,
    n_jobs: usize,
    n_bytes: usize,
    n_workers: usize,
    n_idle: usize,
    is_closed: bool,
}

impl<J> Queue<J> {
    pub(super) fn new(limits: Limits) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            n_jobs: 0,
            n_bytes: 0,
            n_workers: 0,
            n_idle: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new(), limits }
    }

    /// Puts a job in, once there is room for it.
    pub(super) fn push(&self, job: J, n_bytes: usize) -> Workers {
        let is_full = |state: &mut State<J>| {
            let has_room = state.n_bytes.saturating_add(n_bytes) <= self.limits.bytes;
            0 < state.n_jobs && (self.limits.jobs <= state.n_jobs || !has_room)
        };
        let waited = self.room.wait_while(self.lock(), is_full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.n_jobs += 1;
        state.n_bytes = state.n_bytes.saturating_add(n_bytes);
        state.waiting.push_back(job);
        let workers = match state.n_idle < state.waiting.len() {
            true if state.n_workers < self.limits.workers => {
                state.n_workers += 1;
                Workers::OneMore
            }
            true | false => Workers::Enough,
        };
        drop(state);
        self.work.notify_one();
        workers
    }

    /// Takes the next job, once there is one; `None` if there will be none.
    pub(super) fn next(&self) -> Option<J> {
        let mut state = self.lock();
        state.n_idle += 1;
        let is_idle = |state: &mut State<J>| state.waiting.is_empty() && !state.is_closed;
        let waited = self.work.wait_while(state, is_idle);
        state = waited.unwrap_or_else(PoisonError::into_inner);
        state.n_idle -= 1;
        state.waiting.pop_front()
    }

    /// Says that a job is over, which makes room.
    pub(super) fn done(&self, n_bytes: usize) {
        let mut state = self.lock();
        state.n_jobs = state.n_jobs.saturating_sub(1);
        state.n_bytes = state.n_bytes.saturating_sub(n_bytes);
        drop(state);
        self.room.notify_one();
    }

    /// Says that a worker could not be started, and takes a job back if there is no other.
    pub(super) fn no_worker(&self) -> Option<J> {
        let mut state = self.lock();
        state.n_workers = state.n_workers.saturating_sub(1);
        if 0 < state.n_workers { None } else { state.waiting.pop_front() }
    }

    /// Says that nothing more comes.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.work.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // Nothing in here can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { workers: 2, jobs: 3, bytes: 10 };

    #[test]
    fn workers_are_asked_for_until_there_are_enough() {
        let queue = Queue::new(LIMITS);
        assert_eq!(queue.push('a', 1), Workers::OneMore);
        assert_eq!(queue.push('b', 1), Workers::OneMore);
        assert_eq!(queue.push('c', 1), Workers::Enough);
        queue.close();
        assert_eq!([queue.next(), queue.next(), queue.next()], [Some('a'), Some('b'), Some('c')]);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn without_any_worker_the_job_comes_back() {
        let queue = Queue::new(LIMITS);
        assert_eq!(queue.push('a', 1), Workers::OneMore);
        assert_eq!(queue.push('b', 1), Workers::OneMore);
        assert_eq!(queue.no_worker(), None, "there is another one");
        assert_eq!(queue.no_worker(), Some('a'));
    }

    #[test]
    fn a_full_queue_waits_for_room_and_one_big_job_always_fits() {
        let queue = Queue::new(LIMITS);
        queue.push('a', 100);
        std::thread::scope(|scope| {
            let pushed = scope.spawn(|| queue.push('b', 1));
            assert_eq!(queue.next(), Some('a'));
            queue.done(100);
            pushed.join().unwrap();
        });
        assert_eq!(queue.next(), Some('b'));
    }
}
