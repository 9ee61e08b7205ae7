//! A rule as compiled-policy.json has it; paths are written as they lead, and lists with their members.

use ic_types::{CanonicalPath, Json, Object, Role};

use super::{ListCondition, Members, RoleSet, Rule};
use crate::domain::DomainSet;

impl Rule {
    /// Writes the rule; `spelled` says how a directory is written.
    pub fn to_json(&self, spelled: &dyn Fn(&CanonicalPath) -> String) -> Json {
        let mut condition = Object::new();
        for (key, names) in [("server", &self.servers), ("tool", &self.tools)] {
            if let Some(names) = names {
                condition.insert(key, texts(names.iter().map(String::as_str)));
            }
        }
        if let Some(roles) = self.roles {
            condition.insert("roles", roles.to_json());
        }
        if let Some(paths) = &self.paths {
            let mut part = Object::new();
            part.insert("roles", paths.roles.to_json());
            part.insert("within", spelled(&paths.within));
            if paths.leaves_sandbox {
                part.insert("leavesSandbox", true);
            }
            condition.insert("paths", part);
        }
        if let Some(domains) = &self.domains {
            let mut part = Object::new();
            part.insert("roles", domains.roles.to_json());
            part.insert("allowed", patterns(&domains.allowed));
            condition.insert("domains", part);
        }
        if !self.lists.is_empty() {
            let lists: Vec<Json> = self.lists.iter().map(ListCondition::to_json).collect();
            condition.insert("lists", lists);
        }
        let mut rule = Object::new();
        rule.insert("name", &*self.name);
        rule.insert("description", self.description.as_str());
        rule.insert("principle", self.principle.as_str());
        rule.insert("if", condition);
        rule.insert("then", self.effect.as_str());
        rule.insert("reason", &*self.reason);
        Json::Object(rule)
    }
}

impl RoleSet {
    fn to_json(self) -> Vec<Json> {
        texts(Role::all().filter(|role| self.contains(*role)).map(Role::as_str))
    }
}

impl ListCondition {
    fn to_json(&self) -> Json {
        let (kind, allowed) = match &self.allowed {
            Members::Domains(set) => ("domains", patterns(set)),
            Members::Emails(emails) => ("emails", sorted(emails.lower.iter())),
            Members::Identifiers(all) => ("identifiers", sorted(all.exact.iter())),
        };
        let mut list = Object::new();
        list.insert("roles", self.roles.to_json());
        list.insert("allowed", allowed);
        list.insert("matchType", kind);
        Json::Object(list)
    }
}

fn patterns(set: &DomainSet) -> Vec<Json> {
    set.patterns().iter().map(|it| Json::from(it.to_string())).collect()
}

fn sorted<'a>(all: impl Iterator<Item = &'a String>) -> Vec<Json> {
    let mut all: Vec<&str> = all.map(String::as_str).collect();
    all.sort_unstable();
    texts(all.into_iter())
}

fn texts<'a>(all: impl Iterator<Item = &'a str>) -> Vec<Json> {
    all.map(Json::from).collect()
}
