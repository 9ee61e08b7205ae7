//! A value that must not be seen: no printing, no copying, no serialising, wiped when dropped.
//!
//! This module does not decide who may look: `expose` is called in a few modules that the tidy
//! check names.

use std::fmt;

use zeroize::Zeroize;

/// A secret, such as a provider's key.
///
/// It cannot be printed:
///
/// ```compile_fail,E0277
/// let key = ic_types::Secret::new(String::from("sk-…"));
/// println!("{key}");
/// ```
///
/// nor copied:
///
/// ```compile_fail,E0599
/// let key = ic_types::Secret::new(String::from("sk-…"));
/// let copy = key.clone();
/// ```
///
/// nor serialised:
///
/// ```compile_fail,E0277
/// let key = ic_types::Secret::new(String::from("sk-…"));
/// let json = serde_json::to_string(&key);
/// ```
///
/// nor used as the text that it holds:
///
/// ```compile_fail,E0599
/// let key = ic_types::Secret::new(String::from("sk-…"));
/// let length = key.len();
/// ```
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Takes charge of `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Shows the value; the caller hands it to its one use and keeps no copy.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    struct Witness(Rc<Cell<bool>>);

    impl Zeroize for Witness {
        fn zeroize(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn debug_shows_nothing_and_drop_wipes() {
        let wiped = Rc::new(Cell::new(false));
        let secret = Secret::new(Witness(Rc::clone(&wiped)));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(!secret.expose().0.get());
        drop(secret);
        assert!(wiped.get());
    }
}
