//! `tool-annotations.json`: what each argument of each tool means.

use std::fmt;

use ic_types::{Json, Role};
use serde::Deserialize;
use serde::de::{self, MapAccess, SeqAccess, Visitor};

/// A JSON object read in its order; the order of arguments names the first role.
#[derive(Debug)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AnnotationsFile {
    #[serde(rename = "generatedAt")]
    pub(crate) _generated_at: Option<String>,
    pub(crate) servers: Ordered<ServerFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServerFile {
    #[serde(rename = "inputHash")]
    pub(crate) _input_hash: Option<String>,
    pub(crate) tools: Vec<ToolFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ToolFile {
    pub(crate) tool_name: String,
    pub(crate) server_name: Option<String>,
    #[serde(default)]
    pub(crate) comment: String,
    pub(crate) args: Ordered<ArgumentFile>,
    pub(crate) input_schema: Option<Json>,
    #[serde(default)]
    pub(crate) draft: bool,
    // Written by older installations; the roles say the same.
    #[serde(rename = "sideEffects")]
    pub(crate) _side_effects: Option<bool>,
}

/// `role[]`, `{roles, relativeTo}` or `{default, when, relativeTo?}`.
#[derive(Debug)]
pub(crate) struct ArgumentFile {
    pub(crate) default: Vec<Role>,
    pub(crate) when: Vec<WhenFile>,
    pub(crate) relative_to: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhenFile {
    pub(crate) condition: ConditionFile,
    pub(crate) roles: Vec<Role>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConditionFile {
    pub(crate) arg: String,
    #[serde(default, deserialize_with = "present")]
    pub(crate) equals: Option<Json>,
    #[serde(rename = "in")]
    pub(crate) one_of: Option<Vec<Json>>,
    pub(crate) is: Option<PresenceFile>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PresenceFile {
    Present,
    Absent,
    Truthy,
    Falsy,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ArgumentObject {
    default: Option<Vec<Role>>,
    when: Option<Vec<WhenFile>>,
    roles: Option<Vec<Role>>,
    relative_to: Option<String>,
}

/// Keeps `"equals": null` apart from an absent `equals`.
fn present<'de, D: de::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for ArgumentFile {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentVisitor)
    }
}

struct ArgumentVisitor;

impl<'de> Visitor<'de> for ArgumentVisitor {
    type Value = ArgumentFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of roles, or an object with `roles`, or with `default` and `when`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ArgumentFile, A::Error> {
        let default = Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))?;
        Ok(ArgumentFile { default, when: Vec::new(), relative_to: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ArgumentFile, A::Error> {
        let object = ArgumentObject::deserialize(de::value::MapAccessDeserializer::new(map))?;
        let ArgumentObject { default, when, roles, relative_to } = object;
        match (roles, default, when) {
            (Some(default), None, None) => {
                Ok(ArgumentFile { default, when: Vec::new(), relative_to })
            }
            (None, Some(default), Some(when)) => Ok(ArgumentFile { default, when, relative_to }),
            _ => Err(de::Error::custom("expected either `roles`, or `default` and `when`")),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OrderedVisitor<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut entries = Vec::new();
                // INVARIANT: our parser has refused duplicate keys before this.
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }

        deserializer.deserialize_map(OrderedVisitor(std::marker::PhantomData))
    }
}
