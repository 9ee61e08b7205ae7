//! `compiled-policy.json`: the rules, in the order in which they are asked.

use ic_types::{Role, ServerName};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompiledFile {
    #[serde(rename = "generatedAt")]
    pub(crate) _generated_at: Option<String>,
    pub(crate) constitution_hash: Option<String>,
    #[serde(rename = "inputHash")]
    pub(crate) _input_hash: Option<String>,
    pub(crate) rules: Vec<RuleFile>,
    pub(crate) list_definitions: Option<Vec<ListDefinitionFile>>,
    #[serde(rename = "skippedServers")]
    pub(crate) _skipped_servers: Option<Vec<SkippedServerFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) principle: String,
    #[serde(rename = "if")]
    pub(crate) condition: IfFile,
    pub(crate) then: EffectFile,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IfFile {
    pub(crate) roles: Option<Vec<Role>>,
    // Text, not names: a rule for a server that cannot exist is harmless, and old files stay valid.
    pub(crate) server: Option<Vec<String>>,
    pub(crate) tool: Option<Vec<String>>,
    pub(crate) paths: Option<PathsFile>,
    pub(crate) domains: Option<DomainsFile>,
    pub(crate) lists: Option<Vec<ListConditionFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PathsFile {
    pub(crate) roles: Vec<Role>,
    pub(crate) within: String,
    #[serde(default)]
    pub(crate) leaves_sandbox: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DomainsFile {
    pub(crate) roles: Vec<Role>,
    pub(crate) allowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListConditionFile {
    pub(crate) roles: Vec<Role>,
    pub(crate) allowed: Vec<String>,
    pub(crate) match_type: MatchTypeFile,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MatchTypeFile {
    Domains,
    Emails,
    Identifiers,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectFile {
    Allow,
    Escalate,
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListDefinitionFile {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) _match_type: MatchTypeFile,
    #[serde(rename = "principle")]
    pub(crate) _principle: Option<String>,
    #[serde(rename = "generationPrompt")]
    pub(crate) _generation_prompt: Option<String>,
    #[serde(rename = "requiresMcp")]
    pub(crate) _requires_mcp: Option<bool>,
    #[serde(rename = "mcpServerHint")]
    pub(crate) _mcp_server_hint: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SkippedServerFile {
    #[serde(rename = "serverName")]
    pub(crate) _server_name: ServerName,
    #[serde(rename = "reason")]
    pub(crate) _reason: String,
}
