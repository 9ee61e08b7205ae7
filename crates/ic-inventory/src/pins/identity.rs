//! What a server is: all that its entry in the servers file says, but its description.
//!
//! What is written for it in its environment and its headers may be secret, so of these the names are
//! shown and hashed, and the values only compared: a [`Seal`] tells whether they are still the same, and
//! nothing else of them. Nothing is read or written here, and nobody is asked.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;

use ic_home::random;
use ic_types::{Digest, Json, Object};

use super::Package;
use crate::servers_file::ServerConfig;
use crate::tool;

/// The keys of an entry that come first when it is shown.
const FIRST: [&str; 7] = ["builtin", "command", "args", "env", "cwd", "url", "headers"];
/// The keys of an entry whose values may be secret.
const SECRET: [&str; 2] = ["env", "headers"];

/// What a server is, in the form in which it is compared and shown.
#[derive(Clone)]
pub struct Identity {
    start: Object,
    /// What may be secret, by key and name.
    values: BTreeMap<String, String>,
    /// Of the files that it is installed from, if they were looked at.
    package: Option<Digest>,
}

/// Which values were trusted, in a form that tells nobody what they are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Seal {
    /// Random, so that nobody finds out a short value by trying.
    nonce: String,
    digests: BTreeMap<String, String>,
}

impl Identity {
    /// Returns the identity of a configured server.
    pub fn of(config: &ServerConfig) -> Self {
        let (mut start, mut values) = (Object::new(), BTreeMap::new());
        let mut entry: Vec<(&str, &Json)> = config.written().iter().collect();
        let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
        entry.sort_by_key(|(key, _)| (rank(key), *key));
        for (key, value) in entry {
            match value {
                _ if key == "description" => {}
                Json::Object(secrets) if SECRET.contains(&key) => {
                    let mut names: Vec<&str> = secrets.keys().collect();
                    names.sort_unstable();
                    start.insert(key, names.into_iter().map(Json::from).collect::<Vec<_>>());
                    let named =
                        |(name, it): (&str, &Json)| (format!("{key}.{name}"), it.to_string());
                    values.extend(secrets.iter().map(named));
                }
                value => start.insert(key, value.clone()),
            }
        }
        Self { start, values, package: None }
    }

    /// Returns the identity with the package that it is run from, as that is now.
    #[must_use]
    pub fn with_package(mut self, package: Option<&Package>) -> Self {
        self.package = package.map(Package::digest);
        self
    }

    /// Returns the digest of the package that it is run from, if that was looked at.
    pub fn package(&self) -> Option<Digest> {
        self.package
    }

    /// Returns the identity as it is written down, without what may be secret.
    pub fn as_object(&self) -> &Object {
        &self.start
    }

    /// Returns the hash of the identity, without what may be secret.
    pub fn hash(&self) -> Digest {
        tool::hash(&self.start)
    }

    /// Returns what was written for the server and may be secret, by key and name.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Seal {
    /// Seals the values of an identity.
    pub(super) fn of(identity: &Identity) -> io::Result<Self> {
        let mut nonce = String::new();
        for byte in random::bytes::<16>()? {
            // Writing to a string cannot fail.
            write!(nonce, "{byte:02x}").ok();
        }
        let digest =
            |(name, value): (&String, &String)| (name.clone(), digest(&nonce, name, value));
        let digests = identity.values.iter().map(digest).collect();
        Ok(Self { nonce, digests })
    }

