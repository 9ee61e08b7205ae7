//! `test-scenarios.json`: calls and the decision that the policy's author expects.

use ic_types::Json;
use serde::Deserialize;

/// The scenarios of a policy.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenarios {
    #[serde(rename = "generatedAt")]
    _generated_at: Option<String>,
    #[serde(rename = "constitutionHash")]
    _constitution_hash: Option<String>,
    #[serde(rename = "inputHash")]
    _input_hash: Option<String>,
    /// The scenarios, in order.
    pub scenarios: Vec<Scenario>,
}

/// One call and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario is about.
    pub description: String,
    /// The call.
    pub request: ScenarioRequest,
    /// What the policy should say.
    pub expected_decision: ExpectedDecision,
    /// Why.
    #[serde(default)]
    pub reasoning: String,
    /// Who wrote it.
    pub source: ScenarioSource,
}

/// The call of a scenario.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioRequest {
    /// The server that the call is for.
    pub server_name: String,
    /// The tool on that server.
    pub tool_name: String,
    /// The arguments.
    pub arguments: Json,
}

/// What a scenario expects.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedDecision {
    /// The call is forwarded.
    Allow,
    /// The call is refused.
    Deny,
    /// A person is asked.
    Escalate,
    /// The call is refused or a person is asked.
    NotAllow,
}

/// Who wrote a scenario; only generated ones may be corrected by the compiler.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum ScenarioSource {
    /// The policy compiler.
    Generated,
    /// A person.
    Handwritten,
}
