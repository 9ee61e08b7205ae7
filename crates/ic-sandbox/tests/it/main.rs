//! Scripts in real workers: what they can do, what they cannot, and that the next one does not notice.

mod ground;
mod scripts;
