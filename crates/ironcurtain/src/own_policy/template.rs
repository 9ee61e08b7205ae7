//! A new policy directory: the sentences of a built-in policy, and a page that says how to edit them.

use std::path::Path;

use ic_home::{Home, file};
use ic_policy::Builtin;

use super::constitution::Made;
use crate::error::Failure;

/// Where a policy is made before it gets its name.
const MAKING: &str = ".new";

/// Writes a copy of `builtin` to `directory`, one of the home's policies, where nothing may be yet.
///
/// Whoever looks meanwhile sees nothing or all of it; whoever calls holds the lock of the policies.
pub(crate) fn write(
    directory: &Path,
    builtin: Builtin,
    made: &Made,
    home: &Home,
) -> Result<(), Failure> {
    file::create_dir(home.policies())?;
    // Not the name of a policy, so nobody takes it for one.
    let making = home.policies().join(MAKING);
    if file::names(&making)?.is_some() {
        // A process was killed while it made one.
        file::remove_tree(&making)?;
    }
    file::create_new_dir(&making)?;
    file::create_new(making.join("README.md"), readme(directory, builtin).as_bytes())?;
    made.create(&making)?;
    Ok(file::move_to(&making, directory)?)
}

/// Returns the sentences to begin with.
pub(crate) fn constitution(name: &str, builtin: Builtin) -> String {
    let text = builtin.constitution();
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    format!(
        "# Policy `{name}`\n\n<!-- note: a copy of the built-in policy `{}`. Change its sentences, or add your \
         own, with `ironcurtain policy edit {name}`; `ironcurtain policy grammar` shows how they are \
         written. -->\n{rest}",
        builtin.name()
    )
}

fn readme(directory: &Path, builtin: Builtin) -> String {
    let name =
        directory.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let base = builtin.name();
    format!(
        r#"# Policy `{name}`

A copy of IronCurtain's built-in policy `{base}`, for you to edit.

- `constitution.md` holds the sentences, which you edit: `ironcurtain policy edit {name}`.
- `compiled-policy.json` and `test-scenarios.json` are compiled from them; do not edit the rules. Scenarios with `"source": "handwritten"` are yours and are kept.
- `ironcurtain policy allow|ask|never` and *always* at a question write a sentence into the constitution.
- Annotations (what each argument of a tool means) are not needed here: those of the built-in servers and of servers that you added and reviewed are used.

## Sentences

```
The agent may read files in ~/notes.
The agent may write files in ~/notes/out.
The agent may fetch pages from docs.rs.
Ask before deleting files in ~/notes.
```

`ironcurtain policy grammar` prints every form, verb and place with an example.
The order means nothing; the more specific sentence counts, and of equally specific ones the strictest.

## After editing

```
ironcurtain policy test --policy {name}
ironcurtain policy lint {name}      # names that match nothing, rules that never hold
ironcurtain policy check --policy {name} filesystem read_file '{{"path":"~/notes/a.txt"}}'
ironcurtain policy use {name}       # makes it the policy in force
```

Some things no rule changes: keys, credentials and IronCurtain's own files are out of reach, and files that the host executes are never changed without a question.
"#
    )
}
