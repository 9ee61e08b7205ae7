//! What a record keeps of a call besides its values, and the call put together again from a record.
//!
//! The values themselves are [`ResolvedCall::resolved_json`]. With what is written here they are all that a
//! decision looks at, so another policy can be asked about a recorded call without the disk of that day.

use ic_types::{CanonicalPath, Digest, Json, Object, Role, ToolCall};

use crate::annotation::Annotation;
use crate::call::{
    Executed, FileKind, FileState, InvalidValue, PathValue, ResolvedCall, ResolvedParts, RolePlace,
    RoleValues, Standing, UnannotatedPath, UrlValue, Value, Why,
};
use crate::domain::{Destination, Scheme};
use crate::push::Push;

/// How many characters are kept of the digest of what arguments mean.
const MEANING_CHARS: usize = 16;
/// The standing of what a server itself asks for.
const OF_SERVER: &str = "server";
/// The standing of calls that are to be approved together.
const PLAN: &str = "plan";

/// What a record says of a call that it cannot be put together from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreadable;

impl ResolvedCall {
    /// Returns what decides about the call besides its arguments and values, as JSON.
    ///
    /// For most calls that is one short digest of what their arguments mean.
    pub fn behind_record(&self) -> Json {
        let parts = self.parts();
        let mut behind = Object::new();
        let mut note = |key: &str, entries: Vec<Json>| {
            if !entries.is_empty() {
                behind.insert(key, entries);
            }
        };
        note("also", also(&parts.roles));
        note("executed", parts.executed.iter().map(executed).collect());
        note("invalid", parts.invalid.iter().map(invalid).collect());
        note("unannotated", parts.unannotated_paths.iter().map(unannotated).collect());
        behind.insert("roles", meaning(&parts.places));
        match parts.standing {
            Standing::OfServer => behind.insert("standing", OF_SERVER),
            Standing::Plan => behind.insert("standing", PLAN),
            Standing::Unknown | Standing::Draft | Standing::Annotated => {}
        }
        Json::Object(behind)
    }
}

/// Returns a short digest of which places of the arguments bear which roles.
pub fn meaning(places: &[RolePlace]) -> String {
    let mut text = String::new();
    for RolePlace { place, roles } in places {
        text.push_str(place.as_str());
        for role in roles {
            text.push('\0');
            text.push_str(role.as_str());
        }
        text.push('\n');
    }
    let digest = Digest::of(text.as_bytes()).to_string();
    digest.get(..MEANING_CHARS).unwrap_or_default().to_owned()
}

impl Annotation {
    /// Returns which places bear which roles in a call with these arguments.
    pub fn places(&self, arguments: &Object) -> Vec<RolePlace> {
        let bearing = self.arguments().iter().filter_map(|argument| {
            let roles = argument.roles(arguments).iter().copied();
            let roles: Vec<Role> = roles.filter(|role| *role != Role::None).collect();
            (!roles.is_empty()).then(|| RolePlace { place: argument.place().clone(), roles })
        });
        bearing.collect()
    }
}

/// A call as a record has it.
#[derive(Debug)]
pub struct RecordedCall<'a> {
    /// What was asked for.
    pub asked: ToolCall,
    /// The values, as [`ResolvedCall::resolved_json`] wrote them.
    pub resolved: &'a Object,
    /// What [`ResolvedCall::behind_record`] wrote.
    pub behind: &'a Object,
}

