//! `additions.json`: what the user has allowed, restricted or forbidden with a command or at a question.

use ic_types::{Role, ServerName, ToolName};
use serde::Deserialize;

use super::EffectFile;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AdditionsFile {
    pub(crate) version: u32,
    pub(crate) additions: Vec<AdditionFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AdditionFile {
    pub(crate) then: EffectFile,
    /// Without one it is about every server, those that are added later included.
    pub(crate) server: Option<ServerName>,
    pub(crate) tool: Option<ToolName>,
    pub(crate) roles: Option<Vec<Role>>,
    pub(crate) within: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) added_at: Option<String>,
    pub(crate) added_by: Option<String>,
}
