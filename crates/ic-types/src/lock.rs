//! A lock that outlives whoever panicked while holding it.
//!
//! Only for what is whole at every moment; nothing here knows what a lock guards.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`; what it guards is whole even if somebody panicked while holding it.
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_what_it_guards() {
        let mutex = Mutex::new(1);
        std::thread::scope(|scope| {
            let panicking = scope.spawn(|| {
                let _held = locked(&mutex);
                panic!("while it is held");
            });
            assert!(panicking.join().is_err());
        });
        assert!(mutex.is_poisoned());
        *locked(&mutex) += 1;
        assert_eq!(*locked(&mutex), 2);
    }
}