impl RecordedCall<'_> {
    /// Returns whether it is what a server itself asked for.
    pub fn is_of_server(&self) -> bool {
        text(self.behind, "standing") == Some(OF_SERVER)
    }

    /// Returns whether it is what no policy annotates: a server's own request, or a plan of calls.
    pub fn is_unannotated(&self) -> bool {
        matches!(text(self.behind, "standing"), Some(OF_SERVER | PLAN))
    }

    /// Returns whether its arguments meant then what `annotation` says that they mean.
    pub fn means(&self, annotation: &Annotation) -> bool {
        let places = annotation.places(&self.asked.arguments);
        text(self.behind, "roles") == Some(meaning(&places).as_str())
    }

    /// Puts the parts together for a policy that annotates the tool like this.
    ///
    /// The caller has checked that the arguments mean the same.
    pub fn parts(self, annotation: Option<&Annotation>) -> Result<ResolvedParts, Unreadable> {
        let standing = match annotation {
            _ if self.is_of_server() => Standing::OfServer,
            _ if text(self.behind, "standing") == Some(PLAN) => Standing::Plan,
            None => Standing::Unknown,
            Some(it) if it.is_draft() => Standing::Draft,
            Some(_) => Standing::Annotated,
        };
        let mut roles = named_roles(annotation, &self.asked.arguments);
        for (name, values) in self.resolved.iter().filter(|(name, _)| *name != Push::KEY) {
            let role: Role = name.parse().map_err(|_| Unreadable)?;
            let values = items(Some(values)).iter().map(|it| value(role, it));
            let values = values.collect::<Result<Vec<Value>, Unreadable>>()?;
            match roles.iter_mut().find(|it| it.role == role) {
                Some(entry) => entry.values = values,
                None => roles.push(RoleValues { role, values }),
            }
        }
        add_names(items(self.behind.get("also")), &mut roles)?;
        let unknown = self.asked.arguments.keys();
        let unknown = unknown.filter(|key| annotation.is_some_and(|it| !it.names(key)));
        Ok(ResolvedParts {
            unknown_arguments: unknown.map(str::to_owned).collect(),
            invalid: each(self.behind, "invalid", read_invalid)?,
            executed: each(self.behind, "executed", read_executed)?,
            unannotated_paths: each(self.behind, "unannotated", read_unannotated)?,
            standing,
            roles,
            sent: Object::new(),
            places: Vec::new(),
            push: None,
            asked: self.asked,
        })
    }
}

/// Returns the roles that the arguments have, in the annotation's order, without values.
fn named_roles(annotation: Option<&Annotation>, arguments: &Object) -> Vec<RoleValues> {
    let mut roles: Vec<RoleValues> = Vec::new();
    for argument in annotation.iter().flat_map(|it| it.arguments()) {
        for role in argument.roles(arguments) {
            if !roles.iter().any(|it| it.role == *role) {
                roles.push(RoleValues { role: *role, values: Vec::new() });
            }
        }
    }
    roles
}

// What is written, and read again.

fn also(roles: &[RoleValues]) -> Vec<Json> {
    let mut found = Vec::new();
    for RoleValues { role, values } in roles {
        for (position, value) in values.iter().enumerate() {
            for name in value.path().iter().flat_map(|it| &it.also) {
                let mut entry = Object::new();
                entry.insert("role", role.as_str());
                entry.insert("at", u64::try_from(position).unwrap_or(u64::MAX));
                entry.insert("path", name.to_string());
                found.push(Json::Object(entry));
            }
        }
    }
    found
}

fn add_names(entries: &[Json], roles: &mut [RoleValues]) -> Result<(), Unreadable> {
    for entry in entries {
        let entry = object(entry)?;
        let role: Role = text(entry, "role").and_then(|it| it.parse().ok()).ok_or(Unreadable)?;
        let at: usize = number(entry, "at").ok_or(Unreadable)?;
        let values = roles.iter_mut().find(|it| it.role == role);
        match values.and_then(|it| it.values.get_mut(at)) {
            Some(Value::Path(value)) => value.also.push(path(entry, "path")?),
            Some(Value::Url(_) | Value::LocalRemote(_) | Value::Text(_)) | None => {
                return Err(Unreadable);
            }
        }
    }
    Ok(())
}

fn executed(it: &Executed) -> Json {
    let mut entry = Object::new();
    entry.insert("role", it.role.as_str());
    entry.insert("path", it.path.to_string());
    entry.insert("why", it.why.to_string());
    Json::Object(entry)
}

/// Reads what the host executes; why it does is told by the record's reason, and decides nothing.
fn read_executed(entry: &Object) -> Result<Executed, Unreadable> {
    let role = text(entry, "role").and_then(|it| it.parse().ok()).ok_or(Unreadable)?;
    Ok(Executed { role, path: path(entry, "path")?, why: Why::Listed })
}

fn invalid(it: &InvalidValue) -> Json {
    let mut entry = Object::new();
    entry.insert("place", it.place.as_str());
    entry.insert("role", it.role.as_str());
    entry.insert("reason", it.reason.as_str());
    Json::Object(entry)
}

