//! What the values of arguments looked like in the recorded calls of a server.
//!
//! A log that cannot be read tells nothing here: it could only bring up a question.

use std::collections::BTreeMap;

use ic_audit::read::{Record, Records};
use ic_home::Home;
use ic_inventory::draft::observed::Observed;
use ic_inventory::servers_file::ServerConfig;
use ic_policy::DomainSet;
use ic_types::{Json, ServerName};

use crate::commands::audit::find;
use crate::error::Failure;

/// How much of the logs is read, the newest first.
const BYTES_MAX: usize = 64 << 20;

/// What was seen, for each tool.
#[derive(Debug, Default)]
pub(super) struct Seen {
    tools: BTreeMap<String, Observed>,
}

impl Seen {
    /// Returns what was seen of a tool.
    pub(super) fn of(&self, tool: &str) -> Observed {
        self.tools.get(tool).cloned().unwrap_or_default()
    }
}

/// Reads what the newest logs say of a server's calls.
pub(super) fn in_calls(
    name: &ServerName,
    config: &ServerConfig,
    home: &Home,
) -> Result<Seen, Failure> {
    let patterns = config.allowed_domains.iter().flat_map(DomainSet::patterns);
    let hosts: Vec<String> = patterns.map(ToString::to_string).collect();
    let is_known = |text: &str| hosts.iter().any(|host| host.eq_ignore_ascii_case(text));
    let (mut seen, mut n_left) = (Seen::default(), BYTES_MAX);
    // Most lines are about other servers, and are not parsed.
    let mark = format!(r#""server":"{name}""#);
    for found in find::all(home)?.iter().rev() {
        let Ok(mut records) = Records::open(&found.files.log) else { continue };
        while let Ok(Some(line)) = records.next_line() {
            let Some(left) = n_left.checked_sub(line.len()) else { return Ok(seen) };
            n_left = left;
            if line.windows(mark.len()).any(|it| it == mark.as_bytes()) {
                seen.take(&line, name, &is_known);
            }
        }
    }
    Ok(seen)
}

impl Seen {
    fn take(&mut self, line: &[u8], name: &ServerName, is_known: &dyn Fn(&str) -> bool) {
        let Some(record) = Record::parse(line) else { return };
        let is_call =
            record.text("kind") == Some("intent") && record.text("server") == Some(name.as_str());
        if let (true, Some(tool), Some(Json::Object(arguments))) =
            (is_call, record.text("tool"), record.fields.get("arguments"))
        {
            self.tools.entry(tool.to_owned()).or_default().see(arguments, is_known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_inventory::draft::doubts::doubts;
    use ic_types::{JsonLimits, Object};

    fn object(text: &str) -> Object {
        let Ok(Json::Object(object)) = Json::parse(text.as_bytes(), JsonLimits::CALL) else {
            panic!("{text}")
        };
        object
    }

    #[test]
    fn only_calls_of_the_server_are_taken_in() {
        let listed = object(r#"{"inputSchema":{"properties":{"limit":{"type":"string"}}}}"#);
        let name: ServerName = "mine".parse().unwrap();
        for (line, is_asked) in [
            (r#"{"arguments":{"limit":"/x"},"kind":"intent","server":"mine","tool":"list"}"#, true),
            (
                r#"{"arguments":{"limit":"intern"},"kind":"intent","server":"mine","tool":"list"}"#,
                true,
            ),
            (r#"{"arguments":{"limit":"7"},"kind":"intent","server":"mine","tool":"list"}"#, false),
            (
                r#"{"arguments":{"limit":"/x"},"kind":"intent","server":"other","tool":"list"}"#,
                false,
            ),
            (
                r#"{"arguments":{"limit":"/x"},"kind":"outcome","server":"mine","tool":"list"}"#,
                false,
            ),
            (
                r#"{"arguments":{"limit":"/x"},"kind":"intent","server":"mine","tool":"other"}"#,
                false,
            ),
            // Text of an agent that looks like a record.
            (
                r#"{"arguments":{"limit":"\"server\":\"mine\""},"kind":"intent","server":"other"}"#,
                false,
            ),
            (r#"{"arguments":["/x"],"kind":"intent","server":"mine","tool":"list"}"#, false),
            (r#"{"kind":"intent","server":"mine","tool":"list""#, false),
            ("", false),
        ] {
            let mut seen = Seen::default();
            seen.take(line.as_bytes(), &name, &|text| text == "intern");
            let doubts = doubts("list", &listed, &seen.of("list"));
            assert_eq!(!doubts.is_empty(), is_asked, "{line}");
        }
    }
}
