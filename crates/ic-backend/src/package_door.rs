//! The door of a cage to package registries, as the one who makes the cage knows it.
//!
//! What passes it is judged, asked about and recorded by whoever serves it; nothing of that is known here.

use std::fmt;
use std::net::TcpListener;

use ic_types::AbsolutePath;
use tokio_util::sync::CancellationToken;

use crate::backend::Pending;

/// The port at which the commands of a cage find it.
pub const PACKAGES_PORT: u16 = 8703;

/// Serves the door of a session to package registries.
pub trait PackageDoor: fmt::Debug + Send + Sync {
    /// Returns the file with the certificate that package managers have to trust, which the cage shows.
    fn certificate(&self) -> &AbsolutePath;

    /// Returns the variables by which package managers find the door at a port of their own loopback.
    fn environment(&self, port: u16) -> Vec<(String, String)>;

    /// Serves what comes to a listener, until `over` is cancelled.
    fn serve(&self, listener: TcpListener, over: CancellationToken) -> Pending<'static, ()>;
}
