//! What is known of the logins of agents, as data: where they are kept, and how they are renewed.
//!
//! Read from the programs themselves (Claude Code 2.1.325, Codex 0.166.0).

use super::{Rules, anthropic, openai};

/// A login of an agent with its provider.
#[derive(Debug)]
pub struct LoginRules {
    /// The one agent that it serves.
    pub agent: &'static str,
    /// What the provider takes from whoever is logged in.
    pub rules: &'static Rules,
    /// What stands before the path of each endpoint, in the address that agents are told.
    pub base_path: &'static str,
    /// The host that renews tokens.
    pub token_host: &'static str,
    /// The path there.
    pub token_path: &'static str,
    /// What the agent calls itself there.
    pub client_id: &'static str,
    /// The file in which the agent keeps its login.
    pub file: FileShape,
    /// What comes back.
    pub reply: Reply,
}

/// The file in which an agent keeps its login: JSON.
#[derive(Debug)]
pub struct FileShape {
    /// The object that holds the tokens.
    pub at: &'static [&'static str],
    /// The token that requests carry.
    pub access: &'static str,
    /// The token that a new one is got with.
    pub refresh: &'static str,
    /// When the first expires, in milliseconds since 1970; otherwise the token itself says so.
    pub expires_ms: Option<&'static str>,
    /// The account, and the header that it is named in.
    pub account: Option<(&'static str, &'static str)>,
    /// Where the time of the last renewal stands, at the top of the file.
    pub refreshed: Option<&'static str>,
    /// The directory beside the file that exists while somebody renews the tokens.
    pub lock: Option<&'static str>,
}

/// What comes back from a renewal, besides the two tokens.
#[derive(Debug)]
pub struct Reply {
    /// Members that are kept in the file.
    pub kept: &'static [&'static str],
}

/// Every login that is known.
pub static ALL: [&LoginRules; 2] = [&anthropic::LOGIN, &openai::LOGIN];

/// Returns what is known of the login of `agent`.
pub fn of(agent: &str) -> Option<&'static LoginRules> {
    ALL.into_iter().find(|it| it.agent == agent)
}
