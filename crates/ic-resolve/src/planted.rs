//! What a server left behind for the host to execute, and a person may keep, made a call that can be judged.
//!
//! It is judged as writing what is to be kept to where it was found. Nothing in it is an agent's: the
//! paths were found by the host, and the bytes are known by their digests.

use ic_policy::{
    Executed, InvalidValue, PathValue, ResolvedCall, ResolvedParts, RoleValues, Standing, Value,
    Why,
};
use ic_types::{CanonicalPath, Role, ToolCall};

use crate::disk::Disk;

/// Takes `call` as writing what is to be kept to `paths`.
pub fn of_server(call: ToolCall, paths: &[CanonicalPath], disk: &dyn Disk) -> ResolvedCall {
    let role = Role::WritePath;
    let (mut values, mut executed, mut invalid) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let state = match disk.look(path.as_path()) {
            Ok(entry) => entry.map(|entry| entry.state),
            Err(error) => {
                let (place, reason) = (path.to_string(), error.to_string());
                invalid.push(InvalidValue { place, role, reason });
                None
            }
        };
        values.push(Value::Path(PathValue { path: path.clone(), also: Vec::new(), state }));
        executed.push(Executed { role, path: path.clone(), why: Why::Planted });
    }
    ResolvedCall::assert_resolved(ResolvedParts {
        sent: call.arguments.clone(),
        standing: Standing::Annotated,
        roles: vec![RoleValues { role, values }],
        invalid,
        unknown_arguments: Vec::new(),
        unannotated_paths: Vec::new(),
        executed,
        places: Vec::new(),
        push: None,
        asked: call,
    })
}