fn read_invalid(entry: &Object) -> Result<InvalidValue, Unreadable> {
    let known = |key: &str| text(entry, key).map(str::to_owned).ok_or(Unreadable);
    let role = text(entry, "role").and_then(|it| it.parse().ok()).ok_or(Unreadable)?;
    Ok(InvalidValue { place: known("place")?, role, reason: known("reason")? })
}

fn unannotated(it: &UnannotatedPath) -> Json {
    let names = std::iter::once(&it.path.path).chain(&it.path.also);
    let mut entry = Object::new();
    entry.insert("argument", it.argument.as_str());
    entry.insert("paths", names.map(|name| Json::from(name.to_string())).collect::<Vec<_>>());
    Json::Object(entry)
}

fn read_unannotated(entry: &Object) -> Result<UnannotatedPath, Unreadable> {
    let argument = text(entry, "argument").ok_or(Unreadable)?.to_owned();
    let names = items(entry.get("paths")).iter().map(|it| canonical(it.as_str()));
    let mut names = names.collect::<Result<Vec<CanonicalPath>, Unreadable>>()?.into_iter();
    let path = names.next().ok_or(Unreadable)?;
    Ok(UnannotatedPath { argument, path: PathValue { path, also: names.collect(), state: None } })
}

/// Reads a value as [`ResolvedCall::resolved_json`] wrote it.
fn value(role: Role, json: &Json) -> Result<Value, Unreadable> {
    let entry = match json {
        Json::String(text) => return Ok(Value::Text(text.clone())),
        other => object(other)?,
    };
    if let Some(url) = text(entry, "url") {
        let destination = text(entry, "destination").ok_or(Unreadable)?;
        let destination = read_destination(role, url, destination).ok_or(Unreadable)?;
        return Ok(Value::Url(UrlValue { text: url.to_owned(), destination }));
    }
    let path = path(entry, "path")?;
    if role == Role::GitRemoteUrl {
        return Ok(Value::LocalRemote(path));
    }
    // Only whether something is there, and what, decides.
    let kind = match text(entry, "kind") {
        None => None,
        Some("file") => Some(FileKind::File),
        Some("directory") => Some(FileKind::Directory),
        Some(_) => Some(FileKind::Other),
    };
    let state = kind.map(|kind| FileState {
        kind,
        device: 0,
        inode: 0,
        bytes: 0,
        modified_s: 0,
        modified_ns: 0,
    });
    Ok(Value::Path(PathValue { path, also: Vec::new(), state }))
}

/// Reads `host[:port][/repository]`; how to speak is said by the URL itself.
fn read_destination(role: Role, url: &str, shown: &str) -> Option<Destination> {
    let scheme = match url.split_once("://") {
        Some((scheme, _)) => Scheme::parse(scheme)?,
        None if role == Role::GitRemoteUrl => Scheme::Ssh,
        None => return None,
    };
    let (authority, repository) = match shown.split_once('/') {
        Some((authority, repository)) => (authority, Some(repository.to_owned())),
        None => (shown, None),
    };
    let there = Destination::parse_authority(authority)?;
    Some(Destination { scheme: Some(scheme), repository, ..there })
}

fn each<T>(
    behind: &Object,
    key: &str,
    read: fn(&Object) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    items(behind.get(key)).iter().map(|it| read(object(it)?)).collect()
}

fn items(json: Option<&Json>) -> &[Json] {
    match json {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

fn object(json: &Json) -> Result<&Object, Unreadable> {
    match json {
        Json::Object(object) => Ok(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(Unreadable)
        }
    }
}

fn text<'j>(object: &'j Object, key: &str) -> Option<&'j str> {
    object.get(key).and_then(Json::as_str)
}

fn number(object: &Object, key: &str) -> Option<usize> {
    match object.get(key)? {
        Json::Number(number) => number.as_str().parse().ok(),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn path(object: &Object, key: &str) -> Result<CanonicalPath, Unreadable> {
    canonical(text(object, key))
}

/// Reads a path; of one that was not valid Unicode a record has only a likeness.
fn canonical(text: Option<&str>) -> Result<CanonicalPath, Unreadable> {
    let text = text.filter(|it| !it.contains(char::REPLACEMENT_CHARACTER));
    text.and_then(|it| CanonicalPath::new(it).ok()).ok_or(Unreadable)
}
