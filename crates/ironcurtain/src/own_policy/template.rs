//! A new policy directory: the rules of a built-in policy, and a page that says how to edit them.
//!
//! JSON has no comments, so each rule says in `description`, `principle` and `reason` what it is for.

use std::path::Path;

use ic_home::{Clock as _, Home, SystemClock, file};
use ic_policy::Builtin;

use crate::error::Failure;
use crate::judge::COMPILED;

/// Writes a copy of `builtin` to `directory`, where nothing may be yet.
pub(crate) fn write(directory: &Path, builtin: Builtin, home: &Home) -> Result<(), Failure> {
    if directory.starts_with(home.root()) {
        file::create_dir(home.policies())?;
    }
    file::create_new_dir(directory)?;
    file::create_new(directory.join("README.md"), readme(directory, builtin).as_bytes())?;
    // Last: without it the directory is not a policy.
    Ok(file::create_new(directory.join(COMPILED), compiled(builtin).as_bytes())?)
}

/// Returns the rules of `builtin`, without the hashes that tie them to its constitution.
fn compiled(builtin: Builtin) -> String {
    let text = String::from_utf8_lossy(builtin.sources().compiled.bytes).into_owned();
    let rules =
        text.find("\"rules\"").and_then(|at| text.get(at..)).unwrap_or("\"rules\": []\n}\n");
    format!("{{\n  \"generatedAt\": \"{}\",\n  {rules}", SystemClock.now())
}

fn readme(directory: &Path, builtin: Builtin) -> String {
    let name =
        directory.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let base = builtin.name();
    format!(
        r#"# Policy `{name}`

A copy of IronCurtain's built-in policy `{base}`, for you to edit.

- `compiled-policy.json` holds the rules. The first rule that holds for a value decides about it; what no rule covers is denied.
- `additions.json`, if it is there, holds what you said with `ironcurtain policy allow|ask|never` or with *always* at a question. It counts before less specific rules.
- Annotations (what each argument of a tool means) are not needed here: those of the built-in servers and of servers that you added and reviewed are used.

## A rule

```json
{{
  "name": "allow-notes",
  "description": "Allows reading in ~/notes.",
  "principle": "The agent may read files in ~/notes.",
  "if": {{ "server": ["filesystem"], "paths": {{ "roles": ["read-path"], "within": "~/notes" }} }},
  "then": "allow",
  "reason": "Notes may be read"
}}
```

- `then`: `allow`, `escalate` (IronCurtain asks you) or `deny`.
- `if`: all of it has to hold. `server`, `tool`: names. `roles`: `read-path write-path delete-path write-history delete-history fetch-url git-remote-url` and more. `paths`: these roles, within a directory. `domains`: these roles, `allowed` hosts such as `docs.rs` or `*.example.com`.
- Put special rules before general ones.
- `description`, `principle` and `reason` are for people; `reason` is shown with a question or a denial.

## After editing

```
ironcurtain policy lint {name}      # names that match nothing, rules that never hold
ironcurtain policy show --policy {name}
ironcurtain policy check --policy {name} filesystem read_file '{{"path":"~/notes/a.txt"}}'
ironcurtain policy use {name}       # makes it the policy in force
```

Some things no rule changes: keys, credentials and IronCurtain's own files are out of reach, and files that the host executes are never changed without a question.
"#
    )
}