    /// Returns whose values are others than those that were sealed, sorted.
    pub fn broken(&self, identity: &Identity) -> Vec<String> {
        let is_kept = |(name, value): &(&String, &String)| {
            self.digests.get(*name) == Some(&digest(&self.nonce, name, value))
        };
        identity.values.iter().filter(|it| !is_kept(it)).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn of_json(json: Option<Json>) -> Result<Self, &'static str> {
        let Some(json) = json else { return Ok(Self::default()) };
        let mut seal = super::object(json)?;
        let text = |json: Json| match json {
            Json::String(text) => Ok(text),
            _ => Err("a value in a `seal` is not text"),
        };
        let nonce = text(seal.remove("nonce").ok_or("the `nonce` of a `seal` is missing")?)?;
        let digests = super::object(seal.remove("values").ok_or("the `values` are missing")?)?;
        let digests = digests.into_entries().map(|(name, it)| Ok((name, text(it)?)));
        Ok(Self { nonce, digests: digests.collect::<Result<_, &'static str>>()? })
    }

    pub(super) fn to_json(&self) -> Object {
        let mut values = Object::new();
        for (name, digest) in &self.digests {
            values.insert(name.as_str(), digest.as_str());
        }
        let mut seal = Object::new();
        seal.insert("nonce", self.nonce.as_str());
        seal.insert("values", values);
        seal
    }
}

fn digest(nonce: &str, name: &str, value: &str) -> String {
    Digest::of_parts([nonce, name, value].map(str::as_bytes)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers_file::ServersFile;
    use ic_policy::artifact::Source;
    use serde_json::{Value, json};

    fn identity(entry: &Value) -> Identity {
        let text = json!({"a": entry}).to_string();
        let source = Source { file: "servers.json", bytes: text.as_bytes() };
        let servers = ServersFile::read(source).unwrap();
        Identity::of(servers.get("a").unwrap().1)
    }

    #[test]
    fn every_key_of_an_entry_but_its_description_is_part_of_what_a_server_is() {
        let command = json!({"command": "/bin/a", "args": ["x"], "env": {"A": "1"}});
        let far = json!({"url": "https://a.example/mcp", "headers": {"X-A": "1"}});
        let cases = [
            (&command, "command", json!("/bin/b")),
            (&command, "args", json!(["x", "y"])),
            (&command, "env", json!({"A": "2"})),
            (&command, "env", json!({"A": "1", "B": "1"})),
            (&command, "env", json!({})),
            (&command, "cwd", json!("/")),
            (&command, "sandbox", json!(false)),
            (&command, "sandbox", json!({"filesystem": {"allowRead": ["/srv"]}})),
            (&command, "sandbox", json!({"filesystem": {"allowWrite": ["/srv"]}})),
            (&command, "sandbox", json!({"network": {"allowedDomains": ["a.example"]}})),
            (&command, "contained", json!(true)),
            (&command, "allowedDomains", json!(["a.example"])),
            (&command, "serial", json!(true)),
            (&command, "unixSockets", json!(true)),
            (&command, "allowSampling", json!(true)),
            (&command, "allowElicitation", json!(true)),
            (&far, "url", json!("https://b.example/mcp")),
            (&far, "headers", json!({"X-A": "2"})),
            (&far, "allowedDomains", json!(["a.example"])),
        ];
        for (entry, key, value) in cases {
            let was = identity(entry);
            let seal = Seal::of(&was).unwrap();
            let mut edited = entry.clone();
            edited[key] = value.clone();
            let is = identity(&edited);
            let differs = was.hash() != is.hash() || !seal.broken(&is).is_empty();
            assert!(differs, "{key}: {value}");
            assert!(seal.broken(&was).is_empty(), "{key}");
        }
        let mut described = command.clone();
        described["description"] = json!("for notes");
        assert_eq!(identity(&command).hash(), identity(&described).hash());
    }

    #[test]
    fn nothing_tells_what_a_value_is() {
        let is = identity(&json!({"command": "/bin/a", "env": {"TOKEN": "hunter2"}}));
        let (one, two) = (Seal::of(&is).unwrap(), Seal::of(&is).unwrap());
        assert_ne!(one.digests, two.digests, "equal values look alike");
        let shown = format!("{is:?} {one:?} {:?} {:?}", is.as_object(), one.to_json());
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_seal_that_is_missing_or_no_seal_vouches_for_nothing() {
        let is = identity(&json!({"command": "/bin/a", "env": {"TOKEN": "x"}}));
        let none = Seal::of_json(None).unwrap();
        assert_eq!(none.broken(&is), ["env.TOKEN"]);
        let seal = Seal::of(&is).unwrap();
        let again = Seal::of_json(Some(Json::Object(seal.to_json()))).unwrap();
        assert_eq!(again, seal);
        assert!(Seal::of_json(Some(Json::from("x"))).is_err());
    }
}
