//! What a push would send: each ref with its old and its new object id.
//!
//! A branch is a name that moves; what a person approves is not. Nothing is read here, and nothing is
//! sent.

use ic_types::{Json, Object};

/// What a push would send, as the repository is now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Push {
    /// These refs of the remote would change.
    Refs(Vec<PushedRef>),
    /// It cannot be told, for this reason; then nothing can be pushed.
    Unknown(String),
}

/// One ref of a remote, and what it would become.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PushedRef {
    /// Its full name at the remote, such as `refs/heads/main`.
    pub name: String,
    /// What it was when it was last fetched, if that is known here.
    pub old: Option<String>,
    /// The object that it would name; `None` removes it.
    pub new: Option<String>,
    /// What may become of what it is now.
    pub manner: PushManner,
}

/// What a push may do to what a remote has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PushManner {
    /// It adds to it.
    Advance,
    /// It replaces it, if it is still what it was when it was last fetched.
    Lease,
    /// It replaces it; if it is known what it was when it was last fetched, it still has to be that.
    Force,
}

impl Push {
    /// The key under which it stands among resolved values.
    pub const KEY: &'static str = "push";

    /// Returns whether it only advances branches: nothing is forced or removed, and no tag is sent.
    pub fn only_advances_branches(&self) -> bool {
        let advances = |it: &PushedRef| {
            let manner = match it.manner {
                PushManner::Advance => true,
                PushManner::Lease | PushManner::Force => false,
            };
            manner && it.new.is_some() && it.name.starts_with("refs/heads/")
        };
        match self {
            Self::Refs(refs) => !refs.is_empty() && refs.iter().all(advances),
            Self::Unknown(_) => false,
        }
    }

    /// Returns the names of the refs that would change.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Refs(refs) => refs.iter().map(|it| it.name.clone()).collect(),
            Self::Unknown(_) => Vec::new(),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Refs(refs) => Json::Array(refs.iter().map(PushedRef::to_json).collect()),
            Self::Unknown(reason) => {
                let mut object = Object::new();
                object.insert("unknown", reason.as_str());
                Json::Object(object)
            }
        }
    }
}

impl PushedRef {
    fn to_json(&self) -> Json {
        let id = |id: &Option<String>| id.as_deref().map_or(Json::Null, Json::from);
        let mut object = Object::new();
        object.insert("ref", self.name.as_str());
        object.insert("old", id(&self.old));
        object.insert("new", id(&self.new));
        object.insert("manner", self.manner.as_str());
        Json::Object(object)
    }
}

impl PushManner {
    /// Returns the word for it in resolved values.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advance => "advance",
            Self::Lease => "lease",
            Self::Force => "force",
        }
    }

    /// Reads the word for it.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Advance, Self::Lease, Self::Force].into_iter().find(|it| it.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, new: Option<&str>, manner: PushManner) -> Push {
        let new = new.map(str::to_owned);
        Push::Refs(vec![PushedRef { name: name.to_owned(), old: None, new, manner }])
    }

    #[test]
    fn only_branches_that_go_on_advance() {
        let (id, main) = (Some("1"), "refs/heads/main");
        assert!(one(main, id, PushManner::Advance).only_advances_branches());
        for push in [
            one(main, id, PushManner::Force),
            one(main, id, PushManner::Lease),
            one(main, None, PushManner::Advance),
            one("refs/tags/v1", id, PushManner::Advance),
            one("refs/headsx/main", id, PushManner::Advance),
            Push::Refs(Vec::new()),
            Push::Unknown("x".to_owned()),
        ] {
            assert!(!push.only_advances_branches(), "{push:?}");
        }
    }
}
