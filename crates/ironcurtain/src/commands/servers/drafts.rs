//! The annotations of servers that were added: drafts, and what somebody has confirmed of them.
//!
//! They stand beside the installation, as one server's part of `tool-annotations.json`, and count where
//! the policy in force says nothing of the server. What a draft says is guessed in `draft`.

use std::path::PathBuf;

use ic_home::{Home, file};
use ic_inventory::draft;
pub(super) use ic_inventory::draft::{is_draft, name_of};
use ic_inventory::pins::Pin;
use ic_judge::method::CallMethod;
use ic_opening::policy::added_annotations;
use ic_types::{Json, JsonLimits, Object, ServerName};

use crate::error::Failure;

/// What the file may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 16 << 20, depth_max: 64, values_max: 1 << 20 };

/// The annotations of one server.
#[derive(Clone, Debug)]
pub(super) struct Drafts {
    path: PathBuf,
    tools: Vec<Object>,
}

impl Drafts {
    /// Reads what there is for a server.
    pub(super) fn read(name: &ServerName, home: &Home) -> Result<Self, Failure> {
        let path = added_annotations(home, name);
        let unreadable = || {
            Failure::config(format!(
                "`{}` was not written by IronCurtain, or is damaged",
                path.display()
            ))
            .with_hint(format!("`ironcurtain servers remove {name}`, and add it again"))
        };
        let tools = match file::read_own(&path, LIMITS.bytes_max as u64)? {
            None => Vec::new(),
            Some(bytes) => match Json::parse(&bytes, LIMITS) {
                Ok(Json::Object(mut file)) => match file.remove("tools") {
                    Some(Json::Array(tools)) => tools
                        .into_iter()
                        .map(|tool| match tool {
                            Json::Object(tool) => Ok(tool),
                            _ => Err(unreadable()),
                        })
                        .collect::<Result<_, _>>()?,
                    _ => return Err(unreadable()),
                },
                Ok(_) | Err(_) => return Err(unreadable()),
            },
        };
        Ok(Self { path, tools })
    }

    /// Drafts what is listed and not annotated yet; returns how many tools that are.
    pub(super) fn draft<'a>(
        &mut self,
        server: &ServerName,
        listed: impl IntoIterator<Item = (&'a str, &'a Object)>,
    ) -> usize {
        let mut n_drafted = 0;
        for (name, listed) in listed {
            if self.tools.iter().all(|tool| name_of(tool) != name) {
                self.tools.push(draft::annotation(server.as_str(), name, listed));
                n_drafted += 1;
            }
        }
        n_drafted
    }

    /// Returns the annotations.
    pub(super) fn tools(&self) -> &[Object] {
        &self.tools
    }

    /// Returns the annotation of one tool.
    pub(super) fn get(&self, tool: &str) -> Option<&Object> {
        self.tools.iter().find(|it| name_of(it) == tool)
    }

    /// Puts an annotation in the place of the one that the tool has.
    pub(super) fn replace(&mut self, annotation: Object) {
        if let Some(tool) = self.tools.iter_mut().find(|it| name_of(it) == name_of(&annotation)) {
            *tool = annotation;
        }
    }

    /// Gives an argument of a tool other roles; it is a draft again until somebody confirms it.
    pub(super) fn set(
        &mut self,
        tool: &str,
        argument: &str,
        roles: Vec<Json>,
    ) -> Result<(), String> {
        let Some(annotation) = self.tools.iter_mut().find(|it| name_of(it) == tool) else {
            return Err(format!("there is no tool `{}`", tool.escape_debug()));
        };
        match annotation.get_mut("args") {
            Some(Json::Object(args))
                if args.get(argument).is_some() || argument.starts_with('/') =>
            {
                args.insert(argument, roles);
            }
            _ => return Err(format!("`{tool}` has no argument `{}`", argument.escape_debug())),
        }
        annotation.insert("draft", true);
        Ok(())
    }

    /// Notes that a person has confirmed what is said of a tool that is listed in this way.
    pub(super) fn confirm(&mut self, tool: &str, listed: Option<&Object>) {
        if let Some(annotation) = self.tools.iter_mut().find(|it| name_of(it) == tool) {
            annotation.remove("draft");
            annotation.insert("comment", "confirmed by the user");
            if let Some(schema) = listed.and_then(|it| it.get("inputSchema")) {
                annotation.insert("inputSchema", schema.clone());
            }
        }
    }

    /// Returns the server's part of `tool-annotations.json`.
    pub(super) fn section(&self) -> Object {
        let mut section = Object::new();
        let tools = self.tools.iter().cloned().map(Json::Object);
        section.insert("tools", tools.collect::<Vec<_>>());
        section
    }

    /// Writes the annotations; the directory must exist.
    pub(super) fn write(&self) -> Result<(), Failure> {
        Ok(file::replace(&self.path, Json::Object(self.section()).to_string().as_bytes())?)
    }
}

/// Returns whether the schema of a tool is another one than when it was confirmed.
pub(super) fn has_changed(tool: &Object, listed: &Object) -> bool {
    let (then, now) = (tool.get("inputSchema"), listed.get("inputSchema"));
    then.is_some() && then.map(Json::to_canonical) != now.map(Json::to_canonical)
}

/// Returns the names of drafted tools that are not among those that were trusted: no session uses them.
pub(super) fn not_pinned<'a>(drafts: &'a Drafts, pin: &Pin) -> impl Iterator<Item = &'a str> {
    let names = drafts.tools().iter().filter(|tool| is_draft(tool)).map(name_of);
    names.filter(|name| !pin.tools.contains_key(*name) && CallMethod::of(name).is_none())
}
