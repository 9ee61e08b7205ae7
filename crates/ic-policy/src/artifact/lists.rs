//! `dynamic-lists.json`: the values behind `@name`.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListsFile {
    #[serde(rename = "generatedAt")]
    pub(crate) _generated_at: Option<String>,
    pub(crate) lists: BTreeMap<String, ListFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListFile {
    pub(crate) values: Vec<String>,
    #[serde(default)]
    pub(crate) manual_additions: Vec<String>,
    #[serde(default)]
    pub(crate) manual_removals: Vec<String>,
    #[serde(rename = "resolvedAt")]
    pub(crate) _resolved_at: Option<String>,
    #[serde(rename = "inputHash")]
    pub(crate) _input_hash: Option<String>,
}
