//! A new policy directory: the rules of a built-in policy, and a page that says how to edit them.
//!
//! JSON has no comments, so each rule says in `description`, `principle` and `reason` what it is for.

use std::path::Path;

use ic_home::{Clock as _, Home, SystemClock, file};
use ic_opening::policy::COMPILED;
use ic_policy::Builtin;

use crate::error::Failure;

/// Where a policy is made before it gets its name.
const MAKING: &str = ".new";

/// Writes a copy of `builtin` to `directory`, one of the home's policies, where nothing may be yet.
///
/// Whoever looks meanwhile sees nothing or all of it; whoever calls holds the lock of the policies.
pub(crate) fn write(directory: &Path, builtin: Builtin, home: &Home) -> Result<(), Failure> {
    file::create_dir(home.policies())?;
    // Not the name of a policy, so nobody takes it for one.
    let making = home.policies().join(MAKING);
    if file::names(&making)?.is_some() {
        // A process was killed while it made one.
        file::remove_tree(&making)?;
    }
    file::create_new_dir(&making)?;
    file::create_new(making.join("README.md"), readme(directory, builtin).as_bytes())?;
    file::create_new(making.join(COMPILED), compiled(builtin).as_bytes())?;
    Ok(file::move_to(&making, directory)?)
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
