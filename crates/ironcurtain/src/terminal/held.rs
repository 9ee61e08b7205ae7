//! What has to wait while a question stands on the screen: kept in order, up to a limit, and counted beyond.

use std::collections::VecDeque;

/// The most that waits.
const ITEMS_MAX: usize = 2000;

/// Things that wait to be shown.
#[derive(Debug)]
pub(crate) struct Held<T> {
    items: VecDeque<T>,
    n_dropped: usize,
}

impl<T> Held<T> {
    /// Begins with nothing.
    pub(crate) fn new() -> Self {
        Self { items: VecDeque::new(), n_dropped: 0 }
    }

    /// Keeps one; what is too much is counted.
    pub(crate) fn push(&mut self, item: T) {
        match self.items.len() < ITEMS_MAX {
            true => self.items.push_back(item),
            false => self.n_dropped += 1,
        }
    }

    /// Returns whether nothing has waited.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.n_dropped == 0
    }

    /// Takes everything out, with what is to be said of things that were dropped.
    pub(crate) fn take(&mut self) -> (VecDeque<T>, Option<String>) {
        let said = match std::mem::take(&mut self.n_dropped) {
            0 => None,
            n_dropped => Some(format!(
                "{n_dropped} more lines came while you were asked and are not shown here"
            )),
        };
        (std::mem::take(&mut self.items), said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_limited_and_counted() {
        let mut held = Held::new();
        assert!(held.is_empty());
        for item in 0..ITEMS_MAX + 3 {
            held.push(item);
        }
        let (items, said) = held.take();
        assert_eq!((items.len(), items.front(), items.back()), (2000, Some(&0), Some(&1999)));
        assert_eq!(said.unwrap(), "3 more lines came while you were asked and are not shown here");
        assert!(held.is_empty() && held.take().1.is_none());
    }
}
