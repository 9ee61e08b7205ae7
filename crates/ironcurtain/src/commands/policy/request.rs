//! A call as it is asked about: on the command line, or as a line of JSON.

use ic_opening::policy::Loaded;
use ic_policy::{Effect, Structural, Verdict};
use ic_types::{Json, JsonLimits, Object, ToolCall};
use serde::Serialize;

/// The rule that is named for what is no request at all.
pub(super) const INVALID_REQUEST: &str = "structural-invalid-request";

/// A call whose names may still be anything.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) arguments: Object,
}

/// What is printed about a call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Judgement {
    pub(super) decision: &'static str,
    pub(super) rule: String,
    pub(super) reason: String,
    pub(super) escalated_roles: Vec<&'static str>,
}

impl Request {
    /// Reads the arguments of a call from the command line.
    pub(super) fn parse_arguments(text: &str) -> Result<Object, String> {
        match Json::parse(text.as_bytes(), JsonLimits::CALL) {
            Ok(Json::Object(arguments)) => Ok(arguments),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => Err(format!("the arguments are no JSON: {error}")),
        }
    }

    /// Reads a line `{"server", "tool", "arguments"}`; further keys are left alone.
    pub(super) fn parse_line(line: &[u8]) -> Result<Self, String> {
        let mut object = match Json::parse(line, JsonLimits::CALL) {
            Ok(Json::Object(object)) => object,
            Ok(_) => return Err("a request must be a JSON object".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let text = |key: &str| match object.get(key) {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("`{key}` must be a string")),
            None => Err(format!("`{key}` is missing")),
        };
        let (server, tool) = (text("server")?, text("tool")?);
        let arguments = match object.get_mut("arguments") {
            Some(Json::Object(arguments)) => std::mem::take(arguments),
            Some(_) => return Err("`arguments` must be an object".to_owned()),
            None => return Err("`arguments` is missing".to_owned()),
        };
        Ok(Self { server, tool, arguments })
    }

    /// Returns the call, if its names can be names.
    pub(super) fn into_call(self) -> Result<ToolCall, String> {
        Ok(ToolCall {
            server: self
                .server
                .parse()
                .map_err(|error: ic_types::InvalidName| error.to_string())?,
            tool: self.tool.parse().map_err(|error: ic_types::InvalidName| error.to_string())?,
            arguments: self.arguments,
        })
    }

    /// Judges the call; a name that can be nobody's is an unknown tool.
    pub(super) fn judge(self, loaded: &Loaded) -> Judgement {
        match self.into_call() {
            Ok(call) => Judgement::from(&loaded.judge.judge(call)),
            Err(reason) => Judgement::denied(Structural::UnknownTool.as_str(), reason),
        }
    }
}

impl Judgement {
    /// Denies what cannot even be judged.
    pub(super) fn denied(rule: &str, reason: String) -> Self {
        Self {
            decision: Effect::Deny.as_str(),
            rule: rule.to_owned(),
            reason,
            escalated_roles: Vec::new(),
        }
    }

    /// Returns the judgement as one line of JSON.
    pub(super) fn to_json(&self) -> String {
        // Strings and lists of strings always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<&Verdict> for Judgement {
    fn from(verdict: &Verdict) -> Self {
        Self {
            decision: verdict.effect().as_str(),
            rule: verdict.rule().to_owned(),
            reason: verdict.reason().to_owned(),
            escalated_roles: verdict.escalated_roles().iter().map(|role| role.as_str()).collect(),
        }
    }
}
