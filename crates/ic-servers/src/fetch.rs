//! The fetch server: one page of the web for each call, made readable.
//!
//! ```text
//! call ─▶ order: what is asked, checked ─▶ Connect ─▶ tls ─▶ exchange: one HTTP/1.1 request
//!                                                               │ answer, held to limits
//!         page: headline and text ◀─ html ◀─ charset ◀─ coding ◀┘
//! ```
//!
//! What is read is text of strangers: all of this runs in a cage, whose one connection the host makes.
//! A redirect is not followed: it is the answer, and whoever called judges where it leads. Nothing is
//! kept between calls: no cookies, no cache, no connections.

mod answer;
mod catalog;
mod charset;
mod clean;
mod coding;
mod deadline;
mod exchange;
mod fault;
mod html;
mod kind;
mod order;
mod page;
pub mod tls;
pub mod way;

use std::sync::{Arc, OnceLock};

use ic_schema::Schema;
use ic_types::{Json, Object};
use rustls::ClientConfig;

use crate::tools::{Caller, Cancel, Tool, ToolResult, Tools, UnknownTool};
use deadline::{Deadline, Wire};
use fault::Fault;
use order::Order;
use tls::Trust;
use way::Connect;

/// The key in a result's structured part that says where a redirect leads.
pub const REDIRECT: &str = "redirect";

/// The one tool.
const TOOL: &str = "http_fetch";

/// The fetch server.
#[derive(Debug)]
pub struct Fetch {
    connect: Box<dyn Connect>,
    trust: Trust,
    /// Made for the first call that needs it.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    schema: Schema,
}

/// The server cannot work.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the schema of `http_fetch` cannot be used")]
pub struct OpenFetchError;

impl Fetch {
    /// Makes the server: `connect` is its one way out, and `trust` says which hosts are believed.
    pub fn new(connect: Box<dyn Connect>, trust: Trust) -> Result<Self, OpenFetchError> {
        let schema = Json::Object(catalog::tool().input_schema);
        let schema = Schema::compile(&schema).map_err(|_| OpenFetchError)?;
        Ok(Self { connect, trust, tls: OnceLock::new(), schema })
    }

    fn fetch(&self, arguments: &Object, cancel: &Cancel) -> Result<ToolResult, Fault> {
        self.schema.check(arguments).map_err(|violation| Fault::Asked(violation.to_string()))?;
        let order = Order::read(arguments)?;
        let deadline = Deadline::after(order.timeout);
        let stream = self.connect.connect(&order.target(), &deadline).map_err(Fault::Unreached)?;
        let mut wire = Wire::new(stream, deadline, cancel);
        let answer = if order.is_tls() {
            let config = self.tls()?;
            let mut stream = tls::wrap(config, order.url(), wire)?;
            exchange::exchange(&mut stream, &order)?
        } else {
            exchange::exchange(&mut wire, &order)?
        };
        page::page(&order, answer)
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, Fault> {
        let made = self.tls.get_or_init(|| tls::config(&self.trust));
        made.clone().map_err(Fault::Trust)
    }
}

/// Returns the tools of the server.
pub fn tools() -> Vec<Tool> {
    vec![catalog::tool()]
}

impl Tools for Fetch {
    fn name(&self) -> &'static str {
        "fetch"
    }

    fn list(&self) -> Vec<Tool> {
        tools()
    }

    fn call(
        &self,
        tool: &str,
        arguments: &Object,
        caller: Caller<'_>,
    ) -> Result<ToolResult, UnknownTool> {
        if tool != TOOL {
            return Err(UnknownTool);
        }
        let fetched = self.fetch(arguments, caller.cancel());
        Ok(fetched.unwrap_or_else(|fault| ToolResult::failed(fault.to_string())))
    }
}
